//! Budget of an agent. A sub-agent gets a part of what remains, and its usage
//! also counts for the parent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_llm::TokenUsage;
use parking_lot::{Mutex, MutexGuard};

/// Limits of a budget; `None` is unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BudgetLimits {
    /// Maximum rounds of model requests.
    pub rounds: Option<u32>,
    /// Maximum tool calls.
    pub calls: Option<u32>,
    /// Maximum tokens, input and output.
    pub tokens: Option<u64>,
    /// Maximum cost in dollars.
    pub cost: Option<f64>,
    /// Maximum duration.
    pub time: Option<Duration>,
}

/// Usage of a budget.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BudgetUsage {
    /// Rounds used, including those of sub-agents.
    pub rounds: u32,
    /// Model requests, including those of sub-agents.
    pub requests: u32,
    /// Tool calls made.
    pub calls: u32,
    /// Token usage.
    pub usage: TokenUsage,
}

/// A budget. Clones share one state.
#[derive(Debug, Clone)]
pub struct AgentBudget {
    inner: Arc<BudgetInner>,
}

#[derive(Debug)]
struct BudgetInner {
    limits: BudgetLimits,
    started_at: Instant,
    spent: Mutex<BudgetUsage>,
    parent: Option<AgentBudget>,
}

impl AgentBudget {
    /// Creates a budget without a parent.
    pub fn new(allowance: BudgetLimits) -> Self {
        Self::with_parent(allowance, None)
    }

