use super::*;

#[test]
fn only_what_was_typed_comes_back() {
    let message =
        format!("/deploy to staging\n\nnow{OPENED}deploy\" from=\"home\">\nDo.\n{CLOSED}");
    assert_eq!(typed(&message), Some("/deploy to staging\n\nnow"));
    assert_eq!(typed("/deploy"), None);
    assert_eq!(typed("deploy\n\n<skill name=\"x\">"), None);
}

#[test]
fn without_skills_nothing_is_added() {
    assert_eq!(expand(" hello\n", &[], Files::Paths), "hello");
}
