use serde_json::json;

use super::*;

fn read(entry: &Value) -> Result<TlsSettings, String> {
    TlsSettings::read(entry.as_object().unwrap())
}

#[test]
fn what_is_written_in_any_way_is_read() {
    assert!(read(&json!({})).unwrap().is_usual());
    assert!(read(&json!({"ssl_verify": "yes"})).unwrap().is_usual());
    for off in [json!(false), json!("off"), json!(0)] {
        assert!(!read(&json!({ "ssl_verify": off })).unwrap().verify);
    }
    let ca = read(&json!({"ssl_verify": "/ca.pem"})).unwrap();
    assert_eq!((ca.verify, ca.ca), (true, Some("/ca.pem".into())));
    let home = read(&json!({"client_cert": "~/c.pem"})).unwrap().cert.unwrap();
    assert!(home.is_absolute() && home.ends_with("c.pem"), "{home:?}");
    let both = Some(("/c".into(), "/k".into()));
    for entry in
        [json!({"client_cert": "/c", "client_key": "/k"}), json!({"client_cert": ["/c", "/k"]})]
    {
        let read = read(&entry).unwrap();
        assert_eq!(read.cert.zip(read.key), both);
    }
}

#[test]
fn what_cannot_be_meant_is_told() {
    for (entry, told) in [
        (json!({"client_cert": ["/c", "/k"], "client_key": "/k"}), "already"),
        (json!({"client_cert": ["/c", "/k", "pass"]}), "passphrase"),
        (json!({"client_cert": ["/c"]}), "two files"),
        (json!({"client_cert": 3}), "two files"),
        (json!({"client_key": "/k"}), "needs `client_cert`"),
    ] {
        let problem = read(&entry).unwrap_err();
        assert!(problem.contains(told), "{entry}: {problem}");
    }
}

#[test]
fn a_file_that_cannot_be_used_is_named() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.pem");
    let told = |settings: &TlsSettings| {
        let secured = settings.secure(reqwest::Client::builder(), Trust::Only);
        secured.map(drop).unwrap_err().message().to_owned()
    };
    let usual = TlsSettings::default;
    for settings in [
        TlsSettings { ca: Some(file.clone()), ..usual() },
        TlsSettings { cert: Some(file.clone()), ..usual() },
    ] {
        std::fs::remove_file(&file).ok();
        assert!(told(&settings).contains("x.pem"));
        std::fs::write(&file, "no certificate").unwrap();
        assert!(told(&settings).contains("x.pem"));
    }
    std::fs::write(&file, "-----BEGIN ENCRYPTED PRIVATE KEY-----\n").unwrap();
    assert!(told(&TlsSettings { cert: Some(file), ..usual() }).contains("passphrase"));
}