    /// Creates a child budget, capped by what remains of this one.
    #[must_use]
    pub fn child(&self, wanted: BudgetLimits) -> Self {
        let left = self.remaining();
        let least = |a: Option<u32>, b: Option<u32>| a.into_iter().chain(b).min();
        let tokens = wanted.tokens.into_iter().chain(left.tokens).min();
        let cost = match (wanted.cost, left.cost) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.or(other),
        };
        let time = wanted.time.into_iter().chain(left.time).min();
        let rounds = least(wanted.rounds, left.rounds);
        let calls = least(wanted.calls, left.calls);
        Self::with_parent(BudgetLimits { rounds, calls, tokens, cost, time }, Some(self.clone()))
    }

    fn with_parent(allowance: BudgetLimits, parent: Option<AgentBudget>) -> Self {
        let inner = BudgetInner {
            limits: allowance,
            started_at: Instant::now(),
            spent: Mutex::default(),
            parent,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the usage so far.
    pub fn spent(&self) -> BudgetUsage {
        *self.lock()
    }

    /// Returns the deadline, the earliest of its own and its ancestors'.
    pub fn deadline(&self) -> Option<Instant> {
        let own = self.inner.limits.time.and_then(|time| self.inner.started_at.checked_add(time));
        let parent = self.inner.parent.as_ref().and_then(AgentBudget::deadline);
        own.into_iter().chain(parent).min()
    }

    /// Returns what remains.
    pub fn remaining(&self) -> BudgetLimits {
        let (may, spent) = (self.inner.limits, self.spent());
        let tokens = spent.usage.input + spent.usage.output;
        BudgetLimits {
            rounds: may.rounds.map(|most| most.saturating_sub(spent.rounds)),
            calls: may.calls.map(|most| most.saturating_sub(spent.calls)),
            tokens: may.tokens.map(|most| most.saturating_sub(tokens)),
            cost: may.cost.map(|most| (most - spent.usage.cost.unwrap_or_default()).max(0.0)),
            time: may.time.map(|most| most.saturating_sub(self.inner.started_at.elapsed())),
        }
    }

    /// Returns which limit is exhausted, as text.
    pub fn exhausted_reason(&self) -> Option<String> {
        let (may, left) = (self.inner.limits, self.remaining());
        let own = if left.rounds == Some(0) {
            Some(format!("{} rounds", may.rounds.unwrap_or_default()))
        } else if left.calls == Some(0) {
            Some(format!("{} tool calls", may.calls.unwrap_or_default()))
        } else if left.tokens == Some(0) {
            Some(format!("{} tokens", may.tokens.unwrap_or_default()))
        } else if left.cost.is_some_and(|cost| cost <= 0.0) {
            Some(format!("{} dollars", format_dollars(may.cost.unwrap_or_default())))
        } else if left.time == Some(Duration::ZERO) {
            Some(format!("{} seconds", may.time.unwrap_or_default().as_secs()))
        } else {
            None
        };
        own.or_else(|| self.inner.parent.as_ref()?.exhausted_reason())
    }

    /// Returns which limit is too low for `times` more requests like this one,
    /// as text. Requests of unknown price do not count towards the cost.
    pub fn shortfall(&self, request: TokenUsage, times: u32) -> Option<String> {
        let (may, left) = (self.inner.limits, self.remaining());
        let tokens = (request.input + request.output).saturating_mul(u64::from(times));
        let cost = request.cost.unwrap_or_default() * f64::from(times);
        let own = match (left.tokens, left.cost) {
            (Some(left), _) if left < tokens => {
                let most = may.tokens.unwrap_or_default();
                Some(format!("all but {left} of {most} tokens"))
            }
            (_, Some(left)) if left < cost => {
                let most = may.cost.unwrap_or_default();
                Some(format!(
                    "all but {} of {} dollars",
                    format_dollars(left),
                    format_dollars(most)
                ))
            }
            _ => None,
        };
        own.or_else(|| self.inner.parent.as_ref()?.shortfall(request, times))
    }

    /// Counts a round and its request.
    pub fn spend_round(&self) {
        let mut spent = self.lock();
        spent.rounds += 1;
        spent.requests += 1;
        drop(spent);
        if let Some(parent) = &self.inner.parent {
            parent.spend_round();
        }
    }

    /// Refunds the last round.
    pub fn refund_round(&self) {
        let mut spent = self.lock();
        spent.rounds = spent.rounds.saturating_sub(1);
        drop(spent);
        if let Some(parent) = &self.inner.parent {
            parent.refund_round();
        }
    }

    /// Counts tool calls.
    pub fn spend_calls(&self, calls: u32) {
        self.lock().calls += calls;
        if let Some(parent) = &self.inner.parent {
            parent.spend_calls(calls);
        }
    }

    /// Adds token usage.
    pub fn spend_usage(&self, usage: TokenUsage) {
        self.lock().usage += usage;
        if let Some(parent) = &self.inner.parent {
            parent.spend_usage(usage);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BudgetUsage> {
        self.inner.spent.lock()
    }
}

/// Formats dollars with cents, or with more digits for small amounts.
fn format_dollars(amount: f64) -> String {
    if amount >= 0.1 || amount <= 0.0 {
        return format!("{amount:.2}");
    }
    // Two significant digits.
    let digits = (1.0 - amount.log10().floor()).clamp(2.0, 9.0) as usize;
    let text = format!("{amount:.digits$}");
    let short = text.trim_end_matches('0');
    text.get(..short.len().max(4)).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{AgentBudget, BudgetLimits, format_dollars};

    #[test]
    fn the_rounds_of_a_child_are_rounds_of_its_parent() {
        let rounds = |rounds| BudgetLimits { rounds: Some(rounds), ..BudgetLimits::default() };
        let parent = AgentBudget::new(rounds(4));
        parent.spend_round();
        let child = parent.child(rounds(50));
        assert_eq!(child.remaining().rounds, Some(3), "no more than the parent has left");
        child.spend_round();
        child.spend_round();
        child.refund_round();
        assert_eq!(parent.remaining().rounds, Some(2));
        assert_eq!(parent.spent().requests, 3);
        let sibling = parent.child(rounds(1));
        parent.spend_round();
        parent.spend_round();
        assert_eq!(sibling.exhausted_reason(), Some("4 rounds".into()), "the parent has none left");
    }

    #[test]
    fn small_amounts_are_not_nothing() {
        let shown = [0.0, 12.0, 0.25, 0.05, 0.01, 0.004, 0.0006, 0.000_612].map(format_dollars);
        assert_eq!(shown, ["0.00", "12.00", "0.25", "0.05", "0.01", "0.004", "0.0006", "0.00061"]);
    }
}
