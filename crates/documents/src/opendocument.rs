//! OpenDocument: texts, presentations and spreadsheets.

use std::collections::HashSet;

use crate::Extracted;
use crate::bound::{DocumentError, Limits};
use crate::flow::Flow;
use crate::package::Package;
use crate::sheet::{Sheet, note_hidden};
use crate::xml::{Element, Step, walk};

const CONTENT: &str = "content.xml";
/// Elements whose text is not part of the document as it stands.
const PASSED_OVER: &[&str] = &["tracked-changes", "note-citation", "desc", "date-string"];

pub(crate) fn extract(bytes: &[u8], limits: &Limits) -> Result<Extracted, DocumentError> {
    let mut package = Package::open(bytes, limits)?;
    let xml = package.required(CONTENT)?;
    let mut text = Text::new(limits);
    walk(&xml, limits, |step| text.step(&step))?;
    let pictures = package.names().iter().filter(|name| name.starts_with("Pictures/")).count();
    let notes = match pictures {
        0 => Vec::new(),
        _ => vec![format!("{pictures} embedded pictures are not shown.")],
    };
    Ok(Extracted { text: text.finish(), notes })
}

/// A text in the making.
struct Text {
    flow: Flow,
    /// Flows that are interrupted by a note.
    outer: Vec<(Flow, String)>,
    /// Notes and comments, which follow the text.
    behind: Vec<String>,
    author: String,
    in_author: bool,
    passing: usize,
    heading: Option<usize>,
    lists: usize,
    is_item: bool,
    footnotes: usize,
    comments: usize,
    slides: usize,
    limits: Limits,
}

impl Text {
    fn new(limits: &Limits) -> Self {
        Self {
            flow: Flow::new(limits),
            outer: Vec::new(),
            behind: Vec::new(),
            author: String::new(),
            in_author: false,
            passing: 0,
            heading: None,
            lists: 0,
            is_item: false,
            footnotes: 0,
            comments: 0,
            slides: 0,
            limits: *limits,
        }
    }

    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Open(element) if self.passing > 0 || PASSED_OVER.contains(&element.name()) => {
                self.passing += 1;
            }
            Step::Close(_) if self.passing > 0 => self.passing -= 1,
            Step::Open(element) => self.open(element),
            Step::Close(name) => self.close(name),
            Step::Text(text) if self.in_author => self.author.push_str(text),
            Step::Text(text) if self.passing == 0 => self.flow.push(&squeeze(text)),
            Step::Text(_) => {}
        }
    }

    fn open(&mut self, element: &Element<'_>) {
        match element.name() {
            "p" => self.flow.begin(),
            "h" => {
                self.flow.begin();
                self.heading = Some(element.number("outline-level").unwrap_or(1).clamp(1, 6));
            }
            "s" => self.flow.push(&" ".repeat(element.number("c").unwrap_or(1).min(1000))),
            "tab" => self.flow.push("\t"),
            "line-break" => self.flow.push("\n"),
            "list" => self.lists += 1,
            "list-item" => self.is_item = true,
            "table" => self.flow.begin_table(),
            "page" => {
                self.slides += 1;
                self.flow.line("");
                self.flow.line(&format!("# Slide {}", self.slides));
            }
            "notes" => self.flow.line("Notes:"),
            "note" => {
                self.footnotes += 1;
                self.flow.push(&format!("[^{}]", self.footnotes));
            }
            "note-body" => self.interrupt(format!("[^{}]: ", self.footnotes)),
            "annotation" => {
                self.comments += 1;
                self.flow.push(&format!("[comment {}]", self.comments));
                self.author.clear();
                self.interrupt(format!("[comment {}] ", self.comments));
            }
            "creator" => self.in_author = true,
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "p" | "h" => {
                self.flow.prefix(self.prefix());
                self.flow.end();
                (self.heading, self.is_item) = (None, false);
            }
            "list" => self.lists = self.lists.saturating_sub(1),
            "table-cell" => self.flow.end_cell(),
            "table-row" => self.flow.end_row(),
            "table" => self.flow.end_table(),
            "creator" => self.in_author = false,
            "note-body" => self.resume(""),
            "annotation" => {
                let author = std::mem::take(&mut self.author);
                self.resume(&format!("{author}: "));
            }
            _ => {}
        }
    }

    fn prefix(&self) -> String {
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

    fn interrupt(&mut self, label: String) {
        let flow = std::mem::replace(&mut self.flow, Flow::new(&self.limits));
        self.outer.push((flow, label));
    }

    fn resume(&mut self, who: &str) {
        if let Some((flow, label)) = self.outer.pop() {
            let note = std::mem::replace(&mut self.flow, flow).finish();
            self.behind.push(format!("{label}{who}{note}"));
        }
    }

    fn finish(mut self) -> String {
        // A cut document may end inside a note.
        while !self.outer.is_empty() {
            self.resume("");
        }
        let mut text = self.flow.finish();
        for (at, note) in self.behind.iter().enumerate() {
            text.push_str(if at == 0 { "\n\n" } else { "\n" });
            text.push_str(note);
        }
        text
    }
}

