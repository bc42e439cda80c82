#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use super::fixture::{Job, bearers, descriptors, eventually, read_pid};
use super::process::{ProcessStat, parse};
use super::{
    JobRoot, ProcessTable, Signal, is_alive, members, nested_mark, signal, start_time, terminate,
    usage,
};

fn pids(root: &JobRoot) -> Vec<u32> {
    members(root).iter().map(|it| it.pid).collect()
}

#[test]
fn a_name_may_hold_brackets_and_blanks() {
    let line = b"42 (a) b (c)) S 7 42 40 34816 42 4194304 1 2 3 4 10 20 30 40 20 0 3 0 555 999 6 x";
    let found = parse(42, line).unwrap();
    assert_eq!(found.name, "a) b (c)");
    assert_eq!((found.parent, found.group, found.session, found.foreground), (7, 42, 40, 42));
    assert_eq!((found.ticks, found.threads, found.started), (100, 3, 555));
    assert!(found.memory >= 6 * 4096);
    assert!(found.is_alive());
}

#[test]
fn damaged_lines_are_no_processes() {
    for line in [&b""[..], b"1", b"1 (", b"1 (x", b"1 (x)", b"1 )x( S 1", b"1 (x) S 1 2 3", b")("] {
        assert!(parse(1, line).is_none(), "{line:?}");
    }
}

#[test]
fn this_process_is_alive_and_known_by_its_start() {
    let pid = std::process::id();
    let start = start_time(pid).unwrap();
    assert!(is_alive(pid, start));
    assert!(!is_alive(pid, start + 1));
    assert_eq!(start_time(u32::MAX), None);
}

#[test]
fn children_are_members() {
    let job = Job::start("sleep 60 & sleep 60 & wait");
    // A child is the shell's copy until it has become its program.
    eventually("both sleep", || {
        members(&job.root).iter().filter(|it| it.command == "sleep 60").count() == 2
    });
    let found = members(&job.root);
    assert_eq!(found.len(), 3);
    assert!(found.iter().any(|it| it.pid == job.root.pid));
}

#[test]
fn who_leaves_the_session_and_the_parents_is_found_by_the_mark() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let job = Job::start(&format!(
        "( setsid bash -c 'echo $$ > {0}.tmp; mv {0}.tmp {0}; exec sleep 60' & ) ; sleep 60",
        file.display()
    ));
    eventually("it is away", || read_pid(&file).is_some_and(|it| pids(&job.root).contains(&it)));
    let away = super::process::look(read_pid(&file).unwrap()).unwrap();
    assert_ne!(away.session, job.root.pid);
    assert_ne!(away.parent, job.root.pid);
}

#[test]
fn who_stays_in_the_session_is_found_without_its_environment() {
    let job = Job::start("( env -i sleep 60 & ) ; sleep 60");
    eventually("all are there", || {
        members(&job.root).iter().filter(|it| it.command == "sleep 60").count() == 2
    });
    assert_eq!(bearers(&job.root.job), 1, "the bare one bears no mark");
}

#[test]
fn the_session_outlives_its_head() {
    let mut job = Job::start("( env -i sleep 60 & ) ; sleep 60 & exit 0");
    job.child.wait().unwrap();
    eventually("both sleep", || members(&job.root).len() == 2);
    assert!(!pids(&job.root).contains(&job.root.pid));
}

#[test]
fn a_session_without_its_head_and_without_a_mark_may_be_a_strangers() {
    let mut job = Job::start("sleep 60 & exit 0");
    job.child.wait().unwrap();
    eventually("it sleeps", || members(&job.root).len() == 1);
    let other = JobRoot { job: "another".to_owned(), ..job.root.clone() };
    assert!(members(&other).is_empty());
}

#[test]
fn an_id_that_was_given_out_again_is_not_the_job() {
    let job = Job::start("sleep 60 & sleep 60");
    eventually("it runs", || members(&job.root).len() >= 2);
    let earlier =
        JobRoot { started: job.root.started - 1, job: "another".to_owned(), ..job.root.clone() };
    assert!(members(&earlier).is_empty());
    assert_eq!(signal(&earlier, Signal::KILL), 0);
    let ended = terminate(&earlier, Duration::ZERO);
    assert_eq!((ended.terminated, ended.killed), (0, 0));
    assert!(is_alive(job.root.pid, job.root.started));
}

