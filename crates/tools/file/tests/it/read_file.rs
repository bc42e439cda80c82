use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::time::Duration;

use hermes_core::{Effect, Scope, ToolContext};
use proptest::prelude::*;
use serde_json::json;

use crate::harness::{Place, check_examples, read, tool};

#[tokio::test]
async fn examples_hold() {
    check_examples("read_file").await;
}

#[tokio::test]
async fn lines_are_numbered_without_phantom_lines() {
    for (content, expected, total) in [
        ("a\nb\nc\n", "1|a\n2|b\n3|c", 3),
        ("a\nb\nc", "1|a\n2|b\n3|c", 3),
        ("a\n\n", "1|a\n2|", 2),
        ("\n", "1|", 1),
        ("a\r\nb\r\n", "1|a\n2|b", 2),
    ] {
        let result = read(content, json!({})).await;
        assert_eq!(result["content"], expected, "{content:?}");
        assert_eq!(result["total_lines"], total, "{content:?}");
        assert_eq!(result["file_size"], content.len());
        assert_eq!(result["truncated"], false);
        assert!(result.get("hint").is_none(), "{result}");
    }
}

#[tokio::test]
async fn plain_text_has_no_remarks() {
    let place = Place::new();
    let path = place.write("a.txt", "one\n");
    let result = place.call("read_file", json!({"path": "a.txt"})).await;
    let expected = json!({
        "content": "1|one", "path": path.to_string_lossy(), "total_lines": 1, "file_size": 4,
        "truncated": false, "hash": result["hash"]
    });
    assert_eq!(result, expected);
    assert!(result["hash"].as_str().is_some_and(|hash| hash.len() >= 16), "{result}");
    let expected = vec![Effect::path(Scope::FILE_READ, &path)];
    assert_eq!(place.effects("read_file", json!({"path": "./x/../a.txt"})), expected);
}

#[tokio::test]
async fn offsets_count_from_either_end() {
    let text = "a\nb\nc\nd\ne\n";
    for (offset, limit, content, next) in [
        (0, 2, "1|a\n2|b", Some(3)),
        (1, 2, "1|a\n2|b", Some(3)),
        (4, 500, "4|d\n5|e", None),
        (5, 1, "5|e", None),
        (-2, 500, "4|d\n5|e", None),
        (-3, 1, "3|c", Some(4)),
        (-99, 1, "1|a", Some(2)),
        (i64::MIN, 1, "1|a", Some(2)),
    ] {
        let result = read(text, json!({"offset": offset, "limit": limit})).await;
        assert_eq!(result["content"], content, "offset {offset}");
        assert_eq!(result["next_offset"].as_u64(), next, "offset {offset}");
        assert_eq!(result["truncated"], next.is_some(), "offset {offset}");
        assert_eq!(result["total_lines"], 5);
    }
}

#[tokio::test]
async fn an_offset_behind_the_end_names_the_last_line() {
    for offset in [4, 1_000_000, i64::MAX] {
        let result = read("a\nb\nc\n", json!({"offset": offset})).await;
        assert_eq!((&result["content"], &result["total_lines"]), (&json!(""), &json!(3)));
        assert_eq!(result["truncated"], false);
        assert!(result["hint"].as_str().unwrap().starts_with("The last line is 3;"), "{result}");
    }
}

#[tokio::test]
async fn an_empty_file_is_said_to_be_empty() {
    for content in [&b""[..], b"\xEF\xBB\xBF"] {
        let result = read(content, json!({})).await;
        assert_eq!((&result["content"], &result["total_lines"]), (&json!(""), &json!(0)));
        assert_eq!(result["note"], "The file is empty.");
        assert!(result.get("hint").is_none() && result.get("final_newline").is_none());
    }
}

#[tokio::test]
async fn a_page_has_at_most_two_thousand_lines() {
    let text = "x\n".repeat(5000);
    let usual = read(&text, json!({})).await;
    assert_eq!((&usual["next_offset"], &usual["truncated"]), (&json!(501), &json!(true)));
    assert_eq!(usual["hint"], "Lines 1-500 of 5000; continue with offset=501.");
    let most = read(&text, json!({"limit": 9999})).await;
    assert_eq!(most["next_offset"], 2001);
}

