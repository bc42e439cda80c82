//! Detects the kind of a document by its first bytes, and by its name where
//! those are ambiguous.

/// A kind of document whose text can be extracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DocumentKind {
    /// A Jupyter notebook (.ipynb).
    Notebook,
    /// A Word document (.docx).
    Word,
    /// A PowerPoint presentation (.pptx).
    Presentation,
    /// An Excel workbook (.xlsx, .xlsm).
    Workbook,
    /// An Excel workbook from before 2007 (.xls).
    OldWorkbook,
    /// An OpenDocument text (.odt).
    OpenText,
    /// An OpenDocument presentation (.odp).
    OpenPresentation,
    /// An OpenDocument spreadsheet (.ods).
    OpenSpreadsheet,
    /// A PDF.
    Pdf,
}

impl DocumentKind {
    /// Display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Notebook => "notebook",
            Self::Word => "docx",
            Self::Presentation => "pptx",
            Self::Workbook => "xlsx",
            Self::OldWorkbook => "xls",
            Self::OpenText => "odt",
            Self::OpenPresentation => "odp",
            Self::OpenSpreadsheet => "ods",
            Self::Pdf => "pdf",
        }
    }
}

/// Offset of the first ZIP entry's name; OpenDocument stores its type there.
const FIRST_ENTRY_OFFSET: usize = 30;
/// A PDF may have some bytes before its magic number.
const PDF_MAGIC_WINDOW_BYTES: usize = 1024;

/// Returns the kind of the document called `name` that begins with `head`;
/// `None` for anything else, such as plain text with a document's name.
pub fn detect_kind(name: &str, head: &[u8]) -> Option<DocumentKind> {
    let extension = name.rsplit_once('.').map(|(_, e)| e.to_ascii_lowercase()).unwrap_or_default();
    if head.starts_with(b"PK\x03\x04") {
        return detect_zip_kind(&extension, head);
    }
    if head.starts_with(b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1") {
        let book: Vec<u8> = "Workbook".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let is_old = matches!(extension.as_str(), "xls" | "xlt") || contains_bytes(head, &book);
        return is_old.then_some(DocumentKind::OldWorkbook);
    }
    if head.starts_with(b"%PDF-") {
        return Some(DocumentKind::Pdf);
    }
    let start = head.get(..PDF_MAGIC_WINDOW_BYTES).unwrap_or(head);
    match extension.as_str() {
        "pdf" if contains_bytes(start, b"%PDF-") => Some(DocumentKind::Pdf),
        "ipynb" if begins_with_object(head) => Some(DocumentKind::Notebook),
        _ => None,
    }
}

fn detect_zip_kind(extension: &str, head: &[u8]) -> Option<DocumentKind> {
    let first = head.get(FIRST_ENTRY_OFFSET..).unwrap_or_default();
    if let Some(rest) = first.strip_prefix(b"mimetype") {
        // An extra field may separate the name from the content.
        let start = rest.get(..200).unwrap_or(rest);
        let of = |kind: &str| contains_bytes(start, format!("opendocument.{kind}").as_bytes());
        return match () {
            () if of("text") => Some(DocumentKind::OpenText),
            () if of("spreadsheet") => Some(DocumentKind::OpenSpreadsheet),
            () if of("presentation") => Some(DocumentKind::OpenPresentation),
            () => None,
        };
    }
    let by_name = match extension {
        "docx" | "docm" | "dotx" => Some(DocumentKind::Word),
        "pptx" | "pptm" | "ppsx" => Some(DocumentKind::Presentation),
        "xlsx" | "xlsm" | "xltx" => Some(DocumentKind::Workbook),
        "odt" | "ott" => Some(DocumentKind::OpenText),
        "ods" | "ots" => Some(DocumentKind::OpenSpreadsheet),
        "odp" | "otp" => Some(DocumentKind::OpenPresentation),
        _ => None,
    };
    by_name.or_else(|| detect_office_kind(head))
}

/// Office writes the list of content types first, followed closely by the main
/// part.
fn detect_office_kind(head: &[u8]) -> Option<DocumentKind> {
    if !head.get(FIRST_ENTRY_OFFSET..)?.starts_with(b"[Content_Types].xml") {
        return None;
    }
    [
        (&b"word/document.xml"[..], DocumentKind::Word),
        (b"ppt/presentation.xml", DocumentKind::Presentation),
        (b"xl/workbook.xml", DocumentKind::Workbook),
    ]
    .into_iter()
    .find_map(|(entry, kind)| contains_bytes(head, entry).then_some(kind))
}

fn begins_with_object(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    head.trim_ascii_start().starts_with(b"{")
}

pub(crate) fn contains_bytes(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
#[path = "document_kind_tests.rs"]
mod tests;
