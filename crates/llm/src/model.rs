//! The interface of language models.

use std::fmt::Debug;
use std::time::Instant;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use hermes_core::BoxFuture;

use crate::model_error::ModelError;
use crate::reply::{ModelReply, ReplyBuilder, ReplyEvent};
use crate::request::ModelRequest;

/// Stream of reply events. Dropping it cancels the request.
pub type ReplyStream = BoxStream<'static, Result<ReplyEvent, ModelError>>;

/// A model that replies to requests: a server, several of them, or a test
/// script.
pub trait LanguageModel: Debug + Send + Sync {
    /// Display name.
    fn name(&self) -> &str;

    /// The context window in tokens, if known.
    fn window(&self) -> Option<u64>;

    /// Whether there is another model to fall back to.
    fn has_fallback(&self) -> bool {
        false
    }

    /// The last error that was retried, and when. A caller that times out can
    /// report it as the reason.
    fn last_failure(&self) -> Option<(Instant, String)> {
        None
    }

    /// Sends a request. On an error, nothing has been received.
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<ReplyStream, ModelError>>;
}

impl dyn LanguageModel {
    /// Sends a request and waits for the whole reply.
    pub async fn reply(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let mut stream = self.ask(request).await?;
        let mut gathering = ReplyBuilder::default();
        while let Some(event) = stream.next().await {
            gathering.add(&event?);
        }
        Ok(gathering.finish())
    }
}
