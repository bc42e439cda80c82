use super::*;

#[test]
fn the_more_frequent_ending_wins() {
    for (text, dominant, mixed, final_newline) in [
        ("", None, false, false),
        ("one", None, false, false),
        ("a\nb\n", Some(LineEnding::Lf), false, true),
        ("a\nb", Some(LineEnding::Lf), false, false),
        ("a\r\nb\r\n", Some(LineEnding::CrLf), false, true),
        ("a\rb\r", Some(LineEnding::Cr), false, true),
        ("a\rb", Some(LineEnding::Cr), false, false),
        ("a\r\nb\nc\r\n", Some(LineEnding::CrLf), true, true),
        ("a\r\nb\n", Some(LineEnding::Lf), true, true),
        ("50%\r100%\ndone\n", Some(LineEnding::Lf), false, true),
        ("\n", Some(LineEnding::Lf), false, true),
    ] {
        let expected = LineEndings { dominant, is_mixed: mixed, final_newline };
        assert_eq!(LineEndings::detect(text), expected, "{text:?}");
    }
}

#[test]
fn plain_line_feeds_need_no_mention() {
    assert_eq!(LineEndings::detect("a\n").label(), None);
    assert_eq!(LineEndings::detect("a").label(), None);
    assert_eq!(LineEndings::detect("a\r\n").label(), Some("crlf"));
    assert_eq!(LineEndings::detect("a\r").label(), Some("cr"));
    assert_eq!(LineEndings::detect("a\r\nb\n").label(), Some("mixed"));
}

#[test]
fn a_carriage_return_ends_lines_only_where_no_line_feed_does() {
    for (text, expected) in [
        ("", &[][..]),
        ("a", &["a"]),
        ("a\nb\r\n\nc", &["a", "b", "", "c"]),
        ("a\rb\r", &["a", "b"]),
        ("a\r\rb", &["a", "", "b"]),
        ("a\rb\nc\r", &["a\rb", "c\r"]),
        ("\r\n", &[""]),
    ] {
        assert_eq!(lines(text).collect::<Vec<_>>(), expected, "{text:?}");
        assert_eq!(count_lines(text), expected.len(), "{text:?}");
    }
    assert_eq!([0, 1, 2, 4].map(|at| line_at("a\rb\rc", at)), [1, 1, 2, 3]);
    assert_eq!(line_at("a\rb\nc", 2), 1);
}
