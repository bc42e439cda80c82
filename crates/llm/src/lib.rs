//! Models: what is asked of them ([`ModelRequest`]), how they answer ([`ReplyEvent`]s
//! that add up to a [`ModelReply`]), what can go wrong ([`Fault`]), and where they
//! are ([`ModelEndpoint`], [`find`]).

mod classify;
mod dialect;
pub mod discovery;
mod endpoint;
mod fallback;
mod http;
mod http_model;
mod message;
mod model;
mod model_error;
mod opaque_blocks;
mod reply;
mod request;
mod server_quirks;
mod sse;
mod surrogates;
mod text_calls;
mod think_splitter;

pub use endpoint::{ApiDialect, ApiKey, ModelEndpoint, TokenPrices};
pub use fallback::{FallbackModel, OnRetry, RetryAction, RetryEvent, RetrySettings};
pub use http::HttpClients;
pub use http_model::HttpModel;
pub use message::{ChatMessage, ContentPart, InlineImage, ToolCallAnswer};
pub use model::{LanguageModel, ReplyStream};
pub use model_error::{ModelError, ModelErrorKind};
pub use reply::{
    FinishReason, ModelReply, Reasoning, ReplyBuilder, ReplyEvent, RequestedCall, TokenUsage,
};
pub use request::{ModelRequest, ToolChoice};
pub use surrogates::replace_lone_surrogates as whole_characters;
