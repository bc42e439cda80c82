use serde_json::Value;

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

#[test]
fn halves_are_marked_and_the_rest_stays() {
    let cases: [(&[u8], &str); 9] = [
        (br#""plain""#, "plain"),
        (br#""a\ud83d""#, "a\u{fffd}"),
        (br#""\udce9.txt""#, "\u{fffd}.txt"),
        (br#""\ud83d\ude00 \ud83d\ud83d\ude00""#, "😀 \u{fffd}😀"),
        (br#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
        (br#""\\ud83d \ud83d \\\\""#, "\\ud83d \u{fffd} \\\\"),
        (br#""\\\ud83d\"""#, "\\\u{fffd}\""),
        (br#""\uDBFFx\n""#, "\u{fffd}x\n"),
        (b"\"\xe9\"", "\u{fffd}"),
    ];
    for (message, wanted) in cases {
        assert_eq!(
            from_slice_lossy::<Value>(message).unwrap(),
            wanted,
            "{}",
            message.escape_ascii()
        );
    }
}

#[test]
fn what_is_no_json_stays_none() {
    let cases: [&[u8]; 6] = [b"", b"\\", br#""\ud83d"#, br#""\u12"#, br#""\ud83d\u"#, b"{\\ud83d}"];
    for message in cases {
        assert!(from_slice_lossy::<Value>(message).is_err(), "{}", message.escape_ascii());
    }
}
