//! Excel workbooks (.xlsx and .xls): visible sheets with values, dates and
//! formulas.

use std::collections::HashMap;
use std::io::Cursor;

use calamine::{
    Data, ExcelDateTime, Reader, Sheet as Listed, SheetType, SheetVisible, Xls, XlsError, Xlsx,
    XlsxError, XlsxFormulaMetadata,
};

use crate::ExtractedText;
use crate::compound;
use crate::limits::{AbandonSignal, DocumentError, DocumentLimits, run_with_timeout};
use crate::package::ZipPackage;
use crate::sheet::{SheetBuilder, note_hidden};

pub(crate) fn extract(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentError> {
    // The library unpacks without limits.
    ZipPackage::open(bytes, limits)?.check_sizes()?;
    let (bytes, limits) = (bytes.to_vec(), *limits);
    run_with_timeout(limits.timeout, move |sign| read_xlsx(bytes, &limits, sign))
}

fn read_xlsx(
    bytes: Vec<u8>,
    limits: &DocumentLimits,
    sign: &AbandonSignal,
) -> Result<ExtractedText, DocumentError> {
    let mut book = Xlsx::new(Cursor::new(bytes)).map_err(to_document_error)?;
    let mut extracted = ExtractedText::default();
    for name in visible_sheets(book.sheets_metadata().to_vec(), &mut extracted) {
        let mut sheet = SheetBuilder::new(&name, limits);
        // Cell by cell: a table of all cells could be arbitrarily large.
        let mut cells = match book.worksheet_cells_reader(&name) {
            Ok(cells) => cells,
            Err(error) => {
                extracted.notes.push(format!("Cannot read sheet {name}: {error}."));
                continue;
            }
        };
        let mut anchors = HashMap::new();
        while let Some(cell) = cells.next_cell_with_formula_metadata().map_err(to_document_error)? {
            let (row, column) = cell.pos;
            let text = format_cell(&Data::from(cell.value));
            let formula =
                cell.formula.and_then(|formula| shown_formula(formula, cell.pos, &mut anchors));
            let fits = match formula.filter(|_| text.is_empty()) {
                Some(formula) => sheet.put_formula(row as usize, column as usize, &formula),
                None => sheet.put_cell(row as usize, column as usize, &text),
            };
            if !fits || sign.is_abandoned() {
                break;
            }
            if sheet.is_full(row as usize) {
                sheet.mark_rows_omitted();
                break;
            }
        }
        sheet.finish(&mut extracted);
    }
    Ok(extracted)
}

/// Returns the formula of a cell; one that shares its formula refers to the
/// first such cell, whose position is in `anchors`.
fn shown_formula(
    formula: XlsxFormulaMetadata,
    at: (u32, u32),
    anchors: &mut HashMap<usize, (u32, u32)>,
) -> Option<String> {
    let formula = match formula {
        XlsxFormulaMetadata::Normal { formula } => formula,
        XlsxFormulaMetadata::Shared { shared_index, formula, .. } => {
            anchors.insert(shared_index, at);
            formula
        }
        XlsxFormulaMetadata::SharedDerived { shared_index } => {
            let (row, column) = anchors.get(&shared_index)?;
            format!("(as in {}{})", column_name(*column), u64::from(*row) + 1)
        }
        _ => return None,
    };
    Some(formula).filter(|formula| !formula.is_empty())
}

/// Returns the letters of a zero-based column.
fn column_name(mut column: u32) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(b'A' + (column % 26) as u8));
        match (column / 26).checked_sub(1) {
            Some(rest) => column = rest,
            None => return letters.into_iter().rev().collect(),
        }
    }
}

pub(crate) fn extract_xls(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentError> {
    compound::check_sheets(bytes)?;
    let (bytes, limits) = (bytes.to_vec(), *limits);
    run_with_timeout(limits.timeout, move |_| read_xls(bytes, &limits))
}

fn read_xls(bytes: Vec<u8>, limits: &DocumentLimits) -> Result<ExtractedText, DocumentError> {
    let mut book = Xls::new(Cursor::new(bytes)).map_err(|error| match error {
        XlsError::Password => DocumentError::Protected,
        other => DocumentError::damaged(other),
    })?;
    let mut extracted = ExtractedText::default();
    for name in visible_sheets(book.sheets_metadata().to_vec(), &mut extracted) {
        let mut sheet = SheetBuilder::new(&name, limits);
        let range = book.worksheet_range(&name).map_err(DocumentError::damaged)?;
        let (top, left) = range.start().unwrap_or((0, 0));
        for (row, column, value) in range.used_cells() {
            if !sheet.put_cell(top as usize + row, left as usize + column, &format_cell(value)) {
                break;
            }
        }
        sheet.finish(&mut extracted);
    }
    Ok(extracted)
}

fn to_document_error(error: XlsxError) -> DocumentError {
    match error {
        XlsxError::Password => DocumentError::Protected,
        other => DocumentError::damaged(other),
    }
}

/// Returns the names of the visible sheets; notes the hidden ones.
fn visible_sheets(sheets: Vec<Listed>, into: &mut ExtractedText) -> Vec<String> {
    let (shown, hidden): (Vec<Listed>, Vec<Listed>) = sheets
        .into_iter()
        .filter(|sheet| sheet.typ == SheetType::WorkSheet)
        .partition(|sheet| sheet.visible == SheetVisible::Visible);
    let hidden: Vec<String> = hidden.into_iter().map(|sheet| sheet.name).collect();
    note_hidden(&hidden, into);
    shown.into_iter().map(|sheet| sheet.name).collect()
}

fn format_cell(value: &Data) -> String {
    match value {
        Data::Empty => String::new(),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::Int(number) => number.to_string(),
        Data::Float(number) => number.to_string(),
        Data::Bool(true) => "TRUE".to_owned(),
        Data::Bool(false) => "FALSE".to_owned(),
        Data::DateTime(moment) => format_datetime(*moment),
        Data::Error(error) => error.to_string(),
    }
}

fn format_datetime(moment: ExcelDateTime) -> String {
    let value = moment.as_f64();
    if moment.is_duration() {
        let seconds = (value * 86_400.0).round().abs() as u64;
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    }
    let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    match (value.fract() == 0.0, value.abs() < 1.0) {
        (_, true) => time,
        (true, false) => date,
        (false, false) => format!("{date}T{time}"),
    }
}
