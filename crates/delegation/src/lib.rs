//! Tasks for other agents: sub-agents with a part of the budget, several
//! models on one question.
//!
//! ```text
//! tools ── delegate_task ── Crew ─┬─ Supply    models, journals, who is asked
//!      │        │                 ├─ Serving   the engine, as long as it is there
//!      │        └─ orders → children (agents of their own) → reports
//!      └── mixture_of_agents ── references → aggregator
//! ```

mod background;
mod delegate_task;
mod mixture;
mod pool;
mod progress_board;
mod prompt;
mod report;
mod run_tasks;
mod settings;
mod subagent;
mod task;
mod text;
mod toolset;

use std::sync::Arc;

use hermes_core::{DynTool, erase};

pub use pool::{ModelLookup, PoolGuard, SubagentHost, SubagentPool, SubagentSpec};
pub use settings::{DEFAULT_BLOCKED_TOOLS, DelegationSettings, MixtureSettings};

/// The tools that hand work to others.
pub fn tools(crew: &Arc<SubagentPool>) -> Vec<Arc<dyn DynTool>> {
    vec![
        erase(delegate_task::DelegateTask::new(Arc::clone(crew))),
        erase(mixture::MixtureOfAgents::new(Arc::clone(crew))),
    ]
}
