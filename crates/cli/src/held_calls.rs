//! Calls that were held back because no approver was available.

use std::sync::Arc;

use hermes::core::{CallStatus, ErrorKind, ToolResult};
use hermes::engine::CallEvent;
use hermes_agent::{AgentEvent, AgentObserver};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// A call that needs approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldCall {
    tool: String,
    reason: String,
    /// Identifies the call in `hermes permissions approve`.
    token: Option<String>,
}

impl HeldCall {
    fn from_result(result: &ToolResult) -> Option<Self> {
        if result.status != CallStatus::Error(ErrorKind::ApprovalRequired) {
            return None;
        }
        let content: Value = serde_json::from_str(&result.content).unwrap_or_default();
        let field = |name: &str| content.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            tool: result.name.clone(),
            reason: field("error").unwrap_or_default(),
            token: field("token"),
        })
    }

    /// Returns the command that approves the call.
    fn approval_command(&self) -> Option<String> {
        self.token.as_ref().map(|token| format!("hermes permissions approve {token}"))
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "tool": self.tool,
            "reason": self.reason,
            "token": self.token,
            "approve": self.approval_command(),
        })
    }
}

/// Describes held calls for the user, with the commands that approve them.
pub(crate) fn describe(held: &[HeldCall]) -> String {
    let count = match held.len() {
        1 => "1 call needs approval:".to_owned(),
        count => format!("{count} calls need approval:"),
    };
    let line = |call: &HeldCall| {
        let approve = call.approval_command();
        let approve = approve.unwrap_or_else(|| "allow it in the permission profile".to_owned());
        format!("  {}: {}\n    {approve}", call.tool, crate::terminal::one_line(&call.reason))
    };
    let lines: Vec<String> = held.iter().map(line).collect();
    format!("{count}\n{}\nApprove, then ask again.", lines.join("\n"))
}

/// Passes events on, and collects the calls that were held back, also those of
/// sub-agents.
pub(crate) struct HeldCallCollector {
    observer: Arc<dyn AgentObserver>,
    held: Mutex<Vec<HeldCall>>,
}

impl HeldCallCollector {
    pub(crate) fn new(observer: Arc<dyn AgentObserver>) -> Arc<Self> {
        Arc::new(Self { observer, held: Mutex::default() })
    }

    /// Returns the collected calls and forgets them.
    pub(crate) fn take(&self) -> Vec<HeldCall> {
        std::mem::take(&mut self.held.lock())
    }

    fn collect(&self, result: &ToolResult) {
        let Some(call) = HeldCall::from_result(result) else { return };
        let mut held = self.held.lock();
        if !held.contains(&call) {
            held.push(call);
        }
    }
}

impl AgentObserver for HeldCallCollector {
    fn on_event(&self, notice: &AgentEvent<'_>) {
        if let AgentEvent::Call(CallEvent::Ended { result, .. }) = notice {
            self.collect(result);
        }
        self.observer.on_event(notice);
    }

    fn on_subagent_result(&self, result: &ToolResult) {
        self.collect(result);
        self.observer.on_subagent_result(result);
    }

    fn can_retract(&self) -> bool {
        self.observer.can_retract()
    }
}
