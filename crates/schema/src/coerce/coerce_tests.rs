#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

/// Coerces `value` as the required property `x` of this schema.
fn coerce_one(schema: &Value, value: &Value) -> CoercedArguments {
    let schema = Schema::new(json!({
        "type": "object", "properties": {"x": schema}, "required": ["x"],
        "definitions": {
            "count": {"type": "integer"},
            "tree": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer"},
                    "children": {"type": "array", "items": {"$ref": "#/definitions/tree"}},
                },
                "required": ["size"],
            },
        },
    }));
    let mut coerced = coerce_arguments(&schema, json!({"x": value}), &[]);
    coerced.value = coerced.value["x"].take();
    coerced
}

fn assert_becomes(schema: &Value, from: &Value, to: &Value, rules: &[&str]) {
    let coerced = coerce_one(schema, from);
    assert_eq!(&coerced.value, to, "{schema} {from}");
    let applied: Vec<&str> = coerced.changes.iter().map(|change| change.rule).collect();
    assert_eq!(applied, rules, "{schema} {from}");
    assert!(coerced.is_valid, "{schema} {from}");
}

fn assert_stays(schema: &Value, value: &Value) {
    let coerced = coerce_one(schema, value);
    assert_eq!(&coerced.value, value, "{schema}");
    assert!(coerced.changes.is_empty(), "{schema} {value}: {:?}", coerced.changes);
}

#[test]
fn nested_scalars_references_and_unions() {
    let table = [
        (json!({"$ref": "#/definitions/count"}), json!("5"), json!(5), vec!["number"]),
        (
            json!({"type": "object", "properties": {"n": {"type": "number"}}}),
            json!({"n": "2.5", "other": "7"}),
            json!({"n": 2.5, "other": "7"}),
            vec!["number"],
        ),
        (
            json!({"$ref": "#/definitions/tree"}),
            json!({"size": "1", "children": [{"size": 2}, {"size": "3", "children": "[{\"size\": \"4\"}]"}]}),
            json!({"size": 1, "children": [{"size": 2}, {"size": 3, "children": [{"size": 4}]}]}),
            vec!["number", "number", "parse", "number"],
        ),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            json!("Null"),
            json!(null),
            vec!["null"],
        ),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "number"}]}),
            json!("5"),
            json!(5),
            vec!["number"],
        ),
        (
            json!({"allOf": [{"type": "integer"}, {"minimum": 3}]}),
            json!("5"),
            json!(5),
            vec!["number"],
        ),
        (json!({"type": ["integer", "null"]}), json!(" null "), json!(null), vec!["null"]),
        (json!({"type": "integer", "nullable": true}), json!("null"), json!(null), vec!["null"]),
        (
            json!({"anyOf": [{"$ref": "#/definitions/tree"}, {"type": "null"}]}),
            json!({"size": "9"}),
            json!({"size": 9}),
            vec!["number"],
        ),
        (
            json!({"oneOf": [
                {"type": "object", "properties": {"op": {"const": "add"}, "n": {"type": "integer"}}, "required": ["op", "n"]},
                {"type": "object", "properties": {"op": {"const": "del"}, "id": {"type": "integer"}}, "required": ["op", "id"]},
            ]}),
            json!({"op": "del", "id": "3"}),
            json!({"op": "del", "id": 3}),
            vec!["number"],
        ),
        (
            json!({"type": "array", "items": [{"type": "integer"}, {"type": "boolean"}]}),
            json!(["1", "true", "x"]),
            json!([1, true, "x"]),
            vec!["number", "boolean"],
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            json!({"a": "1", "b": 2}),
            json!({"a": 1, "b": 2}),
            vec!["number"],
        ),
    ];
    for (schema, from, to, rules) in table {
        assert_becomes(&schema, &from, &to, &rules);
    }
}

