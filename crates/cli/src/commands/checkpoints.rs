//! `hermes checkpoints`: file contents from before tools changed them.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hermes_checkpoints::{
    CheckpointKind, CheckpointLimits, CheckpointManifest, CheckpointStore, DamagedCheckpoint,
    LATEST_CHECKPOINT, PathChange, RestoreTarget, SavedState, path_from_text, path_to_text,
    relative_path_text, workspace_for,
};
use hermes_config::{HermesSettings, ResolvedConfig};
use serde_json::{Value, json};

use super::undo;
use crate::app::{AppContext, working_dir};
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::table::TextTable;
use crate::terminal::{OutputStyle, one_line};

/// Context lines around a change in a diff.
const DIFF_CONTEXT_LINES: usize = 3;

const BYTES_PER_MEGABYTE: u64 = 1_000_000;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum CheckpointsCommand {
    /// List the checkpoints of this workspace, newest first
    List {
        /// Include all workspaces
        #[arg(long)]
        all: bool,
        /// Maximum number of checkpoints to show
        #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 50)]
        lines: usize,
    },
    /// Show the files that a turn changed
    Show {
        /// Checkpoint ID or a prefix of it; `latest` is the newest of this
        /// workspace
        id: String,
    },
    /// Show the changes since a checkpoint
    Diff {
        /// Checkpoint ID or a prefix of it; `latest` is the newest of this
        /// workspace
        id: String,
        /// Files or directories to include
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Restore files from a checkpoint
    Restore {
        /// Checkpoint ID or a prefix of it; `latest` is the newest of this
        /// workspace
        id: String,
        /// Files or directories to include
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
        #[command(flatten)]
        options: undo::RestoreOptions,
    },
    /// Delete checkpoints beyond the limits, and unreferenced contents
    Prune,
    /// Show disk usage and limits
    Status,
}

pub(crate) fn run(app: &AppContext, command: CheckpointsCommand) -> CommandResult {
    let home = app.home()?;
    let config = app.config(&home)?;
    app.roll_back_interrupted(&home);
    let store = CheckpointStore::new(home.checkpoints_dir(), checkpoint_limits(&config.settings));
    match command {
        CheckpointsCommand::List { all, lines } => list(app, &store, all, lines),
        CheckpointsCommand::Show { id } => show(app, &store, &resolve_id(app, &store, id)?),
        CheckpointsCommand::Diff { id, paths } => {
            diff(app, &store, &resolve_id(app, &store, id)?, &paths)
        }
        CheckpointsCommand::Restore { id, paths, options } => {
            let (id, paths) = (resolve_id(app, &store, id)?, absolute_paths(&paths)?);
            undo::plan_and_restore(
                app,
                &store,
                RestoreTarget::Restore { checkpoint: &id, paths: &paths },
                options,
            )
        }
        CheckpointsCommand::Prune => prune(app, &store),
        CheckpointsCommand::Status => status(app, &store, &config),
    }
}

/// Opens the checkpoint store of this home.
pub(crate) fn open_store(app: &AppContext) -> Result<CheckpointStore, CommandError> {
    let home = app.home()?;
    let settings = app.config(&home)?.settings;
    app.roll_back_interrupted(&home);
    Ok(CheckpointStore::new(home.checkpoints_dir(), checkpoint_limits(&settings)))
}

/// Returns the limits from the settings; 0 means unlimited.
pub(crate) fn checkpoint_limits(settings: &HermesSettings) -> CheckpointLimits {
    let said = &settings.checkpoints;
    let megabytes = |n: u64| if n == 0 { u64::MAX } else { n.saturating_mul(BYTES_PER_MEGABYTE) };
    let age = match said.retention_days {
        0 => Duration::MAX,
        days => Duration::from_secs(days.saturating_mul(24 * 60 * 60)),
    };
    CheckpointLimits {
        per_workspace: usize::try_from(said.max_snapshots).unwrap_or(usize::MAX),
        total_bytes: megabytes(said.max_total_size_mb),
        file_bytes: megabytes(said.max_file_size_mb),
        max_age: age,
        ..CheckpointLimits::default()
    }
}

/// Returns the workspace of a command: the one that a call made here would use,
/// or else the nearest ancestor with checkpoints. The search does not leave a
/// repository or the home directory, and a note names the ancestor.
pub(crate) fn find_workspace(
    app: &AppContext,
    store: &CheckpointStore,
    named: Option<&Path>,
) -> Result<PathBuf, CommandError> {
    let here = working_dir(named)?;
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let own = workspace_for(&here, home.as_deref());
    if own.join(".git").exists() {
        return Ok(own);
    }
    let nearest = store.nearest_workspace(&own).filter(|above| {
        *above == own || (above.parent().is_some() && Some(above) != home.as_ref())
    });
    let Some(nearest) = nearest else { return Ok(own) };
    if nearest != own {
        let above = nearest.display();
        app.terminal.note(&format!(
            "Using {above} (a parent directory); this directory has no \
                checkpoints."
        ));
    }
    Ok(nearest)
}

/// Resolves `latest` to a checkpoint ID.
fn resolve_id(
    app: &AppContext,
    store: &CheckpointStore,
    id: String,
) -> Result<String, CommandError> {
    if id != LATEST_CHECKPOINT {
        return Ok(id);
    }
    let place = find_workspace(app, store, None)?;
    Ok(store.newest(&place)?.id().to_owned())
}

/// Makes paths from the command line absolute.
fn absolute_paths(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CommandError> {
    let place = |path: &PathBuf| {
        let wrong = |e: std::io::Error| CommandError::usage(format!("{}: {e}", path.display()));
        let absolute = std::path::absolute(path_from_text(path)).map_err(wrong)?;
        let (Some(above), Some(name)) = (absolute.parent(), absolute.file_name()) else {
            return Ok(absolute);
        };
        // The directory may no longer exist; the checkpoint uses this name.
        Ok(std::fs::canonicalize(above).unwrap_or(above.to_path_buf()).join(name))
    };
    paths.iter().map(place).collect()
}

fn list(app: &AppContext, store: &CheckpointStore, all: bool, lines: usize) -> CommandResult {
    let place = if all { PathBuf::new() } else { find_workspace(app, store, None)? };
    let mut found = if all { store.all()? } else { store.checkpoints(&place)? };
    let mut damaged = if all { store.all_damaged()? } else { store.damaged(&place)? };
    found.reverse();
    found.truncate(lines);
    damaged.reverse();
    damaged.truncate(lines);
    if app.json {
        let checkpoints: Vec<Value> = found.iter().map(summary_json).collect();
        let workspace = (!all).then(|| path_to_text(&place));
        let answer = json!({
            "schema_version": 1,
            "workspace": workspace,
            "checkpoints": checkpoints,
            "damaged": damaged.iter().map(damaged_json).collect::<Vec<_>>(),
        });
        app.terminal.print_line(&answer.to_string())?;
        return Ok(CliExitCode::Ok);
    }
    if found.is_empty() && damaged.is_empty() {
        let place = place.display();
        app.terminal.note(&if all {
            "No checkpoints yet; one is created when a tool changes a file.".to_owned()
        } else {
            format!(
                "No checkpoints for {place}; `hermes checkpoints list --all` lists all \
                workspaces."
            )
        });
        return Ok(CliExitCode::Ok);
    }
    app.terminal.print_line(&list_table(&found, &damaged, lines, all).render(&app.terminal))?;
    Ok(CliExitCode::Ok)
}

/// Builds the table, newest first, including damaged checkpoints.
fn list_table(
    found: &[CheckpointManifest],
    damaged: &[DamagedCheckpoint],
    lines: usize,
    all: bool,
) -> TextTable {
    let mut rows = Vec::new();
    for damaged in damaged {
        rows.push((
            damaged.started_at(),
            [
                (damaged.id.clone(), Some(OutputStyle::Bold)),
                (format_age(damaged.started_at()), Some(OutputStyle::Dim)),
                ("damaged".to_owned(), Some(OutputStyle::Red)),
                (format!("unreadable: {}", damaged.why), Some(OutputStyle::Dim)),
            ],
        ));
    }
    for manifest in found {
        let files = manifest.changes().count();
        let unkept = manifest.changes().filter(|(_, c)| is_unkept(&c.before)).count();
        let mut what = format!("{files} file{}", if files == 1 { "" } else { "s" });
        if unkept > 0 {
            what.push_str(&format!(", {unkept} not kept"));
        }
        if lost_count(manifest) > 0 {
            what.push_str(&format!(", {} deleted without a copy", lost_count(manifest)));
        }
        if manifest.is_cut_off() {
            what.push_str(", cut off");
        }
        if all {
            what.push_str(&format!("  {}", manifest.workspace().display()));
        }
        rows.push((
            manifest.info().created_at,
            [
                (manifest.id().to_owned(), Some(OutputStyle::Bold)),
                (checkpoint_age(manifest), Some(OutputStyle::Dim)),
                (manifest.changed_by().join(", "), None),
                (what, Some(OutputStyle::Dim)),
            ],
        ));
    }
    rows.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let mut table = TextTable::default();
    rows.into_iter().take(lines).for_each(|(_, row)| table.push_row(row));
    table
}

/// Describes a damaged checkpoint as JSON.
pub(super) fn damaged_json(damaged: &DamagedCheckpoint) -> Value {
    json!({ "id": damaged.id, "path": path_to_text(&damaged.path), "why": damaged.why })
}

fn summary_json(manifest: &CheckpointManifest) -> Value {
    json!({
        "id": manifest.id(),
        "at": manifest.timestamp(),
        "workspace": path_to_text(manifest.workspace()),
        "session": manifest.session(),
        "kind": manifest.kind().command_name().unwrap_or("turn"),
        "by": manifest.changed_by(),
        "files": manifest.changes().count(),
        "partial": manifest.is_partial(),
        "cut_off": manifest.is_cut_off(),
        "not_kept": manifest.changes().filter(|(_, c)| is_unkept(&c.before)).count(),
        "missing": manifest.missing_paths().map(path_to_text).collect::<Vec<_>>(),
    })
}

fn show(app: &AppContext, store: &CheckpointStore, id: &str) -> CommandResult {
    let manifest = store.find(id)?;
    if app.json {
        let mut answer = summary_json(&manifest);
        let changes: Vec<Value> = manifest
            .changes()
            .map(|(path, change)| {
                json!({
                    "path": path_to_text(path),
                    "change": change_verb(change),
                    "before": change.before,
                    "after": change.after,
                    "kept": !is_unkept(&change.before),
                })
            })
            .collect();
        if let Some(fields) = answer.as_object_mut() {
            let calls: Vec<Value> = manifest
                .calls
                .iter()
                .map(|call| json!({ "id": call.id, "tool": call.tool, "task": call.task }))
                .collect();
            fields.insert("schema_version".into(), 1.into());
            fields.insert("calls".into(), calls.into());
            fields.insert("changes".into(), changes.into());
        }
        app.terminal.print_line(&answer.to_string())?;
        return Ok(CliExitCode::Ok);
    }
    let by = match manifest.kind() {
        CheckpointKind::Undo(turns) => format!("undo of {}", turns.join(", ")),
        CheckpointKind::Redo(undo) => format!("redo of {undo}"),
        CheckpointKind::Restore(to) => format!("restore of {to}"),
        CheckpointKind::Turn => manifest.changed_by().join(", "),
    };
    let (id, workspace) = (manifest.id(), manifest.workspace());
    app.terminal.print_line(&format!(
        "{id}  {}  {by}  {}",
        checkpoint_age(&manifest),
        workspace.display()
    ))?;
    let mut table = TextTable::default();
    for (path, change) in manifest.changes() {
        let mut named = display_path(path, workspace);
        if let SavedState::Unkept { why, .. } = change.before {
            named.push_str(&format!("  (not kept: {})", why.describe()));
        }
        table.push_row([(format!("  {}", change_verb(change)), None), (named, None)]);
    }
    for path in manifest.missing_paths() {
        let named = format!("{}  (not kept: ignored by git)", display_path(path, workspace));
        table.push_row([("  deleted".to_owned(), None), (named, None)]);
    }
    if manifest.is_partial() {
        let rest = format!("part of {}, which has too many files", workspace.display());
        table.push_row([("  not kept".to_owned(), None), (rest, None)]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    Ok(CliExitCode::Ok)
}

fn diff(app: &AppContext, store: &CheckpointStore, id: &str, paths: &[PathBuf]) -> CommandResult {
    let paths = absolute_paths(paths)?;
    let plan = store.plan(RestoreTarget::Restore { checkpoint: id, paths: &paths })?;
    let mut files = Vec::new();
    for step in &plan.steps {
        let name = display_path(&step.path, &plan.workspace);
        let (old, new) = (saved_text(store, &step.to), current_text(&step.from, &step.path));
        let body = match (old, new) {
            (Some(old), Some(new)) if step.to.is_dir() || step.from.is_dir() => {
                format!("{name}: {} → {}{old}{new}", step.to.noun(), step.from.noun())
            }
            (Some(old), Some(new)) => {
                let (before, after) = (format!("a/{name}"), format!("b/{name}"));
                let changed = hermes_text::diff::unified_diff(
                    &old,
                    &new,
                    &before,
                    &after,
                    DIFF_CONTEXT_LINES,
                );
                match changed.is_empty() {
                    true => format!("{name}: mode, owner or attributes changed"),
                    false => changed,
                }
            }
            _ => format!("{name}: binary or not kept"),
        };
        files.push((step, body));
    }
    if app.json {
        let files: Vec<Value> = files
            .iter()
            .map(|(step, body)| json!({ "path": path_to_text(&step.path), "diff": body }))
            .collect();
        app.terminal.print_line(&json!({ "schema_version": 1, "files": files }).to_string())?;
        return Ok(CliExitCode::Ok);
    }
    if files.is_empty() {
        app.terminal.note("No changes since the checkpoint.");
    }
    for (_, body) in &files {
        let body = body.trim_end_matches('\n');
        let body = if app.terminal.stdout_is_person {
            crate::terminal::show_control_chars(body).into_owned()
        } else {
            body.to_owned()
        };
        app.terminal.print_line(&body)?;
    }
    Ok(CliExitCode::Ok)
}

/// Returns the saved contents, or `None` if they are not text.
fn saved_text(store: &CheckpointStore, state: &SavedState) -> Option<String> {
    match state {
        SavedState::Absent | SavedState::Folder { .. } => Some(String::new()),
        SavedState::Link { target, .. } => Some(format!("→ {}\n", target.display())),
        kept => text_from_bytes(store.read_content(kept).ok()?),
    }
}

fn current_text(state: &SavedState, path: &Path) -> Option<String> {
    match state {
        SavedState::Absent | SavedState::Folder { .. } => Some(String::new()),
        SavedState::Link { target, .. } => Some(format!("→ {}\n", target.display())),
        SavedState::File { .. } => text_from_bytes(std::fs::read(path).ok()?),
        SavedState::Unkept { .. } => None,
    }
}

fn text_from_bytes(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

fn prune(app: &AppContext, store: &CheckpointStore) -> CommandResult {
    let pruned = if store.root().exists() { store.prune()? } else { Default::default() };
    if app.json {
        let answer = json!({
            "schema_version": 1,
            "checkpoints": pruned.checkpoints,
            "objects": pruned.objects,
            "bytes": pruned.bytes,
        });
        app.terminal.print_line(&answer.to_string())?;
    } else {
        app.terminal.print_line(&format!(
            "Removed {} checkpoints and {} objects, {}",
            pruned.checkpoints,
            pruned.objects,
            format_size(pruned.bytes)
        ))?;
    }
    Ok(CliExitCode::Ok)
}

fn status(app: &AppContext, store: &CheckpointStore, config: &ResolvedConfig) -> CommandResult {
    let usage = store.usage()?;
    let said = config.settings.checkpoints;
    if app.json {
        let answer = json!({
            "schema_version": 1,
            "enabled": said.enabled,
            "folder": path_to_text(store.root()),
            "workspaces": usage.workspaces,
            "checkpoints": usage.checkpoints,
            "damaged": usage.damaged,
            "objects": usage.objects,
            "bytes": usage.bytes(),
            "object_bytes": usage.object_bytes,
            "log_bytes": usage.log_bytes,
            "max_snapshots": said.max_snapshots,
            "max_total_size_mb": said.max_total_size_mb,
            "max_file_size_mb": said.max_file_size_mb,
            "retention_days": said.retention_days,
        });
        app.terminal.print_line(&answer.to_string())?;
        return Ok(CliExitCode::Ok);
    }
    let bound = |n: u64, unit: &str| match n {
        0 => "unlimited".to_owned(),
        n => format!("{n} {unit}"),
    };
    let mut table = TextTable::default();
    let mut row = |name: &str, value: String| {
        table.push_row([(name.to_owned(), Some(OutputStyle::Bold)), (value, None)]);
    };
    row("kept", if said.enabled { "yes" } else { "no: checkpoints.enabled is false" }.to_owned());
    row("directory", store.root().display().to_string());
    row("checkpoints", format!("{} in {} workspaces", usage.checkpoints, usage.workspaces));
    let (contents, logs) = (format_size(usage.object_bytes), format_size(usage.log_bytes));
    let parts = format!("{contents} in {} objects, {logs} in logs", usage.objects);
    row("disk usage", format!("{}: {parts}", format_size(usage.bytes())));
    row("at most", format!("{} checkpoints per workspace", said.max_snapshots));
    row("at most", format!("{} on disk", bound(said.max_total_size_mb, "MB")));
    row("at most", format!("{} per file", bound(said.max_file_size_mb, "MB")));
    row("for", bound(said.retention_days, "days"));
    if usage.damaged > 0 {
        row("damaged", format!("{} unreadable", usage.damaged));
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    Ok(CliExitCode::Ok)
}

/// Formats a path on one line, relative to the workspace if possible.
pub(crate) fn display_path(path: &Path, workspace: &Path) -> String {
    one_line(&relative_path_text(path, workspace))
}

fn change_verb(change: &PathChange) -> &'static str {
    match (&change.before, &change.after) {
        (_, None) => "cut off",
        (SavedState::Absent, Some(_)) => "created",
        (_, Some(SavedState::Absent)) => "deleted",
        _ => "changed",
    }
}

/// Counts git-ignored paths that went missing since the turn.
fn lost_count(manifest: &CheckpointManifest) -> usize {
    manifest.missing_paths().count()
}

fn is_unkept(state: &SavedState) -> bool {
    matches!(state, SavedState::Unkept { .. })
}

/// Formats the age of a checkpoint.
pub(crate) fn checkpoint_age(manifest: &CheckpointManifest) -> String {
    format_age(manifest.info().created_at)
}

pub(super) fn format_age(moment: SystemTime) -> String {
    let since = SystemTime::now().duration_since(moment).unwrap_or_default().as_secs();
    match since {
        0..60 => format!("{since} s ago"),
        60..3600 => format!("{} min ago", since / 60),
        3600..86_400 => format!("{} h ago", since / 3600),
        _ => format!("{} days ago", since / 86_400),
    }
}

pub(super) fn format_size(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}