/// White space counts as one space; more of it has elements of its own.
fn squeeze(text: &str) -> String {
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

pub(crate) fn extract_sheets(bytes: &[u8], limits: &Limits) -> Result<Extracted, DocumentError> {
    let xml = Package::open(bytes, limits)?.required(CONTENT)?;
    let mut sheets = Sheets { limits: *limits, ..Sheets::default() };
    walk(&xml, limits, |step| sheets.step(&step))?;
    note_hidden(&sheets.left_out, &mut sheets.extracted);
    Ok(sheets.extracted)
}

/// The sheets of a spreadsheet, as they are met.
#[derive(Default)]
struct Sheets {
    extracted: Extracted,
    limits: Limits,
    /// The style that is being described, and those of hidden sheets.
    style: String,
    hidden: HashSet<String>,
    left_out: Vec<String>,
    sheet: Option<Sheet>,
    row: usize,
    row_repeats: usize,
    cells: Vec<(usize, Cell)>,
    column: usize,
    /// How often the open cell occurs, what it holds, and what it shows.
    repeats: usize,
    value: Option<String>,
    formula: Option<String>,
    shown: String,
    in_paragraph: bool,
    passing: usize,
}

impl Sheets {
    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Open(element) if self.passing > 0 || element.name() == "annotation" => {
                self.passing += 1;
            }
            Step::Close(_) if self.passing > 0 => self.passing -= 1,
            Step::Open(element) => self.open(element),
            Step::Close(name) => self.close(name),
            Step::Text(text) if self.in_paragraph && self.shown.len() < self.limits.text => {
                self.shown.push_str(&squeeze(text));
            }
            Step::Text(_) => {}
        }
    }

    fn open(&mut self, element: &Element<'_>) {
        match element.name() {
            "style" => self.style = element.attribute("name").unwrap_or_default(),
            "table-properties" if element.is("display", "false") => {
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
                    self.sheet = Some(Sheet::new(name, &self.limits));
                }
            }
            "table-row" => {
                self.row_repeats = element.number("number-rows-repeated").unwrap_or(1).max(1);
                self.column = 0;
                self.cells.clear();
            }
            "table-cell" | "covered-table-cell" => {
                self.repeats = element.number("number-columns-repeated").unwrap_or(1).max(1);
                self.value = value_of(element);
                self.formula = formula_of(element);
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

    fn close(&mut self, name: &str) {
        match name {
            "p" => self.in_paragraph = false,
            "table-cell" | "covered-table-cell" => {
                let text = self.value.take().unwrap_or_else(|| std::mem::take(&mut self.shown));
                let end = self.column.saturating_add(self.repeats);
                let cell = match self.formula.take() {
                    Some(formula) if text.is_empty() => Some(Cell::Formula(formula)),
                    _ if text.is_empty() => None,
                    _ => Some(Cell::Text(text)),
                };
                if let Some(cell) = cell {
                    // One column beyond the bound is enough to be noticed.
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
                                Cell::Text(text) => sheet.put(row, *column, text),
                                Cell::Formula(formula) => sheet.put_formula(row, *column, formula),
                            };
                            if !fits {
                                break 'rows;
                            }
                        }
                    }
                    if self.row > self.limits.rows {
                        sheet.leave_rows();
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

/// What is shown of a cell.
#[derive(Debug, Clone)]
enum Cell {
    Text(String),
    /// How it is calculated, since nobody has done so.
    Formula(String),
}

/// How a cell is calculated; the name of the language in front is left out.
fn formula_of(element: &Element<'_>) -> Option<String> {
    let formula = element.attribute("formula")?;
    Some(formula.split_once('=').map_or(formula.as_str(), |(_, formula)| formula).to_owned())
}

/// What a cell holds, where that says more than what it shows.
fn value_of(element: &Element<'_>) -> Option<String> {
    match element.attribute("value-type")?.as_str() {
        "date" => element.attribute("date-value"),
        "boolean" => element.attribute("boolean-value").map(|value| value.to_ascii_uppercase()),
        "float" | "percentage" | "currency" => element.prefixed("office:value"),
        _ => None,
    }
}
