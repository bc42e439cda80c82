use hermes_core::ErrorKind;

use super::*;

fn settings() -> SshSettings {
    SshSettings { host: "there".into(), port: Some(2222), ..SshSettings::default() }
}

#[test]
fn a_program_that_ends_with_ssh_s_own_number_is_no_trouble() {
    assert_eq!(session_error(&settings(), ProcessExit::Code(255), "my own words", false), None);
    assert_eq!(session_error(&settings(), ProcessExit::Code(1), "ssh: no", true), None);
}

#[test]
fn a_connection_that_broke_is_told_and_nothing_is_run_again() {
    let error = session_error(&settings(), ProcessExit::Code(255), "", true).unwrap();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("there broke"), "{error}");
    assert!(error.hint().contains("not run again"), "{error}");
    let error = session_error(&settings(), ProcessExit::Signal(9), "", false).unwrap();
    assert!(error.message().contains("signal 9"), "{error}");
    let said = "client_loop: send disconnect: Broken pipe\r\n";
    let error = session_error(&settings(), ProcessExit::Code(255), said, false).unwrap();
    assert!(error.message().contains("Broken pipe"), "{error}");
}

#[test]
fn a_changed_key_says_how_to_forget_the_old_one() {
    let said = "@@@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n\
                Offending ED25519 key in /x/known_hosts:3\nHost key verification failed.\n";
    let error = connect_error(&settings(), said);
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.message().contains("/x/known_hosts:3"), "{error}");
    assert!(error.hint().contains("ssh-keygen -R '[there]:2222'"), "{error}");
}

#[test]
fn causes_have_a_next_step() {
    for (sign, cause, step) in KNOWN_CAUSES {
        let error = connect_error(&settings(), &format!("greeting\nx: {sign}.\n"));
        assert!(error.message().contains(cause), "{error}");
        assert_eq!(error.hint(), step);
    }
    let error = connect_error(&settings(), "something new\n");
    assert!(error.message().contains("something new") && error.hint().contains("by hand"));
}
