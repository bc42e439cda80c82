//! `hermes secrets`: values that tools may use and nobody sees.

use std::io::{IsTerminal as _, Read as _};

use clap::Subcommand;
use hermes::secrets::{Vault, VaultError};
use serde_json::json;

use crate::app::AppContext;
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::table::TextTable;
use crate::terminal::OutputStyle;

#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// Keep a secret; its value is read from standard input
    Set {
        /// Its name, used as secret://NAME
        name: String,
    },
    /// List the names of the secrets
    List,
    /// Forget a secret
    Remove {
        /// Its name
        name: String,
    },
}

impl From<VaultError> for CommandError {
    fn from(error: VaultError) -> Self {
        CommandError::usage(error.to_string()).hint(error.hint())
    }
}

pub(crate) fn run(app: &AppContext, command: SecretsCommand) -> CommandResult {
    let vault = Vault::new(app.home()?.secrets_file());
    match command {
        SecretsCommand::Set { name } => {
            let value = read_value(app, &name)?;
            vault.set(&name, &value)?;
            if app.json {
                app.terminal.print_line(&json!({ "name": name, "set": true }).to_string())?;
            } else {
                app.terminal.note(&format!("Kept. Tools can use it as secret://{name}."));
            }
        }
        SecretsCommand::List => list(app, &vault)?,
        SecretsCommand::Remove { name } => {
            if !vault.remove(&name)? {
                return Err(CommandError::not_found(format!("There is no secret '{name}'"))
                    .hint("`hermes secrets list` shows the names."));
            }
            if app.json {
                app.terminal.print_line(&json!({ "name": name, "removed": true }).to_string())?;
            } else {
                app.terminal.note("Forgotten.");
            }
        }
    }
    Ok(CliExitCode::Ok)
}

fn list(app: &AppContext, vault: &Vault) -> Result<(), CommandError> {
    let listed = vault.list()?;
    if app.json {
        let secrets: Vec<_> = listed
            .iter()
            .map(|s| json!({ "name": s.name, "chars": s.chars, "updated_ms": s.updated_ms }))
            .collect();
        let all = json!({ "schema_version": 1, "secrets": secrets });
        app.terminal.print_line(&all.to_string())?;
        return Ok(());
    }
    if listed.is_empty() {
        app.terminal.note("There are no secrets; `hermes secrets set NAME` keeps one.");
        return Ok(());
    }
    let mut table = TextTable::default();
    for secret in listed {
        let name = (secret.name, Some(OutputStyle::Bold));
        table.push_row([name, (format!("{} characters", secret.chars), Some(OutputStyle::Dim))]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    Ok(())
}

/// The value, from a pipe or typed unseen.
fn read_value(app: &AppContext, name: &str) -> Result<String, CommandError> {
    let cannot = |e: std::io::Error| CommandError::usage(format!("The value cannot be read: {e}"));
    let mut value = String::new();
    if std::io::stdin().is_terminal() {
        // Before the question: whoever is quick must not be seen either.
        let hidden = crate::terminal::HiddenInputGuard::begin();
        app.terminal.note(&format!("Type the value of {name} and press Enter; it is not shown."));
        let read = std::io::stdin().read_line(&mut value);
        drop(hidden);
        read.map_err(cannot)?;
    } else {
        std::io::stdin().read_to_string(&mut value).map_err(cannot)?;
    }
    let value = value.trim_end_matches(['\n', '\r']).to_owned();
    if value.is_empty() {
        return Err(CommandError::usage("The value is empty")
            .hint(format!("For example: printf %s \"$VALUE\" | hermes secrets set {name}")));
    }
    Ok(value)
}
