use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

const LIMIT: usize = 8_000;

fn read(spilled: &SpilledResult) -> String {
    fs::read_to_string(spilled.path.as_ref().expect("saved")).expect("readable")
}

fn parse(spilled: &SpilledResult) -> Value {
    serde_json::from_str(&spilled.content).expect("JSON")
}

fn names(dir: &Path) -> Vec<String> {
    fs::read_dir(dir)
        .expect("directory")
        .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn limits_follow_the_window() {
    assert_eq!(
        ResultSizeLimits::for_window(None),
        ResultSizeLimits { per_result: 100_000, per_batch: 200_000 }
    );
    assert_eq!(
        ResultSizeLimits::for_window(Some(65_536)),
        ResultSizeLimits { per_result: 39_321, per_batch: 78_643 }
    );
    assert_eq!(
        ResultSizeLimits::for_window(Some(1_000)),
        ResultSizeLimits { per_result: 8_000, per_batch: 16_000 }
    );
    assert_eq!(ResultSizeLimits::for_window(Some(u64::MAX)), ResultSizeLimits::default());
}

#[test]
fn a_tool_cannot_raise_its_limit() {
    let limits = ResultSizeLimits::default();
    assert_eq!(limits.for_tool(ResultLimit::Chars(500)), Some(500));
    assert_eq!(limits.for_tool(ResultLimit::Chars(900_000)), Some(100_000));
    assert_eq!(limits.for_tool(ResultLimit::Unbounded), None);
}

#[test]
fn characters_count_not_bytes() {
    assert!(!exceeds(&"é".repeat(10), 10));
    assert!(exceeds(&"é".repeat(11), 10));
    assert!(!exceeds("", 0));
}

#[test]
fn a_result_without_one_long_text_is_saved_as_json() {
    let dir = tempfile::tempdir().expect("directory");
    let spill = SpillStore::new(dir.path().join("new"));
    let list: Vec<Value> = (0..2_000).map(|i| json!({ "n": i })).collect();
    let content = json!({ "list": list }).to_string();
    let spilled = spill.spill("id", &content, LIMIT);
    let saved = read(&spilled);
    assert_eq!(serde_json::from_str::<Value>(&saved).expect("JSON"), json!({ "list": list }));
    assert!(saved.lines().count() > 2_000, "in lines, so that it can be paged");
    let kept = parse(&spilled);
    assert!(kept["head"].as_str().expect("head").starts_with("{\"list\""));
    assert!(kept["tail"].as_str().expect("tail").ends_with('}'));
}

#[test]
fn short_fields_stay_fields() {
    let dir = tempfile::tempdir().expect("directory");
    let list: Vec<Value> = (0..2_000).map(|i| json!({ "n": i })).collect();
    let content = json!({
        "exit_code": 3, "failures": list, "status": "failed", "counts": { "passed": 7 },
        "error": null, "note": "x".repeat(400), "head": 1,
    });
    let spilled = SpillStore::new(dir.path()).spill("id", &content.to_string(), LIMIT);
    let kept = parse(&spilled);
    assert_eq!((&kept["exit_code"], &kept["status"]), (&json!(3), &json!("failed")));
    assert_eq!(kept["counts"]["passed"], 7);
    assert!(kept["error"].is_null() && kept.get("error").is_some());
    assert!(kept.get("note").is_none() && kept.get("failures").is_none());
    assert!(kept["head"].as_str().expect("ours").starts_with("{\"exit_code\""));
    assert!(!exceeds(&spilled.content, LIMIT));
}

#[test]
fn many_short_fields_do_not_break_the_limit() {
    let dir = tempfile::tempdir().expect("directory");
    let fields: Map<String, Value> =
        (0..5_000).map(|n| (format!("field{n}"), json!("some text"))).collect();
    let content = Value::Object(fields).to_string();
    let spilled = SpillStore::new(dir.path()).spill("id", &content, LIMIT);
    assert!(!exceeds(&spilled.content, LIMIT), "{}", spilled.content.len());
    assert!(parse(&spilled)["head"].is_string());
}

#[test]
fn one_long_text_is_saved_as_it_is() {
    let dir = tempfile::tempdir().expect("directory");
    let text = "line\n".repeat(10_000);
    let content = json!({ "a/b": [{ "text": text }], "code": 3 }).to_string();
    let spilled = SpillStore::new(dir.path()).spill("id", &content, LIMIT);
    assert_eq!(read(&spilled), text);
    let kept = parse(&spilled);
    assert_eq!((&kept["code"], &kept["truncated"]), (&json!(3), &json!(true)));
    assert_eq!(kept["spilled"]["field"], "a~1b/0/text");
    assert_eq!(kept["spilled"]["chars"], 50_000);
    assert!(kept["a/b"][0]["text"].as_str().expect("text").contains("characters left out"));
}

#[test]
fn a_second_large_text_does_not_break_the_limit() {
    let dir = tempfile::tempdir().expect("directory");
    let whole = json!({ "stdout": "o".repeat(700_000), "stderr": "e".repeat(290_000) });
    let spilled = SpillStore::new(dir.path()).spill("id", &whole.to_string(), 100_000);
    assert!(!exceeds(&spilled.content, 100_000), "{}", spilled.content.len());
    assert_eq!(serde_json::from_str::<Value>(&read(&spilled)).expect("JSON"), whole);
    assert_eq!(names(dir.path()).len(), 1, "the first attempt leaves nothing");
    let kept = parse(&spilled);
    assert!(kept["head"].as_str().expect("head").starts_with("{\"stdout\":\"ooo"));
    assert!(kept["tail"].as_str().expect("tail").ends_with("eee\"}"));
}

#[test]
fn a_key_or_an_escape_does_not_break_the_limit() {
    let dir = tempfile::tempdir().expect("directory");
    let spill = SpillStore::new(dir.path());
    let key = json!({ "k".repeat(9_000): "t".repeat(90_000) }).to_string();
    let bells = json!({ "text": "\u{7}".repeat(90_000) }).to_string();
    let quotes = json!(vec!["\""; 30_000]).to_string();
    for content in [key, bells, quotes] {
        let spilled = spill.spill("id", &content, LIMIT);
        assert!(!exceeds(&spilled.content, LIMIT), "{}", spilled.content.len());
        assert!(spilled.path.is_some());
    }
    let small = spill.spill("id", &json!({ "text": "x".repeat(90_000) }).to_string(), 1_500);
    assert!(!exceeds(&small.content, 1_500), "{}", small.content.len());
}

#[test]
fn what_cannot_be_parsed_is_saved_as_it_is() {
    let dir = tempfile::tempdir().expect("directory");
    let spill = SpillStore::new(dir.path());
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for content in [deep, "no JSON ".repeat(5_000)] {
        let spilled = spill.spill("id", &content, LIMIT);
        assert_eq!(read(&spilled), content);
        let kept = parse(&spilled);
        assert_eq!(kept["head"], json!(head(&content, MAX_EXCERPT_CHARS)));
        assert_eq!(kept["tail"], json!(tail(&content, MAX_EXCERPT_CHARS)));
    }
}

#[test]
fn indentation_does_not_multiply_a_result() {
    let nested = format!("{}{}{}", "[".repeat(100), "0,".repeat(5_000) + "0", "]".repeat(100));
    let value: Value = serde_json::from_str(&nested).expect("JSON");
    let lines = to_paged_json(&value, nested.len()).expect("printed");
    assert!(lines.len() < nested.len() * 8 && lines.lines().count() > 5_000);
    assert_eq!(to_paged_json(&json!({ "a": 1 }), 7).expect("printed"), "{\n  \"a\": 1\n}");
}

#[test]
fn files_have_safe_and_different_names() {
    let dir = tempfile::tempdir().expect("directory");
    let spill = SpillStore::new(dir.path());
    let text = json!({ "t": "x".repeat(9_000) }).to_string();
    let mut seen = std::collections::HashSet::new();
    for id in ["call_7", "call_7", "../../etc/passwd", "", "ü", "a/b", &"long".repeat(200)] {
        let path = spill.spill(id, &text, LIMIT).path.expect("saved");
        assert_eq!(path.parent(), Some(dir.path()), "{id}");
        let name = path.file_name().expect("name").to_str().expect("ASCII").to_owned();
        assert!(name.starts_with(FILE_PREFIX) && name.len() < 150, "{name}");
        assert_eq!(name.contains("-call_7-"), id == "call_7", "{name}");
        assert!(seen.insert(name), "{id}");
    }
}

#[test]
fn only_we_can_read_what_is_saved() {
    let dir = tempfile::tempdir().expect("directory");
    let below = dir.path().join("a/b");
    let path = SpillStore::new(&below).save("id", "txt", "x").expect("saved");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&below), mode(&path)), (0o700, 0o600));
}

