//! `.editorconfig` has a word on encodings, and all tools heed it alike.

use std::fs;

use hermes_core::{Effect, Grants, Scope};
use serde_json::{Value, json};

use crate::harness::Place;
use crate::write_file::Caller;

/// Detected as Russian without a hint.
const BYTES: &[u8] = b"\xCF\xF0\xE8\xE2\xE5\xF2\n";

fn place(charset: &str) -> Place {
    let place = Place::new();
    place.write(".editorconfig", format!("root = true\n[*.txt]\ncharset = {charset}\n"));
    place
}

async fn read(place: &Place, name: &str) -> (Value, Value) {
    let read = place.call("read_file", json!({"path": name})).await;
    (read["content"].clone(), read["encoding"].clone())
}

#[tokio::test]
async fn what_the_bytes_leave_open_is_read_as_it_is_said() {
    let place = place("latin1");
    place.write("a.txt", BYTES);
    place.write("a.other", BYTES);
    assert_eq!(read(&place, "a.txt").await, (json!("1|Ïðèâåò"), json!("windows-1252")));
    assert_eq!(read(&place, "a.other").await, (json!("1|Привет"), json!("windows-1251")));
}

#[tokio::test]
async fn bytes_that_speak_for_themselves_are_believed_first() {
    let place = place("utf-16be");
    let wide: Vec<u8> = "漢字\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    place.write("wide.txt", &wide);
    place.write("marked.txt", b"\xFF\xFEx\0\n\0");
    place.write("plain.txt", "plain, größe\n");
    place.write("latin.txt", b"\xE9t\xE9 \xE0 la plage!\n");
    for (name, content, encoding) in [
        ("wide.txt", "1|漢字", json!("utf-16be")),
        ("marked.txt", "1|x", json!("utf-16le")),
        ("plain.txt", "1|plain, größe", Value::Null),
        ("latin.txt", "1|été à la plage!", json!("windows-1252")),
    ] {
        assert_eq!(read(&place, name).await, (json!(content), encoding), "{name}");
    }
}

#[tokio::test]
async fn write_file_keeps_the_encoding_that_read_file_shows() {
    let place = place("latin1");
    let path = place.write("a.txt", BYTES);
    let written = place.call("write_file", json!({"path": "a.txt", "content": "Ïðèâåò!\n"})).await;
    assert_eq!(written["encoding"], "windows-1252", "{written}");
    assert_eq!(fs::read(&path).unwrap(), b"\xCF\xF0\xE8\xE2\xE5\xF2!\n");
    let diff = written["diff"].as_str().unwrap();
    assert!(diff.contains("\n-Ïðèâåò\n+Ïðèâåò!\n"), "{diff}");
}

#[tokio::test]
async fn an_empty_file_is_written_like_a_new_one() {
    let place = place("utf-16le");
    let path = place.write("a.txt", "");
    place.call("write_file", json!({"path": "a.txt", "content": "x\n"})).await;
    assert_eq!(fs::read(&path).unwrap(), b"x\0\n\0");
    assert_eq!(read(&place, "a.txt").await.0, "1|x");
}

#[tokio::test]
async fn file_diff_reads_both_sides_as_it_is_said() {
    let place = place("latin1");
    place.write("old/a.txt", BYTES);
    place.write("new/a.txt", b"\xCF\xF0\xE8\xE2\xE5\xF2!\n");
    let text = json!({"path": "old/a.txt", "content": "Ïðèâåò\n"});
    assert_eq!(place.call("file_diff", text).await["identical"], true);
    for arguments in [
        json!({"path": "old/a.txt", "other_path": "new/a.txt"}),
        json!({"path": "old", "other_path": "new"}),
    ] {
        let result = place.call("file_diff", arguments).await;
        let diff = result["diff"].as_str().unwrap();
        assert!(diff.contains("\n-Ïðèâåò\n+Ïðèâåò!\n"), "{result}");
    }
    let other = json!({"path": "old/a.txt", "content": "x", "encoding": "koi8-r"});
    let other = place.call("file_diff", other).await;
    assert_eq!(other["old"]["encoding"], "koi8-r", "the caller knows better: {other}");
}

#[tokio::test]
async fn a_call_within_bounds_heeds_it_too() {
    let place = place("latin1");
    let path = place.write("sub/a.txt", BYTES);
    let grants = Grants::from_effects(&[Effect::path(Scope::FILE_READ, path)]);
    let read = place.call_within(grants, "read_file", json!({"path": "sub/a.txt"})).await;
    assert_eq!(read["content"], "1|Ïðèâåò", "{read}");
}

