//! Requested breakpoints and their status in the adapter.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

/// The message for a function that has not been called yet.
const FUNCTION_NOT_CALLED: &str = "no function of this name was called so far";

/// A requested breakpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BreakpointRequest {
    /// A line.
    Line {
        /// The absolute path of the file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Stop only if this expression is true.
        condition: Option<String>,
        /// Stop only at this hit.
        hit_count: Option<u64>,
        /// Print this instead of stopping. Expressions are in braces.
        log_message: Option<String>,
    },
    /// The entry of a function.
    Function {
        /// Its name.
        name: String,
        /// Stop only if this expression is true.
        condition: Option<String>,
    },
}

/// A breakpoint and its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Breakpoint {
    /// Its id in this session.
    pub id: u64,
    /// Its file, or the file of its function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Its current line: the debugger moves it to the nearest line with code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The requested line, if different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_line: Option<u64>,
    /// The function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Whether the adapter has resolved it to code.
    pub verified: bool,
    /// The adapter's message about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip)]
    pub(crate) wanted: BreakpointRequest,
    /// Its id in the adapter.
    #[serde(skip)]
    pub(crate) known_as: Option<i64>,
}

/// The breakpoints of a session.
#[derive(Debug, Default)]
pub(crate) struct BreakpointTable {
    pub(crate) all: Vec<Breakpoint>,
    last_id: u64,
}

impl BreakpointTable {
    /// Adds a breakpoint and returns its id. One at the same location is
    /// replaced and keeps its id.
    pub(crate) fn add(&mut self, wanted: BreakpointRequest) -> u64 {
        if let Some(known) =
            self.all.iter_mut().find(|known| is_same_location(&known.wanted, &wanted))
        {
            known.wanted = wanted;
            return known.id;
        }
        self.last_id += 1;
        let (file, line, function) = match &wanted {
            BreakpointRequest::Line { file, line, .. } => (Some(file.clone()), Some(*line), None),
            BreakpointRequest::Function { name, .. } => (None, None, Some(name.clone())),
        };
        self.all.push(Breakpoint {
            id: self.last_id,
            file,
            line,
            asked_line: None,
            function,
            verified: false,
            message: None,
            wanted,
            known_as: None,
        });
        self.last_id
    }

    /// Returns the files with breakpoints.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            self.all.iter().filter_map(Breakpoint::requested_file).collect();
        files.sort();
        files.dedup();
        files
    }

    /// Returns the source breakpoints of a file for `setBreakpoints`.
    pub(crate) fn source_breakpoints(&self, file: &Path) -> Value {
        let all = self.all.iter().filter_map(|one| match &one.wanted {
            BreakpointRequest::Line {
                file: own,
                line,
                condition,
                hit_count: hit,
                log_message: log,
            } if own == file => Some(json!({
                "line": line,
                "condition": condition,
                "hitCondition": hit.map(|hit| hit.to_string()),
                "logMessage": log,
            })),
            _ => None,
        });
        Value::Array(all.map(without_nulls).collect())
    }

    /// Returns the breakpoints for `setFunctionBreakpoints`; `extra` are
    /// internal ones.
    pub(crate) fn function_breakpoints(&self, extra: &[&str]) -> Value {
        let all = self.all.iter().filter_map(|one| match &one.wanted {
            BreakpointRequest::Function { name, condition } => {
                Some(without_nulls(json!({ "name": name, "condition": condition })))
            }
            BreakpointRequest::Line { .. } => None,
        });
        Value::Array(all.chain(extra.iter().map(|name| json!({ "name": name }))).collect())
    }

    /// Applies the adapter's response for a file, or for functions.
    pub(crate) fn apply_response(&mut self, file: Option<&Path>, answer: &Value) {
        let shown = answer.get("breakpoints").and_then(Value::as_array);
        let ours = self.all.iter_mut().filter(|one| one.requested_file().as_deref() == file);
        for (one, shown) in ours.zip(shown.into_iter().flatten()) {
            one.known_as = shown.get("id").and_then(Value::as_i64);
            one.update(shown);
        }
    }

    /// Applies a `breakpoint` event.
    pub(crate) fn update(&mut self, shown: &Value) {
        let id = shown.get("id").and_then(Value::as_i64);
        let known = self.all.iter_mut().find(|one| id.is_some() && one.known_as == id);
        if let Some(known) = known {
            known.update(shown);
        }
    }

    /// Marks breakpoints as hit by their adapter ids, and returns our ids.
    pub(crate) fn record_hits(&mut self, hits: &[i64]) -> Vec<u64> {
        let is_hit = |one: &&mut Breakpoint| one.known_as.is_some_and(|id| hits.contains(&id));
        let met = self.all.iter_mut().filter(is_hit).map(|one| {
            one.message.take_if(|message| message == FUNCTION_NOT_CALLED);
            // A hit does not clear an error of the breakpoint.
            one.verified |= one.message.is_none();
            one.id
        });
        met.collect()
    }
}

impl Breakpoint {
    fn requested_file(&self) -> Option<PathBuf> {
        match &self.wanted {
            BreakpointRequest::Line { file, .. } => Some(file.clone()),
            BreakpointRequest::Function { .. } => None,
        }
    }

    fn update(&mut self, shown: &Value) {
        if let Some(verified) = shown.get("verified").and_then(Value::as_bool) {
            self.verified = verified;
        }
        self.message = shown.get("message").and_then(Value::as_str).map(str::to_owned);
        let line = shown.get("line").and_then(Value::as_u64).filter(|line| *line > 0);
        match &self.wanted {
            BreakpointRequest::Line { line: asked, .. } => {
                self.line = line.or(self.line);
                self.asked_line = Some(*asked).filter(|asked| Some(*asked) != self.line);
            }
            BreakpointRequest::Function { .. } => {
                let path = shown.pointer("/source/path").and_then(Value::as_str);
                self.file = path.map(PathBuf::from).or(self.file.take());
                self.line = line.or(self.line);
                // Some adapters accept any name and resolve it on the first
                // call.
                if self.verified && self.line.is_none() {
                    self.verified = false;
                    self.message = Some(FUNCTION_NOT_CALLED.to_owned());
                }
            }
        }
    }
}

fn is_same_location(one: &BreakpointRequest, other: &BreakpointRequest) -> bool {
    match (one, other) {
        (
            BreakpointRequest::Line { file: a, line: x, .. },
            BreakpointRequest::Line { file: b, line: y, .. },
        ) => a == b && x == y,
        (
            BreakpointRequest::Function { name: a, .. },
            BreakpointRequest::Function { name: b, .. },
        ) => a == b,
        _ => false,
    }
}

fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, value| !value.is_null());
    }
    value
}

#[cfg(test)]
#[path = "breakpoints_tests.rs"]
mod tests;
