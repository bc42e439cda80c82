//! The shell of a session: where its jobs are, what its commands find in their
//! environment, and what they leave behind.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use hermes_core::{Scope, SessionError, ToolContext, ToolError, EnvOverrides};
use hermes_exec::state::{self, ReportExtractor, ReportTarget, ShellState};
use hermes_exec::shell_env::{SHELL_DOCUMENT, ShellSnapshot, ShellEnv};
use hermes_exec::{ProcessExit, StdinSource, Job, JobRegistry, CommandSpec, StdioMode, HostFacts, DiskSpace, ShellKind};
use hermes_secrets::own_env;

/// With less room than this a report may not even be begun.
const NEEDED: u64 = 64 * 1024;

/// What a shell ends with when a command is not found.
const NOT_FOUND: i32 = 127;

/// A command that is about to run in a session's shell.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) order: CommandSpec,
    /// What is to be taken out of its output.
    pub(crate) frame: Option<ReportExtractor>,
    pub(crate) after: After,
}

/// How a command is run.
#[derive(Debug)]
pub(crate) struct How {
    pub(crate) directory: PathBuf,
    pub(crate) input: StdinSource,
    pub(crate) output: StdioMode,
}

impl Prepared {
    pub(crate) async fn of(
        command: &str,
        how: How,
        jobs: &JobRegistry,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let around = ShellEnv::for_call(jobs, how.output, cx, own_env).await?;
        match around.host.clone() {
            None => Self::here(command, around, how, jobs, cx),
            Some(place) => Ok(Self::elsewhere(command, around, how, &place, |script| {
                is_secret(script, jobs, cx)
            })),
        }
    }

    fn here(
        command: &str,
        around: ShellEnv,
        how: How,
        jobs: &JobRegistry,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let ShellEnv { base_environment: base, state: before, variables, .. } = around;
        let report = jobs.scratch(cx.session.id())?.join(format!("{}.state", fresh()));
        let script = state::script(&before, command, &ReportTarget::File(&report));
        let confinement = cx.confinement.as_ref().map(|held| {
            let mut held = (**held).clone();
            held.write.extend(report.parent().map(Path::to_path_buf));
            Arc::new(held)
        });
        let is_secret = is_secret(&script, jobs, cx);
        let words = Words { shell: bash(), script, base: &base, is_secret };
        let order = CommandSpec { confinement, ..words.order(&before, how) };
        let from = From::File(report);
        let shown = state::shown_at_exit(&before, command);
        let frame = shown.is_some().then(|| ReportExtractor::default().hiding_text(shown));
        let after = After { command: command.to_owned(), before, base, variables, from };
        Ok(Self { order, frame, after })
    }

    /// The walls of that place hold the command, not those that were made for
    /// programs of this machine.
    fn elsewhere(
        command: &str,
        around: ShellEnv,
        how: How,
        place: &HostFacts,
        is_secret: impl Fn(&str) -> bool,
    ) -> Self {
        let ShellEnv { base_environment: base, state: before, variables, .. } = around;
        let nonce = fresh().replace('-', "x");
        // A terminal shows everything.
        let is_framed = !matches!(how.output, StdioMode::Terminal(_));
        let (shell, from) = match place.shell {
            ShellKind::Bash => ("bash", From::Bash),
            ShellKind::Posix => ("sh", From::Posix),
        };
        let script = match (is_framed, place.shell) {
            (false, _) => command.to_owned(),
            (true, ShellKind::Bash) => state::script(&before, command, &ReportTarget::Framed(&nonce)),
            (true, ShellKind::Posix) => state::posix_script(&before, command, &nonce),
        };
        let is_secret = is_secret(&script);
        let words = Words { shell: shell.into(), script, base: &base, is_secret };
        let order = words.order(&before, how);
        let shown = state::shown_at_exit(&before, command);
        let after = After { command: command.to_owned(), before, base, variables, from };
        Self { order, frame: is_framed.then(|| ReportExtractor::new(&nonce).hiding_text(shown)), after }
    }
}

/// Bash, by our own path: the session may have changed its own to anything.
fn bash() -> OsString {
    static FOUND: LazyLock<OsString> = LazyLock::new(|| {
        let path = env::var_os("PATH").unwrap_or_default();
        // Who has started us with a path that leads nowhere has a bash all the same.
        let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        let found = env::split_paths(&path).chain(usual).map(|folder| folder.join("bash"));
        let mut found = found.filter(|file| file.is_absolute() && file.is_file());
        found.next().map_or_else(|| "bash".into(), PathBuf::into_os_string)
    });
    FOUND.clone()
}

