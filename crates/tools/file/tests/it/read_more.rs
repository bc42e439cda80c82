//! `read_file` beyond plain pages: ranges, encodings, repeats, documents, large files.

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStrExt as _;

use hermes_core::{Effect, Scope, ToolContext};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{Place, read, tool};

/// Calls in one session.
async fn call(cx: &ToolContext, arguments: Value) -> Value {
    let call = tool("read_file").bind(&arguments).unwrap();
    match call.run(cx.clone()).await {
        Ok(output) => serde_json::from_str(output.content()).unwrap(),
        Err(error) => error.to_value(),
    }
}

#[tokio::test]
async fn what_ended_a_page_is_said() {
    let long = "x".repeat(3000);
    for (text, arguments, by) in [
        ("a\nb\nc\n".to_owned(), json!({"limit": 2}), json!("lines")),
        (format!("{}\n", "y".repeat(1999)).repeat(100), json!({}), json!("characters")),
        (format!("{long}\n"), json!({}), json!("line_length")),
        ("a\n".to_owned(), json!({}), Value::Null),
    ] {
        assert_eq!(read(text, arguments).await["truncated_by"], by);
    }
}

#[tokio::test]
async fn old_mac_files_have_lines() {
    let result = read("one\rtwo\rthree", json!({"offset": 2})).await;
    assert_eq!(result["content"], "2|two\n3|three");
    assert_eq!((&result["total_lines"], &result["line_ending"]), (&json!(3), &json!("cr")));
    let mixed = read("one\rtwo\nthree", json!({})).await;
    assert_eq!(
        (&mixed["content"], &mixed["total_lines"]),
        (&json!("1|one\rtwo\n2|three"), &json!(2))
    );
}

#[tokio::test]
async fn the_encoding_can_be_told() {
    let russian = b"\xCF\xF0\xE8\xE2\xE5\xF2\n";
    let result = read(russian, json!({"encoding": "windows-1251"})).await;
    assert_eq!(
        (&result["content"], &result["encoding"]),
        (&json!("1|Привет"), &json!("windows-1251"))
    );
    let forced = read("\u{FEFF}ä\n", json!({"encoding": "utf-8"})).await;
    assert_eq!((&forced["content"], &forced["encoding"]), (&json!("1|ä"), &json!("utf-8-bom")));
    let unknown = read("x", json!({"encoding": "klingon"})).await;
    assert_eq!(unknown["kind"], "invalid_arguments");
    assert!(unknown["hint"].as_str().unwrap().contains("windows-1252"), "{unknown}");
}

#[tokio::test]
async fn bytes_can_be_read_on_from_anywhere() {
    let text = "äöü€ ".repeat(9000);
    let mut whole = String::new();
    let mut next = Some(0);
    while let Some(from) = next {
        let part = read(&text, json!({"byte_offset": from, "byte_limit": 7001})).await;
        assert_eq!((&part["format"], &part["byte_offset"]), (&json!("text"), &json!(from)));
        whole.push_str(part["content"].as_str().unwrap());
        next = part["next_byte_offset"].as_u64();
        assert_eq!(part["truncated"], next.is_some());
    }
    assert_eq!(whole, text);
    let behind = read("abc", json!({"byte_offset": 9})).await;
    assert!(behind["hint"].as_str().unwrap().contains("3 bytes"), "{behind}");
    let hex = read(b"\x7FELF\0\0", json!({"byte_offset": 1})).await;
    assert_eq!(
        (&hex["content"], &hex["format"]),
        (&json!("00000001  45 4c 46 00 00  |ELF..|"), &json!("hex"))
    );
    assert_eq!(hex["is_binary"], true);
}

