//! Which kind of document a file is: by its first bytes, and by its name where
//! those leave a choice.

/// A kind of document whose text can be extracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A Jupyter notebook (.ipynb).
    Notebook,
    /// A Word document (.docx).
    Word,
    /// A PowerPoint presentation (.pptx).
    Presentation,
    /// An Excel workbook (.xlsx, .xlsm).
    Workbook,
    /// An Excel workbook of before 2007 (.xls).
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

impl Kind {
    /// What it is called.
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

/// Where the content of a stored first entry begins, which OpenDocument uses
/// for its type.
const FIRST_ENTRY: usize = 30;
/// A PDF may have some bytes before its mark.
const PDF_MARK: usize = 1024;

/// The kind of the document called `name` that begins with `head`; none for
/// everything else, such as plain text with a document's name.
pub fn kind(name: &str, head: &[u8]) -> Option<Kind> {
    let extension = name.rsplit_once('.').map(|(_, e)| e.to_ascii_lowercase()).unwrap_or_default();
    if head.starts_with(b"PK\x03\x04") {
        return packed(&extension, head);
    }
    if head.starts_with(b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1") {
        let book: Vec<u8> = "Workbook".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let is_old = matches!(extension.as_str(), "xls" | "xlt") || contains(head, &book);
        return is_old.then_some(Kind::OldWorkbook);
    }
    if head.starts_with(b"%PDF-") {
        return Some(Kind::Pdf);
    }
    let start = head.get(..PDF_MARK).unwrap_or(head);
    match extension.as_str() {
        "pdf" if contains(start, b"%PDF-") => Some(Kind::Pdf),
        "ipynb" if begins_with_object(head) => Some(Kind::Notebook),
        _ => None,
    }
}

fn packed(extension: &str, head: &[u8]) -> Option<Kind> {
    let first = head.get(FIRST_ENTRY..).unwrap_or_default();
    if let Some(rest) = first.strip_prefix(b"mimetype") {
        // An extra field may stand between the name and the content.
        let start = rest.get(..200).unwrap_or(rest);
        let of = |kind: &str| contains(start, format!("opendocument.{kind}").as_bytes());
        return match () {
            () if of("text") => Some(Kind::OpenText),
            () if of("spreadsheet") => Some(Kind::OpenSpreadsheet),
            () if of("presentation") => Some(Kind::OpenPresentation),
            () => None,
        };
    }
    let by_name = match extension {
        "docx" | "docm" | "dotx" => Some(Kind::Word),
        "pptx" | "pptm" | "ppsx" => Some(Kind::Presentation),
        "xlsx" | "xlsm" | "xltx" => Some(Kind::Workbook),
        "odt" | "ott" => Some(Kind::OpenText),
        "ods" | "ots" => Some(Kind::OpenSpreadsheet),
        "odp" | "otp" => Some(Kind::OpenPresentation),
        _ => None,
    };
    by_name.or_else(|| by_entries(head))
}

/// Office writes its list of types first; the main part is not far behind.
fn by_entries(head: &[u8]) -> Option<Kind> {
    if !head.get(FIRST_ENTRY..)?.starts_with(b"[Content_Types].xml") {
        return None;
    }
    [
        (&b"word/document.xml"[..], Kind::Word),
        (b"ppt/presentation.xml", Kind::Presentation),
        (b"xl/workbook.xml", Kind::Workbook),
    ]
    .into_iter()
    .find_map(|(entry, kind)| contains(head, entry).then_some(kind))
}

fn begins_with_object(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    head.trim_ascii_start().starts_with(b"{")
}

pub(crate) fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
#[path = "kind_tests.rs"]
mod tests;
