//! `hermes secrets`: values that tools can use but that are never shown.

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
    /// Store a secret, with its value read from standard input
    Set {
        /// Name of the secret, used as secret://NAME
        name: String,
    },
    /// List the names of stored secrets
    List,
    /// Remove a secret
    Remove {
        /// Name of the secret
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
                app.terminal.note(&format!("Stored. Tools can use it as secret://{name}."));
            }
        }
        SecretsCommand::List => list(app, &vault)?,
        SecretsCommand::Remove { name } => {
            if !vault.remove(&name)? {
                return Err(CommandError::not_found(format!("No secret named '{name}'"))
                    .hint("Run `hermes secrets list` for the names."));
            }
            if app.json {
                app.terminal.print_line(&json!({ "name": name, "removed": true }).to_string())?;
            } else {
                app.terminal.note("Removed.");
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
        app.terminal.note("No secrets; run `hermes secrets set NAME` to store one.");
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

/// Reads the value from a pipe, or from the terminal without echo.
fn read_value(app: &AppContext, name: &str) -> Result<String, CommandError> {
    let cannot = |e: std::io::Error| CommandError::usage(format!("Cannot read the value: {e}"));
    let mut value = String::new();
    if std::io::stdin().is_terminal() {
        // Echo is off before the prompt, in case the user types early.
        let hidden = crate::terminal::HiddenInputGuard::begin();
        app.terminal.note(&format!(
            "Type the value of {name} and press Enter; the input is not \
            shown."
        ));
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
