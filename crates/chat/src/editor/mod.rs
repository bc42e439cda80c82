//! The input editor.

mod dropped_files;
mod history;
mod layout;
mod undo;

use std::path::PathBuf;

use unicode_segmentation::UnicodeSegmentation as _;

pub(crate) use dropped_files::dropped_paths as pasted_paths;
pub(crate) use history::InputHistory;
pub(crate) use layout::{InputVisibility, layout_input};

use crate::sanitize::sanitize;
use undo::UndoHistory;

/// First private-use character; each pasted text or file is one such character
/// in the input.
const FIRST_TOKEN: u32 = 0xf0000;
const MAX_TOKENS: u32 = 60_000;
/// Longer pastes are shown as a single token.
const LONG_PASTE_BYTES: usize = 800;
const LONG_PASTE_LINES: usize = 6;

/// An input text with a cursor.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineEditor {
    text: String,
    cursor: usize,
    kill_buffer: String,
    tokens: Vec<InputToken>,
    undo: UndoHistory,
}

/// A paste or file represented by a single character.
#[derive(Clone, Debug, PartialEq, Eq)]
enum InputToken {
    Paste(String),
    File(PathBuf),
}

/// Direction to the adjacent line or history entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineDirection {
    Up,
    Down,
}

/// A cursor movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CursorMove {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    TextStart,
    TextEnd,
}

impl LineEditor {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether the cursor is at the end of the text.
    pub(crate) fn is_at_end(&self) -> bool {
        self.cursor == self.text.len()
    }

    /// Returns the text with all tokens expanded.
    pub(crate) fn expanded_text(&self) -> String {
        let mut whole = String::with_capacity(self.text.len());
        for c in self.text.chars() {
            match self.token(c) {
                Some(InputToken::Paste(text)) => whole.push_str(text),
                Some(InputToken::File(path)) => whole.push_str(&path.to_string_lossy()),
                None => whole.push(c),
            }
        }
        whole
    }

    /// Returns the text as displayed.
    pub(crate) fn displayed_text(&self) -> String {
        let mut shown = String::with_capacity(self.text.len());
        for c in self.text.chars() {
            match self.label(c) {
                Some(label) => shown.push_str(&label),
                None => shown.push(c),
            }
        }
        shown
    }

