//! A place, and what is needed to look at it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hermes_core::CancellationToken;
use hermes_exec::output::SpillTarget;
use hermes_exec::{
    CommandSpec, ExecBackend, HostFacts, Job, JobOutputOptions, ProcessExit, StdinSource,
    StdioMode, WaitLimits, WaitOutcome,
};

/// How long anything is waited for.
const LONG: Duration = Duration::from_secs(60);

/// A place under test, and a folder in it.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) backend: Arc<dyn ExecBackend>,
    pub(crate) place: Arc<HostFacts>,
    /// A folder there that is ours.
    pub(crate) dir: PathBuf,
    /// A folder here for what does not fit into memory.
    spill: tempfile::TempDir,
    next: AtomicU64,
}

/// What has become of a program.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) exit: ProcessExit,
    /// Both streams, as they came.
    pub(crate) all: Vec<u8>,
}

impl Outcome {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.all).into_owned()
    }
}

impl Scene {
    pub(crate) async fn open(backend: Arc<dyn ExecBackend>) -> Self {
        let place = backend.open().await.expect("the place opens");
        let mut scene = Self {
            backend,
            dir: "/".into(),
            place,
            spill: tempfile::tempdir().unwrap(),
            next: AtomicU64::new(0),
        };
        let made = scene.run(scene.sh("mktemp -d")).await;
        assert_eq!(made.exit, ProcessExit::Code(0), "{}", made.text());
        // News of the place may come with it.
        let text = made.text();
        let dir = text.lines().find(|line| line.starts_with('/'));
        scene.dir = PathBuf::from(dir.unwrap());
        scene
    }

    /// A number that no other test has in its command lines.
    pub(crate) fn number(&self) -> String {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{}{:03}", 1_000_000 + std::process::id(), next)
    }

    /// A few words of `sh`.
    pub(crate) fn sh(&self, script: &str) -> CommandSpec {
        self.spec("sh", &["-c", script])
    }

    pub(crate) fn spec(&self, program: &str, arguments: &[&str]) -> CommandSpec {
        CommandSpec {
            program: program.into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            environment: self.place.environment.clone(),
            directory: self.dir.clone(),
            input: StdinSource::Empty,
            output: StdioMode::Merged,
            confinement: None,
        }
    }

    pub(crate) async fn start(&self, spec: CommandSpec) -> Arc<Job> {
        self.try_start(spec).await.expect("it starts")
    }

    pub(crate) async fn try_start(
        &self,
        spec: CommandSpec,
    ) -> Result<Arc<Job>, hermes_core::ToolError> {
        let id = format!("it_{}", self.number());
        let spill = SpillTarget {
            directory: self.spill.path().to_owned(),
            name: format!("{id}.log"),
            max_bytes: 1 << 30,
            mask: None,
        };
        let reports = JobOutputOptions { spill: Some(spill), ..JobOutputOptions::default() };
        Job::start(&*self.backend, id, "it".into(), spec, reports).await
    }

    /// Runs a program to its end.
    pub(crate) async fn run(&self, spec: CommandSpec) -> Outcome {
        let job = self.start(spec).await;
        self.finish(&job).await
    }

    /// Runs a few words of `sh` in a folder that is always there.
    pub(crate) async fn run_at_root(&self, script: &str) -> Outcome {
        self.try_run_at_root(script).await.expect("it starts")
    }

    pub(crate) async fn try_run_at_root(
        &self,
        script: &str,
    ) -> Result<Outcome, hermes_core::ToolError> {
        let mut spec = self.sh(script);
        spec.directory = "/".into();
        let job = self.try_start(spec).await?;
        Ok(self.finish(&job).await)
    }

    /// Waits for the end of a job.
    pub(crate) async fn finish(&self, job: &Job) -> Outcome {
        self.finish_within(job, LONG.as_secs()).await;
        let exit = job.ended().unwrap().exit;
        Outcome { exit, all: written(job) }
    }

    /// Waits for the end of a job, so many seconds.
    pub(crate) async fn finish_within(&self, job: &Job, seconds: u64) {
        let pause = self.wait(job, Duration::from_secs(seconds)).await;
        let WaitOutcome::Ended(_) = pause else {
            job.terminate(Duration::from_secs(1)).await;
            panic!("it should have ended: {pause:?}, {:?}", text(job));
        };
    }

    pub(crate) async fn wait(&self, job: &Job, long: Duration) -> WaitOutcome {
        let cancel = CancellationToken::new();
        let until = Some(Instant::now() + long);
        job.wait(&WaitLimits { deadline: until, idle_timeout: None, cancel: &cancel }).await
    }

    /// Waits until a job has written a text.
    pub(crate) async fn hear(&self, job: &Job, what: &str) {
        self.until(what, || async { text(job).contains(what) }).await;
    }

    /// Waits until something is so.
    pub(crate) async fn until<F: Future<Output = bool>>(&self, what: &str, is: impl Fn() -> F) {
        let end = Instant::now() + LONG;
        while !is().await {
            assert!(Instant::now() < end, "waited in vain for: {what}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// How many processes there have this number in their command line.
    pub(crate) async fn count(&self, number: &str) -> usize {
        let (last, rest) = (number.len() - 1, number);
        // The pattern does not match itself.
        let pattern = format!("{}[{}]", &rest[..last], &rest[last..]);
        // Three processes for all the others: with some for each, every look is slow.
        let look = format!(
            "head -c 65536 /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c '{pattern}'"
        );
        self.run(self.sh(&look)).await.text().trim().parse().unwrap()
    }

    pub(crate) async fn until_gone(&self, number: &str) {
        let what = format!("the end of {number}");
        self.until(&what, || async { self.count(number).await == 0 }).await;
    }

    /// Takes our folder away; what still runs there and is ours.
    pub(crate) async fn leave(&self) -> Vec<String> {
        let ours = format!("it_{}", 1_000_000 + std::process::id());
        let look = format!(
            "rm -rf '{}'; for f in /proc/[0-9]*; do \
             if [ $f != /proc/$$ ] && tr '\\0' '\\n' <$f/environ 2>/dev/null | \
             grep -q '^HERMES_JOB=.*{ours}'; \
             then tr '\\0' ' ' <$f/cmdline; echo; fi; done 2>/dev/null",
            self.dir.display()
        );
        let mut spec = self.sh(&look);
        spec.directory = "/".into();
        let found = self.run(spec).await.text();
        // The one that looks, and what it is made of, is ours, too.
        let is_look = |line: &&str| line.contains("HERMES_JOB") || line.starts_with("tr ");
        let lines = found.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.filter(|line| !is_look(line)).map(str::to_owned).collect()
    }
}

pub(crate) fn written(job: &Job) -> Vec<u8> {
    job.log().read_from(0, usize::MAX >> 1).bytes
}

pub(crate) fn text(job: &Job) -> String {
    String::from_utf8_lossy(&written(job)).into_owned()
}
