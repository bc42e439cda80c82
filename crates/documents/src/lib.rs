//! The text of notebooks, office documents and PDFs, within bounds.
//!
//! Nothing here touches a file: a document is a slice of bytes, and what comes
//! out is plain text with a little Markdown. Documents come from strangers, so
//! every step is bounded: what is unpacked, how deep, how long, how much.

mod bound;
mod compound;
mod flow;
mod kind;
mod notebook;
mod office;
mod opendocument;
mod package;
mod pdf;
mod presentation;
mod sheet;
mod spreadsheet;
mod wellformed;
mod word;
mod xml;

pub use bound::{DocumentError, Limits};
pub use kind::{Kind, kind};
pub use wellformed::xml_fault;

/// The text of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extracted {
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
pub fn extract(kind: Kind, bytes: &[u8], limits: &Limits) -> Result<Extracted, DocumentError> {
    if bytes.len() as u64 > limits.file {
        return Err(DocumentError::TooLarge(format!(
            "it has {} bytes, and at most {} are taken apart",
            bytes.len(),
            limits.file
        )));
    }
    let mut extracted = match kind {
        Kind::Notebook => notebook::extract(bytes, limits),
        Kind::Word => word::extract(bytes, limits),
        Kind::Presentation => presentation::extract(bytes, limits),
        Kind::OpenText | Kind::OpenPresentation => opendocument::extract(bytes, limits),
        Kind::OpenSpreadsheet => opendocument::extract_sheets(bytes, limits),
        Kind::Workbook => spreadsheet::extract(bytes, limits),
        Kind::OldWorkbook => spreadsheet::extract_old(bytes, limits),
        Kind::Pdf => pdf::extract(bytes, limits),
    }?;
    bound::cut(&mut extracted, limits);
    Ok(extracted)
}

#[cfg(test)]
#[path = "samples_tests.rs"]
mod samples;

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
