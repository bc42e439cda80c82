use std::collections::BTreeMap;

use super::*;
use crate::state::ContentHash;

fn state(text: &str) -> SavedState {
    let (hash, len) = (ContentHash::for_content(text.as_bytes()), text.len() as u64);
    SavedState::File {
        hash,
        len,
        mode: 0o644,
        owner: None,
        attributes: BTreeMap::new(),
        linked: None,
    }
}

fn theirs(steps: &[(&str, Option<&str>)]) -> Vec<PathChange> {
    steps.iter().map(|(from, to)| PathChange::new(state(from), to.map(state))).collect()
}

/// What is left for the command of a change from "a" to "z".
fn left(steps: &[(&str, Option<&str>)]) -> String {
    match remaining_share(&theirs(steps), &state("a"), &state("z")) {
        ChangeShare::Nothing => "nothing".into(),
        ChangeShare::All => "all".into(),
        ChangeShare::Mixed => "mixed".into(),
        ChangeShare::UpTo(to) => {
            let is = |name: &&str| state(name).is_same(&to);
            format!("a to {}", ["b", "c", "y"].into_iter().find(is).unwrap_or("?"))
        }
    }
}

#[test]
fn what_others_did_is_told_from_what_the_command_did() {
    assert_eq!(left(&[("a", Some("z"))]), "nothing");
    assert_eq!(left(&[("a", Some("b")), ("b", Some("c")), ("c", Some("z"))]), "nothing");
    // Before the command looked.
    assert_eq!(left(&[("0", Some("a")), ("a", Some("z"))]), "nothing");
    // Somebody is still at it.
    assert_eq!(left(&[("a", Some("b")), ("b", None)]), "nothing");
    // The command was first.
    assert_eq!(left(&[("b", Some("c")), ("c", Some("z"))]), "a to b");
    // The command was last, or in between.
    assert_eq!(left(&[("a", Some("b"))]), "mixed");
    assert_eq!(left(&[("a", Some("b")), ("c", Some("z"))]), "mixed");
    // Others were at it before, or at something else.
    assert_eq!(left(&[("0", Some("a"))]), "all");
    assert_eq!(left(&[]), "all");
}
