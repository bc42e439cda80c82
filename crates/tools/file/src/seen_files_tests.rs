use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::*;

const SEEN: FileSighting = FileSighting { len: 3, modified: None, whole: true };

fn context(task: &str, like: Option<&ToolContext>) -> ToolContext {
    let mut cx = like.cloned().unwrap_or_else(|| ToolContext::bare("/nowhere"));
    cx.task_id = task.into();
    cx
}

#[test]
fn a_hash_may_be_shortened() {
    let hash = FileHash::from_bytes(b"one");
    let shown = hash.to_string();
    assert_eq!(shown.len(), 16);
    for text in [shown.as_str(), &shown[..8], &shown.to_uppercase(), &format!(" {shown} ")] {
        assert!(text.parse::<FileHash>().expect("a hash").matches(&hash), "{text}");
    }
    let full = blake3::hash(b"one").to_hex().to_string();
    assert!(hash.matches(&full.parse().expect("a hash")));
    assert!(!FileHash::from_bytes(b"two").matches(&hash));
    for text in ["", "1234567", "not a hash", "zzzzzzzzzzzz"] {
        assert!(text.parse::<FileHash>().is_err(), "{text}");
    }
}

#[test]
fn each_task_has_its_own_sight() {
    let one = context("one", None);
    let two = context("two", Some(&one));
    let path = Path::new("/nowhere/a");
    let (old, new) = (FileHash::from_bytes(b"old"), FileHash::from_bytes(b"new"));
    assert_eq!(version_knowledge(&one, path, || &old), VersionKnowledge::Unseen);
    record_seen(&one, path, old.clone(), SEEN);
    assert_eq!(version_knowledge(&one, path, || &old), VersionKnowledge::Same);
    assert_eq!(version_knowledge(&two, path, || &old), VersionKnowledge::Unseen);
    assert!(has_seen_all(&one, path) && !has_seen_all(&two, path));
    record_seen(&one, path, old.clone(), FileSighting { whole: false, ..SEEN });
    assert!(!has_seen_all(&one, path));
    let changed = VersionKnowledge::Changed { seen: old.clone(), by: None };
    assert_eq!(version_knowledge(&one, path, || &new), changed, "nobody of the session wrote it");
    record_written(&two, path, new.clone(), SEEN);
    assert_eq!(version_knowledge(&two, path, || &new), VersionKnowledge::Same, "one's own write");
    let VersionKnowledge::Changed { seen, by: Some(by) } = version_knowledge(&one, path, || &new)
    else {
        panic!("the other's write is a change");
    };
    assert_eq!((seen, by.task_id.as_str(), by.call_id.as_str()), (old, "two", "call"));
    assert!(by.at.ends_with('Z'), "{}", by.at);
    assert!(other_writer(&one, path, || &new).is_some());
    assert!(other_writer(&two, path, || &new).is_none());
    forget(&two, path);
    assert_eq!(version_knowledge(&one, path, || &new), VersionKnowledge::Unseen);
}

#[test]
fn what_was_not_there_is_remembered() {
    let one = context("one", None);
    let two = context("two", Some(&one));
    let path = Path::new("/nowhere/a");
    let hash = FileHash::from_bytes(b"x");
    record_missing(&one, path);
    assert_eq!(version_knowledge(&one, path, || &hash), VersionKnowledge::Created { by: None });
    assert_eq!(version_knowledge(&two, path, || &hash), VersionKnowledge::Unseen);
    record_written(&two, path, hash.clone(), SEEN);
    let VersionKnowledge::Created { by: Some(by) } = version_knowledge(&one, path, || &hash) else {
        panic!("somebody has created it");
    };
    assert_eq!(by.task_id, "two");
    record_seen(&one, path, hash.clone(), SEEN);
    assert_eq!(version_knowledge(&one, path, || &hash), VersionKnowledge::Same);
    record_missing(&one, path);
    assert_eq!(version_knowledge(&one, path, || &hash), VersionKnowledge::Created { by: Some(by) });
}

#[test]
fn an_encoding_is_remembered_until_the_bytes_tell_it() {
    let cx = context("one", None);
    let path = Path::new("/nowhere/a");
    assert_eq!(recorded_encoding(&cx, path), None);
    record_encoding(&cx, path, Some(encoding_rs::WINDOWS_1252));
    record_written(&cx, path, FileHash::from_bytes(b"x"), SEEN);
    assert_eq!(recorded_encoding(&cx, path), Some(encoding_rs::WINDOWS_1252));
    record_encoding(&cx, path, None);
    assert_eq!(recorded_encoding(&cx, path), None);
    record_encoding(&cx, path, Some(encoding_rs::GBK));
    forget(&cx, path);
    assert_eq!(recorded_encoding(&cx, path), None);
}

#[test]
fn names_that_are_not_text_are_told_apart() {
    let cx = context("one", None);
    let path = |name: &[u8]| PathBuf::from("/nowhere").join(OsStr::from_bytes(name));
    let hash = FileHash::from_bytes(b"x");
    record_seen(&cx, &path(b"\xFF"), hash.clone(), SEEN);
    assert_eq!(version_knowledge(&cx, &path(b"\xFF"), || &hash), VersionKnowledge::Same);
    assert_eq!(version_knowledge(&cx, &path(b"\xFE"), || &hash), VersionKnowledge::Unseen);
}

#[test]
fn the_oldest_file_is_forgotten_first() {
    let cx = context("one", None);
    let old = FileHash::from_bytes(b"x");
    // Those of one piece.
    let names = (0..).map(|number| format!("/nowhere/{number}"));
    let piece = shard(FILES_DOCUMENT, "/nowhere/0");
    let mut names = names.filter(|name| shard(FILES_DOCUMENT, name) == piece);
    let first: Vec<String> = names.by_ref().take(MAX_FILES_PER_SHARD).collect();
    for name in first.iter().chain(first.first()).chain(names.next().as_ref()) {
        record_seen(&cx, Path::new(name), old.clone(), SEEN);
    }
    let known: SeenFiles = cx.session.read(&piece).expect("document");
    assert_eq!(known.files.len(), MAX_FILES_PER_SHARD);
    assert!(!known.files.contains_key(&first[1]));
    assert!(known.files.contains_key(&first[0]));
    assert_eq!(seen_versions(&cx).len(), MAX_FILES_PER_SHARD);
}
