//! The shell of a session: where its jobs are, what its commands find in their
//! environment, and what they leave behind.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use hermes_core::{ToolContext, ToolError, Variables};
use hermes_exec::state::{self, Frame, Report, ShellState};
use hermes_exec::surroundings::{DOCUMENT, Kept, Surroundings};
use hermes_exec::{Input, Job, Jobs, Order, Output, Place, Shell};

/// The jobs of the program; those of an embedding one that has not said where
/// they may write are in the system's folder for temporary files.
pub(crate) fn jobs(cx: &ToolContext) -> Arc<Jobs> {
    static OWN: LazyLock<Arc<Jobs>> = LazyLock::new(|| {
        let folder = env::temp_dir().join(format!("hermes-jobs-{}", std::process::id()));
        Arc::new(Jobs::local(folder))
    });
    cx.ports.get::<Jobs>().unwrap_or_else(|| Arc::clone(&OWN))
}

/// A command that is about to run in a session's shell.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) order: Order,
    /// What is to be taken out of its output.
    pub(crate) frame: Option<Frame>,
    pub(crate) after: After,
}

/// How a command is run.
#[derive(Debug)]
pub(crate) struct How {
    pub(crate) directory: PathBuf,
    pub(crate) input: Input,
    pub(crate) output: Output,
}

impl Prepared {
    pub(crate) async fn of(
        command: &str,
        how: How,
        jobs: &Jobs,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let around = Surroundings::of(jobs, how.output, cx, own).await?;
        match around.place.clone() {
            None => Self::here(command, around, how, jobs, cx),
            Some(place) => Ok(Self::elsewhere(command, around, how, &place)),
        }
    }

    fn here(
        command: &str,
        around: Surroundings,
        how: How,
        jobs: &Jobs,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let Surroundings { base, state: before, variables, .. } = around;
        let report = jobs.scratch()?.join(format!("{}.state", fresh()));
        let script = state::script(&before, command, &Report::File(&report));
        let confinement = cx.confinement.as_ref().map(|held| {
            let mut held = (**held).clone();
            held.write.extend(report.parent().map(Path::to_path_buf));
            Arc::new(held)
        });
        let words = Words { shell: bash(), script, base: &base };
        let order = Order { confinement, ..words.order(&before, how) };
        let from = From::File(report);
        let after = After { command: command.to_owned(), before, base, variables, from };
        Ok(Self { order, frame: None, after })
    }

    /// The walls of that place hold the command, not those that were made for
    /// programs of this machine.
    fn elsewhere(command: &str, around: Surroundings, how: How, place: &Place) -> Self {
        let Surroundings { base, state: before, variables, .. } = around;
        let nonce = fresh().replace('-', "x");
        // A terminal shows everything.
        let is_framed = !matches!(how.output, Output::Terminal(_));
        let (shell, from) = match place.shell {
            Shell::Bash => ("bash", From::Bash),
            Shell::Posix => ("sh", From::Posix),
        };
        let script = match (is_framed, place.shell) {
            (false, _) => command.to_owned(),
            (true, Shell::Bash) => state::script(&before, command, &Report::Framed(&nonce)),
            (true, Shell::Posix) => state::posix_script(&before, command, &nonce),
        };
        let words = Words { shell: shell.into(), script, base: &base };
        let order = words.order(&before, how);
        let after = After { command: command.to_owned(), before, base, variables, from };
        Self { order, frame: is_framed.then(|| Frame::new(&nonce)), after }
    }
}

/// Bash, by our own path: the session may have changed its own to anything.
fn bash() -> OsString {
    static FOUND: LazyLock<OsString> = LazyLock::new(|| {
        let path = env::var_os("PATH").unwrap_or_default();
        let found = env::split_paths(&path).map(|folder| folder.join("bash"));
        let mut found = found.filter(|file| file.is_absolute() && file.is_file());
        found.next().map_or_else(|| "bash".into(), PathBuf::into_os_string)
    });
    FOUND.clone()
}

/// What a shell is given.
struct Words<'a> {
    shell: OsString,
    script: String,
    base: &'a BTreeMap<OsString, OsString>,
}

impl Words<'_> {
    fn order(self, before: &ShellState, how: How) -> Order {
        Order {
            program: self.shell,
            arguments: state::arguments(&self.script).into_iter().map(OsString::from).collect(),
            environment: before.environment(self.base.clone()),
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
    variables: Variables,
    from: From,
}

impl After {
    /// Takes over what the command has left behind; the folder that it ended
    /// in. One that was killed leaves nothing.
    pub(crate) fn settle(self, job: &Job, moves: bool, cx: &ToolContext) -> Option<PathBuf> {
        let mut after = self.state(job)?;
        if !moves {
            after.set_cwd(self.before.cwd().map(Path::to_path_buf));
        }
        let folder = after.cwd().map(Path::to_path_buf);
        // What cannot be kept is as if the command had not done it.
        let _ = cx.session.update(DOCUMENT, |kept: &mut Kept| {
            kept.follow(&self.variables);
            kept.state.merge(&self.before, &after);
            kept.text = text(&kept.state);
        });
        if moves && let Some(folder) = &folder {
            let _ = cx.session.update("cwd", |cwd: &mut Option<PathBuf>| {
                *cwd = Some(folder.clone());
            });
        }
        folder
    }

    fn state(&self, job: &Job) -> Option<ShellState> {
        let dump = match &self.from {
            From::File(report) => {
                let dump = std::fs::read(report);
                let _ = std::fs::remove_file(report);
                dump.ok()
            }
            From::Posix => return state::read_posix(&job.report()?, &self.before, &self.base),
            From::Bash => job.report(),
        };
        match state::foregone(&self.before, &self.command) {
            Some(after) => Some(after),
            None => state::read(&dump?, &self.base),
        }
    }
}

/// All that the session's shell knows, as text in front of a command.
fn text(state: &ShellState) -> String {
    let exported = state.environment(BTreeMap::new()).into_iter();
    let lines = exported.filter(|(name, _)| name != "PWD").map(|(name, value)| {
        let value = value.to_string_lossy().replace('\'', r"'\''");
        format!("declare -x {}='{value}'\n", name.to_string_lossy())
    });
    lines.collect::<String>() + &state.prelude()
}

/// Forgets all that commands have left behind.
pub(crate) fn reset(cx: &ToolContext) -> Result<(), ToolError> {
    cx.session.update(DOCUMENT, |kept: &mut Kept| *kept = Kept::default())?;
    cx.session.update("cwd", |cwd: &mut Option<PathBuf>| *cwd = None)?;
    Ok(())
}

/// What of our own environment may be passed on.
fn own() -> Vec<(String, String)> {
    let own = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    hermes_secrets::child_env(own, &[])
}

fn fresh() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{:x}-{:x}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
