//! The shell of a session: where its jobs are, what its commands find in their
//! environment, and what they leave behind.

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

/// With less room than this a report may not even be begun.
const MIN_FREE_BYTES: u64 = 64 * 1024;

/// What a shell ends with when a command is not found.
const EXIT_NOT_FOUND: i32 = 127;

/// A command that is about to run in a session's shell.
#[derive(Debug)]
pub(crate) struct PreparedCommand {
    pub(crate) order: CommandSpec,
    /// What is to be taken out of its output.
    pub(crate) frame: Option<ReportExtractor>,
    pub(crate) completion: CommandCompletion,
}

/// How a command is run.
#[derive(Debug)]
pub(crate) struct ShellRunOptions {
    pub(crate) directory: PathBuf,
    pub(crate) input: StdinSource,
    pub(crate) output: StdioMode,
}

impl PreparedCommand {
    pub(crate) async fn prepare(
        command: &str,
        how: ShellRunOptions,
        jobs: &JobRegistry,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let around = ShellEnv::for_call(jobs, how.output, cx, own_env).await?;
        match around.host.clone() {
            None => Self::prepare_local(command, around, how, jobs, cx),
            Some(place) => Ok(Self::prepare_remote(command, around, how, &place, |script| {
                is_script_secret(script, jobs, cx)
            })),
        }
    }

    fn prepare_local(
        command: &str,
        around: ShellEnv,
        how: ShellRunOptions,
        jobs: &JobRegistry,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let ShellEnv { base_environment: base, state: before, variables, .. } = around;
        let report = jobs.scratch(cx.session.id())?.join(format!("{}.state", unique_id()));
        let script = state::script(&before, command, &ReportTarget::File(&report));
        let confinement = cx.confinement.as_ref().map(|held| {
            let mut held = (**held).clone();
            held.write.extend(report.parent().map(Path::to_path_buf));
            Arc::new(held)
        });
        let is_secret = is_script_secret(&script, jobs, cx);
        let words = ShellInvocation { shell: bash_program(), script, base: &base, is_secret };
        let order = CommandSpec { confinement, ..words.into_order(&before, how) };
        let from = ReportSource::File(report);
        let shown = state::shown_at_exit(&before, command);
        let frame = shown.is_some().then(|| ReportExtractor::default().hiding_text(shown));
        let after = CommandCompletion {
            command: command.to_owned(),
            before,
            base,
            variables,
            report_source: from,
        };
        Ok(Self { order, frame, completion: after })
    }

    /// The walls of that place hold the command, not those that were made for
    /// programs of this machine.
    fn prepare_remote(
        command: &str,
        around: ShellEnv,
        how: ShellRunOptions,
        place: &HostFacts,
        is_secret: impl Fn(&str) -> bool,
    ) -> Self {
        let ShellEnv { base_environment: base, state: before, variables, .. } = around;
        let nonce = unique_id().replace('-', "x");
        // A terminal shows everything.
        let is_framed = !matches!(how.output, StdioMode::Terminal(_));
        let (shell, from) = match place.shell {
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
        let words = ShellInvocation { shell: shell.into(), script, base: &base, is_secret };
        let order = words.into_order(&before, how);
        let shown = state::shown_at_exit(&before, command);
        let after = CommandCompletion {
            command: command.to_owned(),
            before,
            base,
            variables,
            report_source: from,
        };
        Self {
            order,
            frame: is_framed.then(|| ReportExtractor::new(&nonce).hiding_text(shown)),
            completion: after,
        }
    }
}

/// Bash, by our own path: the session may have changed its own to anything.
fn bash_program() -> OsString {
    static BASH_PATH: LazyLock<OsString> = LazyLock::new(|| {
        let path = env::var_os("PATH").unwrap_or_default();
        // Who has started us with a path that leads nowhere has a bash all the same.
        let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        let found = env::split_paths(&path).chain(usual).map(|folder| folder.join("bash"));
        let mut found = found.filter(|file| file.is_absolute() && file.is_file());
        found.next().map_or_else(|| "bash".into(), PathBuf::into_os_string)
    });
    BASH_PATH.clone()
}

/// Whether not everybody may see a script: a secret was put into its command,
/// or an earlier one has left one in the shell.
fn is_script_secret(script: &str, jobs: &JobRegistry, cx: &ToolContext) -> bool {
    let mut granted = cx.grants.list().into_iter().flatten();
    granted.any(|grant| grant.effect.scope == Scope::SECRET_USE) || jobs.contains_secret(script)
}

/// What a shell is given.
struct ShellInvocation<'a> {
    shell: OsString,
    script: String,
    base: &'a BTreeMap<OsString, OsString>,
    /// Whether not everybody may see the script.
    is_secret: bool,
}

