//! Commands with secrets in them: what was allowed with a placeholder is
//! allowed with the secret, as long as the command stays the same.

use std::sync::Arc;

use hermes_core::{Effect, Grant, Grants, Resource, ToolError, Workplace};
use hermes_secrets::reference;

use super::places;

/// A command as it was judged, and as it runs.
pub(super) type Filled = (Effect, Effect);

/// The commands that secrets were put into; an error if one of them would do
/// something else than was judged.
pub(super) fn filled(
    declared: &[Effect],
    revealed: &[Effect],
    at: &Workplace,
) -> Result<Vec<Filled>, ToolError> {
    let mut filled = Vec::new();
    for (before, after) in declared.iter().zip(revealed) {
        let (Resource::Command(judged), Resource::Command(run)) =
            (&before.resource, &after.resource)
        else {
            continue;
        };
        if before.scope != after.scope || judged == run {
            continue;
        }
        if !differs_in_plain_text(judged, run) {
            return Err(refused("A secret with blanks or signs cannot stand in a command"));
        }
        if !does_the_same(judged, run, at) {
            return Err(refused("A secret cannot be a program, a path or a host in a command"));
        }
        filled.push((before.clone(), after.clone()));
    }
    Ok(filled)
}

fn refused(message: &str) -> ToolError {
    ToolError::invalid(message).with_hint(
        "Put it into a variable first (env_manager action=set name=NAME value=secret://…), and \
         write \"$NAME\" in the command.",
    )
}

/// Whether the texts are the same but for the placeholders, and in their place
/// stands nothing that means anything to a shell.
fn differs_in_plain_text(judged: &str, run: &str) -> bool {
    let mut rest = run;
    let mut copied = 0;
    for found in reference::find(judged) {
        let between = judged.get(copied..found.range.start).unwrap_or_default();
        copied = found.range.end;
        let Some(after) = rest.strip_prefix(between) else { return false };
        let ahead = judged.get(copied..).unwrap_or_default();
        // Up to the next sign that is no part of a value, or of a placeholder.
        let next = reference::find(ahead).first().map_or(ahead.len(), |next| next.range.start);
        let literal = ahead.get(..next).unwrap_or_default();
        let Some(end) = value_end(after, literal, next == ahead.len()) else { return false };
        rest = after.get(end..).unwrap_or_default();
    }
    judged.get(copied..) == Some(rest)
}
