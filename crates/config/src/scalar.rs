//! Resolves scalars to values.
//!
//! The home directory is shared with a program that reads YAML 1.1, while most
//! tools write YAML 1.2, so the rules lose nothing for either reader: the words
//! of 1.1 (`yes`, `off`) are booleans, and a number that the two read
//! differently or that does not fit (`0600`, 30 digits, `.inf`) stays a string.

use granit_parser::{ScalarStyle, Tag};
use serde_json::{Number, Value};

/// Returns the value of a scalar, or the type that its tag requires if the text
/// does not have that type.
pub(crate) fn resolve(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
) -> Result<Value, &'static str> {
    let Some(tag) = tag else {
        return Ok(match style {
            ScalarStyle::Plain => resolve_plain(text),
            _ => Value::String(text.to_owned()),
        });
    };
    if tag.handle() == "!" && tag.suffix().is_empty() {
        return Ok(Value::String(text.to_owned()));
    }
    let plain = resolve_plain(text);
    match tag.core_suffix() {
        Some("str") => Ok(Value::String(text.to_owned())),
        Some("null") if plain.is_null() => Ok(plain),
        Some("null") => Err("null"),
        Some("bool") if plain.is_boolean() => Ok(plain),
        Some("bool") => Err("true or false"),
        Some("int") if plain.is_i64() || plain.is_u64() => Ok(plain),
        Some("int") => Err("a whole number"),
        Some("float") => {
            plain.as_f64().and_then(Number::from_f64).map(Value::Number).ok_or("a number")
        }
        _ if style == ScalarStyle::Plain => Ok(plain),
        _ => Ok(Value::String(text.to_owned())),
    }
}

/// Returns the value of an unquoted scalar.
pub(crate) fn resolve_plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => {
            return Value::Bool(true);
        }
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => {
            return Value::Bool(false);
        }
        _ => {}
    }
    // Fast path: most scalars are words.
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return Value::String(text.to_owned());
    }
    integer(text)
        .or_else(|| float(text))
        .map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

fn integer(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (radix, digits) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, unsigned.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, unsigned.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, unsigned.get(2..)?),
        // Readers disagree on 0600: 384 or 600.
        [b'0', _, ..] => return None,
        _ => (10, unsigned),
    };
    // 1_000 is a number, 1__0 and _1 are not.
    if digits.split('_').any(|group| group.is_empty() || !group.chars().all(|c| c.is_digit(radix)))
    {
        return None;
    }
    let digits = digits.replace('_', "");
    if text.starts_with('-') {
        i64::from_str_radix(&format!("-{digits}"), radix).ok().map(Number::from)
    } else {
        u64::from_str_radix(&digits, radix).ok().map(Number::from)
    }
}

fn float(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits.is_empty() || !all_digits(digits) {
            return None;
        }
    }
    let well_formed = match mantissa.split_once('.') {
        Some((whole, fraction)) => all_digits(whole) && all_digits(fraction) && mantissa.len() > 1,
        // Only digits: an integer that does not fit or has leading zeros.
        None => exponent.is_some() && !mantissa.is_empty() && all_digits(mantissa),
    };
    if !well_formed {
        return None;
    }
    // `from_f64` rejects infinity, so 1e999 stays a string.
    text.parse().ok().and_then(Number::from_f64)
}

#[cfg(test)]
#[path = "scalar_tests.rs"]
mod tests;
