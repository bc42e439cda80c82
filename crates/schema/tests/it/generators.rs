//! Random JSON values, schemas, and values that nearly fit a schema.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Strings that coercion has opinions about, and others.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "",
            "5",
            "-3",
            "2.5",
            "1e3",
            " 7 ",
            "3.0",
            "9007199254740993",
            "true",
            "FALSE",
            "null",
            "None",
            "fast",
            "FAST",
            "Slow",
            "a b",
            "[1, 2]",
            "['a']",
            "{\"a\": 1}",
            "{'b': '2'}",
            "[1, 2",
            "{\"a\"",
            "x, y",
        ])
        .prop_map(str::to_owned),
        "[a-zA-Z0-9_ \\[\\]{}:,'\"-]{0,12}",
    ]
}

fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "a_b", "aB", "c", "file_path", "filePath"]).prop_map(str::to_owned)
}

/// Any JSON value of modest size.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-5_i64..50).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-50_i32..50).prop_map(|n| Value::from(f64::from(n) / 2.0)),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((name(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Something that has the words of a schema, but rarely the sense of one.
pub(crate) fn rubbish() -> impl Strategy<Value = Value> {
    let keyword = select(vec![
        "type",
        "properties",
        "required",
        "items",
        "additionalProperties",
        "anyOf",
        "allOf",
        "oneOf",
        "not",
        "enum",
        "const",
        "$ref",
        "$id",
        "$schema",
        "$defs",
        "definitions",
        "pattern",
        "minimum",
        "exclusiveMinimum",
        "minLength",
        "nullable",
        "prefixItems",
        "dependencies",
        "if",
        "then",
        "default",
        "format",
        "title",
        "a",
    ]);
    let leaf = prop_oneof![
        value(),
        select(vec![
            json!("object"),
            json!("string"),
            json!(["string", "null"]),
            json!([]),
            json!({}),
            json!("#"),
            json!("#/$defs/a"),
            json!("#/definitions/a"),
            json!("#/properties/a"),
            json!("http://example.invalid/x"),
            json!("("),
            json!(["a"]),
        ]),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            3 => vec((keyword.clone(), inner.clone()), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())),
            1 => vec(inner, 0..3).prop_map(Value::Array),
        ]
    })
}

/// A schema of the sort that tools have.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!({"type": "null"})),
        Just(json!({"type": "boolean"})),
        (any::<bool>(), -3_i64..3, 3_i64..9).prop_map(|(bounded, low, high)| {
            if bounded {
                json!({"type": "integer", "minimum": low, "maximum": high})
            } else {
                json!({"type": "integer"})
            }
        }),
        Just(json!({"type": "number", "multipleOf": 0.5})),
        Just(json!({"type": "integer", "nullable": true})),
        (0_usize..3, 3_usize..9)
            .prop_map(|(low, high)| json!({"type": "string", "minLength": low, "maxLength": high})),
        Just(json!({"type": "string", "pattern": "^[a-z]+$"})),
        Just(json!({"type": "string", "format": "uri", "default": "u"})),
        Just(json!({"enum": ["fast", "slow", "Auto"]})),
        Just(json!({"type": ["string", "null"], "enum": ["fast", "slow"]})),
        Just(json!({"const": "fast"})),
        Just(json!({"type": "integer", "enum": [1, 2, 3]})),
        Just(json!({"oneOf": [
            {"type": "string", "const": "fast", "description": "quick"}, {"type": "string", "const": "slow"},
        ]})),
        Just(json!({"type": ["integer", "null"]})),
        Just(json!({"type": ["string", "integer"], "title": "T"})),
        Just(json!({"type": "integer", "format": "int64"})),
        Just(json!({"$ref": "#/definitions/shared"})),
        Just(json!({"$ref": "#/definitions/single", "description": "own"})),
        Just(json!({"$ref": "#/definitions/tree"})),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            4 => object(inner.clone()),
            2 => (inner.clone(), 0_usize..3).prop_map(|(items, least)| json!({"type": "array", "items": items, "minItems": least})),
            1 => vec(inner.clone(), 1..3).prop_map(|branches| json!({"anyOf": branches})),
            1 => inner.clone().prop_map(|branch| json!({"anyOf": [branch, {"type": "null"}], "description": "maybe"})),
            1 => inner.clone().prop_map(|part| json!({"allOf": [part], "description": "one"})),
            1 => inner.prop_map(|items| json!({"type": "object", "additionalProperties": items})),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let member = (name(), inner, any::<bool>());
    (vec(member, 0..4), any::<bool>()).prop_map(|(members, closed)| {
        let mut properties = Map::new();
        let mut required: Vec<Value> = Vec::new();
        for (name, schema, needed) in members {
            if needed && !properties.contains_key(&name) {
                required.push(Value::from(name.as_str()));
            }
            properties.entry(name).or_insert(schema);
        }
        let mut schema = json!({"type": "object", "properties": properties, "required": required});
        if closed {
            schema["additionalProperties"] = json!(false);
        }
        schema
    })
}

/// A whole parameter schema with definitions.
pub(crate) fn document() -> impl Strategy<Value = Value> {
    object(schema()).prop_map(|mut schema| {
        schema["definitions"] = json!({
            "shared": {"type": "integer", "minimum": 0},
            "single": {"type": "string", "title": "Single", "description": "inner"},
            "tree": {
                "type": "object",
                "properties": {"size": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/definitions/tree"}}},
                "required": ["size"],
            },
        });
        schema
    })
}

/// A schema and a value that was satisfying it before chance changed a part of it.
pub(crate) fn near_miss() -> impl Strategy<Value = (Value, Value)> {
    (document(), value(), any::<prop::sample::Index>(), value()).prop_map(
        |(schema, seed, place, other)| {
            let mut args = hermes_schema::Schema::new(schema.clone()).corrected_example(&seed);
            let mut pointers = Vec::new();
            list_pointers(&args, String::new(), &mut pointers);
            let pointer = place.get(&pointers).clone();
            if let Some(slot) = args.pointer_mut(&pointer) {
                *slot = match slot {
                    // The commonest slip: the right value in quotes.
                    Value::Number(_) | Value::Bool(_) => Value::String(slot.to_string()),
                    Value::Array(_) | Value::Object(_) if !pointer.is_empty() => {
                        Value::String(slot.to_string())
                    }
                    _ => other,
                };
            }
            (schema, args)
        },
    )
}

fn list_pointers(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, child) in map {
                list_pointers(child, format!("{pointer}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                list_pointers(item, format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(pointer);
}
