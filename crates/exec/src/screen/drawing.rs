//! Terminal grid on top of the vt100 library, with the sequences that the
//! library lacks.

use std::fmt;
use std::num::NonZeroU16;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::queries;

/// Maximum rows of scrollback.
const MAX_HISTORY_ROWS: usize = 1000;

/// Maximum bytes of pending replies. A program that never reads them gets no
/// more.
const MAX_REPLY_BYTES: usize = 4096;

/// Maximum characters of a title.
const MAX_TITLE_CHARS: usize = 256;

/// Maximum rows of a wrapped line that is still joined to one.
const MAX_WRAPPED_ROWS: usize = 8;

/// The grid, the window title and the pending replies.
pub(super) struct TerminalGrid {
    parser: vt100::Parser,
    title: String,
    replies: Vec<u8>,
    /// How often the grid was reset after a panic.
    pub(super) restarts: usize,
}

impl fmt::Debug for TerminalGrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalGrid")
            .field("size", &self.size())
            .field("title", &self.title)
            .field("replies", &self.replies.len())
            .field("restarts", &self.restarts)
            .finish_non_exhaustive()
    }
}

impl TerminalGrid {
    pub(super) fn new(rows: NonZeroU16, cols: NonZeroU16) -> Self {
        Self {
            parser: vt100::Parser::new(rows, cols, MAX_HISTORY_ROWS),
            title: String::new(),
            replies: Vec::new(),
            restarts: 0,
        }
    }

    pub(super) fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    pub(super) fn size(&self) -> (u16, u16) {
        let (rows, cols) = self.screen().size();
        (rows.get(), cols.get())
    }

    pub(super) fn cursor(&self) -> (u16, u16) {
        let (row, col) = self.screen().cursor_position();
        let (rows, cols) = self.size();
        // The cursor is past the last column until the next character wraps.
        (row.min(rows - 1), col.min(cols - 1))
    }

    /// Draws complete input: text, control characters, whole sequences.
    pub(super) fn draw(&mut self, bytes: &[u8]) {
        self.catch_panic(|parser| parser.process(bytes));
    }

    pub(super) fn resize(&mut self, rows: NonZeroU16, cols: NonZeroU16) {
        self.catch_panic(|parser| parser.set_size(rows, cols));
        if self.screen().size() != (rows, cols) {
            self.parser = vt100::Parser::new(rows, cols, MAX_HISTORY_ROWS);
        }
    }

