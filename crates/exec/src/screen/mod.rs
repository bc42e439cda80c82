//! Terminal emulation: the screen that a program draws on, and key input.
//!
//! A [`TerminalScreen`] renders terminal output as a user would see it.
//! [`encode_key`] and [`encode_keys`] encode input, [`detect_prompt`] reports
//! whether the last line is a prompt, and [`pty`] opens pseudo-terminals.

mod drawing;
mod escape_parser;
mod key;
mod prompt;
mod prompt_words;
pub mod pty;
mod queries;

use std::num::NonZeroU16;

pub use key::{KeyError, KeyModes, encode_key, encode_keys};
pub use prompt::{PromptKind, TerminalPrompt, detect_prompt};

use drawing::TerminalGrid;
use escape_parser::EscapeParser;

/// Default number of rows.
pub const DEFAULT_ROWS: u16 = 30;

/// Default number of columns.
pub const DEFAULT_COLS: u16 = 120;

/// A cell takes 32 bytes: this keeps the largest screen within tens of megabytes.
const MAX_ROWS: u16 = 500;
const MAX_COLS: u16 = 500;

/// Zero-based cursor position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorPosition {
    /// The row, from the top.
    pub row: u16,
    /// The column, from the left.
    pub col: u16,
    /// Whether the program shows the cursor.
    pub visible: bool,
}

/// Emulated terminal screen.
///
/// Input may arrive in chunks of any size, split anywhere. Memory is bounded
/// for any input: scrollback, sequence length and unread replies are limited.
#[derive(Debug)]
pub struct TerminalScreen {
    parser: EscapeParser,
    drawing: TerminalGrid,
    /// Incremented on each input, to detect changes cheaply.
    generation: u64,
    seen: Option<ScreenSnapshot>,
}

/// State at the last call of `text_if_changed`.
#[derive(Debug)]
struct ScreenSnapshot {
    generation: u64,
    row: u16,
    col: u16,
    text: String,
}

impl Default for TerminalScreen {
    fn default() -> Self {
        Self::new(DEFAULT_ROWS, DEFAULT_COLS)
    }
}

impl TerminalScreen {
    /// Creates an empty screen of this size (1 to 500 rows, 2 to 500 columns).
    pub fn new(rows: u16, cols: u16) -> Self {
        let (rows, cols) = clamp_size(rows, cols);
        Self {
            parser: EscapeParser::default(),
            drawing: TerminalGrid::new(rows, cols),
            generation: 0,
            seen: None,
        }
    }

    /// Processes program output.
    pub fn feed(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.generation = self.generation.wrapping_add(1);
            self.parser.feed(bytes, &mut self.drawing);
        }
    }

    /// Resizes the screen; [`pty::set_size`] resizes the terminal itself.
    pub fn resize(&mut self, rows: u16, cols: u16) {
        let (rows, cols) = clamp_size(rows, cols);
        self.generation = self.generation.wrapping_add(1);
        self.drawing.resize(rows, cols);
    }

    /// Returns the number of rows and columns.
    pub fn size(&self) -> (u16, u16) {
        self.drawing.size()
    }

    /// Returns the visible text, without trailing blanks and trailing empty
    /// rows.
    pub fn text(&self) -> String {
        join_rows(self.drawing.rows())
    }

    /// Returns the visible text, preceded by up to `most` rows of scrollback.
    pub fn text_with_history(&mut self, most: usize) -> String {
        join_rows(self.drawing.history(most).into_iter())
    }

    /// Whether rows have scrolled off the top.
    pub fn has_scrolled(&self) -> bool {
        self.drawing.screen().scrollback_len() > 0
    }

    /// Returns the visible text if text or cursor have changed since the last
    /// call.
    pub fn text_if_changed(&mut self) -> Option<String> {
        if self.seen.as_ref().is_some_and(|seen| seen.generation == self.generation) {
            return None;
        }
        let CursorPosition { row, col, .. } = self.cursor();
        let text = self.text();
        let same = match &self.seen {
            Some(seen) => seen.row == row && seen.col == col && seen.text == text,
            None => text.is_empty() && row == 0 && col == 0,
        };
        let generation = self.generation;
        self.seen = Some(ScreenSnapshot { generation, row, col, text: text.clone() });
        (!same).then_some(text)
    }

    /// Returns the cursor position.
    pub fn cursor(&self) -> CursorPosition {
        let (row, col) = self.drawing.cursor();
        CursorPosition { row, col, visible: !self.drawing.screen().hide_cursor() }
    }

    /// Returns the window title set by the program; empty if none.
    pub fn title(&self) -> &str {
        self.drawing.title()
    }

    /// Whether the program uses the alternate screen, as editors and pagers do.
    pub fn is_alternate(&self) -> bool {
        self.drawing.screen().alternate_screen()
    }

    /// Returns the modes that affect key encoding.
    pub fn modes(&self) -> KeyModes {
        KeyModes { application_cursor: self.drawing.screen().application_cursor() }
    }

    /// Returns and clears the pending replies, to be written to the program:
    /// answers to queries such as the cursor position.
    pub fn take_replies(&mut self) -> Vec<u8> {
        self.drawing.take_replies()
    }

    /// Encodes pasted text. A program that enabled bracketed paste can
    /// distinguish it from keys.
    pub fn paste(&self, text: &str) -> Vec<u8> {
        const START: &str = "\x1b[200~";
        const END: &str = "\x1b[201~";
        if !self.drawing.screen().bracketed_paste() {
            return text.as_bytes().to_vec();
        }
        // Text after an embedded end marker would be read as keys. Removing one
        // marker can form another, so all escape characters are removed.
        let text = text.replace('\x1b', "");
        [START, &text, END].concat().into_bytes()
    }

    /// Detects a prompt before the cursor; see [`detect_prompt`].
    pub fn detect_prompt(&self) -> Option<TerminalPrompt> {
        if let Some(line) = self.drawing.highlighted_status() {
            return Some(TerminalPrompt { kind: PromptKind::Pager, line });
        }
        prompt::detect_editor(&self.text())
            .or_else(|| detect_prompt(&self.drawing.before_cursor()?))
    }
}

fn clamp_size(rows: u16, cols: u16) -> (NonZeroU16, NonZeroU16) {
    // A wide character needs two columns.
    let rows = rows.clamp(1, MAX_ROWS);
    let cols = cols.clamp(2, MAX_COLS);
    (NonZeroU16::MIN.saturating_add(rows - 1), NonZeroU16::MIN.saturating_add(cols - 1))
}

fn join_rows(rows: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    let mut empty = 0;
    let mut first = true;
    for row in rows {
        let row = row.trim_end();
        if row.is_empty() {
            empty += 1;
            continue;
        }
        let breaks = if first { empty } else { empty + 1 };
        text.extend(std::iter::repeat_n('\n', breaks));
        text.push_str(row);
        empty = 0;
        first = false;
    }
    text
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
