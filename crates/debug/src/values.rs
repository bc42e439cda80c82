//! Reads the values of a debugged program within size limits.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::client::{DapClient, DapError};

/// Timeout for reading variables: the debugged program itself renders its
/// values.
const VARIABLES_TIMEOUT: Duration = Duration::from_secs(15);

/// A named value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DebugVariable {
    /// Its name, or its index in the containing value.
    pub name: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Its rendered value.
    pub value: String,
    /// Its child values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<DebugVariable>,
    /// Number of child values omitted.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Limits on reading values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueLimits {
    /// Maximum nesting depth.
    pub depth: usize,
    /// Maximum child values at the first level.
    pub top_level: usize,
    /// Maximum child values at each deeper level.
    pub nested: usize,
    /// Maximum characters of one value.
    pub value_chars: usize,
    /// Maximum values overall.
    pub total: usize,
}

impl ValueLimits {
    /// Limits for the variables of a stack frame.
    pub const FOR_LOCALS: Self =
        Self { depth: 1, top_level: 40, nested: 10, value_chars: 300, total: 150 };
    /// Limits for one evaluated expression.
    pub const FOR_EVALUATE: Self =
        Self { depth: 2, top_level: 100, nested: 20, value_chars: 4_000, total: 300 };
}

/// Reads variables within [`ValueLimits`].
#[derive(Debug)]
pub(crate) struct VariableReader<'a> {
    pub(crate) client: &'a DapClient,
    pub(crate) limits: ValueLimits,
    remaining: usize,
}

impl<'a> VariableReader<'a> {
    pub(crate) fn new(client: &'a DapClient, bounds: ValueLimits) -> Self {
        Self { client, limits: bounds, remaining: bounds.total }
    }

    /// Returns the children of a variables reference, and how many were
    /// omitted.
    pub(crate) async fn children(
        &mut self,
        reference: i64,
        depth: usize,
        hint: Option<u64>,
    ) -> Result<(Vec<DebugVariable>, u64), DapError> {
        let is_first = depth == self.limits.depth;
        let most = if is_first { self.limits.top_level } else { self.limits.nested };
        let most = most.min(self.remaining);
        let mut ask = json!({ "variablesReference": reference });
        // Request only a part of a long list.
        if hint.is_some_and(|count| count > most as u64) {
            ask["start"] = 0.into();
            ask["count"] = most.max(1).into();
        }
        let answer = self.client.request("variables", ask, VARIABLES_TIMEOUT).await?;
        let all = answer.get("variables").and_then(Value::as_array);
        let all: Vec<&Value> = all.into_iter().flatten().filter(|one| is_shown(one)).collect();
        let total = hint.unwrap_or(0).max(all.len() as u64);
        let shown = all.len().min(most);
        self.remaining -= shown;
        let mut parts = Vec::new();
        for one in all.into_iter().take(shown) {
            parts.push(self.read_variable(one, depth).await?);
        }
        Ok((parts, total - shown as u64))
    }

    async fn read_variable(
        &mut self,
        shown: &Value,
        depth: usize,
    ) -> Result<DebugVariable, DapError> {
        let text = |name: &str| shown.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut variable = DebugVariable {
            name: truncate(text("name"), 200),
            kind: truncate(text("type"), 120),
            value: truncate(text("value"), self.limits.value_chars),
            fields: Vec::new(),
            more: 0,
        };
        let reference = shown.get("variablesReference").and_then(Value::as_i64).unwrap_or(0);
        if reference > 0 && depth > 0 && self.remaining > 0 && !is_self_explanatory(&variable) {
            let parts = Box::pin(self.children(reference, depth - 1, child_count(shown)));
            (variable.fields, variable.more) = match parts.await {
                Ok(parts) => parts,
                Err(DapError::Refused(_)) => Default::default(),
                Err(fault) => return Err(fault),
            };
        }
        Ok(variable)
    }

    /// Converts an evaluate response to a variable.
    pub(crate) async fn evaluation_result(
        &mut self,
        name: &str,
        shown: &Value,
    ) -> Result<DebugVariable, DapError> {
        let mut shown = shown.clone();
        if let Some(fields) = shown.as_object_mut() {
            let value = fields.remove("result").unwrap_or_default();
            fields.insert("value".to_owned(), value);
            fields.insert("name".to_owned(), name.into());
        }
        let depth = self.limits.depth;
        // The children of the result count as the first level.
        self.limits.depth = depth.saturating_sub(1);
        self.read_variable(&shown, depth).await
    }
}

/// Number of indexed children, if the adapter reports it.
pub(crate) fn child_count(shown: &Value) -> Option<u64> {
    let of = |name: &str| shown.get(name).and_then(Value::as_u64).filter(|count| *count > 0);
    of("indexedVariables")
}

/// Whether a variable is shown: the groups that adapters add for graphical
/// debuggers are not.
fn is_shown(shown: &Value) -> bool {
    let name = shown.get("name").and_then(Value::as_str).unwrap_or_default();
    let groups = ["special variables", "function variables", "class variables", "len()"];
    !groups.contains(&name) && name != "[[Prototype]]"
}

/// Whether the rendered value is complete, so its children would only repeat
/// it.
fn is_self_explanatory(variable: &DebugVariable) -> bool {
    const MAX_INLINE_BYTES: usize = 80;
    let listed =
        variable.value.starts_with(['[', '{', '(']) && variable.value.ends_with([']', '}', ')']);
    let whole = !variable.value.contains('…') && !variable.value.contains("...");
    listed
        && whole
        && variable.value.len() <= MAX_INLINE_BYTES
        && !variable.value.contains(" at 0x")
        || variable.kind == "module"
}

pub(crate) fn truncate(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => {
            let rest = text.len() - at;
            format!("{}… ({rest} more bytes)", text.get(..at).unwrap_or_default())
        }
        None => text.to_owned(),
    }
}