#[test]
fn numbers_keep_every_digit() {
    let integer = json!({"type": "integer"});
    assert_becomes(
        &integer,
        &json!("9007199254740993"),
        &json!(9_007_199_254_740_993_i64),
        &["number"],
    );
    assert_becomes(&integer, &json!("18446744073709551615"), &json!(u64::MAX), &["number"]);
    assert_stays(&integer, &json!("18446744073709551616"));
    assert_becomes(&integer, &json!(3.0), &json!(3), &["integral"]);
    assert_stays(&json!({"type": "number"}), &json!(3.0));
    assert_stays(&json!({"type": ["integer", "number"]}), &json!(3.0));
    assert_stays(&integer, &json!(3.5));
}

#[test]
fn integral_floats_are_respelled_in_valid_arguments_too() {
    let schema = Schema::new(json!({
        "type": "object",
        "properties": {
            "n": {"type": "integer"}, "f": {"type": "number"},
            "list": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}},
        },
    }));
    let coerced = coerce_arguments(
        &schema,
        json!({"n": 2.0, "f": 2.0, "list": [1.0, "1.0"], "free": 4.0}),
        &[],
    );
    assert_eq!(coerced.value, json!({"n": 2, "f": 2.0, "list": [1, "1.0"], "free": 4.0}));
    assert!(coerced.value["n"].is_u64() || coerced.value["n"].is_i64());
    assert_eq!(coerced.changes.len(), 2);
    assert!(coerced.is_valid);
}

#[test]
fn strings_lists_and_single_values() {
    let table = [
        (json!({"type": "string"}), json!(42), json!("42"), vec!["text"]),
        (json!({"type": "string"}), json!(true), json!("true"), vec!["text"]),
        (json!({"type": "string"}), json!(["a"]), json!("a"), vec!["unwrap"]),
        (json!({"type": "integer"}), json!(["5"]), json!(5), vec!["unwrap", "number"]),
        (json!({"type": "array"}), json!("['a', 'b']"), json!(["a", "b"]), vec!["parse"]),
        (json!({"type": "array"}), json!("[True, None,]"), json!([true, null]), vec!["parse"]),
        (json!({"type": "object"}), json!("{'a': 1}"), json!({"a": 1}), vec!["parse"]),
        (json!({"type": "array"}), json!("a, b"), json!(["a, b"]), vec!["wrap"]),
        (json!({"type": "array"}), json!("[a-z]*.rs"), json!(["[a-z]*.rs"]), vec!["wrap"]),
        (json!({"type": "array"}), json!("[1] see below"), json!(["[1] see below"]), vec!["wrap"]),
        (
            json!({"type": "array", "items": {"type": "integer"}}),
            json!("5"),
            json!([5]),
            vec!["wrap", "number"],
        ),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            json!([1, "b"]),
            json!(["1", "b"]),
            vec!["text"],
        ),
        (
            json!({"type": "array", "items": {"type": "object"}}),
            json!("{\"id\": 1}"),
            json!([{"id": 1}]),
            vec!["wrap", "parse"],
        ),
    ];
    for (schema, from, to, rules) in table {
        assert_becomes(&schema, &from, &to, &rules);
    }
    for (schema, value) in [
        (json!({"type": "string"}), json!(["a", "b"])),
        (json!({"type": "string"}), json!({"a": 1})),
        (json!({"type": "object"}), json!([{"a": 1}])),
        (json!({"type": "array"}), json!("[1, 2")),
        (json!({"type": "array", "items": {"type": "integer"}}), json!("x")),
        (json!({"type": "boolean"}), json!(1)),
        (json!({"type": "integer"}), json!(true)),
    ] {
        assert_stays(&schema, &value);
    }
}

