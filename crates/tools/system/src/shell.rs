//! The shell of a session: prepares commands with its state and keeps the state
//! that they leave behind.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use hermes_core::ids::unique_id;
use hermes_core::{EnvOverrides, Scope, SessionError, ToolContext, ToolError};
use hermes_exec::shell_env::{SHELL_DOCUMENT, ShellEnv, ShellSnapshot};
use hermes_exec::state::{self, ReportExtractor, ReportTarget, ShellState};
use hermes_exec::{
    CommandSpec, DiskSpace, HostFacts, Job, JobRegistry, ProcessExit, ShellKind, StdinSource,
    StdioMode,
};
use hermes_secrets::own_env;

/// With less free space a state report may not even be started.
const MIN_FREE_BYTES: u64 = 64 * 1024;

/// Exit code of a shell when a command is not found.
const EXIT_NOT_FOUND: i32 = 127;

/// A command, ready to run in a session's shell.
#[derive(Debug)]
pub(crate) struct PreparedCommand {
    pub(crate) spec: CommandSpec,
    /// Extracts the state report from the output.
    pub(crate) report_extractor: Option<ReportExtractor>,
    pub(crate) completion: CommandCompletion,
}

/// Working directory and stdio of a command.
#[derive(Debug)]
pub(crate) struct ShellRunOptions {
    pub(crate) directory: PathBuf,
    pub(crate) input: StdinSource,
    pub(crate) output: StdioMode,
}

impl PreparedCommand {
    pub(crate) async fn prepare(
        command: &str,
        options: ShellRunOptions,
        jobs: &JobRegistry,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let env = ShellEnv::for_call(jobs, options.output, cx, own_env).await?;
        match env.host.clone() {
            None => Self::prepare_local(command, env, options, jobs, cx),
            Some(place) => Ok(Self::prepare_remote(command, env, options, &place, |script| {
                is_script_secret(script, jobs, cx)
            })),
        }
    }

    fn prepare_local(
        command: &str,
        env: ShellEnv,
        options: ShellRunOptions,
        jobs: &JobRegistry,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let ShellEnv { base_environment: base, state: before, variables, .. } = env;
        let report = jobs.scratch(cx.session.id())?.join(format!("{}.state", unique_id()));
        let script = state::script(&before, command, &ReportTarget::File(&report));
        let confinement = cx.confinement.as_ref().map(|confinement| {
            let mut confinement = (**confinement).clone();
            confinement.write.extend(report.parent().map(Path::to_path_buf));
            Arc::new(confinement)
        });
        let is_secret = is_script_secret(&script, jobs, cx);
        let invocation = ShellInvocation { shell: bash_program(), script, base: &base, is_secret };
        let spec = CommandSpec { confinement, ..invocation.into_spec(&before, options) };
        let report_source = ReportSource::File(report);
        let shown = state::shown_at_exit(&before, command);
        let report_extractor =
            shown.is_some().then(|| ReportExtractor::default().hiding_text(shown));
        let completion = CommandCompletion {
            command: command.to_owned(),
            before,
            base,
            variables,
            report_source,
        };
        Ok(Self { spec, report_extractor, completion })
    }

    /// The backend confines the command, so the local confinement is not
    /// applied.
    fn prepare_remote(
        command: &str,
        env: ShellEnv,
        options: ShellRunOptions,
        place: &HostFacts,
        is_secret: impl Fn(&str) -> bool,
    ) -> Self {
        let ShellEnv { base_environment: base, state: before, variables, .. } = env;
        let nonce = unique_id().replace('-', "x");
        // A terminal would show the report.
        let is_framed = !matches!(options.output, StdioMode::Terminal(_));
        let (shell, report_source) = match place.shell {
            ShellKind::Bash => ("bash", ReportSource::Bash),
            ShellKind::Posix => ("sh", ReportSource::Posix),
        };
        let script = match (is_framed, place.shell) {
            (false, _) => command.to_owned(),
            (true, ShellKind::Bash) => {
                state::script(&before, command, &ReportTarget::Framed(&nonce))
            }
            (true, ShellKind::Posix) => state::posix_script(&before, command, &nonce),
        };
        let is_secret = is_secret(&script);
        let invocation = ShellInvocation { shell: shell.into(), script, base: &base, is_secret };
        let spec = invocation.into_spec(&before, options);
        let shown = state::shown_at_exit(&before, command);
        let completion = CommandCompletion {
            command: command.to_owned(),
            before,
            base,
            variables,
            report_source,
        };
        Self {
            spec,
            report_extractor: is_framed.then(|| ReportExtractor::new(&nonce).hiding_text(shown)),
            completion,
        }
    }
}

