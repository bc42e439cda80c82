//! Noticing that a model goes round in circles: the same call that keeps
//! failing, or that keeps giving what it gave before.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::LazyLock;

use foldhash::quality::{FoldHasher, RandomState};
use hermes_core::{CallStatus, ErrorKind, Verdict};
use parking_lot::Mutex;
use serde_json::Value;

/// How much is remembered at most; past it, all is forgotten.
const MAX_SESSIONS: usize = 256;
const MAX_CALLS_PER_SESSION: usize = 1024;

/// How many times something may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopThresholds {
    /// The same call fails.
    pub exact_failure: u32,
    /// The same tool fails, whatever its arguments.
    pub same_tool_failure: u32,
    /// A call that only looks gives the same answer.
    pub no_progress: u32,
}

/// When to speak up, and when to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopGuardSettings {
    /// When the result carries a warning; none means never.
    pub warn: Option<LoopThresholds>,
    /// When the call is refused; none means never.
    pub stop: Option<LoopThresholds>,
}

impl Default for LoopGuardSettings {
    fn default() -> Self {
        Self {
            warn: Some(LoopThresholds { exact_failure: 2, same_tool_failure: 3, no_progress: 2 }),
            stop: None,
        }
    }
}

impl LoopGuardSettings {
    /// The counts at which a loop is broken, when it is to be broken at all.
    pub const STOP_THRESHOLDS: LoopThresholds =
        LoopThresholds { exact_failure: 5, same_tool_failure: 8, no_progress: 5 };
}

/// A call, reduced to what tells it from others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallFingerprint {
    tool: u64,
    exact: u64,
    // Only calls that look are compared by likeness.
    near: Option<u64>,
}

impl CallFingerprint {
    pub(crate) fn new(tool: &str, arguments: &Value, looks_only: bool) -> Self {
        let mut named = hasher();
        tool.hash(&mut named);
        let hash = |near: bool| {
            let mut hasher = named.clone();
            hash_value(arguments, near, &mut hasher);
            hasher.finish()
        };
        let near = looks_only.then(|| hash(true));
        Self { tool: named.finish(), exact: hash(false), near }
    }
}

/// Arguments may be long, and whoever makes two calls look alike gains nothing.
fn hasher() -> FoldHasher<'static> {
    static HASH_STATE: LazyLock<RandomState> = LazyLock::new(RandomState::default);
    HASH_STATE.build_hasher()
}

/// Hashes a value so that the order of keys does not count; with `near`,
/// neither do numbers, case and white space.
fn hash_value(value: &Value, near: bool, hasher: &mut FoldHasher<'_>) {
    match value {
        Value::Null => 0u8.hash(hasher),
        Value::Bool(b) => b.hash(hasher),
        Value::Number(_) if near => 1u8.hash(hasher),
        Value::Number(n) => n.hash(hasher),
        Value::String(s) if near => {
            for word in s.split_whitespace() {
                word.to_lowercase().hash(hasher);
            }
        }
        Value::String(s) => hash_text(s.as_bytes(), hasher),
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| hash_value(item, near, hasher));
        }
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            for (key, field) in sorted {
                if !(near && field.is_number()) {
                    key.hash(hasher);
                    hash_value(field, near, hasher);
                }
            }
        }
    }
}

/// Hashes a text. Of a long one, such as a whole file, the length and a part
/// here and there must do: the call waits for this.
fn hash_text(text: &[u8], hasher: &mut FoldHasher<'_>) {
    const MAX_FULL_HASH_BYTES: usize = 64 * 1024;
    const SAMPLE_BYTES: usize = 1024;
    text.len().hash(hasher);
    if text.len() <= MAX_FULL_HASH_BYTES {
        return hasher.write(text);
    }
    let step = text.len().div_ceil(MAX_FULL_HASH_BYTES / SAMPLE_BYTES);
    text.chunks(step).for_each(|chunk| hasher.write(chunk.get(..SAMPLE_BYTES).unwrap_or(chunk)));
    hasher.write(text.last_chunk::<SAMPLE_BYTES>().map_or(text, |end| end));
}