#[tokio::test]
async fn a_page_is_bounded_by_characters_and_holds_whole_lines() {
    let line = "ä".repeat(999);
    let text = format!("{line}\n").repeat(300);
    let result = read(&text, json!({})).await;
    let content = result["content"].as_str().unwrap();
    assert!(content.chars().count() <= 100_000);
    assert!(content.lines().all(|shown| shown.ends_with(&line)));
    let shown = content.lines().count() as u64;
    assert_eq!(result["next_offset"].as_u64().unwrap(), shown + 1);
    assert!(shown > 90, "the budget is used: {shown}");
    assert!(result["hint"].as_str().unwrap().contains("100000 characters"), "{}", result["hint"]);
}

#[tokio::test]
async fn encodings_and_line_endings_are_named() {
    let wide = |mark: &[u8], bytes: fn(u16) -> [u8; 2]| {
        let mut all = mark.to_vec();
        all.extend("é1\r\nb\r\n".encode_utf16().flat_map(bytes));
        all
    };
    for (content, encoding) in [
        (b"\xEF\xBB\xBF\xC3\xA91\r\nb\r\n".to_vec(), "utf-8-bom"),
        (wide(b"\xFF\xFE", u16::to_le_bytes), "utf-16le"),
        (wide(b"\xFE\xFF", u16::to_be_bytes), "utf-16be"),
        (b"\xE91\r\nb\r\n".to_vec(), "windows-1252"),
    ] {
        let result = read(&content, json!({})).await;
        assert_eq!(result["content"], "1|é1\n2|b", "{encoding}");
        assert_eq!(result["encoding"], encoding);
        assert_eq!(result["line_ending"], "crlf");
        assert_eq!(result["file_size"], content.len());
        let second = read(&content, json!({"offset": 2})).await;
        assert_eq!(second["content"], "2|b", "{encoding}");
    }
    assert_eq!(read("a\r\nb\n", json!({})).await["line_ending"], "mixed");
    assert_eq!(read("a\nb", json!({})).await["final_newline"], false);
}

#[tokio::test]
async fn another_encoding_behind_the_sample_is_recognised_on_its_page() {
    let mut content = "plain line of text\n".repeat(500_000).into_bytes();
    content.extend(b"un caf\xE9 tr\xE8s cher\n");
    let first = read(&content, json!({"limit": 1})).await;
    assert!(first.get("encoding").is_none());
    let last = read(&content, json!({"offset": -2})).await;
    assert_eq!(last["content"], "500000|plain line of text\n500001|un café très cher");
    assert_eq!(last["encoding"], "windows-1252");
    assert!(last["note"].as_str().unwrap().contains("guess"), "{last}");
}

#[tokio::test]
async fn damaged_text_is_shown_and_said_to_be_damaged() {
    let mut content = "größer schöner weißer Käse für Gäste\n".repeat(3).into_bytes();
    content.extend(b"bad \xFF byte\n");
    let result = read(&content, json!({"offset": 4})).await;
    assert_eq!(result["content"], "4|bad \u{FFFD} byte");
    assert_eq!(result["note"], "Bytes that are not valid UTF-8 are shown as U+FFFD.");
}

#[tokio::test]
async fn long_lines_are_cut_and_can_be_read_on() {
    let long: String = (0..50_000_u32).map(|i| char::from(b'a' + (i % 26) as u8)).collect();
    let text = format!("short\n{long}\nlast\n");
    let page = read(&text, json!({})).await;
    let lines: Vec<&str> = page["content"].as_str().unwrap().lines().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1], format!("2|{}… [+48000 chars]", &long[..2000]));
    assert_eq!(page["truncated"], true);
    assert!(page.get("next_offset").is_none());
    assert!(page["hint"].as_str().unwrap().contains("offset=2, column=2001"), "{}", page["hint"]);

    let mut whole = long[..2000].to_owned();
    let mut column = Some(2001);
    while let Some(from) = column {
        let part = read(&text, json!({"offset": 2, "column": from})).await;
        let shown = part["content"].as_str().unwrap().strip_prefix("2|").unwrap();
        whole.push_str(shown.split('…').next().unwrap());
        column = part["next_column"].as_u64();
        let next_line = if column.is_some() { 2 } else { 3 };
        assert_eq!(part["next_offset"], next_line);
    }
    assert_eq!(whole, long);

    let behind = read(&text, json!({"offset": 1, "column": 6})).await;
    assert_eq!(
        (&behind["content"], &behind["hint"]),
        (&json!("1|"), &json!("Line 1 has 5 characters."))
    );
}

