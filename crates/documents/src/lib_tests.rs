use std::time::Duration;

use proptest::prelude::*;

use super::samples::{open_document, pdf_pages, presentation, word, workbook, zipped};
use super::*;

fn text(kind: DocumentKind, bytes: &[u8]) -> ExtractedText {
    extract(kind, bytes, &DocumentLimits::default()).unwrap()
}

fn refusal(kind: DocumentKind, bytes: &[u8], limits: &DocumentLimits) -> DocumentError {
    extract(kind, bytes, limits).unwrap_err()
}

#[test]
fn notebooks_show_cells_and_outputs() {
    let notebook = r##"{"nbformat":4,"metadata":{},"cells":[
        {"cell_type":"markdown","metadata":{},"source":["# Title\n","words"]},
        {"cell_type":"code","execution_count":3,"metadata":{},"source":"print(1)","outputs":[
            {"output_type":"stream","name":"stderr","text":["warn\n"]},
            {"output_type":"execute_result","data":{"text/plain":["1"],"image/png":"QUJD"},"metadata":{},"execution_count":3},
            {"output_type":"error","ename":"ValueError","evalue":"bad","traceback":["\u001b[0;31mline 1\u001b[0m"]}]},
        {"cell_type":"raw","metadata":{},"source":["as is"]}]}"##;
    let got = text(DocumentKind::Notebook, notebook.as_bytes());
    assert_eq!(
        got.text,
        "## Markdown cell 1\n# Title\nwords\n\n## Code cell 2 [3]\nprint(1)\n### Output (stderr)\n\
         warn\n### Output\n1\n[image/png, 4 characters, not shown]\n### Error: ValueError: bad\n\
         line 1\n\n## Raw cell 3\nas is"
    );
    assert_eq!(got.notes, ["1 pictures among the outputs are not shown."]);
    let old = br#"{"nbformat":3,"worksheets":[{"cells":[{"cell_type":"code","input":["x=1"],"prompt_number":2,"outputs":[]}]}]}"#;
    assert_eq!(text(DocumentKind::Notebook, old).text, "## Code cell 1 [2]\nx=1");
}

#[test]
fn word_documents_keep_structure_and_notes() {
    let body = r#"<w:p><w:pPr><w:pStyle w:val="berschrift2"/></w:pPr><w:r><w:t>Head</w:t></w:r></w:p>
        <w:p><w:r><w:t xml:space="preserve">One </w:t><w:tab/><w:t>&lt;two&gt; &#233;</w:t><w:footnoteReference w:id="2"/></w:r>
        <w:r><w:commentReference w:id="0"/></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>
        <w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>item</w:t></w:r></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc>
        <w:tc><w:tbl><w:tr><w:tc><w:p><w:r><w:t>in</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>"#;
    let styles = r#"<w:styles xmlns:w="w"><w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style></w:styles>"#;
    let footnotes = r#"<w:footnotes xmlns:w="w"><w:footnote w:type="separator" w:id="0"><w:p/></w:footnote><w:footnote w:id="2"><w:p><w:r><w:t>See there</w:t></w:r></w:p></w:footnote></w:footnotes>"#;
    let comments = r#"<w:comments xmlns:w="w"><w:comment w:id="0" w:author="Ann"><w:p><w:r><w:t>Really?</w:t></w:r></w:p></w:comment></w:comments>"#;
    let bytes = word(
        body,
        &[
            ("word/styles.xml", styles),
            ("word/footnotes.xml", footnotes),
            ("word/comments.xml", comments),
        ],
    );
    assert_eq!(detect_kind("x.docx", &bytes), Some(DocumentKind::Word));
    let got = text(DocumentKind::Word, &bytes);
    assert_eq!(
        got.text,
        "## Head\nOne \t<two> é[^2][comment 0]\n  - item\n| a b | in |\n\n[^2]: See there\n\n[comment 0] Ann: Really?"
    );
}

#[test]
fn the_main_part_may_lie_elsewhere() {
    let bytes = zipped(&[
        (
            "_rels/.rels",
            r#"<Relationships><Relationship Id="r" Type="http://x/relationships/officeDocument" Target="/odd/main.xml"/></Relationships>"#,
        ),
        (
            "odd/main.xml",
            r#"<w:document xmlns:w="w"><w:p><w:r><w:t>x</w:t></w:r></w:p></w:document>"#,
        ),
        ("odd/header1.xml", "<w:hdr/>"),
        ("odd/media/a.png", ""),
    ]);
    let got = text(DocumentKind::Word, &bytes);
    assert_eq!(got.text, "x");
    assert_eq!(
        got.notes,
        ["Headers and footers are not shown.", "1 embedded pictures or media files are not shown."]
    );
}

