#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn assert_tidy(from: Value, to: Value) {
    let tidied = tidy_schema(from);
    assert_eq!(tidied, to);
    assert_eq!(tidy_schema(tidied.clone()), tidied, "not idempotent");
}

#[test]
fn a_generated_schema_becomes_readable() {
    assert_tidy(
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "ReadArgs",
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Where."},
                "limit": {"type": ["integer", "null"], "format": "uint32", "minimum": 0, "default": null},
                "mode": {"anyOf": [{"$ref": "#/$defs/Mode"}, {"type": "null"}], "description": "How."},
                "span": {"$ref": "#/$defs/Span"},
                "title": {"type": "string", "title": "Title"},
            },
            "required": ["path", "span"],
            "$defs": {
                "Mode": {"oneOf": [
                    {"type": "string", "const": "fast", "description": "Quick."},
                    {"type": "string", "const": "slow", "description": "Thorough."},
                    {"type": "string", "enum": ["auto", "none"]},
                ]},
                "Span": {"type": "object", "properties": {"from": {"type": ["integer", "null"], "format": "int64"}}, "required": ["from"]},
                "Unused": {"type": "string"},
            },
        }),
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Where."},
                "limit": {"type": "integer", "minimum": 0},
                "mode": {
                    "description": "How.\n- fast: Quick.\n- slow: Thorough.",
                    "type": "string",
                    "enum": ["fast", "slow", "auto", "none"],
                },
                "span": {"type": "object", "properties": {"from": {"type": ["integer", "null"]}}, "required": ["from"]},
                "title": {"type": "string"},
            },
            "required": ["path", "span"],
        }),
    );
}

#[test]
fn shared_and_recursive_definitions_stay() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/Shared"}, "b": {"$ref": "#/$defs/Shared", "description": "again"},
            "tree": {"$ref": "#/$defs/Tree"}, "me": {"$ref": "#"},
        },
        "$defs": {
            "Shared": {"type": "string", "minLength": 1},
            "Tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}},
        },
    });
    assert_tidy(schema.clone(), schema);
}

#[test]
fn chains_and_odd_names_are_inlined() {
    assert_tidy(
        json!({
            "properties": {"a": {"$ref": "#/definitions/A%20b"}},
            "definitions": {"A b": {"properties": {"c": {"$ref": "#/definitions/C~1c"}}}, "C/c": {"type": "integer"}},
        }),
        json!({"properties": {"a": {"properties": {"c": {"type": "integer"}}}}}),
    );
}

#[test]
fn names_of_properties_are_not_keywords() {
    let schema = json!({
        "type": "object",
        "properties": {
            "title": {"type": "string"}, "$ref": {"type": "string"}, "format": {"type": "string"},
            "oneOf": {"type": "array"}, "default": {"type": "object", "default": {"title": "kept", "$ref": "#/x"}},
        },
        "required": ["title"],
    });
    assert_tidy(schema.clone(), schema);
}

#[test]
fn what_depends_on_the_draft_keeps_it() {
    let tuple = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "array", "prefixItems": [{"type": "integer"}],
    });
    assert_tidy(tuple.clone(), tuple);
    let beside = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": "#/$defs/a", "minLength": 3, "$defs": {"a": {"type": "string"}},
    });
    assert_tidy(beside.clone(), beside);
}

#[test]
fn references_into_the_middle_forbid_reshaping() {
    let schema = json!({
        "properties": {
            "a": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "b": {"$ref": "#/properties/a/anyOf/0"},
        },
    });
    assert_tidy(schema.clone(), schema);
}

#[test]
fn single_parts_and_constants() {
    assert_tidy(
        json!({"allOf": [{"type": "string", "description": "inner"}], "description": "outer"}),
        json!({"description": "outer\ninner", "type": "string"}),
    );
    for kept in [
        json!({"allOf": [{"minLength": 3}], "minLength": 5}),
        json!({"oneOf": [{"const": 1}, {"const": 1}]}),
        json!({"oneOf": [{"const": 1}, {"type": "string"}]}),
        json!({"oneOf": [{"const": 1, "type": "string"}]}),
        json!({"allOf": [{"$ref": "#/$defs/x"}], "minLength": 5, "$defs": {"x": {"allOf": [{"$ref": "#/$defs/x"}, {}]}}}),
    ] {
        assert_tidy(kept.clone(), kept);
    }
    assert_tidy(
        json!({"anyOf": [{"const": 1}, {"const": "a"}, {"const": 1}]}),
        json!({"enum": [1, "a"]}),
    );
}

#[test]
fn null_stays_where_it_is_the_only_choice_or_required() {
    let schema = json!({
        "properties": {
            "a": {"type": "null"}, "b": {"anyOf": [{"type": "null"}]}, "c": {"enum": [null]},
            "d": {"type": ["string", "null"], "default": null},
        },
        "required": ["d"],
    });
    assert_tidy(schema.clone(), schema);
    assert_tidy(
        json!({"properties": {
            "e": {"enum": ["x", null], "default": null},
            "f": {"type": "integer", "nullable": true},
            "g": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
        }}),
        json!({"properties": {
            "e": {"enum": ["x"]},
            "f": {"type": "integer"},
            "g": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        }}),
    );
}

#[test]
fn a_bottomless_schema_is_returned_as_it_is() {
    let mut schema = json!({"title": "x"});
    for _ in 0..500 {
        schema = json!({"items": schema});
    }
    assert_eq!(tidy_schema(schema.clone()), schema);
}

#[test]
fn somebody_elses_null_stays_where_it_is_allowed() {
    let schema = json!({
        "type": "object", "title": "T",
        "properties": {
            "e": {"enum": ["x", null]},
            "next": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]},
        },
        "$defs": {"N": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}}}},
    });
    let tidy = tidy_foreign_schema(schema.clone());
    assert!(tidy.get("title").is_none());
    assert_eq!(tidy["properties"], schema["properties"]);
    assert_eq!(tidy["$defs"], schema["$defs"]);
}
