use super::*;

#[test]
fn only_what_was_typed_comes_back() {
    let message = format!(
        "/deploy to staging\n\nnow{SKILL_OPEN_TAG}deploy\" from=\"home\">\nDo.\n{SKILL_CLOSE_TAG}"
    );
    assert_eq!(typed_text(&message), Some("/deploy to staging\n\nnow"));
    assert_eq!(typed_text("/deploy"), None);
    assert_eq!(typed_text("deploy\n\n<skill name=\"x\">"), None);
}

#[test]
fn without_skills_nothing_is_added() {
    assert_eq!(expand_invocation(" hello\n", &[], FileReferenceStyle::Paths), "hello");
}
