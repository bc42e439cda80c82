use proptest::prelude::*;

use super::*;

fn best(wanted: &str, names: &[&str]) -> Vec<String> {
    nearest(wanted, names.iter().map(|&name| name.to_owned()), 5)
}

#[test]
fn nearer_names_come_first() {
    let names = ["README.md", "readme.txt", "READMEE.md", "main.rs", "old-readme.md.bak"];
    assert_eq!(
        best("readme.md", &names),
        ["README.md", "readme.txt", "READMEE.md", "old-readme.md.bak"]
    );
}

#[test]
fn slips_of_the_fingers_are_found() {
    for (wanted, meant) in
        [("mian.rs", "main.rs"), ("confg.yaml", "config.yaml"), ("Cargo.tmol", "Cargo.toml")]
    {
        assert_eq!(best(wanted, &["zebra.png", meant, "q"]), [meant]);
    }
}

#[test]
fn strangers_are_not_suggested() {
    assert!(best("main.rs", &["zzz.png", "q", ""]).is_empty());
    assert!(best("", &["a", "b"]).is_empty());
}

#[test]
fn no_more_than_asked() {
    let names: Vec<String> = (0..50).map(|n| format!("note{n}.txt")).collect();
    assert_eq!(nearest("note.txt", names, 5).len(), 5);
}

proptest! {
    #[test]
    fn edits_are_symmetric_and_bounded(a in "[abc]{0,8}", b in "[abc]{0,8}") {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        prop_assert_eq!(edit_distance(&a, &b), edit_distance(&b, &a));
        prop_assert!(edit_distance(&a, &b) <= a.len().max(b.len()));
        prop_assert_eq!(edit_distance(&a, &b) == 0, a == b);
    }
}
