use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;

use super::*;

fn texts(value: &str) -> Vec<String> {
    all_forms(value).into_iter().map(|needle| needle.text).collect()
}

#[test]
fn a_plain_value_has_few_forms() {
    // Itself, hex twice, base64 at three places, spelled out in 27 ways.
    let forms = texts("hunter22");
    assert_eq!(forms.len(), 5 + 1 + 27, "{forms:?}");
    assert!(forms.contains(&"hunter22".to_owned()));
    assert!(forms.contains(&"68756e7465723232".to_owned()));
    assert!(forms.contains(&"68756E7465723232".to_owned()));
}

#[test]
fn a_value_with_signs_has_all_of_them() {
    let forms = texts("a/b \"é\"&c");
    for form in [
        "a/b \\\"é\\\"&c",
        "a/b \\\"\\u00e9\\\"&c",
        "a\\/b \\\"é\\\"&c",
        "a/b \\\"é\\\"\\u0026c",
        "a/b \\\\\\\"é\\\\\\\"&c",
        "a%2Fb%20%22%C3%A9%22%26c",
        "a%2fb%20%22%c3%a9%22%26c",
        "a%2Fb+%22%C3%A9%22%26c",
        "a/b%20%22%C3%A9%22%26c",
        "%61%2F%62%20%22%C3%A9%22%26%63",
        "\\u0061\\u002f\\u0062\\u0020\\u0022\\u00e9\\u0022\\u0026\\u0063",
        "\\x61\\x2f\\x62\\x20\\x22\\xc3\\xa9\\x22\\x26\\x63",
        "a/b &quot;é&quot;&amp;c",
        "a&#x2F;b &quot;é&quot;&amp;c",
        "&#97;&#47;&#98;&#32;&#34;&#233;&#34;&#38;&#99;",
        "\\u{61}\\u{2f}\\u{62}\\u{20}\\u{22}\\u{e9}\\u{22}\\u{26}\\u{63}",
        "a/b \\u0022\\u00E9\\u0022\\u0026c",
        "a/b\\ \\\"é\\\"\\&c",
    ] {
        assert!(forms.contains(&form.to_owned()), "{form} not in {forms:#?}");
    }
}

#[test]
fn a_needle_takes_its_padding_along() {
    let text = format!("<{}>", STANDARD.encode("hunter22"));
    let needle = all_forms("hunter22")
        .into_iter()
        .find(|needle| text.find(&needle.text).is_some())
        .expect("one form is in it");
    let at = text.find(&needle.text).expect("it is there");
    assert_eq!(needle.range_at(&text, at), Some((1, text.len() - 1)));
    assert_eq!(needle.range_at(&text, at + 1), None);
    assert_eq!(needle.range_at(&text, text.len() + 5), None);
}

proptest! {
    #[test]
    fn base64_shows_wherever_the_value_begins(
        before in proptest::collection::vec(any::<u8>(), 0..20),
        value in "[ -~]{6,40}",
        after in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = before;
        bytes.extend(value.bytes());
        bytes.extend(after);
        let forms = texts(&value);
        for encoded in [STANDARD.encode(&bytes), URL_SAFE.encode(&bytes)] {
            prop_assert!(forms.iter().any(|form| encoded.contains(form)), "{}", encoded);
        }
    }

    #[test]
    fn the_json_form_is_what_a_writer_writes(value in "\\PC{6,40}") {
        let written = serde_json::to_string(&value).expect("a string");
        let inner = written[1..written.len() - 1].to_owned();
        prop_assert!(texts(&value).contains(&inner));
    }
}
