//! Parses numbers in strings; a number that cannot be represented exactly is
//! rejected.

use serde_json::{Number, Value};

/// Longer texts are not treated as numbers.
const MAX_NUMBER_CHARS: usize = 400;

/// Digits that a double holds exactly; a longer number would change its value.
const EXACT_F64_DIGITS: usize = 17;

/// A decimal number: `digits` × 10^`exponent`, without leading or trailing
/// zeros.
struct DecimalParts {
    negative: bool,
    digits: String,
    exponent: i64,
}

/// Parses a number, as an integer if it has no fraction.
///
/// Accepts what Python's `float` accepts (surrounding whitespace, a sign, `.5`,
/// `1e3`, `1_000`), except infinities and numbers that JSON cannot represent
/// exactly.
pub(super) fn parse_number(text: &str, integers_only: bool) -> Option<Value> {
    if let Some(integer) = parse_short_integer(text.trim()) {
        return Some(Value::Number(integer));
    }
    let decimal = DecimalParts::parse(text.trim())?;
    if let Some(integer) = decimal.to_integer() {
        return Some(Value::Number(integer));
    }
    if integers_only || decimal.digits.len() > EXACT_F64_DIGITS {
        return None;
    }
    decimal.to_float().map(Value::Number)
}

/// Fast path: an integer of a few digits, possibly negative.
fn parse_short_integer(text: &str) -> Option<Number> {
    const SAFE_DIGITS: usize = 18;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_short = (1..=SAFE_DIGITS).contains(&digits.len());
    let plain = is_short && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse::<i64>().ok()).flatten().map(Number::from)
}

/// Converts an integral float to an integer.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
pub(super) fn integer_from_float(number: f64) -> Option<Value> {
    if !crate::depth::is_integral(number) {
        return None;
    }
    // Casts saturate, so comparing back shows whether the integer type can hold
    // the number; the maximum of either type rounds up to a float beyond it.
    let signed = number as i64;
    if signed as f64 == number && signed != i64::MAX {
        return Some(Value::from(signed));
    }
    let unsigned = number as u64;
    (unsigned as f64 == number && unsigned != u64::MAX).then(|| Value::from(unsigned))
}

impl DecimalParts {
    fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_NUMBER_CHARS {
            return None;
        }
        let (negative, unsigned) = match text.strip_prefix(['-', '+']) {
            Some(rest) => (text.starts_with('-'), rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let (whole, fraction) = (digits(whole)?, digits(fraction)?);
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let all = whole + &fraction;
        let trimmed = all.trim_end_matches('0');
        let mut exponent = i64::from(exponent) - i64::try_from(fraction.len()).ok()?;
        exponent += i64::try_from(all.len() - trimmed.len()).ok()?;
        let digits = trimmed.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            exponent = 0;
        }
        Some(Self { negative, digits, exponent })
    }

    fn to_integer(&self) -> Option<Number> {
        let zeros = usize::try_from(self.exponent).ok()?;
        if self.digits.len().checked_add(zeros)? > 20 {
            return None;
        }
        let text = format!("0{}{}", self.digits, "0".repeat(zeros));
        if self.negative {
            format!("-{text}").parse::<i64>().ok().map(Number::from)
        } else {
            text.parse::<u64>().ok().map(Number::from)
        }
    }

    fn to_float(&self) -> Option<Number> {
        let sign = if self.negative { "-" } else { "" };
        let number: f64 = format!("{sign}{}e{}", self.digits, self.exponent).parse().ok()?;
        // Underflow to zero would lose the number.
        Number::from_f64(number).filter(|_| number != 0.0)
    }
}

/// Returns the digits of one part without single underscores between them.
fn digits(part: &str) -> Option<String> {
    let mut found = String::with_capacity(part.len());
    let mut after_digit = false;
    for byte in part.bytes() {
        match byte {
            b'0'..=b'9' => found.push(char::from(byte)),
            b'_' if after_digit => {}
            _ => return None,
        }
        after_digit = byte != b'_';
    }
    (after_digit || part.is_empty()).then_some(found)
}

#[cfg(test)]
#[path = "number_tests.rs"]
mod tests;
