//! `hermes sandbox`: manages the overlays that hold changes to package caches.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use hermes::core::{ErrorKind, similar};
use hermes::sandbox::{
    OverlayApplyReport, OverlayChange, OverlayChangeKind, OverlayEntry, OverlayStore,
};
use serde_json::{Value, json};

use super::checkpoints::{format_age, format_size};
use crate::app::{AppContext, working_dir};
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::confirmation::confirm;
use crate::table::TextTable;
use crate::terminal::{OutputStyle, TerminalOutput, one_line};

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Inspect, apply or discard changes to package caches
    #[command(subcommand)]
    Overlays(OverlaysCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum OverlaysCommand {
    /// List the overlays of a workspace
    List {
        #[command(flatten)]
        choice: OverlayChoice,
    },
    /// Show the changes relative to the user's directories
    Diff {
        #[command(flatten)]
        choice: OverlayChoice,
    },
    /// Apply the changes to the user's directories, and discard the overlays
    Apply {
        #[command(flatten)]
        choice: OverlayChoice,
        /// Skip the confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Discard the changes; the user's directories stay unchanged
    Discard {
        #[command(flatten)]
        choice: OverlayChoice,
        /// Skip the confirmation
        #[arg(long, short)]
        yes: bool,
    },
}

/// Selection of overlays.
#[derive(Debug, Args)]
pub(crate) struct OverlayChoice {
    /// Overlay names, such as `npm` [default: all of the workspace]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Workspace [default: the current directory]
    #[arg(long, value_name = "PATH")]
    workspace: Option<PathBuf>,
    /// Include every workspace
    #[arg(long, conflicts_with = "workspace")]
    all: bool,
}

/// A confirmed action on overlays.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OverlayAction {
    Apply,
    Discard,
}

pub(crate) fn run(app: &AppContext, command: SandboxCommand) -> CommandResult {
    let SandboxCommand::Overlays(command) = command;
    let store = OverlayStore::new(app.home()?.overlays_dir());
    match command {
        OverlaysCommand::List { choice } => list(app, &store, &choice),
        OverlaysCommand::Diff { choice } => diff(app, &store, &choice),
        OverlaysCommand::Apply { choice, yes } => {
            run_action(app, &store, &choice, OverlayAction::Apply, yes)
        }
        OverlaysCommand::Discard { choice, yes } => {
            run_action(app, &store, &choice, OverlayAction::Discard, yes)
        }
    }
}

impl OverlayChoice {
    /// Returns the selected overlays and the number of other ones.
    fn entries(&self, store: &OverlayStore) -> Result<(Vec<OverlayEntry>, usize), CommandError> {
        let known = store.list().map_err(|error| store_error(&error))?;
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
                return Err(CommandError::not_found(format!("No overlay named '{name}'"))
                    .hint("`hermes sandbox overlays list --all` lists all overlays.")
                    .did_you_mean(near.as_slice()));
            }
        }
        let is_named = |entry: &OverlayEntry| self.names.contains(&entry.name);
        Ok((here.into_iter().filter(is_named).collect(), others.len()))
    }

    /// Returns the canonical workspace path. A deleted workspace may still have
    /// overlays.
    fn workspace(&self) -> Result<PathBuf, CommandError> {
        let path = match &self.workspace {
            Some(path) => std::path::absolute(path).unwrap_or_else(|_| path.clone()),
            None => working_dir(None)?,
        };
        Ok(std::fs::canonicalize(&path).unwrap_or(path))
    }
}

