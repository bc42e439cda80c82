//! State of the screen, independent of the terminal.

use std::collections::VecDeque;
use std::time::Instant;

use tokio::sync::mpsc::UnboundedSender;

use super::calls::{LiveCalls, spinner, whole_seconds};
use super::keys::{KeyPress, TerminalInput};
use super::painter::{LiveArea, ScreenPainter};
use super::prompt::{LinePrompt, PromptAction};
use super::question_prompt::{KeyResult, QuestionPrompt};
use super::terminal::TerminalCapabilities;
use crate::command::{ScreenCommand, StatusLine};
use crate::editor::InputHistory;
use crate::row::{DIM_STYLE, PLAIN_STYLE, StyledRow, TextStyle};
use crate::sanitize::one_line;
use crate::transcript::{ChatTranscript, FinishedCall};
use crate::{QuestionAnswer, ScreenOptions, UserEvent};

/// Maximum number of submitted lines waiting to be echoed.
const MAX_PENDING_ECHOES: usize = 16;

/// State of a screen.
pub(crate) struct ScreenState {
    transcript: ChatTranscript,
    prompt: LinePrompt,
    calls: LiveCalls,
    questions: VecDeque<QuestionPrompt>,
    status: StatusLine,
    working: Option<(String, Instant)>,
    painter: ScreenPainter,
    columns: usize,
    height: usize,
    last_key: Option<Instant>,
    /// Submitted lines with their displayed form, until they are echoed.
    sent: VecDeque<(String, String)>,
    event_tx: UnboundedSender<UserEvent>,
}

impl ScreenState {
    pub(crate) fn new(
        look: &ScreenOptions,
        (columns, height): (usize, usize),
        abilities: TerminalCapabilities,
        tell: UnboundedSender<UserEvent>,
    ) -> Self {
        let history = InputHistory::open(look.history.clone());
        Self {
            transcript: ChatTranscript::new(usable_columns(columns), look.whole_thoughts),
            prompt: LinePrompt::new(history, look.completer.clone(), &look.placeholder),
            calls: LiveCalls::default(),
            questions: VecDeque::new(),
            status: StatusLine::default(),
            working: None,
            painter: ScreenPainter::new((columns, height), abilities),
            columns,
            height,
            last_key: None,
            sent: VecDeque::new(),
            event_tx: tell,
        }
    }

    pub(crate) fn resize(&mut self, (columns, height): (usize, usize)) {
        if (columns, height) != (self.columns, self.height) {
            self.columns = columns;
            self.height = height;
            self.transcript.set_columns(usable_columns(columns));
            self.painter.resize(columns, height);
            let _ = self.event_tx.send(UserEvent::Resized);
        }
    }

    /// Marks the screen as stale after other output to the terminal.
    pub(crate) fn invalidate(&mut self) {
        self.painter.invalidate();
    }

    /// Whether an animation requires periodic redraws.
    pub(crate) fn is_animating(&self) -> bool {
        !self.calls.is_empty() || self.working.is_some() || self.transcript.thinking().is_some()
    }

