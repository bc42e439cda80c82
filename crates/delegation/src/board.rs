//! Where everybody can see what the sub-agents of a call are doing.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use hermes_agent::{AgentBudget, AgentEvent, AgentObserver};
use hermes_core::{Effect, ErrorKind, Scope, Session, ToolContext, ToolResult, WorkingDir};
use hermes_engine::{CallStarted, Engine};
use serde::{Deserialize, Serialize};

use crate::crew::lock;
use crate::report::{Artifact, Status, Total};
use crate::text::{excerpt, seconds};

/// How many calls a report shows.
const TRACED: usize = 20;
/// How many files it shows.
const SHOWN: usize = 200;
/// How many sub-agents a line of progress shows.
const NAMED: usize = 4;

/// What has been done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    Written,
    Deleted,
}

/// A call that a sub-agent has made.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Step {
    pub(crate) tool: String,
    pub(crate) status: &'static str,
    pub(crate) args_bytes: usize,
    pub(crate) result_bytes: usize,
}

/// What one sub-agent is doing.
#[derive(Debug, Default)]
struct Seat {
    goal: String,
    session: String,
    doing: String,
    began: Option<Instant>,
    ended: Option<(Status, Instant)>,
    budget: Option<AgentBudget>,
    trace: VecDeque<Step>,
    untraced: u32,
    artifacts: BTreeMap<PathBuf, Change>,
    open: HashMap<String, Open>,
}

/// A call that has begun.
#[derive(Debug)]
struct Open {
    args_bytes: usize,
    changes: Vec<(PathBuf, Change)>,
}

/// What one sub-agent is doing, for whoever asks.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Live {
    task_index: usize,
    goal: String,
    status: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    doing: String,
    #[serde(flatten)]
    used: Total,
    duration_seconds: f64,
    #[serde(skip_serializing_if = "String::is_empty")]
    session_id: String,
}

/// What a sub-agent has left on the board.
#[derive(Debug, Default)]
pub(crate) struct Left {
    pub(crate) session: String,
    pub(crate) used: Total,
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) unshown: usize,
    pub(crate) trace: Vec<Step>,
    pub(crate) untraced: u32,
    pub(crate) seconds: f64,
}

/// What the sub-agents of a call are doing.
#[derive(Debug)]
pub(crate) struct Board {
    seats: Mutex<Vec<Seat>>,
    /// The call that shows progress; none in the background.
    cx: Option<ToolContext>,
}

impl Board {
    /// A board for tasks with these goals.
    pub(crate) fn new(goals: impl IntoIterator<Item = String>, cx: Option<ToolContext>) -> Self {
        let seat = |goal| Seat { goal, ..Seat::default() };
        Self { seats: Mutex::new(goals.into_iter().map(seat).collect()), cx }
    }

    /// A sub-agent begins.
    pub(crate) fn begin(&self, at: usize, session: &str, budget: &AgentBudget) {
        self.change(at, |seat| {
            seat.began = Some(Instant::now());
            seat.session = session.to_owned();
            seat.budget = Some(budget.clone());
            "begins".clone_into(&mut seat.doing);
        });
    }

    /// A sub-agent has ended.
    pub(crate) fn end(&self, at: usize, status: Status) {
        self.change(at, |seat| {
            seat.ended = Some((status, Instant::now()));
            seat.doing.clear();
        });
    }

    /// What one has left.
    pub(crate) fn left(&self, at: usize) -> Left {
        let mut seats = lock(&self.seats);
        let Some(seat) = seats.get_mut(at) else { return Left::default() };
        let artifact = |(path, change): (&PathBuf, &Change)| Artifact {
            path: path.to_string_lossy().into_owned(),
            change: *change,
        };
        Left {
            session: seat.session.clone(),
            used: seat.used(),
            artifacts: seat.artifacts.iter().take(SHOWN).map(artifact).collect(),
            unshown: seat.artifacts.len().saturating_sub(SHOWN),
            trace: seat.trace.drain(..).collect(),
            untraced: seat.untraced,
            seconds: seat.seconds(),
        }
    }

