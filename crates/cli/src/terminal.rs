//! Where words go: data to standard output, messages to standard error, and
//! no complaint when nobody reads on.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How output looks here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TerminalOutput {
    /// Whether results are read by a person.
    pub(crate) stdout_is_person: bool,
    /// Whether messages are read by a person.
    pub(crate) stderr_is_person: bool,
    colour: bool,
    stderr_colour: bool,
    pub(crate) quiet: bool,
}

/// A way to make words stand out. Nothing is said by colour alone.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OutputStyle {
    Bold,
    Dim,
    Green,
    Red,
    Yellow,
    Cyan,
}

impl OutputStyle {
    fn code(self) -> &'static str {
        match self {
            OutputStyle::Bold => "1",
            OutputStyle::Dim => "2",
            OutputStyle::Green => "32",
            OutputStyle::Red => "31",
            OutputStyle::Yellow => "33",
            OutputStyle::Cyan => "36",
        }
    }
}

impl TerminalOutput {
    pub(crate) fn new(quiet: bool) -> Self {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
            || std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        let stdout_is_person = io::stdout().is_terminal();
        let stderr_is_person = io::stderr().is_terminal();
        Self {
            stdout_is_person,
            stderr_is_person,
            colour: stdout_is_person && !no_colour,
            stderr_colour: stderr_is_person && !no_colour,
            quiet,
        }
    }

    /// A terminal that shows no styles.
    pub(crate) fn plain() -> Self {
        Self { colour: false, ..Self::new(true) }
    }

    /// The text in that style, where styles are shown.
    pub(crate) fn paint(&self, style: OutputStyle, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", style.code())
        } else {
            text.to_owned()
        }
    }

    /// The text in that style, where messages are shown.
    pub(crate) fn paint_message(&self, style: OutputStyle, text: &str) -> String {
        if self.stderr_colour {
            format!("\x1b[{}m{text}\x1b[0m", style.code())
        } else {
            text.to_owned()
        }
    }

    /// A word that begins a message and stands out.
    pub(crate) fn message_prefix(&self, word: &str) -> String {
        self.paint_message(OutputStyle::Yellow, &format!("{word}:"))
    }

    /// How many columns there are for a table.
    pub(crate) fn width(&self) -> usize {
        if !self.stdout_is_person {
            return 1000;
        }
        terminal_size::terminal_size()
            .map_or(100, |(terminal_size::Width(w), _)| usize::from(w))
            .max(40)
    }

    /// Prints data and a line's end. A reader that has gone away (`| head -1`)
    /// ends the program quietly.
    pub(crate) fn print_line(&self, text: &str) -> io::Result<()> {
        exit_on_closed_pipe(self.try_print_line(text))
    }

    /// The same for who has something to end first: that the reader has gone
    /// away is an error like any other.
    pub(crate) fn try_print_line(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// A message for people.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{}", self.for_messages(text));
        }
    }

    /// A message for people behind a mark that stands out.
    pub(crate) fn note_marked(&self, style: OutputStyle, mark: &str, text: &str) {
        if !self.quiet {
            let mark = self.paint_message(style, mark);
            let _ = writeln!(io::stderr(), "{mark} {}", self.for_messages(text));
        }
    }

    /// A message that something is not as it should be.
    pub(crate) fn warn(&self, text: &str) {
        if !self.quiet {
            let mark = self.paint_message(OutputStyle::Yellow, "warning:");
            let _ = writeln!(io::stderr(), "{mark} {}", self.for_messages(text));
        }
    }

    /// An error and what to do about it.
    pub(crate) fn error(&self, text: &str, hint: Option<&str>) {
        let mark = self.paint_message(OutputStyle::Red, "error:");
        let mut err = io::stderr().lock();
        let _ = writeln!(err, "{mark} {}", self.for_messages(text));
        if let Some(hint) = hint.filter(|h| !h.is_empty()) {
            let mark = self.paint_message(OutputStyle::Cyan, "hint:");
            let _ = writeln!(err, "{mark} {}", self.for_messages(hint));
        }
    }

    fn for_messages<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.stderr_is_person { show_control_chars(text) } else { Cow::Borrowed(text) }
    }
}

/// How many questions wait for an answer.
static OPEN_QUESTIONS: AtomicUsize = AtomicUsize::new(0);

/// While it lives, a question waits for its answer: nothing else may be written
/// where it stands.
pub(crate) struct OpenQuestion(());

impl OpenQuestion {
    pub(crate) fn begin() -> Self {
        OPEN_QUESTIONS.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// Whether a question waits for its answer.
    pub(crate) fn is_any_open() -> bool {
        OPEN_QUESTIONS.load(Ordering::SeqCst) > 0
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        OPEN_QUESTIONS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The text with its control characters shown as symbols, and without those
/// that turn the direction of writing: a file that is looked at must not steer
/// the terminal.
pub(crate) fn show_control_chars(text: &str) -> Cow<'_, str> {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let steers = |c: char| turns(c) || c.is_control() && c != '\n' && c != '\t';
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let symbol = |c: char| match u32::from(c) {
        _ if !steers(c) => c,
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}'),
        0x7f => '\u{2421}',
        _ => '\u{fffd}',
    };
    text.chars().map(symbol).collect::<String>().into()
}

/// The text on one line, with nothing in it that hides, turns or breaks: what
/// a stranger wrote must not look like a line of ours.
pub(crate) fn one_line(text: &str) -> String {
    let shown = |c: char| {
        let is_odd = c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
        if is_odd { c.escape_unicode().to_string() } else { c.to_string() }
    };
    text.chars().map(shown).collect()
}

/// Passes errors on, but for a closed pipe: then there is nobody to tell.
fn exit_on_closed_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        #[expect(clippy::disallowed_methods, reason = "there is nobody left to answer")]
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => other,
    }
}

/// While it lives, what is typed is not shown.
pub(crate) struct HiddenInputGuard(Option<rustix::termios::Termios>);

impl HiddenInputGuard {
    pub(crate) fn begin() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let Ok(before) = tcgetattr(io::stdin()) else { return Self(None) };
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &silent);
        Self(Some(before))
    }
}

impl Drop for HiddenInputGuard {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let when = rustix::termios::OptionalActions::Now;
            let _ = rustix::termios::tcsetattr(io::stdin(), when, before);
        }
    }
}
