use globset::GlobSet;

use super::*;

fn request(events: &[WatchEvent]) -> WatchRequest {
    WatchRequest {
        roots: vec!["/r".into()],
        recursive: true,
        gitignore: false,
        names: GlobSet::empty(),
        paths: GlobSet::empty(),
        events: events.to_vec(),
        max_events: 100,
    }
}

fn stamp(kind: EntryType, ino: u64, modified: i128) -> EntryStamp {
    EntryStamp { kind, size: 1, modified, mode: 0o644, identity: (1, ino), born: None }
}

fn state(entries: &[(&str, EntryType, u64, i128)]) -> TreeSnapshot {
    entries.iter().map(|&(path, kind, ino, time)| (path.into(), stamp(kind, ino, time))).collect()
}

fn told(changes: &[WatchChange]) -> Vec<(WatchEvent, &str, Option<&str>)> {
    changes
        .iter()
        .map(|c| (c.event, c.path.to_str().unwrap_or(""), c.from.as_ref().and_then(|f| f.to_str())))
        .collect()
}

use EntryType::{Directory, File};
use WatchEvent::{Create, Delete, Modify, Rename};

#[test]
fn what_came_went_and_changed() {
    let old = state(&[
        ("/r", Directory, 1, 0),
        ("/r/a", File, 2, 0),
        ("/r/b", File, 3, 0),
        ("/r/c", File, 4, 0),
    ]);
    let new = state(&[
        ("/r", Directory, 1, 9),
        ("/r/a", File, 2, 1),
        ("/r/c", File, 4, 0),
        ("/r/d", File, 5, 0),
    ]);
    let found = compare(&old, &new, &ChangeHints::default(), &request(&[]));
    assert_eq!(
        told(&found),
        [(Modify, "/r/a", None), (Delete, "/r/b", None), (Create, "/r/d", None)]
    );
    let found = compare(&old, &new, &ChangeHints::default(), &request(&[Create]));
    assert_eq!(told(&found), [(Create, "/r/d", None)]);
}

#[test]
fn a_renamed_folder_is_one_event() {
    let old = state(&[
        ("/r/a", Directory, 1, 0),
        ("/r/a/x", File, 2, 0),
        ("/r/a/s", Directory, 3, 0),
        ("/r/a/s/y", File, 4, 0),
    ]);
    let new = state(&[
        ("/r/b", Directory, 1, 5),
        ("/r/b/x", File, 2, 0),
        ("/r/b/s", Directory, 3, 0),
        ("/r/b/s/z", File, 4, 0),
    ]);
    let found = compare(&old, &new, &ChangeHints::default(), &request(&[]));
    assert_eq!(
        told(&found),
        [(Rename, "/r/b", Some("/r/a")), (Rename, "/r/b/s/z", Some("/r/a/s/y"))]
    );
}

#[test]
fn a_number_that_is_used_again_is_no_renaming() {
    let old = state(&[("/r/a", File, 2, 10)]);
    let new = state(&[("/r/b", File, 2, 20)]);
    let found = compare(&old, &new, &ChangeHints::default(), &request(&[]));
    assert_eq!(told(&found), [(Delete, "/r/a", None), (Create, "/r/b", None)]);
    let renamed = HashSet::from([("/r/a".into(), "/r/b".into())]);
    let hints = ChangeHints { renamed, ..ChangeHints::default() };
    assert_eq!(told(&compare(&old, &new, &hints, &request(&[]))), [(Rename, "/r/b", Some("/r/a"))]);
}

use std::collections::HashSet;

#[test]
fn who_does_not_ask_for_renamings_sees_two_halves() {
    let old = state(&[("/r/a", File, 2, 0), ("/r/b", File, 3, 0)]);
    let new = state(&[("/r/b", File, 2, 0)]);
    let found = compare(&old, &new, &ChangeHints::default(), &request(&[]));
    assert_eq!(told(&found), [(Rename, "/r/b", Some("/r/a"))]);
    let found = compare(&old, &new, &ChangeHints::default(), &request(&[Create, Modify, Delete]));
    assert_eq!(told(&found), [(Delete, "/r/a", None), (Modify, "/r/b", None)]);
}

#[test]
fn a_temporary_file_that_takes_the_place_is_a_modification() {
    let old = state(&[("/r/a", File, 2, 0)]);
    let new = state(&[("/r/a", File, 9, 5)]);
    assert_eq!(
        told(&compare(&old, &new, &ChangeHints::default(), &request(&[]))),
        [(Modify, "/r/a", None)]
    );
}

