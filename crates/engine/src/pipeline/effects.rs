//! Stage 5: the tool reads its arguments and says what it will do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hermes_core::{BoundCall, Effect, Resource, Scope, ToolError, Workplace};
use serde_json::Value;

use crate::entry::Entry;

/// The call with its arguments read, and its effects.
pub(crate) fn declare(
    entry: &Entry,
    arguments: &Value,
    workplace: &Workplace,
) -> Result<(Box<dyn BoundCall>, Vec<Effect>), ToolError> {
    catch_unwind(AssertUnwindSafe(|| {
        let bound = Arc::clone(entry.tool()).bind(arguments)?;
        let mut effects = bound.effects(workplace);
        for effect in &mut effects {
            // Rules and plans compare paths, so there is one way to write one.
            if let Resource::Path(path) = &mut effect.resource {
                *path = workplace.fold(path);
            }
        }
        // A placeholder in the arguments uses the secret, whatever the tool says.
        for name in hermes_secrets::reference::contains(arguments) {
            effects.push(Effect::name(Scope::SECRET_USE, name));
        }
        Ok((bound, effects))
    }))
    .unwrap_or_else(|panic| Err(super::run::crashed(entry.name(), &*panic)))
}
