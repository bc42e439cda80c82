use serde_json::Value;

use super::*;

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
