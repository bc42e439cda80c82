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
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("settings.xml");
    fs::write(&file, "<a><password>x</password></a>").unwrap();
    let copy = redacted_copy(&file).unwrap();
    assert_eq!(fs::read_to_string(&copy).unwrap(), "<a></a>");
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn an_indented_credential_is_left_out() {
    let text = "  //npm.example/:_authToken=abc\n\t_password = x\n  fund=false\n";
    assert_eq!(strip_credential_lines(text), "  fund=false\n");
}

#[test]
fn a_credential_with_another_separator_or_on_several_lines_is_left_out() {
    let text = "mavenPassword: abc\nrepoToken abc\na=1\rapiSecret=x\r\nkeyPassword=\\\n  abc\\\n  def\nb=2\n";
    assert_eq!(strip_credential_lines(text), "a=1\nb=2\n");
}

#[test]
fn a_value_that_mentions_a_credential_stays() {
    let text = "org.gradle.jvmargs=-Dauth.mode=x\n";
    assert_eq!(strip_credential_lines(text), text);
}

#[test]
fn an_element_with_attributes_is_left_out() {
    let text = "<a><password foo=\"x>y\">p</password ><username\n>me</username><s:password>q</s:password><password value=\"r\"/><passwords>n</passwords></a>";
    assert_eq!(strip_credential_elements(text), "<a><passwords>n</passwords></a>");
}

#[test]
fn an_element_in_one_of_the_same_name_does_not_end_it() {
    let text = "<a><configuration><configuration>x</configuration>y</configuration>z</a>";
    assert_eq!(strip_credential_elements(text), "<a>z</a>");
}

#[test]
fn a_file_that_is_too_large_has_no_copy() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(".npmrc");
    let line = "fund=false\n";
    fs::write(&file, line.repeat(MAX_FILE_BYTES as usize / line.len() + 1)).unwrap();
    let error = redacted_copy(&file).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
}

#[test]
fn threads_do_not_share_a_temporary_file() {
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<PathBuf> = (0..4).map(|at| dir.path().join(format!("{at}.npmrc"))).collect();
    for (at, file) in files.iter().enumerate() {
        fs::write(file, format!("a={at}\n").repeat(1000)).unwrap();
    }
    std::thread::scope(|scope| {
        for (at, file) in files.iter().enumerate() {
            scope.spawn(move || {
                for _ in 0..50 {
                    let copy = redacted_copy(file).unwrap();
                    let text = fs::read_to_string(&copy).unwrap();
                    assert_eq!(text, format!("a={at}\n").repeat(1000));
                }
            });
        }
    });
    files.iter().for_each(|file| drop(redacted_copy(file).map(fs::remove_file)));
}
