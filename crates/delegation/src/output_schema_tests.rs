use hermes_core::ErrorKind;
use serde_json::json;

use super::*;

fn schema(value: &Value) -> Result<OutputSchema, ToolError> {
    OutputSchema::new(value.as_object().expect("an object"))
}

#[test]
fn an_answer_is_json_with_or_without_a_fence() {
    let number = schema(&json!({"type": "object", "required": ["n"]})).expect("usable");
    for answer in ["{\"n\": 1}", " {\"n\":1}\n", "```json\n{\"n\": 1}\n```", "```\n{\"n\":1}```"] {
        assert_eq!(number.parse(answer), Ok(json!({"n": 1})), "{answer}");
    }
    for (answer, why) in [("Here: {\"n\": 1}", "not JSON"), ("{}", "n"), ("", "not JSON")] {
        let said = number.parse(answer).expect_err(answer);
        assert!(said.contains(why), "{answer}: {said}");
    }
}

#[test]
fn a_schema_that_cannot_be_used_is_refused_before_anyone_works() {
    let kind = |value: &Value| schema(value).expect_err("refused").kind();
    assert_eq!(kind(&json!({"type": "nonsense"})), ErrorKind::InvalidArguments);
    assert_eq!(kind(&json!({"$ref": "https://example.com/s.json"})), ErrorKind::InvalidArguments);
    assert_eq!(kind(&json!({"description": "x".repeat(MAX_SCHEMA_BYTES)})), ErrorKind::Limit);
}
