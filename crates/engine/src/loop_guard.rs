//! Detects a model that repeats itself: the same call keeps failing or returns
//! the same result.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::LazyLock;

use foldhash::quality::{FoldHasher, RandomState};
use hermes_core::{CallStatus, ErrorKind, Verdict};
use parking_lot::Mutex;
use serde_json::Value;

/// Maximum state kept; beyond it, everything is dropped.
const MAX_SESSIONS: usize = 256;
const MAX_CALLS_PER_SESSION: usize = 1024;

/// Counts at which the loop guard acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopThresholds {
    /// Failures of the same call.
    pub exact_failure: u32,
    /// Failures of the same tool in a row, whatever the arguments.
    pub same_tool_failure: u32,
    /// Identical results of a read-only call.
    pub no_progress: u32,
}

/// When the loop guard warns, and when it stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopGuardSettings {
    /// When a result gets a warning; `None` means never.
    pub warn: Option<LoopThresholds>,
    /// When a call is denied; `None` means never.
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
    /// Default thresholds for denying calls, if enabled.
    pub const STOP_THRESHOLDS: LoopThresholds =
        LoopThresholds { exact_failure: 5, same_tool_failure: 8, no_progress: 5 };
}

/// Hashes that identify a call in the loop guard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopKey {
    tool: u64,
    exact: u64,
    // Only read-only calls are compared by similarity.
    near: Option<u64>,
}

impl LoopKey {
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

/// A fast hash: arguments may be long, and a forged collision gains nothing.
fn hasher() -> FoldHasher<'static> {
    static HASH_STATE: LazyLock<RandomState> = LazyLock::new(RandomState::default);
    HASH_STATE.build_hasher()
}

/// Hashes a value independently of key order; with `near`, also ignores
/// numbers, case and whitespace.
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

/// Hashes a text. A long one, such as a whole file, is hashed by its length and
/// samples, because the call waits for this.
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
    /// Keys of both maps that belong to commands that ran and failed.
    failed_commands: HashSet<u64>,
    answers: HashMap<u64, RecentAnswers>,
}

/// Recent results of a call.
#[derive(Debug)]
struct RecentAnswers {
    last: u64,
    /// The last different result before it.
    previous: Option<u64>,
    /// How often only these two occurred.
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

/// The observed caller: session id and task id.
pub(crate) type CallerKey<'a> = (&'a str, &'a str);

fn caller_hash(caller: CallerKey<'_>) -> u64 {
    let mut hasher = hasher();
    caller.hash(&mut hasher);
    hasher.finish()
}

/// Recent calls of every session.
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

    /// Drops the state of a caller: a new turn begins.
    pub(crate) fn reset(&self, caller: CallerKey<'_>) {
        self.lock().remove(&caller_hash(caller));
    }

    /// Drops the remembered results of a caller.
    pub(crate) fn forget_answers(&self, caller: CallerKey<'_>) {
        if let Some(memory) = self.lock().get_mut(&caller_hash(caller)) {
            memory.answers.clear();
        }
    }

    /// Returns why a turn must end: a tool fails repeatedly whatever its
    /// arguments.
    pub(crate) fn halt_reason(&self, caller: CallerKey<'_>) -> Option<String> {
        let stop = self.settings.stop?;
        let sessions = self.lock();
        let failures = sessions.get(&caller_hash(caller))?.tool_failures.values().max()?;
        let is_over = *failures >= stop.same_tool_failure;
        is_over.then(|| format!("one tool has failed or was refused {failures} times in a row"))
    }

