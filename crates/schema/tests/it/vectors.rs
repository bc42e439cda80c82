//! Input and output pairs that hold for the original tool system, and where this one differs.

use hermes_schema::{Schema, coerce_arguments, parse_arguments};
use serde_json::{Value, json};

/// Coerces `value` as the required property `x`.
fn coerced(schema: &Value, value: &Value) -> Value {
    let schema =
        Schema::new(json!({"type": "object", "properties": {"x": schema}, "required": ["x"]}));
    coerce_arguments(&schema, json!({"x": value}), &[]).value["x"].clone()
}

#[test]
fn coercion() {
    let integer = json!({"type": "integer"});
    let array = json!({"type": "array"});
    let table = [
        (&integer, json!("42"), json!(42)),
        (&integer, json!("42.0"), json!(42)),
        (&integer, json!("1e3"), json!(1000)),
        (&integer, json!(" 7 "), json!(7)),
        (&integer, json!("1_000"), json!(1000)),
        (&integer, json!("4.5"), json!("4.5")),
        (&integer, json!("0x10"), json!("0x10")),
        (&json!({"type": "number"}), json!("inf"), json!("inf")),
        (&json!({"type": "boolean"}), json!("TRUE"), json!(true)),
        (&json!({"type": "boolean"}), json!("yes"), json!("yes")),
        (&json!({"type": "boolean"}), json!("1"), json!("1")),
        (&json!({"type": "string"}), json!("null"), json!("null")),
        (&json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), json!("Null"), json!(null)),
        (&array, json!("[1]"), json!([1])),
        (&array, json!("x"), json!(["x"])),
        (&array, json!(3), json!([3])),
        (&array, json!(null), json!(null)),
        (&json!({"type": "object"}), json!("{\"a\":1}"), json!({"a": 1})),
        (
            &json!({"type": "array", "items": {"type": "object"}}),
            json!(["{\"id\":1}"]),
            json!([{"id": 1}]),
        ),
    ];
    for (schema, from, to) in table {
        assert_eq!(coerced(schema, &from), to, "{schema} {from}");
    }
}

/// Where the original changes a value that is fine, loses digits, or gives up too early.
#[test]
fn coercion_done_better() {
    let table = [
        (json!({"type": ["string", "integer"]}), json!("5"), json!("5")),
        (json!({"type": "string", "nullable": true}), json!("null"), json!("null")),
        (json!({"type": "array"}), json!("['a']"), json!(["a"])),
        (json!({"type": "integer"}), json!("9007199254740993"), json!(9_007_199_254_740_993_u64)),
        (
            json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
            json!({"n": "42"}),
            json!({"n": 42}),
        ),
    ];
    for (schema, from, to) in table {
        assert_eq!(coerced(&schema, &from), to, "{schema} {from}");
    }
}

#[test]
fn repair() {
    let table = [
        (r#"{"a":1,}"#, json!({"a": 1}), false),
        ("None", json!({}), false),
        ("", json!({}), false),
        ("{\"a\":\"x\ny\"}", json!({"a": "x\ny"}), false),
        ("[1,2]", json!([1, 2]), false),
        (r#"{"a":[1,2"#, json!({"a": [1, 2]}), true),
        (r#"{"a":1,"b"#, json!({"a": 1}), true),
    ];
    for (text, value, guessed) in table {
        let parsed = parse_arguments(text).unwrap();
        assert_eq!((parsed.value, parsed.is_guess), (value, guessed), "{text}");
    }
}