#[tokio::test]
async fn a_repeat_is_answered_in_a_sentence_once() {
    let place = Place::new();
    let path = place.write("a.txt", "one\ntwo\n");
    let cx = ToolContext::bare(place.path());
    let first = call(&cx, json!({"path": "a.txt"})).await;
    assert_eq!(first["content"], "1|one\n2|two");
    let second = call(&cx, json!({"path": "./a.txt"})).await;
    assert_eq!(
        (&second["status"], &second["content_returned"]),
        (&json!("unchanged"), &json!(false))
    );
    assert!(second["message"].as_str().unwrap().contains("fresh=true"));
    assert!(second.get("content").is_none());
    assert_eq!(second["hash"], first["hash"]);
    assert_eq!(call(&cx, json!({"path": "a.txt"})).await["content"], "1|one\n2|two");
    assert_eq!(call(&cx, json!({"path": "a.txt", "fresh": true})).await["content"], "1|one\n2|two");
    assert_eq!(call(&cx, json!({"path": "a.txt", "offset": 2})).await["content"], "2|two");
    let mut sub = cx.clone();
    sub.task_id = "sub".into();
    assert_eq!(call(&sub, json!({"path": "a.txt"})).await["content"], "1|one\n2|two");

    // Rewritten with the same length and the same time stamp.
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "one\nTWO\n").unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert_eq!(call(&cx, json!({"path": "a.txt"})).await["content"], "1|one\n2|TWO");
}

#[tokio::test]
async fn what_was_seen_is_noted_for_the_task() {
    let place = Place::new();
    place.write("a.txt", "one\ntwo\n");
    let cx = ToolContext::bare(place.path());
    for (arguments, whole) in [
        (json!({"path": "a.txt", "limit": 1}), false),
        (json!({"path": "a.txt"}), true),
        (json!({"path": "a.txt", "column": 2}), false),
    ] {
        let result = call(&cx, arguments).await;
        // In one of the parts of the session state.
        let mut pieces = (0..64).map(|piece| cx.session.read(&format!("files/{piece:02x}")));
        let known: Value = pieces.find_map(|found| found.ok().filter(Value::is_object)).unwrap();
        let record = known["files"].as_object().unwrap().values().next().unwrap();
        let sight = &record["seen"][&*cx.task_id];
        let hash = result["hash"].as_str().unwrap();
        assert!(sight["hash"].as_str().unwrap().starts_with(hash), "{known}");
        assert_eq!((&sight["whole"], &sight["len"]), (&json!(whole), &json!(8)), "{known}");
    }
}

#[tokio::test]
async fn a_new_context_is_shown_everything_again() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let cx = ToolContext::bare(place.path());
    call(&cx, json!({"path": "a.txt"})).await;
    cx.session.update("context", |mark: &mut Value| *mark = json!({"generation": 1})).unwrap();
    assert_eq!(call(&cx, json!({"path": "a.txt"})).await["content"], "1|one");
    assert_eq!(call(&cx, json!({"path": "a.txt"})).await["status"], "unchanged");
}

#[tokio::test]
async fn notebooks_show_cells_and_can_be_read_raw() {
    let notebook = r#"{"cells":[{"cell_type":"code","execution_count":1,"metadata":{},"source":["1/0"],"outputs":[{"output_type":"error","ename":"ZeroDivisionError","evalue":"division by zero","traceback":[]}]}],"metadata":{},"nbformat":4,"nbformat_minor":5}"#;
    let place = Place::new();
    place.write("n.ipynb", notebook);
    place.write("broken.ipynb", "{\"cells\": [");
    let shown = place.call("read_file", json!({"path": "n.ipynb"})).await;
    assert_eq!(
        shown["content"],
        "1|## Code cell 1 [1]\n2|1/0\n3|### Error: ZeroDivisionError: division by zero"
    );
    assert_eq!(shown["extracted_document"], "notebook");
    assert_eq!(shown["file_size"], notebook.len());
    place.write("none.ipynb", r#"{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}"#);
    let none = place.call("read_file", json!({"path": "none.ipynb"})).await;
    assert_eq!(none["note"], "The document has no text.", "{none}");
    let raw = place.call("read_file", json!({"path": "n.ipynb", "raw": true})).await;
    assert_eq!(raw["content"], format!("1|{notebook}"));
    let broken = place.call("read_file", json!({"path": "broken.ipynb"})).await;
    assert_eq!(broken["content"], "1|{\"cells\": [");
}

/// A zip archive of one stored entry.
fn stored(name: &str, content: &[u8]) -> Vec<u8> {
    let mut sum = !0_u32;
    for byte in content {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 };
        }
    }
    let (size, length) = ((content.len() as u32).to_le_bytes(), (name.len() as u16).to_le_bytes());
    let facts = [
        &[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..],
        &(!sum).to_le_bytes(),
        &size,
        &size,
        &length,
        &[0, 0],
    ]
    .concat();
    let local = [b"PK\x03\x04", &facts[..], name.as_bytes(), content].concat();
    let central = [b"PK\x01\x02\x14\0", &facts[..], &[0; 14], name.as_bytes()].concat();
    let count = 1_u16.to_le_bytes();
    let end = [
        b"PK\x05\x06\0\0\0\0",
        &count[..],
        &count,
        &(central.len() as u32).to_le_bytes(),
        &(local.len() as u32).to_le_bytes(),
        &[0, 0],
    ]
    .concat();
    [local, central, end].concat()
}

