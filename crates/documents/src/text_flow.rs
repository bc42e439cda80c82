//! Builds text from paragraphs and table cells.

use crate::limits::DocumentLimits;

/// Text under construction.
#[derive(Debug)]
pub(crate) struct TextFlow {
    text: String,
    /// Open paragraphs; a text box can nest in a paragraph.
    open: Vec<OpenParagraph>,
    tables: Vec<OpenTable>,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct OpenParagraph {
    prefix: String,
    line: String,
}

#[derive(Debug, Default)]
struct OpenTable {
    row: Vec<String>,
    cell: String,
}

impl TextFlow {
    pub(crate) fn new(limits: &DocumentLimits) -> Self {
        Self {
            text: String::new(),
            open: Vec::new(),
            tables: Vec::new(),
            max_bytes: limits.text_bytes,
        }
    }

    /// Appends to the open paragraph. Ignores text outside a paragraph, which
    /// is layout.
    pub(crate) fn push(&mut self, text: &str) {
        if let Some(paragraph) = self.open.last_mut()
            && paragraph.line.len() < self.max_bytes
        {
            paragraph.line.push_str(text);
        }
    }

    /// Adds a line between paragraphs.
    pub(crate) fn push_line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    pub(crate) fn begin_paragraph(&mut self) {
        self.open.push(OpenParagraph::default());
    }

    /// Sets the prefix of the paragraph: `#` of a heading, `-` of a list item.
    pub(crate) fn set_prefix(&mut self, prefix: impl Into<String>) {
        if let Some(paragraph) = self.open.last_mut() {
            paragraph.prefix = prefix.into();
        }
    }

    pub(crate) fn end_paragraph(&mut self) {
        let Some(OpenParagraph { prefix, line }) = self.open.pop() else {
            return;
        };
        match self.tables.last_mut() {
            Some(table) => add_to_cell(&mut table.cell, &line, self.max_bytes),
            None if self.text.len() < self.max_bytes => {
                // An empty heading or item would be a prefix alone.
                if !line.trim().is_empty() {
                    self.text.push_str(&prefix);
                    self.text.push_str(line.trim_end());
                }
                self.text.push('\n');
            }
            None => {}
        }
    }

    pub(crate) fn begin_table(&mut self) {
        self.tables.push(OpenTable::default());
    }

    pub(crate) fn end_cell(&mut self) {
        if let Some(table) = self.tables.last_mut() {
            let cell = std::mem::take(&mut table.cell);
            table.row.push(cell);
        }
    }

    pub(crate) fn end_row(&mut self) {
        let Some(table) = self.tables.last_mut() else {
            return;
        };
        let row = std::mem::take(&mut table.row).join(" | ");
        let outer = self.tables.len().checked_sub(2).and_then(|at| self.tables.get_mut(at));
        match outer {
            // Rows of a nested table are appended to the outer cell.
            Some(table) => add_to_cell(&mut table.cell, &row, self.max_bytes),
            None if self.text.len() < self.max_bytes => {
                self.text.push_str("| ");
                self.text.push_str(&row);
                self.text.push_str(" |\n");
            }
            None => {}
        }
    }

    pub(crate) fn end_table(&mut self) {
        self.tables.pop();
    }

    /// Closes open paragraphs and tables of a truncated document. Returns
    /// whether any text exists.
    pub(crate) fn close_open(&mut self) -> bool {
        while !self.open.is_empty() {
            self.end_paragraph();
        }
        while !self.tables.is_empty() {
            self.end_cell();
            self.end_row();
            self.end_table();
        }
        self.text.contains(|c: char| !c.is_whitespace() && c != '|')
    }

    /// Returns the text with blank lines collapsed.
    pub(crate) fn finish(self) -> String {
        let mut text = String::with_capacity(self.text.len());
        let mut empty = 1;
        for line in self.text.lines() {
            empty = if line.is_empty() { empty + 1 } else { 0 };
            if empty < 2 {
                text.push_str(line);
                text.push('\n');
            }
        }
        text.truncate(text.trim_end_matches('\n').len());
        text
    }
}

fn add_to_cell(cell: &mut String, line: &str, most: usize) {
    if line.trim().is_empty() || cell.len() > most {
        return;
    }
    if !cell.is_empty() {
        cell.push(' ');
    }
    for (at, part) in line.trim().lines().enumerate() {
        if at > 0 {
            cell.push(' ');
        }
        cell.push_str(part);
    }
}
