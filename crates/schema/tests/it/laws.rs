//! What always holds.

use hermes_schema::{
    MAX_DEPTH, Schema, SchemaDialect, coerce_arguments, excerpt, parse_arguments, tidy_schema,
    translate,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::generators::{document, near_miss, rubbish, value};

/// Equal as JSON, where `3` and `3.0` are the same number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.is_f64() != b.is_f64() && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        _ => a == b,
    }
}

/// Number of violations, counting no further than the report does.
fn faults(schema: &Schema, args: &Value) -> usize {
    schema.check(args).err().map_or(0, |violations| violations.len())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn strict_json_is_taken_as_it_is(value in value()) {
        let holds_object = value.as_str().is_some_and(|text| text.trim_start().starts_with(['{', '"']));
        prop_assume!(!value.is_null() && !holds_object);
        for text in [value.to_string(), format!("{value:#}")] {
            let parsed = parse_arguments(&text).unwrap();
            prop_assert_eq!(&parsed.value, &value);
            prop_assert!(parsed.repairs.is_empty() && !parsed.is_guess);
        }
    }

    #[test]
    fn any_text_is_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_arguments(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_jumble_of_tokens_is_answered(text in "([{}\\[\\],:'\"\\\\/* \n`a-z0-9.+-]|\\\\u|//|null|True|```json|é){0,60}") {
        if let Ok(parsed) = parse_arguments(&text) {
            let again = parse_arguments(&parsed.value.to_string()).unwrap();
            let reread = again.value.is_object() && parsed.value.is_string();
            prop_assert!(reread || again.value == parsed.value || parsed.value.is_null());
        }
    }

    #[test]
    fn a_text_cut_off_anywhere_is_a_guess_or_an_error(value in value(), place in any::<prop::sample::Index>()) {
        prop_assume!(value.is_object() || value.is_array());
        let text = value.to_string();
        let mut cut = 1 + place.index(text.len() - 1);
        while !text.is_char_boundary(cut) {
            cut += 1;
        }
        prop_assume!(cut < text.len());
        if let Ok(parsed) = parse_arguments(&text[..cut]) {
            prop_assert!(parsed.is_guess, "{}", &text[..cut]);
        }
    }

    #[test]
    fn fences_quotes_and_trailing_commas_lose_nothing(value in value()) {
        let value = json!({"k": value, "last": 1});
        let text = value.to_string();
        let trailing = format!("{},}}", &text[..text.len() - 1]);
        let encoded = Value::String(text.clone()).to_string();
        for sloppy in [format!("```json\n{text}\n```"), trailing, encoded, format!("// call\n{text} ]")] {
            let parsed = parse_arguments(&sloppy).unwrap();
            prop_assert_eq!(&parsed.value, &value, "{}", sloppy);
            prop_assert!(!parsed.is_guess && !parsed.repairs.is_empty(), "{}", sloppy);
        }
    }

    #[test]
    fn valid_arguments_are_never_changed((schema, args) in near_miss(), other in value()) {
        let schema = Schema::new(schema);
        for args in [args, other] {
            if schema.is_valid(&args) {
                let coerced = coerce_arguments(&schema, args.clone(), &[]);
                prop_assert!(coerced.is_valid);
                // Only an unknown key and a wrapper are changed.
                let is_renamed = coerced.changes.iter().any(|it| matches!(it.rule, "key" | "unwrap"));
                prop_assert!(is_renamed || same(&coerced.value, &args), "{} became {}", args, coerced.value);
            }
        }
    }

    #[test]
    fn valid_parts_of_invalid_arguments_are_never_changed((schema, args) in near_miss()) {
        let compiled = Schema::new(schema.clone());
        let coerced = coerce_arguments(&compiled, args.clone(), &[]);
        let (Value::Object(before), Value::Object(after)) = (&args, &coerced.value) else { return Ok(()) };
        for (key, value) in before {
            let Some(part) = schema["properties"].get(key) else { continue };
            let mut part = part.clone();
            part["definitions"] = schema["definitions"].clone();
            if part.get("$ref").is_none() && Schema::new(part).is_valid(value) {
                prop_assert!(same(&after[key], value), "{}: {} became {}", key, value, after[key]);
            }
        }
    }

    #[test]
    fn coercion_makes_nothing_worse((schema, args) in near_miss()) {
        let schema = Schema::new(schema);
        let coerced = coerce_arguments(&schema, args.clone(), &[]);
        // A wrapper is one fault, however many are inside it.
        let is_unwrapped = coerced.changes.iter().any(|it| it.rule == "unwrap" && it.path.is_empty());
        let is_no_worse = faults(&schema, &coerced.value) <= faults(&schema, &args);
        prop_assert!(is_unwrapped || is_no_worse, "{} became {}", args, coerced.value);
        prop_assert_eq!(coerced.is_valid, schema.is_valid(&coerced.value));
        prop_assert_eq!(coerced.changes.is_empty(), coerced.value == args);
        let again = coerce_arguments(&schema, coerced.value.clone(), &[]);
        prop_assert_eq!(&again.value, &coerced.value, "a second pass found more to do");
    }

    #[test]
    fn examples_satisfy_their_schema(schema in document(), args in value()) {
        let compiled = Schema::new(schema.clone());
        prop_assert_eq!(compiled.compile(), Ok(()));
        let example = compiled.corrected_example(&args);
        prop_assert!(compiled.is_valid(&example), "{} gave {}", schema, example);
    }

    #[test]
    fn violations_name_real_places((schema, args) in near_miss()) {
        if let Err(violations) = Schema::new(schema).check(&args) {
            prop_assert!(!violations.is_empty() && violations.len() <= 5);
            for violation in violations {
                let parent = violation.path.rsplit_once('/').map_or("", |(parent, _)| parent);
                prop_assert!(args.pointer(&violation.path).is_some() || args.pointer(parent).is_some());
                prop_assert!(!violation.message.is_empty());
            }
        }
    }

    #[test]
    fn translations_are_schemas(schema in document()) {
        for dialect in SchemaDialect::ALL {
            let translated = translate(&schema, dialect);
            prop_assert_eq!(&translate(&schema, dialect), &translated);
            let compiled = Schema::new(translated.schema);
            prop_assert_eq!(compiled.compile(), Ok(()), "{}: {}", dialect, compiled.raw());
        }
    }

    #[test]
    fn rubbish_is_translated_or_dropped(schema in rubbish(), args in value()) {
        for dialect in SchemaDialect::ALL {
            let translated = translate(&schema, dialect);
            prop_assert_eq!(&translated.schema["type"], "object");
            prop_assert!(translated.schema["properties"].is_object());
            let compiled = Schema::new(translated.schema);
            prop_assert_eq!(compiled.compile(), Ok(()), "{}: {}", dialect, compiled.raw());
        }
        let tidied = tidy_schema(schema.clone());
        prop_assert_eq!(&tidy_schema(tidied.clone()), &tidied);
        let schema = Schema::new(schema);
        let _ = schema.check(&args);
        let _ = schema.corrected_example(&args);
        let _ = coerce_arguments(&schema, args, &[]);
    }

    #[test]
    fn lossless_translations_agree_with_the_original((schema, args) in near_miss()) {
        for dialect in [SchemaDialect::Draft07, SchemaDialect::OpenAi, SchemaDialect::Anthropic] {
            let translated = translate(&schema, dialect);
            if translated.losses.is_empty() {
                let (before, after) = (Schema::new(schema.clone()), Schema::new(translated.schema));
                prop_assert_eq!(before.is_valid(&args), after.is_valid(&args), "{}: {}", dialect, args);
            }
        }
    }

    #[test]
    fn lossless_translations_agree_on_null(schema in document()) {
        for dialect in [SchemaDialect::Draft07, SchemaDialect::OpenAi, SchemaDialect::Anthropic] {
            let translated = translate(&schema, dialect);
            if !translated.losses.is_empty() {
                continue;
            }
            let (before, after) = (Schema::new(schema.clone()), Schema::new(translated.schema));
            let sample = before.corrected_example(&json!({}));
            for name in schema["properties"].as_object().into_iter().flat_map(|map| map.keys()) {
                let mut args = sample.clone();
                args[name] = Value::Null;
                prop_assert_eq!(before.is_valid(&args), after.is_valid(&args), "{}: {} for {}", dialect, args, after.raw());
            }
        }
    }

    #[test]
    fn tidying_keeps_the_meaning((schema, args) in near_miss()) {
        let tidied = tidy_schema(schema.clone());
        prop_assert_eq!(&tidy_schema(tidied.clone()), &tidied);
        let (before, after) = (Schema::new(schema), Schema::new(tidied));
        if after.is_valid(&args) {
            prop_assert!(before.is_valid(&args), "tidy form {} wrongly takes {}", after.raw(), args);
        }
        // What the tidy form refuses over a null, coercion sets right.
        if before.is_valid(&args) {
            let coerced = coerce_arguments(&after, args.clone(), &[]);
            prop_assert!(coerced.is_valid || args.to_string().contains("null"), "tidy form {} refuses {}", after.raw(), args);
        }
    }

    #[test]
    fn excerpts_fit(value in value(), limit in 1_usize..60) {
        prop_assert!(excerpt::excerpt_value(&value, limit).chars().count() <= limit);
        prop_assert!(hermes_core::text::excerpt(&value.to_string(), limit).chars().count() <= limit);
    }
}

#[test]
fn deep_nesting_is_refused_everywhere() {
    let deep = (0..1_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    let schema = Schema::new(json!({"items": {"$ref": "#"}}));
    assert!(schema.check(&deep).is_err());
    assert!(!coerce_arguments(&schema, deep.clone(), &[]).is_valid);
    assert_eq!(schema.corrected_example(&deep), deep);
    for dialect in SchemaDialect::ALL {
        assert_eq!(translate(&deep, dialect).losses.len(), 1);
    }
    assert!(parse_arguments(&"{\"a\":[".repeat(10_000)).is_err());
    assert!(parse_arguments(&"[".repeat(MAX_DEPTH)).unwrap().is_guess);
}
