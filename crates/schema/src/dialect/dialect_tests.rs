#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::Schema;

fn losses(translated: &TranslatedSchema) -> Vec<String> {
    translated.losses.iter().map(ToString::to_string).collect()
}

/// Translates, and holds the result to what every dialect owes.
fn to(dialect: SchemaDialect, schema: &Value) -> TranslatedSchema {
    let translated = translate(schema, dialect);
    assert_eq!(translate(schema, dialect), translated, "not deterministic");
    assert_eq!(translated.schema["type"], "object", "{dialect}");
    assert!(translated.schema["properties"].is_object(), "{dialect}");
    assert_eq!(
        Schema::new(translated.schema.clone()).compile(),
        Ok(()),
        "{dialect}: {}",
        translated.schema
    );
    translated
}

fn property(dialect: SchemaDialect, schema: &Value) -> (Value, Vec<String>) {
    let whole = json!({"type": "object", "properties": {"x": schema}, "required": ["x"]});
    let translated = to(dialect, &whole);
    (translated.schema["properties"]["x"].clone(), losses(&translated))
}

fn assert_lossless(dialect: SchemaDialect, from: Value, expected: Value) {
    let (found, losses) = property(dialect, &from);
    assert_eq!(found, expected, "{dialect}");
    assert!(losses.is_empty(), "{dialect} {from}: {losses:?}");
}

fn assert_lossy(dialect: SchemaDialect, from: Value, expected: Value, loss: &str) {
    let (found, losses) = property(dialect, &from);
    assert_eq!(found, expected, "{dialect}");
    assert!(losses.iter().any(|text| text.contains(loss)), "{dialect} {from}: {losses:?}");
}

#[test]
fn names_round_trip() {
    for dialect in SchemaDialect::ALL {
        assert_eq!(dialect.to_string().parse(), Ok(dialect));
        assert_eq!(serde_json::to_value(dialect).unwrap(), json!(dialect.name()));
    }
    let error = "gpt".parse::<SchemaDialect>().unwrap_err();
    assert!(error.to_string().contains("openai-strict"));
}

#[test]
fn whatever_comes_an_object_schema_leaves() {
    for schema in [
        json!(null),
        json!(true),
        json!(false),
        json!("string"),
        json!([1]),
        json!({}),
        json!({"type": "string"}),
        json!({"type": ["object", "null"]}),
        json!({"type": []}),
        json!({"$ref": "#"}),
        json!({"$ref": "#/nowhere"}),
        json!({"properties": {"a": "string", "b": "object", "c": "rubbish", "d": 5, "e": true, "f": false}}),
        json!({"type": "object", "required": ["ghost"], "properties": null}),
        json!({"allOf": [{"$ref": "#"}], "anyOf": [], "oneOf": [true]}),
        json!({"type": "object", "properties": {"t": {"$ref": "#"}, "u": {"allOf": [{"$ref": "#"}, {"$ref": "#/properties/u"}]}}}),
    ] {
        for dialect in SchemaDialect::ALL {
            to(dialect, &schema);
        }
    }
    let deep = (0..500)
        .fold(json!({}), |schema, _| Value::Object(Map::from_iter([("items".to_owned(), schema)])));
    assert!(losses(&to(SchemaDialect::OpenAi, &deep))[0].contains("128 levels"));
}

