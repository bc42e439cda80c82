//! OpenDocument texts, presentations and spreadsheets.

use std::collections::HashSet;

use crate::ExtractedText;
use crate::limits::{DocumentError, DocumentLimits};
use crate::package::ZipPackage;
use crate::sheet::{SheetBuilder, note_hidden};
use crate::text_flow::TextFlow;
use crate::xml::{XmlElement, XmlEvent, walk_xml};

const CONTENT_PART: &str = "content.xml";
/// Elements whose text is not part of the current document.
const SKIPPED_ELEMENTS: &[&str] = &["tracked-changes", "note-citation", "desc", "date-string"];

pub(crate) fn extract(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentError> {
    let mut package = ZipPackage::open(bytes, limits)?;
    let xml = package.required_text(CONTENT_PART)?;
    let mut text = OdfTextWriter::new(limits);
    walk_xml(&xml, limits, |step| text.handle_event(&step))?;
    let pictures = package.part_names().iter().filter(|name| name.starts_with("Pictures/")).count();
    let notes = match pictures {
        0 => Vec::new(),
        _ => vec![format!("{pictures} embedded pictures are not shown.")],
    };
    Ok(ExtractedText { text: text.finish(), notes })
}

/// Builds the text of a document.
struct OdfTextWriter {
    flow: TextFlow,
    /// Flows interrupted by a note.
    interrupted: Vec<(TextFlow, String)>,
    /// Notes and comments, appended to the text.
    trailing_notes: Vec<String>,
    author: String,
    in_author: bool,
    skip_depth: usize,
    heading: Option<usize>,
    lists: usize,
    is_item: bool,
    footnotes: usize,
    comments: usize,
    slides: usize,
    limits: DocumentLimits,
}

impl OdfTextWriter {
    fn new(limits: &DocumentLimits) -> Self {
        Self {
            flow: TextFlow::new(limits),
            interrupted: Vec::new(),
            trailing_notes: Vec::new(),
            author: String::new(),
            in_author: false,
            skip_depth: 0,
            heading: None,
            lists: 0,
            is_item: false,
            footnotes: 0,
            comments: 0,
            slides: 0,
            limits: *limits,
        }
    }

    fn handle_event(&mut self, step: &XmlEvent<'_>) {
        match step {
            XmlEvent::Open(element)
                if self.skip_depth > 0 || SKIPPED_ELEMENTS.contains(&element.name()) =>
            {
                self.skip_depth += 1;
            }
            XmlEvent::Close(_) if self.skip_depth > 0 => self.skip_depth -= 1,
            XmlEvent::Open(element) => self.open_element(element),
            XmlEvent::Close(name) => self.close_element(name),
            XmlEvent::Text(text) if self.in_author => self.author.push_str(text),
            XmlEvent::Text(text) if self.skip_depth == 0 => {
                self.flow.push(&collapse_whitespace(text))
            }
            XmlEvent::Text(_) => {}
        }
    }

    fn open_element(&mut self, element: &XmlElement<'_>) {
        match element.name() {
            "p" => self.flow.begin_paragraph(),
            "h" => {
                self.flow.begin_paragraph();
                self.heading =
                    Some(element.numeric_attribute("outline-level").unwrap_or(1).clamp(1, 6));
            }
            "s" => {
                self.flow.push(&" ".repeat(element.numeric_attribute("c").unwrap_or(1).min(1000)))
            }
            "tab" => self.flow.push("\t"),
            "line-break" => self.flow.push("\n"),
            "list" => self.lists += 1,
            "list-item" => self.is_item = true,
            "table" => self.flow.begin_table(),
            "page" => {
                self.slides += 1;
                self.flow.push_line("");
                self.flow.push_line(&format!("# Slide {}", self.slides));
            }
            "notes" => self.flow.push_line("Notes:"),
            "note" => {
                self.footnotes += 1;
                self.flow.push(&format!("[^{}]", self.footnotes));
            }
            "note-body" => self.begin_note(format!("[^{}]: ", self.footnotes)),
            "annotation" => {
                self.comments += 1;
                self.flow.push(&format!("[comment {}]", self.comments));
                self.author.clear();
                self.begin_note(format!("[comment {}] ", self.comments));
            }
            "creator" => self.in_author = true,
            _ => {}
        }
    }

    fn close_element(&mut self, name: &str) {
        match name {
            "p" | "h" => {
                self.flow.set_prefix(self.paragraph_prefix());
                self.flow.end_paragraph();
                (self.heading, self.is_item) = (None, false);
            }
            "list" => self.lists = self.lists.saturating_sub(1),
            "table-cell" => self.flow.end_cell(),
            "table-row" => self.flow.end_row(),
            "table" => self.flow.end_table(),
            "creator" => self.in_author = false,
            "note-body" => self.end_note(""),
            "annotation" => {
                let author = std::mem::take(&mut self.author);
                self.end_note(&format!("{author}: "));
            }
            _ => {}
        }
    }

    fn paragraph_prefix(&self) -> String {
        if let Some(level) = self.heading {
            return format!("{} ", "#".repeat(level));
        }
        let indent = "  ".repeat(self.lists.saturating_sub(1).min(16));
        match (self.lists, self.is_item) {
            (0, _) => String::new(),
            (_, true) => format!("{indent}- "),
            (_, false) => format!("{indent}  "),
        }
    }

    fn begin_note(&mut self, label: String) {
        let flow = std::mem::replace(&mut self.flow, TextFlow::new(&self.limits));
        self.interrupted.push((flow, label));
    }

    fn end_note(&mut self, who: &str) {
        if let Some((flow, label)) = self.interrupted.pop() {
            let note = std::mem::replace(&mut self.flow, flow).finish();
            self.trailing_notes.push(format!("{label}{who}{note}"));
        }
    }

    fn finish(mut self) -> String {
        // A truncated document may end inside a note.
        while !self.interrupted.is_empty() {
            self.end_note("");
        }
        let mut text = self.flow.finish();
        for (at, note) in self.trailing_notes.iter().enumerate() {
            text.push_str(if at == 0 { "\n\n" } else { "\n" });
            text.push_str(note);
        }
        text
    }
}

/// Collapses runs of whitespace to one space; OpenDocument encodes further
/// spaces as elements.
fn collapse_whitespace(text: &str) -> String {
    let mut squeezed = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' ' | '\t' | '\r' | '\n' if squeezed.ends_with(' ') => {}
            ' ' | '\t' | '\r' | '\n' => squeezed.push(' '),
            other => squeezed.push(other),
        }
    }
    squeezed
}

