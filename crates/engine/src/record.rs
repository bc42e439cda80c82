//! Records of calls, for the audit log.

use hermes_core::{CallStatus, Effect};
use serde::Serialize;

/// The record of one call. It contains neither arguments nor results, which may
/// hold secrets.
#[derive(Debug, Clone, Serialize)]
pub struct CallRecord<'a> {
    /// Milliseconds since the epoch; not serialized, because the log adds its
    /// own time.
    #[serde(skip)]
    pub time_ms: u64,
    /// The caller.
    pub who: &'a str,
    /// The session.
    pub session: &'a str,
    /// The task.
    pub task: &'a str,
    /// The caller's id for the call.
    pub call: &'a str,
    /// The call that made this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<&'a str>,
    /// The canonical name of the tool, or the name as called if there is no
    /// such tool.
    pub tool: &'a str,
    /// The name in the call, if it is another name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called_as: Option<&'a str>,
    /// Its effects, or those that it would have had.
    #[serde(serialize_with = "shortened")]
    pub effects: &'a [Effect],
    /// The profile that was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<&'a str>,
    /// `allow`, `ask` or `deny`; `None` if it was not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<&'a str>,
    /// The rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'a str>,
    /// The approver's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<&'a str>,
    /// The verdict that a policy in audit mode would have enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would: Option<&'a str>,
    /// The rule of that verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_rule: Option<&'a str>,
    /// Whether it was a dry run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Whether the result is untrusted text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    /// `success`, or the kind of error.
    pub status: &'static str,
    /// Duration of all stages.
    pub duration_us: u64,
    /// Size of the result.
    pub chars: usize,
    /// Number of repairs to the arguments.
    pub coerced: usize,
    /// The connection, if this is a record of a child process's connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionDetails<'a>>,
}

/// A connection of a child process.
#[derive(Debug, Clone, Serialize)]
pub struct ConnectionDetails<'a> {
    /// The program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<&'a str>,
    /// The address that was dialled, if it is not public.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<std::net::IpAddr>,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// The error, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
}

/// Limits on the length of a resource and the number of effects in a record.
const MAX_RESOURCE_CHARS: usize = 4096;
const MAX_RECORDED_EFFECTS: usize = 100;

/// Serializes effects, with long resources truncated.
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