#[tokio::test]
async fn documents_are_paged_like_text() {
    let paragraphs: String =
        (1..=30).map(|n| format!("<w:p><w:r><w:t>Paragraph {n}</w:t></w:r></w:p>")).collect();
    let xml = format!("<w:document xmlns:w=\"w\"><w:body>{paragraphs}</w:body></w:document>");
    let place = Place::new();
    place.write("a.docx", stored("word/document.xml", xml.as_bytes()));
    let page = place.call("read_file", json!({"path": "a.docx", "offset": 29, "limit": 1})).await;
    assert_eq!((&page["content"], &page["total_lines"]), (&json!("29|Paragraph 29"), &json!(30)));
    assert_eq!((&page["extracted_document"], &page["next_offset"]), (&json!("docx"), &json!(30)));
    let raw = place.call("read_file", json!({"path": "a.docx", "raw": true})).await;
    assert_eq!(raw["is_binary"], true, "{raw}");
    place.write("bad.pdf", "%PDF-1.4\nnothing\n");
    let bad = place.call("read_file", json!({"path": "bad.pdf"})).await;
    assert_eq!(bad["kind"], "invalid_arguments", "{bad}");
    assert!(bad["error"].as_str().unwrap().contains("damaged"), "{bad}");
}

#[tokio::test]
async fn a_line_without_end_is_cut_early_and_read_on() {
    let place = Place::new();
    place.write("one.json", "ab".repeat(6 << 20));
    let page = place.call("read_file", json!({"path": "one.json"})).await;
    let content = page["content"].as_str().unwrap();
    assert!(
        content.starts_with("1|abab") && content.contains("[+more than "),
        "{}",
        &content[1990..]
    );
    assert_eq!((&page["next_offset"], &page["next_column"]), (&json!(1), &json!(2001)));
    assert_eq!((&page["truncated"], &page["truncated_by"]), (&json!(true), &json!("line_length")));
    let deep = place.call("read_file", json!({"path": "one.json", "column": 12_582_900})).await;
    assert_eq!(deep["content"], format!("1|b{}", "ab".repeat(6)));
    assert!(deep.get("next_column").is_none(), "{deep}");
}

/// A file of more than 64 MB, nearly all of it sparse.
fn huge(place: &Place, lines: &str) -> u64 {
    let mut file = File::create(place.path().join("huge.log")).unwrap();
    file.write_all("start\n".repeat(3000).as_bytes()).unwrap();
    let size = 80 << 20;
    file.seek(SeekFrom::Start(size - lines.len() as u64)).unwrap();
    file.write_all(lines.as_bytes()).unwrap();
    size
}

#[tokio::test]
async fn the_first_page_of_a_huge_file_does_not_count_it() {
    let place = Place::new();
    let size = huge(&place, "\nlast\n");
    let cx = ToolContext::bare(place.path());
    let first = call(&cx, json!({"path": "huge.log", "limit": 2})).await;
    assert_eq!(
        (&first["content"], &first["file_size"]),
        (&json!("1|start\n2|start"), &json!(size))
    );
    assert_eq!((&first["total_lines"], &first["total_lines_at_least"]), (&Value::Null, &json!(3)));
    assert_eq!((&first["next_offset"], &first["truncated"]), (&json!(3), &json!(true)));
    assert!(first["note"].as_str().unwrap().contains("Not all lines"), "{first}");
    assert!(first.get("hash").is_none());

    let last = call(&cx, json!({"path": "huge.log", "offset": -1})).await;
    assert_eq!((&last["content"], &last["total_lines"]), (&json!("3002|last"), &json!(3002)));
    let deep = call(&cx, json!({"path": "huge.log", "offset": 3002, "limit": 1})).await;
    assert_eq!((&deep["content"], &deep["total_lines"]), (&json!("3002|last"), &json!(3002)));
    let behind = call(&cx, json!({"path": "huge.log", "offset": 3003})).await;
    assert!(behind["hint"].as_str().unwrap().starts_with("The last line is 3002;"), "{behind}");
}

