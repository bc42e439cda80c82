//! One terminal line while it is being written.

use std::mem;

/// How many bytes of a line can still be overwritten. Text beyond that is
/// emitted, so output without newlines uses bounded memory.
pub(super) const MAX_HELD_BYTES: usize = 16 * 1024;
/// Editing sequences apply only to lines of at most this many columns, which
/// bounds the cost of many edits to a long line.
const MAX_EDITED_COLUMNS: usize = 512;
/// How far beyond its text the cursor of a line can move.
const MAX_CURSOR_OVERHANG: usize = 160;
/// Columns from one tab stop to the next.
const TAB_WIDTH: usize = 8;

/// Filler for the second column of a wide character.
const WIDE_FILLER: char = '\0';
const NO_MARK: char = '\0';
const BLANK_CELL: LineCell = LineCell { base: ' ', marks: [NO_MARK; 2] };

/// A column: a character and its combining marks.
#[derive(Debug, Clone, Copy)]
struct LineCell {
    base: char,
    marks: [char; 2],
}

/// A terminal line: plain text until it is overwritten, columns afterwards.
#[derive(Debug, Default)]
pub(super) struct TerminalLine {
    text: String,
    /// Whether a carriage return followed the text.
    is_home: bool,
    has_columns: bool,
    columns: Vec<LineCell>,
    cursor: usize,
}

impl TerminalLine {
    /// Writes `text` at the cursor; its only control characters are tabs. Text
    /// that can no longer be overwritten goes to `out`.
    pub(super) fn print(&mut self, text: &str, out: &mut String) {
        if text.is_empty() {
            return;
        }
        if self.is_home {
            self.split_into_columns();
        }
        let mut rest = text.chars();
        while self.has_columns {
            if self.cursor >= MAX_HELD_BYTES {
                self.render(out);
                self.clear();
                break;
            }
            let Some(next) = rest.next() else { return };
            self.put(next);
        }
        self.append(rest.as_str(), out);
    }

    fn append(&mut self, mut text: &str, out: &mut String) {
        while text.len() > MAX_HELD_BYTES - self.text.len() {
            let fits = text.floor_char_boundary(MAX_HELD_BYTES - self.text.len());
            out.push_str(&self.text);
            out.push_str(&text[..fits]);
            self.text.clear();
            text = &text[fits..];
        }
        self.text.push_str(text);
    }

    /// Ends the line: appends its text to `out` without trailing blanks.
    pub(super) fn end(&mut self, out: &mut String) {
        self.show(out);
        self.clear();
    }

    /// Appends the current form of the line to `out`.
    pub(super) fn show(&self, out: &mut String) {
        let before = out.len();
        self.render(out);
        if self.has_columns {
            let seen = out[before..].trim_end_matches(' ').len();
            out.truncate(before + seen);
        }
    }

    fn render(&self, out: &mut String) {
        out.push_str(&self.text);
        for cell in self.columns.iter().filter(|cell| cell.base != WIDE_FILLER) {
            out.push(cell.base);
            out.extend(cell.marks.iter().filter(|&&mark| mark != NO_MARK));
        }
    }

    fn clear(&mut self) {
        self.text.clear();
        self.columns.clear();
        self.cursor = 0;
        self.is_home = false;
        self.has_columns = false;
    }

    /// Moves the cursor to the first column.
    pub(super) fn go_home(&mut self) {
        self.is_home = !self.text.is_empty();
        self.cursor = 0;
        if self.columns.is_empty() {
            self.has_columns = false;
        }
    }

    /// Moves the cursor to a column, counted from 0.
    pub(super) fn go_to(&mut self, column: usize) {
        if column == 0 {
            return self.go_home();
        }
        self.split_into_columns();
        self.cursor = column.min(self.columns.len().max(MAX_CURSOR_OVERHANG));
    }

    /// Moves the cursor `count` columns left.
    pub(super) fn go_left(&mut self, count: usize) {
        if self.is_home || (self.text.is_empty() && !self.has_columns) {
            return;
        }
        self.split_into_columns();
        self.go_to(self.cursor.saturating_sub(count));
    }

    /// Moves the cursor `count` columns right.
    pub(super) fn go_right(&mut self, count: usize) {
        self.split_into_columns();
        self.go_to(self.cursor.saturating_add(count));
    }

    /// Blanks everything right of the cursor.
    pub(super) fn erase_right(&mut self) {
        if self.is_home {
            return self.clear();
        }
        if self.has_columns {
            self.break_wide_char(self.cursor);
            self.columns.truncate(self.cursor);
            if self.cursor == 0 {
                self.clear();
            }
        }
    }

    /// Blanks everything left of the cursor, and the cursor's column.
    pub(super) fn erase_left(&mut self) {
        self.split_into_columns();
        if self.columns.len() <= MAX_EDITED_COLUMNS {
            let end = (self.cursor + 1).min(self.columns.len());
            self.break_wide_char(end);
            self.columns[..end].fill(BLANK_CELL);
        }
    }

