//! Tracks the pending requests of a client and the batches they came in, since
//! the responses to a batch are sent together.

use std::collections::HashMap;

use rmcp::model::RequestId;

/// Pending requests and batches.
#[derive(Debug, Default)]
pub(crate) struct PendingReplies {
    requests: HashMap<RequestId, Option<u64>>,
    batches: HashMap<u64, PendingBatch>,
    last_batch: u64,
}

/// A batch without a complete response.
#[derive(Debug, Default)]
struct PendingBatch {
    /// Requests without a response.
    unanswered: usize,
    /// Responses so far.
    replies: Vec<String>,
}

/// What to do with a response.
#[derive(Debug, PartialEq)]
pub(crate) enum ReplyRoute {
    /// Send it now.
    Immediate,
    /// Nothing: it waits for the rest of its batch.
    Held,
    /// Send this response for the whole batch, which is now complete.
    BatchComplete(String),
}

impl PendingReplies {
    /// Adds a request. Returns false if its id is pending already, since the
    /// response would be ambiguous.
    pub(crate) fn add(&mut self, id: &RequestId) -> bool {
        self.insert(id, None)
    }

    /// Starts an empty batch.
    pub(crate) fn begin_batch(&mut self) -> u64 {
        self.last_batch += 1;
        self.batches.insert(self.last_batch, PendingBatch::default());
        self.last_batch
    }

    /// Adds a request of a batch; returns false as [`Self::add`] does.
    pub(crate) fn add_to_batch(&mut self, batch: u64, id: &RequestId) -> bool {
        let is_new = self.insert(id, Some(batch));
        if is_new && let Some(batch) = self.batches.get_mut(&batch) {
            batch.unanswered += 1;
        }
        is_new
    }

    /// Adds a response to a batch.
    pub(crate) fn add_reply(&mut self, batch: u64, text: String) {
        if let Some(batch) = self.batches.get_mut(&batch) {
            batch.replies.push(text);
        }
    }

    /// Takes the response to a batch if it is complete.
    pub(crate) fn take_if_complete(&mut self, batch: u64) -> Option<String> {
        if self.batches.get(&batch)?.unanswered > 0 {
            return None;
        }
        let said = self.batches.remove(&batch)?.replies;
        // A batch of notifications gets no response.
        (!said.is_empty()).then(|| format!("[{}]", said.join(",")))
    }

    /// Completes a request. `text` is called only if the response is held.
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

    /// Drops a cancelled request, which gets no response. Returns the batch
    /// response that this completes.
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
