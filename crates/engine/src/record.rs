//! What is kept of every call.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_core::{CallStatus, Effect};
use serde::Serialize;

/// One call, as it is remembered. Arguments and results are not part of it:
/// they may hold secrets.
#[derive(Debug, Clone, Serialize)]
pub struct CallRecord<'a> {
    /// Milliseconds since the epoch; the log has its own way of telling time.
    #[serde(skip)]
    pub time_ms: u64,
    /// Who made the call.
    pub who: &'a str,
    /// The session.
    pub session: &'a str,
    /// The task.
    pub task: &'a str,
    /// The caller's id for the call.
    pub call: &'a str,
    /// The call inside which it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<&'a str>,
    /// The canonical name of the tool, or the caller's where there is none.
    pub tool: &'a str,
    /// What it did, or would have done.
    #[serde(serialize_with = "shortened")]
    pub effects: &'a [Effect],
    /// The name of the rules that were applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<&'a str>,
    /// `allow`, `ask` or `deny`; nothing if it never came to that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<&'a str>,
    /// The rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'a str>,
    /// How a question was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<&'a str>,
    /// What the verdict would have been, where the policy only watches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would: Option<&'a str>,
    /// And by which rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_rule: Option<&'a str>,
    /// Whether it was only rehearsed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Whether its answer came from strangers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    /// `success`, or the kind of error.
    pub status: &'static str,
    /// How long all stages took.
    pub duration_us: u64,
    /// How much text came out.
    pub chars: usize,
    /// How many things were changed in the arguments.
    pub coerced: usize,
    /// The connection of a child process, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionDetails<'a>>,
}

/// A connection of a child process, as it is remembered.
#[derive(Debug, Clone, Serialize)]
pub struct ConnectionDetails<'a> {
    /// The program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<&'a str>,
    /// The address that was dialled, where that was not a public one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<std::net::IpAddr>,
    /// Bytes that it sent.
    pub sent: u64,
    /// Bytes that it received.
    pub received: u64,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
}

/// How much of a resource, and how many effects, a record keeps.
const MAX_RESOURCE_CHARS: usize = 4096;
const MAX_RECORDED_EFFECTS: usize = 100;

/// Effects with their resources cut to what a log should hold.
fn shortened<S: serde::Serializer>(effects: &&[Effect], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct EffectSummary<'a> {
        scope: &'a str,
        resource: std::borrow::Cow<'a, str>,
    }
    serializer.collect_seq(effects.iter().take(MAX_RECORDED_EFFECTS).map(|effect| {
        let resource = effect.resource.as_text();
        let resource = match resource.char_indices().nth(MAX_RESOURCE_CHARS) {
            Some((end, _)) => format!("{}…", &resource[..end]).into(),
            None => resource,
        };
        EffectSummary { scope: effect.scope.as_str(), resource }
    }))
}

/// The name of a status in records.
pub fn status_name(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Success => "success",
        CallStatus::Error(kind) => kind.name(),
    }
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Whoever keeps records.
pub trait CallRecorder: Send + Sync {
    /// Called once for every call, when its answer is known.
    fn record(&self, record: &CallRecord<'_>);
}
