//! What may be set.

mod read;

use std::time::Duration;

/// Tools that a sub-agent does not get: they speak to the user or to others in
/// the user's name, outlast the task, or make more of it than was asked.
pub const BLOCKED: [&str; 7] =
    ["delegate_task", "clarify", "memory", "send_message", "execute_code", "repl", "cronjob"];

/// How sub-agents are made.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The model of sub-agents, by its name in the configuration; none is that
    /// of their parent.
    pub model: Option<String>,
    /// How many sub-agents one agent has at work at a time; more wait.
    pub at_once: usize,
    /// How many agents may stand below the first one, one under the other.
    pub depth: u8,
    /// How often a sub-agent asks its model at most.
    pub rounds: u32,
    /// How long a sub-agent takes at most.
    pub time: Option<Duration>,
    /// The most characters of one report.
    pub summary: usize,
    /// Tools that sub-agents do not get.
    pub blocked: Vec<String>,
    /// Whether a sub-agent may have sub-agents, where the depth allows it.
    pub orchestrators: bool,
    /// How many delegations may be at work in the background.
    pub background: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: None,
            at_once: 3,
            depth: 2,
            rounds: 50,
            time: None,
            summary: 24_000,
            blocked: BLOCKED.map(str::to_owned).to_vec(),
            orchestrators: true,
            background: 8,
        }
    }
}

/// How several models answer one question.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture {
    /// The models that are asked, by their names in the configuration. Without
    /// any, the session's own model is asked at several temperatures.
    pub references: Vec<String>,
    /// The model that makes one answer of theirs; none is the session's own.
    pub aggregator: Option<String>,
    /// How often the references are asked; from the second time on they see
    /// the answers of the time before.
    pub layers: usize,
    /// How many references must have answered.
    pub least: usize,
    /// How freely the references choose their words.
    pub reference_temperature: Option<f64>,
    /// The same for the aggregator.
    pub aggregator_temperature: Option<f64>,
    /// The temperatures at which one model is asked that stands for several.
    pub spread: Vec<f64>,
    /// The most tokens of each answer.
    pub max_tokens: u64,
    /// How long one answer may take.
    pub patience: Duration,
    /// How many are asked at a time.
    pub at_once: usize,
}

impl Default for Mixture {
    fn default() -> Self {
        Self {
            references: Vec::new(),
            aggregator: None,
            layers: 1,
            least: 1,
            reference_temperature: Some(0.6),
            aggregator_temperature: Some(0.4),
            spread: vec![0.2, 0.6, 1.0],
            max_tokens: 4_096,
            patience: Duration::from_secs(180),
            at_once: 8,
        }
    }
}