#[test]
fn listed_values_match_in_any_spelling_if_only_one_does() {
    let modes = json!({"enum": ["read-only", "read_write", "Auto"]});
    assert_becomes(&modes, &json!("READ-ONLY"), &json!("read-only"), &["choice"]);
    assert_becomes(&modes, &json!(" auto\n"), &json!("Auto"), &["choice"]);
    assert_becomes(&modes, &json!("Read Write"), &json!("read_write"), &["choice"]);
    assert_becomes(&modes, &json!(["auto"]), &json!("Auto"), &["unwrap", "choice"]);
    assert_stays(&modes, &json!("readwrites"));
    assert_stays(&modes, &json!("-"));
    assert_stays(&json!({"enum": ["c++", "rust"]}), &json!("C"));
    let languages = json!({"enum": ["python", "javascript"]});
    assert_becomes(&languages, &json!("py"), &json!("python"), &["choice"]);
    assert_becomes(&languages, &json!("JS"), &json!("javascript"), &["choice"]);
    assert_stays(&languages, &json!("sh"));
    assert_becomes(
        &json!({"enum": ["node", "javascript"]}),
        &json!("Node"),
        &json!("node"),
        &["choice"],
    );
    assert_stays(&json!({"enum": ["a", "A"]}), &json!(" a"));
    assert_stays(&json!({"enum": ["a-b", "a_b"]}), &json!("A B"));
    assert_becomes(&json!({"const": "on"}), &json!("On"), &json!("on"), &["choice"]);
    assert_becomes(&json!({"enum": [1, 2]}), &json!("2"), &json!(2), &["number"]);
    assert_becomes(
        &json!({"oneOf": [{"const": "fast", "type": "string"}, {"const": "slow", "type": "string"}]}),
        &json!("FAST"),
        &json!("fast"),
        &["choice"],
    );
}

#[test]
fn two_readings_are_none() {
    for (schema, value) in [
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}),
            json!("5"),
        ),
        (json!({"type": ["string", "array"]}), json!(5)),
        (
            json!({"anyOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false},
                {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}, "required": ["a"]},
            ]}),
            json!({"a": "5"}),
        ),
    ] {
        assert_stays(&schema, &value);
    }
}

#[test]
fn a_valid_value_is_left_alone_inside_an_invalid_one() {
    let schema = Schema::new(json!({
        "type": "object",
        "properties": {"a": {"type": ["string", "integer"]}, "b": {"type": "integer"}, "c": {"type": "integer"}},
    }));
    let coerced = coerce_arguments(&schema, json!({"a": "5", "b": "6", "c": "x", "d": "7"}), &[]);
    assert_eq!(coerced.value, json!({"a": "5", "b": 6, "c": "x", "d": "7"}));
    assert!(!coerced.is_valid);
    assert_eq!(
        serde_json::to_value(&coerced.changes).unwrap(),
        json!([{"path": "/b", "from": "6", "to": 6, "rule": "number"}])
    );
}

#[test]
fn null_for_an_optional_property_is_no_property() {
    let schema = Schema::new(json!({
        "type": "object",
        "properties": {
            "a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": ["integer", "null"]},
            "in": {"type": "object", "properties": {"x": {"type": "string"}}},
        },
        "required": ["a"],
    }));
    let coerced = coerce_arguments(
        &schema,
        json!({"a": 1, "b": null, "c": null, "in": {"x": null}, "z": null}),
        &[],
    );
    assert_eq!(coerced.value, json!({"a": 1, "c": null, "in": {}, "z": null}));
    assert_eq!(
        serde_json::to_value(&coerced.changes[0]).unwrap(),
        json!({"path": "/b", "from": null, "rule": "omit-null"})
    );
    let kept = coerce_arguments(&schema, json!({"a": null}), &[]);
    assert_eq!(kept.value, json!({"a": null}));
}