    /// Returns the attached files still in the text.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for c in self.text.chars() {
            if let Some(InputToken::File(path)) = self.token(c)
                && !files.contains(path)
            {
                files.push(path.clone());
            }
        }
        files
    }

    /// Replaces the text.
    pub(crate) fn set(&mut self, text: &str) {
        self.undo.record(&self.text, self.cursor);
        self.text = sanitize(text);
        self.cursor = self.text.len();
    }

    pub(crate) fn clear(&mut self) {
        // Tokens do not outlive the text they were inserted into.
        let killed = self.kill_buffer.chars().filter(|c| self.token(*c).is_none()).collect();
        *self = Self { kill_buffer: killed, ..Self::default() };
    }

    pub(crate) fn insert_char(&mut self, c: char) {
        let mut bytes = [0; 4];
        let text = c.encode_utf8(&mut bytes);
        if !crate::sanitize::is_displayable(c) && c != '\n' && c != '\t' {
            return;
        }
        if c.is_whitespace() || !self.undo.is_typing() {
            self.undo.record(&self.text, self.cursor);
        }
        self.insert_at_cursor(text);
        self.undo.mark_typing();
    }

    pub(crate) fn insert(&mut self, text: &str) {
        self.undo.record(&self.text, self.cursor);
        self.insert_at_cursor(&sanitize(text));
    }

    /// Inserts a paste; a long one becomes a token.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = sanitize(text);
        let is_long = text.len() > LONG_PASTE_BYTES || text.lines().count() > LONG_PASTE_LINES;
        if is_long { self.put_token(InputToken::Paste(text)) } else { self.insert(&text) }
    }

    /// Inserts a file as a token.
    pub(crate) fn attach(&mut self, path: PathBuf) {
        self.put_token(InputToken::File(path));
        self.insert_at_cursor(" ");
    }

    fn put_token(&mut self, token: InputToken) {
        let number = u32::try_from(self.tokens.len()).unwrap_or(MAX_TOKENS);
        let Some(c) = char::from_u32(FIRST_TOKEN + number).filter(|_| number < MAX_TOKENS) else {
            return;
        };
        self.undo.record(&self.text, self.cursor);
        self.tokens.push(token);
        self.insert_at_cursor(c.encode_utf8(&mut [0; 4]));
    }

    fn token(&self, c: char) -> Option<&InputToken> {
        let number = u32::from(c).checked_sub(FIRST_TOKEN)?;
        self.tokens.get(usize::try_from(number).ok()?)
    }

    /// Returns the displayed label of a token.
    fn label(&self, c: char) -> Option<String> {
        Some(match self.token(c)? {
            InputToken::Paste(text) => match text.lines().count() {
                0 | 1 => format!("[pasted {} characters]", text.chars().count()),
                lines => format!("[pasted {lines} lines]"),
            },
            InputToken::File(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                let name = crate::sanitize::one_line(&name);
                if dropped_files::is_picture(path) {
                    format!("[picture {name}]")
                } else {
                    format!("[file {name}]")
                }
            }
        })
    }

    fn insert_at_cursor(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        self.snap_cursor();
    }

    /// Moves the cursor to a grapheme boundary; a combining mark may have
    /// joined its neighbours.
    fn snap_cursor(&mut self) {
        if !self.is_boundary(self.cursor) {
            self.cursor = self.boundary_after(self.cursor);
        }
    }

    fn is_boundary(&self, at: usize) -> bool {
        self.boundary_after(at) == at
    }

    fn boundary_before(&self, at: usize) -> usize {
        let starts = self.text.grapheme_indices(true).map(|(start, _)| start);
        starts.take_while(|start| *start <= at).last().unwrap_or(0)
    }

    fn boundary_after(&self, at: usize) -> usize {
        let mut starts = self.text.grapheme_indices(true).map(|(start, _)| start);
        starts.find(|start| *start >= at).unwrap_or(self.text.len())
    }

    /// Moves the cursor.
    pub(crate) fn move_cursor(&mut self, step: CursorMove) {
        self.undo.end_typing();
        self.cursor = self.target(step);
    }

    /// Deletes up to the target of a movement.
    pub(crate) fn delete(&mut self, step: CursorMove) {
        let _ = self.remove(step);
    }

    /// Deletes up to the target of a movement and keeps the text for
    /// [`LineEditor::yank`].
    pub(crate) fn kill(&mut self, step: CursorMove) {
        let removed = self.remove(step);
        if !removed.is_empty() {
            self.kill_buffer = removed;
        }
    }

    pub(crate) fn yank(&mut self) {
        self.undo.record(&self.text, self.cursor);
        let killed = self.kill_buffer.clone();
        self.insert_at_cursor(&killed);
    }

    fn remove(&mut self, step: CursorMove) -> String {
        let target = self.target(step);
        let (from, to) = (self.cursor.min(target), self.cursor.max(target));
        if from == to {
            return String::new();
        }
        self.undo.record(&self.text, self.cursor);
        let removed = self.text.drain(from..to).collect();
        self.cursor = from;
        self.snap_cursor();
        removed
    }

    fn target(&self, step: CursorMove) -> usize {
        let (before, after) = self.text.split_at(self.cursor);
        match step {
            CursorMove::Left => before.grapheme_indices(true).next_back().map_or(0, |(at, _)| at),
            CursorMove::Right => self.cursor + after.graphemes(true).next().map_or(0, str::len),
            CursorMove::WordLeft => {
                let words = before.trim_end_matches(|c: char| !is_word_char(c));
                self.boundary_before(words.trim_end_matches(is_word_char).len())
            }
            CursorMove::WordRight => {
                let rest = after.trim_start_matches(|c: char| !is_word_char(c));
                self.boundary_after(self.text.len() - rest.trim_start_matches(is_word_char).len())
            }
            CursorMove::LineStart => before.rfind('\n').map_or(0, |at| at + 1),
            CursorMove::LineEnd => self.cursor + after.find('\n').unwrap_or(after.len()),
            CursorMove::TextStart => 0,
            CursorMove::TextEnd => self.text.len(),
        }
    }

    /// Moves the cursor one line up or down; returns false if there is no such
    /// line.
    pub(crate) fn move_line(&mut self, way: LineDirection) -> bool {
        self.undo.end_typing();
        let start = self.target(CursorMove::LineStart);
        let column = self.text.get(start..self.cursor).unwrap_or_default().graphemes(true).count();
        let line = if way == LineDirection::Down {
            let end = self.target(CursorMove::LineEnd);
            if end == self.text.len() {
                return false;
            }
            end + 1
        } else {
            let Some(end) = start.checked_sub(1) else { return false };
            self.text.get(..end).and_then(|above| above.rfind('\n')).map_or(0, |at| at + 1)
        };
        let text = self.text.get(line..).unwrap_or_default();
        let text = text.split('\n').next().unwrap_or_default();
        self.cursor = line + text.graphemes(true).take(column).map(str::len).sum::<usize>();
        true
    }

    /// Replaces the text from byte offset `start` to the cursor.
    pub(crate) fn complete(&mut self, start: usize, text: &str) {
        if start <= self.cursor && self.text.is_char_boundary(start) {
            self.undo.record(&self.text, self.cursor);
            self.text.replace_range(start..self.cursor, "");
            self.cursor = start;
            self.insert_at_cursor(&sanitize(text));
        }
    }

    pub(crate) fn undo(&mut self) {
        if let Some((text, cursor)) = self.undo.undo(&self.text, self.cursor) {
            (self.text, self.cursor) = (text, cursor);
        }
    }

    pub(crate) fn redo(&mut self) {
        if let Some((text, cursor)) = self.undo.redo(&self.text, self.cursor) {
            (self.text, self.cursor) = (text, cursor);
        }
    }
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
#[path = "editor_tests.rs"]
mod tests;
