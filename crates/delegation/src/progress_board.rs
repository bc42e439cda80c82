//! Live progress of the sub-agents of a call.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use hermes_agent::{AgentBudget, AgentEvent, AgentObserver, InterruptHandle};
use hermes_core::{
    CancellationToken, Effect, ErrorKind, Scope, Session, ToolContext, ToolResult, WorkingDir,
};
use hermes_engine::{CallEvent, CallStarted, Engine};
use hermes_llm::ContentPart;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::report::{FileArtifact, SubagentStatus, UsageTotal};
use crate::rounding::rounded_seconds;
use hermes_core::text::one_line_excerpt;

/// Maximum calls in a report.
const MAX_TRACED_CALLS: usize = 20;
/// Maximum files in a report.
const MAX_LISTED_FILES: usize = 200;
/// Maximum sub-agents in a progress line.
const MAX_SHOWN_SUBAGENTS: usize = 4;

/// How a file was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChangeKind {
    Written,
    Deleted,
}

/// A call that a sub-agent made.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TracedCall {
    pub(crate) tool: String,
    pub(crate) status: &'static str,
    pub(crate) args_bytes: usize,
    pub(crate) result_bytes: usize,
}

/// Progress of one sub-agent.
#[derive(Debug, Default)]
struct SubagentProgress {
    goal: String,
    session: String,
    doing: String,
    began: Option<Instant>,
    ended: Option<(SubagentStatus, Instant)>,
    budget: Option<AgentBudget>,
    /// Cancels this sub-agent alone.
    stop: CancellationToken,
    /// Steers the sub-agent, once it works.
    interrupt: Option<InterruptHandle>,
    /// Messages for a sub-agent that does not work yet.
    messages: Vec<ContentPart>,
    trace: VecDeque<TracedCall>,
    omitted_calls: u32,
    artifacts: BTreeMap<PathBuf, ChangeKind>,
    open_calls: HashMap<String, OpenCall>,
}

/// A call in progress.
#[derive(Debug)]
struct OpenCall {
    args_bytes: usize,
    changes: Vec<(PathBuf, ChangeKind)>,
}

/// State of one sub-agent, as returned by `poll`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LiveSubagent {
    task_index: usize,
    goal: String,
    status: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    doing: String,
    #[serde(flatten)]
    used: UsageTotal,
    duration_seconds: f64,
    #[serde(skip_serializing_if = "String::is_empty")]
    session_id: String,
}

impl fmt::Display for LiveSubagent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} s: {}", self.status, self.duration_seconds.round(), self.goal)?;
        if self.doing.is_empty() { Ok(()) } else { write!(f, " ({})", self.doing) }
    }
}

/// What one sub-agent did, for its report.
#[derive(Debug, Default)]
pub(crate) struct SubagentRecord {
    pub(crate) session: String,
    pub(crate) used: UsageTotal,
    pub(crate) artifacts: Vec<FileArtifact>,
    pub(crate) omitted_artifacts: usize,
    pub(crate) trace: Vec<TracedCall>,
    pub(crate) omitted_calls: u32,
    pub(crate) seconds: f64,
}

/// Progress of all sub-agents of a call.
#[derive(Debug)]
pub(crate) struct ProgressBoard {
    entries: Mutex<Vec<SubagentProgress>>,
    /// The call to report progress to; `None` in the background.
    cx: Option<ToolContext>,
}

impl ProgressBoard {
    /// Creates a board with one entry per goal.
    pub(crate) fn new(goals: impl IntoIterator<Item = String>, cx: Option<ToolContext>) -> Self {
        let seat = |goal| SubagentProgress { goal, ..SubagentProgress::default() };
        Self { entries: Mutex::new(goals.into_iter().map(seat).collect()), cx }
    }

    /// Marks a sub-agent as started.
    pub(crate) fn begin(
        &self,
        at: usize,
        session: &str,
        budget: &AgentBudget,
        interrupt: InterruptHandle,
    ) {
        self.update(at, |seat| {
            interrupt.queue_input(seat.messages.drain(..));
            seat.interrupt = Some(interrupt);
            seat.began = Some(Instant::now());
            seat.session = session.to_owned();
            seat.budget = Some(budget.clone());
            "begins".clone_into(&mut seat.doing);
        });
    }

    /// Sets the token that cancels a sub-agent.
    pub(crate) fn set_stop(&self, at: usize, stop: CancellationToken) {
        if let Some(seat) = self.entries.lock().get_mut(at) {
            seat.stop = stop;
        }
    }

    /// Cancels one sub-agent. Returns whether it had not ended.
    pub(crate) fn stop(&self, at: usize) -> bool {
        let seats = self.entries.lock();
        let Some(seat) = seats.get(at).filter(|seat| seat.ended.is_none()) else { return false };
        seat.stop.cancel();
        true
    }

