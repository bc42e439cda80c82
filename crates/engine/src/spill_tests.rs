use super::*;

#[test]
fn limits_follow_the_window() {
    assert_eq!(Limits::for_window(None), Limits { per_result: 100_000, per_batch: 200_000 });
    assert_eq!(Limits::for_window(Some(65_536)), Limits { per_result: 39_321, per_batch: 78_643 });
    assert_eq!(Limits::for_window(Some(1_000)), Limits { per_result: 8_000, per_batch: 16_000 });
    assert_eq!(Limits::for_window(Some(u64::MAX)), Limits::default());
}

#[test]
fn a_tool_cannot_raise_its_limit() {
    let limits = Limits::default();
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
    let folder = tempfile::tempdir().expect("folder");
    let spill = Spill::new(folder.path().join("new"));
    let list: Vec<Value> = (0..2_000).map(|i| json!({ "n": i })).collect();
    let content = json!({ "list": list }).to_string();
    let spilled = spill.spill("id", &content);
    let saved = fs::read_to_string(spilled.path.expect("saved")).expect("readable");
    assert_eq!(serde_json::from_str::<Value>(&saved).expect("JSON"), json!({ "list": list }));
    assert!(saved.lines().count() > 2_000, "in lines, so that it can be paged");
    let kept: Value = serde_json::from_str(&spilled.content).expect("JSON");
    assert!(kept["head"].as_str().expect("head").starts_with("{\"list\""));
    assert!(kept["tail"].as_str().expect("tail").ends_with('}'));
}

#[test]
fn files_have_safe_and_different_names() {
    let folder = tempfile::tempdir().expect("folder");
    let spill = Spill::new(folder.path());
    let text = json!({ "t": "x".repeat(9_000) }).to_string();
    let mut seen = std::collections::HashSet::new();
    for id in ["a", "a", "../../etc/passwd", "", "ü", "a/b", &"long".repeat(200)] {
        let path = spill.spill(id, &text).path.expect("saved");
        assert_eq!(path.parent(), Some(folder.path()), "{id}");
        assert!(seen.insert(path), "{id}");
    }
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
fn old_files_are_swept() {
    let folder = tempfile::tempdir().expect("folder");
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    for path in [&old, &new] {
        fs::write(path, "x").expect("written");
    }
    let long_ago = SystemTime::now() - 2 * LIFETIME;
    fs::File::options()
        .write(true)
        .open(&old)
        .and_then(|f| f.set_modified(long_ago))
        .expect("aged");
    Spill::new(folder.path()).sweep();
    assert!(!old.exists() && new.exists());
}