#[derive(Debug, Default)]
struct RecentCalls {
    failures: HashMap<u64, u32>,
    tool_failures: HashMap<u64, u32>,
    /// Those of both that are commands which ran and failed.
    failed_commands: HashSet<u64>,
    answers: HashMap<u64, RecentAnswers>,
}

/// What a call has answered lately.
#[derive(Debug)]
struct RecentAnswers {
    last: u64,
    /// The other one before it.
    previous: Option<u64>,
    /// How often nothing but these two came.
    count: u32,
}

impl RecentCalls {
    fn trim(&mut self) {
        if self.failures.len() > MAX_CALLS_PER_SESSION || self.answers.len() > MAX_CALLS_PER_SESSION
        {
            *self = Self::default();
        }
    }
}

/// Who goes in circles: a session, and a task in it.
pub(crate) type CallerKey<'a> = (&'a str, &'a str);

fn caller_hash(walker: CallerKey<'_>) -> u64 {
    let mut hasher = hasher();
    walker.hash(&mut hasher);
    hasher.finish()
}

/// What every session did lately.
#[derive(Debug)]
pub(crate) struct LoopGuard {
    settings: LoopGuardSettings,
    sessions: Mutex<HashMap<u64, RecentCalls>>,
}

impl LoopGuard {
    pub(crate) fn new(settings: LoopGuardSettings) -> Self {
        Self { settings, sessions: Mutex::default() }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.settings.warn.is_some() || self.settings.stop.is_some()
    }

    /// Forgets what somebody did: a new turn begins.
    pub(crate) fn reset(&self, walker: CallerKey<'_>) {
        self.lock().remove(&caller_hash(walker));
    }

    /// Forgets what somebody was shown.
    pub(crate) fn forget_answers(&self, walker: CallerKey<'_>) {
        if let Some(memory) = self.lock().get_mut(&caller_hash(walker)) {
            memory.answers.clear();
        }
    }

    /// Why a turn must end: a tool fails whatever is tried with it.
    pub(crate) fn halt_reason(&self, walker: CallerKey<'_>) -> Option<String> {
        let stop = self.settings.stop?;
        let sessions = self.lock();
        let failures = sessions.get(&caller_hash(walker))?.tool_failures.values().max()?;
        let is_over = *failures >= stop.same_tool_failure;
        is_over.then(|| format!("one tool has failed or was refused {failures} times in a row"))
    }

    /// Whether the call may go on.
    pub(crate) fn judge(&self, walker: CallerKey<'_>, print: &CallFingerprint) -> Verdict {
        let Some(stop) = self.settings.stop else { return Verdict::Allow };
        let mut sessions = self.lock();
        let Some(memory) = sessions.get_mut(&caller_hash(walker)) else { return Verdict::Allow };
        let failures = memory.failures.get(&print.exact).copied().unwrap_or(0);
        let tool = memory.tool_failures.get(&print.tool).copied().unwrap_or(0);
        let same = memory.answers.get(&print.exact).map_or(0, |answers| answers.count);
        let reason = if failures >= stop.exact_failure {
            format!("this same call has failed {failures} times")
        } else if tool >= stop.same_tool_failure {
            format!("this tool has failed {tool} times in a row")
        } else if print.near.is_some() && same >= stop.no_progress {
            format!("this same call has given the same answer {same} times")
        } else {
            return Verdict::Allow;
        };
        // Whoever is refused and asks again gets nowhere, either.
        increment(&mut memory.tool_failures, print.tool);
        Verdict::Deny {
            reason: format!("Stopped going in circles: {reason}"),
            rule: "loop-guard".into(),
        }
    }

