//! Values of a program, as much of them as somebody can read.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::client::{Client, Fault};

/// How long a value may take: the program itself says what it looks like.
const PATIENCE: Duration = Duration::from_secs(15);

/// A value with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// Its name, or its place in what it is part of.
    pub name: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// What it looks like.
    pub value: String,
    /// Its parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Variable>,
    /// How many parts were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How much of values is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How many parts within parts.
    pub depth: usize,
    /// Parts of the first level.
    pub first: usize,
    /// Parts of each of the others.
    pub others: usize,
    /// Characters of one value.
    pub text: usize,
    /// Values in all.
    pub all: usize,
}

impl Bounds {
    /// For what stands in a frame.
    pub const LOCALS: Self = Self { depth: 1, first: 40, others: 10, text: 300, all: 150 };
    /// For one value that somebody asked for.
    pub const ONE: Self = Self { depth: 2, first: 100, others: 20, text: 4_000, all: 300 };
}

/// Reads values within bounds.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) client: &'a Client,
    pub(crate) bounds: Bounds,
    left: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(client: &'a Client, bounds: Bounds) -> Self {
        Self { client, bounds, left: bounds.all }
    }

    /// The parts of what has this number, and how many were left out.
    pub(crate) async fn parts(
        &mut self,
        reference: i64,
        depth: usize,
        hint: Option<u64>,
    ) -> Result<(Vec<Variable>, u64), Fault> {
        let is_first = depth == self.bounds.depth;
        let most = if is_first { self.bounds.first } else { self.bounds.others };
        let most = most.min(self.left);
        let mut ask = json!({ "variablesReference": reference });
        // A long list is asked for in part.
        if hint.is_some_and(|count| count > most as u64) {
            ask["start"] = 0.into();
            ask["count"] = most.max(1).into();
        }
        let answer = self.client.ask("variables", ask, PATIENCE).await?;
        let all = answer.get("variables").and_then(Value::as_array);
        let all: Vec<&Value> = all.into_iter().flatten().filter(|one| is_shown(one)).collect();
        let total = hint.unwrap_or(0).max(all.len() as u64);
        let shown = all.len().min(most);
        self.left -= shown;
        let mut parts = Vec::new();
        for one in all.into_iter().take(shown) {
            parts.push(self.variable(one, depth).await?);
        }
        Ok((parts, total - shown as u64))
    }

    async fn variable(&mut self, told: &Value, depth: usize) -> Result<Variable, Fault> {
        let text = |name: &str| told.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut variable = Variable {
            name: cut(text("name"), 200),
            kind: cut(text("type"), 120),
            value: cut(text("value"), self.bounds.text),
            fields: Vec::new(),
            more: 0,
        };
        let reference = told.get("variablesReference").and_then(Value::as_i64).unwrap_or(0);
        if reference > 0 && depth > 0 && self.left > 0 && !is_plain(&variable) {
            let parts = Box::pin(self.parts(reference, depth - 1, count(told)));
            (variable.fields, variable.more) = match parts.await {
                Ok(parts) => parts,
                Err(Fault::Refused(_)) => Default::default(),
                Err(fault) => return Err(fault),
            };
        }
        Ok(variable)
    }

    /// What an expression has become.
    pub(crate) async fn result(&mut self, name: &str, told: &Value) -> Result<Variable, Fault> {
        let mut told = told.clone();
        if let Some(fields) = told.as_object_mut() {
            let value = fields.remove("result").unwrap_or_default();
            fields.insert("value".to_owned(), value);
            fields.insert("name".to_owned(), name.into());
        }
        let depth = self.bounds.depth;
        // Its parts are the first level.
        self.bounds.depth = depth.saturating_sub(1);
        self.variable(&told, depth).await
    }
}

/// How many parts something has, if the adapter says so.
pub(crate) fn count(told: &Value) -> Option<u64> {
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
fn is_plain(variable: &Variable) -> bool {
    const SHORT: usize = 80;
    let listed =
        variable.value.starts_with(['[', '{', '(']) && variable.value.ends_with([']', '}', ')']);
    let whole = !variable.value.contains('…') && !variable.value.contains("...");
    listed && whole && variable.value.len() <= SHORT && !variable.value.contains(" at 0x")
        || variable.kind == "module"
}

pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => {
            let rest = text.len() - at;
            format!("{}… ({rest} more bytes)", text.get(..at).unwrap_or_default())
        }
        None => text.to_owned(),
    }
}
