#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn shown(bytes: &[u8], is_latin: bool, offset: usize, limit: usize) -> serde_json::Value {
    let found = ClipboardText { bytes: bytes.to_vec(), is_latin1: is_latin };
    serde_json::to_value(page(&found, offset, limit)).unwrap()
}

#[test]
fn bytes_that_are_no_text_are_said_to_be_damaged() {
    let lossy = shown(b"a\xffb", false, 0, 10);
    assert_eq!(lossy, serde_json::json!({"text": "a\u{fffd}b", "characters": 3, "damaged": true}));
    let latin = shown(b"caf\xe9", true, 0, 10);
    assert_eq!(latin, serde_json::json!({"text": "café", "characters": 4}));
    assert_eq!(shown("café".as_bytes(), true, 0, 10)["text"], "café");
}

#[test]
fn a_page_past_the_end_is_empty() {
    let page = shown(b"abc", false, usize::MAX, usize::MAX);
    assert_eq!(page, serde_json::json!({"text": "", "characters": 3}));
}

proptest! {
    #[test]
    fn pages_put_together_are_the_text(text in ".{0,80}", limit in 1_usize..20) {
        let (mut all, mut offset) = (String::new(), 0);
        loop {
            let page = shown(text.as_bytes(), false, offset, limit);
            all.push_str(page["text"].as_str().unwrap());
            match page.get("next_offset").and_then(serde_json::Value::as_u64) {
                Some(next) => offset = usize::try_from(next).unwrap(),
                None => break,
            }
        }
        prop_assert_eq!(all, text);
    }
}
