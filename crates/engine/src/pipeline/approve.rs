//! Stage 7: what must be asked is asked; with nobody to ask it is not done.

use hermes_core::{ApprovalRequest, Decision, Effect, ErrorKind, ToolError, Verdict};
use serde_json::Value;

use super::Flight;
use crate::entry::Entry;

impl Flight {
    pub(super) async fn approve(
        &self,
        verdict: Verdict,
        call_id: &str,
        entry: &Entry,
        arguments: &Value,
        effects: &[Effect],
    ) -> Result<(), ToolError> {
        let (reason, rule) = match verdict {
            Verdict::Allow => return Ok(()),
            Verdict::Deny { reason, rule } => {
                return Err(ToolError::denied(reason).with("rule", rule));
            }
            Verdict::Ask { reason, rule } => (reason, rule),
        };
        let Some(approver) = &self.caller.approver else {
            let effects: Vec<Value> = effects.iter().map(|e| e.to_string().into()).collect();
            return Err(ToolError::new(ErrorKind::ApprovalRequired, reason)
                .with("rule", rule)
                .with("effects", effects));
        };
        let request = ApprovalRequest {
            call_id: call_id.to_owned(),
            tool: entry.name().to_owned(),
            arguments: arguments.clone(),
            effects: effects.to_vec(),
            reason,
            rule: rule.clone(),
        };
        match self.caller.cancel.run_until_cancelled(approver.ask(request)).await {
            None => Err(ToolError::cancelled()),
            Some(Decision::Approved) => Ok(()),
            Some(Decision::Refused(word)) => {
                let message = word.unwrap_or_else(|| "The user refused this call".to_owned());
                Err(ToolError::denied(message).with("rule", rule))
            }
        }
    }
}
