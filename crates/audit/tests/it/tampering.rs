//! Any tampering with a log is found, with file and line.

use std::fs;

use hermes_audit::LogOptions;
use proptest::prelude::*;

use crate::folder::{Folder, assert_clean, faults};

const LOG: &str = "audit.jsonl";

#[test]
fn a_changed_byte_is_one_fault_at_its_line() {
    let dir = Folder::with_entries(5);
    let mut lines = dir.lines();
    lines[2] = lines[2].replace("read_file", "send_mail");
    dir.write_lines(&lines);
    let report = dir.report();
    assert_eq!(faults(&report), [(LOG, 3, "it was changed, or written with another key")]);
}

#[test]
fn a_changed_hash_is_one_fault_too() {
    let dir = Folder::with_entries(5);
    let mut lines = dir.lines();
    let at = lines[2].len() - 3;
    let other = if lines[2].as_bytes()[at] == b'0' { "1" } else { "0" };
    lines[2].replace_range(at..=at, other);
    dir.write_lines(&lines);
    assert_eq!(faults(&dir.report()).len(), 1);
    assert_eq!(dir.report().faults[0].line, 3);
}

#[test]
fn removed_lines_leave_a_gap() {
    let dir = Folder::with_entries(6);
    let mut lines = dir.lines();
    lines.drain(2..4);
    dir.write_lines(&lines);
    let report = dir.report();
    assert_eq!(faults(&report), [(LOG, 3, "entries 3 to 4 are missing before this line")]);

    lines.remove(0);
    dir.write_lines(&lines);
    let report = dir.report();
    assert_eq!(faults(&report)[0], (LOG, 1, "entry 1 is missing before this line"));
}

#[test]
fn added_and_swapped_lines_are_out_of_order() {
    let dir = Folder::with_entries(5);
    let whole = dir.lines();
    let mut lines = whole.clone();
    lines.insert(4, whole[1].clone());
    dir.write_lines(&lines);
    assert_eq!(faults(&dir.report()), [(LOG, 5, "entry 2 follows entry 4")]);

    let mut lines = whole.clone();
    lines.swap(1, 2);
    dir.write_lines(&lines);
    let report = dir.report();
    assert_eq!(
        faults(&report),
        [(LOG, 2, "entry 2 is missing before this line"), (LOG, 3, "entry 2 follows entry 3"),]
    );

    let mut lines = whole;
    lines.insert(1, "{\"tool\":\"made up\"}".to_owned());
    dir.write_lines(&lines);
    assert_eq!(faults(&dir.report()), [(LOG, 2, "it is not an entry")]);
}

#[test]
fn a_forged_number_does_not_hide_the_rest() {
    let dir = Folder::with_entries(5);
    let mut lines = dir.lines();
    lines[0] = lines[0].replace("\"seq\":1,", "\"seq\":18446744073709551615,");
    dir.write_lines(&lines);
    let report = dir.report();
    assert_eq!(report.faults[0].line, 2, "{report}");
    assert_eq!(report.faults[1].line, 1, "{report}");
    assert_eq!(report.faults.len(), 2, "{report}");
}

#[test]
fn a_cut_tail_is_found_and_stays_found() {
    let dir = Folder::with_entries(5);
    let mut lines = dir.lines();
    lines.truncate(3);
    dir.write_lines(&lines);
    let report = dir.report();
    let what = "the log ends at entry 3, but entry 5 was written";
    assert_eq!(faults(&report), [(LOG, 3, what)]);

    // The next writer does not cover it up.
    dir.add(2, &LogOptions::default());
    let report = dir.report();
    assert_eq!(faults(&report), [(LOG, 4, "entries 4 to 5 are missing before this line")]);
    assert!(dir.lines()[3].contains("\"event\":\"missing\",\"from\":4,\"to\":5"));
}

#[test]
fn a_cut_line_is_found() {
    let dir = Folder::with_entries(3);
    let text = fs::read(dir.log_file()).unwrap();
    for less in [1, 2, 50] {
        fs::write(dir.log_file(), &text[..text.len() - less]).unwrap();
        let report = dir.report();
        assert_eq!(report.faults.len(), 1, "{report}");
        assert_eq!((report.faults[0].line, report.notes.len()), (3, 1), "{report}");
    }
}

