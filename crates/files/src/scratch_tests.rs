use std::collections::HashSet;

use super::*;

#[test]
fn only_names_of_ours_are_ours() {
    for scratch in [ScratchKind::File, ScratchKind::Directory] {
        let names: HashSet<OsString> = (0..100).map(|_| scratch.new_name()).collect();
        assert!(names.len() > 95);
        for name in names {
            assert_eq!(ScratchKind::from_name(&name), Some(scratch), "{name:?}");
            let text = name.to_str().expect("text");
            let other = if text.contains("0.tmp") { "1.tmp" } else { "0.tmp" };
            let changed = format!("{}{other}", &text[..text.len() - 5]);
            for no in [changed, text.to_uppercase(), format!("{text}.kept"), format!("x{text}")] {
                assert_eq!(ScratchKind::from_name(OsStr::new(&no)), None, "{no}");
            }
        }
    }
    let others = [
        ".hermes-write-0.tmp",
        ".hermes-write-.tmp",
        ".hermes-write-0123456789abcdef.tmp",
        ".hermes-unpack-0123456789abcdef.tmp",
        ".hermes-write-+123456789abcdef.tmp",
        ".hermes-0123456789abcdef.tmp",
        ".tmp",
        "",
    ];
    for name in others {
        assert_eq!(ScratchKind::from_name(OsStr::new(name)), None, "{name}");
    }
    assert_eq!(ScratchKind::from_name(OsStr::from_bytes(b".hermes-write-\xFF.tmp")), None);
}
