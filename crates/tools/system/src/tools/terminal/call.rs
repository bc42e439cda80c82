//! A started command, until its result is returned.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{ErrorKind, NoticeSink, OutputLimits, ToolContext, ToolError};
use hermes_exec::{
    CommandTimeouts, Job, JobHandle, JobRegistry, KILL_GRACE, MonitorOptions, WaitLimits,
    WaitOutcome,
};
use serde_json::Value;

use super::answer::Output;
use super::sudo::{SudoCommand, SudoOutcome};
use super::{Args, editor, workdir_not_found};
use crate::shell::{self, CommandCompletion};

/// How long a new background job is watched for an early exit.
const EARLY_EXIT_WINDOW: Duration = Duration::from_millis(300);

/// A command that takes longer is recorded, to be found after a crash.
const CRASH_RECORD_DELAY: Duration = Duration::from_millis(25);

/// Time for an interrupted command to exit; the pipeline waits two seconds for
/// the result.
const INTERRUPT_GRACE: Duration = Duration::from_secs(1);

/// Maximum characters of a result that are not output.
const MAX_METADATA_CHARS: usize = 3_000;

/// Minimum bytes of output to show, however little space is left.
const MIN_OUTPUT_BYTES: usize = 500;

const NO_NOTICES_HINT: &str = "Notices are not delivered here: use process action=poll or \
                       wait. If hermes exits after one call, its running commands end with it: \
                       run the command in the foreground, detach it, or make the calls in one \
                       `hermes exec`.";

/// A started command.
pub(super) struct TerminalCall<'a> {
    pub(super) args: Args,
    pub(super) cx: &'a ToolContext,
    pub(super) jobs: &'a JobRegistry,
    pub(super) job: Arc<Job>,
    pub(super) directory: PathBuf,
    /// Working directory of the session.
    pub(super) session_cwd: PathBuf,
    pub(super) sudo_command: Option<SudoCommand>,
    /// Output file of a detached command.
    pub(super) file: Option<PathBuf>,
}

/// Time limits of a command.
struct CommandLimits {
    end: Instant,
    seconds: u64,
    silence: Option<Duration>,
    /// When the command moves to the background.
    background_at: Option<Instant>,
}

pub(super) fn timeout_settings(cx: &ToolContext) -> CommandTimeouts {
    cx.ports.get::<CommandTimeouts>().map(|times| *times).unwrap_or_default()
}

/// Returns the timeout of a command: the requested or the default one, capped
/// by the settings.
pub(super) fn command_timeout(args: &Args, cx: &ToolContext) -> Duration {
    let times = timeout_settings(cx);
    args.timeout.map_or(times.default_timeout, Duration::from_secs).min(times.max_timeout)
}

