//! The judge of a session, which changes with each of its calls.

use std::fmt;
use std::sync::Arc;

use hermes_core::ConnectionJudge;
use parking_lot::RwLock;

type SharedJudge = Arc<dyn ConnectionJudge>;

/// The judge that decides about new connections. Clones share it; a connection
/// keeps the judge that it was judged by.
#[derive(Clone, Default)]
pub struct CurrentJudge {
    slot: Arc<RwLock<Option<SharedJudge>>>,
}

impl CurrentJudge {
    /// No judge; every connection is refused until one is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Has this judge decide from now on.
    pub fn set(&self, judge: Arc<dyn ConnectionJudge>) {
        *self.slot.write() = Some(judge);
    }

    /// Refuses every new connection from now on.
    pub fn clear(&self) {
        *self.slot.write() = None;
    }

    /// The judge, if there is one.
    pub fn get(&self) -> Option<Arc<dyn ConnectionJudge>> {
        self.slot.read().clone()
    }
}

impl fmt::Debug for CurrentJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentJudge").field("is_set", &self.get().is_some()).finish()
    }
}
