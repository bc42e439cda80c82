//! `hermes toolsets`: groups of tools.

use hermes::core::ErrorKind;
use hermes::engine::distributions::DistributionError;
use hermes::engine::distributions::{self, ToolsetDistribution};
use hermes::engine::toolsets::{CustomToolset, ToolsetError, ToolsetSummary};
use serde_json::{Value, json};

use crate::app::{App, Ready};
use crate::args::Toolsets;
use crate::failure::{Exit, Failure, Outcome};
use crate::table::Table;
use crate::terminal::Style;

impl From<ToolsetError> for Failure {
    fn from(error: ToolsetError) -> Self {
        let message = error.to_string();
        let failure = match error {
            ToolsetError::Unknown { .. } => Failure::not_found(message),
            ToolsetError::Exists { .. } => Failure::failed(ErrorKind::Conflict, message)
                .hint("Give --replace to put the new one in its place."),
            ToolsetError::InUse { .. } => Failure::failed(ErrorKind::Conflict, message)
                .hint("`hermes toolsets create --replace` changes a toolset."),
            ToolsetError::BuiltIn { .. } | ToolsetError::Registered { .. } => {
                Failure::usage(message).hint("Only toolsets of your own can be deleted.")
            }
            ToolsetError::InvalidName { .. } | ToolsetError::Taken { .. } => {
                Failure::usage(message).hint("Choose another name.")
            }
            _ => Failure::usage(message),
        };
        failure.lift_suggestion().or_hint("`hermes toolsets list` shows what there is.")
    }
}

impl From<DistributionError> for Failure {
    fn from(error: DistributionError) -> Self {
        let message = error.to_string();
        let failure = match error {
            DistributionError::Unknown { .. } => Failure::not_found(message),
            DistributionError::Syntax { .. } => Failure::usage(message)
                .hint("Write toolsets with their chance in percent, such as web=50,file=20."),
            _ => Failure::usage(message),
        };
        failure.lift_suggestion().or_hint("`hermes toolsets sample` lists the distributions.")
    }
}

pub(crate) fn run(app: &App, command: Toolsets) -> Outcome {
    let ready = app.ready()?;
    ready.look_at_servers(app);
    match command {
        Toolsets::List => list(app, &ready),
        Toolsets::Show { name } => show(app, &ready, &name),
        Toolsets::Create { name, description, tools, includes, replace } => {
            let mut toolset = CustomToolset::new(name);
            toolset.description = description;
            toolset.tools = tools;
            toolset.includes = includes;
            create(app, &ready, toolset, replace)
        }
        Toolsets::Delete { name } => delete(app, &ready, &name),
        Toolsets::Sample { distribution: None, .. } => list_distributions(app),
        Toolsets::Sample { distribution: Some(name), seed, count } => {
            sample(app, &ready, &name, seed, count)
        }
    }
}

pub(crate) fn infos(ready: &Ready) -> Result<Vec<ToolsetSummary>, ToolsetError> {
    let snapshot = ready.engine.snapshot();
    let toolsets = ready.engine.toolsets();
    toolsets.names(&*snapshot).iter().map(|name| toolsets.summary(name, &*snapshot)).collect()
}

/// How many of a toolset's tools are there to be called.
fn present(ready: &Ready, info: &ToolsetSummary) -> usize {
    let snapshot = ready.engine.snapshot();
    info.tools.iter().filter(|name| snapshot.get(name).is_some()).count()
}

