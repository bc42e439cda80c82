#![allow(clippy::unwrap_used)]

use serde_json::{Map, json};

use super::*;

fn tool() -> Schema {
    Schema::new(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path of the file to read."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 2000},
            "mode": {"enum": ["fast", "slow", "careful"]},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
            "range": {"anyOf": [
                {"type": "object", "properties": {"from": {"type": "integer"}}, "required": ["from"]},
                {"type": "null"},
            ]},
            "either": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
        },
        "required": ["path"],
        "additionalProperties": false,
    }))
}

fn report(schema: &Schema, args: &Value) -> String {
    let violations = schema.check(args).unwrap_err();
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn violations_tell_what_to_do() {
    let schema = tool();
    insta::assert_snapshot!(report(&schema, &json!({"pth": "a.txt", "limt": 3})), @r#"
    $.pth: unknown property `pth`; did you mean `path`?
    $.limt: unknown property `limt`; did you mean `limit`?
    $.path: required property `path` is missing (string: Path of the file to read.); `pth` was given, use `path` instead
    "#);
    insta::assert_snapshot!(report(&schema, &json!({"path": 5, "limit": 0, "mode": "slwo"})), @r#"
    $.path: expected string, received integer 5
    $.limit: expected a number of at least 1, received integer 0
    $.mode: expected one of "fast", "slow", "careful", received string "slwo"; did you mean "slow"?
    "#);
    insta::assert_snapshot!(report(&schema, &json!({"path": "a", "tags": ["x", 1, "y", "z"]})), @r#"
    $.tags: expected an array of at most 3 items, received array ["x",1,"y","z"]
    $.tags[1]: expected string, received integer 1
    "#);
    insta::assert_snapshot!(report(&schema, &json!({"path": "a", "range": {"from": "x"}})), @r#"$.range.from: expected integer, received string "x""#);
    insta::assert_snapshot!(report(&schema, &json!({"path": "a", "range": {}, "either": "x"})), @r#"
    $.range.from: required property `from` is missing (integer)
    $.either: expected integer or array of integer, received string "x"
    "#);
    insta::assert_snapshot!(report(&schema, &json!([1])), @r#"$: expected object, received array [1]"#);
}

#[test]
fn fields_serve_programs() {
    let violations = tool().check(&json!({"path": "a", "tags": ["x", 1]})).unwrap_err();
    assert_eq!(
        serde_json::to_value(&violations[0]).unwrap(),
        json!({
            "path": "/tags/1", "expected": "string", "received": "integer 1",
            "message": "expected string, received integer 1",
        })
    );
    assert_eq!(violations[0].location(), "$.tags[1]");
    let missing = tool().check(&json!({})).unwrap_err();
    assert_eq!((missing[0].path.as_str(), missing[0].received.as_str()), ("/path", "nothing"));
}

#[test]
fn reports_stay_short() {
    let schema = Schema::new(json!({"type": "array", "items": {"type": "integer"}}));
    let many = json!(vec!["x".repeat(1_000); 500]);
    let violations = schema.check(&many).unwrap_err();
    assert_eq!(violations.len(), MAX_VIOLATIONS);
    assert!(violations.iter().all(|violation| violation.to_string().chars().count() < 300));

    let huge = Value::Array(vec![json!("x"); 100_000]);
    assert_eq!(schema.check(&huge).unwrap_err().len(), 1);
}

#[test]
fn every_keyword_is_explained_in_words() {
    let table = [
        (json!({"const": 5}), json!(6), "exactly 5"),
        (json!({"exclusiveMinimum": 5}), json!(5), "greater than 5"),
        (json!({"exclusiveMaximum": 5}), json!(5), "less than 5"),
        (json!({"multipleOf": 5}), json!(6), "multiple of 5"),
        (json!({"minLength": 3}), json!("ab"), "at least 3 characters"),
        (json!({"maxLength": 1}), json!("ab"), "at most 1 characters"),
        (json!({"pattern": "^a+$"}), json!("b"), "`^a+$`"),
        (json!({"minItems": 2}), json!([1]), "at least 2 items"),
        (json!({"uniqueItems": true}), json!([1, 1]), "without repeated"),
        (json!({"minProperties": 1}), json!({}), "at least 1 properties"),
        (json!({"maxProperties": 0}), json!({"a": 1}), "at most 0 properties"),
        (json!({"not": {"type": "string"}}), json!("a"), "anything but string"),
        (json!({"oneOf": [{"type": "integer"}, {"minimum": 1}]}), json!(5), "exactly one"),
        (json!({"propertyNames": {"maxLength": 1}}), json!({"ab": 1}), "property names"),
        (json!({"contains": {"type": "integer"}}), json!(["a"]), "certain item"),
        (json!({"items": [{}], "additionalItems": false}), json!([1, 2]), "at most 1 items"),
        (json!({"properties": {"a": false}}), json!({"a": 1}), "nothing here"),
        (json!({"type": ["integer", "boolean"]}), json!("a"), "integer or boolean"),
        (json!({"dependencies": {"a": ["b"]}}), json!({"a": 1}), "`b`"),
        (
            json!({"$ref": "#/definitions/n", "definitions": {"n": {"type": "integer"}}}),
            json!("a"),
            "integer",
        ),
    ];
    for (schema, value, words) in table {
        let text = report(&Schema::new(schema.clone()), &value);
        assert!(text.contains(words), "{schema}: {text}");
    }
}

#[test]
fn rubbish_is_an_error_not_a_panic() {
    for rubbish in [
        json!("string"),
        json!([1]),
        json!(null),
        json!({"type": "objekt"}),
        json!({"type": 5}),
        json!({"properties": []}),
        json!({"required": true}),
        json!({"pattern": "("}),
        json!({"minimum": "a"}),
        json!({"$ref": "#/definitions/none"}),
        json!({"$ref": 5}),
        json!({"$id": "::::"}),
        json!({"enum": 3}),
    ] {
        let schema = Schema::new(rubbish.clone());
        assert!(schema.compile().is_err(), "{rubbish}");
        let violations = schema.check(&json!({})).unwrap_err();
        assert!(violations[0].message.contains("definition is broken"), "{}", violations[0]);
        assert!(!schema.is_valid(&json!({})));
        assert_eq!(schema.corrected_example(&json!({"a": 1})), json!({"a": 1}));
    }
}

#[test]
fn nothing_is_fetched() {
    for reference in [
        "http://127.0.0.1:9/x.json",
        "https://example.invalid/x",
        "file:///etc/passwd",
        "other.json",
    ] {
        let schema = Schema::new(json!({"properties": {"a": {"$ref": reference}}}));
        let error = schema.compile().unwrap_err().to_string();
        assert!(error.contains("not usable"), "{error}");
    }
}

#[test]
fn drafts_follow_the_schema_keyword() {
    let valid = |schema: Value, value: Value| {
        let schema = Schema::new(schema);
        schema.compile().unwrap();
        schema.is_valid(&value)
    };
    let prefix = json!({"prefixItems": [{"type": "integer"}]});
    assert!(valid(prefix.clone(), json!(["a"])));
    let mut newer = prefix;
    newer["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    assert!(!valid(newer, json!(["a"])));
    let unknown = json!({"$schema": "https://example.invalid/own", "type": "integer"});
    assert!(valid(unknown.clone(), json!(1)) && !valid(unknown, json!("a")));
    assert!(valid(json!({"format": "ipv4"}), json!("not an address")));
    let draft4 = json!({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 3, "exclusiveMinimum": true});
    assert!(!valid(draft4, json!(3)));
}

#[test]
fn openapi_nullable_admits_null() {
    for schema in [
        json!({"type": "string", "nullable": true}),
        json!({"enum": ["a"], "nullable": true}),
        json!({"type": ["string", "integer"], "nullable": true}),
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}], "nullable": true}),
    ] {
        let schema =
            Schema::new(json!({"properties": {"a": schema, "nullable": {"type": "string"}}}));
        assert!(schema.is_valid(&json!({"a": null})), "{:?}", schema.raw());
        assert!(schema.is_valid(&json!({"a": "a"})));
        assert!(!schema.is_valid(&json!({"nullable": null})));
    }
    let reference = Schema::new(json!({
        "properties": {"a": {"$ref": "#/definitions/s", "nullable": true}},
        "definitions": {"s": {"type": "string"}},
    }));
    assert!(reference.is_valid(&json!({"a": null})) && !reference.is_valid(&json!({"a": 1})));
}

#[test]
fn depth_is_limited_on_both_sides() {
    let wrap = |schema: Value| {
        let named = Map::from_iter([("a".to_owned(), schema)]);
        Value::Object(Map::from_iter([("properties".to_owned(), Value::Object(named))]))
    };
    let deep = (0..1_000).fold(json!({}), |schema, _| wrap(schema));
    assert_eq!(Schema::new(deep).compile(), Err(&SchemaError::TooDeep));

    let value = (0..2_000).fold(json!(1), |value, _| Value::Array(vec![value]));
    let any = Schema::new(json!({"items": {"$ref": "#"}}));
    assert!(any.check(&value).unwrap_err()[0].message.contains("128 levels"));
    assert!(!any.is_valid(&value));

    let edge = (0..MAX_DEPTH / 2 - 1).fold(json!({"type": "integer"}), |schema, _| wrap(schema));
    assert_eq!(Schema::new(edge).compile(), Ok(()));
}

#[test]
fn examples_keep_what_is_right_and_fix_the_rest() {
    let schema = tool();
    let example = |args: Value| {
        let example = schema.corrected_example(&args);
        assert!(schema.is_valid(&example), "{example}");
        example
    };
    assert_eq!(example(json!({"path": "a.txt", "limit": 5})), json!({"path": "a.txt", "limit": 5}));
    assert_eq!(example(json!({"path": "a.txt", "limit": 0})), json!({"path": "a.txt", "limit": 1}));
    assert_eq!(example(json!({"pth": "a.txt"})), json!({"path": "a.txt"}));
    assert_eq!(example(json!({"path": "a", "mode": "slwo"})), json!({"path": "a", "mode": "slow"}));
    assert_eq!(example(json!({"path": "a", "tags": ["x", 1, "y", "z"]}))["tags"][0], json!("x"));
    assert_eq!(example(json!([])), json!({"path": "example"}));
    let long = example(json!({"path": "x".repeat(10_000), "limit": "many"}));
    assert!(long["path"].as_str().unwrap().len() < 300);
}

#[test]
fn examples_satisfy_all_kinds_of_schemas() {
    for schema in [
        json!({"type": "string", "pattern": "^[a-z]{2,}-\\d+$"}),
        json!({"type": "string", "pattern": "^x+$", "minLength": 7}),
        json!({"type": "string", "minLength": 40, "maxLength": 41}),
        json!({"type": "string", "format": "date"}),
        json!({"type": "integer", "minimum": 100, "multipleOf": 7}),
        json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
        json!({"type": "integer", "maximum": -5}),
        json!({"type": "array", "items": {"type": "integer"}, "minItems": 4, "uniqueItems": true}),
        json!({"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 3, "uniqueItems": true}),
        json!({"type": "array", "contains": {"const": 7}}),
        json!({"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "minItems": 2}),
        json!({"type": "object", "minProperties": 2}),
        json!({"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}}),
        json!({"allOf": [{"type": "integer", "minimum": 5}, {"maximum": 6}]}),
        json!({"allOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
        ]}),
        json!({"oneOf": [
            {"type": "object", "properties": {"op": {"const": "a"}, "x": {"type": "integer"}}, "required": ["op", "x"]},
            {"type": "object", "properties": {"op": {"const": "b"}}, "required": ["op"]},
        ]}),
        json!({"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        json!({"type": "object", "properties": {"t": {"$ref": "#/definitions/t"}}, "required": ["t"],
            "definitions": {"t": {"type": "object", "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/definitions/t"}}}, "required": ["v", "kids"]}}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"], "dependencies": {"a": ["b"]}}),
        json!({"const": {"a": [1, 2]}}),
        json!({"enum": [null, 3]}),
        json!({"default": "x", "type": "string", "maxLength": 1}),
        json!({"examples": [42], "type": "integer"}),
        json!({"not": {"type": "string"}}),
        json!({"type": ["integer", "null"]}),
        json!(true),
    ] {
        let compiled = Schema::new(schema.clone());
        for args in [
            json!({}),
            json!(null),
            json!([1, "a"]),
            json!({"a": 1, "zz": {"b": null}}),
            json!("text"),
        ] {
            let example = compiled.corrected_example(&args);
            assert!(compiled.is_valid(&example), "{schema} with {args}: {example}");
        }
    }
}

#[test]
fn unsatisfiable_schemas_end() {
    for schema in [
        json!(false),
        json!({"$ref": "#"}),
        json!({"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}, "required": ["a", "b"]}),
        json!({"type": "array", "minItems": 1_000_000_000_u64}),
        json!({"type": "string", "minLength": 1_000_000_000_u64}),
        json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
    ] {
        let _ = Schema::new(schema).corrected_example(&json!({"a": {}}));
    }
}

#[test]
fn nested_unions_are_refused_without_going_through_every_reading() {
    let schema = Schema::new(json!({
        "type": "object",
        "properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}},
        "additionalProperties": false,
    }));
    let deep = (0..60).fold(json!({"z": 1}), |inner, _| json!({"a": inner}));
    let violations = schema.check(&deep).unwrap_err();
    assert_eq!(violations.len(), 1);
    assert!(violations[0].expected.contains("alternatives"), "{violations:?}");
    assert!(schema.corrected_example(&deep).is_object());
    let shallow = json!({"a": {"z": 1}});
    assert!(schema.check(&shallow).unwrap_err()[0].message != violations[0].message);
}

#[test]
fn an_object_that_lacks_each_of_several_is_told_which() {
    let schema = Schema::new(json!({
        "type": "object",
        "properties": {"a": {}, "b": {}, "c": {}},
        "anyOf": [{"required": ["a"]}, {"required": ["b", "c"]}],
    }));
    let violations = schema.check(&json!({})).unwrap_err();
    assert_eq!(violations[0].expected, "an object with `a`, or with `b` and `c`");
}

#[test]
fn only_near_properties_are_suggested_and_shown() {
    let schema = Schema::new(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "encoding": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1},
        },
        "required": ["path"],
        "additionalProperties": false,
    }));
    let far = json!({"path": "a", "end_line": 5});
    let said = report(&schema, &far);
    assert!(said.ends_with("known properties: path, encoding, limit"), "{said}");
    assert_eq!(schema.corrected_example(&far), json!({"path": "a"}));
    // Near, but the value is not one of it.
    let unfit = json!({"path": "a", "limits": {"from": 1}});
    assert!(report(&schema, &unfit).ends_with("did you mean `limit`?"));
    assert_eq!(schema.corrected_example(&unfit), json!({"path": "a"}));
    let near = json!({"filepath": "a", "limt": 3});
    assert!(report(&schema, &near).contains("did you mean `path`?"));
    assert_eq!(schema.corrected_example(&near), json!({"path": "a", "limit": 3}));
}
