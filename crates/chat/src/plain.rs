//! The form for dumb terminals, files and pipes: lines in, lines out.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::time::Duration;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::clean::{Cleaner, clean, one_line};
use crate::form::{Form, is_dumb};
use crate::order::{Order, TodoState, Weight};
use crate::row::Palette;
use crate::signals::{Signals, Wish};
use crate::transcript::{Transcript, brief};
use crate::{Answer, Event, Question};

/// After this long without output the person is asked for the next line.
const QUIET: Duration = Duration::from_millis(150);

/// A question that waits for a line.
struct Waiting {
    number: u64,
    question: Question,
    answer: oneshot::Sender<Option<Answer>>,
}

/// The screen of those who have none.
pub(crate) struct Plain {
    form: Form,
    /// Nothing is said beside answers but what failed.
    quiet: bool,
    tell: UnboundedSender<Event>,
    cleaner: Cleaner,
    /// The last character was not a line end.
    is_in_line: bool,
    /// An answer is being printed.
    is_speaking: bool,
    has_prompt: bool,
    /// Calls that are under way: identity, emoji, name and summary.
    calls: Vec<(String, String)>,
    is_working: bool,
    questions: VecDeque<Waiting>,
    /// Lines that end in a backslash.
    unfinished: String,
    /// Standard output is this terminal as well.
    shares_terminal: bool,
    /// Makes Markdown readable, where that can be shown.
    rendered: Option<Transcript>,
    /// What is typed is not shown.
    hushed: Option<Hushed>,
}

enum Woken {
    Signal(Wish),
    Order(Option<Order>),
    Line(Option<String>),
    Quiet,
}

impl Plain {
    pub(crate) fn new(form: Form, quiet: bool, tell: UnboundedSender<Event>) -> Self {
        Self {
            form,
            quiet,
            tell,
            cleaner: Cleaner::default(),
            is_in_line: false,
            is_speaking: false,
            has_prompt: false,
            calls: Vec::new(),
            is_working: false,
            questions: VecDeque::new(),
            unfinished: String::new(),
            shares_terminal: io::stdout().is_terminal(),
            hushed: None,
            rendered: can_render().then(|| Transcript::new(columns(), false)),
        }
    }

    pub(crate) async fn run(mut self, mut ordered: UnboundedReceiver<Order>) {
        let Ok(mut signals) = Signals::new() else { return };
        let mut lines = read_lines();
        let mut is_read = false;
        loop {
            let woken = tokio::select! {
                biased;
                wish = signals.next() => Woken::Signal(wish),
                order = ordered.recv() => Woken::Order(order),
                line = lines.recv(), if !is_read => Woken::Line(line),
                () = tokio::time::sleep(QUIET), if self.wants_prompt() => Woken::Quiet,
            };
            match woken {
                Woken::Signal(Wish::Interrupt) => self.tell(Event::Interrupt),
                Woken::Signal(Wish::Terminate) => self.tell(Event::Terminated),
                Woken::Signal(_) => {}
                Woken::Order(None | Some(Order::Close)) => break,
                Woken::Order(Some(order)) => self.order(order),
                Woken::Line(Some(line)) => self.line(&line),
                Woken::Line(None) => {
                    is_read = true;
                    self.end_of_input();
                }
                Woken::Quiet => self.prompt("> "),
            }
        }
        self.end_line();
    }

    fn tell(&self, event: Event) {
        let _ = self.tell.send(event);
    }

    fn wants_prompt(&self) -> bool {
        let is_busy = self.is_speaking || self.is_working || !self.calls.is_empty();
        self.form == Form::Plain && !self.has_prompt && !is_busy && self.questions.is_empty()
    }

    /// Where the person looks, even if answers go elsewhere.
    fn prompt(&mut self, text: &str) {
        self.end_line();
        if self.shares_terminal {
            let _ = write!(io::stdout(), "{text}");
            let _ = io::stdout().flush();
        } else {
            let _ = write!(io::stderr(), "{text}");
        }
        self.has_prompt = true;
    }

