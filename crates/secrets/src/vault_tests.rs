use std::os::unix::fs::PermissionsExt;
use std::thread;

use tempfile::TempDir;

use super::*;

fn vault() -> (TempDir, Vault) {
    let dir = tempfile::tempdir().expect("a folder");
    let vault = Vault::new(dir.path().join("deep").join("secrets.json"));
    (dir, vault)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

#[test]
fn a_secret_is_kept_changed_and_forgotten() {
    let (_folder, vault) = vault();
    assert!(vault.list().expect("no file is no error").is_empty());
    assert!(!vault.remove("A").expect("no file is no error"));
    assert!(!vault.path().exists());

    vault.set("B", "bäta").expect("set");
    vault.set("A", "alpha").expect("set");
    vault.set("A", "omega").expect("set");
    assert_eq!(vault.get("A").expect("get").expect("there").expose(), "omega");
    assert!(vault.get("C").expect("get").is_none());
    let listed = vault.list().expect("list");
    let seen: Vec<_> = listed.iter().map(|entry| (entry.name.as_str(), entry.chars)).collect();
    assert_eq!(seen, [("A", 5), ("B", 4)]);
    assert!(listed.iter().all(|entry| entry.updated_ms > 1_600_000_000_000));
    let all = vault.secrets().expect("secrets");
    assert_eq!(all.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["A", "B"]);

    assert!(vault.remove("A").expect("remove"));
    assert!(!vault.remove("A").expect("remove"));
    assert!(vault.get("A").expect("get").is_none());
}

#[test]
fn only_the_owner_can_read_what_is_written() {
    let (_folder, vault) = vault();
    vault.set("A", "alpha").expect("set");
    assert_eq!(mode(vault.path()), 0o600);
    assert_eq!(mode(vault.path().parent().expect("a folder")), 0o700);
    assert_eq!(mode(&vault.path().with_file_name("secrets.json.lock")), 0o600);
}

#[test]
fn the_file_is_json_of_version_1() {
    let (_folder, vault) = vault();
    vault.set("A", "alpha").expect("set");
    let bytes = fs::read(vault.path()).expect("it is there");
    let document: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(document["version"], 1);
    assert_eq!(document["secrets"]["A"]["value"], "alpha");
    assert!(document["secrets"]["A"]["updated_ms"].is_u64());
}

#[test]
fn a_file_open_to_others_is_refused() {
    let (_folder, vault) = vault();
    vault.set("A", "alpha").expect("set");
    for open in [0o640, 0o604, 0o620, 0o602, 0o644] {
        chmod(vault.path(), open);
        for error in [
            vault.get("A").expect_err("open"),
            vault.list().expect_err("open"),
            vault.set("B", "beta").expect_err("open"),
            vault.remove("A").expect_err("open"),
        ] {
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
    }
    chmod(vault.path(), 0o600);
    assert_eq!(vault.list().expect("closed again").len(), 1);
}

#[test]
fn a_damaged_file_is_named_kept_and_not_quoted() {
    let (_folder, vault) = vault();
    vault.set("A", "alpha").expect("set");
    for damaged in [
        "",
        "{",
        "[]",
        "{\"version\":1,\"secrets\":{\"A\":\"hunter22\"}}",
        "{\"version\":1,\"secrets\":{\"A\":{\"value\":\"hunter22\"}}}",
        "{\"version\":1,\"secrets\":{\"a b\":{\"value\":\"hunter22\",\"updated_ms\":1}}}",
        "{\"version\":2,\"secrets\":{}}",
        "{\"version\":1,\"secrets\":{},\"hunter22\":1}",
    ] {
        fs::write(vault.path(), damaged).expect("written");
        for error in [
            vault.get("A").expect_err("damaged"),
            vault.set("B", "beta").expect_err("damaged"),
            vault.remove("A").expect_err("damaged"),
        ] {
            let message = error.to_string();
            assert!(matches!(error, VaultError::Damaged { .. }), "{message}");
            assert!(message.contains("secrets.json"), "{message}");
            assert!(!message.contains("hunter22"), "{message}");
        }
        assert_eq!(fs::read_to_string(vault.path()).expect("there"), damaged);
    }
}

#[test]
fn names_and_values_are_checked() {
    let (_folder, vault) = vault();
    for name in ["", "1A", "a b", "../x", "a\nb"] {
        assert!(matches!(vault.set(name, "value"), Err(VaultError::InvalidName { .. })), "{name}");
    }
    assert!(matches!(vault.set("A", ""), Err(VaultError::InvalidValue { .. })));
    let long = "x".repeat(MAX_VALUE_BYTES + 1);
    assert!(matches!(vault.set("A", &long), Err(VaultError::InvalidValue { .. })));
    assert!(!vault.path().exists());
}

#[test]
fn a_folder_in_its_place_is_an_error() {
    let dir = tempfile::tempdir().expect("a folder");
    let vault = Vault::new(dir.path());
    assert!(matches!(vault.get("A"), Err(VaultError::Io { .. })));
}

#[test]
fn no_change_is_lost_between_writers() {
    let (_folder, vault) = vault();
    thread::scope(|scope| {
        for writer in 0..4 {
            let vault = vault.clone();
            scope.spawn(move || {
                for at in 0..5 {
                    vault.set(&format!("S_{writer}_{at}"), "value").expect("set");
                }
            });
        }
    });
    assert_eq!(vault.list().expect("list").len(), 20);
}

#[test]
fn a_secret_never_prints_itself() {
    let secret = Secret::new("hunter22");
    for shown in [format!("{secret}"), format!("{secret:?}"), format!("{secret:#?}")] {
        assert!(!shown.contains("hunter"), "{shown}");
    }
    assert_eq!(secret.expose(), "hunter22");
    assert_eq!(secret.chars(), 8);
}

#[test]
fn what_must_be_hidden_is_read_from_an_open_file() {
    let (_folder, vault) = vault();
    assert!(vault.values_for_redaction().expect("no file is no error").is_empty());
    vault.set("A", "alpha").expect("set");
    vault.set("B", "beta").expect("set");
    for mode in [0o600, 0o644, 0o666] {
        chmod(vault.path(), mode);
        let values = vault.values_for_redaction().expect("whatever its mode");
        let seen: Vec<_> = values.iter().map(|(name, value)| (&**name, value.expose())).collect();
        assert_eq!(seen, [("A", "alpha"), ("B", "beta")]);
    }
    assert!(matches!(vault.secrets(), Err(VaultError::OpenToOthers { .. })));
    fs::write(vault.path(), "{").expect("written");
    let error = vault.values_for_redaction().expect_err("damaged");
    assert!(matches!(error, VaultError::Damaged { .. }), "{error}");
}

#[test]
fn what_must_be_hidden_is_read_from_the_file_of_another() {
    let (_folder, vault) = vault();
    vault.set("A", "alpha").expect("set");
    let other = Some(rustix::process::geteuid().as_raw() + 1);
    // Only the superuser can give a file away.
    if std::os::unix::fs::chown(vault.path(), other, None).is_err() {
        return;
    }
    assert!(matches!(vault.secrets(), Err(VaultError::WrongOwner { .. })));
    assert_eq!(vault.values_for_redaction().expect("read").len(), 1);
}

#[test]
fn every_error_says_what_to_do() {
    let path = PathBuf::from("secrets.json");
    let source = io::Error::from(io::ErrorKind::PermissionDenied);
    let name = "1A".to_owned();
    for (error, shown, hint) in [
        (VaultError::Io { action: "read", path: path.clone(), source }, "Cannot read", "may read"),
        (VaultError::OpenToOthers { path: path.clone(), mode: 0o644 }, "mode 644", "chmod 600"),
        (VaultError::WrongOwner { path: path.clone(), owner: 7 }, "id 7", "chown"),
        (VaultError::Damaged { path, reason: "cut".to_owned() }, "(cut)", "move it away"),
        (
            VaultError::InvalidName { name: name.clone() },
            "'1A'",
            "letters, digits, `_`, `.` and `-`",
        ),
        (VaultError::InvalidValue { name, reason: "it is empty" }, "it is empty", "at least one"),
    ] {
        assert!(error.to_string().contains(shown), "{error}");
        assert!(error.hint().contains(hint), "{}", error.hint());
    }
    // The examples and limits in the words are those of the code.
    assert!(
        is_valid_name("GITHUB_TOKEN")
            && is_valid_name(&"x".repeat(128))
            && !is_valid_name(&"x".repeat(129))
    );
    assert_eq!(MAX_VALUE_BYTES, 64 * 1024);
}
