//! The requests of a client that are not answered yet, and which of them came
//! together: those are answered together.

use std::collections::HashMap;

use rmcp::model::RequestId;

/// What is still to be answered.
#[derive(Debug, Default)]
pub(crate) struct PendingReplies {
    requests: HashMap<RequestId, Option<u64>>,
    batches: HashMap<u64, PendingBatch>,
    last_batch: u64,
}

/// Several messages that came as one.
#[derive(Debug, Default)]
struct PendingBatch {
    /// Requests whose answers are not there.
    unanswered: usize,
    /// Answers that are.
    replies: Vec<String>,
}

/// Where an answer goes.
#[derive(Debug, PartialEq)]
pub(crate) enum ReplyRoute {
    /// It is sent as it is.
    Immediate,
    /// It waits for others.
    Held,
    /// It was the last that was waited for; this is sent for all of them.
    BatchComplete(String),
}

impl PendingReplies {
    /// Notes a request. False if one of this id waits for its answer already:
    /// nobody could tell which of them is answered.
    pub(crate) fn add(&mut self, id: &RequestId) -> bool {
        self.insert(id, None)
    }

    /// Notes a batch, of which nothing is known yet.
    pub(crate) fn begin_batch(&mut self) -> u64 {
        self.last_batch += 1;
        self.batches.insert(self.last_batch, PendingBatch::default());
        self.last_batch
    }

    /// Notes a request of a batch; false as for `begin`.
    pub(crate) fn add_to_batch(&mut self, batch: u64, id: &RequestId) -> bool {
        let is_new = self.insert(id, Some(batch));
        if is_new && let Some(batch) = self.batches.get_mut(&batch) {
            batch.unanswered += 1;
        }
        is_new
    }

    /// Adds to what is said to a batch.
    pub(crate) fn add_reply(&mut self, batch: u64, text: String) {
        if let Some(batch) = self.batches.get_mut(&batch) {
            batch.replies.push(text);
        }
    }

    /// The answer to a batch, if there is no more to wait for.
    pub(crate) fn take_if_complete(&mut self, batch: u64) -> Option<String> {
        if self.batches.get(&batch)?.unanswered > 0 {
            return None;
        }
        let said = self.batches.remove(&batch)?.replies;
        // Nothing is said where nothing was asked.
        (!said.is_empty()).then(|| format!("[{}]", said.join(",")))
    }

    /// A request is answered. `text` is asked for only where it has to wait.
    pub(crate) fn complete(
        &mut self,
        id: &RequestId,
        text: impl FnOnce() -> Option<String>,
    ) -> ReplyRoute {
        let Some(Some(batch)) = self.requests.remove(id) else { return ReplyRoute::Immediate };
        let Some(waiting) = self.batches.get_mut(&batch) else { return ReplyRoute::Immediate };
        waiting.unanswered = waiting.unanswered.saturating_sub(1);
        waiting.replies.extend(text());
        self.take_if_complete(batch).map_or(ReplyRoute::Held, ReplyRoute::BatchComplete)
    }

    /// A request that its client has given up is not answered. What is
    /// returned is sent to the others of its batch.
    pub(crate) fn cancel(&mut self, id: &RequestId) -> Option<String> {
        match self.complete(id, || None) {
            ReplyRoute::BatchComplete(text) => Some(text),
            ReplyRoute::Immediate | ReplyRoute::Held => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    fn insert(&mut self, id: &RequestId, batch: Option<u64>) -> bool {
        if self.requests.contains_key(id) {
            return false;
        }
        self.requests.insert(id.clone(), batch);
        true
    }
}

#[cfg(test)]
#[path = "pending_tests.rs"]
mod tests;