    /// Sends a message to one sub-agent, or to all. Returns how many get it:
    /// those that have not ended.
    pub(crate) fn steer(&self, only: Option<usize>, message: &str) -> usize {
        let mut seats = self.entries.lock();
        let mut reached = 0;
        for (at, seat) in seats.iter_mut().enumerate() {
            if seat.ended.is_some() || only.is_some_and(|only| only != at) {
                continue;
            }
            let part = ContentPart::Text { text: message.to_owned() };
            match &seat.interrupt {
                Some(interrupt) => interrupt.queue_input([part]),
                None => seat.messages.push(part),
            }
            reached += 1;
        }
        reached
    }

    /// Marks a sub-agent as ended.
    pub(crate) fn end(&self, at: usize, status: SubagentStatus) {
        self.update(at, |seat| {
            seat.ended = Some((status, Instant::now()));
            seat.doing.clear();
        });
    }

    /// Takes the record of one sub-agent.
    pub(crate) fn take_record(&self, at: usize) -> SubagentRecord {
        let mut seats = self.entries.lock();
        let Some(seat) = seats.get_mut(at) else { return SubagentRecord::default() };
        let artifact = |(path, change): (&PathBuf, &ChangeKind)| FileArtifact {
            path: path.to_string_lossy().into_owned(),
            change: *change,
        };
        SubagentRecord {
            session: seat.session.clone(),
            used: seat.used(),
            artifacts: seat.artifacts.iter().take(MAX_LISTED_FILES).map(artifact).collect(),
            omitted_artifacts: seat.artifacts.len().saturating_sub(MAX_LISTED_FILES),
            trace: seat.trace.drain(..).collect(),
            omitted_calls: seat.omitted_calls,
            seconds: seat.seconds(),
        }
    }

    /// Returns the state of all sub-agents.
    pub(crate) fn snapshot(&self) -> Vec<LiveSubagent> {
        let seats = self.entries.lock();
        let live = |(task_index, seat): (usize, &SubagentProgress)| LiveSubagent {
            task_index,
            goal: seat.goal.clone(),
            status: seat.status(),
            doing: seat.doing.clone(),
            used: seat.used(),
            duration_seconds: seat.seconds(),
            session_id: seat.session.clone(),
        };
        seats.iter().enumerate().map(live).collect()
    }

    fn update(&self, at: usize, change: impl FnOnce(&mut SubagentProgress)) {
        let mut seats = self.entries.lock();
        if let Some(seat) = seats.get_mut(at) {
            change(seat);
        }
        let Some(cx) = self.cx.as_ref().filter(|cx| cx.progress.is_some()) else { return };
        let (fraction, line) = progress_line(&seats);
        drop(seats);
        cx.report_progress(Some(fraction), line);
    }
}

/// Returns the fraction that has ended, and a line of progress.
fn progress_line(seats: &[SubagentProgress]) -> (f64, String) {
    let ended = seats.iter().filter(|seat| seat.ended.is_some()).count();
    let mut line = format!("{ended} of {} done", seats.len());
    let busy = seats.iter().enumerate().filter(|(_, seat)| !seat.doing.is_empty());
    for (at, seat) in busy.take(MAX_SHOWN_SUBAGENTS) {
        line.push_str(&format!(" · {}: {}", at + 1, seat.doing));
    }
    (ended as f64 / seats.len().max(1) as f64, line)
}

impl SubagentProgress {
    fn used(&self) -> UsageTotal {
        self.budget.as_ref().map(|budget| budget.spent().into()).unwrap_or_default()
    }

    fn seconds(&self) -> f64 {
        let Some(began) = self.began else { return 0.0 };
        let until = self.ended.map_or_else(Instant::now, |(_, at)| at);
        rounded_seconds(until.saturating_duration_since(began))
    }

    fn status(&self) -> &'static str {
        match (self.ended, self.began) {
            (Some((status, _)), _) => status.name(),
            (None, Some(_)) => "working",
            (None, None) => "waiting",
        }
    }

    fn finish_call(&mut self, result: &ToolResult, changes: Vec<(PathBuf, ChangeKind)>) {
        let open = self.open_calls.remove(&result.tool_call_id);
        let (args_bytes, declared) =
            open.map(|open| (open.args_bytes, open.changes)).unwrap_or_default();
        if result.is_success() {
            self.artifacts.extend(declared.into_iter().chain(changes));
        }
        self.trace.push_back(TracedCall {
            tool: result.name.clone(),
            status: match result.status {
                hermes_core::CallStatus::Success => "ok",
                hermes_core::CallStatus::Error(ErrorKind::Cancelled) => "cancelled",
                hermes_core::CallStatus::Error(_) => "error",
            },
            args_bytes,
            result_bytes: result.content.len(),
        });
        if self.trace.len() > MAX_TRACED_CALLS {
            self.trace.pop_front();
            self.omitted_calls += 1;
        }
        "thinks".clone_into(&mut self.doing);
    }
}

