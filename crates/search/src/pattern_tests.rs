#![allow(clippy::unwrap_used)]

use grep_matcher::Matcher;

use super::*;

fn fits(pattern: &SearchPattern, text: &str) -> bool {
    pattern.compile().unwrap().matcher.is_match(text.as_bytes()).unwrap()
}

fn broken(text: &str) -> PatternSyntaxError {
    match SearchPattern::regex(text).compile() {
        Err(SearchError::Pattern(syntax)) => syntax,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn case_words_and_literals() {
    let plain = SearchPattern::regex("Foo");
    assert!(fits(&plain, "a Foo") && !fits(&plain, "a foo"));
    let insensitive = SearchPattern { case: CaseMode::Insensitive, ..plain.clone() };
    assert!(fits(&insensitive, "FOO"));
    let smart = SearchPattern { case: CaseMode::Smart, ..plain.clone() };
    assert!(!fits(&smart, "foo"));
    assert!(fits(&SearchPattern { text: "foo".to_owned(), ..smart }, "FOO"));
    let word = SearchPattern { word: true, ..plain };
    assert!(fits(&word, "a Foo.") && !fits(&word, "Foobar"));
    let literal = SearchPattern::regex("a.b(").as_literal();
    assert!(fits(&literal, "xa.b(") && !fits(&literal, "axb("));
}

#[test]
fn a_line_feed_makes_it_span_lines() {
    for text in ["a\\nb", "a\nb", "a[\\n]b", "a\\s*\\nb"] {
        assert!(SearchPattern::regex(text).compile().unwrap().multiline, "{text}");
    }
    for text in ["a\\sb", "a[^x]b", "a\\\\nb", "ab"] {
        assert!(!SearchPattern::regex(text).compile().unwrap().multiline, "{text}");
    }
    assert!(SearchPattern::regex("a\nb").as_literal().compile().unwrap().multiline);
}

#[test]
fn a_line_feed_is_any_end_of_a_line() {
    for text in ["a\\nb", "a\nb", "a$\\nb", "a(?:\\n)+b", "[]a]\\nb", "[^]x]\\nb", "a\\s*\\nb"] {
        let pattern = SearchPattern::regex(text);
        assert!(fits(&pattern, "a\nb") && fits(&pattern, "a\r\nb"), "{text}");
        assert!(!fits(&pattern, "a\\nb") && !fits(&pattern, "anb"), "{text}");
    }
    let literal = SearchPattern::regex("a.\n(b").as_literal();
    assert!(fits(&literal, "a.\r\n(b") && fits(&literal, "a.\n(b") && !fits(&literal, "ax\n(b"));
    let returns = SearchPattern::regex("a\r\nb").as_literal();
    assert!(fits(&returns, "a\r\nb") && !fits(&returns, "a\nb"));
    let class = SearchPattern { multiline: true, ..SearchPattern::regex("a[x\\n]b") };
    assert!(fits(&class, "a\nb") && !fits(&class, "a\r\nb"));
    let spaced = SearchPattern { multiline: true, ..SearchPattern::regex("(?x) a\n\\n b") };
    assert!(fits(&spaced, "a\r\nb") && !fits(&spaced, "a\n\nb"));
}

#[test]
fn the_place_of_an_error_is_told() {
    for (text, position, says) in [
        ("foo(", 4, "unclosed group"),
        ("a)b", 2, "unopened group"),
        ("[z-a]", 2, "invalid character class range"),
        ("x*{2,1}", 3, "repetition"),
        ("ä(", 2, "unclosed group"),
    ] {
        let syntax = broken(text);
        assert_eq!(syntax.position, Some(position), "{text}: {syntax:?}");
        assert!(syntax.reason.contains(says), "{text}: {syntax:?}");
        let picture = syntax.picture.unwrap();
        let marks = picture.lines().nth(1).unwrap();
        assert_eq!(marks.chars().position(|c| c == '^'), Some(position + 3), "{picture}");
        assert_eq!(picture.lines().next().unwrap().trim(), text);
    }
}

#[test]
fn an_error_without_a_place_has_no_picture() {
    let syntax = broken("\\p{Greek}{9999}{9999}");
    assert!(!syntax.reason.is_empty());
    assert_eq!(syntax.picture, None);
    assert!(broken("a\n(").picture.is_none());
}

#[test]
fn a_long_nest_is_an_error_and_no_overflow() {
    let syntax = broken(&"(".repeat(50_000));
    assert!(!syntax.reason.is_empty() && syntax.picture.is_none());
}
