//! What holds for every tree and everything that is done to it.

use std::fs;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::bench::{Bench, Call};

#[derive(Debug, Clone)]
enum Deed {
    Write(usize, String),
    Remove(usize),
    Folder(usize),
    Link(usize, usize),
    Mode(usize, u32),
    Move(usize, usize),
}

const NAMES: [&str; 8] = ["a", "b", "dir", "dir/a", "dir/b", "dir/sub", "dir/sub/c", "new\nline"];

fn deed() -> impl Strategy<Value = Deed> {
    let name = 0..NAMES.len();
    prop_oneof![
        4 => (name.clone(), "[a-z]{0,12}").prop_map(|(n, text)| Deed::Write(n, text)),
        2 => name.clone().prop_map(Deed::Remove),
        1 => name.clone().prop_map(Deed::Folder),
        1 => (name.clone(), name.clone()).prop_map(|(n, to)| Deed::Link(n, to)),
        1 => (name.clone(), prop_oneof![Just(0o600), Just(0o644), Just(0o755)])
            .prop_map(|(n, mode)| Deed::Mode(n, mode)),
        1 => (name.clone(), name).prop_map(|(from, to)| Deed::Move(from, to)),
    ]
}

/// Does what can be done, as a careless program would; links are not followed
/// out of the folder, since they lead to names in it.
fn act(bench: &Bench, deeds: &[Deed]) {
    for deed in deeds {
        match deed {
            Deed::Write(n, text) => {
                let path = bench.path(NAMES[*n]);
                let _ = fs::create_dir_all(path.parent().unwrap());
                let _ = fs::write(path, text);
            }
            Deed::Remove(n) => {
                let path = bench.path(NAMES[*n]);
                let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
            }
            Deed::Folder(n) => {
                let _ = fs::create_dir_all(bench.path(NAMES[*n]));
            }
            Deed::Link(n, to) => {
                let _ = std::os::unix::fs::symlink(NAMES[*to], bench.path(NAMES[*n]));
            }
            Deed::Mode(n, mode) => {
                use std::os::unix::fs::PermissionsExt;
                let path = bench.path(NAMES[*n]);
                if fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()) {
                    let _ = fs::set_permissions(path, fs::Permissions::from_mode(*mode));
                }
            }
            Deed::Move(from, to) => {
                let _ = fs::rename(bench.path(NAMES[*from]), bench.path(NAMES[*to]));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn undo_brings_back_what_was_and_redo_what_became(
        start in vec(deed(), 0..12),
        turns in vec((vec(deed(), 1..6), any::<bool>()), 1..4),
    ) {
        let bench = Bench::new();
        act(&bench, &start);
        let mut pictures = vec![bench.picture()];
        for (deeds, open_ended) in &turns {
            // A call that names its places names all it may touch.
            let call = if *open_ended {
                Call { open_ended: true, ..Call::default() }
            } else {
                Call { places: &NAMES, ..Call::default() }
            };
            bench.call(call, || act(&bench, deeds)).unwrap();
            if bench.picture() != *pictures.last().unwrap() {
                pictures.push(bench.picture());
            }
        }
        for picture in pictures.iter().rev().skip(1) {
            bench.undo(1).unwrap();
            prop_assert_eq!(&bench.picture(), picture);
        }
        prop_assert!(bench.undo(1).is_err());
        for picture in pictures.iter().skip(1) {
            bench.redo().unwrap();
            prop_assert_eq!(&bench.picture(), picture);
        }
        prop_assert!(bench.redo().is_err());
        if pictures.len() > 1 {
            bench.undo(pictures.len() - 1).unwrap();
            prop_assert_eq!(&bench.picture(), &pictures[0]);
            bench.redo().unwrap();
            prop_assert_eq!(&bench.picture(), pictures.last().unwrap());
        }
    }

    #[test]
    fn a_restore_to_any_checkpoint_is_what_was_there_then(
        start in vec(deed(), 0..8),
        turns in vec(vec(deed(), 1..5), 1..5),
        back in any::<proptest::sample::Index>(),
    ) {
        let bench = Bench::new();
        act(&bench, &start);
        let mut states = Vec::new();
        for deeds in &turns {
            let before = bench.picture();
            let id = bench.call(Call { open_ended: true, ..Call::default() }, || act(&bench, deeds));
            if bench.picture() != before {
                states.push((id.unwrap().unwrap(), before));
            }
        }
        if !states.is_empty() {
            let last = bench.picture();
            let (id, picture) = back.get(&states);
            let restored = bench.restore(id, &[]).unwrap();
            prop_assert_eq!(&bench.picture(), picture);
            prop_assert_eq!(restored.checkpoint.is_some(), *picture != last);
            if restored.checkpoint.is_some() {
                bench.undo(1).unwrap();
            }
            prop_assert_eq!(&bench.picture(), &last);
        }
    }
}
