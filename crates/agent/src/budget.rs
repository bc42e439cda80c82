//! How much an agent may use. A sub-agent gets a part of what is left, and
//! what it uses is used for its parent as well.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_llm::TokenUsage;
use parking_lot::{Mutex, MutexGuard};

/// What may be used; none is as much as there is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BudgetLimits {
    /// How often the model is asked.
    pub rounds: Option<u32>,
    /// How many tool calls are made.
    pub calls: Option<u32>,
    /// Tokens, sent and answered.
    pub tokens: Option<u64>,
    /// Dollars.
    pub cost: Option<f64>,
    /// How long it takes.
    pub time: Option<Duration>,
}

/// What was used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BudgetUsage {
    /// How many of its rounds are used up.
    pub rounds: u32,
    /// How often a model was asked, by those below it, too.
    pub requests: u32,
    /// How many tool calls were made.
    pub calls: u32,
    /// What the model took.
    pub usage: TokenUsage,
}

/// A budget. Clones are the same budget.
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
    /// A budget of its own.
    pub fn new(allowance: BudgetLimits) -> Self {
        Self::with_parent(allowance, None)
    }

    /// A part of this one: never more than is left of it.
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
        // How often a child asks its model is its own affair; the rest is not.
        let rounds = wanted.rounds;
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

    /// What was used.
    pub fn spent(&self) -> BudgetUsage {
        *self.lock()
    }

    /// When its time is up.
    pub fn deadline(&self) -> Option<Instant> {
        let own = self.inner.limits.time.and_then(|time| self.inner.started_at.checked_add(time));
        let parent = self.inner.parent.as_ref().and_then(AgentBudget::deadline);
        own.into_iter().chain(parent).min()
    }

    /// What is left.
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

    /// What there is none left of, in words.
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
        own.or_else(|| {
            let parent = self.inner.parent.as_ref()?;
            // A parent that waits for its children does not count their rounds.
            (parent.remaining().rounds != Some(0)).then(|| parent.exhausted_reason())?
        })
    }

    /// What there is too little left of for so many requests like this one, in
    /// words. What a request costs that nobody knows the price of does not count.
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

    /// The model was asked.
    pub fn spend_round(&self) {
        self.lock().rounds += 1;
        self.count_request();
    }

    /// Rounds are each agent's own; what was asked is counted for the whole tree,
    /// as calls and tokens are.
    fn count_request(&self) {
        self.lock().requests += 1;
        if let Some(parent) = &self.inner.parent {
            parent.count_request();
        }
    }

    /// The last round does not count.
    pub fn refund_round(&self) {
        let mut spent = self.lock();
        spent.rounds = spent.rounds.saturating_sub(1);
    }

    /// Calls were made.
    pub fn spend_calls(&self, calls: u32) {
        self.lock().calls += calls;
        if let Some(parent) = &self.inner.parent {
            parent.spend_calls(calls);
        }
    }

    /// The model has taken this.
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

/// An amount of dollars with its cents, or as many digits as a small one needs.
fn format_dollars(amount: f64) -> String {
    if amount >= 0.1 || amount <= 0.0 {
        return format!("{amount:.2}");
    }
    // Two digits that say something.
    let digits = (1.0 - amount.log10().floor()).clamp(2.0, 9.0) as usize;
    let text = format!("{amount:.digits$}");
    let short = text.trim_end_matches('0');
    text.get(..short.len().max(4)).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::format_dollars;

    #[test]
    fn small_amounts_are_not_nothing() {
        let shown = [0.0, 12.0, 0.25, 0.05, 0.01, 0.004, 0.0006, 0.000_612].map(format_dollars);
        assert_eq!(shown, ["0.00", "12.00", "0.25", "0.05", "0.01", "0.004", "0.0006", "0.00061"]);
    }
}