#[test]
fn a_folder_that_others_control_is_not_used() {
    let outer = tempfile::tempdir().expect("directory");
    let (real, link) = (outer.path().join("real"), outer.path().join("link"));
    fs::create_dir(&real).expect("made");
    symlink(&real, &link).expect("linked");
    let slash = PathBuf::from(format!("{}/", link.display()));
    for dir in [&link, &slash] {
        let error = SpillStore::new(dir).save("id", "txt", "x").expect_err("a link");
        assert!(error.to_string().contains("a symlink or a file"), "{error}");
    }
    for mode in [0o770, 0o707, 0o777, 0o1777] {
        fs::set_permissions(&real, fs::Permissions::from_mode(mode)).expect("opened");
        let error = SpillStore::new(&real).save("id", "txt", "x").expect_err("open to others");
        assert!(error.to_string().contains("written by other users"), "{error}");
    }
    let content = json!({ "t": "x".repeat(9_000) }).to_string();
    let spilled = SpillStore::new(&real).spill("id", &content, LIMIT);
    assert!(spilled.path.is_none());
    assert!(spilled.content.contains("could not be saved"), "{}", spilled.content);
    assert!(names(&real).is_empty());
    fs::set_permissions(&real, fs::Permissions::from_mode(0o755)).expect("closed");
    assert!(SpillStore::new(&real).save("id", "txt", "x").is_ok());
}

