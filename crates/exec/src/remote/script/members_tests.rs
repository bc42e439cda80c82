use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

fn sh(script: &str, dir: &tempfile::TempDir) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("TMPDIR", dir.path()).stdin(Stdio::null());
    command
}

#[test]
fn without_marks_a_job_is_known_by_its_parents_and_its_group() {
    let dir = tempfile::tempdir().unwrap();
    // Two of its own, one that lost its parent, and one in another group.
    let job = "sleep 61 & (sleep 62 & ); setsid sleep 63 & echo ready; wait";
    let begin = format!("{}; exec sh -c '{job}'", record_job_in("a-job", "/nowhere"));
    let waiter = format!("sh -c \"$0\"; :; echo {begin:?} >/dev/null");
    let mut command = sh(&waiter, &dir);
    // The shell that waits for it is in its group.
    let mut command = {
        command.arg(&begin).stdout(Stdio::piped());
        let mut apart = Command::new("setsid");
        apart.args(["-w", "sh"]).args(command.get_args()).env("TMPDIR", dir.path());
        apart.stdin(Stdio::null()).stdout(Stdio::piped());
        apart
    };
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    assert_eq!(line, "ready\n");

    let find = format!(
        "{} for p in $(m); do ps -o args= -p $p; z $p >/dev/null || echo gone; done",
        define_members("a-job", "/nowhere")
    );
    let until = Instant::now() + Duration::from_secs(20);
    let found = loop {
        let said = sh(&find, &dir).output().unwrap();
        let mut found: Vec<String> =
            String::from_utf8(said.stdout).unwrap().lines().map(str::to_owned).collect();
        found.sort();
        if found.iter().filter(|it| it.starts_with("sleep")).count() == 3 || Instant::now() > until
        {
            break found;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let end = format!("{} kill -KILL $(m); m", define_members("a-job", "/nowhere"));
    sh(&end, &dir).output().unwrap();
    child.wait().unwrap();
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(found.iter().filter(|it| it.starts_with("sleep")).count(), 3, "{found:?}");
    assert!(found.iter().any(|it| it.contains("wait")), "{found:?}");

    // What is over is taken away by the next one.
    sh(&record_job_in("another", "/nowhere"), &dir).output().unwrap();
    let files: Vec<_> = std::fs::read_dir(dir.path()).unwrap().flatten().collect();
    assert_eq!(files.len(), 1, "{files:?}");
}

#[test]
fn where_marks_are_seen_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    if std::path::Path::new("/proc/self/stat").exists() {
        sh(&record_job("a-job"), &dir).output().unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
