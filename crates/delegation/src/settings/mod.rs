//! What may be set.

mod read;

use std::time::Duration;

/// Tools that a sub-agent does not get: they speak to the user or to others in
/// the user's name, outlast the task, or make more of it than was asked.
pub const DEFAULT_BLOCKED_TOOLS: [&str; 7] =
    ["delegate_task", "clarify", "memory", "send_message", "execute_code", "repl", "cronjob"];

/// How sub-agents are made.
#[derive(Debug, Clone, PartialEq)]
pub struct DelegationSettings {
    /// The model of sub-agents, by its name in the configuration; none is that
    /// of their parent.
    pub model: Option<String>,
    /// How many sub-agents one agent has at work at a time; more wait.
    pub max_parallel: usize,
    /// How many agents may stand below the first one, one under the other.
    pub max_depth: u8,
    /// How often a sub-agent asks its model at most.
    pub max_rounds: u32,
    /// How long a sub-agent takes at most.
    pub time_limit: Option<Duration>,
    /// The most characters of one report.
    pub max_summary_chars: usize,
    /// Tools that sub-agents do not get.
    pub blocked: Vec<String>,
    /// Whether a sub-agent may have sub-agents, where the depth allows it.
    pub allow_orchestrators: bool,
    /// How many delegations may be at work in the background.
    pub max_background: usize,
}

impl Default for DelegationSettings {
    fn default() -> Self {
        Self {
            model: None,
            max_parallel: 3,
            max_depth: 2,
            max_rounds: 50,
            time_limit: None,
            max_summary_chars: 24_000,
            blocked: DEFAULT_BLOCKED_TOOLS.map(str::to_owned).to_vec(),
            allow_orchestrators: true,
            max_background: 8,
        }
    }
}

/// How several models answer one question.
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureSettings {
    /// The models that are asked, by their names in the configuration. Without
    /// any, the session's own model is asked at several temperatures.
    pub references: Vec<String>,
    /// The model that makes one answer of theirs; none is the session's own.
    pub aggregator: Option<String>,
    /// How often the references are asked; from the second time on they see
    /// the answers of the time before.
    pub layers: usize,
    /// How many references must have answered.
    pub min_answers: usize,
    /// How freely the references choose their words.
    pub reference_temperature: Option<f64>,
    /// The same for the aggregator.
    pub aggregator_temperature: Option<f64>,
    /// The temperatures at which one model is asked that stands for several.
    pub fallback_temperatures: Vec<f64>,
    /// The most tokens of each answer.
    pub max_tokens: u64,
    /// How long one answer may take.
    pub reply_timeout: Duration,
    /// How many are asked at a time.
    pub max_parallel: usize,
}

impl Default for MixtureSettings {
    fn default() -> Self {
        Self {
            references: Vec::new(),
            aggregator: None,
            layers: 1,
            min_answers: 1,
            reference_temperature: Some(0.6),
            aggregator_temperature: Some(0.4),
            fallback_temperatures: vec![0.2, 0.6, 1.0],
            max_tokens: 4_096,
            reply_timeout: Duration::from_secs(180),
            max_parallel: 8,
        }
    }
}
