//! Full files are put aside, and the oldest removed.

use std::fs;

use hermes_audit::{AuditLog, AuditQuery, LogOptions, query};
use serde_json::json;

use crate::folder::{Folder, PATIENCE, assert_clean, faults};

fn small(keep_files: usize) -> LogOptions {
    LogOptions { rotate_bytes: 2000, keep_files, ..LogOptions::default() }
}

#[test]
fn the_chain_goes_from_file_to_file() {
    let dir = Folder::new();
    dir.add(50, &small(100));
    dir.add(50, &small(100));
    let older = dir.older();
    assert!(older.len() > 5, "{older:?}");
    for path in &older {
        assert!(fs::metadata(path).unwrap().len() <= 2000, "{path:?}");
    }
    let report = dir.report();
    assert_clean(&report, 100);
    assert_eq!(report.files, older.len() + 1);
    let numbers: Vec<u64> = query(dir.path(), &AuditQuery::default(), usize::MAX)
        .unwrap()
        .iter()
        .map(|entry| entry.seq)
        .collect();
    assert!(numbers.iter().copied().eq((1..=100).rev()), "{numbers:?}");
}

#[test]
fn old_files_are_removed_and_the_head_knows() {
    let dir = Folder::new();
    dir.add(100, &small(3));
    assert_eq!(dir.older().len(), 3);
    let report = dir.report();
    assert!(report.is_clean() && report.entries < 60, "{report}");

    // One more is too many.
    let oldest = dir.older().remove(0);
    let kept = fs::read(&oldest).unwrap();
    fs::remove_file(&oldest).unwrap();
    let report = dir.report();
    assert_eq!(report.faults.len(), 1, "{report}");
    assert_eq!(report.faults[0].line, 1);
    assert!(report.faults[0].what.contains("are missing before this line"), "{report}");
    fs::write(&oldest, kept).unwrap();
    assert!(dir.report().is_clean());
}

#[test]
fn files_that_a_crash_kept_from_being_removed_are_no_fault() {
    let dir = Folder::new();
    dir.add(60, &small(100));
    let before: Vec<_> =
        dir.older().into_iter().map(|path| (fs::read(&path).unwrap(), path)).collect();
    dir.add(12, &small(before.len()));
    let removed: Vec<_> = before.iter().filter(|(_, path)| !path.exists()).collect();
    assert!(!removed.is_empty());
    for (content, path) in removed {
        fs::write(path, content).unwrap();
    }
    assert_clean(&dir.report(), 72);
}

#[test]
fn a_file_missing_in_the_middle_is_a_fault_at_the_next() {
    let dir = Folder::new();
    dir.add(60, &small(100));
    let older = dir.older();
    fs::remove_file(&older[2]).unwrap();
    let report = dir.report();
    let next = older[3].file_name().unwrap().to_str().unwrap();
    assert_eq!(faults(&report).len(), 1, "{report}");
    assert_eq!((faults(&report)[0].0, faults(&report)[0].1), (next, 1));
}

#[test]
fn every_older_file_is_checked() {
    let dir = Folder::new();
    dir.add(60, &small(100));
    let path = &dir.older()[1];
    let text = fs::read_to_string(path).unwrap().replacen("read_file", "read_pile", 1);
    fs::write(path, text).unwrap();
    let report = dir.report();
    assert_eq!(report.faults.len(), 1, "{report}");
    assert_eq!(report.faults[0].file, path.file_name().unwrap().to_str().unwrap());
}

#[test]
fn a_crash_between_two_files_is_no_fault() {
    let dir = Folder::new();
    dir.add(20, &small(100));
    // The file was put aside, the new one not yet begun.
    let first = dir.lines()[0].clone();
    let seq: u64 =
        serde_json::from_str::<serde_json::Value>(&first).unwrap()["seq"].as_u64().unwrap();
    let aside = dir.file(&format!("audit-{seq:020}.jsonl"));
    fs::rename(dir.log_file(), &aside).unwrap();
    assert_clean(&dir.report(), 20);
    dir.add(5, &small(100));
    assert_clean(&dir.report(), 25);
}

#[test]
fn many_writers_and_small_files() {
    let dir = Folder::new();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let dir = &dir;
            scope.spawn(move || {
                let log = AuditLog::open_with(dir.path().to_owned(), small(1000));
                for number in 0..100 {
                    log.append(json!({ "thread": thread, "number": number }));
                    if number % 7 == 0 {
                        log.flush(PATIENCE).unwrap();
                    }
                }
            });
        }
    });
    assert_clean(&dir.report(), 400);
    assert_eq!(dir.count(), 400);
}

#[test]
fn an_entry_larger_than_a_file_is_a_file() {
    let dir = Folder::new();
    let log = AuditLog::open_with(dir.path().to_owned(), small(100));
    for _ in 0..3 {
        log.append(json!({ "text": "x".repeat(100_000) }));
    }
    log.append(json!({ "text": "y".repeat(10 << 20), "tool": "z" }));
    log.flush(PATIENCE).unwrap();
    assert_clean(&dir.report(), 4);
    let last = query(dir.path(), &AuditQuery::default(), 1).unwrap().remove(0);
    assert_eq!((last.text_field("event"), last.text_field("tool")), (Some("shortened"), Some("z")));
}
