//! Stage 7: what must be asked is asked; with nobody to ask it is not done.

use hermes_core::{ApprovalRequest, Decision, ErrorKind, ToolError, Verdict};
use serde_json::Value;

use super::{Flight, Known};

impl Flight {
    pub(super) async fn approve(&self, verdict: Verdict, call: &Known) -> Result<(), ToolError> {
        let (reason, rule) = match verdict {
            Verdict::Allow => return Ok(()),
            Verdict::Deny { reason, rule } => {
                return Err(ToolError::denied(reason).with("rule", rule));
            }
            Verdict::Ask { reason, rule } => (reason, rule),
        };
        let Some(approver) = &self.caller.approver else {
            let effects: Vec<Value> = call.effects.iter().map(|e| e.to_string().into()).collect();
            return Err(ToolError::new(ErrorKind::ApprovalRequired, reason)
                .with("rule", rule)
                .with("effects", effects));
        };
        let request = ApprovalRequest {
            call_id: call.id.clone(),
            tool: call.entry.name().to_owned(),
            arguments: call.arguments.clone(),
            effects: call.effects.clone(),
            reason,
            rule: rule.clone(),
        };
        match self.in_time(approver.ask(request)).await? {
            Decision::Approved => Ok(()),
            Decision::Refused(word) => {
                let message = word.unwrap_or_else(|| "The user refused this call".to_owned());
                Err(ToolError::denied(message).with("rule", rule))
            }
        }
    }
}