#[test]
fn this_process_and_those_above_it_are_nobodys_job() {
    let table = ProcessTable::read().unwrap();
    for pid in table.protected() {
        let Some(found) = table.get(pid) else { continue };
        let root = JobRoot { pid, started: found.started, job: String::new() };
        assert!(table.find(&root).is_empty(), "{pid}");
    }
    assert!(table.protected().contains(&std::process::id()));
}

#[test]
fn an_empty_job_id_marks_nobody() {
    let root = JobRoot { pid: 0, started: 0, job: String::new() };
    assert!(members(&root).is_empty());
    let root = JobRoot { pid: u32::MAX, started: 0, job: String::new() };
    assert!(members(&root).is_empty());
}

#[test]
fn a_job_within_a_job_belongs_to_both() {
    assert_eq!(nested_mark(None, "a"), "a");
    assert_eq!(nested_mark(Some(""), "a"), "a");
    assert_eq!(nested_mark(Some("a"), "b"), "a/b");
    let job = Job::start("HERMES_JOB=$HERMES_JOB/inner setsid -f sleep 60; sleep 60");
    eventually("the inner one is away", || {
        members(&job.root).iter().filter(|it| it.command == "sleep 60").count() == 2
    });
}

#[test]
fn a_mark_is_found_behind_a_large_environment() {
    let job = Job::start(
        "mark=$HERMES_JOB; unset HERMES_JOB; for i in $(seq 30); do \
         export FILL_$i=$(head -c 9000 /dev/zero | tr '\\0' HERMES_JOB=x); done; \
         env HERMES_JOB=$mark setsid -f sleep 60; exit 0",
    );
    eventually("the sleeper is away", || {
        members(&job.root).iter().any(|it| it.command == "sleep 60")
    });
}

#[test]
fn a_signal_reaches_all() {
    let job = Job::start("trap 'exit 0' USR1; ( setsid sleep 60 & ) ; sleep 60");
    eventually("all are there", || {
        members(&job.root).iter().filter(|it| it.command == "sleep 60").count() == 2
    });
    assert!(signal(&job.root, Signal::USR1) >= 3);
    eventually("all are gone", || members(&job.root).is_empty());
}

#[test]
fn usage_tells_busy_from_idle() {
    let busy = Job::start("while :; do :; done");
    let before = usage(&busy.root);
    assert!(before.memory_bytes > 0);
    assert_eq!(before.processes, 1);
    eventually("time is taken", || usage(&busy.root).ticks > before.ticks);
}

#[test]
fn looking_leaves_no_descriptor_open() {
    let job = Job::start("sleep 60");
    let before = descriptors();
    for _ in 0..20 {
        assert!(!members(&job.root).is_empty());
        usage(&job.root);
    }
    assert_eq!(descriptors(), before);
}

#[test]
fn a_dead_first_thread_does_not_make_a_dead_process() {
    let line = b"42 (x) Z 7 42 40 0 -1 0 1 2 3 4 10 20 30 40 20 0 3 0 555 999 6";
    let several = parse(42, line).unwrap();
    assert!(several.is_alive());
    assert_eq!(several.foreground, 0);
    assert!(!ProcessStat { threads: 1, ..several }.is_alive());
}

/// Prints how long one pass takes; run it by hand.
#[test]
#[ignore = "a measurement"]
fn pass_over_500_processes() {
    let job = Job::start("for i in $(seq 500); do sleep 120 & done; wait");
    eventually("all are there", || members(&job.root).len() > 500);
    let outsider = JobRoot { job: "another".to_owned(), pid: u32::MAX, started: 0 };
    for (what, root) in [("its own", &job.root), ("a stranger's", &outsider)] {
        let start = Instant::now();
        for _ in 0..20 {
            usage(root);
        }
        println!(
            "{what}: {} µs for {} processes",
            start.elapsed().as_micros() / 20,
            ProcessTable::read().unwrap().all().len()
        );
    }
    let start = Instant::now();
    println!(
        "{:?} in {} ms",
        terminate(&job.root, Duration::from_secs(2)),
        start.elapsed().as_millis()
    );
}
