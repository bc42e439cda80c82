//! A program that a call runs to its end, with what the session's shell would
//! give it, where the session's commands run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{Confinement, ToolContext, ToolError};
use hermes_exec::output::OutputStream;
use hermes_exec::shell_env::ShellEnv;
use hermes_exec::{
    CommandSpec, Job, JobRegistry, KILL_GRACE, ProcessExit, SandboxStop, StdinSource, StdioMode,
    WaitLimits, WaitOutcome,
};
use hermes_secrets::own_env;

/// How often one hears of a program that runs.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes of each output that are looked at.
const MAX_OUTPUT_BYTES: usize = 16 * 1024 * 1024;

/// The variables that tell programs where to keep what they can make again.
const CACHE_VARIABLES: [(&str, &str); 5] = [
    ("XDG_CACHE_HOME", ""),
    ("GOCACHE", "go-build"),
    ("GOLANGCI_LINT_CACHE", "golangci-lint"),
    ("npm_config_cache", "npm"),
    ("PIP_CACHE_DIR", "pip"),
];

/// Where a call runs its programs.
#[derive(Debug)]
pub(crate) struct ProgramRunner<'a> {
    cx: &'a ToolContext,
    jobs: Arc<JobRegistry>,
    environment: BTreeMap<OsString, OsString>,
    is_local: bool,
}

/// A program to be run.
#[derive(Debug)]
pub(crate) struct ProgramCommand<'a> {
    /// What it is called in messages.
    pub(crate) name: &'a str,
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) directory: &'a Path,
    pub(crate) input: StdinSource,
    /// When it is ended.
    pub(crate) deadline: Instant,
}

/// What became of it.
#[derive(Debug)]
pub(crate) struct ProgramRun {
    /// How it ended; none if it was ended because its time was up.
    pub(crate) exit: Option<ProcessExit>,
    pub(crate) elapsed: Duration,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Both outputs, as they were written.
    pub(crate) raw: Vec<u8>,
    /// Whether it printed more than is looked at.
    pub(crate) is_truncated: bool,
    /// Whether all of that is its output, and none its complaints.
    pub(crate) is_stdout_only: bool,
    job: Arc<Job>,
    directory: PathBuf,
}

impl ProgramRun {
    /// The code that a shell would give it.
    pub(crate) fn exit_code(&self) -> i32 {
        self.exit.map_or(124, ProcessExit::code)
    }

    /// What it printed, byte for byte; if it has complained as well, cleaned.
    pub(crate) fn stdout_bytes(&self) -> Vec<u8> {
        if self.is_stdout_only { self.raw.clone() } else { self.stdout.clone().into_bytes() }
    }

    /// What the sandbox has stopped, as far as these texts tell.
    pub(crate) fn sandbox_stops<'a>(
        &self,
        told: impl IntoIterator<Item = &'a String>,
    ) -> Vec<SandboxStop> {
        let told: Vec<&str> = told.into_iter().map(String::as_str).collect();
        self.job.stops(&told.join("\n"), &self.directory)
    }

    /// The end of what it complained of, or else of what it printed.
    pub(crate) fn error_excerpt(&self) -> String {
        let said = [&self.stderr, &self.stdout].into_iter().find(|text| !text.trim().is_empty());
        let text = said.map_or("", |text| text.trim());
        let mut told = tail(text, 1_500).to_owned();
        for stop in self.sandbox_stops([&self.stdout, &self.stderr]) {
            let SandboxStop { what, rule, allow, .. } = stop;
            told.push_str(&format!("\nStopped by the sandbox: {what} ({rule}). Allow it: {allow}"));
        }
        told
    }
}

/// The end of a text, from a whole line on if it is cut.
pub(crate) fn tail(text: &str, most: usize) -> &str {
    let Some(mut at) = text.len().checked_sub(most).filter(|at| *at > 0) else { return text };
    while !text.is_char_boundary(at) {
        at += 1;
    }
    let cut = text.get(at..).unwrap_or_default();
    cut.split_once('\n').map_or(cut, |(_, rest)| rest)
}