#[test]
fn a_write_that_leaves_size_and_time_is_told_by_the_system() {
    let old = state(&[("/r/a", File, 2, 0)]);
    assert!(compare(&old, &old, &ChangeHints::default(), &request(&[])).is_empty());
    let hints = ChangeHints { written: BTreeSet::from(["/r/a".into()]), ..ChangeHints::default() };
    assert_eq!(told(&compare(&old, &old, &hints, &request(&[]))), [(Modify, "/r/a", None)]);
}

#[test]
fn what_is_reverted_is_found_again() {
    let old = state(&[
        ("/r/d", Directory, 1, 0),
        ("/r/d/x", File, 2, 0),
        ("/r/e", File, 3, 0),
        ("/r/f", File, 4, 0),
        ("/r/g", File, 5, 0),
        ("/r/h", File, 6, 0),
        ("/r/k", File, 8, 0),
    ]);
    let new = state(&[
        ("/r/m", Directory, 1, 0),
        ("/r/m/x", File, 2, 0),
        ("/r/e", File, 3, 9),
        ("/r/n", File, 7, 0),
        ("/r/h", File, 5, 0),
        ("/r/k", Directory, 9, 0),
    ]);
    let hints = ChangeHints::default();
    let all = compare(&old, &new, &hints, &request(&[]));
    assert_eq!(all.len(), 7, "{all:?}");
    for told_first in 0..=all.len() {
        let mut state = new.clone();
        all.iter().skip(told_first).rev().for_each(|change| change.revert(&mut state));
        let rest = compare(&state, &new, &hints, &request(&[]));
        assert_eq!(told(&rest), told(&all[told_first..]), "after {told_first}");
    }
}

#[test]
fn a_new_folder_with_the_number_of_an_old_one_is_no_renaming() {
    let dir = |path: &str, born: Option<i128>, time| {
        (PathBuf::from(path), EntryStamp { born, ..stamp(Directory, 2, time) })
    };
    let file = |path: &str, ino| (PathBuf::from(path), stamp(File, ino, 0));
    for (before, now) in [(Some(10), Some(20)), (None, None), (Some(10), None)] {
        let old = TreeSnapshot::from([dir("/r/d", before, 10), file("/r/d/x", 3)]);
        let new = TreeSnapshot::from([dir("/r/e", now, 20), file("/r/e/y", 4)]);
        let found = compare(&old, &new, &ChangeHints::default(), &request(&[]));
        assert_eq!(
            told(&found),
            [
                (Delete, "/r/d", None),
                (Delete, "/r/d/x", None),
                (Create, "/r/e", None),
                (Create, "/r/e/y", None)
            ],
            "{before:?} {now:?}"
        );
    }
    // It is the same directory, although an entry was added.
    for (before, now, child) in [(Some(10), Some(10), 4), (None, None, 3)] {
        let old = TreeSnapshot::from([dir("/r/d", before, 10), file("/r/d/x", 3)]);
        let new = TreeSnapshot::from([dir("/r/e", now, 20), file("/r/e/x", child)]);
        let found = compare(&old, &new, &ChangeHints::default(), &request(&[]));
        assert!(told(&found).contains(&(Rename, "/r/e", Some("/r/d"))), "{found:?}");
    }
}

#[test]
fn a_folder_where_a_file_was_is_something_else() {
    let old = state(&[("/r/a", File, 2, 0), ("/r/b", Directory, 3, 0), ("/r/f", File, 4, 0)]);
    let new = state(&[("/r/a", Directory, 2, 0), ("/r/b", File, 4, 0), ("/r/g", File, 9, 0)]);
    let found = compare(&old, &new, &ChangeHints::default(), &request(&[]));
    assert_eq!(
        told(&found),
        [
            (Delete, "/r/a", None),
            (Create, "/r/a", None),
            (Delete, "/r/b", None),
            (Rename, "/r/b", Some("/r/f")),
            (Create, "/r/g", None)
        ]
    );
    for told_first in 0..=found.len() {
        let mut state = new.clone();
        found.iter().skip(told_first).rev().for_each(|change| change.revert(&mut state));
        let rest = compare(&state, &new, &ChangeHints::default(), &request(&[]));
        assert_eq!(told(&rest), told(&found[told_first..]), "after {told_first}");
    }
}