fn list(app: &AppContext, store: &OverlayStore, choice: &OverlayChoice) -> CommandResult {
    let (entries, others) = choice.entries(store)?;
    if app.json {
        let rows: Vec<Value> = entries.iter().map(overlay_json).collect();
        app.terminal.print_line(&json!({ "schema_version": 1, "overlays": rows }).to_string())?;
        return Ok(CliExitCode::Ok);
    }
    if entries.is_empty() {
        note_none(app, others);
        return Ok(CliExitCode::Ok);
    }
    let mut table = TextTable::default();
    for entry in &entries {
        let files = if entry.files == 1 { "file" } else { "files" };
        let target = match choice.all {
            true => {
                format!("{}  in {}", display_path(&entry.target), display_path(&entry.workspace))
            }
            false => display_path(&entry.target),
        };
        table.push_row([
            (entry.name.clone(), Some(OutputStyle::Bold)),
            (format_size(entry.bytes), None),
            (format!("{} {files}", entry.files), None),
            (entry.modified.map(format_age).unwrap_or_default(), Some(OutputStyle::Dim)),
            (target, Some(OutputStyle::Dim)),
        ]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    Ok(CliExitCode::Ok)
}

fn diff(app: &AppContext, store: &OverlayStore, choice: &OverlayChoice) -> CommandResult {
    let (entries, others) = choice.entries(store)?;
    let mut rows = Vec::new();
    for entry in &entries {
        let changes = store.diff(entry).map_err(|error| store_error(&error))?;
        if app.json {
            let mut row = overlay_json(entry);
            let change = |it: &OverlayChange| json!({ "path": path_text(&it.path), "kind": change_verb(it) });
            row["changes"] = changes.iter().map(change).collect();
            rows.push(row);
            continue;
        }
        let title = format!("{} ({})", entry.name, display_path(&entry.target));
        let lines = changes.iter().map(|change| change_line(&app.terminal, change));
        let title = app.terminal.paint(OutputStyle::Bold, &title);
        let lines: Vec<String> = std::iter::once(title).chain(lines).collect();
        app.terminal.print_line(&lines.join("\n"))?;
        if changes.is_empty() {
            app.terminal.note("  Nothing differs.");
        }
    }
    if app.json {
        app.terminal.print_line(&json!({ "schema_version": 1, "overlays": rows }).to_string())?;
    } else if entries.is_empty() {
        note_none(app, others);
    }
    Ok(CliExitCode::Ok)
}

fn run_action(
    app: &AppContext,
    store: &OverlayStore,
    choice: &OverlayChoice,
    action: OverlayAction,
    yes: bool,
) -> CommandResult {
    let (entries, others) = choice.entries(store)?;
    if entries.is_empty() && !app.json {
        note_none(app, others);
        return Ok(CliExitCode::Ok);
    }
    if !yes {
        let question = confirmation_question(store, &entries, action)?;
        if !is_confirmed(app, &question)? {
            app.terminal.note("Nothing was changed.");
            return Ok(CliExitCode::Failed);
        }
    }
    let mut rows = Vec::new();
    let mut exit = CliExitCode::Ok;
    for entry in &entries {
        let mut row = overlay_json(entry);
        if action == OverlayAction::Apply {
            let done = store.apply(entry).map_err(|error| overlay_error(entry, &error))?;
            if done.skipped.is_empty() {
                store.discard(entry).map_err(|error| overlay_error(entry, &error))?;
            } else {
                exit = CliExitCode::Failed;
            }
            report_applied(app, entry, &done);
            row["applied"] = applied_json(&done);
        } else {
            store.discard(entry).map_err(|error| overlay_error(entry, &error))?;
            if !app.json {
                app.terminal.note(&format!(
                    "{}: {} discarded.",
                    entry.name,
                    format_size(entry.bytes)
                ));
            }
        }
        rows.push(row);
    }
    if app.json {
        app.terminal.print_line(&json!({ "schema_version": 1, "overlays": rows }).to_string())?;
    }
    Ok(exit)
}

/// Builds the question to confirm.
fn confirmation_question(
    store: &OverlayStore,
    entries: &[OverlayEntry],
    action: OverlayAction,
) -> Result<String, CommandError> {
    let mut lines = Vec::new();
    for entry in entries {
        let (name, target) = (&entry.name, display_path(&entry.target));
        lines.push(match action {
            OverlayAction::Apply => {
                let changes = store.diff(entry).map_err(|error| store_error(&error))?;
                format!("  {name}: {} to {target}", count_by_kind(&changes))
            }
            OverlayAction::Discard => {
                format!("  {name}: {} in {} files", format_size(entry.bytes), entry.files)
            }
        });
    }
    let verb = match action {
        OverlayAction::Apply => "Apply",
        OverlayAction::Discard => "Discard",
    };
    Ok(format!("{verb} these changes?\n{}", lines.join("\n")))
}

/// Counts the changes of each kind.
fn count_by_kind(changes: &[OverlayChange]) -> String {
    let kinds = [
        (OverlayChangeKind::Added, "added"),
        (OverlayChangeKind::Changed, "changed"),
        (OverlayChangeKind::Deleted, "deleted"),
    ];
    let counts = kinds
        .map(|(kind, word)| (changes.iter().filter(|change| change.kind == kind).count(), word));
    let shown = counts.into_iter().filter(|(count, _)| *count > 0);
    let shown: Vec<String> = shown.map(|(count, word)| format!("{count} {word}")).collect();
    if shown.is_empty() { "no changes".to_owned() } else { shown.join(", ") }
}

/// Asks at a terminal; elsewhere `--yes` is required.
fn is_confirmed(app: &AppContext, question: &str) -> Result<bool, CommandError> {
    confirm(app, question).ok_or_else(|| {
        CommandError::usage("No terminal is available for the confirmation")
            .hint("Use --yes to confirm.")
    })
}

fn report_applied(app: &AppContext, entry: &OverlayEntry, done: &OverlayApplyReport) {
    if app.json {
        return;
    }
    for skipped in &done.skipped {
        let path = display_path(&entry.target.join(&skipped.path));
        app.terminal.warn(&format!("{path}: {}", skipped.reason));
    }
    let (name, written, deleted) = (&entry.name, done.written, done.deleted);
    app.terminal.note(&format!("{name}: {written} written, {deleted} deleted."));
    if !done.skipped.is_empty() {
        let hint = format!("Run `hermes sandbox overlays discard {name}` to remove the rest.");
        app.terminal.note(&hint);
    }
}

fn note_none(app: &AppContext, others: usize) {
    app.terminal.note(&match others {
        0 => "No overlays.".to_owned(),
        1 => "No overlays in this workspace; --all shows 1 of another workspace.".to_owned(),
        count => format!("No overlays in this workspace; --all shows {count} of other workspaces."),
    });
}

fn change_verb(change: &OverlayChange) -> &'static str {
    match change.kind {
        OverlayChangeKind::Added => "added",
        OverlayChangeKind::Changed => "changed",
        OverlayChangeKind::Deleted => "deleted",
    }
}

fn change_line(terminal: &TerminalOutput, change: &OverlayChange) -> String {
    let style = match change.kind {
        OverlayChangeKind::Added => OutputStyle::Green,
        OverlayChangeKind::Changed => OutputStyle::Yellow,
        OverlayChangeKind::Deleted => OutputStyle::Red,
    };
    let word = terminal.paint(style, &format!("{:<7}", change_verb(change)));
    format!("  {word}  {}", display_path(&change.path))
}

fn applied_json(done: &OverlayApplyReport) -> Value {
    let skipped = done.skipped.iter();
    let skipped = skipped.map(|it| json!({ "path": path_text(&it.path), "reason": it.reason }));
    json!({
        "written": done.written,
        "deleted": done.deleted,
        "skipped": skipped.collect::<Vec<_>>(),
    })
}

/// Formats a path for JSON; invalid UTF-8 is replaced.
fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn overlay_json(entry: &OverlayEntry) -> Value {
    json!({
        "workspace": path_text(&entry.workspace),
        "name": entry.name,
        "target": path_text(&entry.target),
        "store": path_text(&entry.store),
        "files": entry.files,
        "bytes": entry.bytes,
        "modified": entry.modified.and_then(|at| {
            let since = at.duration_since(std::time::UNIX_EPOCH).ok()?;
            Some(since.as_secs())
        }),
    })
}

/// Formats a path for the terminal. Child processes choose the names, so they
/// are escaped.
fn display_path(path: &Path) -> String {
    one_line(&path.display().to_string())
}

fn store_error(error: &io::Error) -> CommandError {
    CommandError::failed(ErrorKind::Unavailable, format!("Cannot read the overlays: {error}"))
        .hint("Check the owner and mode of that path.")
}

fn overlay_error(entry: &OverlayEntry, error: &io::Error) -> CommandError {
    let kind = match error.kind() {
        io::ErrorKind::ResourceBusy => ErrorKind::Conflict,
        _ => ErrorKind::Unavailable,
    };
    let hint = match kind {
        ErrorKind::Conflict => {
            "Stop the process that uses it; `hermes processes list` lists \
            them."
        }
        _ => "Check the owner and mode of that path.",
    };
    CommandError::failed(kind, format!("{}: {error}", entry.name)).hint(hint)
}
