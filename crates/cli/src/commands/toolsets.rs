//! `hermes toolsets`: lists and edits groups of tools.

use hermes::core::ErrorKind;
use hermes::engine::distributions::DistributionError;
use hermes::engine::distributions::{self, ToolsetDistribution};
use hermes::engine::toolsets::{CustomToolset, ToolsetError, ToolsetSummary};
use serde_json::{Value, json};

use crate::app::{AppContext, AppServices};
use crate::args::ToolsetsCommand;
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::table::TextTable;
use crate::terminal::OutputStyle;

impl From<ToolsetError> for CommandError {
    fn from(error: ToolsetError) -> Self {
        let message = error.to_string();
        let failure = match error {
            ToolsetError::Unknown { .. } => CommandError::not_found(message),
            ToolsetError::Exists { .. } => CommandError::failed(ErrorKind::Conflict, message)
                .hint("Use --replace to overwrite it."),
            ToolsetError::InUse { .. } => CommandError::failed(ErrorKind::Conflict, message)
                .hint("Use `hermes toolsets create --replace` to change a toolset."),
            ToolsetError::BuiltIn { .. } | ToolsetError::Registered { .. } => {
                CommandError::usage(message).hint("Only custom toolsets can be deleted.")
            }
            ToolsetError::InvalidName { .. } | ToolsetError::Taken { .. } => {
                CommandError::usage(message).hint("Choose another name.")
            }
            _ => CommandError::usage(message),
        };
        failure.lift_suggestion().or_hint("Run `hermes toolsets list` for the available toolsets.")
    }
}

impl From<DistributionError> for CommandError {
    fn from(error: DistributionError) -> Self {
        let message = error.to_string();
        let failure = match error {
            DistributionError::Unknown { .. } => CommandError::not_found(message),
            DistributionError::Syntax { .. } => CommandError::usage(message)
                .hint("Use toolsets with percentages, such as web=50,file=20."),
            _ => CommandError::usage(message),
        };
        failure.lift_suggestion().or_hint(
            "Run `hermes toolsets sample` for the available \
            distributions.",
        )
    }
}

pub(crate) fn run(app: &AppContext, command: ToolsetsCommand) -> CommandResult {
    let ready = app.services()?;
    ready.offer_cached_tools_and_note(app);
    match command {
        ToolsetsCommand::List => list(app, &ready),
        ToolsetsCommand::Show { name } => show(app, &ready, &name),
        ToolsetsCommand::Create { name, description, tools, includes, replace } => {
            let mut toolset = CustomToolset::new(name);
            toolset.description = description;
            toolset.tools = tools;
            toolset.includes = includes;
            create(app, &ready, toolset, replace)
        }
        ToolsetsCommand::Delete { name } => delete(app, &ready, &name),
        ToolsetsCommand::Sample { distribution: None, .. } => list_distributions(app),
        ToolsetsCommand::Sample { distribution: Some(name), seed, count } => {
            sample(app, &ready, &name, seed, count)
        }
    }
}

pub(crate) fn toolset_infos(ready: &AppServices) -> Result<Vec<ToolsetSummary>, ToolsetError> {
    let snapshot = ready.engine().snapshot();
    let toolsets = ready.engine().toolsets();
    toolsets.names(&*snapshot).iter().map(|name| toolsets.summary(name, &*snapshot)).collect()
}

/// Returns how many of a toolset's tools are registered.
fn registered_count(ready: &AppServices, info: &ToolsetSummary) -> usize {
    let snapshot = ready.engine().snapshot();
    info.tools.iter().filter(|name| snapshot.get(name).is_some()).count()
}

