//! The script of a model server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The replies of the server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerScript {
    /// Replies of the model. The first one that matches is used, once.
    pub scenes: Vec<ScriptedReply>,
    /// Responses to other requests, by path, such as `/v1/models`.
    pub pages: BTreeMap<String, Value>,
}

/// A reply of the model.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedReply {
    /// Text that a request must contain; empty matches any request.
    pub when: String,
    /// The same for the last message of the conversation.
    pub last: String,
    /// Whether it is used for every matching request, not only the first.
    pub again: bool,
    /// The steps in order. Without an end step, the reply ends normally.
    pub steps: Vec<ReplyStep>,
}

/// A step of a reply.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ReplyStep {
    /// Text, in one delta.
    Text(String),
    /// Text of this many bytes, in one delta.
    Long(usize),
    /// Reasoning.
    Thought(String),
    /// A tool call.
    Call {
        /// The id of the call; empty means a generated one.
        #[serde(default)]
        id: String,
        /// The tool.
        name: String,
        /// The arguments, as text.
        arguments: String,
        /// Number of deltas of the arguments; 0 means one.
        #[serde(default)]
        pieces: usize,
    },
    /// Reports the usage.
    Usage {
        /// Input tokens.
        input: u64,
        /// Output tokens.
        output: u64,
        /// Input tokens read from a cache.
        #[serde(default)]
        cached: u64,
        /// Cost in dollars, if the format supports it.
        #[serde(default)]
        cost: Option<f64>,
    },
    /// Waits for this many milliseconds.
    Wait(u64),
    /// Ends the reply, with a finish reason of chat completions:
    /// `stop`, `length`, `tool_calls`, `content_filter`.
    Finish(String),
    /// An error event within the reply, with this body.
    Fail(Value),
    /// Sends these bytes unchanged.
    Raw(String),
    /// Drops the connection.
    Cut,
    /// Ends the body normally, without the end of the reply.
    End,
    /// Sends nothing more, and keeps the connection open.
    Hang,
    /// Instead of a reply: a status, headers, and a body.
    Status {
        /// Such as 429.
        code: u16,
        /// Such as `retry-after`.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// A string is sent unchanged, any other value as JSON.
        #[serde(default)]
        body: Value,
    },
}

impl ScriptedReply {
    /// A reply with text.
    pub fn says(text: impl Into<String>) -> Self {
        Self::from_steps([ReplyStep::Text(text.into())])
    }

    /// A tool call.
    pub fn calls(name: &str, arguments: &str) -> Self {
        Self::from_steps([ReplyStep::call(name, arguments)])
    }

    /// An HTTP error.
    pub fn fails(code: u16, body: Value) -> Self {
        Self::from_steps([ReplyStep::Status { code, headers: BTreeMap::new(), body }])
    }

    /// An HTTP error with a `retry-after` header in seconds.
    pub fn busy(code: u16, seconds: &str) -> Self {
        let headers = BTreeMap::from([("retry-after".to_owned(), seconds.to_owned())]);
        Self::from_steps([ReplyStep::Status { code, headers, body: Value::Null }])
    }

    /// A reply with these steps.
    pub fn from_steps(steps: impl IntoIterator<Item = ReplyStep>) -> Self {
        Self { steps: steps.into_iter().collect(), ..Self::default() }
    }

    /// Restricts it to requests that contain this text.
    #[must_use]
    pub fn when(mut self, part: impl Into<String>) -> Self {
        self.when = part.into();
        self
    }

    /// Uses it for every matching request.
    #[must_use]
    pub fn again(mut self) -> Self {
        self.again = true;
        self
    }

    pub(crate) fn matches(&self, body: &str) -> bool {
        if !body.contains(&self.when) {
            return false;
        }
        if self.last.is_empty() {
            return true;
        }
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let lists = ["messages", "input", "contents"];
        let last = lists.iter().find_map(|key| body[*key].as_array()?.last());
        last.is_some_and(|last| last.to_string().contains(&self.last))
    }
}

impl ReplyStep {
    /// A tool call with its arguments in three deltas.
    pub fn call(name: &str, arguments: &str) -> Self {
        Self::Call {
            id: String::new(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            pieces: 3,
        }
    }
}

impl<const N: usize> From<[ScriptedReply; N]> for ServerScript {
    fn from(scenes: [ScriptedReply; N]) -> Self {
        Self { scenes: scenes.into(), pages: BTreeMap::new() }
    }
}

impl From<Vec<ScriptedReply>> for ServerScript {
    fn from(scenes: Vec<ScriptedReply>) -> Self {
        Self { scenes, pages: BTreeMap::new() }
    }
}
