use hermes_schema::Schema;
use proptest::prelude::*;

use super::*;

fn rewritten(mut schema: Value) -> Value {
    split_type_unions(&mut schema, MAX_SCHEMA_DEPTH);
    schema
}

#[test]
fn several_types_become_alternatives() {
    let list = json!({"type": ["array", "null"], "description": "d", "items": {"type": "string"}});
    assert_eq!(
        rewritten(list),
        json!({"description": "d", "anyOf": [
            {"type": "array", "items": {"type": "string"}}, {"type": "null"}]})
    );
    let inner = json!({"type": "object", "properties": {"type": {"type": ["string", "number"]}}});
    assert_eq!(
        rewritten(inner),
        json!({"type": "object", "properties": {"type": {"anyOf": [
            {"type": "string"}, {"type": "number"}]}}})
    );
}

#[test]
fn what_is_no_schema_is_left_alone() {
    for same in [
        json!({"type": "object", "properties": {"a": {"enum": [["string", "null"]]}}}),
        json!({"type": ["string", "null"], "anyOf": [{"minLength": 1}]}),
        json!({"default": {"type": ["x"]}}),
        json!({"type": []}),
    ] {
        assert_eq!(rewritten(same.clone()), same);
    }
}

proptest! {
    /// The new form takes what the old one took.
    #[test]
    fn it_means_the_same(
        types in proptest::sample::subsequence(JSON_TYPES.to_vec(), 1..4),
        least in 0_u8..4,
        value in prop_oneof![
            Just(json!(null)), Just(json!(true)), Just(json!(2)), Just(json!(2.5)),
            Just(json!("ab")), Just(json!("")), Just(json!([1, 2])), Just(json!([])),
            Just(json!({"a": 1})), Just(json!({})),
        ],
    ) {
        let old = json!({
            "type": types, "minLength": least, "minItems": least, "minProperties": least,
            "minimum": least,
        });
        let new = Schema::new(rewritten(old.clone()));
        prop_assert_eq!(Schema::new(old).is_valid(&value), new.is_valid(&value));
    }
}
