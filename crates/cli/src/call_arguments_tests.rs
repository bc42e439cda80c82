use super::*;
use serde_json::json;

fn pairs(words: &[&str]) -> Value {
    let schema = json!({ "properties": {
        "path": { "type": "string" },
        "limit": { "type": "integer" },
        "deep": { "type": "boolean" },
        "tags": { "type": "array", "items": { "type": "string" } },
        "sizes": { "type": "array", "items": { "type": "integer" } },
        "options": { "type": "object" },
    }});
    let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
    let parameters = ToolParameters { schema: &schema, aliases: vec![("max_results", "limit")] };
    read_arguments(&words, &parameters).expect("reads")
}

#[test]
fn values_are_read_by_the_schema() {
    assert_eq!(
        pairs(&["path=42", "limit=7", "deep=true", "tags=a, b", "sizes=1,2", "options={\"x\":1}"]),
        json!({ "path": "42", "limit": 7, "deep": true, "tags": ["a", "b"], "sizes": [1, 2], "options": { "x": 1 } })
    );
}

#[test]
fn a_value_may_hold_equals_signs() {
    assert_eq!(pairs(&["path=a=b=c", "limit=1"]), json!({ "path": "a=b=c", "limit": 1 }));
}

#[test]
fn literal_json_is_taken_as_it_is() {
    assert_eq!(pairs(&["path:=[1,\"=\"]", "limit=1"]), json!({ "path": [1, "="], "limit": 1 }));
}

#[test]
fn a_repeated_key_makes_a_list() {
    assert_eq!(pairs(&["tags=a", "tags=b", "limit=1"]), json!({ "tags": ["a", "b"], "limit": 1 }));
}

#[test]
fn a_list_of_one_stays_a_list() {
    assert_eq!(pairs(&["tags=a"]), json!({ "tags": ["a"] }));
}

#[test]
fn what_is_no_pair_is_refused() {
    let words = ["path=x".to_owned(), "oops".to_owned()];
    let error = read_arguments(&words, &unknown()).expect_err("refused");
    assert!(error.message.contains("'oops'"), "{}", error.message);
}

fn unknown() -> ToolParameters<'static> {
    ToolParameters { schema: &Value::Null, aliases: Vec::new() }
}

#[test]
fn an_alias_is_read_by_the_schema_of_its_parameter() {
    assert_eq!(pairs(&["max_results=3"]), json!({ "max_results": 3 }));
}

#[test]
fn a_lone_word_is_told_where_it_may_belong() {
    let schema = json!({ "properties": { "path": {} }, "required": ["path"] });
    let parameters = ToolParameters { schema: &schema, aliases: Vec::new() };
    let error = read_arguments(&["notes.txt".to_owned()], &parameters).expect_err("refused");
    assert_eq!(error.hint.as_deref(), Some("Pass path=notes.txt, or one quoted JSON object."));
}

#[test]
fn an_empty_word_is_no_arguments_to_be_read_by_the_pipeline() {
    assert_eq!(read_arguments(&[" ".to_owned()], &unknown()).expect("reads"), json!(" "));
}

#[test]
fn an_example_is_one_word_of_a_shell() {
    assert_eq!(hermes::core::text::shell_quote(r#"{"a":"it's"}"#), r#"'{"a":"it'\''s"}'"#);
}
