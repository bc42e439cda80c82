//! The contract of whoever answers requests.

use std::fmt::Debug;
use std::time::Instant;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use hermes_core::BoxFuture;

use crate::fault::Fault;
use crate::reply::{Event, Gathering, Reply};
use crate::request::Request;

/// The pieces of an answer, as they come. To drop it is to stop listening.
pub type Stream = BoxStream<'static, Result<Event, Fault>>;

/// Somebody who answers requests: a server, several of them, a script in a
/// test.
pub trait Model: Debug + Send + Sync {
    /// Its name, for people.
    fn name(&self) -> &str;

    /// How many tokens a conversation may have, if that is known.
    fn window(&self) -> Option<u64>;

    /// Whether another model is asked if this one cannot answer.
    fn has_others(&self) -> bool {
        false
    }

    /// The last trouble with it that was not the end, and when that was. Whoever
    /// loses patience meanwhile can say why there is no answer.
    fn last_trouble(&self) -> Option<(Instant, String)> {
        None
    }

    /// Asks it. Nothing has been answered if this fails.
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Stream, Fault>>;
}

impl dyn Model {
    /// Asks it, and waits for the whole answer.
    pub async fn reply(&self, request: &Request) -> Result<Reply, Fault> {
        let mut stream = self.ask(request).await?;
        let mut gathering = Gathering::default();
        while let Some(event) = stream.next().await {
            gathering.add(&event?);
        }
        Ok(gathering.finish())
    }
}