#[test]
fn a_folder_of_another_user_is_not_used() {
    let dir = tempfile::tempdir().expect("directory");
    // Only root can change the owner of a directory; for others there is nothing
    // to test, since they cannot write into one that is not theirs.
    if std::os::unix::fs::chown(dir.path(), Some(12_345), None).is_err() {
        return;
    }
    let error = SpillStore::new(dir.path()).save("id", "txt", "x").expect_err("not ours");
    assert!(error.to_string().contains("another user"), "{error}");
    assert!(names(dir.path()).is_empty(), "nothing is left behind");
}

#[test]
fn the_ends_are_cut_at_lines() {
    let text: String = (0..500).map(|i| format!("line {i}\n")).collect();
    assert!(head(&text, 100).ends_with(|c: char| c.is_ascii_digit()));
    assert!(tail(&text, 100).starts_with("line "));
    assert_eq!(head("short", 100), "short");
    assert_eq!(tail("short", 100), "short");
    assert_eq!(tail("日本語", 2), "本語");
}

#[test]
fn only_old_files_of_our_own_are_swept() {
    let dir = tempfile::tempdir().expect("directory");
    let named = |name: &str| dir.path().join(name);
    let (old, new) = (named("hermes-result-old"), named("hermes-result-new"));
    let (foreign, subfolder) = (named("thesis.txt"), named("hermes-result-folder"));
    let link = named("hermes-result-link");
    for path in [&old, &new, &foreign] {
        fs::write(path, "x").expect("written");
    }
    fs::create_dir(&subfolder).expect("made");
    symlink(&foreign, &link).expect("linked");
    let long_ago = SystemTime::now() - 2 * SPILL_LIFETIME;
    for path in [&old, &foreign, &subfolder] {
        fs::File::open(path).and_then(|f| f.set_modified(long_ago)).expect("aged");
    }
    SpillStore::new(dir.path()).sweep();
    assert!(!old.exists());
    assert!(new.exists() && foreign.exists() && subfolder.exists());
    assert!(link.symlink_metadata().is_ok());
}

#[test]
fn sweeps_are_an_hour_apart() {
    let spill = SpillStore::new("unused");
    let start = Instant::now();
    assert!(spill.is_sweep_due(start));
    assert!(!spill.is_sweep_due(start));
    assert!(!spill.is_sweep_due(start + SWEEP_INTERVAL / 2));
    assert!(spill.is_sweep_due(start + SWEEP_INTERVAL));
    assert!(!spill.is_sweep_due(start + SWEEP_INTERVAL * 3 / 2));
}

#[test]
fn saving_sweeps() {
    let dir = tempfile::tempdir().expect("directory");
    let old = dir.path().join("hermes-result-old");
    fs::write(&old, "x").expect("written");
    let long_ago = SystemTime::now() - 2 * SPILL_LIFETIME;
    fs::File::open(&old).and_then(|f| f.set_modified(long_ago)).expect("aged");
    let saved = SpillStore::new(dir.path()).save("id", "txt", "x").expect("saved");
    assert!(!old.exists() && saved.exists());
}