#[test]
fn a_log_that_is_gone_is_missed() {
    let dir = Folder::with_entries(5);
    fs::remove_file(dir.log_file()).unwrap();
    assert_eq!(faults(&dir.report()), [(LOG, 0, "it is missing; its last entry was 5")]);
    dir.add(1, &LogOptions::default());
    assert_eq!(faults(&dir.report()), [(LOG, 1, "entries 1 to 5 are missing before this line")]);

    let emptied = Folder::with_entries(5);
    fs::write(emptied.log_file(), "").unwrap();
    let report = emptied.report();
    assert_eq!(report.faults.len(), 1, "{report}");
}

#[test]
fn a_folder_that_is_gone_is_missed_also_when_another_was_begun() {
    let dir = Folder::with_entries(5);
    fs::remove_dir_all(dir.path()).unwrap();
    let anchor = "audit.anchor";
    let gone = "the log it refers to is missing";
    assert_eq!(faults(&dir.report()), [(anchor, 0, gone)]);
    dir.add(2, &LogOptions::default());
    let report = dir.report();
    assert_eq!((report.faults.len(), report.entries), (1, 2), "{report}");
    assert!(report.faults[0].what.starts_with(gone), "{report}");
    // A user who deleted the log deliberately removes the anchor as well.
    fs::remove_file(dir.path().with_extension("anchor")).unwrap();
    dir.add(1, &LogOptions::default());
    assert_clean(&dir.report(), 3);
    fs::remove_dir_all(dir.path()).unwrap();
    assert!(!dir.report().is_clean());
}

#[test]
fn another_log_in_its_place_is_not_taken_for_it() {
    let dir = Folder::with_entries(5);
    let other = Folder::with_entries(9);
    fs::copy(other.log_file(), dir.log_file()).unwrap();
    let report = dir.report();
    assert_eq!((report.faults[0].line, report.faults[0].last_line), (1, 9), "{report}");

    // Even with its key, or its head.
    let dir = Folder::with_entries(5);
    fs::copy(other.log_file(), dir.log_file()).unwrap();
    fs::copy(other.file("audit.key"), dir.file("audit.key")).unwrap();
    assert_eq!(faults(&dir.report())[0].0, "audit.head");
    let dir = Folder::with_entries(5);
    fs::copy(other.log_file(), dir.log_file()).unwrap();
    fs::copy(other.file("audit.head"), dir.file("audit.head")).unwrap();
    assert!(!dir.report().is_clean());
}

#[test]
fn the_log_as_it_was_before_is_too_short() {
    let dir = Folder::with_entries(5);
    let before = fs::read(dir.log_file()).unwrap();
    dir.add(5, &LogOptions::default());
    fs::write(dir.log_file(), before).unwrap();
    let what = "the log ends at entry 5, but entry 10 was written";
    assert_eq!(faults(&dir.report()), [(LOG, 5, what)]);
}

#[test]
fn a_missing_head_is_told_for_ever() {
    let dir = Folder::with_entries(5);
    fs::remove_file(dir.file("audit.head")).unwrap();
    assert_eq!(faults(&dir.report())[0].0, "audit.head");
    dir.add(1, &LogOptions::default());
    let report = dir.report();
    assert_eq!(report.faults.len(), 1, "{report}");
    assert_eq!((report.faults[0].line, report.entries), (6, 7), "{report}");

    let both = Folder::with_entries(5);
    fs::remove_file(both.file("audit.head")).unwrap();
    fs::remove_file(both.log_file()).unwrap();
    assert_eq!(faults(&both.report())[0].0, "audit.head");
}

#[test]
fn a_missing_key_is_told_for_ever() {
    let dir = Folder::with_entries(5);
    fs::remove_file(dir.file("audit.key")).unwrap();
    let report = dir.report();
    assert_eq!(faults(&report).len(), 1, "{report}");
    assert_eq!(faults(&report)[0].0, "audit.key");
    dir.add(1, &LogOptions::default());
    let report = dir.report();
    assert_eq!((report.faults[0].line, report.faults[0].last_line), (1, 5), "{report}");
    assert_eq!((report.faults[1].line, report.faults.len()), (6, 2), "{report}");
}

#[test]
fn a_first_write_that_was_killed_is_no_fault() {
    let dir = Folder::new();
    let zeros = "0".repeat(32);
    let head = format!(
        "{{\"seq\":0,\"hash\":\"{zeros}\",\"begin_seq\":1,\"begin_prev\":\"{zeros}\",\"mac\":\"{zeros}\"}}\n"
    );
    fs::write(dir.file("audit.head"), head).unwrap();
    assert_clean(&dir.report(), 0);
    dir.add(2, &LogOptions::default());
    assert_clean(&dir.report(), 2);
}

