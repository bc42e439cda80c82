//! Noticing that a model goes round in circles: the same call that keeps
//! failing, or that keeps giving what it gave before.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{LazyLock, Mutex, PoisonError};

use foldhash::quality::{FoldHasher, RandomState};
use hermes_core::{ErrorKind, CallStatus, Verdict};
use serde_json::Value;

/// How much is remembered at most; past it, all is forgotten.
const SESSIONS: usize = 256;
const CALLS: usize = 1024;

/// How many times something may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// The same call fails.
    pub exact_failure: u32,
    /// The same tool fails, whatever its arguments.
    pub same_tool_failure: u32,
    /// A call that only looks gives the same answer.
    pub no_progress: u32,
}

/// When to speak up, and when to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardSettings {
    /// When the result carries a warning; none means never.
    pub warn: Option<Counts>,
    /// When the call is refused; none means never.
    pub stop: Option<Counts>,
}

impl Default for GuardSettings {
    fn default() -> Self {
        Self {
            warn: Some(Counts { exact_failure: 2, same_tool_failure: 3, no_progress: 2 }),
            stop: None,
        }
    }
}

impl GuardSettings {
    /// The counts at which a loop is broken, when it is to be broken at all.
    pub const STOP: Counts = Counts { exact_failure: 5, same_tool_failure: 8, no_progress: 5 };
}

/// A call, reduced to what tells it from others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Footprint {
    tool: u64,
    exact: u64,
    // Only calls that look are compared by likeness.
    near: Option<u64>,
}

impl Footprint {
    pub(crate) fn new(tool: &str, arguments: &Value, looks_only: bool) -> Self {
        let mut named = hasher();
        tool.hash(&mut named);
        let hash = |near: bool| {
            let mut hasher = named.clone();
            digest(arguments, near, &mut hasher);
            hasher.finish()
        };
        let near = looks_only.then(|| hash(true));
        Self { tool: named.finish(), exact: hash(false), near }
    }
}

/// Arguments may be long, and whoever makes two calls look alike gains nothing.
fn hasher() -> FoldHasher<'static> {
    static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::default);
    STATE.build_hasher()
}

/// Hashes a value so that the order of keys does not count; with `near`,
/// neither do numbers, case and white space.
fn digest(value: &Value, near: bool, hasher: &mut FoldHasher<'_>) {
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
        Value::String(s) => sample(s.as_bytes(), hasher),
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| digest(item, near, hasher));
        }
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            for (key, field) in sorted {
                if !(near && field.is_number()) {
                    key.hash(hasher);
                    digest(field, near, hasher);
                }
            }
        }
    }
}

/// Hashes a text. Of a long one, such as a whole file, the length and a part
/// here and there must do: the call waits for this.
fn sample(text: &[u8], hasher: &mut FoldHasher<'_>) {
    const WHOLE: usize = 64 * 1024;
    const PART: usize = 1024;
    text.len().hash(hasher);
    if text.len() <= WHOLE {
        return hasher.write(text);
    }
    let step = text.len().div_ceil(WHOLE / PART);
    text.chunks(step).for_each(|chunk| hasher.write(chunk.get(..PART).unwrap_or(chunk)));
    hasher.write(text.last_chunk::<PART>().map_or(text, |end| end));
}

#[derive(Debug, Default)]
struct Memory {
    failures: HashMap<u64, u32>,
    tool_failures: HashMap<u64, u32>,
    /// Those of both that are commands which ran and failed.
    commands: HashSet<u64>,
    answers: HashMap<u64, Answers>,
}

/// What a call has answered lately.
#[derive(Debug)]
struct Answers {
    last: u64,
    /// The other one before it.
    before: Option<u64>,
    /// How often nothing but these two came.
    count: u32,
}

impl Memory {
    fn trim(&mut self) {
        if self.failures.len() > CALLS || self.answers.len() > CALLS {
            *self = Self::default();
        }
    }
}

/// Who goes in circles: a session, and a task in it.
pub(crate) type Walker<'a> = (&'a str, &'a str);

fn key(walker: Walker<'_>) -> u64 {
    let mut hasher = hasher();
    walker.hash(&mut hasher);
    hasher.finish()
}

/// What every session did lately.
#[derive(Debug)]
pub(crate) struct LoopGuard {
    settings: GuardSettings,
    sessions: Mutex<HashMap<u64, Memory>>,
}

