use super::*;

fn confinement(root: &Path) -> Confinement {
    Confinement {
        write: vec![root.join("ws")],
        read_only: vec![root.join("ws/.git/config")],
        hidden: vec![root.join("home/.netrc")],
        ..Confinement::default()
    }
}

#[test]
fn a_path_that_was_refused_is_named_with_its_rule() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let confinement = confinement(root);
    let stop = |line: String| file_stop(&line, &confinement, &root.join("ws"));
    let elsewhere = root.join("home/.npm/x");
    for line in [
        format!("npm error EROFS: read-only file system, open '{}'", elsewhere.display()),
        format!("OSError: [Errno 30] Read-only file system: '{}'", elsewhere.display()),
        format!("touch: cannot touch {}: Read-only file system", elsewhere.display()),
        "bash: ../home/.npm/x: Permission denied".to_owned(),
    ] {
        let found = stop(line.clone()).unwrap_or_else(|| panic!("{line}"));
        assert!(found.what.contains(".npm/x"), "{found:?}");
        assert!(found.path.is_some() && found.allow.contains("allowed_paths"), "{found:?}");
    }
    let secret = stop(format!("cat: {}: Permission denied", root.join("home/.netrc").display()));
    assert_eq!(secret.unwrap().rule, "protected path");
    let settings = stop("error: could not lock config file .git/config: EROFS".to_owned());
    assert_eq!(settings.unwrap().rule, "protected path");
}

#[test]
fn what_the_project_did_wrong_is_not_the_sandbox() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let confinement = confinement(root);
    for line in [
        "open ws/data.txt: no such file or directory",
        "AssertionError: '/etc/passwd' != 'x'",
        "bash: ./run.sh: Permission denied",
        "PermissionError: access to /api/users",
    ] {
        assert_eq!(file_stop(line, &confinement, &root.join("ws")), None, "{line}");
    }
}

#[test]
fn a_limit_that_was_hit_is_named() {
    let mut confinement = Confinement::default();
    assert_eq!(limit_stop("MemoryError", &confinement), None);
    confinement.limits.memory = Some(1 << 30);
    assert_eq!(limit_stop("MemoryError", &confinement).unwrap().rule, "sandbox: memory");
}
