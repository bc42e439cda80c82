//! Stage 9: limits the size of results and sanitizes errors. It runs after the
//! hooks, so their output is limited too.

use std::time::Duration;

use hermes_core::{CallStatus, ErrorKind, ResultLimit, ToolError, ToolResult};
use serde_json::Value;

use super::{BatchContext, CallOutcome, ResolvedCall};
use crate::loop_guard::{GuardedOutcome, LoopKey};
use crate::sanitize::{sanitize_error, strip_framing, truncate_error};
use crate::spill::{ResultSizeLimits, exceeds};

impl BatchContext {
    /// Builds the full result from the tool's output.
    pub(super) fn build_result(&self, call: &ResolvedCall, outcome: CallOutcome) -> ToolResult {
        let (content, attachments) = match outcome.outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                let error = sanitize_tool_error(error);
                return ToolResult::error(&call.id, call.entry.name(), &error, outcome.disposition);
            }
        };
        ToolResult {
            tool_call_id: call.id.clone(),
            name: call.entry.name().to_owned(),
            called_as: None,
            content,
            // Partial output is returned, but the status is an error.
            status: outcome.stopped.map_or(CallStatus::Success, CallStatus::Error),
            command_failed: false,
            disposition: outcome.disposition,
            coercions: Vec::new(),
            attachments,
            spill_path: None,
            untrusted: false,
            duration: Duration::ZERO,
        }
    }

    pub(super) fn limit_result(
        &self,
        limit: ResultLimit,
        warning: Option<&str>,
        result: &mut ToolResult,
    ) {
        // Errors use the default limit, even if the tool's is larger.
        let limit = if result.is_success() { limit } else { ResultLimit::Default };
        if let Some(limit) = self.limits().for_tool(limit)
            && exceeds(&result.content, limit)
        {
            self.spill(result, limit);
        }
        if let Some(warning) = warning {
            add_json_field(&mut result.content, "_warning", warning);
        }
    }

    /// Records a result in the loop guard; returns its warning, if any.
    pub(super) fn record_in_guard(
        &self,
        key: &LoopKey,
        outcome: GuardedOutcome,
        result: &ToolResult,
    ) -> Option<String> {
        self.engine.guard().record_result(self.caller_key(), key, outcome, &result.content)
    }

    /// The size limits of results.
    pub(crate) fn limits(&self) -> ResultSizeLimits {
        self.caller.limits.unwrap_or_else(|| self.engine.limits())
    }

    /// Spills a result to a file; keeps its head and tail.
    pub(crate) fn spill(&self, result: &mut ToolResult, limit: usize) {
        let spilled = self.engine.spill().spill(&result.tool_call_id, &result.content, limit);
        result.content = spilled.content;
        result.spill_path = spilled.path;
    }
}

/// Makes the text of an error safe to show to a model.
pub(super) fn sanitize_tool_error(error: ToolError) -> ToolError {
    if error.kind() == ErrorKind::Internal {
        let message = sanitize_error(error.message());
        let cleaned = error.map_text(|text| truncate_error(&strip_framing(text)));
        return cleaned.with_message(message);
    }
    error.map_text(|text| truncate_error(&strip_framing(text)))
}

/// Adds a field to a serialized JSON object.
fn add_json_field(content: &mut String, key: &str, text: &str) {
    if !content.starts_with('{') || !content.ends_with('}') {
        return;
    }
    content.pop();
    let comma = if content.trim_end().ends_with('{') { "" } else { "," };
    let (key, text) = (Value::from(key), Value::from(text));
    content.push_str(&format!("{comma}{key}:{text}}}"));
}
