//! What is fuzzed, as plain functions: the fuzz targets call them, and a test
//! runs them over the corpus.

use hermes_protocol::{Dialect, Frame, Framer, parse_bytes};
use hermes_schema::{Schema, coerce, parse_arguments, tidy, translate};
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

/// Cuts any bytes into frames, in order, each made of whole lines of the input.
pub fn frames(data: &[u8]) {
    let mut framer = Framer::new(None);
    let mut frames = Vec::new();
    for line in data.split_inclusive(|b| *b == b'\n') {
        frames.extend(framer.push_bytes(line));
    }
    frames.extend(std::iter::from_fn(|| framer.finish()));
    assert!(!frames.is_empty(), "a stream without an answer");
    assert!(frames.is_sorted_by_key(Frame::line), "frames out of order");
    let lines: Vec<&[u8]> = data.split(|b| *b == b'\n').map(bare).collect();
    for frame in &frames {
        let _ = frame.parse(None);
        if let Frame::Request { line, text } = frame {
            let own = lines.iter().skip(line - 1);
            let said = text.as_bytes().split(|b| *b == b'\n');
            let from_input = said.zip(own).all(|(said, line)| line.ends_with(said));
            assert!(from_input, "a frame that is not in the input");
        }
    }
}

/// A line without the carriage return of its break.
fn bare(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Repairs any text; what is valid JSON must come through as it is.
pub fn repair(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let repaired = parse_arguments(text);
    match &repaired {
        Ok(parsed) => assert!(!parsed.guessed || !parsed.repairs.is_empty(), "a silent guess"),
        Err(error) => assert!(text.is_char_boundary(error.offset), "an error outside the text"),
    }
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
/// on the rest. What validates must not change, and no change goes unreported.
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
    if coerced.changes.is_empty() {
        assert_eq!(coerced.value, arguments, "a change that is not listed");
    }
    let checked = schema.check(&coerced.value);
    assert_eq!(coerced.valid, checked.is_ok(), "two opinions on what is valid");
    assert!(!checked.is_err_and(|violations| violations.is_empty()), "refused without a reason");
    let _ = schema.example(&coerced.value);
    let tidied = tidy(schema.raw().clone());
    assert_eq!(tidy(tidied.clone()), tidied, "a tidy schema was changed");
    for dialect in hermes_schema::Dialect::ALL {
        let translated = translate(schema.raw(), dialect);
        let kind = translated.schema.get("type").and_then(Value::as_str);
        assert_eq!(kind, Some("object"), "{dialect}: no object at the top");
    }
}

/// Equal but for the spelling of whole numbers: `3.0` and `3`.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}
