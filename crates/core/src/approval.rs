//! Permission: the question, the ruling, and the person who is asked.

use serde_json::Value;

use crate::{BoxFuture, Effect};

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
    /// On whose behalf.
    pub session_id: &'a str,
}

/// A ruling. The strictest of several counts: deny over ask over allow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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
    /// The stricter of the two.
    #[must_use]
    pub fn and(self, other: Verdict) -> Verdict {
        let rank = |v: &Verdict| match v {
            Verdict::Allow => 0,
            Verdict::Ask { .. } => 1,
            Verdict::Deny { .. } => 2,
        };
        if rank(&other) > rank(&self) { other } else { self }
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
