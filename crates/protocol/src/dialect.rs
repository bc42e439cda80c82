//! The dialects and their names.

use std::fmt;
use std::str::FromStr;

use crate::ProtocolError;

/// A format of tool calls and their results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallDialect {
    /// `{"tool_calls":[…]}` with object arguments, answered by
    /// `{"tool_results":[…]}` with a `status` in each.
    Envelope,
    /// OpenAI chat completions: `arguments` is a JSON string; answered by a
    /// list of `role: tool` messages.
    OpenAiChat,
    /// OpenAI Responses: `function_call` items, answered by a list of
    /// `function_call_output` items.
    OpenAiResponses,
    /// Anthropic messages: `tool_use` blocks, answered by a user message of
    /// `tool_result` blocks.
    Anthropic,
    /// Text that contains `<tool_call>{…}</tool_call>`, answered by
    /// `<tool_response>` blocks.
    HermesText,
}

impl CallDialect {
    /// All dialects.
    pub const ALL: [CallDialect; 5] = [
        Self::Envelope,
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::HermesText,
    ];

    /// Returns the name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Envelope => "envelope",
            Self::OpenAiChat => "openai",
            Self::OpenAiResponses => "responses",
            Self::Anthropic => "anthropic",
            Self::HermesText => "hermes",
        }
    }

    /// Returns a minimal complete request.
    pub const fn example(self) -> &'static str {
        match self {
            Self::Envelope => {
                r#"{"tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":{"path":"README.md"}}}]}"#
            }
            Self::OpenAiChat => {
                r#"{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"README.md\"}"}}]}"#
            }
            Self::OpenAiResponses => {
                r#"[{"type":"function_call","call_id":"call_1","name":"read_file","arguments":"{\"path\":\"README.md\"}"}]"#
            }
            Self::Anthropic => {
                r#"{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"read_file","input":{"path":"README.md"}}]}"#
            }
            Self::HermesText => {
                r#"<tool_call>{"name":"read_file","arguments":{"path":"README.md"}}</tool_call>"#
            }
        }
    }

    const fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Envelope => &["tool_calls", "json"],
            Self::OpenAiChat => &["openai_chat", "chat", "chat_completions"],
            Self::OpenAiResponses => &["openai_responses"],
            Self::Anthropic => &["claude", "anthropic_messages", "tool_use"],
            Self::HermesText => &["hermes_text", "text", "tool_call"],
        }
    }
}

impl fmt::Display for CallDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for CallDialect {
    type Err = ProtocolError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let wanted = name.trim().to_ascii_lowercase().replace('-', "_");
        Self::ALL
            .into_iter()
            .find(|d| d.name() == wanted || d.aliases().contains(&wanted.as_str()))
            .ok_or_else(|| ProtocolError::UnknownDialect { name: name.to_owned() })
    }
}

#[cfg(test)]
#[path = "dialect_tests.rs"]
mod tests;
