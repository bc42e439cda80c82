//! What is appended is on disk, in order, once.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use hermes_audit::{AuditLog, AuditQuery, LogError, LogOptions, query, verify};
use serde_json::{Value, json};

use crate::folder::{Folder, PATIENCE, assert_clean};

#[test]
fn nothing_is_made_before_the_first_entry() {
    let dir = Folder::new();
    let inner = dir.file("logs/audit");
    let log = AuditLog::open(inner.clone());
    log.flush(PATIENCE).unwrap();
    assert_eq!(log.problem(), None);
    drop(log);
    assert!(!dir.file("logs").exists());
    let report = verify(&inner);
    assert_clean(&report, 0);
    assert_eq!(report.to_string(), "0 entries in 0 files: there is no log to verify");
    assert!(query(&inner, &AuditQuery::default(), 10).unwrap().is_empty());
}

#[test]
fn entries_are_lines_of_the_promised_form() {
    let dir = Folder::new();
    let inner = dir.file("made");
    let log = AuditLog::open(inner.clone());
    log.append(json!({ "tool": "todo", "nested": { "seq": 1 }, "text": "a\nb" }));
    log.append(json!({ "seq": 99, "tool": "todo" }));
    log.flush(PATIENCE).unwrap();

    let text = fs::read_to_string(inner.join("audit.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    let names: Vec<&String> = lines[0].as_object().unwrap().keys().collect();
    assert_eq!(names, ["seq", "time", "tool", "nested", "text", "prev", "hash"]);
    assert_eq!(lines[0]["text"], "a\nb");
    assert_eq!((&lines[1]["seq"], &lines[1]["_seq"]), (&json!(2), &json!(99)));
    assert_eq!(lines[1]["prev"], lines[0]["hash"]);
    let time = lines[0]["time"].as_str().unwrap();
    assert!(time.len() == 24 && time.ends_with('Z'), "{time}");

    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(inner.clone()), 0o700);
    for name in ["audit.jsonl", "audit.key", "audit.head", "audit.lock"] {
        assert_eq!(mode(inner.join(name)), 0o600, "{name}");
    }
}

#[test]
fn dropping_the_log_writes_what_is_left() {
    let dir = Folder::new();
    let log = AuditLog::open(dir.path().to_owned());
    for number in 0..1000 {
        log.append(json!({ "number": number }));
    }
    drop(log);
    assert_clean(&dir.report(), 1000);
}

#[test]
fn threads_and_logs_share_a_folder() {
    let dir = Folder::new();
    let logs = [AuditLog::open(dir.path().to_owned()), AuditLog::open(dir.path().to_owned())];
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let log = &logs[thread % 2];
            scope.spawn(move || {
                for number in 0..500 {
                    log.append(json!({ "thread": thread, "number": number }));
                    if number % 100 == 0 {
                        log.flush(PATIENCE).unwrap();
                    }
                }
            });
        }
    });
    drop(logs);
    assert_clean(&dir.report(), 3000);
    let mut next = [500; 6];
    for entry in query(dir.path(), &AuditQuery::default(), usize::MAX).unwrap() {
        let thread = usize::try_from(entry.fields["thread"].as_u64().unwrap()).unwrap();
        next[thread] -= 1;
        assert_eq!(entry.fields["number"], next[thread], "the order of each thread is kept");
    }
    assert_eq!(next, [0; 6]);
}

#[test]
fn what_there_is_no_room_for_is_counted() {
    let dir = Folder::new();
    // A file where the folder should be.
    let inner = dir.file("inner");
    fs::write(&inner, "").unwrap();
    let options = LogOptions { queue_entries: 10, ..LogOptions::default() };
    let log = AuditLog::open_with(inner.clone(), options);
    for number in 0..25 {
        log.append(json!({ "number": number }));
    }
    let error = log.flush(PATIENCE).unwrap_err();
    assert!(matches!(error, LogError::NotWritten { .. }), "{error}");
    assert!(log.problem().unwrap().contains("inner"), "{:?}", log.problem());

    fs::remove_file(&inner).unwrap();
    log.flush(PATIENCE).unwrap();
    assert_eq!(log.problem(), None);
    log.append(json!({ "number": 25 }));
    log.flush(PATIENCE).unwrap();
    let report = verify(&inner);
    assert_clean(&report, 12);
    assert_eq!(report.notes.len(), 1, "{report}");
    let found = query(&inner, &AuditQuery::default(), usize::MAX).unwrap();
    assert_eq!(found[0].fields["number"], 25);
    assert_eq!(found[1].fields["event"], "dropped");
    assert_eq!(found[1].fields["count"], 15);
    assert_eq!(found[2].fields["number"], 9);
}

#[test]
fn an_entry_of_any_depth_is_kept_and_found() {
    let dir = Folder::new();
    let log = AuditLog::open_with(
        dir.path().to_owned(),
        LogOptions { sync: true, ..LogOptions::default() },
    );
    let mut deep = json!(1);
    for _ in 0..400 {
        deep = json!([deep]);
    }
    log.append(json!({ "deep": deep }));
    log.append("no object");
    log.flush(PATIENCE).unwrap();
    assert_clean(&dir.report(), 2);
    let found = query(dir.path(), &AuditQuery::default(), 10).unwrap();
    assert_eq!(found[0].text_field("value"), Some("no object"));
    assert_eq!(found[1].text_field("event"), Some("unreadable"));
}

#[test]
fn a_log_that_cannot_be_written_is_given_up_at_the_end() {
    let dir = Folder::new();
    let inner = dir.file("inner");
    fs::write(&inner, "").unwrap();
    let log = AuditLog::open(inner.clone());
    log.append(json!({}));
    drop(log);
    assert!(inner.is_file());
}

#[test]
fn a_folder_that_goes_away_is_made_again() {
    let dir = Folder::new();
    let inner = dir.file("inner");
    let log = AuditLog::open(inner.clone());
    log.append(json!({ "number": 1 }));
    log.flush(PATIENCE).unwrap();
    fs::remove_dir_all(&inner).unwrap();
    log.append(json!({ "number": 2 }));
    log.flush(PATIENCE).unwrap();
    let found = query(&inner, &AuditQuery::default(), 10).unwrap();
    assert_eq!(found[0].fields["number"], 2);
    assert!(!verify(&inner).is_clean(), "an entry is gone, and that shows");
}

#[test]
fn a_lock_that_is_held_blocks_nobody_but_the_writer() {
    let dir = Folder::with_entries(1);
    let lock = fs::File::open(dir.file("audit.lock")).unwrap();
    lock.lock().unwrap();
    let log = AuditLog::open(dir.path().to_owned());
    log.append(json!({ "number": 1 }));
    let error = log.flush(Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error, LogError::Timeout(_)), "{error}");
    while log.problem().is_none() {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(log.problem().unwrap().contains("locked"), "{:?}", log.problem());
    assert_clean(&dir.report(), 1);
    lock.unlock().unwrap();
    log.flush(PATIENCE).unwrap();
    assert_eq!(log.problem(), None);
    assert_clean(&dir.report(), 2);
}
