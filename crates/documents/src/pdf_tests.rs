use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::*;
use crate::samples::{pdf, pdf_pages, stream};

fn text(bytes: &[u8]) -> Result<ExtractedText, DocumentError> {
    extract(bytes, &DocumentLimits::default())
}

/// A page that draws the parts that follow; the first of them is object 5.
fn drawing(parts: &[String]) -> Vec<u8> {
    let font = "/Font << /F1 4 0 R >>";
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 300 300] >>".to_owned(),
        format!(
            "<< /Type /Page /Parent 2 0 R /Resources << {font} /XObject << /X 5 0 R >> >> /Contents {} 0 R >>",
            5 + parts.len()
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ];
    objects.extend_from_slice(parts);
    objects.push(stream("", "BT /F1 12 Tf 20 200 Td (page) Tj ET /X Do"));
    pdf(&objects)
}

fn form(draws: &str, next: usize) -> String {
    stream(
        &format!("/Type /XObject /Subtype /Form /Resources << /XObject << /X {next} 0 R >> >>"),
        draws,
    )
}

#[test]
fn a_part_that_draws_itself_does_not_loop() {
    let itself = drawing(&[form("/X Do", 5)]);
    assert!(text(&itself).unwrap().text.ends_with("page"));
    let two = drawing(&[form("/X Do", 6), form("/X Do", 5)]);
    assert!(text(&two).unwrap().text.ends_with("page"));
    let borrowed = stream("/Type /XObject /Subtype /Form", "/X Do");
    assert!(text(&drawing(&[borrowed])).unwrap().text.ends_with("page"));
}

#[test]
fn parts_that_multiply_are_not_drawn() {
    let parts: Vec<String> = (0..40).map(|at| form("/X Do /X Do /X Do", 6 + at)).collect();
    assert!(text(&drawing(&parts)).unwrap().text.ends_with("page"));
}

#[test]
fn a_part_that_shows_text_is_shown() {
    let part = stream(
        "/Type /XObject /Subtype /Form /Resources << /Font << /F1 4 0 R >> >>",
        "BT /F1 12 Tf 20 100 Td (inside) Tj ET",
    );
    assert!(text(&drawing(&[part])).unwrap().text.contains("inside"));
}

#[test]
fn a_page_that_is_its_own_parent_is_left_out() {
    let pages = pdf_pages(&["x"]);
    let looping =
        String::from_utf8(pages).unwrap().replace("/Parent 2 0 R /Res", "/Parent 4 0 R /Res");
    let error = text(looping.as_bytes()).unwrap_err();
    assert!(matches!(error, DocumentError::Damaged(_)), "{error}");
}

#[test]
fn packed_streams_are_measured_first() {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
    packer.write_all(&vec![b' '; 4 << 20]).unwrap();
    let once = packer.finish().unwrap();
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
    packer.write_all(&once).unwrap();
    let twice = packer.finish().unwrap();
    for packed in [once, twice] {
        let mut bytes = pdf_pages(&["x"]);
        bytes.extend(b"9 0 obj\n<< /Filter /FlateDecode >>\nstream\r\n");
        bytes.extend(packed);
        let limits = DocumentLimits { unpacked_bytes: 1 << 20, ..DocumentLimits::default() };
        assert!(matches!(extract(&bytes, &limits), Err(DocumentError::TooLarge(_))));
        assert_eq!(check_streams(&bytes, &DocumentLimits::default()), Ok(()));
    }
}

#[test]
fn a_page_without_text_is_said_to_be_a_picture() {
    let notes = text(&pdf_pages(&[""])).unwrap().notes;
    assert_eq!(notes, ["It contains no text; its pages may be images."]);
}