    /// Whether the call may run.
    pub(crate) fn judge(&self, caller: CallerKey<'_>, key: &LoopKey) -> Verdict {
        let Some(stop) = self.settings.stop else { return Verdict::Allow };
        let mut sessions = self.lock();
        let Some(memory) = sessions.get_mut(&caller_hash(caller)) else { return Verdict::Allow };
        let failures = memory.failures.get(&key.exact).copied().unwrap_or(0);
        let tool = memory.tool_failures.get(&key.tool).copied().unwrap_or(0);
        let same = memory.answers.get(&key.exact).map_or(0, |answers| answers.count);
        let reason = if failures >= stop.exact_failure {
            format!("this call has failed {failures} times")
        } else if tool >= stop.same_tool_failure {
            format!("this tool has failed {tool} times in a row")
        } else if key.near.is_some() && same >= stop.no_progress {
            format!("this call has returned the same result {same} times")
        } else {
            return Verdict::Allow;
        };
        // Repeating a denied call is no progress either.
        increment(&mut memory.tool_failures, key.tool);
        Verdict::Deny { reason: format!("Loop detected: {reason}"), rule: "loop-guard".into() }
    }

    /// Records the result of a call; returns a warning if a threshold is
    /// reached.
    pub(crate) fn record_result(
        &self,
        caller: CallerKey<'_>,
        key: &LoopKey,
        came: GuardedOutcome,
        content: &str,
    ) -> Option<String> {
        // A denied or cancelled call says nothing about the tool.
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
        let memory = sessions.entry(caller_hash(caller)).or_default();
        memory.trim();
        if came == GuardedOutcome::CommandFailed {
            memory.failed_commands.extend([key.exact, key.tool]);
        }
        if came != GuardedOutcome::Succeeded {
            let exact = increment(&mut memory.failures, key.exact);
            let tool = increment(&mut memory.tool_failures, key.tool);
            let warn = self.settings.warn?;
            return if exact >= warn.exact_failure {
                Some(format!(
                    "This call has now failed {exact} times; change the arguments or the \
                     approach."
                ))
            } else if tool >= warn.same_tool_failure {
                Some(format!(
                    "This tool has now failed {tool} times in a row; try another approach."
                ))
            } else {
                None
            };
        }
        memory.failures.remove(&key.exact);
        memory.tool_failures.remove(&key.tool);
        let Some(likeness) = key.near else {
            // Something changed: reading again makes sense, and so does
            // repeating a failed command, such as a test.
            memory.answers.clear();
            for hash in std::mem::take(&mut memory.failed_commands) {
                memory.failures.remove(&hash);
                memory.tool_failures.remove(&hash);
            }
            return None;
        };
        let mut hasher = hasher();
        content.hash(&mut hasher);
        let answer = hasher.finish();
        let exact = count_repeat(&mut memory.answers, key.exact, answer);
        let near = if likeness == key.exact {
            exact
        } else {
            count_repeat(&mut memory.answers, likeness, answer)
        };
        let warn = self.settings.warn?;
        if exact >= warn.no_progress {
            Some(format!(
                "This call has returned the same result {exact} times; use it instead of \
                 calling again."
            ))
        } else if near > warn.no_progress {
            Some(format!(
                "Similar calls have returned the same result {near} times; use it instead of \
                 calling again."
            ))
        } else {
            None
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, HashMap<u64, RecentCalls>> {
        self.sessions.lock()
    }
}

/// Outcome of a call, for the loop guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuardedOutcome {
    /// The call succeeded.
    Succeeded,
    /// The call succeeded, and its command ran and failed.
    CommandFailed,
    /// The call failed.
    Error(ErrorKind),
}

impl GuardedOutcome {
    /// Classifies a result. `succeeded` means the tool reported success despite
    /// the exit code.
    pub(crate) fn from_result(status: CallStatus, succeeded: bool, content: &str) -> Self {
        match status {
            CallStatus::Error(kind) => Self::Error(kind),
            CallStatus::Success if !succeeded && is_failed_command(content) => Self::CommandFailed,
            CallStatus::Success => Self::Succeeded,
        }
    }
}

/// Whether a result reports a command that ran and failed. The call did what
/// was asked, so it is not an error of the tool.
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
        // Two alternating results are no progress either.
        let count = if kept.previous == Some(answer) { kept.count } else { 0 };
        *kept = RecentAnswers { last: answer, previous: Some(kept.last), count };
    }
    kept.count += 1;
    kept.count
}

#[cfg(test)]
#[path = "loop_guard_tests.rs"]
mod tests;
