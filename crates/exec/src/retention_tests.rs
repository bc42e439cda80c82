use super::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Writes a file that was last written to so many hours ago.
fn write(path: &Path, bytes: usize, hours: u64) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, vec![b'x'; bytes]).unwrap();
    set_age(path, hours);
}

fn set_age(path: &Path, hours: u64) {
    let at = SystemTime::now() - Duration::from_secs(hours * 60 * 60);
    File::open(path).unwrap().set_modified(at).unwrap();
}

#[test]
fn what_is_old_goes_and_the_rest_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (old, young) = (dir.path().join("output/a.log"), dir.path().join("output/b.log"));
    let picture = dir.path().join("repl/session/python-main/figure-1.png");
    let running = dir.path().join("running/a");
    for path in [&old, &picture, &running] {
        write(path, 10, 30);
    }
    write(&young, 10, 2);
    remove_expired_in(dir.path(), RetentionPolicy { max_age: Some(DAY), max_bytes: None });
    assert!(!old.exists() && young.exists() && running.exists());
    assert!(!picture.exists() && !dir.path().join("repl/session").exists());
    assert!(dir.path().join("repl").exists());

    remove_expired_in(dir.path(), RetentionPolicy { max_age: None, max_bytes: None });
    assert!(young.exists());
}

#[test]
fn of_too_much_the_oldest_go_but_nothing_fresh() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join("output").join(name);
    for (name, hours) in [("now", 0), ("late", 2), ("later", 3)] {
        write(&file(name), 8192, hours);
    }
    remove_expired_in(dir.path(), RetentionPolicy { max_age: None, max_bytes: Some(20_000) });
    assert!(file("now").exists() && file("late").exists() && !file("later").exists());
    remove_expired_in(dir.path(), RetentionPolicy { max_age: None, max_bytes: Some(0) });
    assert!(file("now").exists() && !file("late").exists());
}

#[test]
fn among_temporary_files_only_our_own_old_folders_go() {
    let (temporary, jobs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let dir = |name: &str| temporary.path().join(name);
    let names = ["hermes-detached-a", "hermes-detached-b", "hermes-detached-c", "hermes-other"];
    for name in names {
        write(&dir(name).join("output"), 10, 30);
        set_age(&dir(name), 30);
    }
    // This one still writes.
    write(&dir("hermes-detached-b").join("output"), 10, 0);
    set_age(&dir("hermes-detached-b"), 30);
    // And somebody has this one open.
    let open = File::open(dir("hermes-detached-c").join("output")).unwrap();
    let place = temporary.path().canonicalize().unwrap();
    remove_expired_temporary(&place, jobs.path(), DAY);
    drop(open);
    let is_there: Vec<bool> = names.iter().map(|name| dir(name).exists()).collect();
    let is_held = Path::new("/proc/self/fd").exists();
    assert_eq!(is_there, [false, true, is_held, true]);
}

#[test]
fn what_a_program_that_is_gone_has_left_goes_at_once() {
    let (temporary, jobs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = temporary.path().canonicalize().unwrap();
    let dir = |owner: &str| place.join(format!("{OWNED_TEMP_PREFIX}{owner}"));
    let us = std::process::id();
    let (gone, early, ours) =
        (dir(&format!("{}-a", u32::MAX)), dir(&format!("{us}-b")), dir(&us.to_string()));
    for path in [&gone, &early, &ours] {
        write(&path.join("output/a.log"), 10, 0);
    }
    // An id of ours that another program had before.
    write(&early.join(OWNER_FILE), 0, 0);
    let (used, left) = (dir("7-c"), dir("7-d"));
    let passing = OwnedTempDir::create(&used).unwrap();
    assert!(OwnedTempDir::create(&used).is_err(), "it is somebody's");
    OwnedTempDir::create(&left).unwrap().persist();
    remove_expired_temporary(&place, jobs.path(), DAY);
    let all = [&gone, &early, &ours, &used, &left];
    assert_eq!(all.map(|path| path.exists()), [false, false, true, true, false]);
    drop(passing);
    assert!(!used.exists());
}

#[test]
fn it_is_not_done_all_the_time() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("output/a.log");
    let keep = RetentionPolicy { max_age: Some(DAY), max_bytes: None };
    write(&file, 10, 30);
    remove_expired(dir.path(), keep);
    assert!(!file.exists());
    write(&file, 10, 30);
    remove_expired(dir.path(), keep);
    assert!(file.exists(), "it was done just now");
    set_age(&dir.path().join("output/.tidied"), 2);
    remove_expired(dir.path(), keep);
    assert!(!file.exists());
}
