use serde_json::json;

use super::*;

fn read(entry: &Value) -> Result<TlsSettings, String> {
    TlsSettings::read(entry.as_object().unwrap())
}

#[test]
fn what_is_written_in_any_way_is_read() {
    assert!(read(&json!({})).unwrap().is_default());
    assert!(read(&json!({"ssl_verify": "yes"})).unwrap().is_default());
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
    for (entry, shown) in [
        (json!({"client_cert": ["/c", "/k"], "client_key": "/k"}), "already"),
        (json!({"client_cert": ["/c", "/k", "pass"]}), "passphrase"),
        (json!({"client_cert": "/c", "client_key_password": "pass"}), "passphrase"),
        (json!({"client_cert": ["/c"]}), "two files"),
        (json!({"client_cert": 3}), "two files"),
        (json!({"client_key": "/k"}), "needs `client_cert`"),
    ] {
        let problem = read(&entry).unwrap_err();
        assert!(problem.contains(shown), "{entry}: {problem}");
    }
}

#[test]
fn a_file_that_cannot_be_used_is_named() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.pem");
    let shown = |settings: &TlsSettings| {
        let secured = settings.apply(reqwest::Client::builder(), TrustRoots::FileOnly);
        secured.map(drop).unwrap_err().message().to_owned()
    };
    let usual = TlsSettings::default;
    for settings in [
        TlsSettings { ca: Some(file.clone()), ..usual() },
        TlsSettings { cert: Some(file.clone()), ..usual() },
    ] {
        std::fs::remove_file(&file).ok();
        assert!(shown(&settings).contains("x.pem"));
        std::fs::write(&file, "no certificate").unwrap();
        assert!(shown(&settings).contains("x.pem"));
    }
}

/// Creates a file with openssl or ssh-keygen; returns whether that worked.
fn make(program: &str, args: &[&str]) -> bool {
    let mut command = std::process::Command::new(program);
    let quiet = std::process::Stdio::null;
    command.args(args).stdin(quiet()).stdout(quiet()).stderr(quiet());
    command.status().is_ok_and(|made| made.success())
}

#[test]
fn a_key_that_cannot_be_used_says_why_and_what_helps() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (cert, key) = (path("c.pem"), path("k.pem"));
    let pair = |cert: &str, key: &str| {
        let kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
        let names = ["-nodes", "-subj", "/CN=x", "-out", cert, "-keyout", key];
        make("openssl", &[&["req", "-x509"][..], &kind, &names].concat())
    };
    if !pair(&cert, &key) || !pair(&path("other.pem"), &path("other.key")) {
        println!("skipped: no openssl 3");
        return;
    }
    let secure = |cert: &str, key: &str| {
        let settings = TlsSettings {
            cert: Some(cert.into()),
            key: Some(key.into()),
            ..TlsSettings::default()
        };
        settings.apply(reqwest::Client::builder(), TrustRoots::FileOnly).map(drop)
    };
    secure(&cert, &key).unwrap();
    let (locked, old, bundle, ssh) = (path("l.pem"), path("o.pem"), path("b.p12"), path("ssh"));
    let pass = ["-passout", "pass:word"];
    let aes = ["-aes256", "-out"];
    assert!(make("openssl", &[&["pkey", "-in", &key][..], &aes, &[&locked], &pass].concat()));
    assert!(make("openssl", &[&["ec", "-in", &key][..], &aes, &[&old], &pass].concat()));
    let both = ["pkcs12", "-export", "-in", &cert, "-inkey", &key, "-out", &bundle];
    assert!(make("openssl", &[&both[..], &pass].concat()));
    let mut cases = vec![
        (&cert, &locked, "passphrase", "openssl pkey"),
        (&cert, &old, "passphrase", "openssl pkey"),
        (&bundle, &bundle, "not PEM", "openssl pkcs12"),
        (&key, &key, "no certificate", ""),
        (&cert, &cert, "no private key", ""),
    ];
    let other = path("other.key");
    cases.push((&cert, &other, "does not match the certificate", ""));
    if make("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &ssh]) {
        cases.push((&cert, &ssh, "OpenSSH", "ssh-keygen"));
    }
    for (cert, key, shown, helps) in cases {
        let failed = secure(cert, key).unwrap_err();
        assert!(failed.message().contains(shown), "{shown}: {failed:?}");
        assert!(failed.hint().contains(helps), "{helps}: {failed:?}");
        assert!(!failed.message().contains("builder error"), "{failed:?}");
    }
}
