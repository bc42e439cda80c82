//! Known side effects of commands, used to order calls and to skip unnecessary
//! checkpoints.

use std::borrow::Cow;

use hermes_core::{Resource, Scope, WorkingDir};
use hermes_shell::SideEffects;
use serde::Deserialize;
use serde_json::Value;

use crate::batch;
use crate::pipeline::{BatchContext, ResolvedCall};

/// The known side effects of a call that runs one command and does nothing
/// else.
pub(crate) fn command_side_effects(
    batch_context: &BatchContext,
    call: &ResolvedCall,
) -> SideEffects {
    /// The state of the session's shell, as text that precedes a command.
    #[derive(Default, Deserialize)]
    struct SessionShell {
        #[serde(default)]
        text: String,
    }
    let mut far = call.effects.iter().filter(|effect| batch::is_arbitrary_execution(effect));
    let (Some(effect), None) = (far.next(), far.next()) else { return SideEffects::Unknown };
    let at = batch_context.workplace.load();
    let (command, at) = match &effect.resource {
        Resource::Command(command) => (command, Cow::Borrowed(&**at)),
        Resource::Script(script) if script.stdin.is_none() && !script.fresh_shell => {
            let dir = script.cwd.as_deref().unwrap_or_else(|| at.cwd());
            (&script.text, Cow::Owned(WorkingDir::new(dir, at.home().map(Into::into))))
        }
        _ => return SideEffects::Unknown,
    };
    // A boolean flag may make the call do more than run its command.
    let is_plain = call
        .arguments
        .as_object()
        .is_some_and(|fields| !fields.values().any(|value| matches!(value, Value::Bool(true))));
    if !is_plain || effect.scope != Scope::TERMINAL_EXECUTE {
        return SideEffects::Unknown;
    }
    match batch_context.caller.session.read::<SessionShell>("shell") {
        Ok(shell) => hermes_shell::side_effects(&shell.text, command, &at),
        Err(_) => SideEffects::Unknown,
    }
}