#[test]
fn openai_collapses_null_and_type_lists() {
    use SchemaDialect::OpenAi;
    assert_lossless(
        OpenAi,
        json!({"type": ["string", "null"]}),
        json!({"type": "string", "nullable": true}),
    );
    assert_lossless(OpenAi, json!({"type": ["null"]}), json!({"type": "null"}));
    assert_lossless(OpenAi, json!({"type": []}), json!({"type": "object", "properties": {}}));
    assert_lossless(
        OpenAi,
        json!({"type": ["string", "array", "null"], "minLength": 2, "items": {"type": "integer"}, "description": "d"}),
        json!({
            "description": "d",
            "anyOf": [{"type": "string", "minLength": 2}, {"type": "array", "items": {"type": "integer"}}],
            "nullable": true,
        }),
    );
    assert_lossless(
        OpenAi,
        json!({"anyOf": [{"type": "integer", "description": "inner"}, {"type": "null"}], "description": "outer", "default": 3}),
        json!({"type": "integer", "description": "outer", "default": 3, "nullable": true}),
    );
    assert_lossless(OpenAi, json!({"type": "object"}), json!({"type": "object", "properties": {}}));
    assert_lossless(OpenAi, json!({"type": "array"}), json!({"type": "array", "items": {}}));
    assert_lossless(
        OpenAi,
        json!({"type": "object", "properties": {"a": {}}, "required": ["a", "ghost"]}),
        json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}),
    );
    let translated = to(
        OpenAi,
        &json!({
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A", "default": {"x": 1}, "description": "kept"}},
            "$defs": {"A": {"type": ["object", "null"]}},
        }),
    );
    assert_eq!(
        translated.schema["properties"]["a"],
        json!({"$ref": "#/$defs/A", "description": "kept"})
    );
    assert_eq!(
        translated.schema["$defs"]["A"],
        json!({"type": "object", "nullable": true, "properties": {}})
    );
}

#[test]
fn openai_keeps_null_beside_what_nullable_does_not_reach() {
    let nothing = json!({"type": "null"});
    for other in [
        json!({"allOf": [{"type": "integer"}], "description": "one"}),
        json!({"oneOf": [{"type": "integer", "nullable": true}, {"type": "string"}]}),
        json!({"not": {"type": "null"}}),
        json!({"if": {"type": "null"}, "then": {"type": "string"}}),
        json!({"const": "a"}),
    ] {
        let union = json!({"anyOf": [other, nothing], "description": "maybe"});
        assert_lossless(SchemaDialect::OpenAi, union.clone(), union.clone());
        assert!(Schema::new(union).is_valid(&json!(null)), "{other}");
    }
    for beside in [
        json!({"type": "string", "anyOf": [{"minLength": 2}, nothing]}),
        json!({"minLength": 2, "anyOf": [{"type": "string", "minLength": 1}, nothing]}),
    ] {
        assert_lossless(SchemaDialect::OpenAi, beside.clone(), beside);
    }
    assert_lossless(
        SchemaDialect::OpenAi,
        json!({"type": ["string", "null"], "enum": ["a"]}),
        json!({"type": "string", "enum": ["a"]}),
    );
    assert_lossless(
        SchemaDialect::OpenAi,
        json!({"type": ["string", "null"], "enum": ["a", null]}),
        json!({"type": "string", "enum": ["a"], "nullable": true}),
    );
}

#[test]
fn data_and_property_names_are_never_taken_for_schemas() {
    let schema = json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "properties": {"type": "object", "properties": {"default": {"type": "string"}}, "required": ["default"]},
            "default": {"type": "object", "properties": {"k": {"type": "string"}}, "default": {"type": ["string", "null"], "anyOf": [{"type": "null"}, {}]}},
            "$ref": {"type": "string", "enum": ["type", "null"]},
            "required": {"type": "boolean"},
        },
        "required": ["pattern", "properties", "default", "$ref", "required"],
        "additionalProperties": false,
    });
    for dialect in [SchemaDialect::Draft07, SchemaDialect::OpenAi, SchemaDialect::Anthropic] {
        let translated = to(dialect, &schema);
        if dialect != SchemaDialect::Anthropic {
            assert_eq!(translated.schema, schema, "{dialect}");
            assert!(translated.losses.is_empty());
        }
        assert_eq!(
            translated.schema["properties"]["default"]["default"],
            schema["properties"]["default"]["default"]
        );
    }
    for dialect in [SchemaDialect::OpenAiStrict, SchemaDialect::Gemini] {
        let translated = to(dialect, &schema);
        let names: Vec<&String> =
            translated.schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["pattern", "properties", "default", "$ref", "required"], "{dialect}");
    }
}

