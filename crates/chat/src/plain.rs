//! Line-based screen for dumb terminals, files and pipes.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::time::Duration;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::command::{MessageLevel, ScreenCommand, TodoState};
use crate::mode::{ScreenMode, is_dumb};
use crate::row::ColourSupport;
use crate::sanitize::{TextSanitizer, one_line, sanitize};
use crate::signals::{SignalAction, SignalListener};
use crate::transcript::{ChatTranscript, format_duration};
use crate::{QuestionAnswer, UserEvent, UserQuestion};

/// Time without output after which the input prompt is shown.
const PROMPT_DELAY: Duration = Duration::from_millis(150);

/// A question waiting for a line.
struct QueuedQuestion {
    number: u64,
    question: UserQuestion,
    answer: oneshot::Sender<Option<QuestionAnswer>>,
}

/// Screen without cursor control.
pub(crate) struct PlainScreen {
    mode: ScreenMode,
    /// Whether to suppress all output but replies and errors.
    quiet: bool,
    event_tx: UnboundedSender<UserEvent>,
    sanitizer: TextSanitizer,
    /// Whether the last character written was not a line break.
    is_in_line: bool,
    /// Whether a reply is being printed.
    is_answering: bool,
    has_prompt: bool,
    /// Running calls: id, and header with emoji, name and summary.
    calls: Vec<(String, String)>,
    is_working: bool,
    questions: VecDeque<QueuedQuestion>,
    /// Input lines that ended in a backslash.
    unfinished: String,
    /// Whether standard output is this terminal too.
    shares_terminal: bool,
    /// Renders Markdown if the output supports it.
    transcript: Option<ChatTranscript>,
    /// Disables terminal echo while held.
    echo_guard: Option<NoEchoGuard>,
}

enum PlainWakeup {
    Signal(SignalAction),
    Order(Option<ScreenCommand>),
    InputLine(Option<String>),
    PromptDue,
}

impl PlainScreen {
    pub(crate) fn new(form: ScreenMode, quiet: bool, tell: UnboundedSender<UserEvent>) -> Self {
        Self {
            mode: form,
            quiet,
            event_tx: tell,
            sanitizer: TextSanitizer::default(),
            is_in_line: false,
            is_answering: false,
            has_prompt: false,
            calls: Vec::new(),
            is_working: false,
            questions: VecDeque::new(),
            unfinished: String::new(),
            shares_terminal: io::stdout().is_terminal(),
            echo_guard: None,
            transcript: can_render().then(|| ChatTranscript::new(columns(), false)),
        }
    }

    pub(crate) async fn run(mut self, mut ordered: UnboundedReceiver<ScreenCommand>) {
        let Ok(mut signals) = SignalListener::new() else { return };
        let mut lines = read_lines();
        let mut is_read = false;
        loop {
            let woken = tokio::select! {
                biased;
                wish = signals.next() => PlainWakeup::Signal(wish),
                order = ordered.recv() => PlainWakeup::Order(order),
                line = lines.recv(), if !is_read => PlainWakeup::InputLine(line),
                () = tokio::time::sleep(PROMPT_DELAY), if self.wants_prompt() => PlainWakeup::PromptDue,
            };
            match woken {
                PlainWakeup::Signal(SignalAction::Interrupt) => self.emit(UserEvent::Interrupt),
                PlainWakeup::Signal(SignalAction::Terminate) => self.emit(UserEvent::Terminated),
                PlainWakeup::Signal(_) => {}
                PlainWakeup::Order(None | Some(ScreenCommand::Close)) => break,
                PlainWakeup::Order(Some(order)) => self.on_command(order),
                PlainWakeup::InputLine(Some(line)) => self.on_line(&line),
                PlainWakeup::InputLine(None) => {
                    is_read = true;
                    self.on_end_of_input();
                }
                PlainWakeup::PromptDue => self.prompt("> "),
            }
        }
        self.end_line();
    }

    fn emit(&self, event: UserEvent) {
        let _ = self.event_tx.send(event);
    }

    fn wants_prompt(&self) -> bool {
        let is_busy = self.is_answering || self.is_working || !self.calls.is_empty();
        self.mode == ScreenMode::Plain && !self.has_prompt && !is_busy && self.questions.is_empty()
    }

