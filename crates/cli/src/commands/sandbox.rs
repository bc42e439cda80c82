//! `hermes sandbox`: what commands changed in the caches of package managers,
//! which they see as overlays.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use hermes::core::{ErrorKind, similar};
use hermes::sandbox::{
    OverlayApplyReport, OverlayChange, OverlayChangeKind, OverlayEntry, OverlayStore,
};
use serde_json::{Value, json};

use super::checkpoints::{since, size};
use crate::app::{App, folder};
use crate::confirmation::confirm;
use crate::failure::{Exit, Failure, Outcome};
use crate::table::Table;
use crate::terminal::{Style, Terminal, one_line};

#[derive(Debug, Subcommand)]
pub(crate) enum Sandbox {
    /// Look at what commands changed in package caches, and keep or discard it
    #[command(subcommand)]
    Overlays(Overlays),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Overlays {
    /// List the overlays of a workspace
    List {
        #[command(flatten)]
        choice: OverlayChoice,
    },
    /// Show what differs from the user's own directories
    Diff {
        #[command(flatten)]
        choice: OverlayChoice,
    },
    /// Carry the changes out in the user's own directories, and discard the overlays
    Apply {
        #[command(flatten)]
        choice: OverlayChoice,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Remove the changes; the user's own directories stay as they are
    Discard {
        #[command(flatten)]
        choice: OverlayChoice,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// Which overlays are meant.
#[derive(Debug, Args)]
pub(crate) struct OverlayChoice {
    /// Their names, such as `npm`; all of the workspace if none are given
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The workspace, instead of the current directory
    #[arg(long, value_name = "PATH")]
    workspace: Option<PathBuf>,
    /// Those of every workspace
    #[arg(long, conflicts_with = "workspace")]
    all: bool,
}

/// What is done with overlays once somebody has agreed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Apply,
    Discard,
}

pub(crate) fn run(app: &App, command: Sandbox) -> Outcome {
    let Sandbox::Overlays(command) = command;
    let store = OverlayStore::new(app.home()?.overlays_dir());
    match command {
        Overlays::List { choice } => list(app, &store, &choice),
        Overlays::Diff { choice } => diff(app, &store, &choice),
        Overlays::Apply { choice, yes } => carry_out(app, &store, &choice, Action::Apply, yes),
        Overlays::Discard { choice, yes } => carry_out(app, &store, &choice, Action::Discard, yes),
    }
}

impl OverlayChoice {
    /// The overlays that are meant, and how many others there are.
    fn entries(&self, store: &OverlayStore) -> Result<(Vec<OverlayEntry>, usize), Failure> {
        let known = store.list().map_err(|error| broken(&error))?;
        let workspace = match self.all {
            true => None,
            false => Some(self.workspace()?),
        };
        let is_meant =
            |entry: &OverlayEntry| workspace.as_ref().is_none_or(|it| entry.workspace == *it);
        let (here, others): (Vec<_>, Vec<_>) = known.into_iter().partition(is_meant);
        if self.names.is_empty() {
            return Ok((here, others.len()));
        }
        for name in &self.names {
            if !here.iter().any(|entry| entry.name == *name) {
                let names = here.iter().map(|entry| entry.name.as_str());
                let near = similar::nearest(name, names, 0.5).map(str::to_owned);
                return Err(Failure::not_found(format!("There is no overlay '{name}'"))
                    .hint("`hermes sandbox overlays list --all` lists those that there are.")
                    .did_you_mean(near.as_slice()));
            }
        }
        let is_named = |entry: &OverlayEntry| self.names.contains(&entry.name);
        Ok((here.into_iter().filter(is_named).collect(), others.len()))
    }

    /// The workspace's real path; one that is gone may still have overlays.
    fn workspace(&self) -> Result<PathBuf, Failure> {
        let path = match &self.workspace {
            Some(path) => std::path::absolute(path).unwrap_or_else(|_| path.clone()),
            None => folder(None)?,
        };
        Ok(std::fs::canonicalize(&path).unwrap_or(path))
    }
}

fn list(app: &App, store: &OverlayStore, choice: &OverlayChoice) -> Outcome {
    let (entries, others) = choice.entries(store)?;
    if app.json {
        let rows: Vec<Value> = entries.iter().map(row).collect();
        app.terminal.line(&json!({ "schema_version": 1, "overlays": rows }).to_string())?;
        return Ok(Exit::Ok);
    }
    if entries.is_empty() {
        note_none(app, others);
        return Ok(Exit::Ok);
    }
    let mut table = Table::default();
    for entry in &entries {
        let files = if entry.files == 1 { "file" } else { "files" };
        let target = match choice.all {
            true => format!("{}  in {}", shown(&entry.target), shown(&entry.workspace)),
            false => shown(&entry.target),
        };
        table.row([
            (entry.name.clone(), Some(Style::Bold)),
            (size(entry.bytes), None),
            (format!("{} {files}", entry.files), None),
            (entry.modified.map(since).unwrap_or_default(), Some(Style::Dim)),
            (target, Some(Style::Dim)),
        ]);
    }
    app.terminal.line(&table.render(&app.terminal))?;
    Ok(Exit::Ok)
}

fn diff(app: &App, store: &OverlayStore, choice: &OverlayChoice) -> Outcome {
    let (entries, others) = choice.entries(store)?;
    let mut rows = Vec::new();
    for entry in &entries {
        let changes = store.diff(entry).map_err(|error| broken(&error))?;
        if app.json {
            let mut row = row(entry);
            let change = |it: &OverlayChange| json!({ "path": text(&it.path), "kind": word(it) });
            row["changes"] = changes.iter().map(change).collect();
            rows.push(row);
            continue;
        }
        let title = format!("{} ({})", entry.name, shown(&entry.target));
        let lines = changes.iter().map(|change| change_line(&app.terminal, change));
        let title = app.terminal.paint(Style::Bold, &title);
        let lines: Vec<String> = std::iter::once(title).chain(lines).collect();
        app.terminal.line(&lines.join("\n"))?;
        if changes.is_empty() {
            app.terminal.note("  Nothing differs.");
        }
    }
    if app.json {
        app.terminal.line(&json!({ "schema_version": 1, "overlays": rows }).to_string())?;
    } else if entries.is_empty() {
        note_none(app, others);
    }
    Ok(Exit::Ok)
}

fn carry_out(
    app: &App,
    store: &OverlayStore,
    choice: &OverlayChoice,
    action: Action,
    yes: bool,
) -> Outcome {
    let (entries, others) = choice.entries(store)?;
    if entries.is_empty() && !app.json {
        note_none(app, others);
        return Ok(Exit::Ok);
    }
    if !yes {
        let question = question(store, &entries, action)?;
        if !is_agreed(app, &question)? {
            app.terminal.note("Nothing was changed.");
            return Ok(Exit::Failed);
        }
    }
    let mut rows = Vec::new();
    let mut exit = Exit::Ok;
    for entry in &entries {
        let mut row = row(entry);
        if action == Action::Apply {
            let done = store.apply(entry).map_err(|error| unusable(entry, &error))?;
            if done.skipped.is_empty() {
                store.discard(entry).map_err(|error| unusable(entry, &error))?;
            } else {
                exit = Exit::Failed;
            }
            tell_applied(app, entry, &done);
            row["applied"] = applied(&done);
        } else {
            store.discard(entry).map_err(|error| unusable(entry, &error))?;
            if !app.json {
                app.terminal.note(&format!("{}: {} discarded.", entry.name, size(entry.bytes)));
            }
        }
        rows.push(row);
    }
    if app.json {
        app.terminal.line(&json!({ "schema_version": 1, "overlays": rows }).to_string())?;
    }
    Ok(exit)
}

/// What somebody agrees to.
fn question(
    store: &OverlayStore,
    entries: &[OverlayEntry],
    action: Action,
) -> Result<String, Failure> {
    let mut lines = Vec::new();
    for entry in entries {
        let (name, target) = (&entry.name, shown(&entry.target));
        lines.push(match action {
            Action::Apply => {
                let changes = store.diff(entry).map_err(|error| broken(&error))?;
                format!("  {name}: {} to {target}", counted(&changes))
            }
            Action::Discard => {
                format!("  {name}: {} in {} files", size(entry.bytes), entry.files)
            }
        });
    }
    let verb = match action {
        Action::Apply => "Apply",
        Action::Discard => "Discard",
    };
    Ok(format!("{verb} these changes?\n{}", lines.join("\n")))
}

/// How many changes there are of each kind.
fn counted(changes: &[OverlayChange]) -> String {
    let kinds = [
        (OverlayChangeKind::Added, "added"),
        (OverlayChangeKind::Changed, "changed"),
        (OverlayChangeKind::Deleted, "deleted"),
    ];
    let counts = kinds
        .map(|(kind, word)| (changes.iter().filter(|change| change.kind == kind).count(), word));
    let told = counts.into_iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(count, word)| format!("{count} {word}")).collect();
    if told.is_empty() { "no changes".to_owned() } else { told.join(", ") }
}

/// Asks at a terminal; anywhere else `--yes` has to be given.
fn is_agreed(app: &App, question: &str) -> Result<bool, Failure> {
    confirm(app, question)
        .ok_or_else(|| Failure::usage("Nobody is there to ask").hint("Add --yes to do it."))
}

fn tell_applied(app: &App, entry: &OverlayEntry, done: &OverlayApplyReport) {
    if app.json {
        return;
    }
    for skipped in &done.skipped {
        let path = shown(&entry.target.join(&skipped.path));
        app.terminal.warn(&format!("{path}: {}", skipped.reason));
    }
    let (name, written, deleted) = (&entry.name, done.written, done.deleted);
    app.terminal.note(&format!("{name}: {written} written, {deleted} deleted."));
    if !done.skipped.is_empty() {
        let hint = format!("`hermes sandbox overlays discard {name}` removes the rest.");
        app.terminal.note(&hint);
    }
}

fn note_none(app: &App, others: usize) {
    app.terminal.note(&match others {
        0 => "No overlays.".to_owned(),
        1 => "No overlays of this workspace; --all shows that of another one.".to_owned(),
        count => format!("No overlays of this workspace; --all shows {count} of others."),
    });
}

fn word(change: &OverlayChange) -> &'static str {
    match change.kind {
        OverlayChangeKind::Added => "added",
        OverlayChangeKind::Changed => "changed",
        OverlayChangeKind::Deleted => "deleted",
    }
}

fn change_line(terminal: &Terminal, change: &OverlayChange) -> String {
    let style = match change.kind {
        OverlayChangeKind::Added => Style::Green,
        OverlayChangeKind::Changed => Style::Yellow,
        OverlayChangeKind::Deleted => Style::Red,
    };
    let word = terminal.paint(style, &format!("{:<7}", word(change)));
    format!("  {word}  {}", shown(&change.path))
}

fn applied(done: &OverlayApplyReport) -> Value {
    let skipped = done.skipped.iter();
    let skipped = skipped.map(|it| json!({ "path": text(&it.path), "reason": it.reason }));
    json!({
        "written": done.written,
        "deleted": done.deleted,
        "skipped": skipped.collect::<Vec<_>>(),
    })
}

/// A path for programs; a name that is no UTF-8 has its nearest text.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn row(entry: &OverlayEntry) -> Value {
    json!({
        "workspace": text(&entry.workspace),
        "name": entry.name,
        "target": text(&entry.target),
        "store": text(&entry.store),
        "files": entry.files,
        "bytes": entry.bytes,
        "modified": entry.modified.and_then(|at| {
            let since = at.duration_since(std::time::UNIX_EPOCH).ok()?;
            Some(since.as_secs())
        }),
    })
}

/// A path as a person sees it: children choose the names.
fn shown(path: &Path) -> String {
    one_line(&path.display().to_string())
}

fn broken(error: &io::Error) -> Failure {
    Failure::failed(ErrorKind::Unavailable, format!("The overlays cannot be read: {error}"))
        .hint("Look at the owner and the mode of that path.")
}

fn unusable(entry: &OverlayEntry, error: &io::Error) -> Failure {
    let kind = match error.kind() {
        io::ErrorKind::ResourceBusy => ErrorKind::Conflict,
        _ => ErrorKind::Unavailable,
    };
    let hint = match kind {
        ErrorKind::Conflict => "End it first: `hermes processes list` shows what runs.",
        _ => "Look at the owner and the mode of that path.",
    };
    Failure::failed(kind, format!("{}: {error}", entry.name)).hint(hint)
}