    fn line(&mut self, line: &str) {
        self.has_prompt = false;
        self.is_in_line = false;
        let line = line.trim_end_matches(['\n', '\r']);
        if !self.questions.is_empty() {
            self.reply(line);
            return;
        }
        if let Some(begun) = line.strip_suffix('\\') {
            self.unfinished.push_str(begun);
            self.unfinished.push('\n');
            if self.form == Form::Plain {
                self.prompt("… ");
            }
            return;
        }
        let text = format!("{}{line}", std::mem::take(&mut self.unfinished));
        if !text.trim().is_empty() {
            self.tell(Event::Line { text: clean(&text), attachments: Vec::new() });
        }
    }

    fn end_of_input(&mut self) {
        let rest = std::mem::take(&mut self.unfinished);
        if !rest.trim().is_empty() {
            self.tell(Event::Line { text: clean(&rest), attachments: Vec::new() });
        }
        self.hushed = None;
        for waiting in self.questions.drain(..) {
            let _ = waiting.answer.send(None);
        }
        self.form = Form::Piped;
        self.tell(Event::Quit);
    }

    fn order(&mut self, order: Order) {
        match order {
            Order::Text(piece) => {
                let mut text = String::new();
                match &mut self.rendered {
                    Some(transcript) => {
                        transcript.text(&piece);
                        text = written(transcript);
                    }
                    None => self.cleaner.push(&piece, &mut text),
                }
                self.say(&text);
            }
            Order::EndText => self.end_speech(),
            Order::Working(label) => self.is_working = label.is_some(),
            Order::CallBegan { id, emoji, name, summary } => {
                let head = [emoji, name, summary].map(|part| one_line(&part));
                let head = head.iter().filter(|part| !part.is_empty());
                let head = head.map(String::as_str).collect::<Vec<_>>().join(" ");
                self.calls.push((id, head));
            }
            Order::CallEnded { id, ok, duration, note } => self.end_call(&id, ok, duration, &note),
            Order::Message(Weight::Note, text) => self.remark(&text),
            Order::Message(Weight::Warning, text) => self.remark(&format!("warning: {text}")),
            Order::Message(Weight::Error, text) => self.complain(&format!("error: {text}")),
            Order::Todo(plan) => {
                for line in plan {
                    let mark = match line.state {
                        TodoState::Open => "[ ]",
                        TodoState::Doing => "[>]",
                        TodoState::Done => "[x]",
                        TodoState::Dropped => "[-]",
                    };
                    self.remark(&format!("{mark} {}", one_line(&line.text)));
                }
            }
            Order::Ask { number, question, answer } => {
                if self.form == Form::Plain {
                    self.questions.push_back(Waiting { number, question, answer });
                    if self.questions.len() == 1 {
                        self.ask();
                    }
                } else {
                    let _ = answer.send(None);
                }
            }
            Order::Withdraw(number) => self.withdraw(number),
            // Nothing to see: what was typed is on the terminal, and there is no status row.
            Order::Thought(_)
            | Order::CallProgress { .. }
            | Order::User(_)
            | Order::Status(_)
            | Order::Fill(_)
            | Order::Retake
            | Order::Close => {}
        }
    }

    fn say(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.has_prompt {
            self.end_line();
        }
        self.is_speaking = true;
        self.is_in_line = !text.ends_with('\n');
        let _ = io::stdout().write_all(text.as_bytes());
        let _ = io::stdout().flush();
    }

    fn end_speech(&mut self) {
        if let Some(transcript) = &mut self.rendered {
            transcript.end_text();
            let text = written(transcript);
            self.say(&text);
        }
        if std::mem::take(&mut self.is_speaking) {
            self.end_line();
        }
        self.cleaner = Cleaner::default();
    }

    /// What is written next begins a line.
    fn end_line(&mut self) {
        if std::mem::take(&mut self.is_in_line) || (self.has_prompt && self.shares_terminal) {
            let _ = writeln!(io::stdout());
        } else if self.has_prompt {
            let _ = writeln!(io::stderr());
        }
        self.has_prompt = false;
    }