/// Bash from the PATH of hermes: the session may have changed its own.
fn bash_program() -> OsString {
    static BASH_PATH: LazyLock<OsString> = LazyLock::new(|| {
        let path = env::var_os("PATH").unwrap_or_default();
        // Fallback if hermes was started with an unusable PATH.
        let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        let found = env::split_paths(&path).chain(usual).map(|dir| dir.join("bash"));
        let mut found = found.filter(|file| file.is_absolute() && file.is_file());
        found.next().map_or_else(|| "bash".into(), PathBuf::into_os_string)
    });
    BASH_PATH.clone()
}

/// Whether a script must be hidden from other users: its command contains a
/// secret, or an earlier one left a secret in the shell.
fn is_script_secret(script: &str, jobs: &JobRegistry, cx: &ToolContext) -> bool {
    let mut granted = cx.grants.list().into_iter().flatten();
    granted.any(|grant| grant.effect.scope == Scope::SECRET_USE) || jobs.contains_secret(script)
}

/// Program, script and environment of a shell.
struct ShellInvocation<'a> {
    shell: OsString,
    script: String,
    base: &'a BTreeMap<OsString, OsString>,
    /// Whether the script must be hidden from other users.
    is_secret: bool,
}

impl ShellInvocation<'_> {
    fn into_spec(self, before: &ShellState, options: ShellRunOptions) -> CommandSpec {
        let (arguments, hidden) = match self.is_secret {
            true => state::hidden_arguments(&self.script),
            false => (state::arguments(&self.script), BTreeMap::new()),
        };
        let mut environment = before.environment(self.base.clone());
        environment.extend(hidden);
        CommandSpec {
            program: self.shell,
            arguments: arguments.into_iter().map(OsString::from).collect(),
            environment,
            directory: options.directory,
            input: options.input,
            output: options.output,
            confinement: None,
        }
    }
}

/// Where the shell reports its state.
#[derive(Debug)]
enum ReportSource {
    File(PathBuf),
    /// In its output.
    Bash,
    Posix,
}

/// What is needed to process the end of a command.
#[derive(Debug)]
pub(crate) struct CommandCompletion {
    command: String,
    before: ShellState,
    base: BTreeMap<OsString, OsString>,
    variables: EnvOverrides,
    report_source: ReportSource,
}

/// Effect of a command on the session.
#[derive(Debug, Default)]
pub(crate) struct SessionUpdate {
    /// Working directory of the next command, if this command determines it.
    pub(crate) directory: Option<PathBuf>,
    /// Notes for the result.
    pub(crate) notes: Vec<String>,
}

impl CommandCompletion {
    /// Saves the state that the command left behind. A killed command leaves
    /// none.
    pub(crate) fn apply_to_session(
        self,
        job: &Job,
        moves: bool,
        cx: &ToolContext,
    ) -> SessionUpdate {
        let (state, lost) = match self.reported_state(job) {
            ReportedState::State(state) => (Some(*state), None),
            ReportedState::Missing => (None, None),
            ReportedState::Truncated(dir) => (None, Some(dir)),
        };
        let mut notes =
            Vec::from_iter(self.missing_path_note(state.as_ref(), job).map(str::to_owned));
        if let Some(dir) = lost {
            notes.push(format!(
                "The session's working directory, variables and other shell state are \
                 unchanged: the state after this command could not be saved, because there is \
                 no space in {}.",
                dir.display()
            ));
        }
        let Some(mut after) = state else { return SessionUpdate { directory: None, notes } };
        if !moves {
            after.set_cwd(self.before.cwd().map(Path::to_path_buf));
        }
        let is_here = matches!(self.report_source, ReportSource::File(_));
        let at = after.cwd().unwrap_or_else(|| cx.working_dir.cwd()).to_path_buf();
        let gone = if moves && is_here { nearest_existing_dir(&at) } else { None };
        let is_adrift = gone.is_some() || moves && after.has_lost_cwd();
        if gone.is_some() {
            after.set_cwd(gone);
        }
        let dir = after.cwd().map(Path::to_path_buf);
        if is_adrift {
            notes.push(removed_cwd_note(dir.as_deref().unwrap_or_else(|| cx.working_dir.cwd())));
        }
        if !after.dropped().is_empty() {
            notes.push(format!(
                "Not kept for the next command because of size or encoding: {}.",
                list_names(after.dropped())
            ));
        }
        // If the state cannot be saved, the session stays unchanged.
        let kept = cx.session.update(SHELL_DOCUMENT, |kept: &mut ShellSnapshot| {
            kept.apply_variables(&self.variables);
            kept.state.merge(&self.before, &after);
            kept.text = state_as_script(&kept.state);
        });
        let moved = match &dir {
            Some(dir) if moves => move_session(dir, cx),
            _ => Ok(()),
        };
        if let Err(error) = kept.and(moved) {
            notes.push(format!("The shell state could not be saved: {error}."));
        }
        SessionUpdate { directory: dir, notes }
    }

