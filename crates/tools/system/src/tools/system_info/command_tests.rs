#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn line(arguments: &[&str]) -> String {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    redacted_command(&arguments).unwrap_or_default()
}

#[test]
fn what_looks_secret_is_hidden() {
    for (arguments, expected) in [
        (&["app", "--password", "hunter2", "-v"][..], "app --password [hidden] -v"),
        (&["app", "--db-password=hunter2", "x"], "app --db-password=[hidden] x"),
        (&["app", "--api-key", "a b hunter2", "x"], "app --api-key [hidden] x"),
        (&["env", "MY_TOKEN=hunter2", "ls"], "env MY_TOKEN=[hidden] ls"),
        (&["/usr/bin/mysql", "-phunter2", "db"], "/usr/bin/mysql -p[hidden] db"),
        (&["sshpass", "-p", "hunter2", "ssh", "-p", "22"], "sshpass -p [hidden] ssh -p [hidden]"),
        (&["curl", "-u", "me:hunter2", "https://a.b"], "curl -u [hidden] https://a.b"),
        (
            &["curl", "-H", "Authorization: Bearer hunter2", "https://a.b"],
            "curl -H Authorization: [hidden] https://a.b",
        ),
        (&["psql", "postgres://me:hunter2@db/x"], "psql [hidden]"),
        (&["app", "--url=redis://:hunter2@db"], "app [hidden]"),
        (&["app", "ghp_hunter2hunter2hunter2"], "app [hidden]"),
        (&["bash", "-c", "mysql -phunter2 db; ls"], "bash -c mysql -p[hidden] db; ls"),
        (
            &["bash", "-c", "declare -x DB_PASSWORD='a hunter2 b'\nls"],
            "bash -c declare -x DB_PASSWORD=[hidden] ls",
        ),
        (
            &["sh", "-c", "curl -H \"X-Auth-Token: hunter2 hunter2\" a.b"],
            "sh -c curl -H X-Auth-Token: [hidden] a.b",
        ),
        (&["app", "-----BEGIN PRIVATE KEY----- hunter2"], "app [hidden]"),
    ] {
        assert_eq!(line(arguments), expected);
    }
}

#[test]
fn the_rest_is_shown() {
    for arguments in [
        &["python3", "-m", "http.server", "8000"][..],
        &["ssh", "-p", "22", "host"],
        &["cp", "-p", "-u", "a", "b"],
        &["git", "clone", "https://example.com/a.git"],
        &["java", "-Xmx2g", "-jar", "app.jar"],
    ] {
        assert_eq!(line(arguments), arguments.join(" "));
    }
    assert_eq!(redacted_command(&[]), None);
    let long = line(&["x".repeat(5_000).as_str(), "b"]);
    assert_eq!(long.chars().count(), 161);
}

proptest! {
    #[test]
    fn a_password_is_never_shown(
        before in proptest::collection::vec("[ -~]{0,12}", 0..4),
        after in proptest::collection::vec("[ -~]{0,12}", 0..4),
    ) {
        let secret = "0hunter2hunter2";
        let mut arguments: Vec<&str> = before.iter().map(String::as_str).collect();
        let given = format!("--password={secret}");
        arguments.push(&given);
        arguments.extend(after.iter().map(String::as_str));
        prop_assert!(!line(&arguments).contains(secret));
    }
}
