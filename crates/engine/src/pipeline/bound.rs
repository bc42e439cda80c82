//! Stage 9: what leaves is safe to read and not too much.

use hermes_core::{ErrorKind, Status, ToolError, ToolResult};
use std::time::Duration;

use super::{Flight, Landed};
use crate::entry::Entry;
use crate::sanitize::{sanitize_error, shorten, strip_framing};
use crate::spill::exceeds;

impl Flight {
    pub(super) fn bound(&self, call_id: &str, entry: &Entry, landed: Landed) -> ToolResult {
        let (content, attachments) = match landed.outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                return ToolResult::error(call_id, entry.name(), &clean(error), landed.disposition);
            }
        };
        let mut result = ToolResult {
            tool_call_id: call_id.to_owned(),
            name: entry.name().to_owned(),
            content,
            status: Status::Success,
            disposition: landed.disposition,
            coerced: Vec::new(),
            attachments,
            spilled: None,
            duration: Duration::ZERO,
        };
        let limit = self.engine.limits.for_tool(entry.spec().result_limit);
        if limit.is_some_and(|limit| exceeds(&result.content, limit)) {
            self.spill(&mut result);
        }
        result
    }

    /// Puts a result into a file, but for its ends.
    pub(crate) fn spill(&self, result: &mut ToolResult) {
        let spilled = self.engine.spill.spill(&result.tool_call_id, &result.content);
        result.content = spilled.content;
        result.spilled = spilled.path;
    }
}

/// An error whose text can be shown to a model.
pub(super) fn clean(error: ToolError) -> ToolError {
    if error.kind() == ErrorKind::Internal {
        error.map_text(sanitize_error)
    } else {
        error.map_text(|text| shorten(&strip_framing(text)))
    }
}
