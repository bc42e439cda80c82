#![cfg(target_os = "linux")]

use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{is_waiting_for_input, waiting_process};
use crate::tree::fixture::{Job, eventually};
use crate::tree::members;

/// Both ends of a new terminal.
fn terminal() -> (OwnedFd, OwnedFd) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let slave = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
    (master, slave)
}

#[test]
fn a_question_on_the_terminal() {
    let (_master, slave) = terminal();
    let job = Job::start_with("read -r name; sleep 60", slave.into(), Stdio::null());
    eventually("it reads", || is_waiting_for_input(job.root.pid));
    assert_eq!(waiting_process(&job.root).map(|it| it.pid), Some(job.root.pid));
}

#[test]
fn a_child_that_reads_the_terminal() {
    let (_master, slave) = terminal();
    let job = Job::start_with("cat; exit 0", slave.into(), Stdio::null());
    eventually("cat reads", || waiting_process(&job.root).is_some_and(|it| it.command == "cat"));
    assert!(!is_waiting_for_input(job.root.pid), "the shell waits for cat");
}

#[test]
fn after_the_answer_it_no_longer_waits() {
    let (master, slave) = terminal();
    let job = Job::start_with("read -r name; exec sleep 60", slave.into(), Stdio::null());
    eventually("it reads", || waiting_process(&job.root).is_some());
    rustix::io::write(&master, b"me\n").unwrap();
    eventually("it sleeps", || members(&job.root).iter().any(|it| it.command == "sleep 60"));
    eventually("it waits for nobody", || waiting_process(&job.root).is_none());
}

#[test]
fn an_open_pipe_as_standard_input() {
    let (read, _write) = std::io::pipe().unwrap();
    let job = Job::start_with("cat; exit 0", read.into(), Stdio::null());
    eventually("cat reads", || waiting_process(&job.root).is_some_and(|it| it.command == "cat"));
}

#[test]
fn a_reader_in_a_pipeline_waits_for_a_program() {
    let job = Job::start("sleep 60 | cat; exit 0");
    eventually("both are there", || {
        let found = members(&job.root);
        ["cat", "sleep 60"].iter().all(|it| found.iter().any(|member| member.command == *it))
    });
    for _ in 0..20 {
        assert_eq!(waiting_process(&job.root), None);
        std::thread::yield_now();
    }
}

#[test]
fn keys_that_are_taken_one_by_one() {
    let has_python = std::process::Command::new("python3").arg("-V").output().is_ok();
    if !has_python {
        println!("skipped: python3 is not there");
        return;
    }
    let (_master, slave) = terminal();
    // It needs the terminal as its own, so it takes it.
    let script = "exec python3 -c 'import fcntl, select, termios, tty\n\
                  fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n\
                  tty.setcbreak(0)\n\
                  select.select([0], [], [])'";
    let job = Job::start_with(script, slave.into(), Stdio::null());
    eventually("it waits for a key", || is_waiting_for_input(job.root.pid));
}

#[test]
fn a_poll_on_an_ordinary_terminal_proves_nothing() {
    let has_python = std::process::Command::new("python3").arg("-V").output().is_ok();
    if !has_python {
        println!("skipped: python3 is not there");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let ready = dir.path().join("ready");
    let (_master, slave) = terminal();
    let script = format!(
        "exec python3 -c 'import select; open(\"{}\", \"w\"); select.select([0], [], [])'",
        ready.display()
    );
    let job = Job::start_with(&script, slave.into(), Stdio::null());
    eventually("it is at it", || ready.exists());
    eventually("it sleeps", || {
        crate::tree::process::look(job.root.pid).is_some_and(|it| it.state == b'S')
    });
    assert!(!is_waiting_for_input(job.root.pid));
}

#[test]
fn nobody_waits_who_is_not_there() {
    assert!(!is_waiting_for_input(u32::MAX));
    let job = Job::start_with("sleep 60", File::open("/dev/null").unwrap().into(), Stdio::null());
    assert!(!is_waiting_for_input(job.root.pid));
}