/// Whether not everybody may see a script: a secret was put into its command,
/// or an earlier one has left one in the shell.
fn is_secret(script: &str, jobs: &JobRegistry, cx: &ToolContext) -> bool {
    let mut granted = cx.grants.list().into_iter().flatten();
    granted.any(|grant| grant.effect.scope == Scope::SECRET_USE) || jobs.contains_secret(script)
}

/// What a shell is given.
struct Words<'a> {
    shell: OsString,
    script: String,
    base: &'a BTreeMap<OsString, OsString>,
    /// Whether not everybody may see the script.
    is_secret: bool,
}

impl Words<'_> {
    fn order(self, before: &ShellState, how: How) -> CommandSpec {
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
enum From {
    File(PathBuf),
    /// On its output.
    Bash,
    Posix,
}

/// What is needed when a command has ended.
#[derive(Debug)]
pub(crate) struct After {
    command: String,
    before: ShellState,
    base: BTreeMap<OsString, OsString>,
    variables: EnvOverrides,
    from: From,
}

/// What became of the session by a command.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// Where the next command will be, if that is known from this one.
    pub(crate) folder: Option<PathBuf>,
    /// What is to be said about it.
    pub(crate) notes: Vec<String>,
}

impl After {
    /// Takes over what the command has left behind. One that was killed leaves
    /// nothing.
    pub(crate) fn settle(self, job: &Job, moves: bool, cx: &ToolContext) -> Settled {
        let (state, lost) = match self.told(job) {
            Told::State(state) => (Some(*state), None),
            Told::Nothing => (None, None),
            Told::Cut(folder) => (None, Some(folder)),
        };
        let mut notes = Vec::from_iter(self.lacks_path(state.as_ref(), job).map(str::to_owned));
        if let Some(folder) = lost {
            notes.push(format!(
                "The session is as it was before this command: its folder, variables and the \
                 like could not be written down, because there is no room in {}.",
                folder.display()
            ));
        }
        let Some(mut after) = state else { return Settled { folder: None, notes } };
        if !moves {
            after.set_cwd(self.before.cwd().map(Path::to_path_buf));
        }
        let is_here = matches!(self.from, From::File(_));
        let at = after.cwd().unwrap_or_else(|| cx.working_dir.cwd()).to_path_buf();
        let gone = if moves && is_here { nearest(&at) } else { None };
        let is_adrift = gone.is_some() || moves && after.has_lost_cwd();
        if gone.is_some() {
            after.set_cwd(gone);
        }
        let folder = after.cwd().map(Path::to_path_buf);
        if is_adrift {
            notes.push(adrift(folder.as_deref().unwrap_or_else(|| cx.working_dir.cwd())));
        }
        if !after.dropped().is_empty() {
            notes.push(format!(
                "Not kept for the next command, for its size or its bytes: {}.",
                some(after.dropped())
            ));
        }
        // What cannot be kept is as if the command had not done it.
        let kept = cx.session.update(SHELL_DOCUMENT, |kept: &mut ShellSnapshot| {
            kept.apply_variables(&self.variables);
            kept.state.merge(&self.before, &after);
            kept.text = text(&kept.state);
        });
        let moved = match &folder {
            Some(folder) if moves => move_session(folder, cx),
            _ => Ok(()),
        };
        if let Err(error) = kept.and(moved) {
            notes.push(format!("What it left in its shell could not be kept: {error}."));
        }
        Settled { folder, notes }
    }

    /// What to say when a command was not found because there is nowhere to
    /// look for it.
    fn lacks_path(&self, after: Option<&ShellState>, job: &Job) -> Option<&'static str> {
        job.ended().filter(|ended| ended.exit == ProcessExit::Code(NOT_FOUND))?;
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

    fn told(&self, job: &Job) -> Told {
        // Such a command was not told to report.
        let foregone = || state::unchanged_state(&self.before, &self.command);
        let read = |dump: &[u8]| state::parse_dump(dump, &self.base);
        let report = || job.report();
        let state = match &self.from {
            From::Posix => report().and_then(|it| state::parse_posix_report(&it, &self.before, &self.base)),
            From::Bash => match report() {
                Some(told) => {
                    state::state_after_cwd_loss(&self.before, &self.command, &told).or_else(|| read(&told))
                }
                None => foregone(),
            },
            From::File(report) => {
                if let Some(state) = foregone() {
                    return Told::State(Box::new(state));
                }
                let dump = std::fs::read(report).unwrap_or_default();
                let state = read(&dump);
                let is_cut = state.is_none() && is_cut(job, report, &dump);
                let _ = std::fs::remove_file(report);
                if is_cut {
                    return Told::Cut(report.parent().unwrap_or(report).to_path_buf());
                }
                state
            }
        };
        state.map_or(Told::Nothing, |state| Told::State(Box::new(state)))
    }
}

