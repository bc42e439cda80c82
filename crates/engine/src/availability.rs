//! Availability of tools. Checks run concurrently, each with a timeout, and
//! their results are cached.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use hermes_core::Availability;
use parking_lot::Mutex;
use tokio_util::task::AbortOnDropHandle;

use crate::entry::ToolEntry;

/// How long a result is cached.
pub const AVAILABILITY_TTL: Duration = Duration::from_secs(30);

/// How long failures of a tool that recently worked are ignored: one slow probe
/// must not remove tools from a session that is starting.
pub const FAILURE_GRACE: Duration = Duration::from_secs(60);

/// How long an ignored failure is cached: long enough that a batch does not
/// wait for the same hung check repeatedly.
const SUPPRESSED_FAILURE_TTL: Duration = Duration::from_secs(5);

/// Above this many cached results, stale ones are pruned.
const MAX_CACHED_CHECKS: usize = 4096;

/// Timeout of a check.
pub const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Looks up an environment variable.
pub type EnvLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

#[derive(Debug, Clone)]
struct CachedCheck {
    // Identifies the registration: a new tool of the same name is checked
    // again.
    entry: u64,
    value: Availability,
    checked_at: Instant,
    last_good: Option<Instant>,
}

/// Cached results of the availability checks.
pub struct AvailabilityCache {
    answers: Mutex<HashMap<Arc<str>, CachedCheck>>,
    env_lookup: EnvLookup,
}

impl AvailabilityCache {
    /// Creates an empty cache; checks look up variables with `variable`.
    pub fn new(variable: EnvLookup) -> Self {
        Self { answers: Mutex::default(), env_lookup: variable }
    }

    /// Drops all cached results.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Returns the availability of one tool. A recent positive result is not
    /// rechecked.
    pub async fn availability(&self, entry: &Arc<ToolEntry>) -> Availability {
        let fresh = {
            let answers = self.lock();
            answers.get(entry.name()).is_some_and(|answer| {
                answer.entry == entry.id()
                    && answer.value.is_ready()
                    && answer.checked_at.elapsed() < AVAILABILITY_TTL
            })
        };
        if fresh {
            return Availability::Ready;
        }
        self.availabilities(std::slice::from_ref(entry))
            .await
            .0
            .pop()
            .unwrap_or(Availability::Ready)
    }

    /// Returns the availability of these tools, in order, and when it expires.
    pub async fn availabilities(&self, entries: &[Arc<ToolEntry>]) -> (Vec<Availability>, Instant) {
        self.availabilities_at(entries, Instant::now()).await
    }

    async fn availabilities_at(
        &self,
        entries: &[Arc<ToolEntry>],
        now: Instant,
    ) -> (Vec<Availability>, Instant) {
        let known: Vec<Option<CachedCheck>> = {
            let answers = self.lock();
            entries
                .iter()
                .map(|e| answers.get(e.name()).filter(|a| a.entry == e.id()).cloned())
                .collect()
        };
        let fresh = |answer: &Option<CachedCheck>| {
            answer
                .as_ref()
                .is_some_and(|a| now.saturating_duration_since(a.checked_at) < AVAILABILITY_TTL)
        };
        let probes = entries
            .iter()
            .zip(&known)
            .filter(|(_, answer)| !fresh(answer))
            .map(|(entry, _)| self.probe(entry));
        let mut probed = join_all(probes).await.into_iter();

        let mut until = now + AVAILABILITY_TTL;
        let mut states = Vec::with_capacity(entries.len());
        let mut answers = self.lock();
        if answers.len() > MAX_CACHED_CHECKS {
            answers.retain(|_, a| now.saturating_duration_since(a.checked_at) < FAILURE_GRACE);
        }
        for (entry, answer) in entries.iter().zip(known) {
            if let Some(answer) = answer.clone().filter(|_| fresh(&answer)) {
                until = until.min(answer.checked_at + AVAILABILITY_TTL);
                states.push(answer.value);
                continue;
            }
            let value = probed.next().unwrap_or(Availability::Ready);
            let last_good = answer.and_then(|a| a.last_good);
            let spared =
                last_good.is_some_and(|at| now.saturating_duration_since(at) < FAILURE_GRACE);
            if !value.is_ready() && spared {
                // Cached only briefly, so the tool is soon probed again.
                until = until.min(now + SUPPRESSED_FAILURE_TTL);
                let asked =
                    (now + SUPPRESSED_FAILURE_TTL).checked_sub(AVAILABILITY_TTL).unwrap_or(now);
                let kept = CachedCheck {
                    entry: entry.id(),
                    value: Availability::Ready,
                    checked_at: asked,
                    last_good,
                };
                answers.insert(entry.name().into(), kept);
                states.push(Availability::Ready);
                continue;
            }
            let last_good = if value.is_ready() { Some(now) } else { last_good };
            let kept =
                CachedCheck { entry: entry.id(), value: value.clone(), checked_at: now, last_good };
            answers.insert(entry.name().into(), kept);
            states.push(value);
        }
        (states, until)
    }

    async fn probe(&self, entry: &Arc<ToolEntry>) -> Availability {
        let missing: Vec<&str> = entry
            .spec()
            .requires_env
            .iter()
            .map(|name| &**name)
            .filter(|name| (self.env_lookup)(name).is_none_or(|value| value.is_empty()))
            .collect();
        if !missing.is_empty() {
            let names = missing.join(", ");
            return Availability::missing(
                format!("{names} is not set"),
                format!(
                    "Set {names} in the environment or in the .env file in the hermes home \
                    directory."
                ),
            );
        }
        // A check that panics or hangs counts as unavailable.
        let tool = Arc::clone(entry.tool());
        let check = AbortOnDropHandle::new(tokio::spawn(async move { tool.check().await }));
        match tokio::time::timeout(CHECK_TIMEOUT, check).await {
            Ok(Ok(state)) => state,
            Ok(Err(_)) => Availability::missing(
                "its availability check crashed",
                "This is a bug in the tool.",
            ),
            Err(_) => Availability::missing(
                format!("its availability check timed out after {} s", CHECK_TIMEOUT.as_secs()),
                "Check that the service it depends on is running.",
            ),
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, HashMap<Arc<str>, CachedCheck>> {
        self.answers.lock()
    }
}

impl fmt::Debug for AvailabilityCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AvailabilityCache({} answers)", self.lock().len())
    }
}

#[cfg(test)]
#[path = "availability_tests.rs"]
mod tests;
