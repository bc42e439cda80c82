//! Terminal output: data to standard output, messages to standard error. A
//! closed pipe is not an error.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Output settings of the terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TerminalOutput {
    /// Whether standard output is a terminal.
    pub(crate) stdout_is_person: bool,
    /// Whether standard error is a terminal.
    pub(crate) stderr_is_person: bool,
    colour: bool,
    stderr_colour: bool,
    pub(crate) quiet: bool,
}

/// Text style. Colour never carries meaning on its own.
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

    /// Returns an output without styles.
    pub(crate) fn plain() -> Self {
        Self { colour: false, ..Self::new(true) }
    }

    /// Styles a text for standard output.
    pub(crate) fn paint(&self, style: OutputStyle, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", style.code())
        } else {
            text.to_owned()
        }
    }

    /// Styles a text for standard error.
    pub(crate) fn paint_message(&self, style: OutputStyle, text: &str) -> String {
        if self.stderr_colour {
            format!("\x1b[{}m{text}\x1b[0m", style.code())
        } else {
            text.to_owned()
        }
    }

    /// Returns a highlighted prefix for a message.
    pub(crate) fn message_prefix(&self, word: &str) -> String {
        self.paint_message(OutputStyle::Yellow, &format!("{word}:"))
    }

    /// Returns the width for tables, in columns.
    pub(crate) fn width(&self) -> usize {
        if !self.stdout_is_person {
            return 1000;
        }
        terminal_size::terminal_size()
            .map_or(100, |(terminal_size::Width(w), _)| usize::from(w))
            .max(40)
    }

    /// Prints a line of data. Exits quietly if the pipe is closed (`| head
    /// -1`).
    pub(crate) fn print_line(&self, text: &str) -> io::Result<()> {
        exit_on_closed_pipe(self.try_print_line(text))
    }

    /// Prints a line of data, and returns a closed pipe as an error, for
    /// callers that must clean up first.
    pub(crate) fn try_print_line(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Prints a message, unless quiet.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{}", self.for_messages(text));
        }
    }

    /// Prints a message after a styled mark, unless quiet.
    pub(crate) fn note_marked(&self, style: OutputStyle, mark: &str, text: &str) {
        if !self.quiet {
            let mark = self.paint_message(style, mark);
            let _ = writeln!(io::stderr(), "{mark} {}", self.for_messages(text));
        }
    }

    /// Prints a warning, unless quiet.
    pub(crate) fn warn(&self, text: &str) {
        if !self.quiet {
            let mark = self.paint_message(OutputStyle::Yellow, "warning:");
            let _ = writeln!(io::stderr(), "{mark} {}", self.for_messages(text));
        }
    }

    /// Prints an error and its hint.
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

/// Number of questions waiting for an answer.
static OPEN_QUESTIONS: AtomicUsize = AtomicUsize::new(0);

/// Marks a question as open until dropped; no other output may be written
/// meanwhile.
pub(crate) struct OpenQuestion(());

impl OpenQuestion {
    pub(crate) fn begin() -> Self {
        OPEN_QUESTIONS.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// Whether any question is open.
    pub(crate) fn is_any_open() -> bool {
        OPEN_QUESTIONS.load(Ordering::SeqCst) > 0
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        OPEN_QUESTIONS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Replaces control characters and bidirectional overrides with symbols, so
/// displayed content cannot control the terminal.
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

/// Escapes line breaks, invisible and bidirectional characters, so untrusted
/// text cannot imitate a line of our output.
pub(crate) fn one_line(text: &str) -> String {
    let shown = |c: char| {
        let is_odd = c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
        if is_odd { c.escape_unicode().to_string() } else { c.to_string() }
    };
    text.chars().map(shown).collect()
}

/// Exits on a closed pipe and returns other errors.
fn exit_on_closed_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        #[expect(clippy::disallowed_methods, reason = "the reader has closed the pipe")]
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => other,
    }
}

/// Turns terminal echo off until dropped.
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
