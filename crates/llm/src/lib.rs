//! Models: what is asked of them ([`ModelRequest`]), how they answer ([`ReplyEvent`]s
//! that add up to a [`ModelReply`]), what can go wrong ([`Fault`]), and where they
//! are ([`ModelEndpoint`], [`find`]).

mod server_quirks;
mod classify;
mod dialect;
mod endpoint;
mod model_error;
pub mod discovery;
mod surrogates;
mod http;
mod opaque_blocks;
mod message;
mod model;
mod think_splitter;
mod reply;
mod request;
mod http_model;
mod text_calls;
mod sse;
mod fallback;

pub use endpoint::{ApiDialect, ModelEndpoint, ApiKey, TokenPrices};
pub use model_error::{ModelError, ModelErrorKind};
pub use surrogates::replace_lone_surrogates as whole_characters;
pub use http::HttpClients;
pub use message::{ToolCallAnswer, InlineImage, ChatMessage, ContentPart};
pub use model::{LanguageModel, ReplyStream};
pub use reply::{RequestedCall, ReplyEvent, FinishReason, ReplyBuilder, Reasoning, ModelReply, TokenUsage};
pub use request::{ToolChoice, ModelRequest};
pub use http_model::HttpModel;
pub use fallback::{RetryAction, RetrySettings, RetryEvent, FallbackModel, OnRetry};