    /// The note for a command that was not found because PATH is unset or
    /// empty.
    fn missing_path_note(&self, after: Option<&ShellState>, job: &Job) -> Option<&'static str> {
        job.ended().filter(|ended| ended.exit == ProcessExit::Code(EXIT_NOT_FOUND))?;
        // Bash uses PATH whether it is exported or not.
        let path = |state: &ShellState| match state.variable_value("PATH") {
            Some(known) => known.map(<[u8]>::to_vec),
            None => self.base.get(OsStr::new("PATH")).map(|path| path.as_bytes().to_vec()),
        };
        match path(after.unwrap_or(&self.before)) {
            None if path(&self.before).is_some() => Some(
                "This command has unset PATH; from the next one on, bash uses its default \
                 search path.",
            ),
            Some(path) if path.is_empty() => Some(
                "PATH is empty in this session, so only builtins and absolute paths work. \
                 After `unset PATH` the next command uses the default search path; reset=true \
                 resets the shell.",
            ),
            _ => None,
        }
    }

    fn reported_state(&self, job: &Job) -> ReportedState {
        // Such a command does not write a report.
        let foregone = || state::unchanged_state(&self.before, &self.command);
        let read = |dump: &[u8]| state::parse_dump(dump, &self.base);
        let report = || job.report();
        let state = match &self.report_source {
            ReportSource::Posix => {
                report().and_then(|it| state::parse_posix_report(&it, &self.before, &self.base))
            }
            ReportSource::Bash => match report() {
                Some(shown) => state::state_after_cwd_loss(&self.before, &self.command, &shown)
                    .or_else(|| read(&shown)),
                None => foregone(),
            },
            ReportSource::File(report) => {
                if let Some(state) = foregone() {
                    return ReportedState::State(Box::new(state));
                }
                let dump = std::fs::read(report).unwrap_or_default();
                let state = read(&dump);
                let is_cut = state.is_none() && is_truncated(job, report, &dump);
                let _ = std::fs::remove_file(report);
                if is_cut {
                    return ReportedState::Truncated(
                        report.parent().unwrap_or(report).to_path_buf(),
                    );
                }
                state
            }
        };
        state.map_or(ReportedState::Missing, |state| ReportedState::State(Box::new(state)))
    }
}

/// The state that a shell reported at exit.
enum ReportedState {
    State(Box<ShellState>),
    /// The shell was killed or replaced by exec.
    Missing,
    /// This directory had no space for the report.
    Truncated(PathBuf),
}

/// Whether a shell that exited normally had no space for its report.
fn is_truncated(job: &Job, report: &Path, dump: &[u8]) -> bool {
    let ended = job.ended().is_some_and(|ended| matches!(ended.exit, ProcessExit::Code(_)));
    let room = || DiskSpace::for_path(report.parent().unwrap_or(report));
    ended && (!dump.is_empty() || room().is_ok_and(|room| room.free < MIN_FREE_BYTES))
}

/// The first few names.
fn list_names(names: &[String]) -> String {
    const MAX_NAMES: usize = 10;
    let said = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => said,
        more => format!("{said} and {more} more"),
    }
}

