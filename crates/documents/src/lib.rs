//! Extracts the text of notebooks, office documents and PDFs within limits.
//!
//! Nothing here touches a file: the input is a slice of bytes, the output plain
//! text with a little Markdown. Documents are untrusted, so every step has a
//! limit on size, depth and time.

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

/// Text of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtractedText {
    /// Lines, with headings as `#`, lists as `-` and tables as rows.
    pub text: String,
    /// One sentence for each omission.
    pub notes: Vec<String>,
}

/// Extracts the text of the document in `bytes`.
///
/// A panic in a library becomes an error. Libraries read spreadsheets and PDFs
/// on a separate thread; a thread that exceeds the timeout is abandoned, and
/// when several are, further documents are refused.
pub fn extract(
    kind: DocumentKind,
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentError> {
    if bytes.len() as u64 > limits.file_bytes {
        return Err(DocumentError::TooLarge(format!(
            "it has {} bytes, and the limit is {}",
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
