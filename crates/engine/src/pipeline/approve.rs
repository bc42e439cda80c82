//! Stage 7: asks the approver where the policy requires it; without an
//! approver, the call is refused.

use hermes_core::{
    ApprovalDecision, ApprovalRequest, ApprovalScope, CallProposal, Effect, ErrorKind, Ruling,
    ToolAnnotations, ToolError, UNRESOLVABLE_PATH_RULE, Verdict,
};

use super::{Authorization, BatchContext, ResolvedCall};

/// The tool name in requests of a running call for more permissions.
const REQUEST_TOOL_NAME: &str = "sandbox";

impl BatchContext {
    /// Returns an error unless the call may run.
    pub(super) async fn approve(
        &self,
        ruling: &Ruling,
        call: &ResolvedCall,
        authorization: &mut Authorization,
    ) -> Result<(), ToolError> {
        let (reason, rule) = match &ruling.verdict {
            Verdict::Allow => return Ok(()),
            Verdict::Deny { reason, rule } => {
                let mut error = ToolError::denied(reason.clone());
                if rule == UNRESOLVABLE_PATH_RULE {
                    error = error.with_hint(
                        "No rule forbids it: the path cannot be resolved. Check its symlinks, \
                         its length, and the permissions of its directories.",
                    );
                }
                return Err(self.with_rule_and_effects(error, rule, call, authorization));
            }
            Verdict::Ask { reason, rule } => (reason, rule),
        };
        if self.caller.dry_run {
            let error = ToolError::new(ErrorKind::ApprovalRequired, reason.clone());
            return Err(self.with_rule_and_effects(error, rule, call, authorization));
        }
        // Do not ask about a call that would fail anyway.
        self.require_secrets(call)?;
        if self.engine.policy().redeem_ticket(&self.proposal(call, &self.working_dir.load())) {
            authorization.approval = Some("token".to_owned());
            return Ok(());
        }
        match self.ask_approver(ruling, reason, rule, call, authorization).await? {
            ApprovalDecision::Approved(lasting) => {
                self.record_approval(lasting, call, authorization)
            }
            ApprovalDecision::Refused(word) => {
                authorization.approval = Some("refused".to_owned());
                let message = word.unwrap_or_else(|| "The user refused this call".to_owned());
                Err(ToolError::denied(message).with("rule", rule.as_str()))
            }
            ApprovalDecision::NoApprover => {
                authorization.approval = Some("nobody".to_owned());
                Err(self.approval_required_error(reason, rule, call, authorization))
            }
        }
    }

    async fn ask_approver(
        &self,
        ruling: &Ruling,
        reason: &str,
        rule: &str,
        call: &ResolvedCall,
        authorization: &mut Authorization,
    ) -> Result<ApprovalDecision, ToolError> {
        let Some(approver) = &self.caller.approver else { return Ok(ApprovalDecision::NoApprover) };
        let request = ApprovalRequest {
            call_id: call.id.clone(),
            tool: call.entry.name().to_owned(),
            arguments: self.redacted_arguments(&call.arguments),
            effects: self.shown_effects(&call.effects, &ruling.grants, &authorization.implied),
            reason: self.redactor().redact(reason).into_owned(),
            rule: rule.to_owned(),
            offered_rules: ruling.offered_rules.clone(),
        };
        let timeout = self.engine.approval_timeout();
        let answer =
            tokio::time::timeout(timeout, self.within_deadline(approver.ask(request))).await;
        let decision = answer.unwrap_or_else(|_| {
            Ok(ApprovalDecision::Refused(Some(format!(
                "No approver answered within {} s; a timeout counts as a refusal",
                timeout.as_secs()
            ))))
        })?;
        authorization.approver = Some(approver.name());
        Ok(decision)
    }

