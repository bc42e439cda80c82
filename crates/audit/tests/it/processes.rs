//! Many processes, and what becomes of the log when they are killed, stopped
//! or out of room.

use std::fs;
use std::io::{BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hermes_audit::{AuditLog, LogError, LogOptions};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use serde_json::json;

use crate::folder::{Folder, PATIENCE, assert_clean};

const FOLDER: &str = "AUDIT_TEST_FOLDER";
const ROUNDS: &str = "AUDIT_TEST_ROUNDS";

/// This program again, as the process that `name` describes.
fn spawn(name: &str, dir: &Path, rounds: usize, before: &str) -> Child {
    let program = std::env::current_exe().unwrap();
    let script = format!("{before} exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &script])
        .arg(program)
        .args(["--ignored", "--exact", "--nocapture", &format!("processes::{name}")])
        .env(FOLDER, dir)
        .env(ROUNDS, rounds.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn options() -> LogOptions {
    LogOptions { rotate_bytes: 20_000, keep_files: 10_000, ..LogOptions::default() }
}

fn folder_of_child() -> std::path::PathBuf {
    std::env::var_os(FOLDER).unwrap().into()
}

/// Waits for a word of the child.
fn hear(out: &mut impl std::io::BufRead, word: &str) {
    let mut line = String::new();
    while !line.ends_with(word) {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "{word} was never said");
        line.truncate(line.trim_end().len());
    }
}

#[test]
#[ignore = "run by other tests, as a process of its own"]
fn writer() {
    let log = AuditLog::open_with(folder_of_child(), options());
    let rounds: usize = std::env::var(ROUNDS).unwrap().parse().unwrap();
    for number in 0..rounds {
        log.append(json!({ "process": std::process::id(), "number": number, "text": "x".repeat(number % 300) }));
        if number % 10 == 0 {
            log.flush(PATIENCE).unwrap();
        }
    }
    log.flush(PATIENCE).unwrap();
}

#[test]
fn processes_share_a_log() {
    let dir = Folder::new();
    let mut children: Vec<Child> = (0..5).map(|_| spawn("writer", dir.path(), 200, "")).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert_clean(&dir.report(), 1000);
    assert_eq!(dir.count(), 1000);
    assert!(dir.older().len() > 3);
}

#[test]
#[ignore = "run by other tests, as a process of its own"]
fn endless() {
    let log = AuditLog::open_with(folder_of_child(), options());
    for number in 0_u64.. {
        log.append(json!({ "number": number, "text": "y".repeat(2000) }));
        if number % 64 == 0 {
            log.flush(PATIENCE).unwrap();
            println!("alive");
        }
    }
}

#[test]
fn killed_writers_leave_a_chain_that_holds() {
    let dir = Folder::new();
    for round in 0..12 {
        let mut children: Vec<Child> =
            (0..2).map(|_| spawn("endless", dir.path(), 0, "")).collect();
        for child in &mut children {
            let mut out = BufReader::new(child.stdout.take().unwrap());
            for _ in 0..=round % 3 {
                hear(&mut out, "alive");
            }
            child.kill().unwrap();
        }
        for child in &mut children {
            child.wait().unwrap();
        }
        let report = dir.report();
        assert!(report.is_clean() && report.entries > 0, "round {round}: {report}");
    }
    dir.add(1, &options());
    let report = dir.report();
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.entries, dir.count() as u64);
}

#[test]
fn a_stopped_writer_costs_the_others_no_entry() {
    let dir = Folder::new();
    let mut child = spawn("endless", dir.path(), 0, "");
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    hear(&mut out, "alive");
    let log = AuditLog::open_with(dir.path().to_owned(), options());
    for number in 0..30 {
        kill_process(pid, Signal::STOP).unwrap();
        // Whether it has the lock or not, this returns.
        log.append(json!({ "own": number }));
        match log.flush(Duration::from_millis(5)) {
            Ok(()) | Err(LogError::Timeout(_)) => {}
            Err(error) => panic!("{error}"),
        }
        kill_process(pid, Signal::CONT).unwrap();
        log.flush(PATIENCE).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let report = dir.report();
    assert!(report.is_clean(), "{report}");
    let query = hermes_audit::AuditQuery { text: Some("\"own\":".into()), ..Default::default() };
    assert_eq!(hermes_audit::query(dir.path(), &query, usize::MAX).unwrap().len(), 30);
}

#[test]
#[ignore = "run by other tests, as a process of its own"]
fn cramped() {
    let log = AuditLog::open(folder_of_child());
    for number in 0..200 {
        log.append(json!({ "number": number, "text": "z".repeat(100) }));
    }
    let error = log.flush(PATIENCE).unwrap_err();
    assert!(matches!(error, LogError::NotWritten { .. }), "{error}");
    assert!(log.problem().unwrap().contains("audit.jsonl"), "{:?}", log.problem());
    println!("full");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let hard = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: hard, maximum: hard }).unwrap();
    log.append(json!({ "number": 200 }));
    log.flush(PATIENCE).unwrap();
    assert_eq!(log.problem(), None);
    println!("done");
}

#[test]
fn a_log_without_room_goes_on_when_there_is_some() {
    let dir = Folder::new();
    // The blocks of `ulimit` are of 512 or 1024 bytes; 200 entries need more.
    let limits = "trap '' XFSZ; ulimit -S -f 16;";
    let mut child = spawn("cramped", dir.path(), 0, limits);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    hear(&mut out, "full");
    let report = dir.report();
    assert!(report.is_clean(), "{report}");
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    hear(&mut out, "done");
    assert!(child.wait().unwrap().success());
    assert_clean(&dir.report(), 201);
    assert!(fs::metadata(dir.log_file()).unwrap().len() > 16 * 1024);
}
