use proptest::prelude::*;

use super::*;

#[test]
fn only_the_newest_are_kept() {
    let mut kept = WatchCursors::default();
    for number in 0..40 {
        kept.cursors.push(SavedCursor {
            id: number.to_string(),
            watch: String::new(),
            state: String::new(),
        });
        kept.drop_oldest();
    }
    assert_eq!(kept.cursors.len(), MAX_CURSORS);
    assert_eq!(kept.cursors.last().map(|cursor| cursor.id.as_str()), Some("39"));
    kept.cursors.push(SavedCursor {
        id: "big".into(),
        watch: String::new(),
        state: "x".repeat(MAX_STATE_BYTES + 1),
    });
    kept.drop_oldest();
    assert_eq!(kept.cursors.len(), 1);
}

#[test]
fn a_damaged_state_is_noticed() {
    for text in [
        "file 1 2 3\n",
        "file x 2 3 4 5 /a\n",
        "file 1 2 3 4 5 /a%zz\n",
        "file 1 2 3 4 5 /a%4\n",
        "dir 1 2 3 4 5 /a x\n",
    ] {
        assert!(parse_snapshot(text).is_none(), "{text:?}");
    }
}

proptest! {
    #[test]
    fn snapshots_come_back(entries in prop::collection::vec((prop::collection::vec(1_u8.., 1..20), any::<u64>(), any::<i64>(), 0_u32..0o10000), 0..10)) {
        let state: TreeSnapshot = entries
            .into_iter()
            .map(|(name, size, modified, mode)| {
                let path = PathBuf::from("/").join(OsString::from_vec(name));
                (path, EntryStamp { kind: EntryType::File, size, modified: modified.into(), mode, identity: (size, 7), born: (size % 2 == 0).then_some(i128::from(modified) * 3) })
            })
            .collect();
        prop_assert_eq!(parse_snapshot(&serialize_snapshot(&state)), Some(state));
    }
}
