#![allow(clippy::unwrap_used)]

use hermes_core::ToolError;
use serde_json::json;

use super::*;

fn done(content: Value) -> ToolResult {
    let error = ToolError::internal("replaced");
    let result = ToolResult::error("1", "tool", &error, EffectDisposition::Complete);
    ToolResult { content: content.to_string(), status: CallStatus::Success, ..result }
}

#[tokio::test]
async fn texts_are_texts_and_objects_are_json() {
    let text = render(done(json!("two\nlines")), true, None).await.unwrap();
    assert_eq!(text.content[0].as_text().unwrap().text, "two\nlines");
    let object = render(done(json!({"a": 1})), true, None).await.unwrap();
    assert_eq!(object.content[0].as_text().unwrap().text, r#"{"a":1}"#);
    assert_eq!(object.is_error, Some(false));
    assert_eq!(object.structured_content, None);
}

#[tokio::test]
async fn what_is_promised_is_kept_whatever_a_hook_made_of_the_answer() {
    let schema = Schema::new(json!({"type": "object", "properties": {"n": {"type": "integer"}}}));
    let cases = [
        (json!({"n": 5, "more": "x"}), json!({"n": 5, "more": "x"})),
        (json!({"n": "five"}), json!({"result": {"n": "five"}})),
        (json!("five"), json!({"result": "five"})),
    ];
    for (answer, kept) in cases {
        let shown = render(done(answer), true, Some(&schema)).await.unwrap();
        assert!(schema.is_valid(&kept));
        assert_eq!(shown.structured_content, Some(kept));
    }
    let failed = ToolResult::error("1", "x", &ToolError::invalid("no"), EffectDisposition::NotRun);
    let reported = render(failed, true, Some(&schema)).await.unwrap();
    assert_eq!((reported.is_error, reported.structured_content), (Some(true), None));
}

#[tokio::test]
async fn errors_are_for_the_model_but_unknown_tools_are_not() {
    let error = ToolError::not_found("No such file");
    let missing = ToolResult::error("1", "read_file", &error, EffectDisposition::NotRun);
    let shown = render(missing.clone(), true, None).await.unwrap();
    assert_eq!(shown.is_error, Some(true));
    assert!(shown.content[0].as_text().unwrap().text.contains("No such file"));
    let refused = render(missing, false, None).await.unwrap_err();
    assert_eq!((refused.code.0, &*refused.message), (-32602, "No such file"));
}

#[tokio::test]
async fn pictures_are_sent_and_other_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("dot.png");
    std::fs::write(&path, b"png").unwrap();
    let attach =
        |media_type: &str| Attachment { media_type: media_type.into(), path: path.clone() };
    let gone = Attachment { media_type: "image/png".into(), path: dir.path().join("gone") };
    let attachments = vec![attach("image/png"), attach("audio/wav"), attach("text/csv"), gone];
    let shown = render(ToolResult { attachments, ..done(json!("see")) }, true, None).await.unwrap();
    assert_eq!(shown.content[1].as_image().unwrap().data, "cG5n");
    assert_eq!(shown.content[2].as_audio().unwrap().mime_type, "audio/wav");
    assert!(shown.content[3].as_text().unwrap().text.contains("dot.png"));
    assert!(shown.content[4].as_text().unwrap().text.contains("was not sent"));
}
