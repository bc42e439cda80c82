#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn what_a_killed_program_left_goes_when_the_next_one_starts() {
    let temporary = tempfile::tempdir().unwrap();
    let place = temporary.path().canonicalize().unwrap();
    let dir = |name: &str| {
        let path = place.join(name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("script.py"), "x").unwrap();
        path
    };
    let nobody = format!("{DIR_PREFIX}{}", u32::MAX);
    let left = dir(&format!("{nobody}-a"));
    let elsewhere = dir(&format!("{nobody}-b"));
    let lock = File::open(&elsewhere).unwrap();
    lock.lock().unwrap();
    let read = dir(&format!("{nobody}-c"));
    let open = File::open(read.join("script.py")).unwrap();
    let foreign = dir("hermes-other");
    let ours = RunDir::create(&place).unwrap();
    let second = RunDir::create(&place).unwrap();
    let path = ours.path().to_owned();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    let is_held = Path::new("/proc/self/fd").exists();
    let all = [&left, &elsewhere, &read, &foreign, &path];
    assert_eq!(all.map(|path| path.exists()), [false, true, is_held, true, true]);
    drop((lock, open, second, ours));
    assert!(!path.exists());
}