#[test]
fn other_spellings_of_a_key() {
    let schema = |extra: Value| {
        let mut schema = json!({
            "type": "object",
            "properties": {"file_path": {"type": "string"}, "max-count": {"type": "integer"}},
            "required": ["file_path"],
        });
        schema.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        Schema::new(schema)
    };
    let open = schema(json!({}));
    let closed = schema(json!({"additionalProperties": false}));
    for schema in [&open, &closed] {
        let coerced = coerce_arguments(schema, json!({"filePath": "a", "MAX_COUNT": "3"}), &[]);
        assert_eq!(coerced.value, json!({"file_path": "a", "max-count": 3}));
        assert!(coerced.is_valid);
        assert_eq!(
            serde_json::to_value(&coerced.changes[0]).unwrap(),
            json!({"path": "/file_path", "from": "filePath", "to": "file_path", "rule": "key"})
        );
    }
    // Present already, two keys for one property, or unsuitable value.
    for args in [
        json!({"file_path": "a", "filePath": "b"}),
        json!({"filePath": "a", "FilePath": "b"}),
        json!({"file_path": 1, "maxCount": "many"}),
    ] {
        let coerced = coerce_arguments(&open, args.clone(), &[]);
        assert_eq!(
            coerced.value.as_object().unwrap().keys().collect::<Vec<_>>(),
            args.as_object().unwrap().keys().collect::<Vec<_>>()
        );
    }
    let map = schema(json!({"additionalProperties": {"type": "string"}}));
    let coerced = coerce_arguments(&map, json!({"file_path": 1, "maxCount": "many"}), &[]);
    assert_eq!(coerced.value, json!({"file_path": "1", "maxCount": "many"}));
}

#[test]
fn aliases_are_renamed_first() {
    let schema = Schema::new(json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}, "q": {"type": "string"}},
    }));
    let aliases =
        [("file_path", "path"), ("filename", "path"), ("max_results", "limit"), ("q", "path")];
    let coerced = coerce_arguments(
        &schema,
        json!({"q": "x", "max_results": "3", "file_path": "a", "filename": "b"}),
        &aliases,
    );
    assert_eq!(coerced.value, json!({"q": "x", "limit": 3, "path": "a", "filename": "b"}));
    assert_eq!(coerced.value.as_object().unwrap().keys().next().unwrap(), "q");
    let rules: Vec<_> = coerced.changes.iter().map(|change| change.rule).collect();
    assert_eq!(rules, ["alias", "alias", "number"]);

    let valid = coerce_arguments(&schema, json!({"path": "a", "file_path": "b"}), &aliases);
    assert_eq!(valid.value, json!({"path": "a", "file_path": "b"}));
}

#[test]
fn odd_names_identifiers_and_drafts() {
    let schema = Schema::new(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.invalid/tool.json",
        "type": "object",
        "properties": {
            "a b/%~ü": {"type": "integer"},
            "ref": {"$ref": "#/$defs/n", "maximum": 10},
            "pair": {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}},
        },
        "$defs": {"n": {"type": "integer"}},
    }));
    let coerced =
        coerce_arguments(&schema, json!({"a b/%~ü": "1", "ref": "2", "pair": ["3", "true"]}), &[]);
    assert_eq!(coerced.value, json!({"a b/%~ü": 1, "ref": 2, "pair": [3, true]}));
    assert_eq!(coerced.changes[0].path, "/a b~1%~0ü");
    let too_large = coerce_arguments(&schema, json!({"ref": "20"}), &[]);
    assert_eq!(too_large.value, json!({"ref": "20"}));
}

#[test]
fn a_schema_is_shared_between_threads() {
    let schema = Schema::new(json!({"type": "object", "properties": {"n": {"type": "integer"}}}));
    std::thread::scope(|scope| {
        for number in 0..4 {
            let schema = &schema;
            scope.spawn(move || {
                let coerced = coerce_arguments(schema, json!({"n": number.to_string()}), &[]);
                assert_eq!(coerced.value, json!({"n": number}));
            });
        }
    });
}

#[test]
fn defaults_are_not_filled_in() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer", "default": 3}}, "required": ["a"]});
    assert_stays(&schema, &json!({}));
}

