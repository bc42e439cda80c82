//! A sheet as lines of tab-separated cells: line N is row N.

use std::collections::BTreeMap;

use crate::ExtractedText;
use crate::limits::DocumentLimits;

/// Collects the cells of one sheet, in any order.
#[derive(Debug)]
pub(crate) struct SheetBuilder {
    name: String,
    rows: BTreeMap<usize, Vec<String>>,
    /// Bytes of text so far.
    size: usize,
    /// Cells shown as a formula because they have no value.
    formulas: usize,
    limits: DocumentLimits,
    beyond_rows: bool,
    beyond_columns: bool,
    beyond_size: bool,
}

impl SheetBuilder {
    pub(crate) fn new(name: impl Into<String>, limits: &DocumentLimits) -> Self {
        Self {
            name: name.into(),
            rows: BTreeMap::new(),
            size: 0,
            formulas: 0,
            limits: *limits,
            beyond_rows: false,
            beyond_columns: false,
            beyond_size: false,
        }
    }

    /// Adds a cell; `row` and `column` are zero-based. Returns false once the
    /// sheet is full.
    pub(crate) fn put_cell(&mut self, row: usize, column: usize, value: &str) -> bool {
        if value.is_empty() {
            return true;
        }
        self.beyond_rows |= row >= self.limits.rows;
        self.beyond_columns |= column >= self.limits.columns;
        if row >= self.limits.rows || column >= self.limits.columns {
            return true;
        }
        let cells = self.rows.entry(row).or_default();
        if cells.len() <= column {
            self.size += column + 1 - cells.len();
            cells.resize(column + 1, String::new());
        }
        self.size += value.len();
        if self.size > self.limits.text_bytes {
            self.beyond_size = true;
            return false;
        }
        if let Some(cell) = cells.get_mut(column) {
            *cell = value.replace(['\t', '\r', '\n'], " ");
        }
        true
    }

    /// [`Self::put_cell`] for a cell without a calculated value: adds its
    /// formula, given without `=`.
    pub(crate) fn put_formula(&mut self, row: usize, column: usize, formula: &str) -> bool {
        self.formulas += 1;
        self.put_cell(row, column, &format!("={formula}"))
    }

    /// Whether no further row fits.
    pub(crate) fn is_full(&self, row: usize) -> bool {
        self.beyond_size || row >= self.limits.rows
    }

    /// Records that rows were omitted.
    pub(crate) fn mark_rows_omitted(&mut self) {
        self.beyond_rows = true;
    }

    /// Appends the sheet to the text.
    pub(crate) fn finish(self, into: &mut ExtractedText) {
        if !into.text.is_empty() {
            into.text.push_str("\n\n");
        }
        into.text.push_str(&format!("# Sheet: {}", self.name));
        if self.rows.is_empty() {
            into.text.push_str("\n(empty)");
        }
        let mut next = 0;
        for (row, cells) in &self.rows {
            into.text.push_str(&"\n".repeat(row + 1 - next));
            into.text.push_str(cells.join("\t").trim_end_matches('\t'));
            next = row + 1;
        }
        let name = &self.name;
        if self.formulas > 0 {
            let number = self.formulas;
            into.notes.push(format!(
                "Sheet {name}: {number} cells have no stored value; their formulas are shown."
            ));
        }
        if self.beyond_rows {
            let rows = self.limits.rows;
            into.notes.push(format!("Sheet {name}: only the first {rows} rows are shown."));
        }
        if self.beyond_columns {
            let columns = self.limits.columns;
            into.notes.push(format!("Sheet {name}: only the first {columns} columns are shown."));
        }
        if self.beyond_size {
            into.notes.push(format!("Sheet {name}: truncated, it is too large to show in full."));
        }
    }
}

/// Adds a note that lists the hidden sheets.
pub(crate) fn note_hidden(hidden: &[String], into: &mut ExtractedText) {
    if !hidden.is_empty() {
        into.notes.push(format!("Hidden sheets are not shown: {}.", hidden.join(", ")));
    }
}
