use super::*;

#[test]
fn text_with_a_documents_name_is_no_document() {
    for (name, head) in [
        ("a.docx", &b"just text"[..]),
        ("a.pdf", b"no mark"),
        ("a.ipynb", b"# not json"),
        ("a.xlsx", b""),
        ("a.zip", b"PK\x03\x04\x14\0\0\0\0\0"),
        ("a.doc", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"),
        ("a.json", b"{}"),
    ] {
        assert_eq!(detect_kind(name, head), None, "{name}");
    }
}

#[test]
fn content_decides_and_the_name_fills_in() {
    for (name, head, expected) in [
        ("a", &b"%PDF-1.7"[..], DocumentKind::Pdf),
        ("a.PDF", b"\n\nrubbish %PDF-1.7", DocumentKind::Pdf),
        ("a.ipynb", b"\xEF\xBB\xBF\n {\"cells\"", DocumentKind::Notebook),
        ("A.XLS", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", DocumentKind::OldWorkbook),
        ("a.xlsm", b"PK\x03\x04", DocumentKind::Workbook),
    ] {
        assert_eq!(detect_kind(name, head), Some(expected), "{name}");
    }
}