#[test]
fn combinations_at_the_top_keep_their_properties() {
    let schema = json!({
        "oneOf": [
            {"type": "object", "properties": {"op": {"const": "add"}, "n": {"type": "integer"}}, "required": ["op", "n"]},
            {"$ref": "#/$defs/Del"},
        ],
        "$defs": {"Del": {"type": "object", "properties": {"op": {"const": "del"}, "n": {"type": "string"}}, "required": ["op"]}},
    });
    for dialect in [SchemaDialect::OpenAi, SchemaDialect::Anthropic] {
        let translated = to(dialect, &schema);
        assert_eq!(
            translated.schema["properties"]["op"],
            json!({"enum": ["add", "del"]}),
            "{dialect}"
        );
        assert_eq!(
            translated.schema["properties"]["n"],
            json!({"anyOf": [{"type": "integer"}, {"type": "string"}]})
        );
        assert_eq!(translated.schema["required"], json!(["op"]));
        assert!(translated.schema.get("oneOf").is_none());
        assert!(losses(&translated)[0].contains("go together"), "{dialect}");
    }
    let all = json!({"allOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"a": {"minLength": 2}, "b": {}}, "required": ["b"]},
    ]});
    let translated = to(SchemaDialect::OpenAi, &all);
    assert_eq!(translated.schema["properties"]["a"], json!({"type": "string", "minLength": 2}));
    assert_eq!(translated.schema["required"], json!(["a", "b"]));
    assert!(translated.losses.is_empty());
}

#[test]
fn strict_closes_objects_and_requires_everything() {
    let translated = to(
        SchemaDialect::OpenAiStrict,
        &json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "pattern": "^/"},
                "limit": {"type": "integer", "minimum": 1, "default": 10},
                "mode": {"type": "string", "enum": ["a", "b"]},
                "kind": {"const": "x"},
                "span": {"type": "object", "properties": {"from": {"type": "integer"}}},
                "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
                "tree": {"$ref": "#/definitions/Tree"},
                "noted": {"$ref": "#/definitions/Tree", "description": "a tree"},
            },
            "required": ["path", "noted"],
            "definitions": {
                "Tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/definitions/Tree"}}}},
                "Unused": {"type": "string"},
            },
        }),
    );
    let tree = json!({
        "type": "object",
        "properties": {"kids": {"type": ["array", "null"], "items": {"$ref": "#/$defs/Tree"}}},
        "required": ["kids"],
        "additionalProperties": false,
    });
    let mut noted = tree.clone();
    noted["description"] = json!("a tree");
    assert_eq!(
        translated.schema,
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "pattern": "^/"},
                "limit": {"type": ["integer", "null"], "minimum": 1},
                "mode": {"type": ["string", "null"], "enum": ["a", "b", null]},
                "kind": {"enum": ["x", null]},
                "span": {
                    "type": ["object", "null"],
                    "properties": {"from": {"type": ["integer", "null"]}},
                    "required": ["from"],
                    "additionalProperties": false,
                },
                "either": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
                "tree": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]},
                "noted": noted,
            },
            "required": ["path", "limit", "mode", "kind", "span", "either", "tree", "noted"],
            "additionalProperties": false,
            "$defs": {"Tree": tree},
        })
    );
    insta::assert_snapshot!(losses(&translated).join("\n"), @r"
    $.properties.path: `minLength` dropped
    $.properties.limit: `default` dropped
    $.properties.either: `oneOf` widened to `anyOf`
    ");
}

