use super::split_words;

#[test]
fn a_string_is_split_as_env_does() {
    let split = |text: &str| split_words(text).map(|words| words.join("|"));
    for (text, words) in [
        ("rm -rf /", "rm|-rf|/"),
        ("  a \t b ", "a|b"),
        ("a\\_b 'c d' \"e\\_f\"", "a|b|c d|e f"),
        ("a '' b", "a||b"),
        ("a'b'\"c\"", "abc"),
        ("'a\\'b\\n'", "a'b\\n"),
        ("a # b", "a"),
        ("a#b \\#c", "a#b|#c"),
        ("a\\c b", "a"),
        ("a ; b", "a|;|b"),
        ("'$X' \\$X", "$X|$X"),
    ] {
        assert_eq!(split(text).as_deref(), Some(words), "{text}");
    }
    for text in ["a ${X}", "\"${X}\"", "a \\q", "a \"b", "a 'b", "a\\"] {
        assert_eq!(split(text), None, "{text}");
    }
}
