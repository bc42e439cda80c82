use proptest::prelude::*;

use super::*;

#[test]
fn differences_are_marked_character_by_character() {
    assert_eq!(mark_changes("timeout = 31", "timeout = 30"), "timeout = 3[-1-]{+0+}");
    assert_eq!(mark_changes("a", "a"), "a");
    assert_eq!(mark_changes("say hi", "say hi  "), "say hi{+  +}");
    assert_eq!(mark_changes("abc", "xyz"), "[-abc-]{+xyz+}");
}

#[test]
fn what_cannot_be_seen_is_spelled_out() {
    assert_eq!(mark_changes("value: a b", "value: a\u{A0}b"), "value: a[- -]{+\\u{a0}+}b");
    assert_eq!(mark_changes("\tvalue", "    value"), "[-\\t-]{+    +}value");
    assert_eq!(mark_changes("value", "val\u{200B}ue"), "val{+\\u{200b}+}ue");
}

#[test]
fn what_looks_alike_is_told_by_its_code_points() {
    assert_eq!(mark_changes("caf\u{e9} = 1", "cafe\u{301} = 1"), "caf[-\\u{e9}-]{+e\\u{301}+} = 1");
    assert_eq!(mark_changes("scope = 1", "sc\u{43e}pe = 1"), "sc[-o-]{+\\u{43e}+}pe = 1");
    assert_eq!(mark_changes("gr\u{fc}n", "gr\u{e4}n"), "gr[-ü-]{+ä+}n", "these do not");
}

proptest! {
    #[test]
    fn both_texts_can_be_read_from_the_marks(old in "[a-d ]{0,30}", new in "[a-d ]{0,30}") {
        let marked = mark_changes(&old, &new);
        let side = |open: &str, close: &str, other: (&str, &str)| {
            let mut text = String::new();
            let mut rest = marked.as_str();
            while !rest.is_empty() {
                if let Some(inner) = rest.strip_prefix(open) {
                    let (kept, after) = inner.split_once(close).expect("closed");
                    text.push_str(kept);
                    rest = after;
                } else if let Some(inner) = rest.strip_prefix(other.0) {
                    rest = inner.split_once(other.1).expect("closed").1;
                } else {
                    text.push_str(&rest[..1]);
                    rest = &rest[1..];
                }
            }
            text
        };
        prop_assert_eq!(side("[-", "-]", ("{+", "+}")), old);
        prop_assert_eq!(side("{+", "+}", ("[-", "-]")), new);
    }
}
