//! Agent events as text: replies on standard output, calls on standard error.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hermes::engine::{CallEvent, Engine};
use hermes_agent::{AgentEvent, AgentObserver, TurnOutcome};
use hermes_llm::RetryAction;
use parking_lot::{Mutex, MutexGuard};

use crate::call_summary;
use crate::terminal::{OpenQuestion, OutputStyle, TerminalOutput, show_control_chars};

/// Calls that take longer show their progress.
const PROGRESS_DELAY: Duration = Duration::from_millis(800);

/// Writes events as they happen.
pub(crate) struct LineEventWriter {
    terminal: TerminalOutput,
    engine: Engine,
    state: Mutex<OutputState>,
}

#[derive(Default)]
struct OutputState {
    /// Whether the current line of the reply is unfinished.
    is_open: bool,
    /// Whether standard error shows a progress line to erase.
    has_transient_line: bool,
    running: BTreeMap<String, RunningCall>,
}

struct RunningCall {
    label: String,
    since: Instant,
    progress: Option<String>,
}

impl LineEventWriter {
    pub(crate) fn new(terminal: TerminalOutput, engine: Engine) -> Arc<Self> {
        let lines = Arc::new(Self { terminal, engine, state: Mutex::default() });
        if terminal.stderr_is_person {
            let shown = Arc::downgrade(&lines);
            // A hanging call still shows its elapsed time.
            std::thread::spawn(move || refresh(&shown));
        }
        lines
    }

    fn lock(&self) -> MutexGuard<'_, OutputState> {
        self.state.lock()
    }

    /// Prints a line on standard error, after any unfinished line.
    fn print_message(&self, state: &mut OutputState, line: &str) {
        self.end_open_line(state);
        self.terminal.note(line);
    }

    /// Finishes the reply's line and erases the progress line.
    fn end_open_line(&self, state: &mut OutputState) {
        if state.is_open {
            state.is_open = false;
            let _ = writeln!(io::stdout());
        }
        self.wipe_transient(state);
    }

    fn wipe_transient(&self, state: &mut OutputState) {
        if std::mem::take(&mut state.has_transient_line) {
            let _ = write!(io::stderr(), "\r\x1b[2K");
        }
    }

    fn tool_label(&self, tool: &str) -> String {
        let snapshot = self.engine.snapshot();
        let emoji = snapshot.find(tool).map(|entry| entry.spec().emoji.to_string());
        format!("{} {tool}", emoji.unwrap_or_else(|| "⚡".to_owned()))
    }

    fn show_transient(&self) {
        let mut state = self.lock();
        let oldest = state.running.values().min_by_key(|running| running.since);
        let Some(running) = oldest.filter(|running| running.since.elapsed() >= PROGRESS_DELAY)
        else {
            return;
        };
        let more = match state.running.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let doing =
            running.progress.as_deref().map(|doing| format!(": {doing}")).unwrap_or_default();
        let time = call_summary::format_duration(running.since.elapsed());
        let line = format!("… {time} {}{more}{doing}", running.label);
        let line = hermes::core::text::excerpt(&line, 78);
        if state.is_open || OpenQuestion::is_any_open() {
            return;
        }
        state.has_transient_line = true;
        let _ = write!(io::stderr(), "\r\x1b[2K{line}");
        let _ = io::stderr().flush();
    }
}

fn refresh(lines: &Weak<LineEventWriter>) {
    loop {
        std::thread::sleep(Duration::from_millis(250));
        let Some(lines) = lines.upgrade() else { return };
        lines.show_transient();
    }
}

impl AgentObserver for LineEventWriter {
    /// In a pipe, a reply is written only once it is complete.
    fn can_retract(&self) -> bool {
        !self.terminal.stdout_is_person
    }

    fn on_event(&self, notice: &AgentEvent<'_>) {
        let mut state = self.lock();
        match notice {
            AgentEvent::Text(text) if self.terminal.stdout_is_person => {
                self.wipe_transient(&mut state);
                let shown = show_control_chars(text);
                let mut out = io::stdout().lock();
                let _ = out.write_all(shown.as_bytes()).and_then(|()| out.flush());
                state.is_open = !shown.ends_with('\n') && (state.is_open || !shown.is_empty());
            }
            AgentEvent::Answered { .. } if state.is_open => {
                state.is_open = false;
                let _ = writeln!(io::stdout());
            }
            AgentEvent::Call(CallEvent::Started(begun)) if begun.parent.is_none() => {
                let what = format!(
                    "{} {}",
                    self.tool_label(begun.tool),
                    call_summary::summarize_arguments(begun.arguments)
                );
                let running = RunningCall { label: what, since: Instant::now(), progress: None };
                state.running.insert(begun.call.to_owned(), running);
            }
            AgentEvent::Call(CallEvent::Progress { call, progress, .. }) => {
                if let Some(running) = state.running.get_mut(*call) {
                    running.progress = Some(crate::terminal::one_line(&progress.message));
                }
            }
            AgentEvent::Call(CallEvent::Ended { result, parent: None }) => {
                let what = state.running.remove(&result.tool_call_id);
                let what =
                    what.map_or_else(|| self.tool_label(&result.name), |running| running.label);
                let (style, mark) = match call_summary::is_success(result) {
                    true => (OutputStyle::Green, "✓"),
                    false => (OutputStyle::Red, "✗"),
                };
                let time = call_summary::format_duration(result.duration);
                self.end_open_line(&mut state);
                let why = call_summary::result_note(result);
                let why = if why.is_empty() { why } else { format!(": {why}") };
                self.terminal.note_marked(style, mark, &format!("{what} ({time}){why}"));
            }
            AgentEvent::AnswerDiscarded { why } => {
                self.print_message(&mut state, &format!("retrying: {why}"))
            }
            AgentEvent::Compressed { before, after } => self.print_message(
                &mut state,
                &format!("compacted the conversation from {before} to {after} tokens"),
            ),
            AgentEvent::Retry(setback) => {
                let remedy = match &setback.action {
                    RetryAction::Wait(pause) => {
                        format!("retrying in {}", call_summary::format_duration(*pause))
                    }
                    RetryAction::NextKey => "retrying with the next key".to_owned(),
                    RetryAction::NextModel(model) => format!("falling back to {model}"),
                };
                self.print_message(
                    &mut state,
                    &format!("{}: {}; {remedy}", setback.model, setback.error),
                );
            }
            AgentEvent::Warning(text) => self.print_message(&mut state, text),
            _ => {}
        }
    }
}

/// Summarizes the usage of a task in one line.
pub(crate) fn usage_summary(ended: &TurnOutcome, session: &str, time: Duration) -> String {
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
        call_summary::format_duration(time),
    )
}
