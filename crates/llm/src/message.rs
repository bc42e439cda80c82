//! What was said in a conversation.

use serde::{Deserialize, Serialize};

use crate::reply::ModelReply;

/// What stands for an image that a model cannot see.
const UNSEEN_IMAGE_NOTE: &str = "[Here is a picture, which this model cannot see.]";

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum ChatMessage {
    /// What holds for the whole conversation.
    System {
        /// The text.
        text: String,
    },
    /// What the user says.
    User {
        /// Text and images, in order.
        content: Vec<ContentPart>,
    },
    /// What the model has answered.
    Assistant(ModelReply),
    /// What a tool has answered.
    Tool(ToolCallAnswer),
}

/// A piece of what the user says.
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
    /// Such as `image/png`.
    pub media_type: String,
    /// The bytes in base64.
    pub data: String,
}

/// What a tool has answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallAnswer {
    /// The call that it answers.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// The answer.
    pub content: String,
    /// Images that come with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<InlineImage>,
    /// Whether it tells of a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Whether the call was stopped before its end; its answer is what there
    /// was by then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cancelled: bool,
}

impl ChatMessage {
    /// What the user says, as plain text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { content: vec![ContentPart::Text { text: text.into() }] }
    }

    /// What holds for the whole conversation.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System { text: text.into() }
    }

    /// Whether there is an image in it.
    pub(crate) fn has_images(&self) -> bool {
        match self {
            Self::User { content } => {
                content.iter().any(|part| matches!(part, ContentPart::Image(_)))
            }
            Self::Tool(answer) => !answer.images.is_empty(),
            Self::System { .. } | Self::Assistant(_) => false,
        }
    }

    /// The same with a note in place of each image.
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

    /// Its text, without images.
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