#[test]
fn workbooks_show_visible_sheets_with_dates_and_formula_values() {
    let rows = r#"<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row>
        <row r="3"><c r="A3" s="1"><v>45292</v></c><c r="B3" s="2"><v>45292.5</v></c><c r="C3" t="b"><v>1</v></c><c r="D3"><f>1+1</f><v>2</v></c><c r="E3" t="inlineStr"><is><t>in
line</t></is></c><c r="F3" t="e"><v>#DIV/0!</v></c><c r="G3"><v>1.5</v></c></row>"#;
    let bytes = workbook(rows);
    assert_eq!(detect_kind("x.xlsx", &bytes), Some(DocumentKind::Workbook));
    let got = text(DocumentKind::Workbook, &bytes);
    assert_eq!(
        got.text,
        "# Sheet: Sales\nName\t\tTwo runs\n\n2024-01-01\t2024-01-01T12:00:00\tTRUE\t2\tin line\t#DIV/0!\t1.5"
    );
    assert_eq!(got.notes, ["Hidden sheets are not shown: Secret."]);
}

#[test]
fn formulas_that_nobody_has_calculated_are_shown() {
    let rows = r#"<row r="1"><c r="A1" t="inlineStr"><is><t>total</t></is></c><c r="B1"><f>SUM(B2:B3)</f><v></v></c></row>
        <row r="2"><c r="B2"><v>1</v></c><c r="C2"><f>1+1</f><v>2</v></c></row>
        <row r="4"><c r="A4"><f>A1&amp;"x"</f><v/></c><c r="AA4"><f t="shared" ref="AA4:AA5" si="4000000000">B2*2</f></c></row>
        <row r="5"><c r="AA5"><f t="shared" si="4000000000"/></c></row>"#;
    let got = text(DocumentKind::Workbook, &workbook(rows));
    let far = "\t".repeat(26);
    assert_eq!(
        got.text,
        format!(
            "# Sheet: Sales\ntotal\t=SUM(B2:B3)\n\t1\t2\n\n=A1&\"x\"{far}=B2*2\n{far}=(as in AA4)"
        )
    );
    let shown = "Sheet Sales: 4 cells have no stored value; their formulas are shown.";
    assert!(got.notes.iter().any(|note| note == shown), "{:?}", got.notes);
    let body = r#"<office:spreadsheet><table:table table:name="S"><table:table-row><table:table-cell table:formula="of:=SUM([.B2:.B3])"/><table:table-cell table:formula="of:=1+1" office:value-type="float" office:value="2"/></table:table-row></table:table></office:spreadsheet>"#;
    let got = text(DocumentKind::OpenSpreadsheet, &open_document("spreadsheet", body));
    assert_eq!(got.text, "# Sheet: S\n=SUM([.B2:.B3])\t2");
    assert_eq!(got.notes, ["Sheet S: 1 cells have no stored value; their formulas are shown."]);
}

#[test]
fn a_workbook_with_far_cells_stays_small() {
    let rows = r#"<row r="1"><c r="A1"><v>1</v></c><c r="XFD1"><v>2</v></c></row><row r="1048576"><c r="XFD1048576"><v>3</v></c></row>"#;
    let got = text(DocumentKind::Workbook, &workbook(rows));
    assert_eq!(got.text, "# Sheet: Sales\n1");
    assert_eq!(got.notes.len(), 3, "{:?}", got.notes);
}

#[test]
fn presentations_follow_the_order_of_the_show() {
    let bytes = presentation();
    assert_eq!(detect_kind("deck.pptx", &bytes), Some(DocumentKind::Presentation));
    let got = text(DocumentKind::Presentation, &bytes);
    assert_eq!(
        got.text,
        "# Slide 1\nTitle & more\n  - point\n| x | y |\nNotes:\nSay hello\n\n# Slide 2 (hidden)\nLast words"
    );
}

