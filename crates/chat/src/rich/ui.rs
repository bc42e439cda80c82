//! Everything that is on the screen, without the terminal it is drawn on.

use std::collections::VecDeque;
use std::time::Instant;

use tokio::sync::mpsc::UnboundedSender;

use super::asking::{Asking, Reply};
use super::calls::{Calls, spinner, whole_seconds};
use super::keys::{Input, Key};
use super::painter::{Live, Painter};
use super::prompt::{Prompt, Wanted};
use super::terminal::Abilities;
use crate::clean::one_line;
use crate::editor::History;
use crate::order::{Order, Status};
use crate::row::{DIM, PLAIN, Row, Style};
use crate::transcript::{Ended, Transcript};
use crate::{Answer, Event, Look};

/// So many sent lines may wait to be shown again.
const MOST_SENT: usize = 16;

/// What a screen consists of.
pub(crate) struct Ui {
    transcript: Transcript,
    prompt: Prompt,
    calls: Calls,
    questions: VecDeque<Asking>,
    status: Status,
    working: Option<(String, Instant)>,
    painter: Painter,
    columns: usize,
    height: usize,
    last_key: Option<Instant>,
    /// Lines that were sent, and how they looked, until they are shown again.
    sent: VecDeque<(String, String)>,
    tell: UnboundedSender<Event>,
}

impl Ui {
    pub(crate) fn new(
        look: &Look,
        (columns, height): (usize, usize),
        abilities: Abilities,
        tell: UnboundedSender<Event>,
    ) -> Self {
        let history = History::open(look.history.clone());
        Self {
            transcript: Transcript::new(room(columns), look.whole_thoughts),
            prompt: Prompt::new(history, look.completer.clone(), &look.placeholder),
            calls: Calls::default(),
            questions: VecDeque::new(),
            status: Status::default(),
            working: None,
            painter: Painter::new((columns, height), abilities),
            columns,
            height,
            last_key: None,
            sent: VecDeque::new(),
            tell,
        }
    }

    pub(crate) fn resize(&mut self, (columns, height): (usize, usize)) {
        if (columns, height) != (self.columns, self.height) {
            self.columns = columns;
            self.height = height;
            self.transcript.set_columns(room(columns));
            self.painter.resize(columns, height);
            let _ = self.tell.send(Event::Resized);
        }
    }

    /// Somebody else wrote to the terminal.
    pub(crate) fn forget(&mut self) {
        self.painter.forget();
    }

    /// Whether something turns, and must be drawn again by itself.
    pub(crate) fn is_turning(&self) -> bool {
        !self.calls.is_empty() || self.working.is_some() || self.transcript.thinking().is_some()
    }

