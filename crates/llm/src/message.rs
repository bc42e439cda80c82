//! Messages of a conversation.

use serde::{Deserialize, Serialize};

use crate::reply::ModelReply;

/// Placeholder for an image that the model does not accept.
const UNSEEN_IMAGE_NOTE: &str = "[Image omitted: this model cannot see images.]";

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum ChatMessage {
    /// Instructions for the whole conversation.
    System {
        /// The text.
        text: String,
    },
    /// A message of the user.
    User {
        /// Text and images, in order.
        content: Vec<ContentPart>,
    },
    /// A reply of the model.
    Assistant(ModelReply),
    /// The result of a tool call.
    Tool(ToolCallAnswer),
}

/// A part of a user message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ContentPart {
    /// Text.
    Text {
        /// It.
        text: String,
    },
    /// An image.
    Image(InlineImage),
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InlineImage {
    /// MIME type, such as `image/png`.
    pub media_type: String,
    /// The bytes in base64.
    pub data: String,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallAnswer {
    /// Id of the call.
    pub call_id: String,
    /// Name of the tool.
    pub name: String,
    /// The result.
    pub content: String,
    /// Images of the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<InlineImage>,
    /// Whether the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Whether the call was cancelled before it finished; `content` is the
    /// partial result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cancelled: bool,
}

impl ChatMessage {
    /// Creates a user message from plain text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { content: vec![ContentPart::Text { text: text.into() }] }
    }

    /// Creates a system message.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System { text: text.into() }
    }

    /// Whether it contains an image.
    pub(crate) fn has_images(&self) -> bool {
        match self {
            Self::User { content } => {
                content.iter().any(|part| matches!(part, ContentPart::Image(_)))
            }
            Self::Tool(answer) => !answer.images.is_empty(),
            Self::System { .. } | Self::Assistant(_) => false,
        }
    }

    /// Replaces each image with a placeholder.
    pub(crate) fn without_images(mut self) -> Self {
        match &mut self {
            Self::User { content } => {
                for part in content.iter_mut().filter(|part| matches!(part, ContentPart::Image(_)))
                {
                    *part = ContentPart::Text { text: UNSEEN_IMAGE_NOTE.to_owned() };
                }
            }
            Self::Tool(answer) => {
                for _ in answer.images.drain(..) {
                    answer.content.push_str("\n\n");
                    answer.content.push_str(UNSEEN_IMAGE_NOTE);
                }
            }
            Self::System { .. } | Self::Assistant(_) => {}
        }
        self
    }

    /// Returns its text, without images.
    pub fn text(&self) -> String {
        match self {
            Self::System { text } => text.clone(),
            Self::User { content } => {
                let texts = content.iter().filter_map(|part| match part {
                    ContentPart::Text { text } => Some(text.as_str()),
                    ContentPart::Image(_) => None,
                });
                texts.collect::<Vec<_>>().join("\n")
            }
            Self::Assistant(reply) => reply.text.clone(),
            Self::Tool(answer) => answer.content.clone(),
        }
    }
}