impl LoopGuard {
    pub(crate) fn new(settings: GuardSettings) -> Self {
        Self { settings, sessions: Mutex::default() }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.settings.warn.is_some() || self.settings.stop.is_some()
    }

    /// Forgets what somebody did: a new turn begins.
    pub(crate) fn reset(&self, walker: Walker<'_>) {
        self.lock().remove(&key(walker));
    }

    /// Forgets what somebody was shown.
    pub(crate) fn forget_answers(&self, walker: Walker<'_>) {
        if let Some(memory) = self.lock().get_mut(&key(walker)) {
            memory.answers.clear();
        }
    }

    /// Why a turn must end: a tool fails whatever is tried with it.
    pub(crate) fn halted(&self, walker: Walker<'_>) -> Option<String> {
        let stop = self.settings.stop?;
        let sessions = self.lock();
        let failures = sessions.get(&key(walker))?.tool_failures.values().max()?;
        let is_over = *failures >= stop.same_tool_failure;
        is_over.then(|| format!("one tool has failed or was refused {failures} times in a row"))
    }

    /// Whether the call may go on.
    pub(crate) fn judge(&self, walker: Walker<'_>, print: &Footprint) -> Verdict {
        let Some(stop) = self.settings.stop else { return Verdict::Allow };
        let mut sessions = self.lock();
        let Some(memory) = sessions.get_mut(&key(walker)) else { return Verdict::Allow };
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
        bump(&mut memory.tool_failures, print.tool);
        Verdict::Deny {
            reason: format!("Stopped going in circles: {reason}"),
            rule: "loop-guard".into(),
        }
    }

    /// Remembers how a call ended; gives a warning where one is due.
    pub(crate) fn note(
        &self,
        walker: Walker<'_>,
        print: &Footprint,
        came: Came,
        content: &str,
    ) -> Option<String> {
        // Whether it was allowed or wanted says nothing about the tool.
        if let Came::Error(ErrorKind::Denied | ErrorKind::ApprovalRequired | ErrorKind::Cancelled) =
            came
        {
            return None;
        }
        let mut sessions = self.lock();
        if sessions.len() > SESSIONS {
            sessions.clear();
        }
        let memory = sessions.entry(key(walker)).or_default();
        memory.trim();
        if came == Came::Failed {
            memory.commands.extend([print.exact, print.tool]);
        }
        if came != Came::Fine {
            let exact = bump(&mut memory.failures, print.exact);
            let tool = bump(&mut memory.tool_failures, print.tool);
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
            for key in std::mem::take(&mut memory.commands) {
                memory.failures.remove(&key);
                memory.tool_failures.remove(&key);
            }
            return None;
        };
        let mut hasher = hasher();
        content.hash(&mut hasher);
        let answer = hasher.finish();
        let exact = repeat(&mut memory.answers, print.exact, answer);
        let near = if likeness == print.exact {
            exact
        } else {
            repeat(&mut memory.answers, likeness, answer)
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

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Memory>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came of a call, for whoever looks for circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// What was asked for.
    Fine,
    /// The same, and it tells of a command that ran and failed.
    Failed,
    /// An error.
    Error(ErrorKind),
}

impl Came {
    /// What a result says, unless its tool has said that all went well.
    pub(crate) fn of(status: CallStatus, is_well: bool, content: &str) -> Self {
        match status {
            CallStatus::Error(kind) => Self::Error(kind),
            CallStatus::Success if !is_well && is_failed_command(content) => Self::Failed,
            CallStatus::Success => Self::Fine,
        }
    }
}

/// Whether a result tells of a command that ran and failed. It did what the call
/// asked for, so that it is no error of the tool.
fn is_failed_command(content: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Ran {
        exit_code: i64,
    }
    content.contains("\"exit_code\"")
        && serde_json::from_str::<Ran>(content).is_ok_and(|ran| ran.exit_code != 0)
}

fn bump(counts: &mut HashMap<u64, u32>, key: u64) -> u32 {
    let count = counts.entry(key).or_default();
    *count += 1;
    *count
}

fn repeat(answers: &mut HashMap<u64, Answers>, key: u64, answer: u64) -> u32 {
    let kept = answers.entry(key).or_insert(Answers { last: answer, before: None, count: 0 });
    if kept.last != answer {
        // Two answers in turn are no news, either.
        let count = if kept.before == Some(answer) { kept.count } else { 0 };
        *kept = Answers { last: answer, before: Some(kept.last), count };
    }
    kept.count += 1;
    kept.count
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