#[test]
fn open_texts_keep_structure_and_notes() {
    let body = r#"<office:text><text:h text:outline-level="2">Head</text:h><text:p>One<text:s text:c="2"/>two
        <text:span>three</text:span><text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Foot</text:p></text:note-body></text:note></text:p>
        <text:p>x<office:annotation><dc:creator>Bob</dc:creator><text:p>Hm</text:p></office:annotation></text:p>
        <text:list><text:list-item><text:p>a</text:p><text:list><text:list-item><text:p>b</text:p></text:list-item></text:list></text:list-item></text:list>
        <table:table><table:table-row><table:table-cell><text:p>l</text:p></table:table-cell><table:table-cell><text:p>r</text:p></table:table-cell></table:table-row></table:table></office:text>"#;
    let bytes = open_document("text", body);
    assert_eq!(detect_kind("whatever", &bytes), Some(DocumentKind::OpenText));
    assert_eq!(
        text(DocumentKind::OpenText, &bytes).text,
        "## Head\nOne  two three[^1]\nx[comment 1]\n- a\n  - b\n| l | r |\n\n[^1]: Foot\n[comment 1] Bob: Hm"
    );
}

#[test]
fn open_sheets_repeat_within_bounds() {
    let body = r#"<office:spreadsheet><table:table table:name="S"><table:table-row><table:table-cell office:value-type="date" office:date-value="2024-02-03"><text:p>3. Feb</text:p></table:table-cell><table:table-cell table:number-columns-repeated="2"/><table:table-cell office:value-type="float" office:value="1234.5"><text:p>1.234,50</text:p></table:table-cell><table:table-cell table:number-columns-repeated="2000000000" office:value-type="boolean" office:boolean-value="true"/></table:table-row><table:table-row table:number-rows-repeated="2"><table:table-cell office:value-type="string"><text:p>a</text:p><text:p>b</text:p></table:table-cell></table:table-row><table:table-row table:number-rows-repeated="1048576"/></table:table><table:table table:name="H" table:style-name="ta2"/></office:spreadsheet>"#;
    let bytes = open_document("spreadsheet", body);
    assert_eq!(detect_kind("x", &bytes), Some(DocumentKind::OpenSpreadsheet));
    let limits = DocumentLimits { columns: 6, ..DocumentLimits::default() };
    let got = extract(DocumentKind::OpenSpreadsheet, &bytes, &limits).unwrap();
    assert_eq!(got.text, "# Sheet: S\n2024-02-03\t\t\t1234.5\tTRUE\tTRUE\na b\na b");
    assert_eq!(
        got.notes,
        ["Sheet S: only the first 6 columns are shown.", "Hidden sheets are not shown: H."]
    );
}

#[test]
fn open_presentations_have_slides() {
    let body = r#"<office:presentation><draw:page><draw:text-box><text:p>Hi</text:p></draw:text-box><presentation:notes><text:p>n</text:p></presentation:notes></draw:page></office:presentation>"#;
    let bytes = open_document("presentation", body);
    assert_eq!(text(DocumentKind::OpenPresentation, &bytes).text, "# Slide 1\nHi\nNotes:\nn");
}

#[test]
fn pdfs_show_page_after_page() {
    let bytes = pdf_pages(&["Hello there", "Second page"]);
    assert_eq!(detect_kind("x", &bytes), Some(DocumentKind::Pdf));
    assert_eq!(
        text(DocumentKind::Pdf, &bytes).text,
        "--- Page 1 of 2 ---\nHello there\n\n--- Page 2 of 2 ---\nSecond page"
    );
}

#[test]
fn bombs_are_refused_by_what_they_unpack_to() {
    let limits = DocumentLimits { unpacked_bytes: 1 << 20, ..DocumentLimits::default() };
    let zeros = "0".repeat(4 << 20);
    let body = format!("<w:p><w:r><w:t>{zeros}</w:t></w:r></w:p>");
    for (kind, bytes) in [
        (DocumentKind::Word, word(&body, &[])),
        (DocumentKind::Workbook, zipped(&[("xl/workbook.xml", ""), ("xl/any.png", &zeros)])),
        (DocumentKind::OpenText, open_document("text", &format!("<text:p>{zeros}</text:p>"))),
    ] {
        assert!(matches!(refusal(kind, &bytes, &limits), DocumentError::TooLarge(_)), "{kind:?}");
    }
    let tight = DocumentLimits { ratio: 20, ..DocumentLimits::default() };
    let body = format!("<w:p>{}</w:p>", " ".repeat(20 << 20));
    assert!(matches!(
        refusal(DocumentKind::Word, &word(&body, &[]), &tight),
        DocumentError::TooLarge(_)
    ));
}

#[test]
fn large_files_are_not_taken_apart() {
    let limits = DocumentLimits { file_bytes: 10, ..DocumentLimits::default() };
    let error = refusal(DocumentKind::Pdf, &pdf_pages(&["x"]), &limits);
    assert!(error.to_string().contains("the limit is 10"), "{error}");
}

