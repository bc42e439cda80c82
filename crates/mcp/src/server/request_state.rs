//! State of questions that are sent with a result and come back with the next
//! request. It passes through the client, so it is sealed.

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

/// How long a question may be answered.
const STATE_TTL: Duration = Duration::from_secs(600);

/// Maximum number of used seals that are remembered.
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
    /// Creates a key that lives as long as the process.
    pub(crate) fn new() -> io::Result<Self> {
        let codec = RequestStateCodec::try_new(secret::random_bytes::<32>()?)
            .map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self { codec, next: AtomicU64::new(0), used: Mutex::default() })
    }

    /// Seals a state bound to `about`.
    pub(crate) fn seal(&self, about: &[u8]) -> Result<String, ErrorData> {
        let state = SealedState { number: self.next.fetch_add(1, Ordering::Relaxed) };
        let options = SealOptions::new().associated_data(about).ttl(STATE_TTL);
        let sealed = self.codec.seal_json_with(&state, &options);
        sealed.map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// Whether the answers that come with a seal are valid: once, and before it
    /// expires. A foreign seal, or one bound to other data, is an error.
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
        f.debug_struct("RequestStates").field("next", &self.next).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "request_state_tests.rs"]
mod tests;
