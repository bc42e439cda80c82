//! Stage 5: the tool reads its arguments and says what it will do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hermes_core::{BoundCall, Effect, ToolError, Workplace};
use serde_json::Value;

use crate::entry::Entry;

/// The call with its arguments read, and its effects.
pub(crate) fn declare(
    entry: &Entry,
    arguments: &Value,
    workplace: &Workplace,
) -> Result<(Box<dyn BoundCall>, Vec<Effect>), ToolError> {
    // A tool's code runs here for the first time, so its panics are met here too.
    catch_unwind(AssertUnwindSafe(|| {
        let bound = Arc::clone(entry.tool()).bind(arguments)?;
        let effects = bound.effects(workplace);
        Ok((bound, effects))
    }))
    .unwrap_or_else(|panic| Err(super::run::crashed(entry.name(), &*panic)))
}
