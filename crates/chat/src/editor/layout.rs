//! Lays out the input text as rows with a cursor.

use unicode_segmentation::UnicodeSegmentation as _;

use super::LineEditor;
use crate::row::{AnsiColour, DIM_STYLE, PLAIN_STYLE, StyledRow, TextStyle, width};

const TOKEN_STYLE: TextStyle = AnsiColour::Magenta.style();

/// Whether the input text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputVisibility {
    Shown,
    /// Only the length is visible.
    Hidden,
}

/// Rows, and the position of the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InputRows {
    pub(crate) rows: Vec<StyledRow>,
    pub(crate) row: usize,
    pub(crate) column: usize,
}

impl InputRows {
    /// Keeps at most `most` rows around the cursor.
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

/// Lays out the input after a prompt; `ghost` is shown dimmed after it.
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
    /// Column after the last space of this row.
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
        // After the last character of a full row the cursor needs a column.
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
                // A space that does not fit ends the row.
                self.after_space = Some(self.used);
                return;
            }
            self.overflow();
            // After the moved word there may still be no room.
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

    /// Continues in a new row, moving the word that does not fit if it started
    /// in this one. A cursor in that word moves with it.
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
