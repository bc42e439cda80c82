use super::*;

#[test]
fn what_finds_no_room_is_counted() {
    let mut notes = TodoNotes::default();
    for number in 0..MAX_NOTES + 3 {
        notes.add(|| number.to_string());
    }
    let sentences = notes.into_sentences();
    assert_eq!(sentences.len(), MAX_NOTES + 1);
    assert_eq!(sentences.last().map(String::as_str), Some("And 3 more of this kind."));
    assert!(TodoNotes::default().into_sentences().is_empty());
}

#[test]
fn a_long_word_is_cut_at_a_character() {
    let exact = "é".repeat(MAX_WORD_CHARS);
    assert_eq!(shorten_word(&exact), exact);
    assert_eq!(shorten_word(&format!("{exact}é")), format!("{exact}…"));
}
