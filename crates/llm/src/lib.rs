//! Language models: requests ([`ModelRequest`]), replies ([`ReplyEvent`]s that
//! form a [`ModelReply`]), errors ([`ModelError`]), endpoints
//! ([`ModelEndpoint`]) and their [`discovery`].

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
pub mod sse;
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