/// The nearest existing ancestor of a removed local directory. `None` if the
/// directory exists or may exist.
fn nearest_existing_dir(dir: &Path) -> Option<PathBuf> {
    let is_gone = |dir: &Path| match std::fs::metadata(dir) {
        Ok(found) => !found.is_dir(),
        Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    };
    if !is_gone(dir) {
        return None;
    }
    dir.ancestors().find(|above| above.is_dir()).map(Path::to_path_buf)
}

/// Fails if the session's working directory no longer exists. The command was
/// approved for that directory, so it does not run in another one; the session
/// continues in the nearest ancestor.
pub(crate) fn require_cwd(jobs: &JobRegistry, cx: &ToolContext) -> Result<(), ToolError> {
    // If the session's directory cannot be read, do not fall back to that of
    // the caller.
    cx.session.cwd()?;
    let at = cx.working_dir.cwd();
    if !jobs.backend().is_local() {
        return Ok(());
    }
    let Some(above) = nearest_existing_dir(at) else { return Ok(()) };
    move_shell_to(&above, cx)?;
    Err(removed_cwd_error(at, &above))
}

/// Moves the session to the nearest existing ancestor if a concurrent command
/// has removed its working directory; returns the new one.
pub(crate) fn leave_removed_cwd(
    jobs: &JobRegistry,
    cx: &ToolContext,
) -> Result<Option<PathBuf>, ToolError> {
    let above = nearest_existing_dir(cx.working_dir.cwd()).filter(|_| jobs.backend().is_local());
    if let Some(above) = &above {
        move_shell_to(above, cx)?;
    }
    Ok(above)
}

/// The note for a command whose final working directory no longer exists.
pub(crate) fn removed_cwd_note(dir: &Path) -> String {
    format!("Its working directory no longer exists; the next command runs in {}.", dir.display())
}

/// Moves the session to the parent of a directory that could not be entered on
/// the backend.
pub(crate) fn retreat_to_parent(dir: &Path, cx: &ToolContext) -> Result<(), ToolError> {
    let Some(above) = dir.parent() else { return Ok(()) };
    move_shell_to(above, cx)?;
    Err(removed_cwd_error(dir, above))
}

fn move_shell_to(dir: &Path, cx: &ToolContext) -> Result<(), ToolError> {
    cx.session.update(SHELL_DOCUMENT, |kept: &mut ShellSnapshot| {
        kept.state.set_cwd(Some(dir.to_path_buf()));
    })?;
    Ok(move_session(dir, cx)?)
}

fn move_session(dir: &Path, cx: &ToolContext) -> Result<(), SessionError> {
    if cx.session.cwd()?.is_none() {
        cx.session.set_initial_cwd(cx.working_dir.cwd())?;
    }
    cx.session.set_cwd(Some(dir))
}

fn removed_cwd_error(dir: &Path, above: &Path) -> ToolError {
    let message = format!(
        "The session's working directory {} no longer exists; the command \
        was not run",
        dir.display()
    );
    ToolError::not_found(message).with_hint(format!(
        "The session is in {} now. Run the command again if it should run there.",
        above.display()
    ))
}

/// The session's shell state as a script.
pub(crate) fn state_as_script(state: &ShellState) -> String {
    let exported = state.environment(BTreeMap::new()).into_iter();
    let lines = exported.filter(|(name, _)| name != "PWD").map(|(name, value)| {
        let value = value.to_string_lossy().replace('\'', r"'\''");
        format!("declare -x {}='{value}'\n", name.to_string_lossy())
    });
    lines.collect::<String>() + &state.prelude()
}

/// Discards the state that commands have left behind.
pub(crate) fn clear_state(cx: &ToolContext) -> Result<(), ToolError> {
    Ok(cx
        .session
        .update(SHELL_DOCUMENT, |kept: &mut ShellSnapshot| *kept = ShellSnapshot::default())?)
}

/// Discards the state and returns to the session's initial directory, which is
/// returned.
pub(crate) fn reset_shell(cx: &ToolContext) -> Result<PathBuf, ToolError> {
    clear_state(cx)?;
    let beginning = cx.session.initial_cwd()?;
    cx.session.set_cwd(beginning.as_deref())?;
    Ok(beginning.unwrap_or_else(|| cx.working_dir.cwd().to_path_buf()))
}
