use super::*;

#[test]
fn lines_with_credentials_are_left_out() {
    let text = "registry=https://me:word@npm.example/\n//npm.example/:_authToken=abc\n_password=x\nfund=false\n";
    assert_eq!(strip_credential_lines(text), "registry=https://npm.example/\nfund=false\n");
}

#[test]
fn elements_with_credentials_are_left_out() {
    let text = "<server><id>a</id><username>me</username><password>p</password></server><mirror><url>http://127.0.0.1:1/</url></mirror><password>open";
    let clean = strip_credential_elements(text);
    assert_eq!(clean, "<server><id>a</id></server><mirror><url>http://127.0.0.1:1/</url></mirror>");
}

#[test]
fn a_copy_is_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.xml");
    fs::write(&file, "<a><password>x</password></a>").unwrap();
    let copy = redacted_copy(&file).unwrap();
    assert_eq!(fs::read_to_string(&copy).unwrap(), "<a></a>");
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
}
