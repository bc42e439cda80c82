//! Values of a program, as much of them as somebody can read.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::client::{DapClient, DapError};

/// How long a value may take: the program itself says what it looks like.
const VARIABLES_TIMEOUT: Duration = Duration::from_secs(15);

/// A value with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DebugVariable {
    /// Its name, or its place in what it is part of.
    pub name: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// What it looks like.
    pub value: String,
    /// Its parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<DebugVariable>,
    /// How many parts were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How much of values is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueLimits {
    /// How many parts within parts.
    pub depth: usize,
    /// Parts of the first level.
    pub top_level: usize,
    /// Parts of each of the others.
    pub nested: usize,
    /// Characters of one value.
    pub value_chars: usize,
    /// Values in all.
    pub total: usize,
}

impl ValueLimits {
    /// For what stands in a frame.
    pub const FOR_LOCALS: Self =
        Self { depth: 1, top_level: 40, nested: 10, value_chars: 300, total: 150 };
    /// For one value that somebody asked for.
    pub const FOR_EVALUATE: Self =
        Self { depth: 2, top_level: 100, nested: 20, value_chars: 4_000, total: 300 };
}

/// Reads values within bounds.
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

    /// The parts of what has this number, and how many were left out.
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
        // A long list is asked for in part.
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
        told: &Value,
        depth: usize,
    ) -> Result<DebugVariable, DapError> {
        let text = |name: &str| told.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut variable = DebugVariable {
            name: truncate(text("name"), 200),
            kind: truncate(text("type"), 120),
            value: truncate(text("value"), self.limits.value_chars),
            fields: Vec::new(),
            more: 0,
        };
        let reference = told.get("variablesReference").and_then(Value::as_i64).unwrap_or(0);
        if reference > 0 && depth > 0 && self.remaining > 0 && !is_self_explanatory(&variable) {
            let parts = Box::pin(self.children(reference, depth - 1, child_count(told)));
            (variable.fields, variable.more) = match parts.await {
                Ok(parts) => parts,
                Err(DapError::Refused(_)) => Default::default(),
                Err(fault) => return Err(fault),
            };
        }
        Ok(variable)
    }

    /// What an expression has become.
    pub(crate) async fn evaluation_result(
        &mut self,
        name: &str,
        told: &Value,
    ) -> Result<DebugVariable, DapError> {
        let mut told = told.clone();
        if let Some(fields) = told.as_object_mut() {
            let value = fields.remove("result").unwrap_or_default();
            fields.insert("value".to_owned(), value);
            fields.insert("name".to_owned(), name.into());
        }
        let depth = self.limits.depth;
        // Its parts are the first level.
        self.limits.depth = depth.saturating_sub(1);
        self.read_variable(&told, depth).await
    }
}

/// How many parts something has, if the adapter says so.
pub(crate) fn child_count(told: &Value) -> Option<u64> {
    let of = |name: &str| told.get(name).and_then(Value::as_u64).filter(|count| *count > 0);
    of("indexedVariables")
}

/// What the debugger adds for people with a mouse is left out.
fn is_shown(told: &Value) -> bool {
    let name = told.get("name").and_then(Value::as_str).unwrap_or_default();
    let groups = ["special variables", "function variables", "class variables", "len()"];
    !groups.contains(&name) && name != "[[Prototype]]"
}

/// Whether its text says all: its parts would only repeat it.
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