impl<'a> ProgramRunner<'a> {
    /// That of a call.
    pub(crate) async fn for_call(cx: &'a ToolContext) -> Result<Self, ToolError> {
        let jobs = JobRegistry::from_context(cx);
        let around = ShellEnv::for_call(&jobs, StdioMode::Separate, cx, own_env).await?;
        let is_here = around.host.is_none();
        let mut environment = around.environment();
        let has_no_cache = |held: &Arc<Confinement>| held.overlays.is_empty();
        if is_here && cx.confinement.as_ref().is_some_and(has_no_cache) {
            // Walls keep programs from the user's caches, and some do nothing
            // without one; a session's own cannot reach another's.
            let folder = jobs.scratch(cx.session.id())?.join("cache");
            for (name, inner) in CACHE_VARIABLES {
                let value = || folder.join(inner).into_os_string();
                environment.entry(OsString::from(name)).or_insert_with(value);
            }
        }
        Ok(Self { cx, environment, jobs, is_local: is_here })
    }

    /// Programs are told to print without colours.
    pub(crate) fn without_colors(mut self) -> Self {
        for name in ["FORCE_COLOR", "CLICOLOR_FORCE"] {
            self.environment.remove(std::ffi::OsStr::new(name));
        }
        let without = [("NO_COLOR", "1"), ("CARGO_TERM_COLOR", "never")];
        self.environment.extend(without.map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Whether that is this machine, with its files.
    pub(crate) fn is_local(&self) -> bool {
        self.is_local
    }

    /// A folder for temporary files that programs may write in.
    pub(crate) fn scratch_dir(&self) -> Result<PathBuf, ToolError> {
        if self.is_local {
            return self.jobs.scratch(self.cx.session.id());
        }
        let said = self.environment.get(std::ffi::OsStr::new("TMPDIR"));
        Ok(said.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from))
    }

    /// Runs a program to its end, or to the end of its time. It has ended
    /// then, and so has all that it started.
    pub(crate) async fn run(&self, what: ProgramCommand<'_>) -> Result<ProgramRun, ToolError> {
        self.cx.check_cancelled()?;
        let confinement = match (&self.cx.confinement, self.is_local) {
            (Some(held), true) => {
                let mut held = (**held).clone();
                held.write.push(self.jobs.scratch(self.cx.session.id())?);
                Some(Arc::new(held))
            }
            // The walls of another place hold it there.
            _ => None,
        };
        let order = CommandSpec {
            program: what.program,
            arguments: what.arguments,
            environment: self.environment.clone(),
            directory: what.directory.to_owned(),
            input: what.input,
            output: StdioMode::Separate,
            confinement,
        };
        let job = self.jobs.start(what.name.to_owned(), order).await?;
        let ended = self.wait(&job, what.name, what.deadline, what.directory).await;
        let log = job.log();
        let stdout = log.stream_summary(OutputStream::Stdout, MAX_OUTPUT_BYTES);
        let ran = ProgramRun {
            exit: ended,
            elapsed: job.age(),
            is_truncated: stdout.is_cut,
            stdout: stdout.text,
            stderr: log.stream_summary(OutputStream::Stderr, MAX_OUTPUT_BYTES).text,
            raw: log.read_from(0, MAX_OUTPUT_BYTES).bytes,
            is_stdout_only: log.stream_summary(OutputStream::Stderr, 1).total_bytes == 0,
            directory: what.directory.to_owned(),
            job: Arc::clone(&job),
        };
        if let Some(file) = log.file() {
            let _ = std::fs::remove_file(file);
        }
        drop(log);
        self.cx.check_cancelled()?;
        Ok(ran)
    }

    async fn wait(
        &self,
        job: &Job,
        name: &str,
        until: Instant,
        folder: &Path,
    ) -> Option<ProcessExit> {
        let mut vouched = None;
        loop {
            let next = until.min(Instant::now() + PROGRESS_INTERVAL);
            let patience =
                WaitLimits { deadline: Some(next), idle_timeout: None, cancel: &self.cx.cancel };
            match job.wait(&patience).await {
                WaitOutcome::Ended(ended) => {
                    // What it has left behind would write on.
                    if ended.has_descendants {
                        job.terminate(KILL_GRACE).await;
                    }
                    return Some(ended.exit);
                }
                WaitOutcome::Deadline if next == until => break,
                WaitOutcome::Cancelled => break,
                // Nobody is there to type; it gets what it was given.
                WaitOutcome::AwaitingInput => tokio::time::sleep(Duration::from_millis(200)).await,
                _ => {}
            }
            if vouched.is_none() {
                vouched = Some(self.jobs.guard_record(job, self.cx.session.id(), folder));
            }
            let (lines, _) = job.log().last_lines(1);
            let line = lines.first().map_or("", |line| line.trim());
            let shown: String = line.chars().take(120).collect();
            self.cx.report_progress(None, format!("{name}: {} s {shown}", job.age().as_secs()));
        }
        job.terminate(KILL_GRACE).await;
        None
    }
}
