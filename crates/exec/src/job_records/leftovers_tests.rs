#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use super::pid_namespace::{NamespaceRelation, PidNamespaceId};
use super::{FOREIGN_RECORD_MAX_AGE, JobRecord, JobRecords, ONE_DAY, RecordFile, current_process};
use crate::tree::fixture::{Job, bearers, eventually, read_pid, unique};
use crate::tree::{self, JOB_VARIABLE, is_alive};

const GRACE: Duration = Duration::from_secs(30);

fn entry(job: &Job) -> JobRecord {
    let (owner_pid, owner_started) = current_process();
    JobRecord {
        id: job.root.job.clone(),
        pid: job.root.pid,
        started: job.root.started,
        command: "sleep 60".to_owned(),
        cwd: PathBuf::from("/"),
        session: "main".to_owned(),
        owner_pid,
        owner_started,
        at: 1,
        detached: false,
        output: None,
        elsewhere: None,
    }
}

fn abandoned(job: &Job) -> JobRecord {
    JobRecord { owner_started: 1, ..entry(job) }
}

fn files(dir: &Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}

fn age(path: &Path, by: Duration) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - by).unwrap();
}

#[test]
fn what_runs_is_listed_until_it_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let list = JobRecords::open(dir.path()).unwrap();
    let (first, second) = (Job::start("sleep 60"), Job::start("sleep 60"));
    let later = JobRecord { at: 2, ..entry(&first) };
    list.record(&later).unwrap();
    list.record(&entry(&second)).unwrap();
    assert_eq!(list.running(), [entry(&second), later.clone()]);
    assert!(list.orphans().is_empty(), "their owner is this test");
    list.remove(&later.id).unwrap();
    list.remove(&later.id).unwrap();
    assert_eq!(list.running(), [entry(&second)]);
    assert_eq!(files(dir.path()), 1);
}

#[test]
fn the_folder_and_the_files_are_private() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("a/b");
    fs::create_dir_all(&inner).unwrap();
    fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
    let list = JobRecords::open(&inner).unwrap();
    let job = Job::start("sleep 60");
    list.record(&entry(&job)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&inner), 0o700);
    assert_eq!(mode(&inner.join(format!("{}.json", job.root.job))), 0o600);
}

#[test]
fn what_has_ended_is_taken_off() {
    let dir = tempfile::tempdir().unwrap();
    let list = JobRecords::open(dir.path()).unwrap();
    let mut job = Job::start("exit 0");
    list.record(&abandoned(&job)).unwrap();
    job.child.wait().unwrap();
    assert!(list.orphans().is_empty());
    assert_eq!(files(dir.path()), 0);
}

#[test]
fn an_id_that_was_given_out_again_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let list = JobRecords::open(dir.path()).unwrap();
    let job = Job::start("sleep 60");
    let other = JobRecord { id: unique(), started: job.root.started - 1, ..abandoned(&job) };
    list.record(&other).unwrap();
    assert!(list.orphans().is_empty());
    assert_eq!(list.terminate(&other, GRACE), tree::TerminationReport::default());
    assert!(is_alive(job.root.pid, job.root.started));
    assert_eq!(files(dir.path()), 0);
}

#[test]
fn a_job_without_its_first_process_is_an_orphan_too() {
    let dir = tempfile::tempdir().unwrap();
    let list = JobRecords::open(dir.path()).unwrap();
    let mut job = Job::start("( setsid sleep 60 & ) ; exit 0");
    job.child.wait().unwrap();
    eventually("it is away", || tree::members(&job.root).len() == 1);
    let entry = JobRecord { detached: true, ..abandoned(&job) };
    list.record(&entry).unwrap();
    assert_eq!(list.orphans(), std::slice::from_ref(&entry));
    assert_eq!(list.terminate(&entry, GRACE).terminated, 1);
    assert_eq!(bearers(&entry.id), 0);
    assert_eq!(files(dir.path()), 0);
}

#[test]
fn a_killed_owner_leaves_an_orphan_that_can_be_ended() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let list = JobRecords::open(dir.path().join("jobs")).unwrap();
    let id = unique();
    // The holder does what the program does: it starts a job in a session of
    // its own. It is killed before it can tidy up.
    let script = format!(
        "{JOB_VARIABLE}={id} setsid bash -c 'echo $$ > {0}.tmp; mv {0}.tmp {0}; sleep 60 & wait' & wait",
        pid.display()
    );
    let mut holder =
        Command::new("bash").args(["-c", &script]).stdin(Stdio::null()).spawn().unwrap();
    eventually("the job runs", || read_pid(&pid).is_some());
    let job = read_pid(&pid).unwrap();
    let entry = JobRecord {
        id: id.clone(),
        pid: job,
        started: tree::start_time(job).unwrap(),
        command: "sleep 60 & wait".to_owned(),
        cwd: PathBuf::from("/tmp"),
        session: "main".to_owned(),
        owner_pid: holder.id(),
        owner_started: tree::start_time(holder.id()).unwrap(),
        at: 5,
        detached: false,
        output: None,
        elsewhere: None,
    };
    list.record(&entry).unwrap();
    assert!(list.orphans().is_empty());
    holder.kill().unwrap();
    eventually("the holder is dead", || !list.orphans().is_empty());
    holder.wait().unwrap();
    // Another start opens the list anew.
    let list = JobRecords::open(dir.path().join("jobs")).unwrap();
    assert_eq!(list.orphans(), std::slice::from_ref(&entry));
    let ended = list.terminate(&entry, GRACE);
    assert_eq!(ended.survivors, []);
    assert!(ended.terminated >= 1);
    assert_eq!(bearers(&id), 0);
    assert!(list.running().is_empty());
}

