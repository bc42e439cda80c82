use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::*;

const SEEN: Seen = Seen { len: 3, modified: None, whole: true };

fn context(task: &str, like: Option<&ToolContext>) -> ToolContext {
    let mut cx = like.cloned().unwrap_or_else(|| ToolContext::bare("/nowhere"));
    cx.task_id = task.into();
    cx
}

#[test]
fn a_hash_may_be_shortened() {
    let hash = Hash::of(b"one");
    let shown = hash.to_string();
    assert_eq!(shown.len(), 16);
    for text in [shown.as_str(), &shown[..8], &shown.to_uppercase(), &format!(" {shown} ")] {
        assert!(text.parse::<Hash>().expect("a hash").matches(&hash), "{text}");
    }
    let full = blake3::hash(b"one").to_hex().to_string();
    assert!(hash.matches(&full.parse().expect("a hash")));
    assert!(!Hash::of(b"two").matches(&hash));
    for text in ["", "1234567", "not a hash", "zzzzzzzzzzzz"] {
        assert!(text.parse::<Hash>().is_err(), "{text}");
    }
}

#[test]
fn each_task_has_its_own_sight() {
    let one = context("one", None);
    let two = context("two", Some(&one));
    let path = Path::new("/nowhere/a");
    let (old, new) = (Hash::of(b"old"), Hash::of(b"new"));
    assert_eq!(standing(&one, path, || &old), Standing::Unseen);
    saw(&one, path, old.clone(), SEEN);
    assert_eq!(standing(&one, path, || &old), Standing::Same);
    assert_eq!(standing(&two, path, || &old), Standing::Unseen);
    assert!(saw_all(&one, path) && !saw_all(&two, path));
    saw(&one, path, old.clone(), Seen { whole: false, ..SEEN });
    assert!(!saw_all(&one, path));
    let changed = Standing::Changed { seen: old.clone(), by: None };
    assert_eq!(standing(&one, path, || &new), changed, "nobody of the session wrote it");
    wrote(&two, path, new.clone(), SEEN);
    assert_eq!(standing(&two, path, || &new), Standing::Same, "one's own write");
    let Standing::Changed { seen, by: Some(by) } = standing(&one, path, || &new) else {
        panic!("the other's write is a change");
    };
    assert_eq!((seen, by.task_id.as_str(), by.call_id.as_str()), (old, "two", "call"));
    assert!(by.at.ends_with('Z'), "{}", by.at);
    assert!(other_writer(&one, path, || &new).is_some());
    assert!(other_writer(&two, path, || &new).is_none());
    forget(&two, path);
    assert_eq!(standing(&one, path, || &new), Standing::Unseen);
}

#[test]
fn what_was_not_there_is_remembered() {
    let one = context("one", None);
    let two = context("two", Some(&one));
    let path = Path::new("/nowhere/a");
    let hash = Hash::of(b"x");
    missed(&one, path);
    assert_eq!(standing(&one, path, || &hash), Standing::Created { by: None });
    assert_eq!(standing(&two, path, || &hash), Standing::Unseen);
    wrote(&two, path, hash.clone(), SEEN);
    let Standing::Created { by: Some(by) } = standing(&one, path, || &hash) else {
        panic!("somebody has created it");
    };
    assert_eq!(by.task_id, "two");
    saw(&one, path, hash.clone(), SEEN);
    assert_eq!(standing(&one, path, || &hash), Standing::Same);
    missed(&one, path);
    assert_eq!(standing(&one, path, || &hash), Standing::Created { by: Some(by) });
}

#[test]
fn an_encoding_is_remembered_until_the_bytes_tell_it() {
    let cx = context("one", None);
    let path = Path::new("/nowhere/a");
    assert_eq!(encoding(&cx, path), None);
    spelt(&cx, path, Some(encoding_rs::WINDOWS_1252));
    wrote(&cx, path, Hash::of(b"x"), SEEN);
    assert_eq!(encoding(&cx, path), Some(encoding_rs::WINDOWS_1252));
    spelt(&cx, path, None);
    assert_eq!(encoding(&cx, path), None);
    spelt(&cx, path, Some(encoding_rs::GBK));
    forget(&cx, path);
    assert_eq!(encoding(&cx, path), None);
}

#[test]
fn names_that_are_not_text_are_told_apart() {
    let cx = context("one", None);
    let path = |name: &[u8]| PathBuf::from("/nowhere").join(OsStr::from_bytes(name));
    let hash = Hash::of(b"x");
    saw(&cx, &path(b"\xFF"), hash.clone(), SEEN);
    assert_eq!(standing(&cx, &path(b"\xFF"), || &hash), Standing::Same);
    assert_eq!(standing(&cx, &path(b"\xFE"), || &hash), Standing::Unseen);
}

#[test]
fn the_oldest_file_is_forgotten_first() {
    let cx = context("one", None);
    let old = Hash::of(b"x");
    // Those of one piece.
    let names = (0..).map(|number| format!("/nowhere/{number}"));
    let piece = shard(DOCUMENT, "/nowhere/0");
    let mut names = names.filter(|name| shard(DOCUMENT, name) == piece);
    let first: Vec<String> = names.by_ref().take(FILES).collect();
    for name in first.iter().chain(first.first()).chain(names.next().as_ref()) {
        saw(&cx, Path::new(name), old.clone(), SEEN);
    }
    let known: Known = cx.session.read(&piece).expect("document");
    assert_eq!(known.files.len(), FILES);
    assert!(!known.files.contains_key(&first[1]));
    assert!(known.files.contains_key(&first[0]));
    assert_eq!(seen(&cx).len(), FILES);
}
