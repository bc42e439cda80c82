#![cfg(target_os = "linux")]

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{JobTermination, TerminationReport, TerminationStep, terminate};
use crate::tree::fixture::{Job, bearers, descriptors, eventually, read_pid};
use crate::tree::{JobRoot, Signal, is_alive, members, signal};

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(200);

/// Ends a job and looks, with other eyes, that nothing of it is left.
fn end_all(job: &mut Job, grace: Duration) -> TerminationReport {
    let before = descriptors();
    let ended = terminate(&job.root, grace);
    assert_eq!(ended.survivors, []);
    assert!(members(&job.root).is_empty());
    job.child.wait().unwrap();
    assert_eq!(bearers(&job.root.job), 0);
    assert_eq!(descriptors(), before);
    ended
}

#[test]
fn who_is_asked_goes() {
    let mut job = Job::start("sleep 60 & sleep 60");
    eventually("both sleep", || members(&job.root).len() == 3);
    let ended = end_all(&mut job, LONG);
    assert_eq!((ended.terminated, ended.killed), (3, 0));
}

#[test]
fn who_does_not_listen_is_killed() {
    let mut job = Job::start("trap '' TERM; sleep 60 & while :; do sleep 1; done");
    eventually("they run", || members(&job.root).len() >= 3);
    assert!(end_all(&mut job, SHORT).killed >= 2);
}

#[test]
fn without_grace_nobody_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("asked");
    let ready = dir.path().join("ready");
    let mut job = Job::start(&format!(
        "trap 'touch {}' TERM; touch {}; while :; do read -t 1 < <(sleep 60); done",
        file.display(),
        ready.display()
    ));
    eventually("the trap is set", || ready.exists());
    let ended = end_all(&mut job, Duration::ZERO);
    assert!(ended.killed >= 1);
    assert!(!file.exists());
}

#[test]
fn who_tidies_up_has_the_time_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let (ready, tidy) = (dir.path().join("ready"), dir.path().join("tidy"));
    let mut job = Job::start(&format!(
        "trap 'sleep 0.3; touch {}; exit 0' TERM; touch {}; sleep 60 & wait",
        tidy.display(),
        ready.display()
    ));
    eventually("the trap is set", || ready.exists() && members(&job.root).len() == 2);
    assert_eq!(end_all(&mut job, LONG).killed, 0);
    assert!(tidy.exists());
}

#[test]
fn who_went_away_is_ended_too() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let mut job = Job::start(&format!(
        "( setsid bash -c '( trap \"\" TERM HUP; echo $BASHPID > {0}.tmp; mv {0}.tmp {0}; \
         exec sleep 60 ) & ' & ) ; nohup sleep 60 & disown; exit 0",
        file.display()
    ));
    eventually("it is away", || read_pid(&file).is_some() && members(&job.root).len() == 2);
    let ended = end_all(&mut job, SHORT);
    assert_eq!(ended.terminated + ended.killed, 2);
    assert_eq!(ended.killed, 1);
}

#[test]
fn who_was_stopped_hears_it() {
    let mut job = Job::start("sleep 60 & sleep 60");
    eventually("both sleep", || members(&job.root).len() == 3);
    assert_eq!(signal(&job.root, Signal::STOP), 3);
    assert_eq!(end_all(&mut job, LONG).killed, 0);
}

#[test]
fn two_hundred_children() {
    let mut job = Job::start("for i in $(seq 200); do sleep 60 & done; wait");
    eventually("all are there", || members(&job.root).len() == 201);
    let ended = end_all(&mut job, LONG);
    assert_eq!((ended.terminated, ended.killed), (201, 0));
}

#[test]
fn a_tree_that_ignores_and_multiplies() {
    // Eight levels of two: 255 shells that wait for each other.
    let mut job = Job::start(
        "trap '' TERM; grow() { if (( $1 > 0 )); then grow $(( $1 - 1 )) & \
         grow $(( $1 - 1 )) & wait; else exec sleep 60; fi; }; grow 7",
    );
    eventually("it grows", || members(&job.root).len() > 20);
    assert!(end_all(&mut job, Duration::ZERO).killed > 20);
}

#[test]
fn runners_that_start_the_next_before_they_end() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("run.sh");
    // Each is in a session of its own and gone at once; no more than 3000 of
    // them, should nobody stop it.
    let text = "trap '' TERM HUP; (( $1 == 990 )) && : > $0.on; (( $1 > 0 )) || exit 0; \
                setsid bash $0 $(( $1 - 1 )) & exit 0";
    std::fs::write(&script, text).unwrap();
    let path = script.display();
    let mut job = Job::start(&format!("for i in 1 2 3; do bash {path} 1000 & done; exec sleep 60"));
    eventually("they run", || dir.path().join("run.sh.on").exists());
    let ended = end_all(&mut job, Duration::from_millis(50));
    assert!(ended.killed >= 1);
    // A single look may miss a runner.
    assert!((0..50).all(|_| bearers(&job.root.job) == 0));
}

