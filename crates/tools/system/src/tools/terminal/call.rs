//! A command that was started, until it is answered.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{NoticeSink, OutputLimits, ToolContext, ToolError};
use hermes_exec::{
    CommandTimeouts, Job, JobHandle, JobRegistry, KILL_GRACE, MonitorOptions, WaitLimits,
    WaitOutcome,
};
use serde_json::Value;

use super::answer::Output;
use super::sudo::{SudoCommand, SudoOutcome};
use super::{Args, editor, workdir_not_found};
use crate::shell::{self, CommandCompletion};

/// How long a new background job is watched for an early end.
const EARLY_EXIT_WINDOW: Duration = Duration::from_millis(300);

/// A command that takes longer is written down, for the case of a crash.
const CRASH_RECORD_DELAY: Duration = Duration::from_millis(25);

/// How long a command that was interrupted has to go by itself: whoever has
/// interrupted it waits two seconds for what there is to tell.
const INTERRUPT_GRACE: Duration = Duration::from_secs(1);

/// Characters of an answer that are not output, at most.
const MAX_METADATA_CHARS: usize = 3_000;

/// Bytes of output that are shown however little room there is.
const MIN_OUTPUT_BYTES: usize = 500;

const NO_NOTICES_HINT: &str = "Nobody takes notices here: ask with process action=poll or wait. Where \
                       hermes answers one call and ends, what it has running ends with it: run \
                       the command in the foreground, or detach it, or make the calls of one \
                       `hermes exec`.";

/// A command that was started.
pub(super) struct TerminalCall<'a> {
    pub(super) args: Args,
    pub(super) cx: &'a ToolContext,
    pub(super) jobs: &'a JobRegistry,
    pub(super) job: Arc<Job>,
    pub(super) directory: PathBuf,
    /// Where its session is.
    pub(super) session_cwd: PathBuf,
    pub(super) sudo_command: Option<SudoCommand>,
    /// Where it writes, if it is to outlive us.
    pub(super) file: Option<PathBuf>,
}

/// How long the command is waited for.
struct CommandLimits {
    end: Instant,
    seconds: u64,
    silence: Option<Duration>,
    /// When it goes to the background.
    background_at: Option<Instant>,
}

pub(super) fn timeout_settings(cx: &ToolContext) -> CommandTimeouts {
    cx.ports.get::<CommandTimeouts>().map(|times| *times).unwrap_or_default()
}

