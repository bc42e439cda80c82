#![allow(clippy::unwrap_used)]

use tempfile::TempDir;

use super::*;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_created_and_replaced_and_nothing_else_is_left() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("note.txt");
    write_atomic(&path, b"one", 0o644).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one");
    write_atomic(&path, b"", 0o644).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"");
    assert_eq!(names(dir.path()), ["note.txt"]);
}

#[test]
fn a_name_may_be_as_long_as_the_system_allows() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("n".repeat(255));
    write_atomic(&path, b"x", 0o644).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"x");
}

#[test]
fn a_folder_is_not_replaced() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("sub");
    fs::create_dir(&path).unwrap();
    let error = write_atomic(&path, b"x", 0o644).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    assert!(write_atomic(&dir.path().join(".."), b"x", 0o644).is_err());
    assert_eq!(names(dir.path()), ["sub"]);
}

#[test]
fn a_missing_folder_is_an_error() {
    let dir = TempDir::new().unwrap();
    let error = write_atomic(&dir.path().join("no/where"), b"x", 0o644).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn what_a_crash_left_behind_is_taken_away_by_the_next_lone_write() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.json");
    let left = dir.path().join(temporary_name(&path));
    fs::write(&left, b"half of it").unwrap();
    write_exclusive(&path, b"whole", 0o600, Durability::PowerLoss).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"whole");
    assert_eq!(names(dir.path()), ["a.json"]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_new_file_gets_the_mode_and_an_old_one_keeps_its_own() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("secret");
        write_atomic(&path, b"1", 0o600).unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
        write_atomic(&path, b"2", 0o600).unwrap();
        assert_eq!(mode(&path), 0o751);
    }

    #[test]
    fn a_link_is_followed_to_its_target() {
        let dir = TempDir::new().unwrap();
        let real = dir.path().join("real");
        fs::create_dir(&real).unwrap();
        let target = real.join("data");
        fs::write(&target, b"old").unwrap();
        let near = dir.path().join("near");
        let far = dir.path().join("far");
        symlink("real/data", &near).unwrap();
        symlink("near", &far).unwrap();
        write_atomic(&far, b"new", 0o644).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert!(fs::symlink_metadata(&far).unwrap().is_symlink());
        assert!(fs::symlink_metadata(&near).unwrap().is_symlink());
        assert_eq!(names(&real), ["data"]);
    }

    #[test]
    fn a_dangling_link_creates_its_target_and_a_loop_is_refused() {
        let dir = TempDir::new().unwrap();
        let link = dir.path().join("link");
        symlink("target", &link).unwrap();
        write_atomic(&link, b"x", 0o644).unwrap();
        assert_eq!(fs::read(dir.path().join("target")).unwrap(), b"x");

        let round = dir.path().join("round");
        symlink("round", &round).unwrap();
        let error = write_atomic(&round, b"x", 0o644).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_socket_is_not_replaced() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let error = write_atomic(&path, b"x", 0o644).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(!fs::symlink_metadata(&path).unwrap().is_file());
    }
}
