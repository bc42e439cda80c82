//! Stage 5: binds the arguments and collects the effects that the tool
//! declares.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hermes_core::{BoundCall, Effect, Resource, Scope, ToolError, WorkingDir};
use serde_json::Value;

use crate::entry::ToolEntry;

/// Copying a shorter text costs no more than omitting it.
const MIN_BULK_BYTES: usize = 64 * 1024;

/// A call with bound arguments.
pub(crate) struct DeclaredCall {
    pub(crate) bound: Box<dyn BoundCall>,
    /// Its declared effects.
    pub(crate) effects: Vec<Effect>,
    /// Whether long arguments were omitted. Such a call can declare effects but
    /// must not run.
    pub(crate) bulk_omitted: bool,
}

/// Binds the arguments of a call and collects its effects.
pub(crate) fn declare(
    entry: &ToolEntry,
    arguments: &Value,
    working_dir: &WorkingDir,
) -> Result<DeclaredCall, ToolError> {
    catch_unwind(AssertUnwindSafe(|| {
        let thin = without_bulk(arguments, entry.tool().bulk_arguments());
        let bound = Arc::clone(entry.tool()).bind(thin.as_ref().unwrap_or(arguments))?;
        let mut effects = declared_effects(&*bound, working_dir);
        // A placeholder in the arguments uses the secret, whatever the tool
        // declares.
        for name in hermes_secrets::reference::referenced_names(arguments) {
            effects.push(Effect::name(Scope::SECRET_USE, name));
        }
        Ok(DeclaredCall { bound, effects, bulk_omitted: thin.is_some() })
    }))
    .unwrap_or_else(|panic| Err(super::run::panic_error(entry.name(), &*panic)))
}

/// The effects that a call declares, with normalized paths.
pub(crate) fn declared_effects(bound: &dyn BoundCall, working_dir: &WorkingDir) -> Vec<Effect> {
    let mut effects = bound.effects(working_dir);
    for effect in &mut effects {
        // Rules and plans compare paths, so all are normalized.
        if let Resource::Path(path) = &mut effect.resource {
            *path = working_dir.normalize(path);
        }
    }
    effects
}

/// The arguments with the long ones among `bulk` emptied; `None` if there are
/// none.
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
