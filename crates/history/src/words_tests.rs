#![allow(clippy::unwrap_used)]

use super::*;

fn forms(text: &str) -> Vec<String> {
    words(&normalize_nfc(text)).into_iter().map(|word| word.folded).collect()
}

#[test]
fn letters_are_small_and_without_accents() {
    assert_eq!(forms("Crème BRÛLÉE, Straße-7"), ["creme", "brulee", "straße", "7"]);
    assert_eq!(forms("e\u{301}te\u{301}"), ["ete"]);
    assert_eq!(forms("ＡＢＣ ﬁle"), ["abc", "file"]);
    assert_eq!(forms("İstanbul"), ["istanbul"]);
}

#[test]
fn scripts_without_spaces_give_a_word_for_each_character() {
    assert_eq!(forms("部署k8s集群"), ["部", "署", "k8s", "集", "群"]);
    assert_eq!(forms("がんばれ"), ["が", "ん", "ば", "れ"]);
    assert_eq!(forms("한국"), ["한", "국"]);
    assert_eq!(forms("\u{1112}\u{1161}\u{11ab}"), ["한"], "put together first");
    assert_eq!(forms("ｶﾞ"), forms("ｶﾞ"));
}

#[test]
fn names_in_code_fall_apart_at_signs() {
    assert_eq!(forms("my_func(chat-send, my.file)"), ["my", "func", "chat", "send", "my", "file"]);
    assert_eq!(forms("?! … 🚀"), Vec::<String>::new());
}

#[test]
fn places_are_those_of_the_text() {
    let text = "Ein Wörterbuch 字";
    for word in words(text) {
        assert_eq!(fold_text(&text[word.range.clone()]), word.folded);
    }
}

proptest::proptest! {
    #[test]
    fn every_place_is_a_place(text in ".{0,200}") {
        let text = normalize_nfc(&text);
        let mut last = 0;
        for word in words(&text) {
            proptest::prop_assert!(word.range.start >= last);
            proptest::prop_assert!(text.get(word.range.clone()).is_some());
            last = word.range.end;
        }
    }
}