/// What a shell has told of itself at its end.
enum Told {
    State(Box<ShellState>),
    /// It was killed, or has become another program.
    Nothing,
    /// There was no room for it in this folder.
    Cut(PathBuf),
}

/// Whether a shell that ended by itself had no room for its report.
fn is_cut(job: &Job, report: &Path, dump: &[u8]) -> bool {
    let ended = job.ended().is_some_and(|ended| matches!(ended.exit, ProcessExit::Code(_)));
    let room = || DiskSpace::for_path(report.parent().unwrap_or(report));
    ended && (!dump.is_empty() || room().is_ok_and(|room| room.free < NEEDED))
}

/// The first few of these names.
fn some(names: &[String]) -> String {
    const MOST: usize = 10;
    let said = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST) {
        0 => said,
        more => format!("{said} and {more} more"),
    }
}

/// The nearest folder above one of this machine that is gone. None if it is
/// there, or may be.
fn nearest(folder: &Path) -> Option<PathBuf> {
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
pub(crate) fn stand(jobs: &JobRegistry, cx: &ToolContext) -> Result<(), ToolError> {
    // One that cannot be read would be taken for the folder of the caller.
    cx.session.cwd()?;
    let at = cx.working_dir.cwd();
    if !jobs.backend().is_local() {
        return Ok(());
    }
    let Some(above) = nearest(at) else { return Ok(()) };
    move_to(&above, cx)?;
    Err(lost(at, &above))
}

/// Goes on in the nearest folder above the session's own if a command that ran
/// beside it has taken that away; where that is.
pub(crate) fn drift(jobs: &JobRegistry, cx: &ToolContext) -> Result<Option<PathBuf>, ToolError> {
    let above = nearest(cx.working_dir.cwd()).filter(|_| jobs.backend().is_local());
    if let Some(above) = &above {
        move_to(above, cx)?;
    }
    Ok(above)
}

/// What is said of a command that has ended in a folder that is gone.
pub(crate) fn adrift(folder: &Path) -> String {
    format!(
        "The folder that it ended in is gone; the next command will be in {}.",
        folder.display()
    )
}

/// Goes on in the folder above one that could not be entered elsewhere.
pub(crate) fn retreat(folder: &Path, cx: &ToolContext) -> Result<(), ToolError> {
    let Some(above) = folder.parent() else { return Ok(()) };
    move_to(above, cx)?;
    Err(lost(folder, above))
}

fn move_to(folder: &Path, cx: &ToolContext) -> Result<(), ToolError> {
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

fn lost(folder: &Path, above: &Path) -> ToolError {
    let message = format!("The session's folder {} is gone; nothing was run", folder.display());
    ToolError::not_found(message).with_hint(format!(
        "The session is in {} now. Run the command again if it is meant for there.",
        above.display()
    ))
}

/// All that the session's shell knows, as text in front of a command.
pub(crate) fn text(state: &ShellState) -> String {
    let exported = state.environment(BTreeMap::new()).into_iter();
    let lines = exported.filter(|(name, _)| name != "PWD").map(|(name, value)| {
        let value = value.to_string_lossy().replace('\'', r"'\''");
        format!("declare -x {}='{value}'\n", name.to_string_lossy())
    });
    lines.collect::<String>() + &state.prelude()
}

/// Forgets all that commands have left behind.
pub(crate) fn forget(cx: &ToolContext) -> Result<(), ToolError> {
    Ok(cx.session.update(SHELL_DOCUMENT, |kept: &mut ShellSnapshot| *kept = ShellSnapshot::default())?)
}

/// The same, and goes back to where the session has begun; which folder that is.
pub(crate) fn reset(cx: &ToolContext) -> Result<PathBuf, ToolError> {
    forget(cx)?;
    let beginning = cx.session.initial_cwd()?;
    cx.session.set_cwd(beginning.as_deref())?;
    Ok(beginning.unwrap_or_else(|| cx.working_dir.cwd().to_path_buf()))
}

fn fresh() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{:x}-{:x}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
