use super::*;

#[test]
fn the_more_frequent_ending_wins() {
    for (text, dominant, mixed, final_newline) in [
        ("", None, false, false),
        ("one", None, false, false),
        ("a\nb\n", Some(Ending::Lf), false, true),
        ("a\nb", Some(Ending::Lf), false, false),
        ("a\r\nb\r\n", Some(Ending::CrLf), false, true),
        ("a\rb\r", Some(Ending::Cr), false, true),
        ("a\rb", Some(Ending::Cr), false, false),
        ("a\r\nb\nc\r\n", Some(Ending::CrLf), true, true),
        ("a\r\nb\n", Some(Ending::Lf), true, true),
        ("50%\r100%\ndone\n", Some(Ending::Lf), false, true),
        ("\n", Some(Ending::Lf), false, true),
    ] {
        let expected = Endings { dominant, mixed, final_newline };
        assert_eq!(Endings::of(text), expected, "{text:?}");
    }
}

#[test]
fn plain_line_feeds_need_no_mention() {
    assert_eq!(Endings::of("a\n").label(), None);
    assert_eq!(Endings::of("a").label(), None);
    assert_eq!(Endings::of("a\r\n").label(), Some("crlf"));
    assert_eq!(Endings::of("a\r").label(), Some("cr"));
    assert_eq!(Endings::of("a\r\nb\n").label(), Some("mixed"));
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