impl ShellInvocation<'_> {
    fn into_order(self, before: &ShellState, how: ShellRunOptions) -> CommandSpec {
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
            directory: how.directory,
            input: how.input,
            output: how.output,
            confinement: None,
        }
    }
}

/// Where the shell has said what it holds.
#[derive(Debug)]
enum ReportSource {
    File(PathBuf),
    /// On its output.
    Bash,
    Posix,
}

/// What is needed when a command has ended.
#[derive(Debug)]
pub(crate) struct CommandCompletion {
    command: String,
    before: ShellState,
    base: BTreeMap<OsString, OsString>,
    variables: EnvOverrides,
    report_source: ReportSource,
}

/// What became of the session by a command.
#[derive(Debug, Default)]
pub(crate) struct SessionUpdate {
    /// Where the next command will be, if that is known from this one.
    pub(crate) directory: Option<PathBuf>,
    /// What is to be said about it.
    pub(crate) notes: Vec<String>,
}

impl CommandCompletion {
    /// Takes over what the command has left behind. One that was killed leaves
    /// nothing.
    pub(crate) fn apply_to_session(
        self,
        job: &Job,
        moves: bool,
        cx: &ToolContext,
    ) -> SessionUpdate {
        let (state, lost) = match self.reported_state(job) {
            ReportedState::State(state) => (Some(*state), None),
            ReportedState::Missing => (None, None),
            ReportedState::Truncated(folder) => (None, Some(folder)),
        };
        let mut notes =
            Vec::from_iter(self.missing_path_note(state.as_ref(), job).map(str::to_owned));
        if let Some(folder) = lost {
            notes.push(format!(
                "The session is as it was before this command: its folder, variables and the \
                 like could not be written down, because there is no room in {}.",
                folder.display()
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
        let folder = after.cwd().map(Path::to_path_buf);
        if is_adrift {
            notes.push(removed_cwd_note(folder.as_deref().unwrap_or_else(|| cx.working_dir.cwd())));
        }
        if !after.dropped().is_empty() {
            notes.push(format!(
                "Not kept for the next command, for its size or its bytes: {}.",
                list_names(after.dropped())
            ));
        }
        // What cannot be kept is as if the command had not done it.
        let kept = cx.session.update(SHELL_DOCUMENT, |kept: &mut ShellSnapshot| {
            kept.apply_variables(&self.variables);
            kept.state.merge(&self.before, &after);
            kept.text = state_as_script(&kept.state);
        });
        let moved = match &folder {
            Some(folder) if moves => move_session(folder, cx),
            _ => Ok(()),
        };
        if let Err(error) = kept.and(moved) {
            notes.push(format!("What it left in its shell could not be kept: {error}."));
        }
        SessionUpdate { directory: folder, notes }
    }

    /// What to say when a command was not found because there is nowhere to
    /// look for it.
    fn missing_path_note(&self, after: Option<&ShellState>, job: &Job) -> Option<&'static str> {
        job.ended().filter(|ended| ended.exit == ProcessExit::Code(EXIT_NOT_FOUND))?;
        // Bash looks by what it has, whether that is exported or not.
        let path = |state: &ShellState| match state.variable_value("PATH") {
            Some(known) => known.map(<[u8]>::to_vec),
            None => self.base.get(OsStr::new("PATH")).map(|path| path.as_bytes().to_vec()),
        };
        match path(after.unwrap_or(&self.before)) {
            None if path(&self.before).is_some() => Some(
                "This command has unset PATH; from the next one on, bash looks in its usual places.",
            ),
            Some(path) if path.is_empty() => Some(
                "PATH is empty in this session, so that only builtins and whole paths are found. \
                 After `unset PATH` the next command looks in the usual places; reset=true starts \
                 over.",
            ),
            _ => None,
        }
    }

    fn reported_state(&self, job: &Job) -> ReportedState {
        // Such a command was not told to report.
        let foregone = || state::unchanged_state(&self.before, &self.command);
        let read = |dump: &[u8]| state::parse_dump(dump, &self.base);
        let report = || job.report();
        let state = match &self.report_source {
            ReportSource::Posix => {
                report().and_then(|it| state::parse_posix_report(&it, &self.before, &self.base))
            }
            ReportSource::Bash => match report() {
                Some(told) => state::state_after_cwd_loss(&self.before, &self.command, &told)
                    .or_else(|| read(&told)),
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

/// What a shell has told of itself at its end.
enum ReportedState {
    State(Box<ShellState>),
    /// It was killed, or has become another program.
    Missing,
    /// There was no room for it in this folder.
    Truncated(PathBuf),
}

/// Whether a shell that ended by itself had no room for its report.
fn is_truncated(job: &Job, report: &Path, dump: &[u8]) -> bool {
    let ended = job.ended().is_some_and(|ended| matches!(ended.exit, ProcessExit::Code(_)));
    let room = || DiskSpace::for_path(report.parent().unwrap_or(report));
    ended && (!dump.is_empty() || room().is_ok_and(|room| room.free < MIN_FREE_BYTES))
}

/// The first few of these names.
fn list_names(names: &[String]) -> String {
    const MAX_NAMES: usize = 10;
    let said = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => said,
        more => format!("{said} and {more} more"),
    }
}

/// The nearest folder above one of this machine that is gone. None if it is
/// there, or may be.
fn nearest_existing_dir(folder: &Path) -> Option<PathBuf> {
    let is_gone = |folder: &Path| match std::fs::metadata(folder) {
        Ok(found) => !found.is_dir(),
        Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    };
    if !is_gone(folder) {
        return None;
    }
    folder.ancestors().find(|above| above.is_dir()).map(Path::to_path_buf)
}

/// An error if the session's folder is no longer there. The command was judged
/// and meant for that one, so it does not run in another; but the session goes
/// on from there.
pub(crate) fn require_cwd(jobs: &JobRegistry, cx: &ToolContext) -> Result<(), ToolError> {
    // One that cannot be read would be taken for the folder of the caller.
    cx.session.cwd()?;
    let at = cx.working_dir.cwd();
    if !jobs.backend().is_local() {
        return Ok(());
    }
    let Some(above) = nearest_existing_dir(at) else { return Ok(()) };
    move_shell_to(&above, cx)?;
    Err(removed_cwd_error(at, &above))
}

/// Goes on in the nearest folder above the session's own if a command that ran
/// beside it has taken that away; where that is.
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

/// What is said of a command that has ended in a folder that is gone.
pub(crate) fn removed_cwd_note(folder: &Path) -> String {
    format!(
        "The folder that it ended in is gone; the next command will be in {}.",
        folder.display()
    )
}

/// Goes on in the folder above one that could not be entered elsewhere.
pub(crate) fn retreat_to_parent(folder: &Path, cx: &ToolContext) -> Result<(), ToolError> {
    let Some(above) = folder.parent() else { return Ok(()) };
    move_shell_to(above, cx)?;
    Err(removed_cwd_error(folder, above))
}

fn move_shell_to(folder: &Path, cx: &ToolContext) -> Result<(), ToolError> {
    cx.session.update(SHELL_DOCUMENT, |kept: &mut ShellSnapshot| {
        kept.state.set_cwd(Some(folder.to_path_buf()));
    })?;
    Ok(move_session(folder, cx)?)
}

fn move_session(folder: &Path, cx: &ToolContext) -> Result<(), SessionError> {
    if cx.session.cwd()?.is_none() {
        cx.session.set_initial_cwd(cx.working_dir.cwd())?;
    }
    cx.session.set_cwd(Some(folder))
}

fn removed_cwd_error(folder: &Path, above: &Path) -> ToolError {
    let message = format!("The session's folder {} is gone; nothing was run", folder.display());
    ToolError::not_found(message).with_hint(format!(
        "The session is in {} now. Run the command again if it is meant for there.",
        above.display()
    ))
}

/// All that the session's shell knows, as text in front of a command.
pub(crate) fn state_as_script(state: &ShellState) -> String {
    let exported = state.environment(BTreeMap::new()).into_iter();
    let lines = exported.filter(|(name, _)| name != "PWD").map(|(name, value)| {
        let value = value.to_string_lossy().replace('\'', r"'\''");
        format!("declare -x {}='{value}'\n", name.to_string_lossy())
    });
    lines.collect::<String>() + &state.prelude()
}

/// Forgets all that commands have left behind.
pub(crate) fn clear_state(cx: &ToolContext) -> Result<(), ToolError> {
    Ok(cx
        .session
        .update(SHELL_DOCUMENT, |kept: &mut ShellSnapshot| *kept = ShellSnapshot::default())?)
}

/// The same, and goes back to where the session has begun; which folder that is.
pub(crate) fn reset_shell(cx: &ToolContext) -> Result<PathBuf, ToolError> {
    clear_state(cx)?;
    let beginning = cx.session.initial_cwd()?;
    cx.session.set_cwd(beginning.as_deref())?;
    Ok(beginning.unwrap_or_else(|| cx.working_dir.cwd().to_path_buf()))
}
