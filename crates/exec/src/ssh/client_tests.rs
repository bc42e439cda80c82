use hermes_core::ErrorKind;

use super::*;

fn words(settings: SshSettings) -> Vec<String> {
    let connection = SshClient::new(settings);
    let carrier = connection.transport_process(None, "true", TransportIo { terminal: false });
    carrier.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

#[test]
fn what_is_set_is_said_and_the_host_is_never_an_option() {
    let settings = SshSettings {
        host: "there".into(),
        user: Some("me".into()),
        port: Some(2222),
        key: Some("/k".into()),
        ..SshSettings::default()
    };
    let words = words(settings).join(" ");
    assert!(words.contains("-l me -p 2222 -i /k -oIdentitiesOnly=yes"), "{words}");
    assert!(words.contains("-oStrictHostKeyChecking=accept-new"), "{words}");
    assert!(words.contains(" -T -- there sh -c "), "{words}");
    assert!(!words.contains("KnownHostsFile"), "{words}");
}

#[test]
fn a_path_is_one_word_of_ssh_s_own_language() {
    assert_eq!(option_path("X", Path::new("/a b/%\"")), OsString::from("-oX=\"/a b/%%\\\"\""));
}

#[test]
fn the_home_there_is_for_the_shell_there_to_know() {
    assert_eq!(quote_path("~"), "\"$HOME\"");
    assert_eq!(quote_path("~/it's"), r#""$HOME"'/it'\''s'"#);
    assert_eq!(quote_path("/a b"), "'/a b'");
    assert_eq!(quote_path("a"), "\"$HOME\"/'a'");
}

#[tokio::test]
async fn what_cannot_be_a_host_is_refused() {
    for (host, sign) in [("", "no host"), ("-oProxyCommand=x", "not a valid host name")] {
        let settings = SshSettings { host: host.into(), ..SshSettings::default() };
        let error = SshClient::new(settings).start_master(Path::new("/x")).await.unwrap_err();
        assert!(error.message().contains(sign), "{error}");
        assert!(!error.hint().is_empty());
    }
}

#[tokio::test]
async fn what_cannot_be_a_user_is_refused_by_its_own_name() {
    let user = Some("-oProxyCommand=x".to_owned());
    let settings = SshSettings { host: "h".into(), user, ..SshSettings::default() };
    let error = SshClient::new(settings).start_master(Path::new("/x")).await.unwrap_err();
    assert!(error.message().contains("\"-oProxyCommand=x\" is not a valid user name"), "{error}");
}

#[tokio::test]
async fn a_missing_program_is_told() {
    let program = "no-such-ssh".into();
    let settings = SshSettings { host: "h".into(), program, ..SshSettings::default() };
    let error = SshClient::new(settings).start_master(Path::new("/x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.hint().contains("openssh-client"), "{error}");
}