/// Sixteen that each start the next in a session of its own and go, again and
/// again. Bounded by time: what they leave behind fills the table of processes.
#[test]
fn many_that_replace_themselves() {
    let Some(python) = ["/usr/bin/python3", "/usr/local/bin/python3"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists())
    else {
        eprintln!("skipped: there is no python3");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let (script, ready) = (dir.path().join("many.py"), dir.path().join("ready"));
    let over = dir.path().join("over");
    let text = "import os, sys, time, signal\n\
        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
        begin, gate = os.pipe()\n\
        for _ in range(16):\n    \
            if os.fork() == 0:\n        \
                os.close(gate)\n        \
                os.read(begin, 1)\n        \
                until = time.monotonic() + 4\n        \
                for left in range(2000):\n            \
                    if time.monotonic() > until: break\n            \
                    time.sleep(0.002)\n            \
                    if os.fork(): os._exit(0)\n            \
                    os.setsid()\n        \
                open(sys.argv[2], 'w').close()\n        \
                os._exit(0)\n\
        open(sys.argv[1], 'w').close()\n\
        os.close(gate)\n\
        time.sleep(5)\n";
    std::fs::write(&script, text).unwrap();
    let words = [&script, &ready, &over].map(|path| path.display().to_string()).join(" ");
    let mut job = Job::start(&format!("exec {python} {words}"));
    eventually("they run", || ready.exists());
    let ended = end_all(&mut job, Duration::ZERO);
    assert!(!over.exists(), "none of them lives to its end: {ended:?}");
    assert!((0..50).all(|_| bearers(&job.root.job) == 0));
}

#[test]
fn who_wakes_the_others_is_killed_with_them() {
    // One wakes whoever is stopped, all of them without end; for 20 s at most.
    let mut job = Job::start(
        "trap '' TERM; (while (( SECONDS < 20 )); do kill -CONT 0; done) & \
         for i in 1 2 3; do (while (( SECONDS < 20 )); do (:); done) & done; wait",
    );
    eventually("they run", || members(&job.root).len() >= 5);
    assert!(end_all(&mut job, Duration::ZERO).killed >= 5);
}

#[test]
fn a_job_that_is_gone_has_nothing_to_end() {
    let mut job = Job::start("exit 0");
    job.child.wait().unwrap();
    assert_eq!(terminate(&job.root, LONG), TerminationReport::default());
}

#[test]
fn one_that_was_not_waited_for_counts_as_gone() {
    let job = Job::start("exit 0");
    eventually("it ended", || members(&job.root).is_empty());
    assert_eq!(terminate(&job.root, LONG), TerminationReport::default());
}

#[test]
fn this_process_is_never_ended() {
    let pid = std::process::id();
    let root = JobRoot::for_pid(pid, "").unwrap();
    let mut other =
        std::process::Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
    assert_eq!(terminate(&root, SHORT), TerminationReport::default());
    assert!(other.try_wait().unwrap().is_none(), "a child of ours is not a job of ours");
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn who_bears_the_mark_and_started_us_is_spared() {
    // A root that is not there, whose mark this test's own children bear.
    let job = Job::start("sleep 60");
    let earlier = JobRoot { pid: u32::MAX, started: 0, job: job.root.job.clone() };
    assert_eq!(members(&earlier).len(), 1, "the mark alone is enough");
    assert_eq!(terminate(&earlier, LONG).terminated, 1);
    assert!(!is_alive(job.root.pid, job.root.started));
}

#[test]
fn steps_do_not_sleep_and_take_the_time_that_they_are_given() {
    let job = Job::start("trap '' TERM; while :; do sleep 60; done");
    eventually("they run", || members(&job.root).len() == 2);
    let start = Instant::now();
    let mut ending = JobTermination::new(job.root.clone(), Duration::from_secs(3600));
    assert!(matches!(ending.step(start), TerminationStep::Wait(_)));
    eventually("the sleeper went", || members(&job.root).len() <= 2);
    assert!(matches!(ending.step(start + Duration::from_secs(3599)), TerminationStep::Wait(_)));
    assert!(is_alive(job.root.pid, job.root.started));
    // An hour later, by the clock that is passed in.
    let late = start + Duration::from_secs(3600);
    eventually("it is done", || match ending.step(late) {
        TerminationStep::Wait(_) => false,
        TerminationStep::Done(ended) => {
            assert!(ended.killed >= 1);
            assert_eq!(ended.survivors, []);
            true
        }
    });
    assert!(!is_alive(job.root.pid, job.root.started));
}