#[tokio::test]
async fn one_encoding_for_the_beginning_and_the_whole() {
    let place = Place::new();
    // The first letter that is not ASCII stands behind all that a page shows.
    let mut bytes = b"plain line\n".repeat(10_000);
    bytes.extend_from_slice(b"\xE9t\xE9 \xE0 la plage\n");
    place.write("a.txt", &bytes);
    let first = place.call("read_file", json!({"path": "a.txt", "limit": 1})).await;
    let side = place.call("file_diff", json!({"path": "a.txt", "content": ""})).await;
    assert_eq!(first["encoding"], side["old"]["encoding"], "{first}");
    assert_eq!(first["encoding"], "windows-1252");
}

#[tokio::test]
async fn a_guess_about_a_large_file_is_said_to_be_one() {
    let place = Place::new();
    place.write("large.txt", b"\xE9t\xE9 \xE0 la plage\n".repeat(600_000));
    let read = place.call("read_file", json!({"path": "large.txt", "limit": 1})).await;
    assert_eq!(read["content"], "1|été à la plage");
    assert!(read["note"].as_str().unwrap().contains("guess"), "{read}");
    let shown = json!({"path": "large.txt", "limit": 1, "encoding": "latin1"});
    let shown = place.call("read_file", shown).await;
    assert!(!shown.to_string().contains("guess"), "{shown}");
}

#[tokio::test]
async fn wide_text_without_a_mark_is_read_patched_and_found() {
    let place = Place::new();
    let caller = Caller::new(&place);
    for text in
        ["Hello \u{1F600} text\nsecond\n", "Привет мир\nsecond\n", "日本語のテキスト\nsecond\n"]
    {
        for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            let wide = |text: &str| text.encode_utf16().flat_map(to_bytes).collect::<Vec<u8>>();
            place.write("wide.txt", wide(text));
            let found =
                caller.call("search_files", json!({"pattern": "second", "path": "."})).await;
            assert_eq!(found["matches"][0]["content"], "second", "{text}: {found}");
            let edit = json!({"path": "wide.txt", "old_string": "second", "new_string": "2nd"});
            let done = caller.call("patch", edit).await;
            assert!(done.get("error").is_none(), "{text}: {done}");
            let bytes = fs::read(caller.path("wide.txt")).unwrap();
            assert_eq!(bytes, wide(&text.replace("second", "2nd")));
        }
    }
}

#[tokio::test]
async fn what_was_read_in_a_named_encoding_is_patched_and_found_in_it() {
    let place = Place::new();
    let caller = Caller::new(&place);
    // Too short and too mixed to be recognised.
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    place.write("w.bin", wide("Ж:b"));
    let edit = json!({"path": "w.bin", "old_string": "b", "new_string": "c"});
    let refused = caller.call("patch", edit.clone()).await;
    assert!(refused["hint"].as_str().unwrap().contains("encoding=utf-16le"), "{refused}");
    let refused = caller.call("read_file", json!({"path": "w.bin"})).await;
    assert!(refused.to_string().contains("encoding=utf-16le"), "{refused}");
    let read = caller.call("read_file", json!({"path": "w.bin", "encoding": "utf-16le"})).await;
    assert_eq!(read["content"], "1|Ж:b", "{read}");
    let found = caller.call("search_files", json!({"pattern": "Ж:b", "path": "."})).await;
    assert_eq!(found["matches"][0]["content"], "Ж:b", "{found}");
    let done = caller.call("patch", edit).await;
    assert!(done.get("error").is_none(), "{done}");
    assert_eq!(fs::read(caller.path("w.bin")).unwrap(), wide("Ж:c"));
}

#[tokio::test]
async fn a_named_encoding_counts_for_more_than_a_control_character() {
    let place = Place::new();
    let caller = Caller::new(&place);
    place.write("s.txt", b"caf\xE9\x0B\x01\n");
    let read = json!({"path": "s.txt", "encoding": "windows-1252"});
    assert_eq!(caller.call("read_file", read).await["content"], "1|café\u{B}\u{1}");
    place.write("e.txt", b"\xC6\xFC\xCB\xDC\x0B\x01\n");
    let edit = json!({
        "path": "e.txt", "old_string": "日", "new_string": "一", "encoding": "euc-jp"
    });
    let done = caller.call("patch", edit).await;
    assert!(done.get("error").is_none(), "{done}");
    assert_eq!(fs::read(caller.path("e.txt")).unwrap(), b"\xB0\xEC\xCB\xDC\x0B\x01\n");
}

#[tokio::test]
async fn patch_takes_an_encoding_by_name() {
    let place = Place::new();
    let caller = Caller::new(&place);
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    place.write("w.bin", wide("Ж:b\n"));
    let edit = json!({
        "path": "w.bin", "old_string": "b", "new_string": "c", "encoding": "utf-16be"
    });
    let done = caller.call("patch", edit).await;
    assert!(done.get("error").is_none(), "{done}");
    assert_eq!(fs::read(caller.path("w.bin")).unwrap(), wide("Ж:c\n"));
    // And it is remembered.
    let read = caller.call("read_file", json!({"path": "w.bin"})).await;
    assert_eq!(read["content"], "1|Ж:c", "{read}");
    let wrong = json!({"path": "w.bin", "old_string": "c", "new_string": "d", "encoding": "none"});
    assert_eq!(caller.call("patch", wrong).await["kind"], "invalid_arguments");
}