#[test]
fn broken_schemas_and_deep_values_change_nothing() {
    let broken = Schema::new(json!({"type": "objekt"}));
    let coerced = coerce_arguments(&broken, json!({"a": "1"}), &[("a", "b")]);
    assert_eq!(coerced.value, json!({"a": "1"}));
    assert!(!coerced.is_valid);

    let mut deep = json!("5");
    for _ in 0..1_000 {
        deep = json!([deep]);
    }
    let schema = Schema::new(json!({"type": "array", "items": {"$ref": "#"}}));
    let coerced = coerce_arguments(&schema, deep.clone(), &[]);
    assert_eq!(coerced.value, deep);
    assert!(!coerced.is_valid);
}

#[test]
fn one_bad_element_among_a_million() {
    let schema = Schema::new(json!({"type": "array", "items": {"type": "integer"}}));
    let mut items: Vec<Value> = vec![json!(1); 1_000_000];
    items[700_000] = json!("2");
    let coerced = coerce_arguments(&schema, Value::Array(items), &[]);
    assert!(coerced.is_valid);
    assert_eq!(coerced.changes.len(), 1);
    assert_eq!(coerced.changes[0].path, "/700000");
}

#[test]
fn a_hundred_changes_are_listed_and_the_rest_counted() {
    let schema = Schema::new(json!({"type": "array", "items": {"type": "integer"}}));
    let coerced = coerce_arguments(&schema, Value::Array(vec![json!("1"); 250]), &[]);
    assert!(coerced.is_valid);
    assert_eq!((coerced.changes.len(), coerced.unlisted_changes), (100, 150));
}

#[test]
fn recursive_unions_end() {
    let schema = Schema::new(json!({
        "$ref": "#/definitions/node",
        "definitions": {"node": {
            "properties": {"a": {"$ref": "#/definitions/node"}},
            "anyOf": [
                {"type": "object", "properties": {"a": {"$ref": "#/definitions/node"}, "n": {"type": "integer"}}, "required": ["x"]},
                {"type": "object", "properties": {"a": {"$ref": "#/definitions/node"}, "n": {"type": "boolean"}}, "required": ["y"]},
            ],
        }},
    }));
    let mut value = json!({"n": "z"});
    for _ in 0..60 {
        value = json!({"a": value, "n": 2.0});
    }
    let coerced = coerce_arguments(&schema, value.clone(), &[]);
    assert!(!coerced.is_valid);
    assert_eq!(coerced.value["a"]["a"]["n"], json!(2.0));
}

#[test]
fn floats_in_parsed_text_become_integers_at_once() {
    let schema = Schema::new(json!({"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": ["integer", "null"]}},
    }}));
    let coerced = coerce_arguments(&schema, json!({"list": "[1.0]"}), &[]);
    assert_eq!(coerced.value.to_string(), json!({"list": [1]}).to_string());
}

#[test]
fn a_schema_of_many_keywords_coerces_like_one_of_few() {
    let few = json!({"type": ["integer", "null"]});
    let mut many = few.clone();
    for n in 0..12 {
        many[format!("x-{n}")] = json!(n);
    }
    for value in [json!("3"), json!("null"), json!("x"), json!([4]), json!(2.0)] {
        assert_eq!(coerce_one(&few, &value), coerce_one(&many, &value), "{value}");
    }
    let kept = json!({"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 1}]});
    assert_becomes(&kept, &json!("7"), &json!(7), &["number"]);
}

#[test]
fn wrapped_arguments_are_unwrapped() {
    let schema = Schema::new(json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "stdin": {"type": "string"}},
        "additionalProperties": false,
    }));
    let open = Schema::new(json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "num_results": {"type": "integer"}},
    }));
    let aliases = [("file_path", "path"), ("input", "stdin")];
    for schema in [&schema, &open] {
        for wrapped in [
            json!({"arguments": {"path": "x"}}),
            json!([{"path": "x"}]),
            json!([{"args": {"path": "x"}}]),
            json!({"args": {"file_path": "x"}}),
            json!({"parameters": {"filePath": "x"}}),
            json!({"input": {"path": "x"}}),
            json!({"arguments": "{\"path\":\"x\"}"}),
        ] {
            let coerced = coerce_arguments(schema, wrapped.clone(), &aliases);
            assert_eq!(coerced.value, json!({"path": "x"}), "{wrapped}");
            assert!(coerced.is_valid, "{wrapped}");
            assert_eq!(coerced.changes[0].rule, "unwrap", "{wrapped}");
        }
    }
}