fn list(app: &AppContext, ready: &AppServices) -> CommandResult {
    let infos = toolset_infos(ready)?;
    if app.json {
        let rows: Vec<Value> = infos.iter().map(|info| document(ready, info)).collect();
        app.terminal.print_line(&json!({ "schema_version": 1, "toolsets": rows }).to_string())?;
        return Ok(CliExitCode::Ok);
    }
    let mut table = TextTable::default();
    for info in &infos {
        let count = format!("{:>3}/{}", registered_count(ready, info), info.tools.len());
        let own = if info.custom { "custom" } else { "" };
        table.push_row([
            (info.name.clone(), Some(OutputStyle::Bold)),
            (count, None),
            (own.to_owned(), Some(OutputStyle::Cyan)),
            (info.description.clone(), Some(OutputStyle::Dim)),
        ]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    if app.terminal.stdout_is_person {
        app.terminal
            .note(&format!("{} toolsets; counts are registered tools / all tools", infos.len()));
    }
    Ok(CliExitCode::Ok)
}

fn document(ready: &AppServices, info: &ToolsetSummary) -> Value {
    let mut value = serde_json::to_value(info).unwrap_or_default();
    value["present"] = registered_count(ready, info).into();
    let snapshot = ready.engine().snapshot();
    let is_missing = |tool: &&String| snapshot.get(tool).is_none();
    value["not_built"] = info.tools.iter().filter(is_missing).cloned().collect();
    value
}

fn show(app: &AppContext, ready: &AppServices, name: &str) -> CommandResult {
    let snapshot = ready.engine().snapshot();
    let info = ready.engine().toolsets().summary(name, &*snapshot)?;
    if app.json {
        let mut value = document(ready, &info);
        value["schema_version"] = 1.into();
        app.terminal.print_line(&value.to_string())?;
        return Ok(CliExitCode::Ok);
    }
    let title =
        format!("{}  {}", app.terminal.paint(OutputStyle::Bold, &info.name), info.description);
    let mut lines = vec![title.trim_end().to_owned()];
    if !info.includes.is_empty() {
        lines.push(format!("includes {}", info.includes.join(", ")));
    }
    for tool in &info.tools {
        match snapshot.get(tool) {
            Some(entry) => lines.push(format!("  {} {tool}", entry.spec().emoji)),
            None => lines.push(
                app.terminal.paint(OutputStyle::Dim, &format!("  · {tool} (not in this build)")),
            ),
        }
    }
    app.terminal.print_line(&lines.join("\n"))?;
    Ok(CliExitCode::Ok)
}

fn create(
    app: &AppContext,
    ready: &AppServices,
    toolset: CustomToolset,
    replace: bool,
) -> CommandResult {
    let name = toolset.name.clone();
    if toolset.tools.is_empty() && toolset.includes.is_empty() {
        return Err(CommandError::usage("The toolset would be empty")
            .hint("Pass --tools, --includes or both."));
    }
    ready.change_toolsets(|toolsets, snapshot| {
        let lookup = |name: &str| snapshot.find(name).map(|e| e.name().to_owned());
        if replace {
            toolsets.replace(toolset, snapshot, &lookup)
        } else {
            toolsets.create(toolset, snapshot, &lookup)
        }
    })?;
    app.terminal.note(&format!("Saved in {}", ready.home().toolsets_file().display()));
    show(app, ready, &name)
}

fn delete(app: &AppContext, ready: &AppServices, name: &str) -> CommandResult {
    let deleted = ready.change_toolsets(|toolsets, snapshot| toolsets.delete(name, snapshot))?;
    if app.json {
        app.terminal
            .print_line(&json!({ "schema_version": 1, "deleted": deleted.name }).to_string())?;
    } else {
        app.terminal.note(&format!("Deleted {}", deleted.name));
    }
    Ok(CliExitCode::Ok)
}

fn list_distributions(app: &AppContext) -> CommandResult {
    let all: Vec<ToolsetDistribution> = distributions::all().collect();
    if app.json {
        app.terminal
            .print_line(&json!({ "schema_version": 1, "distributions": all }).to_string())?;
        return Ok(CliExitCode::Ok);
    }
    let mut table = TextTable::default();
    for distribution in &all {
        let shares: Vec<String> =
            distribution.shares.iter().map(|s| format!("{} {}", s.toolset, s.percent)).collect();
        table.push_row([
            (distribution.name.clone(), Some(OutputStyle::Bold)),
            (shares.join(", "), None),
        ]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    Ok(CliExitCode::Ok)
}

fn sample(
    app: &AppContext,
    ready: &AppServices,
    name: &str,
    seed: Option<u64>,
    count: u32,
) -> CommandResult {
    let snapshot = ready.engine().snapshot();
    let toolsets = ready.engine().toolsets();
    let distribution = if name.contains('=') {
        ToolsetDistribution::parse(name)?
    } else {
        distributions::find(name)?
    };
    distribution.check(&toolsets, &*snapshot)?;
    let seed = seed.unwrap_or_else(|| hermes::core::ids::random_bits() >> 11);
    for round in 0..u64::from(count) {
        let seed = seed.wrapping_add(round);
        let drawn = distribution.sample(seed, |set| toolsets.contains(set, &*snapshot))?;
        if app.json {
            let value = json!({ "schema_version": 1, "distribution": distribution.name, "seed": seed, "toolsets": drawn });
            app.terminal.print_line(&value.to_string())?;
        } else {
            app.terminal.print_line(&drawn.join(" "))?;
        }
    }
    if !app.json {
        app.terminal.note(&format!("seed {seed}"));
    }
    Ok(CliExitCode::Ok)
}
