use serde_json::json;

use super::*;

#[test]
fn only_what_goes_without_saying_is_left_out() {
    let mut schema = Schema::try_from(json!({"properties": {
        "off": {"type": "boolean", "default": false},
        "on": {"type": "boolean", "default": true},
        "none": {"type": "array", "default": []},
        "skip": {"type": "integer", "minimum": 0, "default": 0},
        "most": {"type": "integer", "minimum": 1, "default": 50},
        "free": true,
    }}))
    .expect("an object");
    omit_empty_defaults(&mut schema);
    let expected = json!({"properties": {
        "off": {"type": "boolean"},
        "on": {"type": "boolean", "default": true},
        "none": {"type": "array"},
        "skip": {"type": "integer", "minimum": 0},
        "most": {"type": "integer", "minimum": 1, "default": 50},
        "free": true,
    }});
    assert_eq!(schema.to_value(), expected);
}