    /// Resets the grid if the library panics, so the job continues: the input
    /// is untrusted, and the library asserts invariants about its own state.
    pub(super) fn catch_panic(&mut self, change: impl FnOnce(&mut vt100::Parser)) {
        let (rows, cols) = self.screen().size();
        let parser = &mut self.parser;
        if catch_unwind(AssertUnwindSafe(|| change(parser))).is_err() {
            self.parser = vt100::Parser::new(rows, cols, MAX_HISTORY_ROWS);
            self.restarts += 1;
        }
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn set_title(&mut self, title: &[u8]) {
        let title = String::from_utf8_lossy(title);
        self.title = title.chars().filter(|c| !c.is_control()).take(MAX_TITLE_CHARS).collect();
    }

    /// Queues a reply to the program.
    pub(super) fn queue_reply(&mut self, answer: &[u8]) {
        // The program would read a partial reply as keys.
        if self.replies.len() + answer.len() <= MAX_REPLY_BYTES {
            self.replies.extend_from_slice(answer);
        }
    }

    pub(super) fn take_replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.replies)
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = String> + '_ {
        let (_, cols) = self.size();
        self.screen().rows(0, cols)
    }

    /// Returns up to `most` rows of scrollback, followed by the visible rows.
    pub(super) fn history(&mut self, most: usize) -> Vec<String> {
        let (height, cols) = self.size();
        let screen = self.parser.screen_mut();
        let mut left = most.min(screen.scrollback_len());
        let mut rows = Vec::with_capacity(left + usize::from(height));
        while left > 0 {
            screen.set_scrollback(left);
            let step = left.min(usize::from(height));
            rows.extend(screen.rows(0, cols).take(step));
            left -= step;
        }
        screen.set_scrollback(0);
        rows.extend(screen.rows(0, cols));
        rows
    }

    /// Returns the text before the cursor, including trailing blanks that were
    /// written. None if text follows the cursor: then it is not at the end of a
    /// prompt.
    pub(super) fn before_cursor(&self) -> Option<String> {
        let screen = self.screen();
        let (row, _) = self.cursor();
        let (_, cols) = self.size();
        let col = screen.cursor_position().1.min(cols);
        let behind = screen.rows(col, cols - col).nth(usize::from(row))?;
        if !behind.trim().is_empty() {
            return None;
        }
        let mut text = String::new();
        for (at, line) in (0..row).zip(screen.rows(0, cols)) {
            text.push_str(&line);
            if !(screen.row_wrapped(at) && usize::from(row - at) <= MAX_WRAPPED_ROWS) {
                text.push('\n');
            }
        }
        text.push_str(&screen.rows(0, col).nth(usize::from(row))?);
        // `rows` ends at the last written cell; fill up to the cursor with
        // blanks.
        let written = (0..col)
            .rev()
            .find(|at| {
                screen
                    .cell(row, *at)
                    .is_some_and(|cell| cell.has_contents() || cell.is_wide_continuation())
            })
            .map_or(0, |at| at + 1);
        text.extend(std::iter::repeat_n(' ', usize::from(col - written)));
        Some(text)
    }

    /// Returns the last row if a program on the alternate screen highlights it
    /// up to the cursor, as `less` does with a file name while it waits.
    pub(super) fn highlighted_status(&self) -> Option<String> {
        let screen = self.screen();
        let ((rows, cols), (row, col)) = (self.size(), self.cursor());
        if !screen.alternate_screen() || row + 1 != rows || col == 0 {
            return None;
        }
        let marked = (0..col).all(|at| screen.cell(row, at).is_some_and(vt100::Cell::inverse));
        let blank =
            (col..cols).all(|at| screen.cell(row, at).is_none_or(|cell| !cell.has_contents()));
        let line = screen.rows(0, cols).nth(usize::from(row))?;
        (marked && blank).then(|| line.trim().to_owned())
    }

    /// Handles a control sequence that the library does not support. Returns
    /// false if the library supports it.
    pub(super) fn handle_control(&mut self, sequence: &queries::ControlSequence<'_>) -> bool {
        if let Some(answer) = queries::answer_control(sequence, self) {
            self.queue_reply(&answer);
            return true;
        }
        if !sequence.intermediates.is_empty() {
            return false;
        }
        let (_, cols) = self.size();
        let (_, col) = self.cursor();
        let count = sequence.number(0).unwrap_or(0).max(1);
        match (sequence.prefix, sequence.final_byte) {
            (b"", b's') if sequence.params.is_empty() => self.draw(b"\x1b7"),
            (b"", b'u') if sequence.params.is_empty() => self.draw(b"\x1b8"),
            (b"", b'a') => self.draw(format!("\x1b[{count}C").as_bytes()),
            (b"", b'e') => self.draw(format!("\x1b[{count}B").as_bytes()),
            (b"", b'I') => {
                let tabs = usize::from(count.min(cols / 8 + 1));
                self.draw(&b"\t".repeat(tabs));
            }
            (b"", b'Z') => {
                // To the last tab stop before the cursor, then 8 columns each.
                let stop = col.div_ceil(8).saturating_sub(count).saturating_mul(8);
                self.draw(format!("\x1b[{}G", stop + 1).as_bytes());
            }
            // Limits repetition, so a few bytes cannot redraw the screen many
            // times.
            (b"", b'b') => {
                let room = cols - self.screen().cursor_position().1.min(cols);
                if room > 0 {
                    self.draw(format!("\x1b[{}b", count.min(room)).as_bytes());
                }
            }
            (b"?", b'h') if sequence.params == b"1047" => self.draw(b"\x1b[?47h"),
            (b"?", b'l') if sequence.params == b"1047" => {
                if self.screen().alternate_screen() {
                    self.draw(b"\x1b[2J\x1b[?47l");
                }
            }
            (b"?", b'h') if sequence.params == b"1048" => self.draw(b"\x1b7"),
            (b"?", b'l') if sequence.params == b"1048" => self.draw(b"\x1b8"),
            _ => return false,
        }
        true
    }
}