#[test]
fn another_key_in_its_place_is_told_for_ever() {
    let dir = Folder::with_entries(5);
    fs::write(dir.file("audit.key"), [9; 32]).unwrap();
    assert!(!dir.report().is_clean());
    dir.add(1, &LogOptions::default());
    let report = dir.report();
    assert_eq!((report.faults[0].line, report.faults[0].last_line), (1, 5), "{report}");
    assert_eq!((report.faults[1].line, report.faults.len()), (6, 2), "{report}");
}

#[test]
fn a_torn_line_is_noted_and_the_log_goes_on() {
    let dir = Folder::with_entries(3);
    let mut text = fs::read(dir.log_file()).unwrap();
    text.extend(b"{\"seq\":4,\"time\":\"20");
    fs::write(dir.log_file(), &text).unwrap();
    let report = dir.report();
    assert_clean(&report, 3);
    assert_eq!((report.notes.len(), report.notes[0].line), (1, 4), "{report}");

    dir.add(2, &LogOptions::default());
    let report = dir.report();
    assert_clean(&report, 6);
    assert_eq!((report.notes.len(), report.notes[0].line), (1, 4), "{report}");

    // A torn line is covered by the chain like the rest.
    let mut lines = dir.lines();
    lines[3].push('x');
    dir.write_lines(&lines);
    assert_eq!(faults(&dir.report()), [(LOG, 4, "it is not an entry")]);
    // No entry can be hidden after it.
    let mut lines = dir.lines();
    lines[3].pop();
    lines.remove(2);
    dir.write_lines(&lines);
    assert_eq!(faults(&dir.report()).len(), 1);
}

#[test]
fn a_line_that_lacks_only_its_break_is_given_one() {
    let dir = Folder::with_entries(3);
    let text = fs::read(dir.log_file()).unwrap();
    fs::write(dir.log_file(), &text[..text.len() - 1]).unwrap();
    dir.add(2, &LogOptions::default());
    let report = dir.report();
    assert_clean(&report, 5);
    assert!(report.notes.is_empty(), "{report}");
}

#[test]
fn junk_at_the_end_does_not_stop_the_log() {
    let dir = Folder::with_entries(3);
    let mut lines = dir.lines();
    lines.push("junk".to_owned());
    lines.push("more junk".to_owned());
    dir.write_lines(&lines);
    dir.add(2, &LogOptions::default());
    let report = dir.report();
    assert_eq!(report.entries, 6, "{report}");
    assert_eq!((report.faults.len(), report.faults[0].line), (1, 4), "{report}");
    assert_eq!(report.faults[0].last_line, 5, "{report}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_changed_byte_is_found(file in 0..3_usize, at in any::<prop::sample::Index>(), by in 1..=255_u8) {
        let dir = Folder::with_entries(4);
        let path = dir.file([LOG, "audit.head", "audit.key"][file]);
        let mut bytes = fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= by;
        fs::write(&path, bytes).unwrap();
        let report = dir.report();
        prop_assert!(!report.is_clean(), "{report}");
    }

    #[test]
    fn a_crash_at_any_byte_is_no_fault(at in any::<prop::sample::Index>()) {
        let dir = Folder::with_entries(2);
        let head = fs::read(dir.file("audit.head")).unwrap();
        let safe = fs::read(dir.log_file()).unwrap().len();
        dir.add(3, &LogOptions::default());
        let text = fs::read(dir.log_file()).unwrap();
        let cut = safe + at.index(text.len() - safe + 1);
        fs::write(dir.log_file(), &text[..cut]).unwrap();
        fs::write(dir.file("audit.head"), head).unwrap();
        let report = dir.report();
        prop_assert!(report.is_clean(), "{report}");
        dir.add(1, &LogOptions::default());
        let report = dir.report();
        prop_assert!(report.is_clean() && report.entries >= 3, "{report}");
    }

    #[test]
    fn any_other_order_or_number_of_lines_is_found(order in prop::collection::vec(0..5_usize, 0..8)) {
        prop_assume!(order != [0, 1, 2, 3, 4]);
        let dir = Folder::with_entries(5);
        let whole = dir.lines();
        let lines: Vec<String> = order.iter().map(|at| whole[*at].clone()).collect();
        dir.write_lines(&lines);
        let report = dir.report();
        prop_assert!(!report.is_clean(), "{report}");
    }
}
