use std::fs;

use super::*;
use crate::open::WalkMode;

#[test]
fn a_full_disk_leaves_the_old_content_and_nothing_else() {
    let dir = tempfile::tempdir().expect("folder");
    let path = dir.path().join("a.txt");
    for old in [None, Some("old")] {
        if let Some(old) = old {
            fs::write(&path, old).expect("file");
        }
        let spot = AnchoredName::resolve(&path, WalkMode::default()).expect("spot");
        let failed = replace(&spot, WriteOptions::default(), |file| {
            file.write_all(b"half of it")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(failed.expect_err("full").kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), old);
        assert_eq!(fs::read_dir(dir.path()).expect("list").count(), old.iter().count());
    }
}