#[test]
fn strict_reports_what_it_cannot_say() {
    use SchemaDialect::OpenAiStrict as Strict;
    let scalar = json!({"type": ["string", "number", "boolean", "null"]});
    assert_lossy(Strict, json!({}), scalar.clone(), "narrowed to scalars");
    assert_lossy(
        Strict,
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false}),
        "any name",
    );
    assert_lossy(
        Strict,
        json!({"type": "array"}),
        json!({"type": "array", "items": scalar}),
        "narrowed",
    );
    assert_lossy(
        Strict,
        json!({"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}),
        json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}),
        "by position",
    );
    assert_lossy(
        Strict,
        json!({"type": "string", "format": "uri"}),
        json!({"type": "string"}),
        "`uri`",
    );
    assert_lossy(
        Strict,
        json!({"type": "string", "not": {"const": "x"}}),
        json!({"type": "string"}),
        "`not`",
    );
    assert_lossless(
        Strict,
        json!({"type": "string", "format": "date"}),
        json!({"type": "string", "format": "date"}),
    );
    assert_lossless(
        Strict,
        json!({"type": "integer", "nullable": true}),
        json!({"type": ["integer", "null"]}),
    );
    assert_lossless(
        Strict,
        json!({"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 3, "type": "number"}]}),
        json!({"type": "integer", "minimum": 3}),
    );
}

#[test]
fn anthropic_names_are_well_formed_and_can_be_undone() {
    let long = "n".repeat(70);
    let schema = json!({
        "type": "object",
        "properties": {"user id": {"type": "integer"}, "user_id": {"type": "string"}, "ok.a-b": {}, long.as_str(): {}, "": {}},
        "required": ["user id", "user_id"],
    });
    let translated = to(SchemaDialect::Anthropic, &schema);
    let names: Vec<&str> =
        translated.schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["user_id_2", "user_id", "ok.a-b", &long[..64], "_"]);
    assert_eq!(translated.schema["required"], json!(["user_id_2", "user_id"]));

    let aliases: Vec<(&str, &str)> =
        translated.renamed.iter().map(|(new, old)| (new.as_str(), old.as_str())).collect();
    let coerced = crate::coerce_arguments(
        &Schema::new(schema),
        json!({"user_id_2": 1, "user_id": "x"}),
        &aliases,
    );
    assert_eq!(coerced.value, json!({"user id": 1, "user_id": "x"}));
    assert!(coerced.is_valid);
}

#[test]
fn anthropic_keeps_the_rest() {
    assert_lossless(
        SchemaDialect::Anthropic,
        json!({"oneOf": [{"type": "string", "minLength": 2}, {"type": "integer"}], "nullable": true}),
        json!({"oneOf": [{"type": "string", "minLength": 2}, {"type": "integer"}, {"type": "null"}]}),
    );
}

#[test]
fn gemini_keeps_to_its_list() {
    use SchemaDialect::Gemini;
    assert_lossless(
        Gemini,
        json!({"type": ["integer", "null"]}),
        json!({"type": "integer", "nullable": true}),
    );
    assert_lossless(Gemini, json!({"const": "a"}), json!({"type": "string", "enum": ["a"]}));
    assert_lossless(
        Gemini,
        json!({"enum": ["a", null]}),
        json!({"type": "string", "nullable": true, "enum": ["a"]}),
    );
    assert_lossless(
        Gemini,
        json!({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9}),
        json!({"type": "integer", "minimum": 1, "maximum": 8}),
    );
    assert_lossless(
        Gemini,
        json!({"type": "string", "examples": ["a", "b"]}),
        json!({"type": "string", "example": "a"}),
    );
    assert_lossless(
        Gemini,
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}], "description": "d"}),
        json!({"description": "d", "nullable": true, "anyOf": [{"type": "string"}, {"type": "integer"}]}),
    );
    assert_lossless(
        Gemini,
        json!({"type": ["string", "integer"]}),
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
    );
    assert_lossy(
        Gemini,
        json!({"type": "integer", "enum": [1, 2]}),
        json!({"type": "integer", "description": "Allowed values: 1, 2."}),
        "only strings",
    );
    assert_lossy(
        Gemini,
        json!({"type": "number", "exclusiveMinimum": 0}),
        json!({"type": "number", "minimum": 0}),
        "widened",
    );
    assert_lossy(
        Gemini,
        json!({"type": "string", "format": "uri"}),
        json!({"type": "string"}),
        "`uri`",
    );
    assert_lossy(
        Gemini,
        json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        "widened",
    );
    assert_lossy(Gemini, json!({}), json!({"type": "string"}), "narrowed");
    assert_lossy(
        Gemini,
        json!({"type": "array"}),
        json!({"type": "array", "items": {"type": "string"}}),
        "narrowed",
    );
    assert_lossy(
        Gemini,
        json!({"type": "string", "not": {"const": "a"}}),
        json!({"type": "string"}),
        "`not`",
    );
    assert_lossy(
        Gemini,
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        "`additionalProperties`",
    );
}

