#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::*;
use crate::edit::{self, EditError};
use crate::path::KeyPath;

#[test]
fn a_new_file_is_private_and_its_folder_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new").join("config.yaml");
    write(&path, b"a: 1\n").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"a: 1\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[cfg(unix)]
#[test]
fn the_mode_and_the_link_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().join("dotfiles");
    fs::create_dir(&real).unwrap();
    let target = real.join("hermes.yaml");
    fs::write(&target, "a: 1\n").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    let link = dir.path().join("config.yaml");
    symlink("dotfiles/hermes.yaml", &link).unwrap();

    write(&link, b"a: 2\n").unwrap();

    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&target).unwrap(), b"a: 2\n");
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
}

#[cfg(unix)]
#[test]
fn a_dangling_link_gets_its_target_and_a_circle_is_an_error() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("config.yaml");
    symlink(dir.path().join("later.yaml"), &link).unwrap();
    write(&link, b"a: 1\n").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(dir.path().join("later.yaml")).unwrap(), b"a: 1\n");

    let (one, two) = (dir.path().join("one"), dir.path().join("two"));
    symlink(&two, &one).unwrap();
    symlink(&one, &two).unwrap();
    assert!(matches!(write(&one, b""), Err(ConfigError::Write { .. })));
}

#[test]
fn a_failed_change_leaves_the_file_and_no_litter() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.yaml");
    fs::write(&path, "a: 1\n").unwrap();
    let key: KeyPath = "a.b".parse().unwrap();
    let result = update(&path, |text| edit::set(text, &key, &1.into()));
    assert!(matches!(result, Err(ConfigError::Edit(EditError::NotAMapping { .. }))));
    assert_eq!(fs::read(&path).unwrap(), b"a: 1\n");
    let mut names: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["config.yaml", "config.yaml.lock"]);
}

#[test]
fn a_target_that_cannot_be_replaced_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.yaml");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("inside"), "x").unwrap();
    assert!(matches!(write(&path, b"a"), Err(ConfigError::Write { .. })));
    assert_eq!(fs::read(path.join("inside")).unwrap(), b"x");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_change_behind_our_back_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.yaml");
    fs::write(&path, "a: 1\n").unwrap();
    let result = update(&path, |_| {
        fs::write(&path, "a: theirs\n").unwrap();
        Ok::<_, ConfigError>("a: ours\n".to_owned())
    });
    assert!(matches!(result, Err(ConfigError::Changed { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"a: theirs\n");
}

#[test]
fn concurrent_updates_are_all_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = Arc::new(dir.path().join("config.yaml"));
    let threads: Vec<_> = (0..8)
        .map(|index| {
            let path = Arc::clone(&path);
            std::thread::spawn(move || {
                let key = KeyPath::from_names([format!("key{index}")]).unwrap();
                update(&path, |text| edit::set(text, &key, &index.into()))
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap().unwrap();
    }
    let text = fs::read_to_string(&*path).unwrap();
    for index in 0..8 {
        assert!(text.contains(&format!("key{index}: {index}\n")), "{text}");
    }
}

#[test]
fn a_lock_held_too_long_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.yaml");
    let held = lock_for(&path, Duration::ZERO).unwrap();
    let second = lock_for(&path, Duration::ZERO);
    assert!(matches!(second, Err(ConfigError::Locked { .. })));
    drop(held);
    assert!(lock_for(&path, Duration::ZERO).is_ok());
}

#[test]
fn the_same_text_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.yaml");
    fs::write(&path, "a: 1\n").unwrap();
    let modified = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let before = modified(&path);
    update(&path, |text| Ok::<_, EditError>(text.to_owned())).unwrap();
    assert_eq!(modified(&path), before);
    let absent = dir.path().join("absent.yaml");
    update(&absent, |text| Ok::<_, EditError>(text.to_owned())).unwrap();
    assert!(!absent.exists());
}
