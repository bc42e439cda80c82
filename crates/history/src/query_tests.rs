#![allow(clippy::unwrap_used)]

use super::*;

fn matching(text: &str) -> String {
    ParsedQuery::parse(text).to_fts()
}

fn holds(question: &str, text: &str) -> bool {
    ParsedQuery::parse(question).matches(&words(text))
}

#[test]
fn operators_that_dangle_say_nothing() {
    assert_eq!(matching("a AND"), r#"("a")"#);
    assert_eq!(matching("OR b"), r#"("b")"#);
    assert_eq!(matching("NOT"), "");
    assert_eq!(matching("NOT x"), "");
    assert_eq!(matching("a NOT OR b"), r#"("a") OR ("b")"#);
    assert_eq!(matching("a and b"), r#"("a" AND "and" AND "b")"#, "small letters are words");
}

#[test]
fn names_with_signs_are_phrases() {
    assert_eq!(matching("chat-send my.file"), r#"("chat send" AND "my file")"#);
    assert_eq!(matching(r#""a b" c(d)"#), r#"("a b" AND "c d")"#);
    assert_eq!(matching(r#"un"balanced"#), r#"("un" AND "balanced")"#);
    assert_eq!(matching("x* **z *lead"), r#"("x"* AND "z" AND "lead")"#);
    assert_eq!(matching("col:val ^x {y} a+b"), r#"("col val" AND "x" AND "y" AND "a b")"#);
    assert_eq!(matching("部署 集"), r#"("部 署" AND "集")"#);
}

#[test]
fn alternatives_and_what_is_not_wanted() {
    assert_eq!(matching("a b OR c NOT d"), r#"("a" AND "b") OR (("c") NOT ("d"))"#);
    assert!(holds("a b OR c NOT d", "b and a"));
    assert!(holds("a b OR c NOT d", "c"));
    assert!(!holds("a b OR c NOT d", "c d"));
    assert!(!holds("a b", "a"));
}

#[test]
fn phrases_and_beginnings_are_found_in_words() {
    assert!(holds("\"big cat\"", "a Big-Cat!"));
    assert!(!holds("\"big cat\"", "big old cat"));
    assert!(holds("kuber*", "on kubernetes"));
    assert!(!holds("kuber", "on kubernetes"));
    assert!(holds("署集", "部署集群"));
    assert!(!holds("集署", "部署集群"));
}

#[test]
fn pieces_are_three_characters() {
    let question = ParsedQuery::parse("Uberné NOT gone");
    assert_eq!(question.to_trigram_fts().unwrap(), r#""ube" AND "ber" AND "ern" AND "rne""#);
    assert!(question.matches_text("kubernetes"));
    assert_eq!(ParsedQuery::parse("ab").to_trigram_fts(), None);
    assert!(ParsedQuery::parse("🚀").matches_text("to the 🚀"));
    assert!(!ParsedQuery::parse("").matches_text("anything"));
}