#[test]
fn a_job_that_holds_this_program_is_not_offered() {
    let dir = tempfile::tempdir().unwrap();
    let list = JobRecords::open(dir.path()).unwrap();
    let job = Job::start("sleep 60");
    // This process stands in for one that was started within a job.
    let table = tree::ProcessTable::read().unwrap();
    let ours = tree::JobRoot::for_pid(std::process::id(), "").unwrap();
    assert!(tree::contains_self(&table, &ours));
    assert!(!tree::contains_self(&table, &job.root));
    let held = JobRecord { id: unique(), pid: ours.pid, started: ours.started, ..abandoned(&job) };
    list.record(&held).unwrap();
    assert!(list.orphans().is_empty());
    assert_eq!(list.running(), [held]);
}

#[test]
fn damaged_files_are_skipped_and_later_removed() {
    let dir = tempfile::tempdir().unwrap();
    let list = JobRecords::open(dir.path()).unwrap();
    let job = Job::start("sleep 60");
    list.record(&entry(&job)).unwrap();
    let good = dir.path().join(format!("{}.json", job.root.job));
    let text = fs::read(&good).unwrap();
    let damaged: [(&str, &[u8]); 5] = [
        ("empty.json", b""),
        ("cut.json", &text[..text.len() / 2]),
        ("other.json", &text),
        (".job.77", &text),
        ("deep.json", &[b'['; 50_000]),
    ];
    for (name, bytes) in damaged {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    fs::create_dir(dir.path().join("folder.json")).unwrap();
    assert_eq!(list.running(), [entry(&job)]);
    assert_eq!(files(dir.path()), 7);
    for (name, _) in damaged {
        age(&dir.path().join(name), ONE_DAY);
    }
    assert_eq!(list.running(), [entry(&job)]);
    assert_eq!(files(dir.path()), 2);
}

#[test]
fn entries_of_other_places_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let list = JobRecords::open(dir.path()).unwrap();
    let job = Job::start("sleep 60");
    let put = |id: &str, place: PidNamespaceId| {
        let note = RecordFile {
            place,
            entry: JobRecord { id: id.to_owned(), ..abandoned(&job) },
            missed: false,
        };
        let path = dir.path().join(format!("{id}.json"));
        fs::write(&path, serde_json::to_vec(&note).unwrap()).unwrap();
        path
    };
    let here = PidNamespaceId::current();
    let container =
        put("container", PidNamespaceId { space: "pid:[1]".to_owned(), ..here.clone() });
    let machine = put(
        "machine",
        PidNamespaceId { host: "far".to_owned(), boot: "x".to_owned(), ..here.clone() },
    );
    let past = put("past", PidNamespaceId { boot: "x".to_owned(), ..here });
    assert!(list.orphans().is_empty());
    assert!(container.exists() && machine.exists() && !past.exists());
    age(&container, FOREIGN_RECORD_MAX_AGE);
    assert!(list.running().is_empty());
    assert!(!container.exists() && machine.exists());
    assert!(is_alive(job.root.pid, job.root.started));
}

#[test]
fn places_are_told_apart() {
    let place = |host: &str, boot: &str, space: &str| PidNamespaceId {
        host: host.to_owned(),
        boot: boot.to_owned(),
        space: space.to_owned(),
    };
    let here = place("a", "1", "x");
    assert_eq!(here.relation(&here.clone()), NamespaceRelation::Same);
    assert_eq!(here.relation(&place("b", "1", "x")), NamespaceRelation::Same);
    assert_eq!(here.relation(&place("a", "2", "x")), NamespaceRelation::PreviousBoot);
    assert_eq!(here.relation(&place("a", "1", "y")), NamespaceRelation::Foreign);
    assert_eq!(here.relation(&place("b", "2", "x")), NamespaceRelation::Foreign);
}

#[test]
fn ids_that_are_no_file_names_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let list = JobRecords::open(dir.path()).unwrap();
    let job = Job::start("sleep 60");
    let long = "x".repeat(121);
    for id in ["", "../x", "a/b", ".hidden", "a b", "ä", long.as_str()] {
        assert!(list.record(&JobRecord { id: id.to_owned(), ..entry(&job) }).is_err(), "{id}");
        assert!(list.remove(id).is_err(), "{id}");
    }
    assert_eq!(files(dir.path()), 0);
}

#[test]
fn long_commands_and_odd_folders_can_be_written() {
    use std::os::unix::ffi::OsStrExt;
    let dir = tempfile::tempdir().unwrap();
    let list = JobRecords::open(dir.path()).unwrap();
    let job = Job::start("sleep 60");
    let cwd = PathBuf::from(std::ffi::OsStr::from_bytes(b"/tmp/\xff\n"));
    list.record(&JobRecord { command: "ä".repeat(100_000), cwd, ..entry(&job) }).unwrap();
    let found = list.running().pop().unwrap();
    assert!(found.command.ends_with("ä…") && found.command.len() < 5_000);
    assert_eq!(found.cwd, Path::new("/tmp/\u{fffd}\n"));
}

/// Prints what a job pays for being on the list; run it by hand.
#[test]
#[ignore = "a measurement"]
fn record_and_forget() {
    let dir = tempfile::tempdir().unwrap();
    let list = JobRecords::open(dir.path()).unwrap();
    let job = Job::start("sleep 60");
    let entry = entry(&job);
    let start = Instant::now();
    for _ in 0..1000 {
        list.record(&entry).unwrap();
        list.remove(&entry.id).unwrap();
    }
    println!("{} µs for both", start.elapsed().as_micros() / 1000);
}