#[test]
fn gemini_has_no_references_left() {
    let translated = to(
        SchemaDialect::Gemini,
        &json!({
            "type": "object",
            "properties": {"t": {"$ref": "#/$defs/Tree"}, "n": {"$ref": "#/$defs/Name", "description": "own"}},
            "$defs": {
                "Tree": {"type": "object", "properties": {"name": {"$ref": "#/$defs/Name"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}},
                "Name": {"type": "string", "description": "A name."},
            },
        }),
    );
    assert_eq!(
        translated.schema,
        json!({
            "type": "object",
            "properties": {
                "t": {"type": "object", "properties": {
                    "name": {"type": "string", "description": "A name."},
                    "kids": {"type": "array", "items": {"type": "object"}},
                }},
                "n": {"type": "string", "description": "own"},
            },
        })
    );
    assert_eq!(
        losses(&translated),
        ["$.properties.t.properties.kids.items: `$ref` cut off, it leads back into itself"]
    );
}

#[test]
fn references_that_multiply_are_cut() {
    let mut definitions = Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1), "description": "d"});
        definitions.insert(
            format!("l{level}"),
            json!({"type": "object", "properties": {"a": next, "b": next}}),
        );
    }
    definitions.insert("l40".to_owned(), json!({"type": "string"}));
    let bomb = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/l0"}}, "$defs": definitions});
    for dialect in [SchemaDialect::Gemini, SchemaDialect::OpenAiStrict] {
        let translated = translate(&bomb, dialect);
        assert!(
            losses(&translated).iter().any(|loss| loss.contains("unfold into too much")),
            "{dialect}"
        );
    }
}

#[test]
fn definitions_that_only_together_are_too_deep_are_cut() {
    let mut definitions = Map::new();
    for index in 0..8 {
        let next = json!({"$ref": format!("#/$defs/d{}", index + 1), "description": "d"});
        let deep = (0..50).fold(next, |schema, _| json!({"type": "array", "items": schema}));
        definitions.insert(format!("d{index}"), deep);
    }
    definitions.insert("d8".to_owned(), json!({"type": "string"}));
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
    for dialect in SchemaDialect::ALL {
        to(dialect, &schema);
    }
    assert_eq!(crate::tidy_schema(schema.clone()), schema);
    let compiled = Schema::new(schema);
    assert_eq!(compiled.compile(), Ok(()));
    assert!(!compiled.is_valid(&json!({"x": "text"})));
    let coerced = crate::coerce_arguments(&compiled, json!({"x": "text"}), &[]);
    assert!(!coerced.is_valid);
    let _ = compiled.corrected_example(&json!({}));
}

#[test]
fn draft07_respells_newer_and_older_keywords() {
    use SchemaDialect::Draft07;
    assert_lossless(
        Draft07,
        json!({"prefixItems": [{}], "items": false}),
        json!({"additionalItems": false, "items": [{}]}),
    );
    assert_lossless(
        Draft07,
        json!({"dependentRequired": {"a": ["b"]}}),
        json!({"dependencies": {"a": ["b"]}}),
    );
    assert_lossless(
        Draft07,
        json!({"minimum": 1, "exclusiveMinimum": true}),
        json!({"exclusiveMinimum": 1}),
    );
    assert_lossless(
        Draft07,
        json!({"type": "string", "nullable": true}),
        json!({"type": ["string", "null"]}),
    );
    assert_lossy(Draft07, json!({"minContains": 2}), json!({}), "no such keyword");
    let translated = to(
        Draft07,
        &json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "properties": {"a": {"$ref": "#/$defs/A", "minLength": 2}, "b": {"$ref": "#/$defs/A", "description": "d"}},
            "$defs": {"A": {"type": "string"}},
        }),
    );
    assert_eq!(
        translated.schema,
        json!({
            "properties": {
                "a": {"minLength": 2, "allOf": [{"$ref": "#/definitions/A"}]},
                "b": {"$ref": "#/definitions/A", "description": "d"},
            },
            "definitions": {"A": {"type": "string"}},
            "type": "object",
        })
    );
}