    /// Returns when the next timed action is due.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.questions.front()?.confirm_at()
    }

    /// Runs the timed action if due; returns whether it ran.
    pub(crate) fn run_due(&mut self, now: Instant) -> bool {
        let settled = self.questions.front().and_then(|asking| asking.confirmed_answer(now));
        let is_settled = settled.is_some();
        if is_settled {
            self.answer_question(settled);
        }
        is_settled
    }

    pub(crate) fn on_command(&mut self, order: ScreenCommand, now: Instant) {
        match order {
            ScreenCommand::Text(piece) => self.transcript.text(&piece),
            ScreenCommand::EndText => self.transcript.end_section(),
            ScreenCommand::Thought(piece) => self.transcript.thought(&piece, now),
            ScreenCommand::Working(label) => {
                let since = self.working.take().map_or(now, |(_, since)| since);
                self.working = label.map(|label| (one_line(&label), since));
            }
            ScreenCommand::CallBegan { id, emoji, name, summary } => {
                self.transcript.end_section();
                self.calls.begin(id, emoji, name, summary, now);
            }
            ScreenCommand::CallProgress { id, message, fraction } => {
                self.calls.progress(&id, &message, fraction);
            }
            ScreenCommand::CallEnded { id, ok, duration, note } => {
                if let Some(call) = self.calls.end(&id) {
                    let (emoji, name, summary) = (&call.emoji, &call.name, &call.summary);
                    let note = &note;
                    self.transcript.call(&FinishedCall {
                        emoji,
                        name,
                        summary,
                        ok,
                        duration,
                        note,
                    });
                }
            }
            ScreenCommand::Message(weight, text) => self.transcript.message(weight, &text),
            ScreenCommand::User(text) => self.echo_user(&text),
            ScreenCommand::Todo(plan) => self.transcript.todo(&plan),
            ScreenCommand::Status(status) => self.status = status,
            ScreenCommand::FillPrompt(text) => self.prompt.fill(&text),
            ScreenCommand::Ask { number, question, answer } => {
                self.questions.push_back(QuestionPrompt::new(number, question, answer));
            }
            ScreenCommand::WithdrawQuestion(number) => {
                self.questions.retain(|asking| asking.number != number)
            }
            ScreenCommand::Reacquire | ScreenCommand::Close => {}
        }
    }

    /// Handles input. Returns an action that concerns the terminal.
    pub(crate) fn on_input(&mut self, input: TerminalInput, now: Instant) -> PromptAction {
        let last = self.last_key.replace(now);
        let reply = match (&input, self.questions.front_mut()) {
            (_, None) => KeyResult::Unhandled,
            (TerminalInput::Key(key), Some(asking)) if !is_terminal_key(*key) => {
                asking.on_key(*key, now, last)
            }
            (TerminalInput::Paste(text), Some(asking)) => asking.paste(text),
            _ => KeyResult::Unhandled,
        };
        match reply {
            KeyResult::Consumed => return PromptAction::Nothing,
            KeyResult::Answered(answer) => {
                self.answer_question(Some(answer));
                return PromptAction::Nothing;
            }
            KeyResult::Refused => {
                self.answer_question(None);
                return PromptAction::Nothing;
            }
            KeyResult::Interrupted => {
                self.answer_question(None);
                let _ = self.event_tx.send(UserEvent::Interrupt);
                return PromptAction::Nothing;
            }
            KeyResult::Unhandled => {}
        }
        let wanted = match input {
            TerminalInput::Key(key) => self.prompt.on_key(key),
            TerminalInput::Paste(text) => {
                self.prompt.paste(&text);
                PromptAction::Nothing
            }
        };
        match wanted {
            PromptAction::Submit { text, shown, files } => {
                self.sent.truncate(MAX_PENDING_ECHOES - 1);
                self.sent.push_front((text.clone(), shown));
                let _ = self.event_tx.send(UserEvent::Line { text, attachments: files });
            }
            PromptAction::ShiftTab => {
                let _ = self.event_tx.send(UserEvent::ShiftTab);
            }
            PromptAction::Interrupt => {
                let _ = self.event_tx.send(UserEvent::Interrupt);
            }
            PromptAction::Quit => {
                let _ = self.event_tx.send(UserEvent::Quit);
            }
            other => return other,
        }
        PromptAction::Nothing
    }

    /// Echoes a user message. A paste shown as one token stays collapsed.
    fn echo_user(&mut self, text: &str) {
        match self.sent.iter().position(|(sent, _)| sent == text) {
            Some(at) => {
                if let Some((_, shown)) = self.sent.remove(at) {
                    self.transcript.user(&shown);
                }
            }
            None => self.transcript.user(text),
        }
    }

    fn answer_question(&mut self, answer: Option<QuestionAnswer>) {
        if let Some(asking) = self.questions.pop_front() {
            self.transcript
                .answered(&asking.question.title, &asking.describe_answer(answer.as_ref()));
            let _ = asking.answer.send(answer);
        }
    }

    /// Returns the bytes that update the terminal.
    pub(crate) fn draw(&mut self, now: Instant) -> String {
        let room = usable_columns(self.columns);
        if let Some(asking) = self.questions.front_mut()
            && asking.show(now, room, self.height / 2)
        {
            self.transcript.quoted(&asking.question.title, &asking.question.body);
        }
        let live = self.live_area(now);
        let printed = self.transcript.take_rows();
        self.painter.draw(&printed, live)
    }

    /// Ends the screen and returns the bytes that leave only printed output.
    pub(crate) fn finish(&mut self) -> String {
        // Pending questions get no answer.
        self.questions.clear();
        self.transcript.end_section();
        self.erase()
    }

    /// Returns the bytes that erase the live rows.
    pub(crate) fn erase(&mut self) -> String {
        let printed = self.transcript.take_rows();
        self.painter.erase(&printed)
    }

    /// Returns the bytes that clear the screen.
    pub(crate) fn clear(&mut self) -> String {
        self.painter.clear()
    }

    fn live_area(&self, now: Instant) -> LiveArea {
        let columns = usable_columns(self.columns);
        let mut below = match self.questions.front() {
            Some(asking) => asking.live_area(columns),
            None => LiveArea::default(),
        };
        let prompt = self.prompt.live_area(columns, (self.height / 3).max(3));
        if below.rows.is_empty() {
            below = prompt;
        } else if !self.prompt.is_empty() {
            below.rows.extend(prompt.rows);
        }
        below.rows.extend(self.status_row().map(|row| row.clipped(columns)));
        let calls = self.calls.rows(columns, now);
        let taken = below.rows.len() + calls.len() + 4;
        let most = self.height.saturating_sub(taken).min(self.height / 2);
        let mut rows = self.transcript.unfinished(most);
        if calls.is_empty()
            && let Some(row) = self.activity_row(columns, now)
        {
            if !rows.is_empty() || self.transcript.has_output() {
                rows.push(StyledRow::default());
            }
            rows.push(row);
        }
        if !calls.is_empty() {
            if self.transcript.separates_calls() {
                rows.push(StyledRow::default());
            }
            rows.extend(calls);
        }
        if !rows.is_empty() || self.transcript.has_output() {
            rows.push(StyledRow::default());
        }
        let cursor = (rows.len() + below.cursor.0, below.cursor.1);
        rows.extend(below.rows);
        LiveArea { rows, cursor }
    }

    /// Returns a row for activity other than calls.
    fn activity_row(&self, columns: usize, now: Instant) -> Option<StyledRow> {
        let (since, label, detail) = match (self.transcript.thinking(), &self.working) {
            (Some((since, line)), _) => (since, "thinking", line),
            (None, Some((label, since))) => (*since, label.as_str(), String::new()),
            (None, None) => return None,
        };
        let elapsed = now.saturating_duration_since(since);
        let mut row = spinner(elapsed).with(label, DIM_STYLE);
        if elapsed.as_secs() >= 1 {
            row.push(&format!(" {}", whole_seconds(elapsed)), DIM_STYLE);
        }
        if !detail.is_empty() {
            row.push(&format!("  {detail}"), TextStyle { italic: true, ..DIM_STYLE });
        }
        Some(row.clipped(columns))
    }

    fn status_row(&self) -> Option<StyledRow> {
        let status = &self.status;
        let mut parts = vec![one_line(&status.model)];
        match (status.context_used, status.context_total) {
            (0, 0) => {}
            (used, 0) => parts.push(format!("{} tokens", format_thousands(used))),
            (used, total) => {
                let percent = used.saturating_mul(100) / total;
                parts.push(format!(
                    "{} / {} ({percent} %)",
                    format_thousands(used),
                    format_thousands(total)
                ));
            }
        }
        parts.extend(status.cost.map(format_cost));
        parts.extend(status.extra.iter().map(|extra| one_line(extra)));
        parts.retain(|part| !part.is_empty());
        (!parts.is_empty())
            .then(|| StyledRow::new("  ", PLAIN_STYLE).with(&parts.join(" · "), DIM_STYLE))
    }
}

/// Whether a key means the same regardless of what is shown.
fn is_terminal_key(key: KeyPress) -> bool {
    key == KeyPress::ctrl('z') || key == KeyPress::ctrl('l')
}

/// Number of columns without the last one, which stays free.
fn usable_columns(columns: usize) -> usize {
    columns.saturating_sub(1).max(1)
}

fn format_thousands(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..100_000 => format!("{}.{}k", count / 1_000, count / 100 % 10),
        100_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count / 100_000 % 10),
    }
}

fn format_cost(dollars: f64) -> String {
    if dollars > 0.0 && dollars < 0.1 { format!("${dollars:.4}") } else { format!("${dollars:.2}") }
}

#[cfg(test)]
#[path = "ui_tests.rs"]
mod tests;
