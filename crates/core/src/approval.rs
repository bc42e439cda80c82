//! Approval: the proposal, the ruling, and the approver.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    BoxFuture, Confinement, ConnectionRequest, Effect, Grants, Resource, Scope, Session,
    ToolAnnotations, WorkingDir,
};

/// The rule that refuses a path that cannot be fully resolved: it is unknown
/// what the path refers to.
pub const UNRESOLVABLE_PATH_RULE: &str = "unresolvable path";

/// A call that a policy rules on.
#[derive(Debug, Clone, Copy)]
pub struct CallProposal<'a> {
    /// The canonical name of the tool.
    pub tool: &'a str,
    /// The toolset that contains it.
    pub toolset: &'a str,
    /// The arguments, coerced and valid.
    pub arguments: &'a Value,
    /// The declared effects.
    pub effects: &'a [Effect],
    /// Code in the arguments, if the tool runs some.
    pub code: Option<InlineCode<'a>>,
    /// The tool's annotations.
    pub annotations: ToolAnnotations,
    /// Where the call runs.
    pub working_dir: &'a WorkingDir,
    /// The caller's id for the call.
    pub call_id: &'a str,
    /// The session that makes the call.
    pub session: &'a Session,
    /// The task that it belongs to.
    pub task_id: &'a str,
    /// Nesting depth within other calls.
    pub depth: u8,
}

/// Code that is part of a call's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InlineCode<'a> {
    /// The language, as the tool names it.
    pub language: &'a str,
    /// The code.
    pub text: &'a str,
}

/// The decision about a call. The strictest of several wins: deny over ask over allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The call may run.
    Allow,
    /// The call may run if the user approves it.
    Ask {
        /// The reason, in a sentence.
        reason: String,
        /// The rule that applies.
        rule: String,
    },
    /// The call must not run.
    Deny {
        /// The reason, in a sentence.
        reason: String,
        /// The rule that applies.
        rule: String,
    },
}

impl Verdict {
    /// Returns the stricter of the two. Two of equal strictness are joined, so
    /// the user sees every reason before approving.
    #[must_use]
    pub fn and(self, other: Verdict) -> Verdict {
        let join = |a: String, b: String| if a == b { a } else { format!("{a}; {b}") };
        match (self, other) {
            (Verdict::Deny { reason, rule }, _) | (_, Verdict::Deny { reason, rule }) => {
                Verdict::Deny { reason, rule }
            }
            (Verdict::Ask { reason: a, rule: x }, Verdict::Ask { reason: b, rule: y }) => {
                Verdict::Ask { reason: join(a, b), rule: join(x, y) }
            }
            (Verdict::Ask { reason, rule }, Verdict::Allow)
            | (Verdict::Allow, Verdict::Ask { reason, rule }) => Verdict::Ask { reason, rule },
            (Verdict::Allow, Verdict::Allow) => Verdict::Allow,
        }
    }
}

/// A policy's complete answer to a proposal.
#[derive(Debug, Clone)]
pub struct Ruling {
    /// Whether the call may run.
    pub verdict: Verdict,
    /// What the call may touch if it runs.
    pub grants: Grants,
    /// The limits of its child processes.
    pub confinement: Option<Arc<Confinement>>,
    /// The rules that answering "always" would add, as readable text.
    pub offered_rules: Vec<String>,
    /// The verdict that enforcement would give, if the policy only audits.
    pub audit_verdict: Option<Verdict>,
    /// The name of the profile that was applied, for the record.
    pub profile: Option<Arc<str>>,
    /// The known effects of the commands in the call, for descriptions of what
    /// it does.
    pub implied_effects: Vec<Effect>,
}

impl Ruling {
    /// A ruling that grants exactly the declared effects.
    pub fn for_effects(verdict: Verdict, effects: &[Effect]) -> Self {
        Self {
            verdict,
            grants: Grants::from_effects(effects),
            confinement: None,
            offered_rules: Vec::new(),
            audit_verdict: None,
            profile: None,
            implied_effects: Vec::new(),
        }
    }
}

/// How long an approval is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalScope {
    /// This call only.
    Once,
    /// Until the session ends.
    Session,
    /// Permanently.
    Always,
}

/// Rules on proposals, and remembers approvals.
pub trait Policy: Send + Sync {
    /// Rules on this proposal.
    fn judge(&self, proposal: &CallProposal<'_>) -> Ruling;

    /// The effect that a connection of a child process is judged as.
    fn connection_effect(&self, request: &ConnectionRequest) -> Effect {
        let host = Resource::Host(request.destination.to_string());
        Effect { scope: Scope::NETWORK_SEND, resource: host }
    }

    /// Whether a connection is allowed without judging its effect. May take
    /// some seconds, because it may query a package manager.
    fn permits_connection(&self, _request: &ConnectionRequest, _tool: &str) -> bool {
        false
    }

    /// Redeems an approval that the user gave for exactly this call while no
    /// approver was available. Each can be redeemed once.
    fn redeem_ticket(&self, _proposal: &CallProposal<'_>) -> bool {
        false
    }

    /// Issues a ticket with which the user can approve exactly this call later.
    fn issue_ticket(&self, _proposal: &CallProposal<'_>, _reason: &str) -> Option<String> {
        None
    }

    /// Remembers an approval for later calls.
    fn remember_approval(
        &self,
        _proposal: &CallProposal<'_>,
        _lasting: ApprovalScope,
    ) -> Result<(), String> {
        Ok(())
    }
}

/// A question to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// The call that waits for the answer.
    pub call_id: String,
    /// The tool that it calls.
    pub tool: String,
    /// The arguments, secrets masked.
    pub arguments: Value,
    /// The declared effects.
    pub effects: Vec<Effect>,
    /// Why the call needs approval.
    pub reason: String,
    /// The rule that requires it.
    pub rule: String,
    /// The rules that "always" would add, as readable text; empty if the answer
    /// cannot be remembered.
    pub offered_rules: Vec<String>,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// The call may run.
    Approved(ApprovalScope),
    /// The call must not run; optionally with a message for the model.
    Refused(Option<String>),
    /// No approver was available.
    NoApprover,
}

/// The channel to an approver.
pub trait Approver: Send + Sync {
    /// Asks, and waits for the answer.
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision>;

    /// Who answers, for the audit log: `user`, `smart`, …
    fn name(&self) -> &'static str {
        "user"
    }
}
