//! The text of notebooks, office documents and PDFs, within bounds.
//!
//! Nothing here touches a file: a document is a slice of bytes, and what comes
//! out is plain text with a little Markdown. Documents come from strangers, so
//! every step is bounded: what is unpacked, how deep, how long, how much.

mod compound;
mod document_kind;
mod limits;
mod notebook;
mod office;
mod opendocument;
mod package;
mod pdf;
mod presentation;
mod sheet;
mod spreadsheet;
mod text_flow;
mod word;
mod xml;
mod xml_check;

pub use document_kind::{DocumentKind, detect_kind};
pub use limits::{DocumentError, DocumentLimits};
pub use xml_check::find_xml_error;

/// The text of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtractedText {
    /// Lines, with headings as `#`, lists as `-` and tables as rows.
    pub text: String,
    /// What was left out, a sentence each.
    pub notes: Vec<String>,
}

/// The text of the document in `bytes`.
///
/// A panic of a library is an error like any other. Spreadsheets and PDFs are
/// read by libraries on a thread of their own; one that does not answer in
/// time is left behind, and when several are, no new one is begun.
pub fn extract(
    kind: DocumentKind,
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentError> {
    if bytes.len() as u64 > limits.file_bytes {
        return Err(DocumentError::TooLarge(format!(
            "it has {} bytes, and at most {} are taken apart",
            bytes.len(),
            limits.file_bytes
        )));
    }
    let mut extracted = match kind {
        DocumentKind::Notebook => notebook::extract(bytes, limits),
        DocumentKind::Word => word::extract(bytes, limits),
        DocumentKind::Presentation => presentation::extract(bytes, limits),
        DocumentKind::OpenText | DocumentKind::OpenPresentation => {
            opendocument::extract(bytes, limits)
        }
        DocumentKind::OpenSpreadsheet => opendocument::extract_sheets(bytes, limits),
        DocumentKind::Workbook => spreadsheet::extract(bytes, limits),
        DocumentKind::OldWorkbook => spreadsheet::extract_xls(bytes, limits),
        DocumentKind::Pdf => pdf::extract(bytes, limits),
    }?;
    limits::truncate_text(&mut extracted, limits);
    Ok(extracted)
}

#[cfg(test)]
#[path = "samples_tests.rs"]
mod samples;

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
