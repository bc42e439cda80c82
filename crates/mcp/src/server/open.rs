//! The requests of a client that are not answered yet, and which of them came
//! together: those are answered together.

use std::collections::HashMap;

use rmcp::model::RequestId;

/// What is still to be answered.
#[derive(Debug, Default)]
pub(crate) struct Open {
    requests: HashMap<RequestId, Option<u64>>,
    batches: HashMap<u64, Batch>,
    made: u64,
}

/// Several messages that came as one.
#[derive(Debug, Default)]
struct Batch {
    /// Requests whose answers are not there.
    left: usize,
    /// Answers that are.
    said: Vec<String>,
}

/// Where an answer goes.
#[derive(Debug, PartialEq)]
pub(crate) enum Place {
    /// It is sent as it is.
    Alone,
    /// It waits for others.
    Kept,
    /// It was the last that was waited for; this is sent for all of them.
    Together(String),
}

impl Open {
    /// Notes a request. False if one of this id waits for its answer already:
    /// nobody could tell which of them is answered.
    pub(crate) fn begin(&mut self, id: &RequestId) -> bool {
        self.enter(id, None)
    }

    /// Notes a batch, of which nothing is known yet.
    pub(crate) fn begin_batch(&mut self) -> u64 {
        self.made += 1;
        self.batches.insert(self.made, Batch::default());
        self.made
    }

    /// Notes a request of a batch; false as for `begin`.
    pub(crate) fn begin_in(&mut self, batch: u64, id: &RequestId) -> bool {
        let is_new = self.enter(id, Some(batch));
        if is_new && let Some(batch) = self.batches.get_mut(&batch) {
            batch.left += 1;
        }
        is_new
    }

    /// Adds to what is said to a batch.
    pub(crate) fn say_in(&mut self, batch: u64, text: String) {
        if let Some(batch) = self.batches.get_mut(&batch) {
            batch.said.push(text);
        }
    }

    /// The answer to a batch, if there is no more to wait for.
    pub(crate) fn finish(&mut self, batch: u64) -> Option<String> {
        if self.batches.get(&batch)?.left > 0 {
            return None;
        }
        let said = self.batches.remove(&batch)?.said;
        // Nothing is said where nothing was asked.
        (!said.is_empty()).then(|| format!("[{}]", said.join(",")))
    }

    /// A request is answered. `text` is asked for only where it has to wait.
    pub(crate) fn answer(
        &mut self,
        id: &RequestId,
        text: impl FnOnce() -> Option<String>,
    ) -> Place {
        let Some(Some(batch)) = self.requests.remove(id) else { return Place::Alone };
        let Some(waiting) = self.batches.get_mut(&batch) else { return Place::Alone };
        waiting.left = waiting.left.saturating_sub(1);
        waiting.said.extend(text());
        self.finish(batch).map_or(Place::Kept, Place::Together)
    }

    /// A request that its client has given up is not answered. What is
    /// returned is sent to the others of its batch.
    pub(crate) fn give_up(&mut self, id: &RequestId) -> Option<String> {
        match self.answer(id, || None) {
            Place::Together(text) => Some(text),
            Place::Alone | Place::Kept => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    fn enter(&mut self, id: &RequestId, batch: Option<u64>) -> bool {
        if self.requests.contains_key(id) {
            return false;
        }
        self.requests.insert(id.clone(), batch);
        true
    }
}

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
