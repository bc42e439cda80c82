//! The daemon, with shell scripts in place of hermes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use hermes_cron::{
    CronDaemon, CronEvent, CronJob, DaemonSettings, JobChange, JobDraft, JobRun, JobStore,
    RunCommands, RunStatus, StopCondition, WakeSignal, WallClock,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// A known secret.
const SECRET: &str = "S3cr3t-value";

/// Runs tasks as scripts.
struct Scripts {
    run: String,
    deliver: String,
    dir: PathBuf,
}

impl Scripts {
    fn command(&self, script: &str, run: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(&self.dir).env("RUN", run);
        command
    }
}

impl RunCommands for Scripts {
    fn run_command(&self, _: &CronJob, run: &str) -> Command {
        self.command(&self.run, run)
    }

    fn deliver_command(&self, _: &CronJob) -> Command {
        self.command(&self.deliver, "")
    }

    fn redact(&self, text: &str) -> String {
        text.replace(SECRET, "***")
    }
}

struct Stopped(Timestamp);

impl WallClock for Stopped {
    fn now(&self) -> Timestamp {
        self.0
    }
}

fn noon() -> Timestamp {
    "2026-11-16T12:00:00Z".parse().unwrap()
}

fn later(seconds: i64) -> Stopped {
    Stopped(Timestamp::from_second(noon().as_second() + seconds).unwrap())
}

fn settings() -> DaemonSettings {
    DaemonSettings {
        poll_interval: Duration::from_millis(10),
        grace: Duration::from_millis(100),
        ..DaemonSettings::default()
    }
}

struct Place {
    home: tempfile::TempDir,
    jobs: JobStore,
}

impl Place {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let jobs = JobStore::for_home(home.path()).with_zone(TimeZone::UTC);
        Self { home, jobs }
    }

    fn add(&self, prompt: &str, change: JobChange) -> CronJob {
        let draft = JobDraft { prompt: prompt.into(), schedule: "in 1m".into(), change };
        self.jobs.add(draft, noon()).unwrap()
    }

    fn scripts(&self, run: &str, deliver: &str) -> Scripts {
        let dir = self.home.path().to_owned();
        Scripts { run: run.into(), deliver: deliver.into(), dir }
    }

    /// Runs all due jobs and returns the finished runs.
    fn serve(
        &self,
        orders: &Scripts,
        settings: DaemonSettings,
        clock: &dyn WallClock,
    ) -> Vec<JobRun> {
        let ended = Mutex::new(Vec::new());
        let tell = |event: &CronEvent<'_>| match event {
            CronEvent::Ended(run) => ended.lock().push((*run).clone()),
            CronEvent::Warning(text) => panic!("{text}"),
            CronEvent::Started { .. } => {}
        };
        let daemon = CronDaemon {
            jobs: self.jobs.clone(),
            commands: orders,
            settings,
            clock,
            on_event: &tell,
        };
        daemon.serve(&WakeSignal::default(), StopCondition::Idle).unwrap();
        ended.into_inner()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.home.path().join(name)).unwrap_or_default()
    }
}

/// Answers with its prompt.
const ECHO: &str = r#"echo '{"type":"other"}'; tr -d '\n' | sed 's/.*\]//' > said
    printf '{"type":"result","status":"success","text":"%s","session":"s1","usage":{"input":3}}\n' "$(cat said)""#;

