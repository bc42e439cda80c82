use super::*;

fn answer(result: Value) -> (Result<ToolOutput, ToolError>, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let media = MediaStore::new(dir.path().join("media"));
    let result: CallToolResult = serde_json::from_value(result).unwrap();
    let form = Schema::new(json!({"properties": {"n": {"type": "integer"}}}));
    let from = ResultSource {
        server: "s",
        tool: "t",
        reader: Some("mcp__s__read_resource"),
        output_schema: Some(&form),
    };
    (tool_output(&from, &result, &media), dir)
}

fn content(result: Value) -> Value {
    serde_json::from_str(answer(result).0.unwrap().content()).unwrap()
}

#[test]
fn what_is_structured_is_told_once() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let both =
        json!({"content": text("{\"b\": 2, \"a\": 1}"), "structuredContent": {"a": 1, "b": 2}});
    assert_eq!(content(both), json!({"result": {"a": 1, "b": 2}}));
    let wrapped = json!({"content": text("hi"), "structuredContent": {"result": "hi"}});
    assert_eq!(content(wrapped), json!({"result": {"result": "hi"}}));
    // As the filesystem server does, whatever the file contains.
    for words in ["hi", "{\"a\": 1}", "7"] {
        let file = json!({"content": text(words), "structuredContent": {"content": words}});
        assert_eq!(content(file), json!({"result": {"content": words}}));
    }
    // As the memory server does.
    let list =
        json!({"content": text("[{\"a\": 1}]"), "structuredContent": {"entities": [{"a": 1}]}});
    assert_eq!(content(list), json!({"result": {"entities": [{"a": 1}]}}));
    let only = json!({"content": [], "structuredContent": {"a": 1}});
    assert_eq!(content(only), json!({"result": {"a": 1}}));
    let differs = json!({"content": text("five"), "structuredContent": {"n": 5}});
    assert_eq!(content(differs), json!({"result": "five", "structuredContent": {"n": 5}}));
    let plain = json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]});
    assert_eq!(content(plain), json!({"result": "a\nb"}));
}

#[test]
fn an_answer_that_breaks_its_own_schema_is_noted() {
    let shown = content(json!({"content": [], "structuredContent": {"n": "five"}}));
    assert_eq!(shown["result"], json!({"n": "five"}));
    assert!(shown["note"].as_str().unwrap().contains("outputSchema"), "{shown}");
    assert!(content(json!({"content": [], "structuredContent": {"n": 5}})).get("note").is_none());
}

#[test]
fn an_image_is_a_file_and_not_text() {
    let pixels = STANDARD.encode(b"\x89PNG not really");
    let image = json!({"content": [{"type": "image", "data": pixels, "mimeType": "image/png"}]});
    let (output, _folder) = answer(image);
    let output = output.unwrap();
    assert!(!output.content().contains(&pixels));
    let kept = &output.attachments[0];
    assert_eq!(kept.media_type, "image/png");
    assert_eq!(kept.path.extension().unwrap(), "png");
    assert_eq!(std::fs::read(&kept.path).unwrap(), b"\x89PNG not really");
    let broken = json!({"content": [{"type": "image", "data": "%", "mimeType": "image/png"}]});
    assert!(content(broken)["result"].as_str().unwrap().contains("cannot be decoded"));
}

#[test]
fn a_picture_in_what_is_structured_is_a_file_too() {
    let pixels = STANDARD.encode(b"\x89PNG not really");
    let block = json!({"type": "image", "data": pixels, "mimeType": "image/png"});
    // As the filesystem server does: the content is repeated.
    let same = json!({"content": [block], "structuredContent": {"content": [block]}});
    let (output, _folder) = answer(same);
    let output = output.unwrap();
    let shown: Value = serde_json::from_str(output.content()).unwrap();
    assert!(shown["result"].as_str().unwrap().starts_with("[image image/png"), "{shown}");
    assert!(shown.get("structuredContent").is_none(), "{shown}");
    assert_eq!(output.attachments.len(), 1);
    let blob = json!({"uri": "x://y", "blob": STANDARD.encode("hello")});
    let others = json!({"content": [block], "structuredContent": {"all": [block, blob]}});
    let (output, _folder) = answer(others);
    let output = output.unwrap();
    let shown: Value = serde_json::from_str(output.content()).unwrap();
    let all = &shown["structuredContent"]["all"];
    assert_eq!(all[0]["data"], shown["result"], "{shown}");
    assert!(all[1]["blob"].as_str().unwrap().starts_with("[resource application"), "{shown}");
    assert!(!output.content().contains(&pixels));
    assert_eq!(output.attachments.len(), 2);
}

#[test]
fn types_of_strangers_make_harmless_names() {
    assert_eq!(extension("image/svg+xml; charset=utf-8"), "svg");
    assert_eq!(extension("text/../../etc"), "etc");
    assert_eq!(extension("a/b.c"), "bin");
    assert_eq!(extension(""), "bin");
}

#[test]
fn a_failure_is_one() {
    let failed =
        json!({"content": [{"type": "text", "text": "no such issue\u{1b}[2J"}], "isError": true});
    let error = answer(failed).0.unwrap_err();
    assert_eq!(error.message(), "The tool t of 's' failed: no such issue");
    let silent = json!({"content": [], "isError": true});
    assert!(answer(silent).0.unwrap_err().message().contains("no reason given"));
}

#[test]
fn links_tell_how_to_follow_them() {
    let link = json!({"content": [{"type": "resource_link", "uri": "x://y", "name": "n"}]});
    let text = content(link)["result"].as_str().unwrap().to_owned();
    assert!(text.contains("x://y") && text.contains("mcp__s__read_resource"), "{text}");
    // But not where links cannot be followed.
    let mut gathered = ContentCollector::default();
    let link = json!({"type": "resource_link", "uri": "x://y", "name": "n"});
    let media = MediaStore::new("/nowhere".into());
    gathered.add(&serde_json::from_value(link).unwrap(), None, &media);
    assert_eq!(gathered.texts, ["[resource x://y (n)]"]);
}