    /// Remembers how a call ended; gives a warning where one is due.
    pub(crate) fn record_result(
        &self,
        walker: CallerKey<'_>,
        print: &CallFingerprint,
        came: GuardedOutcome,
        content: &str,
    ) -> Option<String> {
        // Whether it was allowed or wanted says nothing about the tool.
        if let GuardedOutcome::Error(
            ErrorKind::Denied | ErrorKind::ApprovalRequired | ErrorKind::Cancelled,
        ) = came
        {
            return None;
        }
        let mut sessions = self.lock();
        if sessions.len() > MAX_SESSIONS {
            sessions.clear();
        }
        let memory = sessions.entry(caller_hash(walker)).or_default();
        memory.trim();
        if came == GuardedOutcome::CommandFailed {
            memory.failed_commands.extend([print.exact, print.tool]);
        }
        if came != GuardedOutcome::Succeeded {
            let exact = increment(&mut memory.failures, print.exact);
            let tool = increment(&mut memory.tool_failures, print.tool);
            let warn = self.settings.warn?;
            return if exact >= warn.exact_failure {
                Some(format!(
                    "This same call has now failed {exact} times; change the arguments or the approach."
                ))
            } else if tool >= warn.same_tool_failure {
                Some(format!(
                    "This tool has now failed {tool} times in a row; try another approach."
                ))
            } else {
                None
            };
        }
        memory.failures.remove(&print.exact);
        memory.tool_failures.remove(&print.tool);
        let Some(likeness) = print.near else {
            // Something changed: looking again makes sense from here on, and so does
            // a command that failed before, such as a test.
            memory.answers.clear();
            for key in std::mem::take(&mut memory.failed_commands) {
                memory.failures.remove(&key);
                memory.tool_failures.remove(&key);
            }
            return None;
        };
        let mut hasher = hasher();
        content.hash(&mut hasher);
        let answer = hasher.finish();
        let exact = count_repeat(&mut memory.answers, print.exact, answer);
        let near = if likeness == print.exact {
            exact
        } else {
            count_repeat(&mut memory.answers, likeness, answer)
        };
        let warn = self.settings.warn?;
        if exact >= warn.no_progress {
            Some(format!(
                "This same call has given this same answer {exact} times; use it instead of asking again."
            ))
        } else if near > warn.no_progress {
            Some(format!(
                "Calls almost like this one have given this same answer {near} times; use it instead of asking again."
            ))
        } else {
            None
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, HashMap<u64, RecentCalls>> {
        self.sessions.lock()
    }
}

/// What came of a call, for whoever looks for circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuardedOutcome {
    /// What was asked for.
    Succeeded,
    /// The same, and it tells of a command that ran and failed.
    CommandFailed,
    /// An error.
    Error(ErrorKind),
}

impl GuardedOutcome {
    /// What a result says, unless its tool has said that all went well.
    pub(crate) fn from_result(status: CallStatus, is_well: bool, content: &str) -> Self {
        match status {
            CallStatus::Error(kind) => Self::Error(kind),
            CallStatus::Success if !is_well && is_failed_command(content) => Self::CommandFailed,
            CallStatus::Success => Self::Succeeded,
        }
    }
}

/// Whether a result tells of a command that ran and failed. It did what the call
/// asked for, so that it is no error of the tool.
fn is_failed_command(content: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct CommandExit {
        exit_code: i64,
    }
    content.contains("\"exit_code\"")
        && serde_json::from_str::<CommandExit>(content).is_ok_and(|ran| ran.exit_code != 0)
}

fn increment(counts: &mut HashMap<u64, u32>, key: u64) -> u32 {
    let count = counts.entry(key).or_default();
    *count += 1;
    *count
}

fn count_repeat(answers: &mut HashMap<u64, RecentAnswers>, key: u64, answer: u64) -> u32 {
    let kept =
        answers.entry(key).or_insert(RecentAnswers { last: answer, previous: None, count: 0 });
    if kept.last != answer {
        // Two answers in turn are no news, either.
        let count = if kept.previous == Some(answer) { kept.count } else { 0 };
        *kept = RecentAnswers { last: answer, previous: Some(kept.last), count };
    }
    kept.count += 1;
    kept.count
}

#[cfg(test)]
#[path = "loop_guard_tests.rs"]
mod tests;
