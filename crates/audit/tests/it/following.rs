//! Reading along while others write.

use std::time::Duration;

use hermes_audit::{AuditLog, LogFollower, LogOptions, follow};
use serde_json::json;

use crate::folder::{Folder, PATIENCE};

fn read(follow: &mut LogFollower, count: usize) -> Vec<u64> {
    let mut found = Vec::new();
    while found.len() < count {
        let entries = follow.next_entries(PATIENCE).unwrap();
        assert!(!entries.is_empty(), "only {found:?}");
        found.extend(entries.iter().map(|entry| entry.seq));
    }
    found
}

#[test]
fn it_begins_where_the_log_ends() {
    let dir = Folder::with_entries(3);
    let mut follow = follow(dir.path(), None).unwrap();
    assert!(follow.next_entries(Duration::ZERO).unwrap().is_empty());
    dir.add(2, &LogOptions::default());
    assert_eq!(read(&mut follow, 2), [4, 5]);
    assert!(follow.next_entries(Duration::ZERO).unwrap().is_empty());
}

#[test]
fn it_waits_for_a_log_that_is_not_there_yet() {
    let dir = Folder::new();
    let mut follow = follow(&dir.file("later"), None).unwrap();
    assert!(follow.next_entries(Duration::ZERO).unwrap().is_empty());
    let log = AuditLog::open(dir.file("later"));
    log.append(json!({}));
    assert_eq!(read(&mut follow, 1), [1]);
}

#[test]
fn it_goes_from_file_to_file_without_loss() {
    let dir = Folder::new();
    let options = LogOptions { rotate_bytes: 1500, keep_files: 10_000, ..LogOptions::default() };
    dir.add(10, &options);
    let mut new = follow(dir.path(), None).unwrap();
    let mut old = follow(dir.path(), Some(4)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..30 {
                dir.add(10, &options);
            }
        });
        assert!(read(&mut new, 300).into_iter().eq(11..=310));
    });
    assert!(dir.older().len() > 20);
    assert!(read(&mut old, 306).into_iter().eq(5..=310));
}