/// Observes one sub-agent for the board.
pub(crate) struct ProgressWatcher {
    pub(crate) board: Arc<ProgressBoard>,
    pub(crate) task_index: usize,
    pub(crate) engine: Engine,
    pub(crate) session: Session,
    pub(crate) workplace: Arc<WorkingDir>,
    /// Observer of the parent, which receives the results of the sub-agent's
    /// calls.
    pub(crate) parent: Option<Arc<dyn AgentObserver>>,
}

impl AgentObserver for ProgressWatcher {
    fn on_event(&self, notice: &AgentEvent<'_>) {
        match notice {
            AgentEvent::RoundStarted { .. } => {
                self.board.update(self.task_index, |seat| "thinks".clone_into(&mut seat.doing));
            }
            AgentEvent::Call(CallEvent::Started(begun)) => {
                let open = OpenCall {
                    args_bytes: begun.arguments.to_string().len(),
                    changes: self.changes(begun),
                };
                let doing = describe_call(begun);
                self.board.update(self.task_index, |seat| {
                    seat.doing = doing;
                    seat.open_calls.insert(begun.call.to_owned(), open);
                });
            }
            AgentEvent::Call(CallEvent::Progress { tool, progress, .. })
                if !progress.message.is_empty() =>
            {
                let doing = one_line_excerpt(&format!("{tool} {}", progress.message), 80);
                self.board.update(self.task_index, |seat| seat.doing = doing);
            }
            AgentEvent::Call(CallEvent::Ended { result, .. }) => {
                let below = nested_changes(result);
                self.board.update(self.task_index, |seat| seat.finish_call(result, below));
                self.on_subagent_result(result);
            }
            _ => {}
        }
    }

    fn on_subagent_result(&self, result: &ToolResult) {
        if let Some(parent) = &self.parent {
            parent.on_subagent_result(result);
        }
    }
}

impl ProgressWatcher {
    /// Files that a call declares to change.
    fn changes(&self, begun: &CallStarted<'_>) -> Vec<(PathBuf, ChangeKind)> {
        let snapshot = self.engine.snapshot();
        let Some(entry) = snapshot.get(begun.tool) else { return Vec::new() };
        if entry.spec().annotations.read_only {
            return Vec::new();
        }
        let Ok(bound) = Arc::clone(entry.tool()).bind(begun.arguments) else { return Vec::new() };
        let at = match self.session.cwd() {
            Ok(Some(cwd)) => WorkingDir::new(cwd, self.workplace.home().map(Into::into)),
            _ => WorkingDir::clone(&self.workplace),
        };
        bound.effects(&at).iter().filter_map(file_change).collect()
    }
}

fn file_change(effect: &Effect) -> Option<(PathBuf, ChangeKind)> {
    let path = effect.resource.as_path()?.to_owned();
    if effect.scope == Scope::FILE_WRITE {
        Some((path, ChangeKind::Written))
    } else if effect.scope == Scope::FILE_DELETE {
        Some((path, ChangeKind::Deleted))
    } else {
        None
    }
}

/// Files changed by sub-agents of a sub-agent.
fn nested_changes(result: &ToolResult) -> Vec<(PathBuf, ChangeKind)> {
    #[derive(Deserialize)]
    struct NestedResults {
        results: Vec<NestedReport>,
    }
    #[derive(Deserialize)]
    struct NestedReport {
        artifacts: Vec<NestedArtifact>,
    }
    #[derive(Deserialize)]
    struct NestedArtifact {
        path: PathBuf,
        change: ChangeKind,
    }
    if result.name != crate::delegate_task::TOOL_NAME {
        return Vec::new();
    }
    let Ok(results) = serde_json::from_str::<NestedResults>(&result.content) else {
        return Vec::new();
    };
    let all = results.results.into_iter().flat_map(|below| below.artifacts);
    all.map(|changed| (changed.path, changed.change)).collect()
}

/// Describes a call in a few words.
fn describe_call(begun: &CallStarted<'_>) -> String {
    let about = begun.arguments.as_object().and_then(|fields| {
        fields.values().find_map(|value| value.as_str().filter(|text| !text.is_empty()))
    });
    one_line_excerpt(&format!("{} {}", begun.tool, about.unwrap_or_default()), 60)
}