    /// Shows a prompt on the terminal, even if replies go elsewhere.
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

    fn on_line(&mut self, line: &str) {
        self.has_prompt = false;
        self.is_in_line = false;
        let line = line.trim_end_matches(['\n', '\r']);
        if !self.questions.is_empty() {
            self.answer_question(line);
            return;
        }
        if let Some(begun) = line.strip_suffix('\\') {
            self.unfinished.push_str(begun);
            self.unfinished.push('\n');
            if self.mode == ScreenMode::Plain {
                self.prompt("… ");
            }
            return;
        }
        let text = format!("{}{line}", std::mem::take(&mut self.unfinished));
        if !text.trim().is_empty() {
            self.emit(UserEvent::Line { text: sanitize(&text), attachments: Vec::new() });
        }
    }

    fn on_end_of_input(&mut self) {
        let rest = std::mem::take(&mut self.unfinished);
        if !rest.trim().is_empty() {
            self.emit(UserEvent::Line { text: sanitize(&rest), attachments: Vec::new() });
        }
        self.echo_guard = None;
        for waiting in self.questions.drain(..) {
            let _ = waiting.answer.send(None);
        }
        self.mode = ScreenMode::Piped;
        self.emit(UserEvent::Quit);
    }

    fn on_command(&mut self, order: ScreenCommand) {
        match order {
            ScreenCommand::Text(piece) => {
                let mut text = String::new();
                match &mut self.transcript {
                    Some(transcript) => {
                        transcript.text(&piece);
                        text = take_rendered(transcript);
                    }
                    None => self.sanitizer.push(&piece, &mut text),
                }
                self.print_answer(&text);
            }
            ScreenCommand::EndText => self.end_answer(),
            ScreenCommand::Working(label) => self.is_working = label.is_some(),
            ScreenCommand::CallBegan { id, emoji, name, summary } => {
                let head = [emoji, name, summary].map(|part| one_line(&part));
                let head = head.iter().filter(|part| !part.is_empty());
                let head = head.map(String::as_str).collect::<Vec<_>>().join(" ");
                self.calls.push((id, head));
            }
            ScreenCommand::CallEnded { id, ok, duration, note } => {
                self.end_call(&id, ok, duration, &note)
            }
            ScreenCommand::Message(MessageLevel::Note, text) => self.print_note(&text),
            ScreenCommand::Message(MessageLevel::Warning, text) => {
                self.print_note(&format!("warning: {text}"))
            }
            ScreenCommand::Message(MessageLevel::Error, text) => {
                self.print_message(&format!("error: {text}"))
            }
            ScreenCommand::Todo(plan) => {
                for line in plan {
                    let mark = match line.state {
                        TodoState::Open => "[ ]",
                        TodoState::Doing => "[>]",
                        TodoState::Done => "[x]",
                        TodoState::Dropped => "[-]",
                    };
                    self.print_note(&format!("{mark} {}", one_line(&line.text)));
                }
            }
            ScreenCommand::Ask { number, question, answer } => {
                if self.mode == ScreenMode::Plain {
                    self.questions.push_back(QueuedQuestion { number, question, answer });
                    if self.questions.len() == 1 {
                        self.ask();
                    }
                } else {
                    let _ = answer.send(None);
                }
            }
            ScreenCommand::WithdrawQuestion(number) => self.withdraw(number),
            // Not shown: the terminal echoes the input, and there is no status
            // row.
            ScreenCommand::Thought(_)
            | ScreenCommand::CallProgress { .. }
            | ScreenCommand::User(_)
            | ScreenCommand::Status(_)
            | ScreenCommand::FillPrompt(_)
            | ScreenCommand::Reacquire
            | ScreenCommand::Close => {}
        }
    }

    fn print_answer(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.has_prompt {
            self.end_line();
        }
        self.is_answering = true;
        self.is_in_line = !text.ends_with('\n');
        let _ = io::stdout().write_all(text.as_bytes());
        let _ = io::stdout().flush();
    }

