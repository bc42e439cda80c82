//! The shell of a session: where its jobs are, what its commands find in their
//! environment, and what they leave behind.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use hermes_core::{ToolContext, ToolError};
use hermes_exec::state::{self, Report, ShellState};
use hermes_exec::{Input, Jobs, Order, Output};
use serde::{Deserialize, Serialize};

/// The session document; the permission stage reads it as well.
const DOCUMENT: &str = "shell";

/// Nobody is there to answer a question or to turn a page.
const ALONE: [(&str, &str); 7] = [
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("PAGER", "cat"),
    ("SYSTEMD_PAGER", ""),
    ("PYTHONUNBUFFERED", "1"),
    ("NPM_CONFIG_YES", "true"),
];

/// What is kept of a session's shell.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    #[serde(default)]
    state: ShellState,
    /// The same as text in front of a command, for whoever judges the next one.
    #[serde(default)]
    text: String,
}

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
    pub(crate) fn of(
        command: &str,
        how: How,
        jobs: &Jobs,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let before = read(cx)?.state;
        let base = base(cx, how.output)?;
        let report = jobs.scratch()?.join(format!("{}.state", fresh()));
        let script = state::script(&before, command, &Report::File(&report));
        let confinement = cx.confinement.as_ref().map(|held| {
            let mut held = (**held).clone();
            held.write.extend(report.parent().map(Path::to_path_buf));
            Arc::new(held)
        });
        let order = Order {
            program: "bash".into(),
            arguments: state::arguments(&script).into_iter().map(OsString::from).collect(),
            environment: before.environment(base.clone()),
            directory: how.directory,
            input: how.input,
            output: how.output,
            confinement,
        };
        Ok(Self { order, after: After { command: command.to_owned(), before, base, report } })
    }
}

/// What is needed when a command has ended.
#[derive(Debug)]
pub(crate) struct After {
    command: String,
    before: ShellState,
    base: BTreeMap<OsString, OsString>,
    report: PathBuf,
}

impl After {
    /// Takes over what the command has left behind; the folder that it ended
    /// in. One that was killed leaves nothing.
    pub(crate) fn settle(self, moves: bool, cx: &ToolContext) -> Option<PathBuf> {
        let dump = std::fs::read(&self.report);
        let _ = std::fs::remove_file(&self.report);
        let mut after = match state::foregone(&self.before, &self.command) {
            Some(after) => after,
            None => state::read(&dump.ok()?, &self.base)?,
        };
        if !moves {
            after.set_cwd(self.before.cwd().map(Path::to_path_buf));
        }
        let folder = after.cwd().map(Path::to_path_buf);
        // What cannot be kept is as if the command had not done it.
        let _ = cx.session.update(DOCUMENT, |kept: &mut Kept| {
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

fn read(cx: &ToolContext) -> Result<Kept, ToolError> {
    Ok(cx.session.read(DOCUMENT)?)
}

/// The environment of a command, before what the session's shell adds.
fn base(cx: &ToolContext, output: Output) -> Result<BTreeMap<OsString, OsString>, ToolError> {
    let own = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let passed = hermes_secrets::child_env(own, &[]);
    let mut base: BTreeMap<OsString, OsString> =
        passed.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    let has_terminal = matches!(output, Output::Terminal(_));
    base.insert("TERM".into(), if has_terminal { "xterm-256color" } else { "dumb" }.into());
    if !has_terminal {
        base.extend(ALONE.map(|(name, value)| (name.into(), value.into())));
    }
    for (name, value) in cx.session.variables()? {
        match value {
            Some(value) => base.insert(name.into(), value.into()),
            None => base.remove(&OsString::from(name)),
        };
    }
    Ok(base)
}

fn fresh() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{:x}-{:x}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
