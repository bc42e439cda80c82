//! The current connection judge of a session, replaced with each call.

use std::fmt;
use std::sync::Arc;

use hermes_core::ConnectionJudge;
use parking_lot::RwLock;

type SharedJudge = Arc<dyn ConnectionJudge>;

/// The judge that decides about new connections. Clones share it; an
/// established connection keeps the judge that allowed it.
#[derive(Clone, Default)]
pub struct CurrentJudge {
    slot: Arc<RwLock<Option<SharedJudge>>>,
}

impl CurrentJudge {
    /// Creates it without a judge; connections are refused until one is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the judge for new connections.
    pub fn set(&self, judge: Arc<dyn ConnectionJudge>) {
        *self.slot.write() = Some(judge);
    }

    /// Removes the judge; new connections are refused.
    pub fn clear(&self) {
        *self.slot.write() = None;
    }

    /// Returns the judge, if one is set.
    pub fn get(&self) -> Option<Arc<dyn ConnectionJudge>> {
        self.slot.read().clone()
    }
}

impl fmt::Debug for CurrentJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentJudge").field("is_set", &self.get().is_some()).finish()
    }
}