#[tokio::test]
async fn what_was_counted_is_known_to_the_next_call_of_the_session() {
    let place = Place::new();
    huge(&place, "\nlast\n");
    let path = place.path().join("huge.log");
    let cx = ToolContext::bare(place.path());
    // A file that has only just changed is not cached; each attempt takes a while.
    for _ in 0..1000 {
        call(&cx, json!({"path": "huge.log", "offset": -1, "fresh": true})).await;
        if cx.session.read::<Value>("lines").unwrap().is_array() {
            break;
        }
    }
    let first = call(&cx, json!({"path": "huge.log", "limit": 1})).await;
    assert_eq!(first["total_lines"], 3002);
    File::options().append(true).open(&path).unwrap().write_all(b"more\n").unwrap();
    let changed = call(&cx, json!({"path": "huge.log", "limit": 1})).await;
    assert_eq!(changed["total_lines"], Value::Null);
    assert_eq!(call(&cx, json!({"path": "huge.log", "offset": -1})).await["content"], "3003|more");
}

#[tokio::test]
async fn odd_names_are_read() {
    let place = Place::new();
    let deep = "d".repeat(200);
    let dirs: Vec<&str> = std::iter::repeat_n(deep.as_str(), 15).collect();
    for name in [
        "with space.txt",
        "new\nline",
        "tab\tand \"quotes\"",
        "ünï",
        &format!("{}/x", dirs.join("/")),
    ] {
        place.write(name, "here\n");
        let result = place.call("read_file", json!({"path": name})).await;
        assert_eq!(result["content"], "1|here", "{name:?}: {result}");
    }
    let odd = place.path().join(std::ffi::OsStr::from_bytes(b"caf\xE9"));
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join("inside.txt"), "x\n").unwrap();
    let cx = ToolContext::bare(&odd);
    assert_eq!(call(&cx, json!({"path": "inside.txt"})).await["content"], "1|x");
    let address = format!("file://{}/caf%E9/inside.txt", place.path().display());
    let named = place.call("read_file", json!({"path": address})).await;
    assert_eq!((&named["content"], &named["path"]), (&json!("1|x"), &json!(address)));
    // A name as shown by directory_list leads to the exact path.
    let shown = place.call("read_file", json!({"path": "caf\u{FFFD}/inside.txt"})).await;
    assert_eq!((&shown["kind"], &shown["similar_files"]), (&json!("not_found"), &json!([address])));
}

