//! What an agent does, as lines for people: its words on standard output, its
//! calls on standard error.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use hermes::engine::Engine;
use hermes_agent::{AgentEvent, TurnOutcome, AgentObserver};
use hermes_llm::RetryAction;

use crate::summary;
use crate::terminal::{Asking, Style, Terminal, visible};

/// Calls that take longer are shown while they run.
const MOMENT: Duration = Duration::from_millis(800);

/// Writes what happens as it happens.
pub(crate) struct Lines {
    terminal: Terminal,
    engine: Engine,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whether a line of the answer is open.
    is_open: bool,
    /// Whether a line stands on standard error that will be wiped.
    is_passing: bool,
    running: BTreeMap<String, Running>,
}

struct Running {
    what: String,
    since: Instant,
    doing: Option<String>,
}

impl Lines {
    pub(crate) fn new(terminal: Terminal, engine: Engine) -> Arc<Self> {
        let lines = Arc::new(Self { terminal, engine, state: Mutex::default() });
        if terminal.stderr_is_person {
            let shown = Arc::downgrade(&lines);
            // A call that hangs must still be seen to take its time.
            std::thread::spawn(move || refresh(&shown));
        }
        lines
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A line on standard error, below what stands there.
    fn tell(&self, state: &mut State, line: &str) {
        self.make_way(state);
        self.terminal.note(line);
    }

    /// What stands there is ended or wiped.
    fn make_way(&self, state: &mut State) {
        if state.is_open {
            state.is_open = false;
            let _ = writeln!(io::stdout());
        }
        self.wipe(state);
    }

    fn wipe(&self, state: &mut State) {
        if std::mem::take(&mut state.is_passing) {
            let _ = write!(io::stderr(), "\r\x1b[2K");
        }
    }

    fn name(&self, tool: &str) -> String {
        let snapshot = self.engine.snapshot();
        let emoji = snapshot.find(tool).map(|entry| entry.spec().emoji.to_string());
        format!("{} {tool}", emoji.unwrap_or_else(|| "⚡".to_owned()))
    }

    fn pass(&self) {
        let mut state = self.lock();
        let oldest = state.running.values().min_by_key(|running| running.since);
        let Some(running) = oldest.filter(|running| running.since.elapsed() >= MOMENT) else {
            return;
        };
        let more = match state.running.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let doing = running.doing.as_deref().map(|doing| format!(": {doing}")).unwrap_or_default();
        let time = summary::duration(running.since.elapsed());
        let line = summary::short(&format!("… {time} {}{more}{doing}", running.what), 78);
        if state.is_open || Asking::is_open() {
            return;
        }
        state.is_passing = true;
        let _ = write!(io::stderr(), "\r\x1b[2K{line}");
        let _ = io::stderr().flush();
    }
}

fn refresh(lines: &Weak<Lines>) {
    loop {
        std::thread::sleep(Duration::from_millis(250));
        let Some(lines) = lines.upgrade() else { return };
        lines.pass();
    }
}

impl AgentObserver for Lines {
    /// In a pipe the answer is written when it is whole.
    fn can_retract(&self) -> bool {
        !self.terminal.stdout_is_person
    }

    fn on_event(&self, notice: &AgentEvent<'_>) {
        let mut state = self.lock();
        match notice {
            AgentEvent::Text(text) if self.terminal.stdout_is_person => {
                self.wipe(&mut state);
                let shown = visible(text);
                let mut out = io::stdout().lock();
                let _ = out.write_all(shown.as_bytes()).and_then(|()| out.flush());
                state.is_open = !shown.ends_with('\n') && (state.is_open || !shown.is_empty());
            }
            AgentEvent::Answered { .. } if state.is_open => {
                state.is_open = false;
                let _ = writeln!(io::stdout());
            }
            AgentEvent::CallStarted(begun) if begun.parent.is_none() => {
                let what = format!("{} {}", self.name(begun.tool), summary::of(begun.arguments));
                let running = Running { what, since: Instant::now(), doing: None };
                state.running.insert(begun.call.to_owned(), running);
            }
            AgentEvent::Progress { call, progress, .. } => {
                if let Some(running) = state.running.get_mut(*call) {
                    running.doing = Some(crate::terminal::one_line(&progress.message));
                }
            }
            AgentEvent::CallEnded { result, parent: None } => {
                let what = state.running.remove(&result.tool_call_id);
                let what = what.map_or_else(|| self.name(&result.name), |running| running.what);
                let (style, mark) = match result.is_success() {
                    true => (Style::Green, "✓"),
                    false => (Style::Red, "✗"),
                };
                let time = summary::duration(result.duration);
                self.make_way(&mut state);
                let why = summary::why(result);
                let why = if why.is_empty() { why } else { format!(": {why}") };
                self.terminal.note_marked(style, mark, &format!("{what} ({time}){why}"));
            }
            AgentEvent::AnswerDiscarded { why } => self.tell(&mut state, &format!("asked again: {why}")),
            AgentEvent::Compressed { before, after } => self.tell(
                &mut state,
                &format!("the conversation was shortened from {before} to {after} tokens"),
            ),
            AgentEvent::Retry(setback) => {
                let remedy = match &setback.action {
                    RetryAction::Wait(pause) => format!("again in {}", summary::duration(*pause)),
                    RetryAction::NextKey => "with the next key".to_owned(),
                    RetryAction::NextModel(model) => format!("{model} is asked instead"),
                };
                self.tell(&mut state, &format!("{}: {}; {remedy}", setback.model, setback.error));
            }
            AgentEvent::Warning(text) => self.tell(&mut state, text),
            _ => {}
        }
    }
}

/// What a task took, in a line.
pub(crate) fn told_usage(ended: &TurnOutcome, session: &str, time: Duration) -> String {
    let usage = &ended.usage;
    let cost = usage.cost.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
    let count = |count: u32, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    format!(
        "{}, {}, {} tokens in, {} out{cost}, {}; session {session}",
        count(ended.requests, "turn"),
        count(ended.calls, "call"),
        usage.input,
        usage.output,
        summary::duration(time),
    )
}
