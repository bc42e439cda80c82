//! Runs a program to completion with the environment and backend of the
//! session's shell.

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

/// Interval between progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of bytes read of each output stream.
const MAX_OUTPUT_BYTES: usize = 16 * 1024 * 1024;

/// Environment variables that set cache directories.
const CACHE_VARIABLES: [(&str, &str); 5] = [
    ("XDG_CACHE_HOME", ""),
    ("GOCACHE", "go-build"),
    ("GOLANGCI_LINT_CACHE", "golangci-lint"),
    ("npm_config_cache", "npm"),
    ("PIP_CACHE_DIR", "pip"),
];

/// Runs the programs of one call.
#[derive(Debug)]
pub(crate) struct ProgramRunner<'a> {
    cx: &'a ToolContext,
    jobs: Arc<JobRegistry>,
    environment: BTreeMap<OsString, OsString>,
    is_local: bool,
}

/// A program to run.
#[derive(Debug)]
pub(crate) struct ProgramCommand<'a> {
    /// Its name in messages.
    pub(crate) name: &'a str,
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) directory: &'a Path,
    pub(crate) input: StdinSource,
    /// When it is killed.
    pub(crate) deadline: Instant,
}

/// The outcome of a program.
#[derive(Debug)]
pub(crate) struct ProgramRun {
    /// Its exit status; none if it timed out.
    pub(crate) exit: Option<ProcessExit>,
    pub(crate) elapsed: Duration,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Both streams, interleaved as written.
    pub(crate) raw: Vec<u8>,
    /// Whether it printed more than was read.
    pub(crate) is_truncated: bool,
    /// Whether `raw` is only stdout.
    pub(crate) is_stdout_only: bool,
    job: Arc<Job>,
    directory: PathBuf,
}

impl ProgramRun {
    /// Returns the exit code as a shell reports it.
    pub(crate) fn exit_code(&self) -> i32 {
        self.exit.map_or(124, ProcessExit::code)
    }

    /// Returns stdout byte for byte, or cleaned if stderr is not empty.
    pub(crate) fn stdout_bytes(&self) -> Vec<u8> {
        if self.is_stdout_only { self.raw.clone() } else { self.stdout.clone().into_bytes() }
    }

    /// Returns what the sandbox blocked, judged by these texts.
    pub(crate) fn sandbox_stops<'a>(
        &self,
        shown: impl IntoIterator<Item = &'a String>,
    ) -> Vec<SandboxStop> {
        let shown: Vec<&str> = shown.into_iter().map(String::as_str).collect();
        self.job.stops(&shown.join("\n"), &self.directory)
    }

    /// Returns the end of stderr, or of stdout if stderr is empty.
    pub(crate) fn error_excerpt(&self) -> String {
        let said = [&self.stderr, &self.stdout].into_iter().find(|text| !text.trim().is_empty());
        let text = said.map_or("", |text| text.trim());
        let mut shown = tail(text, 1_500).to_owned();
        for stop in self.sandbox_stops([&self.stdout, &self.stderr]) {
            let SandboxStop { what, rule, allow, .. } = stop;
            shown
                .push_str(&format!("\nBlocked by the sandbox: {what} ({rule}). Allow it: {allow}"));
        }
        shown
    }
}

/// Returns the end of a text, from a line start if truncated.
pub(crate) fn tail(text: &str, most: usize) -> &str {
    let Some(mut at) = text.len().checked_sub(most).filter(|at| *at > 0) else { return text };
    while !text.is_char_boundary(at) {
        at += 1;
    }
    let cut = text.get(at..).unwrap_or_default();
    cut.split_once('\n').map_or(cut, |(_, rest)| rest)
}

impl<'a> ProgramRunner<'a> {
    /// Creates the runner for a call.
    pub(crate) async fn for_call(cx: &'a ToolContext) -> Result<Self, ToolError> {
        let jobs = JobRegistry::from_context(cx);
        let env = ShellEnv::for_call(&jobs, StdioMode::Separate, cx, own_env).await?;
        let is_here = env.host.is_none();
        let mut environment = env.environment();
        let has_no_cache = |confinement: &Arc<Confinement>| confinement.overlays.is_empty();
        if is_here && cx.confinement.as_ref().is_some_and(has_no_cache) {
            // The sandbox hides the user's caches, and some programs fail
            // without one; a per-session cache keeps sessions apart.
            let dir = jobs.scratch(cx.session.id())?.join("cache");
            for (name, inner) in CACHE_VARIABLES {
                let value = || dir.join(inner).into_os_string();
                environment.entry(OsString::from(name)).or_insert_with(value);
            }
        }
        Ok(Self { cx, environment, jobs, is_local: is_here })
    }

    /// Disables colored output.
    pub(crate) fn without_colors(mut self) -> Self {
        for name in ["FORCE_COLOR", "CLICOLOR_FORCE"] {
            self.environment.remove(std::ffi::OsStr::new(name));
        }
        let without = [("NO_COLOR", "1"), ("CARGO_TERM_COLOR", "never")];
        self.environment.extend(without.map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Whether programs run on this machine, with its files.
    pub(crate) fn is_local(&self) -> bool {
        self.is_local
    }

    /// Returns a directory for temporary files that programs may write to.
    pub(crate) fn scratch_dir(&self) -> Result<PathBuf, ToolError> {
        if self.is_local {
            return self.jobs.scratch(self.cx.session.id());
        }
        let said = self.environment.get(std::ffi::OsStr::new("TMPDIR"));
        Ok(said.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from))
    }

    /// Runs a program until it exits or times out. On return it and all its
    /// descendants have ended.
    pub(crate) async fn run(&self, what: ProgramCommand<'_>) -> Result<ProgramRun, ToolError> {
        self.cx.check_cancelled()?;
        let confinement = match (&self.cx.confinement, self.is_local) {
            (Some(confinement), true) => {
                let mut confinement = (**confinement).clone();
                confinement.write.push(self.jobs.scratch(self.cx.session.id())?);
                Some(Arc::new(confinement))
            }
            // A remote backend applies its own confinement.
            _ => None,
        };
        let spec = CommandSpec {
            program: what.program,
            arguments: what.arguments,
            environment: self.environment.clone(),
            directory: what.directory.to_owned(),
            input: what.input,
            output: StdioMode::Separate,
            confinement,
        };
        let job = self.jobs.start(what.name.to_owned(), spec).await?;
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

    async fn wait(&self, job: &Job, name: &str, until: Instant, dir: &Path) -> Option<ProcessExit> {
        let mut vouched = None;
        loop {
            let next = until.min(Instant::now() + PROGRESS_INTERVAL);
            let timeout =
                WaitLimits { deadline: Some(next), idle_timeout: None, cancel: &self.cx.cancel };
            match job.wait(&timeout).await {
                WaitOutcome::Ended(ended) => {
                    // Descendants left behind would keep writing.
                    if ended.has_descendants {
                        job.terminate(KILL_GRACE).await;
                    }
                    return Some(ended.exit);
                }
                WaitOutcome::Deadline if next == until => break,
                WaitOutcome::Cancelled => break,
                // No user can type; the program only gets the given input.
                WaitOutcome::AwaitingInput => tokio::time::sleep(Duration::from_millis(200)).await,
                _ => {}
            }
            if vouched.is_none() {
                vouched = Some(self.jobs.guard_record(job, self.cx.session.id(), dir));
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