fn list(app: &App, ready: &Ready) -> Outcome {
    let infos = infos(ready)?;
    if app.json {
        let rows: Vec<Value> = infos.iter().map(|info| document(ready, info)).collect();
        app.terminal.line(&json!({ "schema_version": 1, "toolsets": rows }).to_string())?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::default();
    for info in &infos {
        let count = format!("{:>3}/{}", present(ready, info), info.tools.len());
        let own = if info.custom { "your own" } else { "" };
        table.row([
            (info.name.clone(), Some(Style::Bold)),
            (count, None),
            (own.to_owned(), Some(Style::Cyan)),
            (info.description.clone(), Some(Style::Dim)),
        ]);
    }
    app.terminal.line(&table.render(&app.terminal))?;
    if app.terminal.stdout_is_person {
        app.terminal
            .note(&format!("{} toolsets; the numbers are tools here / tools in all", infos.len()));
    }
    Ok(Exit::Ok)
}

fn document(ready: &Ready, info: &ToolsetSummary) -> Value {
    let mut value = serde_json::to_value(info).unwrap_or_default();
    value["present"] = present(ready, info).into();
    value
}

fn show(app: &App, ready: &Ready, name: &str) -> Outcome {
    let snapshot = ready.engine.snapshot();
    let info = ready.engine.toolsets().summary(name, &*snapshot)?;
    if app.json {
        let mut value = document(ready, &info);
        value["schema_version"] = 1.into();
        app.terminal.line(&value.to_string())?;
        return Ok(Exit::Ok);
    }
    let title = format!("{}  {}", app.terminal.paint(Style::Bold, &info.name), info.description);
    let mut lines = vec![title.trim_end().to_owned()];
    if !info.includes.is_empty() {
        lines.push(format!("includes {}", info.includes.join(", ")));
    }
    for tool in &info.tools {
        match snapshot.get(tool) {
            Some(entry) => lines.push(format!("  {} {tool}", entry.spec().emoji)),
            None => lines
                .push(app.terminal.paint(Style::Dim, &format!("  · {tool} (not in this build)"))),
        }
    }
    app.terminal.line(&lines.join("\n"))?;
    Ok(Exit::Ok)
}

fn create(app: &App, ready: &Ready, toolset: CustomToolset, replace: bool) -> Outcome {
    let name = toolset.name.clone();
    if toolset.tools.is_empty() && toolset.includes.is_empty() {
        return Err(Failure::usage("An empty toolset would be of no use")
            .hint("Give --tools, --includes or both."));
    }
    ready.change_toolsets(|toolsets, snapshot| {
        let lookup = |name: &str| snapshot.find(name).map(|e| e.name().to_owned());
        if replace {
            toolsets.replace(toolset, snapshot, &lookup)
        } else {
            toolsets.create(toolset, snapshot, &lookup)
        }
    })?;
    app.terminal.note(&format!("Saved in {}", ready.home.toolsets_file().display()));
    show(app, ready, &name)
}

fn delete(app: &App, ready: &Ready, name: &str) -> Outcome {
    let deleted = ready.change_toolsets(|toolsets, snapshot| toolsets.delete(name, snapshot))?;
    if app.json {
        app.terminal.line(&json!({ "schema_version": 1, "deleted": deleted.name }).to_string())?;
    } else {
        app.terminal.note(&format!("Deleted {}", deleted.name));
    }
    Ok(Exit::Ok)
}

fn list_distributions(app: &App) -> Outcome {
    let all: Vec<ToolsetDistribution> = distributions::all().collect();
    if app.json {
        app.terminal.line(&json!({ "schema_version": 1, "distributions": all }).to_string())?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::default();
    for distribution in &all {
        let shares: Vec<String> =
            distribution.shares.iter().map(|s| format!("{} {}", s.toolset, s.percent)).collect();
        table.row([(distribution.name.clone(), Some(Style::Bold)), (shares.join(", "), None)]);
    }
    app.terminal.line(&table.render(&app.terminal))?;
    Ok(Exit::Ok)
}

fn sample(app: &App, ready: &Ready, name: &str, seed: Option<u64>, count: u32) -> Outcome {
    let snapshot = ready.engine.snapshot();
    let toolsets = ready.engine.toolsets();
    let distribution =
        if name.contains('=') { ToolsetDistribution::parse(name)? } else { distributions::find(name)? };
    distribution.check(&toolsets, &*snapshot)?;
    let seed = seed.unwrap_or_else(fresh_seed);
    for round in 0..u64::from(count) {
        let seed = seed.wrapping_add(round);
        let drawn = distribution.sample(seed, |set| toolsets.contains(set, &*snapshot))?;
        if app.json {
            let value = json!({ "schema_version": 1, "distribution": distribution.name, "seed": seed, "toolsets": drawn });
            app.terminal.line(&value.to_string())?;
        } else {
            app.terminal.line(&drawn.join(" "))?;
        }
    }
    if !app.json {
        app.terminal.note(&format!("seed {seed}"));
    }
    Ok(Exit::Ok)
}

/// A seed nobody asked for; it is printed, so that the draw can be repeated.
fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::process::id()) >> 11
}
