//! The nesting limit of this crate, and a survey of a value before any deeper
//! work.

use serde_json::Value;

/// Maximum nesting of arrays and objects in a value or a schema.
///
/// It applies to argument text, argument values and schemas, so nothing after
/// the parser can overflow its stack.
pub const MAX_DEPTH: usize = 128;

/// Measurements of one pass over a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ValueSurvey {
    /// Whether the value is nested deeper than [`MAX_DEPTH`]; if so, the other
    /// fields cover only a part of it.
    pub(crate) too_deep: bool,
    /// Whether any number is written as a float but has no fraction (`3.0`).
    pub(crate) integral_float: bool,
    /// Rough amount of work: the number of nodes, plus text in units of 32
    /// bytes.
    pub(crate) weight: usize,
    /// Nesting depth of arrays and objects.
    pub(crate) depth: usize,
}

impl ValueSurvey {
    pub(crate) fn measure(value: &Value) -> Self {
        let mut survey = Self::default();
        survey.visit(value, 0);
        survey
    }

    fn visit(&mut self, value: &Value, depth: usize) {
        self.weight += 1;
        self.depth = self.depth.max(depth);
        match value {
            Value::Number(number) => {
                self.integral_float |= number.is_f64() && number.as_f64().is_some_and(is_integral);
            }
            Value::String(text) => self.weight += text.len() / 32,
            Value::Array(_) | Value::Object(_) if depth == MAX_DEPTH => self.too_deep = true,
            Value::Array(items) => {
                for item in items {
                    self.visit(item, depth + 1);
                }
            }
            Value::Object(map) => {
                for (key, child) in map {
                    self.weight += key.len() / 32;
                    self.visit(child, depth + 1);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// Whether a float is a whole number.
pub(crate) fn is_integral(number: f64) -> bool {
    number.is_finite() && number.fract() == 0.0
}
