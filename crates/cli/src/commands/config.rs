//! `hermes config`: reads and changes the settings.

use hermes_config::{
    ConfigError, HermesHome, KEYS, KeyPath, ResolvedSetting, SettingKey, VARS, edit,
    is_known_setting, parse_value, save,
};
use serde_json::{Value, json};

use crate::app::AppContext;
use crate::args::ConfigCommand;
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::table::TextTable;
use crate::terminal::OutputStyle;

pub(crate) fn run(app: &AppContext, command: ConfigCommand) -> CommandResult {
    let home = app.home()?;
    match command {
        ConfigCommand::Path => show_path(app, &home),
        ConfigCommand::Get { key: Some(key) } => get(app, &home, &key),
        ConfigCommand::Get { key: None } => get_all(app, &home),
        ConfigCommand::Set { key, value, force } => set(app, &home, &key, &value, force),
        ConfigCommand::Trust => trust(app, &home),
        ConfigCommand::Unset { key } => unset(app, &home, &key),
        ConfigCommand::Explain { key } => explain(app, &home, key.as_deref()),
        ConfigCommand::Reference => reference(app),
    }
}

fn key_path(key: &str) -> Result<KeyPath, CommandError> {
    key.parse::<KeyPath>().map_err(|e| {
        let text = e.to_string();
        let (message, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
        let failure = CommandError::usage(message);
        if hint.is_empty() { failure } else { failure.hint(hint) }
    })
}

fn show_path(app: &AppContext, home: &HermesHome) -> CommandResult {
    let file = home.config_file();
    if app.json {
        let value = json!({
            "schema_version": 1,
            "home": home.root(),
            "config": file,
            "exists": file.exists(),
            "toolsets": home.toolsets_file(),
            "env": home.env_file(),
        });
        app.terminal.print_line(&value.to_string())?;
    } else {
        app.terminal.print_line(&file.display().to_string())?;
    }
    Ok(CliExitCode::Ok)
}

fn get(app: &AppContext, home: &HermesHome, key: &str) -> CommandResult {
    let config = app.config(home)?;
    app.warn_about(&config);
    let Some((value, origin)) = config.get(&key_path(key)?) else {
        let near = hermes::core::similar::nearest(key, KEYS.iter().map(|k| k.name), 0.6)
            .map(str::to_owned);
        return Err(CommandError::not_found(format!("'{key}' is not set"))
            .hint("`hermes config explain` lists the known settings.")
            .did_you_mean(near.as_slice()));
    };
    if app.json {
        let value = json!({ "schema_version": 1, "key": key, "value": value, "origin": origin.to_string() });
        app.terminal.print_line(&value.to_string())?;
    } else if value.is_null() && !app.terminal.stdout_is_person {
        // A script must not take `(not set)` for a value.
        app.terminal.print_line("")?;
    } else {
        app.terminal.print_line(&plain_text(&value))?;
    }
    Ok(CliExitCode::Ok)
}

fn get_all(app: &AppContext, home: &HermesHome) -> CommandResult {
    let config = app.config(home)?;
    app.warn_about(&config);
    if app.json {
        let settings: serde_json::Map<String, Value> =
            config.resolved.iter().map(|r| (r.key.name.to_owned(), listed_value(r))).collect();
        app.terminal
            .print_line(&json!({ "schema_version": 1, "settings": settings }).to_string())?;
        return Ok(CliExitCode::Ok);
    }
    let mut table = TextTable::default();
    for resolved in &config.resolved {
        table.push_row([
            (resolved.key.name.to_owned(), Some(OutputStyle::Bold)),
            (plain_text(&listed_value(resolved)), None),
            (resolved.origin.to_string(), Some(OutputStyle::Dim)),
        ]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    Ok(CliExitCode::Ok)
}

/// Returns the value for the list of all settings. Maps are reduced to their
/// keys, because their values may be private.
fn listed_value(resolved: &ResolvedSetting) -> Value {
    match &resolved.value {
        Value::Object(map) => map.keys().map(String::as_str).map(Value::from).collect(),
        value => value.clone(),
    }
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "(not set)".into(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Edits the file, unless the result would not parse or would be invalid.
fn edit_file(
    app: &AppContext,
    home: &HermesHome,
    edit: impl FnOnce(&str) -> Result<String, edit::EditError>,
) -> Result<(), CommandError> {
    let file = home.config_file();
    let env = app.env.clone();
    let checked = |text: &str| -> Result<String, ConfigError> {
        let new = edit(text).map_err(ConfigError::from)?;
        hermes_config::RawConfig::parse(file.clone(), new.clone(), env)?.resolve()?;
        Ok(new)
    };
    Ok(save::update(&file, checked)?)
}

/// Writes a setting that the user chose at a prompt.
pub(crate) fn save_setting(
    app: &AppContext,
    home: &HermesHome,
    key: &str,
    value: &Value,
) -> Result<(), CommandError> {
    let path = key_path(key)?;
    edit_file(app, home, |old| edit::set(old, &path, value)).map_err(mark_unwritten)
}

fn set(app: &AppContext, home: &HermesHome, key: &str, text: &str, force: bool) -> CommandResult {
    let path = key_path(key)?;
    let value = match SettingKey::find(key) {
        Some(known) => known.kind.parse_text(text),
        None => parse_value(text),
    };
    if !force && !is_known_setting(key, &value) {
        let near = hermes::core::similar::nearest(key, KEYS.iter().map(|k| k.name), 0.6);
        let next = match near {
            Some(near) => format!("Did you mean '{near}'?"),
            None => "`hermes config explain` lists the known settings.".to_owned(),
        };
        return Err(CommandError::usage(format!("'{key}' is not a known setting"))
            .hint(format!("Nothing was written. {next} --force writes it anyway.")));
    }
    edit_file(app, home, |old| edit::set(old, &path, &value)).map_err(mark_unwritten)?;
    get(app, home, key)
}

/// Trusts the project in the current directory.
fn trust(app: &AppContext, home: &HermesHome) -> CommandResult {
    let dir = std::env::current_dir()
        .map_err(|e| CommandError::usage(format!("Cannot find the current directory: {e}")))?;
    let (file, section) = hermes_config::trust_project(home, &dir)?;
    if app.json {
        let value = json!({ "schema_version": 1, "trusted": file, "terminal": section });
        app.terminal.print_line(&value.to_string())?;
    } else {
        app.terminal.note(&format!("Trusted {} with terminal: {section}", file.display()));
    }
    Ok(CliExitCode::Ok)
}

/// Adds that nothing was written: the error shows the file as it would have
/// been.
fn mark_unwritten(failure: CommandError) -> CommandError {
    match failure.hint.clone() {
        Some(hint) => failure.hint(format!("Nothing was written; {hint}")),
        None => failure.hint("Nothing was written."),
    }
}

fn unset(app: &AppContext, home: &HermesHome, key: &str) -> CommandResult {
    let path = key_path(key)?;
    edit_file(app, home, |old| edit::unset(old, &path))?;
    if app.json {
        app.terminal
            .print_line(&json!({ "schema_version": 1, "key": key, "unset": true }).to_string())?;
    } else {
        app.terminal.note(&format!("{key} is no longer set in {}", home.config_file().display()));
    }
    Ok(CliExitCode::Ok)
}

fn explain(app: &AppContext, home: &HermesHome, key: Option<&str>) -> CommandResult {
    let config = app.config(home)?;
    let Some(name) = key else { return explain_all(app) };
    let Some(resolved) = config.setting(name) else {
        if let Some(page) = docs_page(name) {
            return refer_to_page(app, &config, name, page);
        }
        let near = hermes::core::similar::nearest(name, KEYS.iter().map(|k| k.name), 0.5)
            .map(str::to_owned);
        return Err(CommandError::not_found(format!("'{name}' is not a known setting"))
            .hint("`hermes config explain` lists the known settings.")
            .did_you_mean(near.as_slice()));
    };
    let key = resolved.key;
    if app.json {
        let variables: Vec<&str> = key.variables.iter().map(|v| v.name).collect();
        let value = json!({
            "schema_version": 1,
            "key": key.name,
            "type": key.kind.to_string(),
            "default": key.default.to_value(),
            "value": resolved.value,
            "origin": resolved.origin.to_string(),
            "variables": variables,
            "description": key.about,
        });
        app.terminal.print_line(&value.to_string())?;
        return Ok(CliExitCode::Ok);
    }
    let mut lines = vec![
        app.terminal.paint(OutputStyle::Bold, key.name),
        key.about.to_owned(),
        format!("type:    {}", key.kind),
        format!("default: {}", plain_text(&key.default.to_value())),
        format!("value:   {} (from {})", plain_text(&resolved.value), resolved.origin),
    ];
    for variable in key.variables {
        lines.push(format!("also:    {} in the environment overrides the file", variable.name));
    }
    app.terminal.print_line(&lines.join("\n"))?;
    Ok(CliExitCode::Ok)
}

/// Returns the page that documents a structured section, or a part of one.
fn docs_page(name: &str) -> Option<&'static str> {
    let is_it = |section: &str| {
        let rest = name.strip_prefix(section.trim_matches('`'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let (_, link) =
        STRUCTURED_SECTIONS.iter().find(|(sections, _)| sections.split(", ").any(is_it))?;
    link.split(['(', ')']).nth(1)
}

fn refer_to_page(
    app: &AppContext,
    config: &hermes_config::ResolvedConfig,
    name: &str,
    page: &str,
) -> CommandResult {
    let set = name.parse::<KeyPath>().ok().and_then(|path| config.get(&path));
    // The value may be private; only `config get` prints it.
    let origin = set.map(|(_, origin)| origin.to_string());
    let page = format!("docs/{page}");
    if app.json {
        let shown =
            json!({ "schema_version": 1, "key": name, "origin": origin, "described_in": page });
        app.terminal.print_line(&shown.to_string())?;
        return Ok(CliExitCode::Ok);
    }
    let mut lines = vec![
        app.terminal.paint(OutputStyle::Bold, name),
        format!("A structured section, documented in {page}."),
    ];
    lines.push(match origin {
        Some(origin) => format!("Set in {origin}; `hermes config get {name}` prints it."),
        None => "Not set.".to_owned(),
    });
    app.terminal.print_line(&lines.join("\n"))?;
    Ok(CliExitCode::Ok)
}

fn explain_all(app: &AppContext) -> CommandResult {
    if app.json {
        let settings: Vec<Value> = KEYS
            .iter()
            .map(|k| json!({ "key": k.name, "type": k.kind.to_string(), "default": k.default.to_value(), "description": k.about }))
            .collect();
        let variables: Vec<Value> = VARS
            .iter()
            .map(|v| json!({ "name": v.name, "default": v.default, "description": v.meaning }))
            .collect();
        let value = json!({ "schema_version": 1, "settings": settings, "variables": variables });
        app.terminal.print_line(&value.to_string())?;
        return Ok(CliExitCode::Ok);
    }
    let mut table = TextTable::default();
    for key in KEYS {
        table.push_row([
            (key.name.to_owned(), Some(OutputStyle::Bold)),
            (key.about.to_owned(), None),
        ]);
    }
    let mut variables = TextTable::default();
    for variable in VARS {
        variables.push_row([
            (variable.name.to_owned(), Some(OutputStyle::Bold)),
            (variable.meaning.to_owned(), None),
        ]);
    }
    let text = format!(
        "{}\n\n{}\n{}",
        table.render(&app.terminal),
        app.terminal.paint(OutputStyle::Dim, "Environment variables"),
        variables.render(&app.terminal)
    );
    app.terminal.print_line(&text)?;
    Ok(CliExitCode::Ok)
}

/// Structured sections and the page that documents each.
const STRUCTURED_SECTIONS: &[(&str, &str)] = &[
    ("`providers`, `fallback_providers`, `model.prices`", "[models.md](models.md)"),
    ("`delegation`, `moa`", "[delegation.md](delegation.md)"),
    ("`mcp_servers`", "[mcp.md](mcp.md)"),
    ("`messaging.targets`", "[memory.md](memory.md#messages)"),
    ("`auxiliary.session_search`", "[sessions.md](sessions.md)"),
];

/// Prints docs/settings.md.
fn reference(app: &AppContext) -> CommandResult {
    let cell = |text: &str| text.replace('|', "\\|");
    let mut text = String::from(
        "# Settings\n\n<!-- Written by `make docs`. -->\n\nSettings are in `config.yaml` in \
         `HERMES_HOME`. Hermes Agent may share the file: unknown keys are\nkept. `hermes \
         config set KEY VALUE` changes one setting and leaves the rest of the file \
         unchanged;\nit refuses an unknown name unless `--force` is given. `hermes config get` \
         lists all, and `hermes config\nexplain KEY` describes one and shows where its value \
         comes from. A key that looks like a typo causes a\nwarning with a suggestion; an \
         invalid value is an error.\n\nThe order of priority: environment variables, \
         `config.yaml`, `cli-config.yaml` in `HERMES_HOME`, and\n`cli-config.yaml` in the \
         working directory. The last one belongs to a project, so it sets only where\ncommands \
         run and how long, and limits of results; hermes warns about its other keys. Where \
         commands run\nneeds your trust: read the file, then run `hermes config trust`.\n\n| setting | values | \
         default | description |\n|---|---|---|---|\n",
    );
    for key in KEYS {
        let default = match key.default.to_value() {
            Value::Null => String::new(),
            value => format!("`{}`", plain_text(&value)),
        };
        let default = if default == "``" { "none".to_owned() } else { default };
        text.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            key.name,
            cell(&key.kind.to_string()),
            cell(&default),
            cell(key.about)
        ));
    }
    text.push_str("\nStructured sections:\n\n| section | documented in |\n|---|---|\n");
    for (section, page) in STRUCTURED_SECTIONS {
        text.push_str(&format!("| {section} | {page} |\n"));
    }
    text.push_str(
        "\n## Environment variables\n\n| variable | description | default |\n|---|---|---|\n",
    );
    for variable in VARS {
        let (meaning, default) = (cell(variable.meaning), cell(variable.default));
        text.push_str(&format!("| `{}` | {meaning} | {default} |\n", variable.name));
    }
    app.terminal.print_line(text.trim_end())?;
    Ok(CliExitCode::Ok)
}
