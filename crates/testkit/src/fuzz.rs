//! What is fuzzed, as plain functions: the fuzz targets call them, and a test
//! runs them over the corpus.

use hermes_protocol::{Dialect, Framer, parse_bytes};
use hermes_schema::{Schema, coerce, parse_arguments};
use serde_json::Value;

/// Reads any bytes as a request, in every dialect.
pub fn dialects(data: &[u8]) {
    let wanted = std::iter::once(None).chain(Dialect::ALL.into_iter().map(Some));
    for dialect in wanted {
        if let Ok(request) = parse_bytes(data, dialect) {
            assert!(request.calls.iter().all(|call| !call.id.is_empty()), "a call without an id");
        }
    }
}

/// Cuts any bytes into frames; whatever the cuts, nothing is lost or made up.
pub fn frames(data: &[u8]) {
    let mut framer = Framer::new(None);
    for line in data.split_inclusive(|b| *b == b'\n') {
        for frame in framer.push_bytes(line) {
            let _ = frame.parse(None);
        }
    }
    if let Some(frame) = framer.finish() {
        let _ = frame.parse(None);
    }
    assert!(framer.finish().is_none(), "the end comes once");
}

/// Repairs any text; what is valid JSON must come through as it is.
pub fn repair(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let repaired = parse_arguments(text);
    if let Ok(strict) = serde_json::from_str::<Value>(text) {
        let is_object = strict.is_object();
        if let Ok(parsed) = repaired {
            if is_object {
                assert_eq!(parsed.value, strict, "valid JSON was changed");
                assert!(!parsed.guessed, "valid JSON was guessed at");
            }
        } else {
            assert!(!is_object, "a valid object was refused");
        }
    }
}

/// Coerces any arguments to any schema: a schema on the first line, arguments
/// on the rest. What validates must not change.
pub fn coercion(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some((schema, arguments)) = text.split_once('\n') else { return };
    let (Ok(schema), Ok(arguments)) =
        (serde_json::from_str::<Value>(schema), serde_json::from_str::<Value>(arguments))
    else {
        return;
    };
    let schema = Schema::new(schema);
    let valid = schema.is_valid(&arguments);
    let coerced = coerce(&schema, arguments.clone(), &[]);
    if valid {
        assert!(same(&coerced.value, &arguments), "a valid value was changed");
    }
    let _ = schema.check(&coerced.value);
    let _ = schema.example(&coerced.value);
    let _ = hermes_schema::tidy(schema.raw().clone());
    for dialect in hermes_schema::Dialect::ALL {
        let _ = hermes_schema::translate(schema.raw(), dialect);
    }
}

/// Equal but for the spelling of whole numbers: `3.0` and `3`.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}