    /// Asks whether a running call may have effects beyond those it was
    /// authorized for. Without an approver, it may not.
    pub(crate) async fn request_approval(
        &self,
        call_id: &str,
        effects: Vec<Effect>,
        reason: String,
    ) -> bool {
        let Some(approver) = &self.caller.approver else { return false };
        let working_dir = self.working_dir.load_full();
        let arguments = serde_json::json!({ "reason": reason });
        let proposal = CallProposal {
            tool: REQUEST_TOOL_NAME,
            toolset: REQUEST_TOOL_NAME,
            arguments: &arguments,
            effects: &effects,
            code: None,
            annotations: ToolAnnotations::default(),
            working_dir: &working_dir,
            call_id,
            session: &self.caller.session,
            task_id: &self.caller.task_id,
            depth: self.caller.depth,
        };
        let policy = self.engine.policy();
        let ruling = policy.judge(&proposal);
        let rule = match &ruling.verdict {
            Verdict::Allow => return true,
            Verdict::Deny { .. } => return false,
            Verdict::Ask { rule, .. } => rule.clone(),
        };
        let request = ApprovalRequest {
            call_id: call_id.to_owned(),
            tool: REQUEST_TOOL_NAME.to_owned(),
            arguments: self.redacted_arguments(&arguments),
            effects: effects.iter().map(|effect| self.redacted_effect(effect)).collect(),
            reason: self.redactor().redact(&reason).into_owned(),
            rule,
            offered_rules: ruling.offered_rules,
        };
        let timeout = self.engine.approval_timeout();
        match tokio::time::timeout(timeout, self.within_deadline(approver.ask(request))).await {
            Ok(Ok(ApprovalDecision::Approved(lasting))) => {
                if lasting != ApprovalScope::Once {
                    // An approval that cannot be saved applies to this call
                    // only.
                    let _ = policy.remember_approval(&proposal, lasting);
                }
                true
            }
            _ => false,
        }
    }

    /// Records the answer, and saves it unless it is for this call only.
    fn record_approval(
        &self,
        lasting: ApprovalScope,
        call: &ResolvedCall,
        authorization: &mut Authorization,
    ) -> Result<(), ToolError> {
        let name = match lasting {
            ApprovalScope::Once => "once",
            ApprovalScope::Session => "session",
            ApprovalScope::Always => "always",
        };
        authorization.approval = Some(match authorization.approver {
            Some("user") | None => name.to_owned(),
            Some(who) => format!("{name} by {who}"),
        });
        if lasting != ApprovalScope::Once {
            let working_dir = self.working_dir.load_full();
            let proposal = self.proposal(call, &working_dir);
            self.engine.policy().remember_approval(&proposal, lasting).map_err(|problem| {
                ToolError::unavailable(format!("The approval could not be saved: {problem}"))
                    .with_hint("Approve for this call only, or fix what prevents saving.")
            })?;
        }
        Ok(())
    }

    /// The error for a call that needs approval when no approver is available.
    fn approval_required_error(
        &self,
        reason: &str,
        rule: &str,
        call: &ResolvedCall,
        authorization: &Authorization,
    ) -> ToolError {
        let error = ToolError::new(ErrorKind::ApprovalRequired, reason);
        let error = self.with_rule_and_effects(error, rule, call, authorization);
        let ticket = {
            let working_dir = self.working_dir.load_full();
            let proposal = self.proposal(call, &working_dir);
            self.engine.policy().issue_ticket(&proposal, reason)
        };
        match ticket {
            Some(token) => {
                let hint = format!(
                    "Ask the user to run `hermes permissions approve {token}`, then make the same call again."
                );
                error.with("token", token).with_hint(hint)
            }
            None => error.with_hint("Ask the user to allow it in the permission profile."),
        }
    }

    fn with_rule_and_effects(
        &self,
        error: ToolError,
        rule: &str,
        call: &ResolvedCall,
        authorization: &Authorization,
    ) -> ToolError {
        let declared = call.effects.iter().take(20);
        let implied = authorization.implied.iter().filter(|effect| !call.effects.contains(effect));
        let shown = declared.chain(implied).map(|effect| self.redacted_effect(effect));
        let effects = serde_json::to_value(shown.collect::<Vec<Effect>>()).unwrap_or_default();
        error.with("rule", rule).with("effects", effects)
    }
}
