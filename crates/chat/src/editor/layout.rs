//! The text that is typed, as rows with a cursor.

use unicode_segmentation::UnicodeSegmentation as _;

use super::LineEditor;
use crate::row::{AnsiColour, DIM_STYLE, PLAIN_STYLE, StyledRow, TextStyle, width};

const TOKEN_STYLE: TextStyle = AnsiColour::Magenta.style();

/// Whether a text may be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputVisibility {
    Shown,
    /// Nothing of it but its length.
    Hidden,
}

/// Rows, and where the cursor is in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InputRows {
    pub(crate) rows: Vec<StyledRow>,
    pub(crate) row: usize,
    pub(crate) column: usize,
}

impl InputRows {
    /// At most so many rows, those around the cursor.
    pub(crate) fn around_cursor(mut self, most: usize) -> Self {
        let most = most.max(1);
        if self.rows.len() > most {
            let first = (self.row + 1).saturating_sub(most);
            self.rows.drain(..first);
            self.rows.truncate(most);
            self.row -= first;
        }
        self
    }
}

/// Lays out a text behind a prompt; `ghost` is shown dimly after it.
pub(crate) fn layout_input(
    editor: &LineEditor,
    prompt: &StyledRow,
    columns: usize,
    ghost: &str,
    sight: InputVisibility,
) -> InputRows {
    let mut layout = InputLayout::new(prompt, columns);
    for (at, character) in editor.text().grapheme_indices(true) {
        if at == editor.cursor() {
            layout.mark_cursor();
        }
        let label = character.chars().next().and_then(|c| editor.label(c));
        match (character, label) {
            ("\n", _) => layout.break_row(),
            (_, Some(label)) => {
                label.graphemes(true).for_each(|part| layout.put(part, TOKEN_STYLE))
            }
            _ if sight == InputVisibility::Hidden => layout.put("•", PLAIN_STYLE),
            ("\t", _) => layout.put("    ", PLAIN_STYLE),
            (character, None) => layout.put(character, PLAIN_STYLE),
        }
    }
    if editor.is_at_end() {
        layout.mark_cursor();
    }
    for character in ghost.graphemes(true).take_while(|character| *character != "\n") {
        layout.put(character, DIM_STYLE);
    }
    layout.finish()
}

struct InputLayout {
    output: InputRows,
    row: StyledRow,
    used: usize,
    columns: usize,
    indent: String,
    /// The column after the last space of this row.
    after_space: Option<usize>,
}

impl InputLayout {
    fn new(prompt: &StyledRow, columns: usize) -> Self {
        let used = prompt.width();
        Self {
            output: InputRows::default(),
            row: prompt.clone(),
            used,
            columns: columns.max(used + 2),
            indent: " ".repeat(used),
            after_space: None,
        }
    }

    fn mark_cursor(&mut self) {
        // The cursor needs a place of its own after the last character of a row.
        if self.used + 1 > self.columns {
            self.overflow();
        }
        self.output.row = self.output.rows.len();
        self.output.column = self.used;
    }

    fn put(&mut self, character: &str, style: TextStyle) {
        let columns = width(character);
        if self.used + columns > self.columns {
            if character == " " {
                // A space that does not fit is the end of the row.
                self.after_space = Some(self.used);
                return;
            }
            self.overflow();
            // Beside a word that has gone along there may still be no room.
            if self.used + columns > self.columns && self.used > self.indent.len() {
                self.overflow();
            }
        }
        self.row.push(character, style);
        self.used += columns;
        if character == " " {
            self.after_space = Some(self.used);
        }
    }

    /// Goes on in a new row, with the word that does not fit if it began in this one. A cursor
    /// that was marked in it goes along.
    fn overflow(&mut self) {
        let at = self.after_space.unwrap_or(self.used);
        let (kept, moved) = self.row.split(at);
        let is_marked = self.output.row == self.output.rows.len() && self.output.column >= at;
        self.row = kept;
        self.break_row();
        self.row.append(&moved);
        self.used += moved.width();
        if is_marked && self.output.column > 0 {
            self.output.row += 1;
            self.output.column = self.output.column - at + self.indent.len();
        }
    }

    fn break_row(&mut self) {
        let next = StyledRow::new(&self.indent, PLAIN_STYLE);
        self.output.rows.push(std::mem::replace(&mut self.row, next));
        self.used = self.indent.len();
        self.after_space = None;
    }

    fn finish(mut self) -> InputRows {
        self.output.rows.push(self.row);
        self.output
    }
}
