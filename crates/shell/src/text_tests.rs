use super::{
    glob_match, has_glob, has_lookalike_letters, hidden_characters, program_name, unescape,
};

#[test]
fn globs() {
    for (glob, text) in [
        ("*", ""),
        ("*", "abc"),
        ("a*c", "abbc"),
        ("a?c", "abc"),
        ("[a-c]x", "bx"),
        ("[!a]x", "bx"),
        ("*.rs", "a.rs"),
        ("a*b*c", "axxbyyc"),
        ("[", "["),
    ] {
        assert!(glob_match(glob, text), "{glob} {text}");
    }
    for (glob, text) in
        [("", "a"), ("a", ""), ("a?c", "ac"), ("[a-c]x", "dx"), ("*.rs", "a.r"), ("a*b", "abc")]
    {
        assert!(!glob_match(glob, text), "{glob} {text}");
    }
    // Backtracking stays linear per star.
    assert!(!glob_match(&"*a".repeat(50), &"a".repeat(49)));
}

#[test]
fn brackets_alone_are_no_glob() {
    assert!(!has_glob("[") && !has_glob("]") && !has_glob("[]"));
    assert!(has_glob("[a]") && has_glob("a*") && has_glob("?"));
}

#[test]
fn names_are_folded() {
    assert_eq!(program_name("/usr/bin/rm"), "rm");
    assert_eq!(program_name("ｒｍ"), "rm");
    assert!(has_lookalike_letters("ｒｍ") && has_lookalike_letters("\u{440}m"));
    assert!(!has_lookalike_letters("rm") && !has_lookalike_letters("größe"));
}

#[test]
fn hidden_characters_are_found() {
    for text in ["a\u{200b}b", "a\u{202e}b", "a\0b", "a\u{1b}[2J", "a\rb", "\u{feff}a"] {
        assert!(hidden_characters(text).is_some(), "{text:?}");
    }
    for text in ["a b\tc\n", "a\r\nb", "größe 日本 🙂", "👨\u{200d}👩\u{200d}👧"] {
        assert!(hidden_characters(text).is_none(), "{text:?}");
    }
}

#[test]
fn escapes() {
    assert_eq!(unescape("a\\nb\\x41\\101\\0101\\\\"), "a\nbAAA\\");
    assert_eq!(unescape("\\q\\"), "\\q\\");
}
