use proptest::prelude::*;

use super::*;

#[test]
fn names_that_tell() {
    for name in [
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "DB_PASSWORD",
        "PGPASSWORD",
        "NPM_AUTH",
        "APIKEY",
        "apiKey",
        "api-key",
        "APIkey",
        "accessTokenValue",
        "MyPassword",
        "SESSION_COOKIE",
        "SSH_PRIVATE_KEY",
        "SENTRY_DSN",
        "DB_PWD",
        "GOOGLE_CREDENTIALS",
        "MYSQL_PASS",
        "AUTHTOKEN",
        "SIGNING_KEYS",
        "SECRETKEY_BASE",
        "SLACK_WEBHOOK_URL",
        "BEARER",
        "TOKEN2",
        "DB_CONNECTION_STRING",
        "oauth.token",
    ] {
        assert!(is_secret(name, "x"), "{name}");
    }
}

#[test]
fn names_that_do_not() {
    for name in [
        "PATH",
        "HOME",
        "PWD",
        "OLDPWD",
        "LANG",
        "GIT_AUTHOR_NAME",
        "XAUTHORITY",
        "SSH_AUTH_SOCK",
        "KEYBOARD_LAYOUT",
        "SSL_KEY_FILE",
        "TOKENIZERS_PARALLELISM",
        "EDITOR",
        "PASSENGER_APP_ENV",
        "XDG_RUNTIME_DIR",
        "XDG_SESSION_TYPE",
        "MONKEY",
        "MONKEY_PATCH",
        "COMPASS_HEADING",
        "GIT_ASKPASS",
        "GOPRIVATE",
        "",
    ] {
        assert!(!is_secret(name, "x"), "{name}");
    }
}

#[test]
fn values_that_tell() {
    for value in [
        "sk-abcdefghijklmnop1234",
        "ghp_0123456789abcdefghij",
        "AKIAIOSFODNN7EXAMPLE",
        "Authorization: Bearer sk-abcdefghijklmnop1234",
        "https://api.example.com/?key=AIzaSyA-0123456789abc",
        "postgres://app:hunter2@db.example.com/main",
        "-----BEGIN PRIVATE KEY-----\nMIIE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
    ] {
        assert!(is_secret("CONFIG", value), "{value}");
    }
}

#[test]
fn values_that_do_not() {
    for value in [
        "",
        "debug",
        "sk-short",
        "/usr/bin:/bin",
        "https://example.com/a@b:c",
        "https://user@example.com/",
        "https://example.com:8080/x",
        "ssh://git@host:22/repo",
        "risk-assessment-of-the-year",
        "2030-01-01",
    ] {
        assert!(!is_secret("CONFIG", value), "{value}");
    }
}

#[test]
fn words_are_parted_at_joints_and_humps() {
    assert_eq!(split_words("my_apiKey-v2.x"), ["MY", "API", "KEY", "V2", "X"]);
    assert_eq!(split_words("__A__"), ["A"]);
    assert!(split_words("").is_empty());
}

#[test]
fn what_is_masked_shows_only_its_length() {
    let masked = mask_variable("API_KEY", "héllo");
    assert_eq!(masked, MaskedVariable { text: "[masked, 5 characters]".into(), masked: true });
    assert_eq!(mask_variable("API_KEY", ""), MaskedVariable { text: String::new(), masked: false });
    assert_eq!(
        mask_variable("MODE", "test"),
        MaskedVariable { text: "test".into(), masked: false }
    );
}

proptest! {
    #[test]
    fn a_masked_value_never_shows(value in "[a-z0-9]{12,40}") {
        prop_assert!(!mask_variable("SOME_TOKEN", &value).text.contains(&value));
    }

    #[test]
    fn any_pair_can_be_judged(name in ".{0,30}", value in ".{0,80}") {
        let _ = is_secret(&name, &value);
    }

    #[test]
    fn a_telling_word_tells_in_any_company(
        before in "[A-Z]{1,8}",
        word in "KEY|TOKEN|PASSWORD|SECRET|DSN|WEBHOOK|BEARER|AUTH|CREDENTIALS",
        after in "ID|URL|VALUE|[0-9]",
    ) {
        let name = format!("{before}_{word}_{after}");
        prop_assert!(is_secret_name(&name), "{}", name);
    }
}
