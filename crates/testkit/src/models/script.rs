//! What a scripted model server answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the server answers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerScript {
    /// Answers of the model. The first one that fits is played, once.
    pub scenes: Vec<ScriptedReply>,
    /// Answers to other requests, by path, such as `/v1/models`.
    pub pages: BTreeMap<String, Value>,
}

/// An answer of the model.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedReply {
    /// What a request must contain; nothing means any request.
    pub when: String,
    /// The same for the last message of the conversation.
    pub last: String,
    /// Whether it is played for every request that fits, not only the first.
    pub again: bool,
    /// What happens, one after the other. Without an end, the answer ends well.
    pub steps: Vec<ReplyStep>,
}

/// Something that the model server does.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ReplyStep {
    /// The model says something, in one delta.
    Text(String),
    /// The model says so many bytes in one delta.
    Long(usize),
    /// The model thinks.
    Thought(String),
    /// The model asks for a tool.
    Call {
        /// The id of the call; empty means that one is made up.
        #[serde(default)]
        id: String,
        /// The tool.
        name: String,
        /// The arguments, as text.
        arguments: String,
        /// In how many deltas the arguments come; 0 means one.
        #[serde(default)]
        pieces: usize,
    },
    /// Says what it took.
    Usage {
        /// Tokens sent.
        input: u64,
        /// Tokens answered.
        output: u64,
        /// Of those sent: read from a cache.
        #[serde(default)]
        cached: u64,
        /// Dollars, where the shape has a place for it.
        #[serde(default)]
        cost: Option<f64>,
    },
    /// Nothing happens for so many milliseconds.
    Wait(u64),
    /// The answer ends, with a reason in the words of chat completions:
    /// `stop`, `length`, `tool_calls`, `content_filter`.
    Finish(String),
    /// An error in the middle of the answer, as the body of the event.
    Fail(Value),
    /// These bytes are sent as they are.
    Raw(String),
    /// The connection breaks.
    Cut,
    /// The body ends as if all were well, without the end of the answer.
    End,
    /// Nothing more ever comes.
    Hang,
    /// Instead of an answer: a status, headers, and a body.
    Status {
        /// Such as 429.
        code: u16,
        /// Such as `retry-after`.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// A text is sent as it is, anything else as JSON.
        #[serde(default)]
        body: Value,
    },
}

impl ScriptedReply {
    /// The model says something.
    pub fn says(text: impl Into<String>) -> Self {
        Self::from_steps([ReplyStep::Text(text.into())])
    }

    /// The model asks for a tool.
    pub fn calls(name: &str, arguments: &str) -> Self {
        Self::from_steps([ReplyStep::call(name, arguments)])
    }

    /// The server refuses.
    pub fn fails(code: u16, body: Value) -> Self {
        Self::from_steps([ReplyStep::Status { code, headers: BTreeMap::new(), body }])
    }

    /// The server refuses, and says after how many seconds to ask again.
    pub fn busy(code: u16, seconds: &str) -> Self {
        let headers = BTreeMap::from([("retry-after".to_owned(), seconds.to_owned())]);
        Self::from_steps([ReplyStep::Status { code, headers, body: Value::Null }])
    }

    /// These steps.
    pub fn from_steps(steps: impl IntoIterator<Item = ReplyStep>) -> Self {
        Self { steps: steps.into_iter().collect(), ..Self::default() }
    }

    /// Only for requests that contain this.
    #[must_use]
    pub fn when(mut self, part: impl Into<String>) -> Self {
        self.when = part.into();
        self
    }

    /// For every request that fits.
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
    /// The model asks for a tool, with arguments in three deltas.
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