#[tokio::test]
async fn an_encoding_that_was_named_holds_for_what_is_ascii_so_far() {
    let edit = json!({"path": "g.txt", "old_string": "abc", "new_string": "é"});
    let write = json!({"path": "g.txt", "content": "é\n"});
    for (first, then, bytes) in [
        (("read_file", json!({"encoding": "windows-1252"})), ("patch", &edit), &b"\xE9\n"[..]),
        (("read_file", json!({"encoding": "windows-1252"})), ("write_file", &write), b"\xE9\n"),
        (
            ("patch", json!({"encoding": "latin2", "old_string": "x", "new_string": "y"})),
            ("patch", &edit),
            b"\xE9y\n",
        ),
        (
            ("write_file", json!({"encoding": "latin2", "content": "abc\n"})),
            ("patch", &edit),
            b"\xE9\n",
        ),
        (("read_file", json!({"encoding": "utf-8"})), ("patch", &edit), "é\n".as_bytes()),
    ] {
        let place = Place::new();
        let caller = Caller::new(&place);
        let text = if first.0 == "patch" { "abcx\n" } else { "abc\n" };
        place.write("g.txt", text);
        let mut arguments = first.1;
        arguments["path"] = json!("g.txt");
        let shown = caller.call(first.0, arguments).await;
        assert!(shown.get("error").is_none(), "{shown}");
        let done = caller.call(then.0, then.1.clone()).await;
        assert_eq!(fs::read(caller.path("g.txt")).unwrap(), bytes, "{shown}: {done}");
        assert!(done.get("error").is_none(), "{done}");
        assert!(
            caller.call("read_file", json!({"path": "g.txt"})).await["content"]
                .as_str()
                .unwrap()
                .starts_with("1|é")
        );
    }
}

#[tokio::test]
async fn a_named_encoding_holds_for_empty_new_and_moved_files() {
    let place = Place::new();
    let caller = Caller::new(&place);
    place.write("empty.txt", "");
    caller.call("read_file", json!({"path": "empty.txt", "encoding": "shift_jis"})).await;
    caller.write("empty.txt", "ソ\n").await;
    assert_eq!(fs::read(caller.path("empty.txt")).unwrap(), b"\x83\x5C\n");
    let add = json!({"patch": "*** Add File: new.txt\n+abc\n", "encoding": "iso-2022-jp"});
    caller.call("patch", add).await;
    caller.call("patch", json!({"patch": "*** Move File: new.txt -> moved.txt\n"})).await;
    let edit = json!({"path": "moved.txt", "old_string": "abc", "new_string": "日"});
    let done = caller.call("patch", edit).await;
    assert_eq!(fs::read(caller.path("moved.txt")).unwrap(), b"\x1B$BF|\x1B(B\n", "{done}");
    // Bytes that cannot be it say so.
    place.write("plain.txt", "abc\n");
    caller.call("read_file", json!({"path": "plain.txt", "encoding": "utf-16le"})).await;
    let edit = json!({"path": "plain.txt", "old_string": "abc", "new_string": "é"});
    let done = caller.call("patch", edit).await;
    assert_eq!(fs::read(caller.path("plain.txt")).unwrap(), "é\n".as_bytes(), "{done}");
}

#[tokio::test]
async fn what_is_ascii_so_far_is_changed_as_it_is_said() {
    let place = place("latin1");
    let path = place.write("a.txt", "abc\n");
    let edit = json!({"path": "a.txt", "old_string": "abc", "new_string": "é"});
    place.call("patch", edit.clone()).await;
    assert_eq!(fs::read(&path).unwrap(), b"\xE9\n");
    place.write("a.txt", "abc\n");
    let written = place.call("write_file", json!({"path": "a.txt", "content": "é\n"})).await;
    assert_eq!(written["encoding"], "windows-1252", "{written}");
    assert_eq!(fs::read(&path).unwrap(), b"\xE9\n");
    // Another that is named counts for more, also for the calls that follow.
    place.write("a.txt", "abc\n");
    let caller = Caller::new(&place);
    let named = json!({"path": "a.txt", "content": "abc.\n", "encoding": "utf-8"});
    caller.call("write_file", named).await;
    caller.call("patch", edit).await;
    assert_eq!(fs::read(&path).unwrap(), "é.\n".as_bytes());
    // One that the bytes cannot be in is not forced upon them.
    place.write(".editorconfig", "root = true\n[*.txt]\ncharset = utf-16le\n");
    place.write("a.txt", "abc\n");
    place.call("write_file", json!({"path": "a.txt", "content": "é\n"})).await;
    assert_eq!(fs::read(&path).unwrap(), "é\n".as_bytes());
}
