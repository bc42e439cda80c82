//! Commands with secrets: a command approved with a placeholder is allowed with
//! the secret, as long as its effects stay the same.

use std::sync::Arc;

use hermes_core::{
    CommandAnalyzer, Effect, Grant, Grants, Resource, ShellScript, ToolError, WorkingDir,
};
use hermes_secrets::{Secret, reference};
use serde_json::Value;

/// A command as judged, and as run.
type SecretCommand = (Effect, Effect);

/// Returns the commands into which secrets were inserted; an error if one of
/// them would have other effects than those judged.
pub(super) fn fill_commands(
    declared: &[Effect],
    revealed: &[Effect],
    lookup: &dyn Fn(&str) -> Option<Secret>,
    analyzer: &dyn CommandAnalyzer,
    at: &WorkingDir,
) -> Result<Vec<SecretCommand>, ToolError> {
    let mut filled = Vec::new();
    for (before, after) in declared.iter().zip(revealed) {
        let (Some(judged), Some(run)) = (as_script(&before.resource), as_script(&after.resource))
        else {
            continue;
        };
        if before.scope != after.scope || judged == run {
            continue;
        }
        let plain = |name: &str| lookup(name).is_some_and(|secret| is_shell_safe(secret.expose()));
        let all_plain = |text: &str| reference::find(text).iter().all(|found| plain(&found.name));
        let compared = analyzer.compare(&judged, &run, at);
        // Standard input that is only data may contain anything.
        let code = judged.stdin.as_deref().filter(|_| compared.runs_stdin);
        if !all_plain(&judged.text) || !code.is_none_or(all_plain) {
            return Err(unsafe_secret_error(
                "A secret with whitespace or special characters cannot be used in a command",
            ));
        }
        let is_filled = |judged: &str, run: &str| {
            let mut text = Value::from(judged);
            reference::resolve(&mut text, lookup).is_ok() && text == run
        };
        let (given, read) = (judged.stdin.as_deref(), run.stdin.as_deref());
        let is_whole = is_filled(&judged.text, &run.text)
            && is_filled(given.unwrap_or_default(), read.unwrap_or_default());
        if !is_whole || !compared.same_effects {
            return Err(unsafe_secret_error(
                "A secret cannot be a program, a path or a host in a command",
            ));
        }
        filled.push((before.clone(), after.clone()));
    }
    Ok(filled)
}

fn as_script(resource: &Resource) -> Option<ShellScript> {
    match resource {
        Resource::Command(text) => {
            Some(ShellScript { text: text.clone(), ..ShellScript::default() })
        }
        Resource::Script(script) => Some((**script).clone()),
        _ => None,
    }
}

fn unsafe_secret_error(message: &str) -> ToolError {
    ToolError::invalid(message).with_hint(
        "Set a variable first (env_manager action=set name=NAME value=secret://…), and write \
         \"$NAME\" in the command.",
    )
}

/// Whether a shell treats the value as literal text, quoted or not.
fn is_shell_safe(value: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.+=:@,%/".contains(&byte);
    !value.is_empty() && !value.starts_with('-') && value.bytes().all(is_plain)
}

/// The grants, with commands as they run.
pub(super) fn grants_with_secrets(grants: &Arc<Grants>, commands: &[SecretCommand]) -> Arc<Grants> {
    let Some(list) = grants.list().filter(|_| !commands.is_empty()) else {
        return Arc::clone(grants);
    };
    let list = list.iter().map(|grant| {
        let filled = commands.iter().find(|(judged, _)| *judged == grant.effect);
        let effect = filled.map_or(&grant.effect, |(_, run)| run).clone();
        Grant { effect, real_path: grant.real_path.clone() }
    });
    let filled = Grants::new(list.collect());
    Arc::new(match grants.exceptions() {
        Some(exceptions) => filled.with_exceptions(Arc::clone(exceptions)),
        None => filled,
    })
}
