//! `hermes undo` and `hermes redo`, and the code they share with `hermes
//! checkpoints restore`.

use std::path::PathBuf;

use hermes_checkpoints::{
    CheckpointStore, RestorePlan, RestoreReport, RestoreStep, RestoreTarget, SavedState,
    path_to_text,
};
use serde_json::{Value, json};

use super::checkpoints::{damaged_json, display_path, find_workspace, format_age, open_store};
use crate::app::AppContext;
use crate::command_error::{CliExitCode, CommandResult};
use crate::table::TextTable;
use crate::terminal::{OutputStyle, one_line};

/// Maximum number of turns listed after an undo.
const MAX_NAMED_TURNS: usize = 3;

/// Options for restoring files.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct RestoreOptions {
    /// Show the changes without applying them
    #[arg(long, alias = "dry-run")]
    pub(crate) preview: bool,
    /// Overwrite files that changed since, and restore as much as possible;
    /// contents that cannot be stored are lost
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UndoArgs {
    /// Number of turns to undo
    #[arg(value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
    #[command(flatten)]
    options: RestoreOptions,
    /// Directory whose workspace to use
    #[arg(long, short = 'C', value_name = "DIR")]
    cwd: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RedoArgs {
    #[command(flatten)]
    options: RestoreOptions,
    /// Directory whose workspace to use
    #[arg(long, short = 'C', value_name = "DIR")]
    cwd: Option<PathBuf>,
}

pub(crate) fn undo(app: &AppContext, args: &UndoArgs) -> CommandResult {
    let store = open_store(app)?;
    let workspace = find_workspace(app, &store, args.cwd.as_deref())?;
    let turns = usize::try_from(args.turns).unwrap_or(usize::MAX);
    plan_and_restore(
        app,
        &store,
        RestoreTarget::Undo { workspace: &workspace, turns },
        args.options,
    )
}

/// Returns how many of the requested turns have no checkpoint.
fn missing_turns(target: RestoreTarget<'_>, plan: &RestorePlan) -> usize {
    match target {
        RestoreTarget::Undo { turns, .. } => turns.saturating_sub(plan.checkpoints.len()),
        _ => 0,
    }
}

pub(crate) fn redo(app: &AppContext, args: &RedoArgs) -> CommandResult {
    let store = open_store(app)?;
    let workspace = find_workspace(app, &store, args.cwd.as_deref())?;
    plan_and_restore(app, &store, RestoreTarget::Redo { workspace: &workspace }, args.options)
}

/// Plans a restore and applies it, or only prints the plan for a preview.
pub(crate) fn plan_and_restore(
    app: &AppContext,
    store: &CheckpointStore,
    target: RestoreTarget<'_>,
    options: RestoreOptions,
) -> CommandResult {
    let plan = store.plan(target)?;
    let short = missing_turns(target, &plan);
    let had = plan.checkpoints.len();
    let asked = had + short;
    if options.preview {
        preview(app, target, &plan, asked)?;
        if short > 0 {
            app.terminal.warn(&format!(
                "{had} of {asked} turns would be undone: no older \
                checkpoints exist"
            ));
        }
        return Ok(CliExitCode::Ok);
    }
    let restored = store.apply_plan(&plan, options.force)?;
    warn_result(app, &plan, &restored);
    if app.json {
        app.terminal
            .print_line(&restore_json(target, &plan, asked, Some(&restored)).to_string())?;
    } else {
        report(app, target, &plan, &restored)?;
    }
    if short > 0 {
        app.terminal.warn(&format!(
            "{had} of {asked} turns were undone: no older checkpoints \
            exist"
        ));
    }
    Ok(if restored.is_partial || short > 0 { CliExitCode::Failed } else { CliExitCode::Ok })
}

fn preview(
    app: &AppContext,
    target: RestoreTarget<'_>,
    plan: &RestorePlan,
    asked: usize,
) -> Result<(), crate::command_error::CommandError> {
    for damaged in &plan.damaged {
        let what = damaged.describe();
        app.terminal.warn(&format!("A later turn cannot be read; use --force to skip it: {what}"));
    }
    warn_missing(app, plan);
    if app.json {
        return Ok(app
            .terminal
            .print_line(&restore_json(target, plan, asked, None).to_string())?);
    }
    if plan.steps.is_empty() {
        app.terminal.note("Nothing to change: all files already match.");
        return Ok(());
    }
    let mut table = TextTable::default();
    for step in &plan.steps {
        let obstacle = step.describe_obstacle().map_or(String::new(), |why| format!("! {why}"));
        table.push_row([
            (format!("would {}", step_verb(step)), None),
            (display_path(&step.path, &plan.workspace), Some(OutputStyle::Bold)),
            (obstacle, Some(OutputStyle::Red)),
        ]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    if plan.obstacles().next().is_some() {
        app.terminal.note("Entries marked with ! are blocked; --force restores what it can.");
    }
    Ok(())
}

fn report(
    app: &AppContext,
    target: RestoreTarget<'_>,
    plan: &RestorePlan,
    restored: &RestoreReport,
) -> Result<(), crate::command_error::CommandError> {
    let mut table = TextTable::default();
    for step in plan.steps.iter().filter(|step| restored.restored.contains(&step.path)) {
        let done = match step_verb(step) {
            "remove" => "removed",
            _ => "restored",
        };
        table.push_row([
            (done.into(), None),
            (display_path(&step.path, &plan.workspace), Some(OutputStyle::Bold)),
        ]);
    }
    let text = table.render(&app.terminal);
    if !text.is_empty() {
        app.terminal.print_line(&text)?;
    }
    for (path, why) in &restored.skipped {
        app.terminal
            .warn(&format!("{} was left unchanged: {why}", display_path(path, &plan.workspace)));
    }
    let is_undo = matches!(target, RestoreTarget::Undo { .. });
    let back = if is_undo { "hermes redo" } else { "hermes undo" };
    let back = match (restored.restored.len(), restored.lost.len()) {
        (0, _) => "No changes were needed.".to_owned(),
        (_, 0) => format!("Run `{back}` to revert this."),
        (done, lost) if lost < done => format!("Run `{back} --force` to revert the rest."),
        _ => "This cannot be reverted.".to_owned(),
    };
    app.terminal.note(&match is_undo {
        true => format!("Undone: {}. {back}", undone_turns(plan)),
        false => back,
    });
    Ok(())
}

/// Describes the undone turns, newest first, to show the user which ones they
/// were.
fn undone_turns(plan: &RestorePlan) -> String {
    let newest = plan.turns.iter().rev().take(MAX_NAMED_TURNS);
    let shown = newest
        .map(|turn| format!("{} ({})", turn.changed_by.join(", "), format_age(turn.created_at)));
    let mut turns: Vec<String> = shown.collect();
    if plan.turns.len() > MAX_NAMED_TURNS {
        turns.push(format!("and {} more", plan.turns.len() - MAX_NAMED_TURNS));
    }
    one_line(&turns.join("; "))
}

/// Warns about deleted files of which no copy was stored.
fn warn_missing(app: &AppContext, plan: &RestorePlan) {
    for path in &plan.missing {
        let path = display_path(path, &plan.workspace);
        app.terminal.warn(&format!(
            "{path} was deleted and cannot be restored: git ignores it, so no copy was stored"
        ));
    }
}

/// Prints the warnings of a restore, with JSON output too.
fn warn_result(app: &AppContext, plan: &RestorePlan, restored: &RestoreReport) {
    warn_missing(app, plan);
    for damaged in &plan.damaged {
        app.terminal.warn(&format!("Skipped an unreadable turn: {}", damaged.describe()));
    }
    for (path, why) in &restored.lost {
        let (path, why) = (display_path(path, &plan.workspace), why.describe());
        app.terminal.warn(&format!("The contents of {path} are lost, no copy was stored: {why}"));
    }
    for (path, what) in &restored.missing_attributes {
        let (path, what) = (display_path(path, &plan.workspace), one_line(&what.join(", ")));
        app.terminal.warn(&format!("{path} was restored without some of its attributes: {what}"));
    }
}

fn restore_json(
    target: RestoreTarget<'_>,
    plan: &RestorePlan,
    asked: usize,
    restored: Option<&RestoreReport>,
) -> Value {
    let steps: Vec<Value> = plan
        .steps
        .iter()
        .map(|step| {
            json!({
                "path": path_to_text(&step.path),
                "do": step_verb(step),
                "obstacle": step.describe_obstacle(),
                "can_be_forced": step.obstacle.map(|o| o.can_be_forced),
                "lost_for_good": step.loss_reason().is_some(),
            })
        })
        .collect();
    let mut answer = json!({
        "schema_version": 1,
        "action": target.command_name(),
        "preview": restored.is_none(),
        "workspace": path_to_text(&plan.workspace),
        "checkpoints": plan.checkpoints,
        "steps": steps,
        "missing": plan.missing.iter().map(|path| path_to_text(path)).collect::<Vec<_>>(),
        "damaged": plan.damaged.iter().map(damaged_json).collect::<Vec<_>>(),
    });
    if let (RestoreTarget::Undo { .. }, Some(fields)) = (target, answer.as_object_mut()) {
        fields.insert("asked".into(), json!(asked));
        fields.insert("turns".into(), json!(plan.checkpoints.len()));
        let by = plan.turns.iter().map(|turn| json!({ "id": turn.id, "by": turn.changed_by }));
        fields.insert("undone".into(), by.collect());
    }
    if let (Some(restored), Some(fields)) = (restored, answer.as_object_mut()) {
        let done: Vec<_> = restored.restored.iter().map(|path| path_to_text(path)).collect();
        let left: Vec<Value> = restored
            .skipped
            .iter()
            .map(|(path, why)| json!({ "path": path_to_text(path), "why": why }))
            .collect();
        fields.insert("checkpoint".into(), json!(restored.checkpoint));
        fields.insert("done".into(), json!(done));
        let lost = restored
            .lost
            .iter()
            .map(|(path, why)| json!({ "path": path_to_text(path), "why": why.describe() }));
        let without = restored
            .missing_attributes
            .iter()
            .map(|(path, what)| json!({ "path": path_to_text(path), "lost": what }));
        fields.insert("left".into(), left.into());
        fields.insert("lost".into(), lost.collect());
        fields.insert("without".into(), without.collect());
    }
    answer
}

fn step_verb(step: &RestoreStep) -> &'static str {
    match (&step.from, &step.to) {
        (_, SavedState::Absent) => "remove",
        (SavedState::Absent, _) => "bring back",
        _ => "restore",
    }
}