    /// Blanks the line without moving the cursor.
    pub(super) fn erase(&mut self) {
        self.split_into_columns();
        let cursor = self.cursor.min(MAX_EDITED_COLUMNS);
        self.clear();
        self.has_columns = cursor > 0;
        self.cursor = cursor;
    }

    /// Blanks `count` columns starting at the cursor.
    pub(super) fn blank(&mut self, count: usize) {
        self.split_into_columns();
        if let Some(end) = self.editable(count) {
            self.columns[self.cursor..end].fill(BLANK_CELL);
        }
    }

    /// Deletes `count` columns at the cursor; the rest moves left.
    pub(super) fn delete(&mut self, count: usize) {
        self.split_into_columns();
        if let Some(end) = self.editable(count) {
            self.columns.drain(self.cursor..end);
        }
    }

    /// Inserts `count` blanks at the cursor; the rest moves right.
    pub(super) fn insert(&mut self, count: usize) {
        self.split_into_columns();
        if self.editable(0).is_some() {
            let count = count.min(MAX_EDITED_COLUMNS - self.columns.len());
            let blanks = std::iter::repeat_n(BLANK_CELL, count);
            self.columns.splice(self.cursor..self.cursor, blanks);
        }
    }

    /// Returns the end of `count` columns starting at the cursor, if the line
    /// is short enough and has text at the cursor.
    fn editable(&mut self, count: usize) -> Option<usize> {
        if self.columns.len() > MAX_EDITED_COLUMNS || self.cursor >= self.columns.len() {
            return None;
        }
        let end = self.cursor.saturating_add(count).min(self.columns.len());
        self.break_wide_char(self.cursor);
        self.break_wide_char(end);
        Some(end)
    }

    /// Converts the text to columns.
    fn split_into_columns(&mut self) {
        if self.has_columns {
            return;
        }
        let mut text = mem::take(&mut self.text);
        let is_home = mem::take(&mut self.is_home);
        self.cursor = 0;
        self.has_columns = true;
        text.chars().for_each(|next| self.put(next));
        if is_home {
            self.cursor = 0;
        }
        text.clear();
        self.text = text;
    }

    fn put(&mut self, next: char) {
        let width = match next {
            '\t' => {
                self.cursor = (self.cursor / TAB_WIDTH + 1) * TAB_WIDTH;
                return;
            }
            _ => char_width(next),
        };
        if width == 0 {
            return self.add_accent(next);
        }
        let end = self.cursor + width;
        self.break_wide_char(self.cursor);
        self.break_wide_char(end);
        if self.columns.len() < end {
            self.columns.resize(end, BLANK_CELL);
        }
        for (at, cell) in self.columns[self.cursor..end].iter_mut().enumerate() {
            let base = if at == 0 { next } else { WIDE_FILLER };
            *cell = LineCell { base, marks: [NO_MARK; 2] };
        }
        self.cursor = end;
    }

    /// Adds a combining mark to the character left of the cursor.
    fn add_accent(&mut self, accent: char) {
        let before = self.columns.get_mut(..self.cursor).unwrap_or_default();
        let base = before.iter_mut().rev().find(|cell| cell.base != WIDE_FILLER);
        let free = base.and_then(|cell| cell.marks.iter_mut().find(|mark| **mark == NO_MARK));
        if let Some(free) = free {
            *free = accent;
        }
    }

    /// Blanks the wide character that spans the left edge of `column`.
    fn break_wide_char(&mut self, column: usize) {
        if self.columns.get(column).is_some_and(|cell| cell.base == WIDE_FILLER) {
            self.columns[column - 1] = BLANK_CELL;
            self.columns[column] = BLANK_CELL;
        }
    }
}

/// Returns the approximate width of a character in columns, which suffices for
/// overwritten lines.
fn char_width(character: char) -> usize {
    match u32::from(character) {
        0..0x300 => 1,
        0x300..=0x36F
        | 0x483..=0x489
        | 0x591..=0x5BD
        | 0x610..=0x61A
        | 0x64B..=0x65F
        | 0x1AB0..=0x1AFF
        | 0x1DC0..=0x1DFF
        | 0x200B..=0x200F
        | 0x202A..=0x202E
        | 0x2060..=0x2064
        | 0x20D0..=0x20FF
        | 0xFE00..=0xFE0F
        | 0xFE20..=0xFE2F
        | 0xFEFF
        | 0x1F3FB..=0x1F3FF
        | 0xE0100..=0xE01EF => 0,
        0x1100..=0x115F
        | 0x231A..=0x231B
        | 0x23E9..=0x23EC
        | 0x2614..=0x2615
        | 0x26A1
        | 0x2705
        | 0x2728
        | 0x274C
        | 0x2753..=0x2757
        | 0x2B50
        | 0x2E80..=0x303E
        | 0x3041..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1F64F
        | 0x1F680..=0x1F6FF
        | 0x1F7E0..=0x1F7EB
        | 0x1F900..=0x1F9FF
        | 0x1FA70..=0x1FAFF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}
