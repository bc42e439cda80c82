//! Stage 5: the tool reads its arguments and says what it will do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hermes_core::{BoundCall, Effect, Resource, Scope, ToolError, WorkingDir};
use serde_json::Value;

use crate::entry::ToolEntry;

/// A shorter text is as quickly copied as left out.
const MIN_BULK_BYTES: usize = 64 * 1024;

/// A call with its arguments read.
pub(crate) struct DeclaredCall {
    pub(crate) bound: Box<dyn BoundCall>,
    /// What it will do.
    pub(crate) effects: Vec<Effect>,
    /// Whether long arguments were left out: then it can only be asked what it
    /// will do.
    pub(crate) bulk_omitted: bool,
}

/// Reads the arguments of a call, and has it say what it will do.
pub(crate) fn declare(
    entry: &ToolEntry,
    arguments: &Value,
    workplace: &WorkingDir,
) -> Result<DeclaredCall, ToolError> {
    catch_unwind(AssertUnwindSafe(|| {
        let thin = without_bulk(arguments, entry.tool().bulk_arguments());
        let bound = Arc::clone(entry.tool()).bind(thin.as_ref().unwrap_or(arguments))?;
        let mut effects = declared_effects(&*bound, workplace);
        // A placeholder in the arguments uses the secret, whatever the tool says.
        for name in hermes_secrets::reference::referenced_names(arguments) {
            effects.push(Effect::name(Scope::SECRET_USE, name));
        }
        Ok(DeclaredCall { bound, effects, bulk_omitted: thin.is_some() })
    }))
    .unwrap_or_else(|panic| Err(super::run::panic_error(entry.name(), &*panic)))
}

/// What a call says that it will do.
pub(crate) fn declared_effects(bound: &dyn BoundCall, workplace: &WorkingDir) -> Vec<Effect> {
    let mut effects = bound.effects(workplace);
    for effect in &mut effects {
        // Rules and plans compare paths, so there is one way to write one.
        if let Resource::Path(path) = &mut effect.resource {
            *path = workplace.normalize(path);
        }
    }
    effects
}

/// The arguments without the long ones among these; none if there are none.
fn without_bulk(arguments: &Value, bulk: &[&str]) -> Option<Value> {
    let fields = arguments.as_object()?;
    let is_long = |name: &str, value: &Value| {
        bulk.contains(&name) && value.as_str().is_some_and(|text| text.len() >= MIN_BULK_BYTES)
    };
    if !fields.iter().any(|(name, value)| is_long(name, value)) {
        return None;
    }
    let thin = fields.iter().map(|(name, value)| match is_long(name, value) {
        true => (name.clone(), Value::String(String::new())),
        false => (name.clone(), value.clone()),
    });
    Some(Value::Object(thin.collect()))
}
