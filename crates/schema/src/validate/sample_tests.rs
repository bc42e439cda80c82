#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

#[test]
fn samples_match_their_pattern() {
    for pattern in [
        "^[a-z0-9-]+$",
        r"^\d{4}-\d{2}-\d{2}$",
        "^(read|write)$",
        "^(?:a|b)?c*$",
        "^[^a-z]{3,5}$",
        r"^\w+@\w+\.com$",
        "^#[0-9A-Fa-f]{6}$",
        r"^/[^/]+/x\.rs$",
        "^v(?<major>[0-9]+)$",
        r"^[\w.-]+$",
    ] {
        let validator = jsonschema::draft7::new(&json!({"pattern": pattern})).unwrap();
        for extra in [0, 1, 3] {
            let text = sample_from_pattern(pattern, extra).unwrap_or_else(|| panic!("{pattern}"));
            assert!(validator.is_valid(&json!(text)), "{pattern} -> {text:?}");
        }
    }
}

#[test]
fn hopeless_patterns_are_given_up() {
    let deep = format!("{}a{}", "(".repeat(1_000), ")".repeat(1_000));
    for pattern in ["(?=a)b", "a{999999999}", "(((", "[a", "[]", r"\p{L}", deep.as_str(), ")"] {
        assert_eq!(sample_from_pattern(pattern, 1), None, "{pattern}");
    }
}
