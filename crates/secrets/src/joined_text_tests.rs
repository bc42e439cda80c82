use super::*;

#[test]
fn positions_lead_back_to_the_source() {
    let source = "a\u{1b}[31mb\u{200b}é\u{feff}\u{2019}";
    let joined = JoinedText::new(source).expect("invisible parts");
    assert_eq!(joined.text(), "abé\u{2019}");
    assert_eq!(joined.source_range(0, 2), Some((0, 7)));
    assert_eq!(joined.source_range(2, 4), Some((10, 12)));
    for (at, c) in joined.text().char_indices() {
        let (from, to) = joined.source_range(at, at + c.len_utf8()).expect("a range");
        assert!(source.get(from..to).is_some_and(|found| found.contains(c)), "{c}");
    }
    let lines = "one\nt\u{200b}wo\u{200b}\nthree\n\u{200b}four\nfive";
    let joined = JoinedText::new(lines).expect("invisible parts");
    assert_eq!(joined.text(), "two\nfour\n");
    let (from, to) = joined.source_range(4, 8).expect("a range");
    assert_eq!(&lines[from..to], "four");
    assert!(JoinedText::new("plain text, “quoted” – and more").is_none());
}
