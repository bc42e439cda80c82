//! `hermes mcp add`: tests a server and adds it to the settings if it works.

use clap::Args;
use hermes_config::edit;
use serde_json::{Map, Value, json};

use super::servers::{self, SERVERS_SECTION};
use crate::app::AppContext;
use crate::command_error::{CliExitCode, CommandError, CommandResult};

/// Maximum length of a server name, which prefixes its tool names.
const MAX_NAME_CHARS: usize = 32;

#[derive(Debug, Args)]
pub(crate) struct AddServerArgs {
    /// Name of the server
    name: String,
    /// URL of the server
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// Header of every request, such as `Authorization=Bearer ${GITHUB_TOKEN}`
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair, requires = "url")]
    header: Vec<(String, String)>,
    /// Use OAuth; log in with `hermes mcp login`
    #[arg(long, requires = "url")]
    oauth: bool,
    /// Environment variable of the program; ${NAME} expands to a variable or a
    /// secret
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair, requires = "command")]
    env: Vec<(String, String)>,
    /// Replace a server of the same name
    #[arg(long)]
    replace: bool,
    /// Add the server without testing it
    #[arg(long)]
    untried: bool,
    /// Program of the server and its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(super) fn run(app: &AppContext, args: &AddServerArgs) -> CommandResult {
    let ready = app.services()?;
    let entry = settings_entry(args)?;
    if ready.mcp_settings().get(&args.name).is_some() && !args.replace {
        return Err(CommandError::usage(format!("MCP server '{}' already exists", args.name))
            .hint("Choose another name, or use --replace."));
    }
    let alone = json!({ args.name.as_str(): entry });
    let candidates = ready.mcp_servers(&alone);
    if let Some(problem) = candidates.problems().first() {
        return Err(CommandError::usage(problem.clone()));
    }
    // A server with OAuth cannot be tested before the login.
    let trial = if args.untried || args.oauth {
        None
    } else {
        let tried = servers::try_server(candidates, &args.name);
        Some(tried.map_err(|failure| {
            failure.or_hint("Nothing was written; use --untried to add the server anyway.")
        })?)
    };
    servers::edit_entry(app, ready.home(), &args.name, |text, path| edit::set(text, path, &entry))?;
    if let Some(trial) = trial {
        servers::show_trial(app, &trial)?;
    } else if app.json {
        let answer = json!({ "schema_version": 1, "server": args.name, "added": true });
        app.terminal.print_line(&answer.to_string())?;
    }
    app.terminal.note(&format!("Added {}.{} to config.yaml.", SERVERS_SECTION, args.name));
    if args.oauth {
        app.terminal.note(&format!("Run `hermes mcp login {}` to log in.", args.name));
    }
    Ok(CliExitCode::Ok)
}

/// Builds the entry for `config.yaml`.
fn settings_entry(args: &AddServerArgs) -> Result<Value, CommandError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if args.name.is_empty() || args.name.len() > MAX_NAME_CHARS || !args.name.chars().all(fits) {
        return Err(CommandError::usage(format!("Invalid server name '{}'", args.name))
            .hint(format!("Use 1 to {MAX_NAME_CHARS} letters, digits, '-' or '_'.")));
    }
    let map = |pairs: &[(String, String)]| -> Value {
        Value::Object(pairs.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect())
    };
    let mut entry = Map::new();
    match (&args.url, args.command.split_first()) {
        (Some(url), _) => {
            entry.insert("url".into(), url.clone().into());
            if !args.header.is_empty() {
                entry.insert("headers".into(), map(&args.header));
            }
            if args.oauth {
                entry.insert("auth".into(), "oauth".into());
            }
        }
        (None, Some((program, rest))) => {
            entry.insert("command".into(), program.clone().into());
            if !rest.is_empty() {
                entry.insert("args".into(), rest.into());
            }
            if !args.env.is_empty() {
                entry.insert("env".into(), map(&args.env));
            }
        }
        (None, None) => {
            return Err(CommandError::usage("A server requires a program or a URL")
                .hint("Give --url URL, or `-- COMMAND ARGUMENTS`."));
        }
    }
    Ok(Value::Object(entry))
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("must be NAME=VALUE".to_owned()),
    }
}
