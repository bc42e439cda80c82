//! The contract of whoever answers requests.

use std::fmt::Debug;
use std::time::Instant;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use hermes_core::BoxFuture;

use crate::model_error::ModelError;
use crate::reply::{ModelReply, ReplyBuilder, ReplyEvent};
use crate::request::ModelRequest;

/// The pieces of an answer, as they come. To drop it is to stop listening.
pub type ReplyStream = BoxStream<'static, Result<ReplyEvent, ModelError>>;

/// Somebody who answers requests: a server, several of them, a script in a
/// test.
pub trait LanguageModel: Debug + Send + Sync {
    /// Its name, for people.
    fn name(&self) -> &str;

    /// How many tokens a conversation may have, if that is known.
    fn window(&self) -> Option<u64>;

    /// Whether another model is asked if this one cannot answer.
    fn has_fallback(&self) -> bool {
        false
    }

    /// The last trouble with it that was not the end, and when that was. Whoever
    /// loses patience meanwhile can say why there is no answer.
    fn last_failure(&self) -> Option<(Instant, String)> {
        None
    }

    /// Asks it. Nothing has been answered if this fails.
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<ReplyStream, ModelError>>;
}

impl dyn LanguageModel {
    /// Asks it, and waits for the whole answer.
    pub async fn reply(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let mut stream = self.ask(request).await?;
        let mut gathering = ReplyBuilder::default();
        while let Some(event) = stream.next().await {
            gathering.add(&event?);
        }
        Ok(gathering.finish())
    }
}