#[test]
fn nesting_and_entities_do_no_harm() {
    let deep = "<w:p>".repeat(50_000);
    let error = refusal(DocumentKind::Word, &word(&deep, &[]), &DocumentLimits::default());
    assert!(error.to_string().contains("nested"), "{error}");
    let laughs = r#"<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><w:document xmlns:w="w"><w:p><w:r><w:t>x&b;&#1234567;y</w:t></w:r></w:p></w:document>"#;
    let bytes = zipped(&[("word/document.xml", laughs)]);
    assert_eq!(text(DocumentKind::Word, &bytes).text, "x&b;&#1234567;y");
    let notebook = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let notebook = format!(r#"{{"cells":{notebook}}}"#);
    let error = refusal(DocumentKind::Notebook, notebook.as_bytes(), &DocumentLimits::default());
    assert!(matches!(error, DocumentError::Damaged(_)), "{error}");
}

#[test]
fn a_part_that_was_cut_off_is_told_with_what_could_be_read() {
    let whole = r#"<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>first</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>second</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>"#;
    let second = whole.find("second").unwrap();
    for cut in [second + 3, second + 8, second + 20, whole.len() - 5, whole.len() - 13] {
        let got = text(DocumentKind::Word, &zipped(&[("word/document.xml", &whole[..cut])]));
        assert!(got.text.starts_with("first"), "{cut}: {got:?}");
        assert!(got.notes[0].contains("damaged"), "{cut}: {got:?}");
        let is_shown = got.text.contains("second");
        assert_eq!(is_shown, cut > second + 5, "{cut}: {got:?}");
    }
    for cut in [10, 30, whole.find("first").unwrap()] {
        let bytes = zipped(&[("word/document.xml", &whole[..cut])]);
        let error = refusal(DocumentKind::Word, &bytes, &DocumentLimits::default());
        assert!(matches!(error, DocumentError::Damaged(_)), "{cut}: {error}");
    }
    let slide = r#"<office:document-content><office:body><office:text><text:p>half"#;
    let bytes = zipped(&[("content.xml", slide)]);
    let error = refusal(DocumentKind::OpenText, &bytes, &DocumentLimits::default());
    assert!(matches!(error, DocumentError::Damaged(_)), "{error}");
}

#[test]
fn text_beyond_the_bound_is_cut_at_a_line() {
    let body = "<w:p><w:r><w:t>0123456789</w:t></w:r></w:p>".repeat(100);
    let limits = DocumentLimits { text_bytes: 50, ..DocumentLimits::default() };
    let got = extract(DocumentKind::Word, &word(&body, &[]), &limits).unwrap();
    assert_eq!(got.text, "0123456789\n".repeat(4).trim_end());
    assert_eq!(got.notes, ["Only the first 43 bytes of the text are shown."]);
}

#[test]
fn damage_is_an_error_for_every_kind() {
    let kinds = [
        DocumentKind::Notebook,
        DocumentKind::Word,
        DocumentKind::Presentation,
        DocumentKind::Workbook,
        DocumentKind::OldWorkbook,
        DocumentKind::OpenText,
        DocumentKind::OpenPresentation,
        DocumentKind::OpenSpreadsheet,
        DocumentKind::Pdf,
    ];
    let limits = DocumentLimits { timeout: Duration::from_secs(60), ..DocumentLimits::default() };
    let samples = [word("<w:p/>", &[]), workbook(""), presentation(), pdf_pages(&["x"])];
    for kind in kinds {
        for bytes in
            [&b""[..], b"PK\x03\x04", b"%PDF-1.4\n", b"{", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"]
        {
            assert!(extract(kind, bytes, &limits).is_err(), "{kind:?} {bytes:?}");
        }
        for sample in &samples {
            let half = &sample[..sample.len() / 2];
            let _ = extract(kind, half, &limits);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn spoilt_documents_do_no_harm(
        which in 0_usize..5,
        spoilt in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let (kind, mut bytes) = match which {
            0 => (DocumentKind::Word, word("<w:p><w:r><w:t>x</w:t></w:r></w:p>", &[])),
            1 => (DocumentKind::Workbook, workbook("<row r=\"1\"><c r=\"A1\"><v>1</v></c></row>")),
            2 => (DocumentKind::Presentation, presentation()),
            3 => (DocumentKind::OpenText, open_document("text", "<text:p>x</text:p>")),
            _ => (DocumentKind::Pdf, pdf_pages(&["one", "two"])),
        };
        for (at, byte) in spoilt {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(extracted) = extract(kind, &bytes, &DocumentLimits::default()) {
            prop_assert!(extracted.text.len() < 10_000);
        }
    }
}