    fn end_answer(&mut self) {
        if let Some(transcript) = &mut self.transcript {
            transcript.end_text();
            let text = take_rendered(transcript);
            self.print_answer(&text);
        }
        if std::mem::take(&mut self.is_answering) {
            self.end_line();
        }
        self.sanitizer = TextSanitizer::default();
    }

    /// Makes the next output start on a new line.
    fn end_line(&mut self) {
        if std::mem::take(&mut self.is_in_line) || (self.has_prompt && self.shares_terminal) {
            let _ = writeln!(io::stdout());
        } else if self.has_prompt {
            let _ = writeln!(io::stderr());
        }
        self.has_prompt = false;
    }

    /// Prints a message besides the reply, unless in quiet mode.
    fn print_note(&mut self, text: &str) {
        if self.quiet {
            self.end_answer();
        } else {
            self.print_message(text);
        }
    }

    /// Prints a message even in quiet mode.
    fn print_message(&mut self, text: &str) {
        self.end_answer();
        self.end_line();
        let _ = writeln!(io::stderr(), "{}", sanitize(text).trim_end());
    }

    fn end_call(&mut self, id: &str, ok: bool, duration: Duration, note: &str) {
        let Some(at) = self.calls.iter().position(|(begun, _)| begun == id) else { return };
        let (_, head) = self.calls.remove(at);
        let mark = if ok { "ok" } else { "failed" };
        let note = one_line(note);
        let note = if note.is_empty() { note } else { format!(": {note}") };
        self.print_note(&format!("{head} ({mark}, {}){note}", format_duration(duration)));
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
        self.print_note(&text);
        if question.secret {
            self.echo_guard = NoEchoGuard::new();
        }
        self.prompt("? ");
    }

    fn answer_question(&mut self, line: &str) {
        let Some(waiting) = self.questions.front() else { return };
        let answer = parse_answer(&waiting.question, line);
        if answer.is_none() && !line.trim().is_empty() {
            self.print_note("type one of the keys above, or an empty line for no answer");
            self.prompt("? ");
            return;
        }
        if let Some(waiting) = self.questions.pop_front() {
            let _ = waiting.answer.send(answer);
        }
        self.echo_guard = None;
        self.ask();
    }

    fn withdraw(&mut self, number: u64) {
        let was_first = self.questions.front().is_some_and(|first| first.number == number);
        self.questions.retain(|waiting| waiting.number != number);
        if was_first {
            self.echo_guard = None;
            self.ask();
        }
    }
}

/// Disables terminal echo until dropped.
struct NoEchoGuard(Termios);

impl NoEchoGuard {
    fn new() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut hushed = before.clone();
        hushed.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &hushed).ok()?;
        Some(Self(before))
    }
}

impl Drop for NoEchoGuard {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        let _ = writeln!(io::stderr());
    }
}

/// Whether standard output shows styles: a capable terminal without `NO_COLOR`.
fn can_render() -> bool {
    let wants_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = is_dumb(std::env::var("TERM").ok().as_deref());
    io::stdout().is_terminal() && !is_dumb && !wants_none
}

fn columns() -> usize {
    let columns = rustix::termios::tcgetwinsize(io::stdout()).map_or(0, |size| size.ws_col);
    if columns == 0 { 79 } else { usize::from(columns).saturating_sub(1).max(20) }
}

fn take_rendered(transcript: &mut ChatTranscript) -> String {
    let mut text = String::new();
    for row in transcript.take_rows() {
        row.write(&mut text, ColourSupport::Full);
        text.push('\n');
    }
    text
}

/// Parses a line as an answer: a key, a label, or free text.
fn parse_answer(question: &UserQuestion, line: &str) -> Option<QuestionAnswer> {
    let line = line.trim();
    let mut keys = line.chars();
    let chosen = match (keys.next(), keys.next()) {
        (Some(key), None) => question.choice_for_key(key),
        _ => question.choice_for_line(line),
    };
    match chosen {
        Some(choice) => Some(QuestionAnswer::Key(choice.key)),
        None if line.is_empty() => None,
        None if question.free_text || question.choices.is_empty() => {
            Some(QuestionAnswer::Text(sanitize(line)))
        }
        None => None,
    }
}

/// Reads lines of standard input on a separate thread, which may block.
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
