use super::*;

#[test]
fn half_a_character_is_replaced_and_nothing_else() {
    for (text, want) in [
        (r#"{"a":"lone \ud83d here"}"#, Some(r#"{"a":"lone \ufffd here"}"#)),
        (r#"{"a":"\ude80\ud83d"}"#, Some(r#"{"a":"\ufffd\ufffd"}"#)),
        (r#"{"a":"\uD83D\uDE80 \u00e9"}"#, None),
        (r#"{"a":"\\ud83d"}"#, None),
        (r#"{"a":"\ud83"#, None),
        (r#"{"a":"\é"}"#, None),
    ] {
        assert_eq!(replace_lone_surrogates(text).as_deref(), want, "{text}");
    }
}

#[test]
fn halves_in_two_pieces_are_one_character() {
    let (first, second) = (r#"{"a":"rocket \ud83d"}"#, r#"{"a":"\ude80 end"}"#);
    assert!(ends_with_high(first) && !ends_with_high(second));
    let joined = join_split_pair(first, second);
    assert_eq!(joined, (r#"{"a":"rocket "}"#.into(), r#"{"a":"\ud83d\ude80 end"}"#.into()));
    let other = r#"{"a":"end"}"#;
    assert_eq!(join_split_pair(first, other), (first.to_owned(), other.to_owned()));
}
