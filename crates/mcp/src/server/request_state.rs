//! Questions that go out with an answer and come back with the next request.
//! What comes back went through the client's hands, so it is sealed.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{RequestStateCodec, RequestStateError, SealOptions};
use serde::{Deserialize, Serialize};

use super::secret;

/// How long somebody may think about a question.
const STATE_TTL: Duration = Duration::from_secs(600);

/// Seals that are remembered as used.
const MAX_USED_STATES: usize = 10_000;

pub(crate) struct RequestStates {
    codec: RequestStateCodec,
    next: AtomicU64,
    used: Mutex<HashMap<u64, Instant>>,
}

#[derive(Serialize, Deserialize)]
struct SealedState {
    number: u64,
}

impl RequestStates {
    /// Its key lives as long as the program.
    pub(crate) fn new() -> io::Result<Self> {
        let codec = RequestStateCodec::try_new(secret::random_bytes::<32>()?)
            .map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self { codec, next: AtomicU64::new(0), used: Mutex::default() })
    }

    /// A seal for questions about this.
    pub(crate) fn seal(&self, about: &[u8]) -> Result<String, ErrorData> {
        let state = SealedState { number: self.next.fetch_add(1, Ordering::Relaxed) };
        let options = SealOptions::new().associated_data(about).ttl(STATE_TTL);
        let sealed = self.codec.seal_json_with(&state, &options);
        sealed.map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// Whether the answers that come with a seal count: once, and not too
    /// late. A seal that is not ours, or is about something else, is an error.
    pub(crate) fn redeem(&self, sealed: &str, about: &[u8]) -> Result<bool, ErrorData> {
        let state: SealedState = match self.codec.open_json_with(sealed, about) {
            Ok(state) => state,
            Err(RequestStateError::Expired) => return Ok(false),
            Err(error) => return Err(ErrorData::invalid_params(error.to_string(), None)),
        };
        let mut used = self.used.lock();
        if used.len() >= MAX_USED_STATES {
            used.retain(|_, at| at.elapsed() < STATE_TTL);
        }
        Ok(used.len() < MAX_USED_STATES && used.insert(state.number, Instant::now()).is_none())
    }
}

impl fmt::Debug for RequestStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replies").field("next", &self.next).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "request_state_tests.rs"]
mod tests;