pub(crate) fn extract_sheets(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentError> {
    let xml = ZipPackage::open(bytes, limits)?.required_text(CONTENT_PART)?;
    let mut sheets = OdfSheetReader { limits: *limits, ..OdfSheetReader::default() };
    walk_xml(&xml, limits, |step| sheets.handle_event(&step))?;
    note_hidden(&sheets.left_out, &mut sheets.extracted);
    Ok(sheets.extracted)
}

/// Reads the sheets of a spreadsheet from XML events.
#[derive(Default)]
struct OdfSheetReader {
    extracted: ExtractedText,
    limits: DocumentLimits,
    /// The current style, and the styles of hidden sheets.
    style: String,
    hidden: HashSet<String>,
    left_out: Vec<String>,
    sheet: Option<SheetBuilder>,
    row: usize,
    row_repeats: usize,
    cells: Vec<(usize, ShownCell)>,
    column: usize,
    /// The open cell: repeat count, value and displayed text.
    repeats: usize,
    value: Option<String>,
    formula: Option<String>,
    shown: String,
    in_paragraph: bool,
    skip_depth: usize,
}

impl OdfSheetReader {
    fn handle_event(&mut self, step: &XmlEvent<'_>) {
        match step {
            XmlEvent::Open(element) if self.skip_depth > 0 || element.name() == "annotation" => {
                self.skip_depth += 1;
            }
            XmlEvent::Close(_) if self.skip_depth > 0 => self.skip_depth -= 1,
            XmlEvent::Open(element) => self.open_element(element),
            XmlEvent::Close(name) => self.close_element(name),
            XmlEvent::Text(text)
                if self.in_paragraph && self.shown.len() < self.limits.text_bytes =>
            {
                self.shown.push_str(&collapse_whitespace(text));
            }
            XmlEvent::Text(_) => {}
        }
    }

    fn open_element(&mut self, element: &XmlElement<'_>) {
        match element.name() {
            "style" => self.style = element.attribute("name").unwrap_or_default(),
            "table-properties" if element.has_value("display", "false") => {
                self.hidden.insert(self.style.clone());
            }
            "table" => {
                let name = element.attribute("name").unwrap_or_default();
                let style = element.attribute("style-name").unwrap_or_default();
                self.row = 0;
                self.sheet = None;
                if self.hidden.contains(&style) {
                    self.left_out.push(name);
                } else {
                    self.sheet = Some(SheetBuilder::new(name, &self.limits));
                }
            }
            "table-row" => {
                self.row_repeats =
                    element.numeric_attribute("number-rows-repeated").unwrap_or(1).max(1);
                self.column = 0;
                self.cells.clear();
            }
            "table-cell" | "covered-table-cell" => {
                self.repeats =
                    element.numeric_attribute("number-columns-repeated").unwrap_or(1).max(1);
                self.value = cell_value(element);
                self.formula = cell_formula(element);
                self.shown.clear();
            }
            "p" => {
                if !self.shown.is_empty() {
                    self.shown.push(' ');
                }
                self.in_paragraph = true;
            }
            "s" if self.in_paragraph => self.shown.push(' '),
            _ => {}
        }
    }

    fn close_element(&mut self, name: &str) {
        match name {
            "p" => self.in_paragraph = false,
            "table-cell" | "covered-table-cell" => {
                let text = self.value.take().unwrap_or_else(|| std::mem::take(&mut self.shown));
                let end = self.column.saturating_add(self.repeats);
                let cell = match self.formula.take() {
                    Some(formula) if text.is_empty() => Some(ShownCell::Formula(formula)),
                    _ if text.is_empty() => None,
                    _ => Some(ShownCell::Text(text)),
                };
                if let Some(cell) = cell {
                    // One column beyond the limit is enough to report the
                    // omission.
                    let last = end.min(self.limits.columns + 1);
                    self.cells.extend((self.column..last).map(|column| (column, cell.clone())));
                }
                self.column = end;
            }
            "table-row" => {
                let end = self.row.saturating_add(self.row_repeats);
                if let Some(sheet) = self.sheet.as_mut().filter(|_| !self.cells.is_empty()) {
                    'rows: for row in self.row..end.min(self.limits.rows + 1) {
                        for (column, cell) in &self.cells {
                            let fits = match cell {
                                ShownCell::Text(text) => sheet.put_cell(row, *column, text),
                                ShownCell::Formula(formula) => {
                                    sheet.put_formula(row, *column, formula)
                                }
                            };
                            if !fits {
                                break 'rows;
                            }
                        }
                    }
                    if self.row > self.limits.rows {
                        sheet.mark_rows_omitted();
                    }
                }
                self.row = end;
            }
            "table" => {
                if let Some(sheet) = self.sheet.take() {
                    sheet.finish(&mut self.extracted);
                }
            }
            _ => {}
        }
    }
}

/// Displayed content of a cell.
#[derive(Debug, Clone)]
enum ShownCell {
    Text(String),
    /// The formula of a cell without a cached value.
    Formula(String),
}

/// Returns the formula of a cell without its language prefix.
fn cell_formula(element: &XmlElement<'_>) -> Option<String> {
    let formula = element.attribute("formula")?;
    Some(formula.split_once('=').map_or(formula.as_str(), |(_, formula)| formula).to_owned())
}

/// Returns the stored value of a cell where it is more precise than the
/// displayed text.
fn cell_value(element: &XmlElement<'_>) -> Option<String> {
    match element.attribute("value-type")?.as_str() {
        "date" => element.attribute("date-value"),
        "boolean" => element.attribute("boolean-value").map(|value| value.to_ascii_uppercase()),
        "float" | "percentage" | "currency" => element.prefixed_attribute("office:value"),
        _ => None,
    }
}
