use super::*;

#[test]
fn an_excerpt_has_at_most_the_characters_asked_for() {
    assert_eq!(excerpt("abc", 3), "abc");
    assert_eq!(excerpt("abcd", 3), "ab…");
    assert_eq!(excerpt("äöüß", 3), "äö…");
    assert_eq!(excerpt("äöü", 3), "äöü");
    assert_eq!(one_line_excerpt(" a\n\tb  c ", 9), "a b c");
    assert_eq!(one_line_excerpt("one two three", 8), "one two…");
}

#[test]
fn the_middle_is_omitted_at_character_boundaries() {
    assert_eq!(omit_middle("short", 5), "short");
    let long = "ä".repeat(100);
    let short = omit_middle(&long, 40);
    assert!(short.starts_with(&"ä".repeat(15)) && short.ends_with(&"ä".repeat(5)), "{short}");
    assert!(short.contains("160 bytes omitted"), "{short}");
}

#[test]
fn quoted_words_survive_a_shell() {
    for word in ["", "plain", "it's", "a b", "$HOME `x` \\ \"", "line\nbreak", "-n"] {
        for quoted in [shell_quote(word), shell_word(word).into_owned()] {
            let script = format!("printf %s {quoted}");
            let out = std::process::Command::new("sh").arg("-c").arg(script).output().unwrap();
            let wanted = if word == "-n" { "-n" } else { word };
            assert_eq!(String::from_utf8_lossy(&out.stdout), wanted);
        }
        assert_eq!(shell_quote_bytes(word.as_bytes()), shell_quote(word).into_bytes());
    }
    assert_eq!(shell_word("src/main.rs"), "src/main.rs");
}
