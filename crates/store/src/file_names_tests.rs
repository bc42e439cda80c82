#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

#[test]
fn a_plain_id_is_its_own_name() {
    for id in ["default", "a", "2026-01-02_run.7", &"x".repeat(MAX_STEM_CHARS)] {
        assert_eq!(file_stem(id), id);
    }
}

#[test]
fn what_is_not_fit_for_a_file_name_gets_a_digest() {
    let slash = file_stem("team/alpha");
    assert!(slash.starts_with("team_alpha~"), "{slash}");
    assert_ne!(slash, file_stem("team:alpha"));
    assert_ne!(slash, file_stem("team_alpha"));
    assert!(file_stem("").starts_with(DIGEST_SEPARATOR));
    assert!(file_stem("..").starts_with(DIGEST_SEPARATOR));
    assert!(file_stem("../../etc/passwd").starts_with("_.._etc_passwd~"));
    assert!(file_stem("\0\n").starts_with("__~"));
}

#[test]
fn a_made_name_cannot_be_claimed_by_a_plain_id() {
    let made = file_stem("a/b");
    assert_ne!(file_stem(&made), made);
}

#[test]
fn ids_that_differ_only_in_their_tail_differ_in_name() {
    let long = "n".repeat(10_000);
    assert_ne!(file_stem(&long), file_stem(&format!("{long}!")));
    assert_ne!(file_stem(&long), file_stem(&long[1..]));
}

proptest! {
    #[test]
    fn a_name_stays_in_its_folder(id in ".{0,400}") {
        let stem = file_stem(&id);
        prop_assert!(stem.len() <= 200);
        prop_assert!(!stem.is_empty() && !stem.starts_with('.'));
        prop_assert!(stem.chars().all(|c| is_safe_char(c) || c == DIGEST_SEPARATOR));
    }

    #[test]
    fn different_ids_have_different_names(a in "[a-z/._~-]{0,8}", b in "[a-z/._~-]{0,8}") {
        prop_assert_eq!(a == b, file_stem(&a) == file_stem(&b));
    }
}
