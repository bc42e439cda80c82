use crate::Redactor;

fn kept(command: &str) -> String {
    Redactor::default().redact_command(command).into_owned()
}

#[test]
fn what_a_command_assigns_to_a_secret_is_masked() {
    for (command, expected) in [
        ("export APP_TOKEN=zq8Hk2LmP0vX; ls", "export APP_TOKEN=[redacted]; ls"),
        ("PW=pl41n make", "PW=[redacted] make"),
        ("PW='a b; c' make", "PW='[redacted]' make"),
        ("PW=\"a b\"c make", "PW=\"[redacted]\"[redacted] make"),
        ("PW=$'a\\'b' make", "PW=$'[redacted]' make"),
        ("PW=a\\ b make", "PW=[redacted] make"),
        ("PW+=more", "PW+=[redacted]"),
        ("deploy --token abc --force", "deploy --token [redacted] --force"),
        ("deploy --password=abc -v", "deploy --password=[redacted] -v"),
        ("deploy --password 'a b' -v", "deploy --password '[redacted]' -v"),
        ("docker run -e \"DB_PASSWORD=a b\" x", "docker run -e \"DB_PASSWORD=[redacted]\" x"),
        ("bash -c 'API_KEY=abc rm -rf x'", "bash -c 'API_KEY=[redacted] rm -rf x'"),
        ("bash -c \"PW='a b' ls\"", "bash -c \"PW='[redacted]' ls\""),
        (
            r#"curl -d '{"password": "a b", "user": "me"}' x"#,
            r#"curl -d '{"password": "[redacted]", "user": "me"}' x"#,
        ),
        (
            r#"curl -d "{\"password\":\"abc\",\"user\":\"me\"}" x"#,
            r#"curl -d "{\"password\":\"[redacted]\",\"user\":\"me\"}" x"#,
        ),
        ("curl -H 'X-Auth-Token: abc' x", "curl -H 'X-Auth-Token: [redacted]' x"),
        ("PW=geheim123; echo geheim123", "PW=[redacted]; echo [redacted]"),
        ("KEY=ünïcödé ls", "KEY=[redacted] ls"),
        ("curl -u me:geheim https://a.example", "curl -u me:[redacted] https://a.example"),
        ("sshpass -p geheim ssh host", "sshpass -p [redacted] ssh host"),
    ] {
        assert_eq!(kept(command), expected);
        assert_eq!(kept(expected), expected, "nothing is left to mask");
    }
}

#[test]
fn what_runs_and_what_is_no_secret_stays() {
    for command in [
        "TOKEN=$(rm -rf build) ls",
        "TOKEN=`rm -rf build` ls",
        "TOKEN=$OTHER ls",
        "TOKEN=\"${OTHER}\" ls",
        "V_KEY=secret://VKEY; export V_KEY",
        "PWD=/tmp ls",
        "sort --key=2 data.txt",
        "MAX_TOKENS=4096 run",
        "ssh --key ~/.ssh/work host",
        "openssl --private-key=/etc/ssl/private/own.pem",
        "deploy --token --force",
        "KEYBOARD=us ls",
        "TOKEN= ls",
        "grep -rn token src",
        "git commit -m 'token: '",
        "a --password",
        "PW=",
        "PW='",
        "\\",
        "PW=\\",
    ] {
        let shown = kept(command);
        assert!(shown == command || command == "PW=\\", "{command}: {shown}");
    }
}

#[test]
fn text_beside_a_variable_is_masked_and_what_runs_is_shown() {
    assert_eq!(kept("PW=ab${X}cd$Y ls"), "PW=[redacted]${X}[redacted]$Y ls");
    assert_eq!(kept("PW=\"ab$(rm x)\" ls"), "PW=\"[redacted]$(rm x)\" ls");
}

#[test]
fn long_and_odd_commands_are_read_once() {
    for piece in ["PW=", "TOKEN='a", "--token ", "a\"", "KEY=$", "{\"key\":", "\\\"", "key=${"] {
        let long = piece.repeat(5_000);
        assert!(!kept(&long).is_empty());
    }
}
