use serde::Serialize;

use super::*;

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Answer {
    Text(Text),
    Picture(Picture),
}

#[derive(Serialize, JsonSchema)]
struct Text {
    content: String,
    lines: Option<u64>,
    format: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct Picture {
    /// In points.
    width: u32,
    content: Vec<u8>,
    format: &'static str,
}

#[test]
fn kinds_of_answers_are_one_object_with_fields_that_may_be_missing() {
    let schema = answer_schema::<Answer>();
    assert_eq!(schema["type"], "object");
    assert!(schema.get("required").is_none() && schema.get("anyOf").is_none(), "{schema}");
    let fields = schema["properties"].as_object().expect("fields");
    assert_eq!(fields["lines"]["type"], json!(["integer", "null"]));
    assert_eq!(fields["format"], json!({"type": "string"}));
    assert_eq!(
        fields["width"],
        json!({"description": "In points.", "type": "integer", "minimum": 0})
    );
    let either = fields["content"]["anyOf"].as_array().expect("two kinds");
    assert_eq!((&either[0]["type"], &either[1]["type"]), (&json!("string"), &json!("array")));
}
