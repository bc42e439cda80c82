//! `hermes secrets`: values that tools may use and nobody sees.

use std::io::{IsTerminal as _, Read as _};

use clap::Subcommand;
use hermes::secrets::{Vault, VaultError};
use serde_json::json;

use crate::app::App;
use crate::failure::{Exit, Failure, Outcome};
use crate::table::Table;
use crate::terminal::Style;

#[derive(Debug, Subcommand)]
pub(crate) enum Secrets {
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

impl From<VaultError> for Failure {
    fn from(error: VaultError) -> Self {
        Failure::usage(error.to_string()).hint(error.hint())
    }
}

pub(crate) fn run(app: &App, command: Secrets) -> Outcome {
    let vault = Vault::new(app.home()?.secrets_file());
    match command {
        Secrets::Set { name } => {
            let value = read_value(app, &name)?;
            vault.set(&name, &value)?;
            if app.json {
                app.terminal.line(&json!({ "name": name, "set": true }).to_string())?;
            } else {
                app.terminal.note(&format!("Kept. Tools can use it as secret://{name}."));
            }
        }
        Secrets::List => list(app, &vault)?,
        Secrets::Remove { name } => {
            if !vault.remove(&name)? {
                return Err(Failure::not_found(format!("There is no secret '{name}'"))
                    .hint("`hermes secrets list` shows the names."));
            }
            if app.json {
                app.terminal.line(&json!({ "name": name, "removed": true }).to_string())?;
            } else {
                app.terminal.note("Forgotten.");
            }
        }
    }
    Ok(Exit::Ok)
}

fn list(app: &App, vault: &Vault) -> Result<(), Failure> {
    let listed = vault.list()?;
    if app.json {
        let secrets: Vec<_> = listed
            .iter()
            .map(|s| json!({ "name": s.name, "chars": s.chars, "updated_ms": s.updated_ms }))
            .collect();
        let all = json!({ "schema_version": 1, "secrets": secrets });
        app.terminal.line(&all.to_string())?;
        return Ok(());
    }
    if listed.is_empty() {
        app.terminal.note("There are no secrets; `hermes secrets set NAME` keeps one.");
        return Ok(());
    }
    let mut table = Table::default();
    for secret in listed {
        let name = (secret.name, Some(Style::Bold));
        table.row([name, (format!("{} characters", secret.chars), Some(Style::Dim))]);
    }
    app.terminal.line(&table.render(&app.terminal))?;
    Ok(())
}

/// The value, from a pipe or typed unseen.
fn read_value(app: &App, name: &str) -> Result<String, Failure> {
    let cannot = |e: std::io::Error| Failure::usage(format!("The value cannot be read: {e}"));
    let mut value = String::new();
    if std::io::stdin().is_terminal() {
        // Before the question: whoever is quick must not be seen either.
        let hidden = crate::terminal::Hidden::begin();
        app.terminal.note(&format!("Type the value of {name} and press Enter; it is not shown."));
        let read = std::io::stdin().read_line(&mut value);
        drop(hidden);
        read.map_err(cannot)?;
    } else {
        std::io::stdin().read_to_string(&mut value).map_err(cannot)?;
    }
    let value = value.trim_end_matches(['\n', '\r']).to_owned();
    if value.is_empty() {
        return Err(Failure::usage("The value is empty")
            .hint(format!("For example: printf %s \"$VALUE\" | hermes secrets set {name}")));
    }
    Ok(value)
}