fn encoded(text: &str, which: usize) -> Vec<u8> {
    match which {
        0 => text.as_bytes().to_vec(),
        1 => [b"\xEF\xBB\xBF", text.as_bytes()].concat(),
        2 => b"\xFF\xFE"
            .iter()
            .copied()
            .chain(text.encode_utf16().flat_map(u16::to_le_bytes))
            .collect(),
        _ => b"\xFE\xFF"
            .iter()
            .copied()
            .chain(text.encode_utf16().flat_map(u16::to_be_bytes))
            .collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn pages_of_any_encoding_and_ending_are_the_whole(
        lines in prop::collection::vec("[a-zéщ漢\u{A0A}\u{10A}]{0,9}", 1..30),
        ending in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        is_open: bool,
        limit in 1_u64..12,
        which in 0_usize..4,
    ) {
        // UTF-16 with carriage returns alone is one long line.
        prop_assume!(!(ending == "\r" && which > 1));
        let mut text = lines.join(ending);
        if !is_open {
            text.push_str(ending);
        }
        // An empty last line without a newline does not count.
        let expected = if is_open && lines.last().is_some_and(String::is_empty) { &lines[..lines.len() - 1] } else { &lines[..] };
        let is_plain = !text.contains(ending);
        prop_assume!(!(ending == "\r" && is_plain));
        let place = Place::new();
        place.write("file.txt", encoded(&text, which));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut seen = Vec::new();
        let mut offset = Some(1);
        while let Some(from) = offset {
            let page = runtime.block_on(place.call("read_file", json!({"path": "file.txt", "offset": from, "limit": limit})));
            prop_assert_eq!(page["total_lines"].as_u64(), Some(expected.len() as u64), "{}", page);
            seen.extend(page["content"].as_str().unwrap().split('\n').filter(|line| !line.is_empty()).map(str::to_owned));
            offset = page["next_offset"].as_u64();
        }
        let numbered: Vec<String> = expected.iter().enumerate().map(|(i, line)| format!("{}|{line}", i + 1)).collect();
        prop_assert_eq!(seen, numbered);
    }
}

#[tokio::test]
async fn all_tools_count_lines_alike_that_end_with_carriage_returns() {
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let marked = |text: &str| [b"\xFF\xFE", wide(text).as_slice()].concat();
    for (text, count) in [("a\rb\rc\r", 3), ("a\rb\rc", 3), ("a\rb\nc\r", 2), ("a\r\nb\r\nc", 3)] {
        for bytes in [text.as_bytes().to_vec(), marked(text)] {
            let place = Place::new();
            place.write("f", &bytes);
            let read = place.call("read_file", json!({"path": "f"})).await;
            assert_eq!(read["total_lines"], count, "{text:?}: {read}");
            let edit = json!({"path": "f", "old_string": "c", "new_string": "d"});
            let done = place.call("patch", edit).await;
            let lines = json!([count, count]);
            assert_eq!(done["line_ranges"][0]["before"], lines, "{text:?}: {done}");
            assert_eq!(done["line_ranges"][0]["after"], lines, "{text:?}: {done}");
            place.write("f", &bytes);
            let gone = json!({"path": "f", "content": "", "format": "stat"});
            let gone = place.call("file_diff", gone).await;
            assert_eq!(gone["removed_lines"], count, "{text:?}: {gone}");
        }
        let place = Place::new();
        let written = place.call("write_file", json!({"path": "f", "content": text})).await;
        assert_eq!(written["lines"], count, "{text:?}: {written}");
        let again = place.call("write_file", json!({"path": "f", "content": "x"})).await;
        assert_eq!(again["replaced_unseen"]["lines"], count, "{text:?}: {again}");
    }
    let place = Place::new();
    place.write("f", "x\ry\rx\r");
    let several = json!({"path": "f", "old_string": "x", "new_string": "z"});
    let several = place.call("patch", several).await;
    assert_eq!(several["places"][1]["context"], "1|x\n2|y\n3|x", "{several}");
    let longer = json!({"path": "f", "old_string": "x", "new_string": "z\nz", "replace_all": true});
    let longer = place.call("patch", longer).await;
    assert_eq!(longer["line_ranges"][1]["after"], json!([4, 5]), "{longer}");
}

/// N A7: a file of secrets shows the names of its variables without the values.
#[tokio::test]
async fn n_a7_of_a_dotenv_file_the_names_can_be_read_alone() {
    let place = Place::new();
    let path = place.write(".env", "PORT=8080\nexport TOKEN=\"hunter2\nhunter3=\"\nEMPTY=\n");
    let arguments = json!({"path": ".env", "names_only": true});
    let answer = place.call("read_file", arguments.clone()).await;
    assert_eq!(answer["names"], json!(["PORT", "TOKEN", "EMPTY"]));
    assert!(!answer.to_string().contains("hunter"), "{answer}");
    // The declared effects say that no value is shown.
    let effects = place.effects("read_file", arguments);
    let wanted = [Scope::FILE_READ, Scope::ENV_READ].map(|scope| Effect::path(scope, &path));
    assert_eq!(effects, wanted);
    assert_eq!(place.effects("read_file", json!({"path": ".env"})), [wanted[0].clone()]);
    place.write("notes.txt", "a=1\n");
    let other = place.call("read_file", json!({"path": "notes.txt", "names_only": true})).await;
    assert_eq!(other["kind"], "invalid_arguments", "{other}");
}
