//! The terminal that a program draws on, and the keys that are pressed there.
//!
//! A [`TerminalScreen`] takes what a program writes to its terminal and knows what a
//! person would see. [`key`] and [`keys`] are the way back, [`awaits_input`]
//! says whether the last line is a question, and [`pty`] opens the terminal.

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

/// How many rows a screen has unless somebody says otherwise.
pub const DEFAULT_ROWS: u16 = 30;

/// How many columns a screen has unless somebody says otherwise.
pub const DEFAULT_COLS: u16 = 120;

/// A cell takes 32 bytes: this keeps the largest screen within tens of megabytes.
const MAX_ROWS: u16 = 500;
const MAX_COLS: u16 = 500;

/// Where the cursor is, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorPosition {
    /// The row, from the top.
    pub row: u16,
    /// The column, from the left.
    pub col: u16,
    /// Whether the program shows it.
    pub visible: bool,
}

/// What a program has drawn on its terminal.
///
/// Bytes may come in pieces of any size, cut anywhere. Memory is bounded
/// whatever they are: so many rows that scrolled away, sequences up to a
/// length, so many replies that nobody took.
#[derive(Debug)]
pub struct TerminalScreen {
    parser: EscapeParser,
    drawing: TerminalGrid,
    /// Counts what was fed, to see that there is nothing new without looking.
    generation: u64,
    seen: Option<ScreenSnapshot>,
}

/// How it was at the last look.
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
    /// An empty screen of this size (1 to 500 rows, 2 to 500 columns).
    pub fn new(rows: u16, cols: u16) -> Self {
        let (rows, cols) = clamp_size(rows, cols);
        Self {
            parser: EscapeParser::default(),
            drawing: TerminalGrid::new(rows, cols),
            generation: 0,
            seen: None,
        }
    }

    /// Takes what the program wrote.
    pub fn feed(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.generation = self.generation.wrapping_add(1);
            self.parser.feed(bytes, &mut self.drawing);
        }
    }

    /// Makes it larger or smaller; the terminal itself is told by [`pty::set_size`].
    pub fn resize(&mut self, rows: u16, cols: u16) {
        let (rows, cols) = clamp_size(rows, cols);
        self.generation = self.generation.wrapping_add(1);
        self.drawing.resize(rows, cols);
    }

    /// How many rows and columns it has.
    pub fn size(&self) -> (u16, u16) {
        self.drawing.size()
    }

    /// What a person sees: no blanks at the ends of rows, no empty rows at the end.
    pub fn text(&self) -> String {
        join_rows(self.drawing.rows())
    }

    /// What a person sees, after up to `most` rows that have scrolled away.
    pub fn text_with_history(&mut self, most: usize) -> String {
        join_rows(self.drawing.history(most).into_iter())
    }

    /// Whether something has gone past the upper edge, so that nobody sees it.
    pub fn has_scrolled(&self) -> bool {
        self.drawing.screen().scrollback_len() > 0
    }

    /// What a person sees, if text or cursor have changed since this was last
    /// asked.
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

    /// Where the cursor is.
    pub fn cursor(&self) -> CursorPosition {
        let (row, col) = self.drawing.cursor();
        CursorPosition { row, col, visible: !self.drawing.screen().hide_cursor() }
    }

    /// The title that the program gave its window; empty if none.
    pub fn title(&self) -> &str {
        self.drawing.title()
    }

    /// Whether the program draws on a screen of its own, as editors and pagers do.
    pub fn is_alternate(&self) -> bool {
        self.drawing.screen().alternate_screen()
    }

    /// The modes that decide what keys send.
    pub fn modes(&self) -> KeyModes {
        KeyModes { application_cursor: self.drawing.screen().application_cursor() }
    }

    /// What the terminal owes the program, to be written to it: answers to
    /// questions such as "where is the cursor". Each is handed out once.
    pub fn take_replies(&mut self) -> Vec<u8> {
        self.drawing.take_replies()
    }

    /// The bytes of a text that is pasted. A program that asked for it can
    /// tell them from keys that are pressed.
    pub fn paste(&self, text: &str) -> Vec<u8> {
        const START: &str = "\x1b[200~";
        const END: &str = "\x1b[201~";
        if !self.drawing.screen().bracketed_paste() {
            return text.as_bytes().to_vec();
        }
        // Text that carries the end mark would go on as keys. Taking one mark
        // out can make another of what is left of it, so the escape goes.
        let text = text.replace('\x1b', "");
        [START, &text, END].concat().into_bytes()
    }

    /// Whether what is before the cursor looks like a question to a person;
    /// see [`awaits_input`].
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
