use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[test]
fn lines_are_shared_by_all_who_use_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new/history");
    let mut one = InputHistory::open(Some(path.clone()));
    let mut two = InputHistory::open(Some(path.clone()));
    one.add("first\nin two \\n lines");
    two.add("second");
    two.add("second");
    one.add(" not kept");
    one.add("third");
    let read = InputHistory::open(Some(path.clone()));
    assert_eq!(read.lines, ["first\nin two \\n lines", "second", "third"]);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_file_does_not_grow_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history");
    let text: String =
        (0..2 * MAX_HISTORY_LINES + 1).map(|number| format!("line {number}\n")).collect();
    std::fs::write(&path, text).unwrap();
    let history = InputHistory::open(Some(path.clone()));
    assert_eq!(history.len(), MAX_HISTORY_LINES);
    assert_eq!(InputHistory::open(Some(path)).lines, history.lines);
    assert_eq!(history.get(MAX_HISTORY_LINES - 1), Some("line 4000"));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn lines_are_found_by_their_beginning_and_by_a_part() {
    let mut history = InputHistory::default();
    for line in ["cargo test", "git status", "cargo check"] {
        history.add(line);
    }
    assert_eq!(history.latest_with_prefix("cargo"), Some("cargo check"));
    assert_eq!(history.latest_with_prefix("cargo check"), None);
    assert_eq!(history.find("CARGO", history.len()), Some(2));
    assert_eq!(history.find("cargo", 2), Some(0));
    assert_eq!(history.find("nothing", 3), None);
}
