//! Permission: the question, the ruling, and the person who is asked.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    BoxFuture, Confinement, ConnectionRequest, Effect, Grants, Resource, Scope, Session,
    ToolAnnotations, WorkingDir,
};

/// The rule by which a path is refused that cannot be followed to its end:
/// nobody can tell what it is, so nothing is done to it.
pub const UNRESOLVABLE_PATH_RULE: &str = "unresolvable path";

/// What a ruling is about.
#[derive(Debug, Clone, Copy)]
pub struct CallProposal<'a> {
    /// The canonical name of the tool.
    pub tool: &'a str,
    /// The toolset that owns it.
    pub toolset: &'a str,
    /// The arguments, coerced and valid.
    pub arguments: &'a Value,
    /// What it would do.
    pub effects: &'a [Effect],
    /// What the tool is like.
    pub annotations: ToolAnnotations,
    /// Where it would happen.
    pub working_dir: &'a WorkingDir,
    /// The caller's id for the call.
    pub call_id: &'a str,
    /// On whose behalf.
    pub session: &'a Session,
    /// For which task.
    pub task_id: &'a str,
    /// How deep inside other calls.
    pub depth: u8,
}

/// A ruling. The strictest of several counts: deny over ask over allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Allow,
    /// Only if somebody agrees.
    Ask {
        /// Why, in a sentence.
        reason: String,
        /// The rule that says so.
        rule: String,
    },
    /// No.
    Deny {
        /// Why, in a sentence.
        reason: String,
        /// The rule that says so.
        rule: String,
    },
}

impl Verdict {
    /// The stricter of the two. Two that are equally strict count together,
    /// so that nothing is approved of which the person was not told.
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

/// Everything that a policy has to say about a call.
#[derive(Debug, Clone)]
pub struct Ruling {
    /// Whether it may go on.
    pub verdict: Verdict,
    /// What it may touch if it goes on.
    pub grants: Grants,
    /// What its child processes are held to.
    pub confinement: Option<Arc<Confinement>>,
    /// The rules that would be kept if somebody said "always", in words.
    pub offered_rules: Vec<String>,
    /// What the verdict would have been, where the policy only watches.
    pub audit_verdict: Option<Verdict>,
    /// The name of the rules that were applied, for the record.
    pub profile: Option<Arc<str>>,
    /// What the commands in it do by themselves, as far as that is known; for
    /// those who are told what the call does.
    pub implied_effects: Vec<Effect>,
}

impl Ruling {
    /// A ruling that lets the call touch what it declared and nothing else.
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

/// For how long an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalScope {
    /// This call only.
    Once,
    /// Until the session ends.
    Session,
    /// For good.
    Always,
}

/// Whoever rules on proposals, and remembers what people answered.
pub trait Policy: Send + Sync {
    /// The ruling on this proposal.
    fn judge(&self, proposal: &CallProposal<'_>) -> Ruling;

    /// What a connection of a child process does, as an effect to be judged.
    fn connection_effect(&self, request: &ConnectionRequest) -> Effect {
        let host = Resource::Host(request.destination.to_string());
        Effect { scope: Scope::NETWORK_SEND, resource: host }
    }

    /// Whether a connection is settled without its effect being judged. May
    /// take some seconds, as a package manager may have to be asked.
    fn permits_connection(&self, _request: &ConnectionRequest, _tool: &str) -> bool {
        false
    }

    /// Takes back a permission that somebody gave for exactly this call while
    /// nobody could be asked. It is used up by that.
    fn redeem_ticket(&self, _proposal: &CallProposal<'_>) -> bool {
        false
    }

    /// A ticket with which somebody can permit exactly this call later.
    fn issue_ticket(&self, _proposal: &CallProposal<'_>, _reason: &str) -> Option<String> {
        None
    }

    /// Keeps an answer for calls to come.
    fn remember_approval(
        &self,
        _proposal: &CallProposal<'_>,
        _lasting: ApprovalScope,
    ) -> Result<(), String> {
        Ok(())
    }
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// The call that waits for the answer.
    pub call_id: String,
    /// The tool that it calls.
    pub tool: String,
    /// With these arguments, secrets masked.
    pub arguments: Value,
    /// What it would do.
    pub effects: Vec<Effect>,
    /// Why it is asked.
    pub reason: String,
    /// The rule that says so.
    pub rule: String,
    /// The rules that "always" would add, in words; nothing can be kept if
    /// there are none.
    pub offered_rules: Vec<String>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// Go on.
    Approved(ApprovalScope),
    /// No, perhaps with a word for the model.
    Refused(Option<String>),
    /// There was nobody to ask after all.
    NoApprover,
}

/// The channel to somebody who can be asked.
pub trait Approver: Send + Sync {
    /// Asks, and waits for the answer.
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision>;

    /// Who answers, for the record: `user`, `smart`, …
    fn name(&self) -> &'static str {
        "user"
    }
}
