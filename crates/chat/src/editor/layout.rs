//! The text that is typed, as rows with a cursor.

use unicode_segmentation::UnicodeSegmentation as _;

use super::Editor;
use crate::row::{Colour, DIM, PLAIN, Row, Style, width};

const TOKEN: Style = Colour::Magenta.style();

/// Whether a text may be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    Shown,
    /// Nothing of it but its length.
    Hidden,
}

/// Rows, and where the cursor is in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Laid {
    pub(crate) rows: Vec<Row>,
    pub(crate) row: usize,
    pub(crate) column: usize,
}

impl Laid {
    /// At most so many rows, those around the cursor.
    pub(crate) fn windowed(mut self, most: usize) -> Self {
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
pub(crate) fn lay_out(
    editor: &Editor,
    prompt: &Row,
    columns: usize,
    ghost: &str,
    sight: Sight,
) -> Laid {
    let mut layout = Layout::new(prompt, columns);
    for (at, character) in editor.text().grapheme_indices(true) {
        if at == editor.cursor() {
            layout.mark();
        }
        let label = character.chars().next().and_then(|c| editor.label(c));
        match (character, label) {
            ("\n", _) => layout.break_row(),
            (_, Some(label)) => label.graphemes(true).for_each(|part| layout.put(part, TOKEN)),
            _ if sight == Sight::Hidden => layout.put("•", PLAIN),
            ("\t", _) => layout.put("    ", PLAIN),
            (character, None) => layout.put(character, PLAIN),
        }
    }
    if editor.is_at_end() {
        layout.mark();
    }
    for character in ghost.graphemes(true).take_while(|character| *character != "\n") {
        layout.put(character, DIM);
    }
    layout.finish()
}

struct Layout {
    laid: Laid,
    row: Row,
    used: usize,
    columns: usize,
    indent: String,
    /// The column after the last space of this row.
    after_space: Option<usize>,
}

impl Layout {
    fn new(prompt: &Row, columns: usize) -> Self {
        let used = prompt.width();
        Self {
            laid: Laid::default(),
            row: prompt.clone(),
            used,
            columns: columns.max(used + 2),
            indent: " ".repeat(used),
            after_space: None,
        }
    }

    fn mark(&mut self) {
        // The cursor needs a place of its own after the last character of a row.
        if self.used + 1 > self.columns {
            self.overflow();
        }
        self.laid.row = self.laid.rows.len();
        self.laid.column = self.used;
    }

    fn put(&mut self, character: &str, style: Style) {
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
        let is_marked = self.laid.row == self.laid.rows.len() && self.laid.column >= at;
        self.row = kept;
        self.break_row();
        self.row.append(&moved);
        self.used += moved.width();
        if is_marked && self.laid.column > 0 {
            self.laid.row += 1;
            self.laid.column = self.laid.column - at + self.indent.len();
        }
    }

    fn break_row(&mut self) {
        let next = Row::new(&self.indent, PLAIN);
        self.laid.rows.push(std::mem::replace(&mut self.row, next));
        self.used = self.indent.len();
        self.after_space = None;
    }

    fn finish(mut self) -> Laid {
        self.laid.rows.push(self.row);
        self.laid
    }
}