#[test]
fn what_may_be_an_argument_is_not_unwrapped() {
    let declared = json!({"properties": {"args": {"type": "object"}, "path": {}}});
    let free = json!({});
    let any_key = json!({"properties": {"path": {}}, "additionalProperties": true});
    let open = json!({"properties": {"path": {"type": "string"}}});
    let list = json!({"type": ["object", "array"], "properties": {"path": {}}});
    for (schema, args) in [
        (&declared, json!({"args": {"path": "x"}})),
        (&free, json!({"args": {"path": "x"}})),
        (&any_key, json!({"args": {"path": "x"}})),
        (&open, json!({"args": {"path": "x", "other": 1}})),
        (&open, json!({"args": {"path": "x"}, "path": "y"})),
        (&open, json!({"args": "path"})),
        (&list, json!([{"path": "x"}])),
        (&open, json!([{"path": "x"}, {"path": "y"}])),
    ] {
        let mut schema = schema.clone();
        if schema.get("type").is_none() {
            schema["type"] = json!("object");
        }
        let coerced = coerce_arguments(&Schema::new(schema), args.clone(), &[]);
        assert_eq!(coerced.value, args);
    }
    let closed = Schema::new(json!({
        "type": "object",
        "properties": {"stdin": {"type": "string"}},
        "additionalProperties": false,
    }));
    let coerced =
        coerce_arguments(&closed, json!({"input": "{\"stdin\":\"x\"}"}), &[("input", "stdin")]);
    assert_eq!(coerced.value, json!({"stdin": "{\"stdin\":\"x\"}"}), "an alias that fits stays");
}

#[test]
fn keys_in_another_spelling_are_renamed_even_if_the_schema_is_open() {
    let open = Schema::new(json!({
        "type": "object",
        "properties": {"query": {"type": "string"}, "num_results": {"type": "integer"}},
        "required": ["query"],
    }));
    let coerce = |args: Value| coerce_arguments(&open, args, &[]).value;
    for key in ["numResults", "num-results", "NumResults"] {
        assert_eq!(
            coerce(json!({"query": "x", key: 3})),
            json!({"query": "x", "num_results": 3}),
            "{key}"
        );
    }
    assert_eq!(
        coerce(json!({"query": "x", "numResults": "3"})),
        json!({"query": "x", "num_results": 3})
    );
    for kept in [
        json!({"query": "x", "numResults": "many"}),
        json!({"query": "x", "numResults": 3, "num_results": 4}),
        json!({"query": "x", "numResults": 3, "num-results": 4}),
        json!({"query": "x", "results": 3}),
    ] {
        assert_eq!(coerce(kept.clone()), kept);
    }
}

#[test]
fn aliases_are_known_in_every_spelling() {
    let schema = Schema::new(json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
        "additionalProperties": false,
    }));
    let aliases = [("file_path", "path"), ("max_lines", "limit")];
    for (key, count) in
        [("filePath", "maxLines"), ("file-path", "MAX_LINES"), ("FilePath", "max-lines")]
    {
        let coerced = coerce_arguments(&schema, json!({key: "x", count: 2}), &aliases);
        assert_eq!(coerced.value, json!({"path": "x", "limit": 2}), "{key}");
        assert!(coerced.changes.iter().all(|change| change.rule == "alias"), "{key}");
    }
    let both = coerce_arguments(&schema, json!({"file_path": "x", "filePath": "y"}), &aliases);
    assert_eq!(both.value, json!({"path": "x", "filePath": "y"}), "the exact alias is taken");
}