    /// When something happens by itself.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.questions.front()?.due()
    }

    /// Lets it happen; true if something did.
    pub(crate) fn settle(&mut self, now: Instant) -> bool {
        let settled = self.questions.front().and_then(|asking| asking.settled(now));
        let is_settled = settled.is_some();
        if is_settled {
            self.answer(settled);
        }
        is_settled
    }

    pub(crate) fn order(&mut self, order: Order, now: Instant) {
        match order {
            Order::Text(piece) => self.transcript.text(&piece),
            Order::EndText => self.transcript.end_speech(),
            Order::Thought(piece) => self.transcript.thought(&piece, now),
            Order::Working(label) => {
                let since = self.working.take().map_or(now, |(_, since)| since);
                self.working = label.map(|label| (one_line(&label), since));
            }
            Order::CallBegan { id, emoji, name, summary } => {
                self.transcript.end_speech();
                self.calls.begin(id, emoji, name, summary, now);
            }
            Order::CallProgress { id, message, fraction } => {
                self.calls.progress(&id, &message, fraction);
            }
            Order::CallEnded { id, ok, duration, note } => {
                if let Some(call) = self.calls.end(&id) {
                    let (emoji, name, summary) = (&call.emoji, &call.name, &call.summary);
                    let note = &note;
                    self.transcript.call(&Ended { emoji, name, summary, ok, duration, note });
                }
            }
            Order::Message(weight, text) => self.transcript.message(weight, &text),
            Order::User(text) => self.user(&text),
            Order::Todo(plan) => self.transcript.todo(&plan),
            Order::Status(status) => self.status = status,
            Order::Fill(text) => self.prompt.fill(&text),
            Order::Ask { number, question, answer } => {
                self.questions.push_back(Asking::new(number, question, answer));
            }
            Order::Withdraw(number) => self.questions.retain(|asking| asking.number != number),
            Order::Retake | Order::Close => {}
        }
    }

    /// Something was typed. What is returned concerns the terminal.
    pub(crate) fn input(&mut self, input: Input, now: Instant) -> Wanted {
        let last = self.last_key.replace(now);
        let reply = match (&input, self.questions.front_mut()) {
            (_, None) => Reply::NotMine,
            (Input::Key(key), Some(asking)) if !is_for_terminal(*key) => {
                asking.key(*key, now, last)
            }
            (Input::Paste(text), Some(asking)) => asking.paste(text),
            _ => Reply::NotMine,
        };
        match reply {
            Reply::Open => return Wanted::Nothing,
            Reply::Answered(answer) => {
                self.answer(Some(answer));
                return Wanted::Nothing;
            }
            Reply::Refused => {
                self.answer(None);
                return Wanted::Nothing;
            }
            Reply::Interrupted => {
                self.answer(None);
                let _ = self.tell.send(Event::Interrupt);
                return Wanted::Nothing;
            }
            Reply::NotMine => {}
        }
        let wanted = match input {
            Input::Key(key) => self.prompt.key(key),
            Input::Paste(text) => {
                self.prompt.paste(&text);
                Wanted::Nothing
            }
        };
        match wanted {
            Wanted::Send { text, shown, files } => {
                self.sent.truncate(MOST_SENT - 1);
                self.sent.push_front((text.clone(), shown));
                let _ = self.tell.send(Event::Line { text, attachments: files });
            }
            Wanted::ShiftTab => {
                let _ = self.tell.send(Event::ShiftTab);
            }
            Wanted::Interrupt => {
                let _ = self.tell.send(Event::Interrupt);
            }
            Wanted::Quit => {
                let _ = self.tell.send(Event::Quit);
            }
            other => return other,
        }
        Wanted::Nothing
    }

    /// A paste that was one thing when it was typed is not spread out afterwards.
    fn user(&mut self, text: &str) {
        match self.sent.iter().position(|(sent, _)| sent == text) {
            Some(at) => {
                if let Some((_, shown)) = self.sent.remove(at) {
                    self.transcript.user(&shown);
                }
            }
            None => self.transcript.user(text),
        }
    }

    fn answer(&mut self, answer: Option<Answer>) {
        if let Some(asking) = self.questions.pop_front() {
            self.transcript.answered(&asking.question.title, &asking.told(answer.as_ref()));
            let _ = asking.answer.send(answer);
        }
    }

    /// The bytes that bring the terminal up to date.
    pub(crate) fn draw(&mut self, now: Instant) -> String {
        let room = room(self.columns);
        if let Some(asking) = self.questions.front_mut()
            && asking.show(now, room, self.height / 2)
        {
            self.transcript.quoted(&asking.question.title, &asking.question.body);
        }
        let live = self.live(now);
        let printed = self.transcript.take_rows();
        self.painter.draw(&printed, live)
    }

    /// The bytes that end everything, and leave nothing but what was printed.
    pub(crate) fn finish(&mut self) -> String {
        // Whoever waits for an answer gets none.
        self.questions.clear();
        self.transcript.end_speech();
        self.erase()
    }

    /// The bytes that take away what is live.
    pub(crate) fn erase(&mut self) -> String {
        let printed = self.transcript.take_rows();
        self.painter.erase(&printed)
    }

    /// The bytes that clear the screen.
    pub(crate) fn clear(&mut self) -> String {
        self.painter.clear()
    }

    fn live(&self, now: Instant) -> Live {
        let columns = room(self.columns);
        let mut below = match self.questions.front() {
            Some(asking) => asking.live(columns),
            None => Live::default(),
        };
        let prompt = self.prompt.live(columns, (self.height / 3).max(3));
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
            && let Some(row) = self.waiting(columns, now)
        {
            if !rows.is_empty() || self.transcript.is_begun() {
                rows.push(Row::default());
            }
            rows.push(row);
        }
        if !calls.is_empty() {
            if self.transcript.parts_calls() {
                rows.push(Row::default());
            }
            rows.extend(calls);
        }
        if !rows.is_empty() || self.transcript.is_begun() {
            rows.push(Row::default());
        }
        let cursor = (rows.len() + below.cursor.0, below.cursor.1);
        rows.extend(below.rows);
        Live { rows, cursor }
    }

    /// What is going on beside calls.
    fn waiting(&self, columns: usize, now: Instant) -> Option<Row> {
        let (since, label, detail) = match (self.transcript.thinking(), &self.working) {
            (Some((since, line)), _) => (since, "thinking", line),
            (None, Some((label, since))) => (*since, label.as_str(), String::new()),
            (None, None) => return None,
        };
        let elapsed = now.saturating_duration_since(since);
        let mut row = spinner(elapsed).with(label, DIM);
        if elapsed.as_secs() >= 1 {
            row.push(&format!(" {}", whole_seconds(elapsed)), DIM);
        }
        if !detail.is_empty() {
            row.push(&format!("  {detail}"), Style { italic: true, ..DIM });
        }
        Some(row.clipped(columns))
    }

    fn status_row(&self) -> Option<Row> {
        let status = &self.status;
        let mut parts = vec![one_line(&status.model)];
        match (status.context_used, status.context_total) {
            (0, 0) => {}
            (used, 0) => parts.push(format!("{} tokens", thousands(used))),
            (used, total) => {
                let percent = used.saturating_mul(100) / total;
                parts.push(format!("{} / {} ({percent} %)", thousands(used), thousands(total)));
            }
        }
        parts.extend(status.cost.map(cost));
        parts.extend(status.extra.iter().map(|extra| one_line(extra)));
        parts.retain(|part| !part.is_empty());
        (!parts.is_empty()).then(|| Row::new("  ", PLAIN).with(&parts.join(" · "), DIM))
    }
}

/// Keys that mean the same whatever is on the screen.
fn is_for_terminal(key: Key) -> bool {
    key == Key::ctrl('z') || key == Key::ctrl('l')
}

/// The last column stays free.
fn room(columns: usize) -> usize {
    columns.saturating_sub(1).max(1)
}

fn thousands(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..100_000 => format!("{}.{}k", count / 1_000, count / 100 % 10),
        100_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count / 100_000 % 10),
    }
}

fn cost(dollars: f64) -> String {
    if dollars > 0.0 && dollars < 0.1 { format!("${dollars:.4}") } else { format!("${dollars:.2}") }
}

#[cfg(test)]
#[path = "ui_tests.rs"]
mod tests;