impl TerminalCall<'_> {
    fn command_limits(&self) -> CommandLimits {
        let limit = command_timeout(&self.args, self.cx);
        let now = Instant::now();
        let end = now + limit;
        let turn = self.args.background_after.map(Duration::from_secs);
        CommandLimits {
            end,
            seconds: limit.as_secs(),
            silence: self.idle_timeout(),
            background_at: turn.filter(|turn| *turn <= limit).map(|turn| now + turn),
        }
    }

    fn idle_timeout(&self) -> Option<Duration> {
        let said = self.args.inactivity_timeout.map(Duration::from_secs);
        said.or(timeout_settings(self.cx).idle_timeout).filter(|silence| !silence.is_zero())
    }

    pub(super) async fn foreground(
        self,
        completion: CommandCompletion,
    ) -> Result<Output, ToolError> {
        let limits = self.command_limits();
        let (pause, is_editor) = tokio::select! {
            pause = self.wait(&limits) => (pause, false),
            () = editor::wait_until_opened(&self.job) => (WaitOutcome::IdleTimeout, true),
        };
        let is_turned = limits.background_at.is_some() && pause == WaitOutcome::Deadline;
        if is_turned || matches!(pause, WaitOutcome::AwaitingInput | WaitOutcome::LiveScreen) {
            return Ok(self.move_to_background(pause));
        }
        let error = match pause {
            WaitOutcome::Ended(_) => None,
            WaitOutcome::Cancelled => Some("The command was interrupted".to_owned()),
            WaitOutcome::IdleTimeout if is_editor => Some(editor::ENDED_NOTE.to_owned()),
            WaitOutcome::IdleTimeout => Some(format!(
                "The command was terminated: it wrote nothing for {} s",
                limits.silence.unwrap_or_default().as_secs()
            )),
            _ => Some(format!("The command was terminated after {} s", limits.seconds)),
        };
        if error.is_some() {
            let is_hurried = pause == WaitOutcome::Cancelled;
            self.job.terminate(if is_hurried { INTERRUPT_GRACE } else { KILL_GRACE }).await;
        }
        if self.job.ended().is_some_and(|ended| ended.has_descendants) {
            self.register_job().acknowledge_end();
        }
        let moves = self.args.workdir.is_none();
        let settled = completion.apply_to_session(&self.job, moves, self.cx);
        let mut output = self.describe(settled.directory.as_deref().unwrap_or(self.next_cwd()));
        if moves
            && !self.jobs.backend().is_local()
            && output.is_missing_directory(&self.directory, &self.job)
        {
            shell::retreat_to_parent(&self.directory, self.cx)?;
        }
        self.check_directory(&output)?;
        settled.notes.iter().for_each(|note| output.add_note(note));
        if let Some(error) = error {
            let cancelled = pause == WaitOutcome::Cancelled;
            let kind = if cancelled { ErrorKind::Cancelled } else { ErrorKind::Timeout };
            output.kind = Some(kind.name());
            output.status = Some(if cancelled { "cancelled" } else { "timeout" });
            output.exit_code = Some(if cancelled { 130 } else { 124 });
            output.error = Some(error);
            output.exit_code_meaning = Some("ended by hermes".to_owned());
        }
        if self.args.timeout.is_some_and(|wanted| wanted > limits.seconds) {
            output.add_note(format!(
                "The maximum timeout is {} s; use background for longer commands.",
                limits.seconds
            ));
        }
        if self.args.notify_on_complete || self.args.watch_patterns.is_some() {
            output.add_note(
                "notify_on_complete and watch_patterns apply in the background only; this \
                 command ran in the foreground.",
            );
        }
        self.add_sudo_notes(&mut output);
        Ok(output)
    }

    /// Returns the working directory of the next command if this one does not
    /// change it: `workdir` applies to this command only.
    fn next_cwd(&self) -> &Path {
        if self.args.workdir.is_some() { &self.session_cwd } else { &self.directory }
    }

    async fn wait(&self, limits: &CommandLimits) -> WaitOutcome {
        let until = limits.background_at.unwrap_or(limits.end);
        let brief = until.min(Instant::now() + CRASH_RECORD_DELAY);
        let timeout = |until| WaitLimits {
            deadline: Some(until),
            idle_timeout: limits.silence,
            cancel: &self.cx.cancel,
        };
        let pause = self.job.wait(&timeout(brief)).await;
        if pause != WaitOutcome::Deadline || brief == until {
            return pause;
        }
        let _vouched = self.jobs.guard_record(&self.job, self.cx.session.id(), &self.directory);
        self.job.wait(&timeout(until)).await
    }

    /// Leaves the command running in the background.
    fn move_to_background(self, pause: WaitOutcome) -> Output {
        let handle = self.register_job();
        let mut output = self.describe(self.next_cwd());
        handle.mark_read(output.told);
        output.session_id = Some(self.job.id.clone());
        output.pid = self.job.pid;
        let (status, note) = match pause {
            WaitOutcome::AwaitingInput => (
                "awaiting_input",
                "The command waits for input: answer with process action=submit.",
            ),
            WaitOutcome::LiveScreen => (
                "running",
                "The command keeps updating its screen and continues in the background: \
                 process action=keys types, poll shows the screen, kill ends it.",
            ),
            _ => ("running", "The command continues in the background; see the process tool."),
        };
        output.status = Some(status);
        output.add_note(note);
        output.add_note(
            "The session's shell is as it was before this command: its changes to the \
             directory, variables and the like are not kept.",
        );
        self.attach_monitor(&handle, &mut output);
        self.keep_askpass();
        output
    }

    pub(super) async fn background(self) -> Result<Output, ToolError> {
        let (handle, detached) = self.register_detached();
        let mut heard = Output::default();
        self.attach_monitor(&handle, &mut heard);
        // Report a command that fails to start at once.
        let until = Some(Instant::now() + EARLY_EXIT_WINDOW);
        let timeout = WaitLimits { deadline: until, idle_timeout: None, cancel: &self.cx.cancel };
        self.job.wait(&timeout).await;
        let has_ended = self.job.ended().is_some();
        let above = match self.args.workdir {
            None if has_ended => shell::leave_removed_cwd(self.jobs, self.cx)?,
            _ => None,
        };
        let mut output = self.describe(above.as_deref().unwrap_or(self.next_cwd()));
        if let Some(above) = &above {
            output.add_note(shell::removed_cwd_note(above));
        }
        handle.mark_read(output.told);
        output.session_id = Some(self.job.id.clone());
        output.pid = self.job.pid;
        output.notify_on_complete = heard.notify_on_complete;
        output.watch_patterns = heard.watch_patterns;
        output.notify_unsupported = heard.notify_unsupported;
        output.detached = detached == Some(Ok(()));
        if let Some(file) = &self.file {
            output.output_file = Some(file.display().to_string());
        }
        if has_ended {
            handle.acknowledge_end();
            self.check_directory(&output)?;
            self.add_sudo_notes(&mut output);
            return Ok(output);
        }
        output.status = Some("running");
        output.add_note(match detached {
            Some(Err(error)) => format!(
                "It is not detached, and ends with hermes: its record could not be written \
                 ({error}). Check the free space in {}.",
                self.jobs.directory().display()
            ),
            Some(Ok(())) => format!(
                "It continues after hermes exits; only process action=kill, now or later in \
                 this directory, or `hermes processes kill {}` ends it.",
                self.job.id
            ),
            None => "process action=poll shows new output; it ends with hermes.".to_owned(),
        });
        if output.detached && self.job.is_proxied() {
            output.add_note(
                "Its network access ends with hermes, and resumes with the next command of \
                 this session.",
            );
        }
        if self.args.timeout.is_some() {
            output.add_note("Background commands have no timeout.");
        }
        self.keep_askpass();
        Ok(output)
    }

    fn register_job(&self) -> Arc<JobHandle> {
        let (job, session) = (Arc::clone(&self.job), self.cx.session.id());
        let handle = self.jobs.register(job, session, self.directory.clone());
        if self.cx.is_nested {
            handle.set_parent_call(&self.cx.call_id);
        }
        handle
    }

    /// Registers the job, detached if requested; the second value says whether
    /// detaching succeeded.
    fn register_detached(&self) -> (Arc<JobHandle>, Option<Result<(), String>>) {
        let Some(file) = &self.file else { return (self.register_job(), None) };
        let (job, session) = (Arc::clone(&self.job), self.cx.session.id());
        match self.jobs.register_detached(job, session, self.directory.clone(), file.clone()) {
            Ok(handle) => (handle, Some(Ok(()))),
            Err(error) => (self.register_job(), Some(Err(error.to_string()))),
        }
    }

    /// Fails if a remote `workdir` does not exist, which only the remote shell
    /// finds out.
    fn check_directory(&self, output: &Output) -> Result<(), ToolError> {
        let is_named = self.args.workdir.is_some() && !self.jobs.backend().is_local();
        if is_named && output.is_missing_directory(&self.directory, &self.job) {
            return Err(workdir_not_found(&self.directory, output.output.trim()));
        }
        Ok(())
    }

    /// Starts monitoring the job, and adds to `output` which notices the
    /// session will get.
    fn attach_monitor(&self, handle: &Arc<JobHandle>, output: &mut Output) {
        let args = &self.args;
        let patterns = args.watch_patterns.iter().flatten();
        let patterns: Vec<String> = patterns.filter(|it| !it.is_empty()).cloned().collect();
        let is_wanted = args.notify_on_complete || !patterns.is_empty();
        let notices = self.cx.ports.get::<dyn NoticeSink>();
        let notices = notices.filter(|it| it.has_listener(self.cx.session.id()));
        let is_heard = notices.is_some();
        if is_wanted && !is_heard {
            output.notify_unsupported = Some(NO_NOTICES_HINT);
        } else if is_wanted {
            output.notify_on_complete = args.notify_on_complete;
            output.watch_patterns.clone_from(&patterns);
        }
        let attention = MonitorOptions {
            notify_end: args.notify_on_complete && is_heard,
            patterns: if is_heard { patterns } else { Vec::new() },
            idle_timeout: self.idle_timeout(),
            output_file: self.file.clone(),
            notices,
        };
        self.jobs.monitor(handle, attention);
    }

    /// Describes the job with as much output as a result can hold. Texts count
    /// at their JSON-encoded size, and each stream has its share.
    fn sized_output(&self, dir: &Path) -> Output {
        let bounds = self.cx.ports.get::<OutputLimits>().map(|it| *it).unwrap_or_default();
        let number = |most: u64| usize::try_from(most).unwrap_or(usize::MAX);
        let room =
            number(bounds.answer_chars).saturating_sub(MAX_METADATA_CHARS).max(MAX_METADATA_CHARS);
        let mut shown = number(bounds.command_bytes);
        loop {
            let mut output = Output::from_job(&self.job, self.args.separate, dir, shown);
            let texts = output.output_texts().map(|text| Value::from(text.as_str()).to_string());
            let size: usize = texts.map(|text| text.chars().count()).sum();
            if size <= room || shown <= MIN_OUTPUT_BYTES {
                return output;
            }
            // The share of escaped characters changes with the length shown.
            shown = (shown.min(size) / 20 * 19)
                .min(shown.saturating_mul(room) / size)
                .max(MIN_OUTPUT_BYTES);
        }
    }

    fn describe(&self, dir: &Path) -> Output {
        let mut output = self.sized_output(dir);
        if output.output_file.is_some() && !self.jobs.backend().is_local() {
            output.add_note(
                "output_file is on the machine that runs hermes: file tools can read it, \
                 commands cannot.",
            );
        }
        if let Some(raised) = &self.sudo_command {
            output.output_texts().for_each(|text| raised.redact(text));
        }
        output
    }

    fn add_sudo_notes(&self, output: &mut Output) {
        // Messages of sudo for an ordinary user and for an administrator.
        let signs = ["no new privileges", "sudo: PERM_SUDOERS"];
        let is_held = self.job.containment.is_some() && self.args.command.contains("sudo");
        if is_held && signs.iter().any(|sign| output.output.contains(sign)) {
            output.add_note(
                "sudo cannot work in the sandbox; it requires a permission profile without one.",
            );
        }
        let Some(raised) = &self.sudo_command else { return };
        match raised.outcome() {
            SudoOutcome::Fine => {}
            SudoOutcome::WrongPassword { forgotten } => {
                output.sudo_auth_failed = true;
                output.sudo_cache_cleared = forgotten;
                output.add_note(if forgotten {
                    "The sudo password was wrong and has been discarded; the next command asks \
                     again."
                } else {
                    "The password in SUDO_PASSWORD is wrong."
                });
            }
            SudoOutcome::NoPassword => {
                output.sudo_auth_failed = true;
                output.add_note(
                    "sudo needs a password, and none was given. The user can type it if hermes \
                     runs in a terminal, or set SUDO_PASSWORD.",
                );
            }
        }
    }

    /// Keeps the askpass helper until the job ends.
    fn keep_askpass(self) {
        let Self { sudo_command: Some(raised), job, .. } = self else { return };
        tokio::spawn(async move {
            while job.ended().is_none() {
                tokio::time::sleep(EARLY_EXIT_WINDOW).await;
            }
            // Discards a wrong password.
            raised.outcome();
        });
    }
}
