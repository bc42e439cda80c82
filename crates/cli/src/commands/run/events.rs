//! Agent events as JSON lines.

use std::io;

use hermes::core::CancellationToken;
use hermes::engine::CallEvent;
use hermes_agent::{AgentEvent, AgentObserver};
use hermes_llm::{RetryAction, TokenUsage};
use serde_json::{Value, json};

use crate::terminal::TerminalOutput;

/// Writes one JSON line per event until the reader closes the pipe.
#[derive(Debug)]
pub(crate) struct JsonEventWriter {
    terminal: TerminalOutput,
    /// Cancels the run.
    cancel: CancellationToken,
}

impl JsonEventWriter {
    pub(crate) fn new(terminal: TerminalOutput, cancel: CancellationToken) -> Self {
        Self { terminal, cancel }
    }
}

impl AgentObserver for JsonEventWriter {
    fn on_event(&self, notice: &AgentEvent<'_>) {
        if let Some(event) = event_json(notice) {
            let sent = self.terminal.try_print_line(&event.to_string());
            // The session keeps the state for a later resume.
            if sent.is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
                self.cancel.cancel();
            }
        }
    }
}

fn event_json(notice: &AgentEvent<'_>) -> Option<Value> {
    Some(match notice {
        AgentEvent::RoundStarted { round } => json!({"type": "turn", "turn": round}),
        AgentEvent::Text(text) => json!({"type": "text", "text": text}),
        AgentEvent::Thought(text) => json!({"type": "thought", "text": text}),
        AgentEvent::AnswerDiscarded { why } => json!({"type": "again", "reason": why}),
        AgentEvent::Answered { text, usage: used } => {
            json!({"type": "answer", "text": text, "usage": usage_json(used)})
        }
        AgentEvent::Call(CallEvent::Started(begun)) => json!({
            "type": "call",
            "id": begun.call,
            "tool": begun.tool,
            "arguments": begun.arguments,
            "parent": begun.parent,
        }),
        AgentEvent::Call(CallEvent::Progress { call, tool, progress }) => json!({
            "type": "progress",
            "id": call,
            "tool": tool,
            "message": progress.message,
            "fraction": progress.fraction,
        }),
        AgentEvent::Call(CallEvent::Ended { result, parent }) => json!({
            "type": "call_result",
            "id": result.tool_call_id,
            "tool": result.name,
            "called_as": result.called_as,
            "status": hermes::engine::status_name(result.status),
            "duration_ms": result.duration.as_secs_f64() * 1e3,
            "content": result.content,
            "parent": parent,
        }),
        AgentEvent::Call(CallEvent::Recorded(_)) => return None,
        AgentEvent::Compressed { before, after } => {
            json!({"type": "compressed", "tokens_before": before, "tokens_after": after})
        }
        AgentEvent::Retry(setback) => json!({
            "type": "setback",
            "model": setback.model,
            "reason": setback.error.to_string(),
            "remedy": retry_action_json(&setback.action),
        }),
        AgentEvent::Warning(text) => json!({"type": "warning", "message": text}),
    })
}

fn retry_action_json(remedy: &RetryAction) -> Value {
    match remedy {
        RetryAction::Wait(pause) => json!({"wait_ms": pause.as_secs_f64() * 1e3}),
        RetryAction::NextKey => json!({"key": "next"}),
        RetryAction::NextModel(model) => json!({"model": model}),
    }
}

/// Formats token usage as JSON.
pub(crate) fn usage_json(usage: &TokenUsage) -> Value {
    json!({
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
        "cost_usd": usage.cost,
    })
}