#[tokio::test]
async fn many_long_lines_stay_within_the_budget() {
    let text = format!("{}\n", "x".repeat(5000)).repeat(200);
    let result = read(&text, json!({"limit": 200})).await;
    assert!(result["content"].as_str().unwrap().chars().count() <= 100_000);
    assert_eq!(result["next_offset"], 50);
    assert!(
        result["hint"].as_str().unwrap().contains("Line 1 and 48 more cut at 2000"),
        "{}",
        result["hint"]
    );
}

#[tokio::test]
async fn a_large_file_is_paged_near_its_end() {
    let place = Place::new();
    let path = place.path().join("big.log");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    let (lines, padding) = (300_000, "-".repeat(92));
    let mut block = String::new();
    for number in 1..=lines {
        writeln!(block, "{number:07} {padding}").unwrap();
        if number % 1000 == 0 {
            file.write_all(block.as_bytes()).unwrap();
            block.clear();
        }
    }
    drop(file);
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size > 30_000_000);
    let ask = |offset: i64, limit: u64| {
        place.call("read_file", json!({"path": "big.log", "offset": offset, "limit": limit}))
    };
    for (offset, first) in [(299_990, 299_990), (-3, 299_998), (1, 1)] {
        let page = ask(offset, 2).await;
        let next = first + 1;
        assert_eq!(
            page["content"],
            format!("{first}|{first:07} {padding}\n{next}|{next:07} {padding}")
        );
        assert_eq!(page["total_lines"], lines);
        assert_eq!(page["file_size"], size);
        assert_eq!(page["next_offset"], first + 2);
    }
}

#[tokio::test]
async fn a_cancelled_call_stops() {
    let place = Place::new();
    place.write("big.txt", "line\n".repeat(500_000));
    let cx = ToolContext::bare(place.path());
    cx.cancel.cancel();
    let call = tool("read_file").bind(&json!({"path": "big.txt"})).unwrap();
    assert_eq!(call.run(cx).await.unwrap_err().kind().name(), "cancelled");
}

#[tokio::test]
async fn folders_and_missing_files_are_explained() {
    let place = Place::new();
    place.write("src/main.rs", "fn main() {}\n");
    let dir = place.call("read_file", json!({"path": "src"})).await;
    assert_eq!(dir["kind"], "invalid_arguments");
    assert!(dir["hint"].as_str().unwrap().contains("directory_list"));
    let missing = place.call("read_file", json!({"path": "src/Main.rs"})).await;
    assert_eq!(
        (&missing["kind"], &missing["similar_files"]),
        (&json!("not_found"), &json!(["src/main.rs"]))
    );
    let below_file = place.call("read_file", json!({"path": "src/main.rs/x"})).await;
    assert_eq!(below_file["kind"], "not_found");
    for path in ["a\0b", &"x".repeat(5000)] {
        let odd = place.call("read_file", json!({"path": path})).await;
        assert_eq!(odd["kind"], "invalid_arguments", "{odd}");
    }
}

