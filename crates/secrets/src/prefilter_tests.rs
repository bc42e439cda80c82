use super::*;

#[test]
fn what_lies_across_two_parts_is_seen() {
    let words: [&[u8]; 2] = [b"needle", b"pin"];
    let automaton = build_dfa(words.into_iter()).unwrap();
    for length in [MIN_TEXT_BYTES, MIN_TEXT_BYTES + 1, MIN_TEXT_BYTES + LANE_COUNT + 3] {
        let clean = vec![b'n'; length];
        assert!(has_no_match(&automaton, 6, &clean));
        for word in words {
            for at in 0..=length - word.len() {
                let mut text = clean.clone();
                text[at..at + word.len()].copy_from_slice(word);
                assert!(!has_no_match(&automaton, 6, &text), "{at} of {length}");
            }
        }
    }
}

#[test]
fn of_a_short_text_nothing_is_said() {
    let automaton = build_dfa([&b"pin"[..]].into_iter()).unwrap();
    assert!(!has_no_match(&automaton, 3, b"nothing"));
}
