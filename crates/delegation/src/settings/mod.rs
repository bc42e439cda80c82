//! Settings of delegation and mixtures.

mod read;

use std::time::Duration;

/// Tools that sub-agents do not get: they contact the user or others on the
/// user's behalf, outlast the task, or extend its scope.
pub const DEFAULT_BLOCKED_TOOLS: [&str; 7] =
    ["delegate_task", "clarify", "memory", "send_message", "execute_code", "repl", "cronjob"];

/// Settings of sub-agents.
#[derive(Debug, Clone, PartialEq)]
pub struct DelegationSettings {
    /// Configured name of the sub-agents' model; `None` is the parent's model.
    pub model: Option<String>,
    /// Maximum concurrent sub-agents of one agent; more are queued.
    pub max_parallel: usize,
    /// Maximum nesting depth of sub-agents.
    pub max_depth: u8,
    /// Maximum model requests of a sub-agent.
    pub max_rounds: u32,
    /// Time limit of a sub-agent.
    pub time_limit: Option<Duration>,
    /// Maximum characters of a report.
    pub max_summary_chars: usize,
    /// Tools that sub-agents do not get.
    pub blocked: Vec<String>,
    /// Toolsets of a sub-agent whose call names none; `None` is all of its
    /// parent's.
    pub default_toolsets: Option<Vec<String>>,
    /// Whether a sub-agent may have sub-agents, within the maximum depth.
    pub allow_orchestrators: bool,
    /// Maximum concurrent background delegations.
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
            default_toolsets: None,
            allow_orchestrators: true,
            max_background: 8,
        }
    }
}

/// Settings of `mixture_of_agents`.
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureSettings {
    /// Configured names of the reference models. If empty, the session's model
    /// is asked at several temperatures.
    pub references: Vec<String>,
    /// The model that merges the answers; `None` is the session's model.
    pub aggregator: Option<String>,
    /// Number of rounds; from the second on, references see the answers of the
    /// previous round.
    pub layers: usize,
    /// Minimum number of references that must answer.
    pub min_answers: usize,
    /// Temperature of the references.
    pub reference_temperature: Option<f64>,
    /// Temperature of the aggregator.
    pub aggregator_temperature: Option<f64>,
    /// Temperatures for the session's model when no references are configured.
    pub fallback_temperatures: Vec<f64>,
    /// Maximum tokens of each answer.
    pub max_tokens: u64,
    /// Timeout of one answer.
    pub reply_timeout: Duration,
    /// Maximum concurrent requests.
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
