//! Stage 10: hooks see the result, the loop guard remembers it, the recorder
//! keeps it.

use hermes_core::{Effect, ToolResult};
use serde_json::Value;

use super::Flight;
use crate::entry::Entry;
use crate::guard::Footprint;
use crate::hooks::ResultView;
use crate::record::{Record, now_ms, status_name};

impl Flight {
    pub(super) async fn finish(
        &self,
        entry: &Entry,
        arguments: &Value,
        effects: &[Effect],
        footprint: Option<&Footprint>,
        mut result: ToolResult,
    ) -> ToolResult {
        if !self.engine.hooks.is_empty() {
            self.show_hooks(entry, arguments, &mut result).await;
        }
        let session = self.caller.session.id();
        let warning = footprint.and_then(|print| {
            self.engine.guard.note(session, print, result.status, &result.content)
        });
        if let Some(warning) = warning {
            annotate(&mut result.content, "_warning", &warning);
        }
        self.record(&result, effects);
        result
    }

    async fn show_hooks(&self, entry: &Entry, arguments: &Value, result: &mut ToolResult) {
        for hook in &self.engine.hooks.0 {
            hook.post_tool_call(self.result_view(entry, arguments, result)).await;
        }
        for hook in &self.engine.hooks.0 {
            let replaced =
                hook.transform_tool_result(self.result_view(entry, arguments, result)).await;
            // A text that is no JSON would break everyone who reads results.
            let json =
                replaced.filter(|t| serde_json::from_str::<serde::de::IgnoredAny>(t).is_ok());
            if let Some(content) = json {
                result.content = content;
                break;
            }
        }
    }

    fn result_view<'a>(
        &'a self,
        entry: &'a Entry,
        arguments: &'a Value,
        result: &'a ToolResult,
    ) -> ResultView<'a> {
        ResultView {
            call: self.view(&result.tool_call_id, entry.name(), arguments),
            content: &result.content,
            status: result.status,
            duration: result.duration,
        }
    }

    pub(super) fn record(&self, result: &ToolResult, effects: &[Effect]) {
        let Some(recorder) = &self.engine.recorder else { return };
        recorder.record(&Record {
            time_ms: now_ms(),
            session: self.caller.session.id(),
            task: &self.caller.task_id,
            call: &result.tool_call_id,
            tool: &result.name,
            effects,
            status: status_name(result.status),
            duration_us: u64::try_from(result.duration.as_micros()).unwrap_or(u64::MAX),
            chars: result.content.len(),
            coerced: result.coerced.len(),
        });
    }
}

/// Adds a field to a JSON object that is still text.
fn annotate(content: &mut String, key: &str, text: &str) {
    if !content.starts_with('{') || !content.ends_with('}') {
        return;
    }
    content.pop();
    let comma = if content.trim_end().ends_with('{') { "" } else { "," };
    let (key, text) = (Value::from(key), Value::from(text));
    content.push_str(&format!("{comma}{key}:{text}}}"));
}