#[tokio::test]
async fn binary_files_are_named_with_the_right_tool() {
    let place = Place::new();
    place.write("a.txt", b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xE0\x08\x06");
    place.write("b.png", "really text\n");
    place.write("c.doc", b"\x1F\x8B\x08\0\0\0");
    let image = place.call("read_file", json!({"path": "a.txt"})).await;
    assert_eq!((&image["is_binary"], &image["is_image"]), (&json!(true), &json!(true)));
    assert_eq!((&image["width"], &image["height"]), (&json!(640), &json!(480)));
    assert_eq!((&image["file_kind"], &image["file_size"]), (&json!("a PNG image"), &json!(26)));
    assert!(image["hint"].as_str().unwrap().contains("vision_analyze"));
    assert!(image.get("content").is_none());
    let archive = place.call("read_file", json!({"path": "c.doc"})).await;
    assert_eq!((&archive["is_binary"], &archive["is_image"]), (&json!(true), &json!(false)));
    assert!(archive["hint"].as_str().unwrap().contains("file_compress"), "{archive}");
    let text = place.call("read_file", json!({"path": "b.png"})).await;
    assert_eq!(text["content"], "1|really text");
}

#[tokio::test]
async fn a_zero_byte_in_a_tiny_file_makes_it_binary() {
    let binary = read(b"a\0b\nc\n", json!({})).await;
    assert_eq!((&binary["is_binary"], &binary["file_kind"]), (&json!(true), &json!("binary data")));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn links_that_lead_nowhere_are_explained() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    symlink("pong", place.path().join("ping")).unwrap();
    symlink("ping", place.path().join("pong")).unwrap();
    symlink("gone", place.path().join("dangling")).unwrap();
    for (path, kind, says) in [
        ("ping", "invalid_arguments", "ping is a symlink that leads back to itself"),
        ("pong/below.txt", "invalid_arguments", "pong is a symlink that leads back to itself"),
        ("dangling", "not_found", "a symlink to gone, which does not exist"),
        ("dangling/below.txt", "not_found", "dangling is a symlink to gone"),
    ] {
        let error = place.call("read_file", json!({"path": path})).await;
        assert_eq!(error["kind"], kind, "{error}");
        assert!(error["error"].as_str().unwrap().contains(says), "{error}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn special_files_are_refused_without_waiting() {
    let place = Place::new();
    let made = std::process::Command::new("mkfifo").arg(place.path().join("pipe")).status();
    assert!(made.unwrap().success());
    std::os::unix::fs::symlink("pipe", place.path().join("link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.path().join("socket")).unwrap();
    for (path, what) in [
        ("pipe", "named pipe"),
        ("link", "named pipe"),
        ("socket", "socket"),
        ("/dev/zero", "device"),
        ("/dev/null", "device"),
    ] {
        let answer = place.call("read_file", json!({"path": path}));
        let error = tokio::time::timeout(Duration::from_secs(60), answer).await.unwrap();
        assert!(error["error"].as_str().unwrap().contains(what), "{path}: {error}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn kernel_files_are_read_unless_they_are_traps() {
    let place = Place::new();
    let status = place.call("read_file", json!({"path": "/proc/self/status"})).await;
    assert!(status["content"].as_str().unwrap().starts_with("1|Name:"), "{status}");
    assert!(status["total_lines"].as_u64().unwrap() > 10);
    for path in ["/proc/self/environ", "/proc/self/mem", "/proc/kmsg", "/dev/stdin"] {
        let error = place.call("read_file", json!({"path": path})).await;
        assert_eq!(error["kind"], "denied", "{path}: {error}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_may_not_be_read_is_denied() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let path = place.write("secret", "x\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    let may_read = File::open(&path).is_ok();
    let result = place.call("read_file", json!({"path": "secret"})).await;
    // The superuser reads everything.
    let expected = if may_read { ("content", "1|x") } else { ("kind", "denied") };
    assert_eq!(result[expected.0], expected.1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pages_put_together_are_the_whole(
        lines in prop::collection::vec("[a-z |é✓]{0,12}", 0..40),
        breaks in prop::collection::vec(prop::sample::select(vec!["\n", "\r\n"]), 40),
        open_end: bool,
        limit in 1_u64..15,
    ) {
        let mut text = String::new();
        for (line, end) in lines.iter().zip(&breaks) {
            text.push_str(line);
            text.push_str(end);
        }
        if open_end {
            text.push_str("end");
        }
        let place = Place::new();
        place.write("file.txt", &text);
        let expected: Vec<&str> = text.lines().collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut seen = Vec::new();
        let mut offset = Some(1);
        while let Some(from) = offset {
            let page = runtime.block_on(place.call("read_file", json!({"path": "file.txt", "offset": from, "limit": limit})));
            prop_assert_eq!(page["total_lines"].as_u64(), Some(expected.len() as u64));
            seen.extend(page["content"].as_str().unwrap().lines().map(str::to_owned));
            offset = page["next_offset"].as_u64();
        }
        let numbered: Vec<String> = expected.iter().enumerate().map(|(i, line)| format!("{}|{line}", i + 1)).collect();
        prop_assert_eq!(seen, numbered);
    }
}

/// The second of two reads may be answered with a reference to the first.
#[test]
fn reads_of_one_file_in_a_batch_run_in_call_order() {
    assert!(tool("read_file").spec().in_call_order);
}