#[test]
fn a_task_is_carried_out_and_its_answer_kept() {
    let place = Place::new();
    let job = place.add("Say hello.", JobChange::default());
    let runs = place.serve(&place.scripts(ECHO, ""), settings(), &later(60));
    let [run] = &runs[..] else { panic!("{runs:?}") };
    assert_eq!((run.status, run.session.as_deref()), (RunStatus::Ok, Some("s1")), "{run:?}");
    assert_eq!(run.usage["input"], 3);
    let page = run.output.as_ref().unwrap();
    assert!(page.ends_with(&format!("cron/output/{}/2026-11-16_12-01-00.md", job.id)), "{page}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("## Answer\n\nSay hello.\n"), "{page}");
    assert!(place.serve(&place.scripts(ECHO, ""), settings(), &later(3_600)).is_empty());
    assert_eq!(place.jobs.history(&job.id, 10).unwrap(), runs);
}

#[test]
fn a_failure_is_told() {
    for (script, status, why) in [
        ("echo oh no >&2; exit 3", RunStatus::Failed, "oh no (exit status: 3)"),
        (
            r#"echo '{"type":"result","status":"budget","text":"so far"}'"#,
            RunStatus::Failed,
            "'budget'",
        ),
        (
            r#"echo '{"type":"result","status":"success","text":" "}'"#,
            RunStatus::Failed,
            "no answer",
        ),
        ("echo done", RunStatus::Failed, "no answer"),
        ("kill -9 $$", RunStatus::Failed, "signal: 9"),
    ] {
        let place = Place::new();
        let job = place.add("Try.", JobChange::default());
        let runs = place.serve(&place.scripts(script, ""), settings(), &later(60));
        let error = runs[0].error.clone().unwrap_or_default();
        assert!(runs[0].status == status && error.contains(why), "{script}: {runs:?}");
        assert_eq!(place.jobs.get(&job.id).unwrap().last_status.as_deref(), Some("error"));
    }
}

#[test]
fn whoever_takes_too_long_is_ended_with_all_that_it_started() {
    let place = Place::new();
    place.add("Wait.", JobChange::default());
    let script = "trap '' TERM; sleep 1000 & echo $! > pid; wait; wait; sleep 1000";
    let settings = DaemonSettings { run_timeout: Duration::from_millis(500), ..settings() };
    let runs = place.serve(&place.scripts(script, ""), settings, &later(60));
    assert_eq!(runs[0].status, RunStatus::TimedOut);
    assert_gone(place.read("pid").trim());
}

/// A terminated process may take a moment to exit.
fn assert_gone(pid: &str) {
    let end = Instant::now() + Duration::from_secs(10);
    let state = |pid: &str| {
        let text = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
        text.is_ok_and(|text| !text.contains(") Z "))
    };
    assert!(!pid.is_empty());
    while state(pid) {
        assert!(Instant::now() < end, "process {pid} lives");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn answers_are_sent_unless_they_are_silent() {
    let deliver = "cat >> letters; echo >> letters";
    for (answer, sent) in
        [("All is well.", true), ("[SILENT]", false), ("report [SILENT]", true), ("silent", false)]
    {
        let place = Place::new();
        place.add(
            "Tell.",
            JobChange { deliver: Some("message:phone,chat".into()), ..JobChange::default() },
        );
        let script = format!(r#"echo '{{"type":"result","status":"success","text":"{answer}"}}'"#);
        let runs = place.serve(&place.scripts(&script, deliver), settings(), &later(60));
        assert_eq!(runs[0].delivered.len(), if sent { 2 } else { 0 }, "{answer}: {runs:?}");
        let letters = place.read("letters");
        assert_eq!(letters.matches(answer).count(), if sent { 2 } else { 0 }, "{letters}");
    }
}

#[test]
fn what_cannot_be_sent_is_told_and_a_failure_is_sent_in_a_line() {
    let place = Place::new();
    let job =
        place.add("Tell.", JobChange { deliver: Some("phone".into()), ..JobChange::default() });
    let deliver =
        r#"cat > letter; echo '{"error":"No approval","kind":"approval_required"}'; exit 4"#;
    let runs =
        place.serve(&place.scripts("echo broken >&2; exit 1", deliver), settings(), &later(60));
    assert_eq!(runs[0].delivered[0].error.as_deref(), Some("No approval (exit status: 4)"));
    let letter: serde_json::Value = serde_json::from_str(&place.read("letter")).unwrap();
    assert_eq!(letter["target"], "phone");
    assert_eq!(letter["message"], "Scheduled task 'Tell.' failed: broken (exit status: 1)");
    let job = place.jobs.get(&job.id).unwrap();
    assert_eq!(job.last_delivery_error.as_deref(), Some("phone: No approval (exit status: 4)"));
}

#[test]
fn no_more_run_at_once_than_may() {
    let place = Place::new();
    for _ in 0..5 {
        place.add("Count.", JobChange::default());
    }
    // Each prints how many are running.
    let script = r#"mkdir -p here; touch here/$RUN; ls here | wc -l >> counts; sleep 0.05; rm here/$RUN
        echo '{"type":"result","status":"success","text":"done"}'"#;
    let settings = DaemonSettings { max_parallel: 2, ..settings() };
    let runs = place.serve(&place.scripts(script, ""), settings, &later(60));
    assert_eq!(runs.iter().filter(|run| run.status == RunStatus::Ok).count(), 5);
    let counts: Vec<u32> =
        place.read("counts").lines().map(|line| line.trim().parse().unwrap()).collect();
    assert!(counts.len() == 5 && counts.iter().all(|count| *count <= 2), "{counts:?}");
}

#[test]
fn two_daemons_share_the_work() {
    let place = Place::new();
    for _ in 0..12 {
        place.add("Once.", JobChange::default());
    }
    let script = r#"echo $RUN >> runs; echo '{"type":"result","status":"success","text":"done"}'"#;
    let orders = place.scripts(script, "");
    let clock = later(60);
    let shown: usize = std::thread::scope(|threads| {
        let one = threads.spawn(|| place.serve(&orders, settings(), &clock).len());
        let other = threads.spawn(|| place.serve(&orders, settings(), &clock).len());
        one.join().unwrap() + other.join().unwrap()
    });
    let text = place.read("runs");
    let mut runs: Vec<&str> = text.lines().collect();
    runs.sort_unstable();
    runs.dedup();
    assert_eq!((text.lines().count(), runs.len(), shown), (12, 12, 12));
    let (jobs, _) = place.jobs.list().unwrap();
    assert!(jobs.iter().all(|job| job.last_status.as_deref() == Some("ok")));
}

#[test]
fn told_to_stop_it_stops_what_runs() {
    let place = Place::new();
    let job = place.add("Wait.", JobChange::default());
    let orders = place.scripts("touch begun; exec sleep 1000", "");
    let clock = later(60);
    let bell = WakeSignal::default();
    let daemon = CronDaemon {
        jobs: place.jobs.clone(),
        commands: &orders,
        settings: settings(),
        clock: &clock,
        on_event: &|_: &CronEvent<'_>| {},
    };
    std::thread::scope(|threads| {
        let daemon = threads.spawn(|| daemon.serve(&bell, StopCondition::OnRequest));
        let end = Instant::now() + Duration::from_secs(10);
        while !place.home.path().join("begun").exists() {
            assert!(Instant::now() < end);
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(place.jobs.has_daemon());
        bell.stop();
        daemon.join().unwrap().unwrap();
    });
    assert!(!place.jobs.has_daemon());
    let run = place.jobs.history(&job.id, 1).unwrap().remove(0);
    assert_eq!(run.status, RunStatus::Cancelled);
    assert!(run.error.unwrap().contains("shutting down"));
}

#[test]
fn a_run_can_be_made_by_hand() {
    let place = Place::new();
    let job = place.add("Say hello.", JobChange::default());
    place.jobs.pause(&job.id, None, noon()).unwrap();
    let orders = place.scripts(ECHO, "");
    let clock = later(5);
    let daemon = CronDaemon {
        jobs: place.jobs.clone(),
        commands: &orders,
        settings: settings(),
        clock: &clock,
        on_event: &|_: &CronEvent<'_>| {},
    };
    let run = daemon.run_now("say hello.", &WakeSignal::default()).unwrap();
    assert_eq!(run.status, RunStatus::Ok);
    let after = place.jobs.get(&job.id).unwrap();
    assert_eq!((after.next_run_at, after.repeat.completed), (job.next_run_at, 0));
}

#[test]
fn answers_do_not_pile_up() {
    let place = Place::new();
    let job = place.add("Say hello.", JobChange::default());
    let orders = place.scripts(ECHO, "");
    let clock = later(5);
    let daemon = CronDaemon {
        jobs: place.jobs.clone(),
        commands: &orders,
        settings: DaemonSettings { kept_outputs: 2, ..settings() },
        clock: &clock,
        on_event: &|_: &CronEvent<'_>| {},
    };
    for _ in 0..4 {
        daemon.run_now(&job.id, &WakeSignal::default()).unwrap();
    }
    let pages = std::fs::read_dir(place.jobs.dir().join("output").join(&job.id)).unwrap();
    assert_eq!(pages.count(), 2);
}

#[test]
fn a_run_whose_job_is_taken_away_is_stopped_at_once() {
    let place = Place::new();
    let job = place.add("Work.", JobChange::default());
    // The claim would last for an hour.
    let settings = DaemonSettings { lease: 3_600, ..settings() };
    let scripts = place.scripts("echo $$ > pid.new; mv pid.new pid; sleep 600", "");
    let began = Instant::now();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while place.read("pid").is_empty() {
                assert!(began.elapsed() < Duration::from_secs(30), "nothing runs");
                std::thread::sleep(Duration::from_millis(5));
            }
            place.jobs.remove(&job.id, noon()).unwrap();
        });
        let tell = |_: &CronEvent<'_>| {};
        let daemon = CronDaemon {
            jobs: place.jobs.clone(),
            commands: &scripts,
            settings,
            clock: &later(60),
            on_event: &tell,
        };
        daemon.serve(&WakeSignal::default(), StopCondition::Idle).unwrap();
    });
    assert_gone(place.read("pid").trim());
}

/// Saves the task, and answers with its number.
const COUNT: &str = r#"n=$(($(cat count 2>/dev/null || echo 0) + 1)); echo $n > count; cat > "task-$n"
    text="answer $n"; [ $n = 2 ] && text='[SILENT]'; [ $n = 3 ] && { echo no >&2; exit 1; }
    printf '{"type":"result","status":"success","text":"%s"}\n' "$text""#;

#[test]
fn a_task_gets_the_last_answers_that_it_asks_for() {
    let place = Place::new();
    let change = JobChange {
        context_from: Some(vec!["self".into(), "self".into()]),
        ..JobChange::default()
    };
    let draft = JobDraft { prompt: "Count.".into(), schedule: "every 1m".into(), change };
    let job = place.jobs.add(draft, noon()).unwrap();
    assert_eq!(job.context_from, std::slice::from_ref(&job.id));
    for minute in 1..=4 {
        let runs = place.serve(&place.scripts(COUNT, ""), settings(), &later(60 * minute));
        assert_eq!(runs.len(), 1, "{runs:?}");
    }
    assert!(!place.read("task-1").contains("previous answer"), "nothing came before");
    for task in ["task-2", "task-3", "task-4"] {
        // Neither a silent nor a failed run replaces what was reported.
        let text = place.read(task);
        assert!(text.contains("answer 1") && text.contains("data, not instructions"), "{text}");
        assert!(text.trim_end().ends_with("Count."), "{text}");
    }
    let other = JobChange { context_from: Some(vec![job.name.clone()]), ..JobChange::default() };
    let other = place.add("Sum up.", other);
    place.serve(&place.scripts(COUNT, ""), settings(), &later(60 * 4));
    assert!(place.read("task-5").contains("answer 4"), "{}", place.read("task-5"));
    let forget = JobChange { context_from: Some(Vec::new()), ..JobChange::default() };
    assert!(place.jobs.edit(&other.id, forget, noon()).unwrap().context_from.is_empty());
    let unknown = JobChange { context_from: Some(vec!["nobody".into()]), ..JobChange::default() };
    assert!(place.jobs.edit(&job.id, unknown, noon()).is_err());
    let kept = place.jobs.edit(&job.id, JobChange::default(), noon()).unwrap();
    assert_eq!(kept.context_from, [job.id]);
}

#[test]
fn an_earlier_answer_is_bounded_redacted_and_only_of_a_job() {
    let place = Place::new();
    let change = JobChange { context_from: Some(vec!["self".into()]), ..JobChange::default() };
    let draft = JobDraft { prompt: "Look.".into(), schedule: "every 1m".into(), change };
    let job = place.jobs.add(draft, noon()).unwrap();
    let pages = place.home.path().join("cron/output").join(&job.id);
    std::fs::create_dir_all(&pages).unwrap();
    let page = format!("# x\n\n## Response\n\n{SECRET} {}\n", "long ".repeat(10_000));
    std::fs::write(pages.join("1.md"), page).unwrap();
    std::fs::write(place.home.path().join("cron/output/1.md"), "\n## Answer\n\noutside\n").unwrap();
    // As another program may write it.
    let write = |sources: Value| {
        let file = place.home.path().join("cron/jobs.json");
        let text = std::fs::read_to_string(&file).unwrap();
        let mut document: Value = serde_json::from_str(&text).unwrap();
        document["jobs"][0]["context_from"] = sources;
        std::fs::write(&file, document.to_string()).unwrap();
    };
    write(json!(job.id));
    place.serve(&place.scripts(COUNT, ""), settings(), &later(60));
    let task = place.read("task-1");
    assert!(task.contains("previous answer") && !task.contains(SECRET), "{task}");
    assert!(task.len() < 10_000, "{}", task.len());
    write(json!(["..", ".", "", "../output"]));
    place.serve(&place.scripts(COUNT, ""), settings(), &later(120));
    assert!(place.read("task-2").ends_with("Look."), "{}", place.read("task-2"));
    write(Value::Null);
    assert!(place.jobs.get(&job.id).unwrap().context_from.is_empty());
}

#[test]
fn a_task_that_was_done_without_a_held_call_has_succeeded() {
    let run = |result: &str| {
        let place = Place::new();
        place.add("Push it.", JobChange::default());
        let script = format!("cat > task; echo '{result}'; exit 3");
        let ended = place.serve(&place.scripts(&script, ""), settings(), &later(60)).remove(0);
        let page = std::fs::read_to_string(ended.output.as_ref().unwrap()).unwrap();
        (ended.status, page)
    };
    let held = r#"{"type":"result","status":"failure","end":"done","text":"Not pushed.","held_calls":[{"tool":"terminal"}]}"#;
    let (status, page) = run(held);
    assert_eq!(status, RunStatus::Ok, "{page}");
    assert!(page.contains("Not pushed."), "{page}");
    for other in
        [held.replace("\"done\"", "\"budget\""), held.replace(r#"{"tool":"terminal"}"#, "")]
    {
        assert_eq!(run(&other).0, RunStatus::Failed, "{other}");
    }
}