    /// Says something beside the answer.
    fn remark(&mut self, text: &str) {
        if self.quiet {
            self.end_speech();
        } else {
            self.complain(text);
        }
    }

    /// Says what nobody may miss.
    fn complain(&mut self, text: &str) {
        self.end_speech();
        self.end_line();
        let _ = writeln!(io::stderr(), "{}", clean(text).trim_end());
    }

    fn end_call(&mut self, id: &str, ok: bool, duration: Duration, note: &str) {
        let Some(at) = self.calls.iter().position(|(begun, _)| begun == id) else { return };
        let (_, head) = self.calls.remove(at);
        let mark = if ok { "ok" } else { "failed" };
        let note = one_line(note);
        let note = if note.is_empty() { note } else { format!(": {note}") };
        self.remark(&format!("{head} ({mark}, {}){note}", brief(duration)));
    }

    fn ask(&mut self) {
        let Some(waiting) = self.questions.front() else { return };
        let question = waiting.question.clone();
        let mut text = format!("? {}", one_line(&question.title));
        for line in &question.body {
            text.push_str(&format!("\n  | {line}"));
        }
        for choice in &question.choices {
            text.push_str(&format!("\n  {}  {}", choice.key, one_line(&choice.label)));
        }
        self.remark(&text);
        if question.secret {
            self.hushed = Hushed::new();
        }
        self.prompt("? ");
    }

    fn reply(&mut self, line: &str) {
        let Some(waiting) = self.questions.front() else { return };
        let answer = answer(&waiting.question, line);
        if answer.is_none() && !line.trim().is_empty() {
            self.remark("one of the keys above, or an empty line for no answer");
            self.prompt("? ");
            return;
        }
        if let Some(waiting) = self.questions.pop_front() {
            let _ = waiting.answer.send(answer);
        }
        self.hushed = None;
        self.ask();
    }

    fn withdraw(&mut self, number: u64) {
        let was_first = self.questions.front().is_some_and(|first| first.number == number);
        self.questions.retain(|waiting| waiting.number != number);
        if was_first {
            self.hushed = None;
            self.ask();
        }
    }
}

/// A terminal that does not show what is typed, until this is dropped.
struct Hushed(Termios);

impl Hushed {
    fn new() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut hushed = before.clone();
        hushed.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &hushed).ok()?;
        Some(Self(before))
    }
}

impl Drop for Hushed {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        let _ = writeln!(io::stderr());
    }
}

/// Whether standard output shows styles: a terminal, and nobody who wants none.
fn can_render() -> bool {
    let wants_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = is_dumb(std::env::var("TERM").ok().as_deref());
    io::stdout().is_terminal() && !is_dumb && !wants_none
}

fn columns() -> usize {
    let columns = rustix::termios::tcgetwinsize(io::stdout()).map_or(0, |size| size.ws_col);
    if columns == 0 { 79 } else { usize::from(columns).saturating_sub(1).max(20) }
}

fn written(transcript: &mut Transcript) -> String {
    let mut text = String::new();
    for row in transcript.take_rows() {
        row.write(&mut text, Palette::Colours);
        text.push('\n');
    }
    text
}

/// What a line answers: a key, a label, or in words.
fn answer(question: &Question, line: &str) -> Option<Answer> {
    let line = line.trim();
    let mut keys = line.chars();
    let chosen = match (keys.next(), keys.next()) {
        (Some(key), None) => question.pressed(key),
        _ => question.meant(line),
    };
    match chosen {
        Some(choice) => Some(Answer::Key(choice.key)),
        None if line.is_empty() => None,
        None if question.free_text || question.choices.is_empty() => {
            Some(Answer::Text(clean(line)))
        }
        None => None,
    }
}

/// Lines of standard input, from a thread that may wait for them as long as it takes.
fn read_lines() -> UnboundedReceiver<String> {
    let (send, lines) = unbounded_channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            match io::stdin().lock().read_until(b'\n', &mut bytes) {
                Ok(1..) => {
                    let line = String::from_utf8_lossy(&bytes).into_owned();
                    if send.send(line).is_err() {
                        return;
                    }
                }
                Ok(0) => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
    lines
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;
