//! Permission: the question, the ruling, and the person who is asked.

use serde_json::Value;

use crate::{Annotations, BoxFuture, Effect, Workplace};

/// What a ruling is about.
#[derive(Debug, Clone, Copy)]
pub struct Proposal<'a> {
    /// The canonical name of the tool.
    pub tool: &'a str,
    /// The toolset that owns it.
    pub toolset: &'a str,
    /// The arguments, coerced and valid.
    pub arguments: &'a Value,
    /// What it would do.
    pub effects: &'a [Effect],
    /// What the tool is like.
    pub annotations: Annotations,
    /// Where it would happen.
    pub workplace: &'a Workplace,
    /// The caller's id for the call.
    pub call_id: &'a str,
    /// On whose behalf.
    pub session_id: &'a str,
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

/// Whoever rules on proposals.
pub trait Policy: Send + Sync {
    /// The ruling on this proposal.
    fn judge(&self, proposal: &Proposal<'_>) -> Verdict;
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// The call that waits for the answer.
    pub call_id: String,
    /// The tool that it calls.
    pub tool: String,
    /// With these arguments.
    pub arguments: Value,
    /// What it would do.
    pub effects: Vec<Effect>,
    /// Why it is asked.
    pub reason: String,
    /// The rule that says so.
    pub rule: String,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Go on.
    Approved,
    /// No, perhaps with a word for the model.
    Refused(Option<String>),
}

/// The channel to somebody who can be asked.
pub trait Approver: Send + Sync {
    /// Asks, and waits for the answer.
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision>;
}
