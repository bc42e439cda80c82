use super::*;

#[test]
fn ordinary_values() {
    for value in [
        "",
        "short",
        "true",
        "production",
        "PASSWORD",
        "123456",
        "20240131",
        "8080:80",
        "******",
        "xxxxxxxxxxxx",
        "/usr/local/bin",
        "/home/me/key.pem",
        "~/keys/a.pem",
        "./relative/path",
        "https://api.example.com",
        "https://api.example.com:8080/",
    ] {
        assert!(is_common_value(value), "{value}");
    }
}

#[test]
fn values_worth_looking_for() {
    for value in [
        "hunter2",
        "s3cr3t",
        "123456789012",
        "correct horse",
        "/wEPDwUKLTk3Nzk1/x",
        "/tmpSecret123",
        "https://hooks.example.com/services/T0/B0/xyz",
        "postgres://a:b@c/d",
        "pässwörd",
    ] {
        assert!(!is_common_value(value), "{value}");
    }
}