/// How long a command is waited for, by what is said of it and by the settings.
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

    pub(super) async fn foreground(self, after: CommandCompletion) -> Result<Output, ToolError> {
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
                "The command was ended: it wrote nothing for {} s",
                limits.silence.unwrap_or_default().as_secs()
            )),
            _ => Some(format!("The command was ended after {} s", limits.seconds)),
        };
        if error.is_some() {
            let is_hurried = pause == WaitOutcome::Cancelled;
            self.job.terminate(if is_hurried { INTERRUPT_GRACE } else { KILL_GRACE }).await;
        }
        if self.job.ended().is_some_and(|ended| ended.has_descendants) {
            self.register_job().acknowledge_end();
        }
        let moves = self.args.workdir.is_none();
        let settled = after.apply_to_session(&self.job, moves, self.cx);
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
            output.status = Some(if cancelled { "cancelled" } else { "timeout" });
            output.exit_code = Some(if cancelled { 130 } else { 124 });
            output.error = Some(error);
            output.exit_code_meaning = Some("ended by hermes".to_owned());
        }
        if self.args.timeout.is_some_and(|wanted| wanted > limits.seconds) {
            output.add_note(format!(
                "A command is waited for at most {} s; use background for longer ones.",
                limits.seconds
            ));
        }
        if self.args.notify_on_complete || self.args.watch_patterns.is_some() {
            output.add_note(
                "notify_on_complete and watch_patterns count in the background only; this was \
                 waited for.",
            );
        }
        self.add_sudo_notes(&mut output);
        Ok(output)
    }

    /// Where the next command will be if this one does not move: a folder that
    /// was named for this one is for this one only.
    fn next_cwd(&self) -> &Path {
        if self.args.workdir.is_some() { &self.session_cwd } else { &self.directory }
    }

    async fn wait(&self, limits: &CommandLimits) -> WaitOutcome {
        let until = limits.background_at.unwrap_or(limits.end);
        let brief = until.min(Instant::now() + CRASH_RECORD_DELAY);
        let patience = |until| WaitLimits {
            deadline: Some(until),
            idle_timeout: limits.silence,
            cancel: &self.cx.cancel,
        };
        let pause = self.job.wait(&patience(brief)).await;
        if pause != WaitOutcome::Deadline || brief == until {
            return pause;
        }
        let _vouched = self.jobs.guard_record(&self.job, self.cx.session.id(), &self.directory);
        self.job.wait(&patience(until)).await
    }

    /// It goes on without anybody who waits.
    fn move_to_background(self, pause: WaitOutcome) -> Output {
        let listed = self.register_job();
        let mut output = self.describe(self.next_cwd());
        listed.mark_read(output.told);
        output.session_id = Some(self.job.id.clone());
        output.pid = self.job.pid;
        let (status, note) = match pause {
            WaitOutcome::AwaitingInput => (
                "awaiting_input",
                "It waits for somebody to type: process action=submit answers it.",
            ),
            WaitOutcome::LiveScreen => (
                "running",
                "It keeps up its screen by itself and goes on in the background: process \
                 action=keys types, poll shows the screen, kill ends it.",
            ),
            _ => ("running", "It goes on in the background; see the process tool."),
        };
        output.status = Some(status);
        output.add_note(note);
        output.add_note(
            "The session's shell is as it was before this command: what that has changed in it \
             (folder, variables and the like) and will change is not kept.",
        );
        self.attach_monitor(&listed, &mut output);
        self.keep_askpass();
        output
    }

    pub(super) async fn background(self) -> Result<Output, ToolError> {
        let (listed, detached) = self.register_detached();
        let mut heard = Output::default();
        self.attach_monitor(&listed, &mut heard);
        // One that cannot even start is better told at once.
        let until = Some(Instant::now() + EARLY_EXIT_WINDOW);
        let patience = WaitLimits { deadline: until, idle_timeout: None, cancel: &self.cx.cancel };
        self.job.wait(&patience).await;
        let has_ended = self.job.ended().is_some();
        let above = match self.args.workdir {
            None if has_ended => shell::leave_removed_cwd(self.jobs, self.cx)?,
            _ => None,
        };
        let mut output = self.describe(above.as_deref().unwrap_or(self.next_cwd()));
        if let Some(above) = &above {
            output.add_note(shell::removed_cwd_note(above));
        }
        listed.mark_read(output.told);
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
            listed.acknowledge_end();
            self.check_directory(&output)?;
            self.add_sudo_notes(&mut output);
            return Ok(output);
        }
        output.status = Some("running");
        output.add_note(match detached {
            Some(Err(error)) => format!(
                "It is not detached, and ends with hermes: it could not be written down, so \
                 nobody would find it again ({error}). See that there is room in {}.",
                self.jobs.directory().display()
            ),
            Some(Ok(())) => format!(
                "It goes on when hermes ends, and nothing ends it but process action=kill, now \
                 or later in this folder, or `hermes processes kill {}`.",
                self.job.id
            ),
            None => "process action=poll shows what is new; it ends with hermes.".to_owned(),
        });
        if output.detached && self.job.is_proxied() {
            output.add_note(
                "Its way to other hosts ends with hermes, and opens again with the next command of \
                 this session.",
            );
        }
        if self.args.timeout.is_some() {
            output.add_note("In the background there is no timeout.");
        }
        self.keep_askpass();
        Ok(output)
    }

    fn register_job(&self) -> Arc<JobHandle> {
        let (job, session) = (Arc::clone(&self.job), self.cx.session.id());
        let listed = self.jobs.list(job, session, self.directory.clone());
        if self.cx.is_nested {
            listed.set_parent_call(&self.cx.call_id);
        }
        listed
    }

    /// Lists it, detached if that is wanted and can be done; why not.
    fn register_detached(&self) -> (Arc<JobHandle>, Option<Result<(), String>>) {
        let Some(file) = &self.file else { return (self.register_job(), None) };
        let (job, session) = (Arc::clone(&self.job), self.cx.session.id());
        match self.jobs.list_detached(job, session, self.directory.clone(), file.clone()) {
            Ok(listed) => (listed, Some(Ok(()))),
            Err(error) => (self.register_job(), Some(Err(error.to_string()))),
        }
    }

    /// Elsewhere the shell finds out whether the folder is there that a command
    /// is to run in.
    fn check_directory(&self, output: &Output) -> Result<(), ToolError> {
        let is_named = self.args.workdir.is_some() && !self.jobs.backend().is_local();
        if is_named && output.is_missing_directory(&self.directory, &self.job) {
            return Err(workdir_not_found(&self.directory, output.output.trim()));
        }
        Ok(())
    }

    /// Has the job looked after, and says what its session will hear of it.
    fn attach_monitor(&self, listed: &Arc<JobHandle>, output: &mut Output) {
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
        self.jobs.monitor(listed, attention);
    }

    /// What is known of the job, with no more output than an answer can hold:
    /// all of it counts as it is written in JSON, and each stream has its share.
    fn sized_output(&self, folder: &Path) -> Output {
        let bounds = self.cx.ports.get::<OutputLimits>().map(|it| *it).unwrap_or_default();
        let number = |most: u64| usize::try_from(most).unwrap_or(usize::MAX);
        let room =
            number(bounds.answer_chars).saturating_sub(MAX_METADATA_CHARS).max(MAX_METADATA_CHARS);
        let mut shown = number(bounds.command_bytes);
        loop {
            let mut output = Output::from_job(&self.job, self.args.separate, folder, shown);
            let texts = output.output_texts().map(|text| Value::from(text.as_str()).to_string());
            let size: usize = texts.map(|text| text.chars().count()).sum();
            if size <= room || shown <= MIN_OUTPUT_BYTES {
                return output;
            }
            // In its longest form a text has another share of escapes.
            shown = (shown.min(size) / 20 * 19)
                .min(shown.saturating_mul(room) / size)
                .max(MIN_OUTPUT_BYTES);
        }
    }

    fn describe(&self, folder: &Path) -> Output {
        let mut output = self.sized_output(folder);
        if output.output_file.is_some() && !self.jobs.backend().is_local() {
            output.add_note(
                "output_file is on the machine of hermes: the file tools read it, commands do not.",
            );
        }
        if let Some(raised) = &self.sudo_command {
            output.output_texts().for_each(|text| raised.redact(text));
        }
        output
    }

    fn add_sudo_notes(&self, output: &mut Output) {
        // What sudo says of it, to a user and to an administrator.
        let signs = ["no new privileges", "sudo: PERM_SUDOERS"];
        let is_held = self.job.containment.is_some() && self.args.command.contains("sudo");
        if is_held && signs.iter().any(|sign| output.output.contains(sign)) {
            output.add_note(
                "sudo cannot work in the sandbox; it takes a permission profile without one.",
            );
        }
        let Some(raised) = &self.sudo_command else { return };
        match raised.outcome() {
            SudoOutcome::Fine => {}
            SudoOutcome::WrongPassword { forgotten } => {
                output.sudo_auth_failed = true;
                output.sudo_cache_cleared = forgotten;
                output.add_note(if forgotten {
                    "The password for sudo was wrong and is forgotten; the next command asks again."
                } else {
                    "The password in SUDO_PASSWORD is wrong."
                });
            }
            SudoOutcome::NoPassword => {
                output.sudo_auth_failed = true;
                output.add_note(
                    "sudo needs a password and nobody gave one. The user can type it where hermes \
                     runs at a terminal, or set SUDO_PASSWORD.",
                );
            }
        }
    }

    /// The helper for sudo stays for as long as the job runs.
    fn keep_askpass(self) {
        let Self { sudo_command: Some(raised), job, .. } = self else { return };
        tokio::spawn(async move {
            while job.ended().is_none() {
                tokio::time::sleep(EARLY_EXIT_WINDOW).await;
            }
            // A wrong password is forgotten.
            raised.outcome();
        });
    }
}