    /// What all are doing.
    pub(crate) fn live(&self) -> Vec<Live> {
        let seats = lock(&self.seats);
        let live = |(task_index, seat): (usize, &Seat)| Live {
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

    fn change(&self, at: usize, change: impl FnOnce(&mut Seat)) {
        let mut seats = lock(&self.seats);
        if let Some(seat) = seats.get_mut(at) {
            change(seat);
        }
        let Some(cx) = self.cx.as_ref().filter(|cx| cx.progress.is_some()) else { return };
        let (fraction, line) = line(&seats);
        drop(seats);
        cx.report_progress(Some(fraction), line);
    }
}

/// What the seats show, in a line, and the part of them that is through.
fn line(seats: &[Seat]) -> (f64, String) {
    let ended = seats.iter().filter(|seat| seat.ended.is_some()).count();
    let mut line = format!("{ended} of {} done", seats.len());
    let busy = seats.iter().enumerate().filter(|(_, seat)| !seat.doing.is_empty());
    for (at, seat) in busy.take(NAMED) {
        line.push_str(&format!(" · {}: {}", at + 1, seat.doing));
    }
    (ended as f64 / seats.len().max(1) as f64, line)
}

impl Seat {
    fn used(&self) -> Total {
        self.budget.as_ref().map(|budget| budget.spent().into()).unwrap_or_default()
    }

    fn seconds(&self) -> f64 {
        let Some(began) = self.began else { return 0.0 };
        let until = self.ended.map_or_else(Instant::now, |(_, at)| at);
        seconds(until.saturating_duration_since(began))
    }

    fn status(&self) -> &'static str {
        match (self.ended, self.began) {
            (Some((status, _)), _) => status.name(),
            (None, Some(_)) => "working",
            (None, None) => "waiting",
        }
    }

    fn close(&mut self, result: &ToolResult, changes: Vec<(PathBuf, Change)>) {
        let open = self.open.remove(&result.tool_call_id);
        let (args_bytes, declared) =
            open.map(|open| (open.args_bytes, open.changes)).unwrap_or_default();
        if result.is_success() {
            self.artifacts.extend(declared.into_iter().chain(changes));
        }
        self.trace.push_back(Step {
            tool: result.name.clone(),
            status: match result.status {
                hermes_core::CallStatus::Success => "ok",
                hermes_core::CallStatus::Error(ErrorKind::Cancelled) => "cancelled",
                hermes_core::CallStatus::Error(_) => "error",
            },
            args_bytes,
            result_bytes: result.content.len(),
        });
        if self.trace.len() > TRACED {
            self.trace.pop_front();
            self.untraced += 1;
        }
        "thinks".clone_into(&mut self.doing);
    }
}

/// Watches one sub-agent for the board.
pub(crate) struct Eyes {
    pub(crate) board: Arc<Board>,
    pub(crate) at: usize,
    pub(crate) engine: Engine,
    pub(crate) session: Session,
    pub(crate) workplace: Arc<WorkingDir>,
}

impl AgentObserver for Eyes {
    fn on_event(&self, notice: &AgentEvent<'_>) {
        match notice {
            AgentEvent::RoundStarted { .. } => {
                self.board.change(self.at, |seat| "thinks".clone_into(&mut seat.doing));
            }
            AgentEvent::CallStarted(begun) => {
                let open = Open {
                    args_bytes: begun.arguments.to_string().len(),
                    changes: self.changes(begun),
                };
                let doing = doing(begun);
                self.board.change(self.at, |seat| {
                    seat.doing = doing;
                    seat.open.insert(begun.call.to_owned(), open);
                });
            }
            AgentEvent::Progress { tool, progress, .. } if !progress.message.is_empty() => {
                let doing = excerpt(&format!("{tool} {}", progress.message), 80);
                self.board.change(self.at, |seat| seat.doing = doing);
            }
            AgentEvent::CallEnded { result, .. } => {
                let below = changes_below(result);
                self.board.change(self.at, |seat| seat.close(result, below));
            }
            _ => {}
        }
    }
}

impl Eyes {
    /// The files that a call says it will change.
    fn changes(&self, begun: &CallStarted<'_>) -> Vec<(PathBuf, Change)> {
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
        bound.effects(&at).iter().filter_map(change).collect()
    }
}

fn change(effect: &Effect) -> Option<(PathBuf, Change)> {
    let path = effect.resource.as_path()?.to_owned();
    if effect.scope == Scope::FILE_WRITE {
        Some((path, Change::Written))
    } else if effect.scope == Scope::FILE_DELETE {
        Some((path, Change::Deleted))
    } else {
        None
    }
}

/// The files that sub-agents of a sub-agent have changed.
fn changes_below(result: &ToolResult) -> Vec<(PathBuf, Change)> {
    #[derive(Deserialize)]
    struct Results {
        results: Vec<Below>,
    }
    #[derive(Deserialize)]
    struct Below {
        artifacts: Vec<Changed>,
    }
    #[derive(Deserialize)]
    struct Changed {
        path: PathBuf,
        change: Change,
    }
    if result.name != crate::delegate_task::NAME {
        return Vec::new();
    }
    let Ok(results) = serde_json::from_str::<Results>(&result.content) else { return Vec::new() };
    let all = results.results.into_iter().flat_map(|below| below.artifacts);
    all.map(|changed| (changed.path, changed.change)).collect()
}

/// A call in a few words.
fn doing(begun: &CallStarted<'_>) -> String {
    let about = begun.arguments.as_object().and_then(|fields| {
        fields.values().find_map(|value| value.as_str().filter(|text| !text.is_empty()))
    });
    excerpt(&format!("{} {}", begun.tool, about.unwrap_or_default()), 60)
}
