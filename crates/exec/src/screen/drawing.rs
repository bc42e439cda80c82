//! What the terminal library draws, and what it does not do by itself.

use std::fmt;
use std::num::NonZeroU16;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::queries;

/// How many rows that scrolled away are kept.
const MAX_HISTORY_ROWS: usize = 1000;

/// How many bytes of replies may wait. A program that never reads its answers
/// gets no more of them.
const MAX_REPLY_BYTES: usize = 4096;

/// How many characters of a title are kept.
const MAX_TITLE_CHARS: usize = 256;

/// How many rows a line may have wrapped over and still be seen as one.
const MAX_WRAPPED_ROWS: usize = 8;

/// The picture, the window's title and the answers that are due.
pub(super) struct TerminalGrid {
    parser: vt100::Parser,
    title: String,
    replies: Vec<u8>,
    /// How often the picture had to start over.
    pub(super) restarts: usize,
}

impl fmt::Debug for TerminalGrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drawing")
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
        // It stands behind the last column until the next character wraps.
        (row.min(rows - 1), col.min(cols - 1))
    }

    /// Draws bytes that are complete: text, control characters, whole sequences.
    pub(super) fn draw(&mut self, bytes: &[u8]) {
        self.catch_panic(|parser| parser.process(bytes));
    }

    pub(super) fn resize(&mut self, rows: NonZeroU16, cols: NonZeroU16) {
        self.catch_panic(|parser| parser.set_size(rows, cols));
        if self.screen().size() != (rows, cols) {
            self.parser = vt100::Parser::new(rows, cols, MAX_HISTORY_ROWS);
        }
    }

    /// The bytes are a stranger's and the library relies on what it believes
    /// about its own state. If that is wrong once, the picture is lost and
    /// the job goes on.
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

    /// Owes the program an answer.
    pub(super) fn queue_reply(&mut self, answer: &[u8]) {
        // A part of an answer would be taken for keys.
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

    /// Up to `most` rows that have scrolled away, and those that are seen.
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

    /// The text before the cursor, the blanks that were written included.
    /// None if something stands behind it: then it is not at the end of a
    /// question.
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
        // A row ends with what was written last; up to the cursor are blanks.
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

    /// The last row, if a program with a screen of its own highlights it up
    /// to the cursor. That is how `less` shows the name of a file and waits.
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

    /// Does what a control sequence says, if the library would not do it.
    /// False if it is the library's.
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
            // Few bytes must not draw the screen over and over.
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
