use super::*;

fn mended(property: Value) -> (Value, Vec<String>) {
    let (schema, dropped) = drop_unusable(json!({"type": "object", "properties": {"a": property}}));
    assert!(Schema::new(schema.clone()).compile().is_ok(), "{schema}");
    (schema["properties"]["a"].clone(), dropped)
}

#[test]
fn what_cannot_be_used_is_taken_out_and_the_rest_stays() {
    for pattern in ["^[\\w-\\.]+$", "[^]", "(?<n", "["] {
        let (property, dropped) =
            mended(json!({"type": "string", "pattern": pattern, "maxLength": 3}));
        // Whatever can be used of it is kept.
        if !dropped.is_empty() {
            assert_eq!(property, json!({"type": "string", "maxLength": 3}), "{pattern}");
            assert_eq!(dropped, ["/properties/a/pattern"]);
        }
    }
    assert_eq!(mended(json!({"pattern": "["})).1, ["/properties/a/pattern"]);
    assert_eq!(mended(json!({"type": "strng"})), (json!({}), vec!["/properties/a/type".into()]));
    let (property, dropped) = mended(json!({"$ref": "#/$defs/none", "description": "d"}));
    assert_eq!(property, json!({"description": "d"}));
    assert_eq!(dropped, ["/properties/a/$ref"]);
    let (property, _) = mended(json!({"type": "string", "nullable": true, "pattern": "["}));
    assert!(!property.to_string().contains("pattern"), "{property}");
}

#[test]
fn what_can_be_used_stays_as_it_is() {
    let schema =
        json!({"type": "object", "properties": {"a": {"pattern": "^a$", "nullable": true}}});
    assert_eq!(drop_unusable(schema.clone()), (schema, Vec::new()));
    assert_eq!(drop_unusable(json!(7)), (json!({"type": "object"}), vec![String::new()]));
}
