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
mod progress_board;
mod subagent;
mod pool;
mod delegate_task;
mod mixture;
mod task;
mod toolset;
mod prompt;
mod report;
mod settings;
mod text;
mod run_tasks;

use std::sync::Arc;

use hermes_core::{DynTool, erase};

pub use pool::{SubagentSpec, SubagentPool, ModelLookup, PoolGuard, SubagentHost};
pub use settings::{DEFAULT_BLOCKED_TOOLS, MixtureSettings, DelegationSettings};

/// The tools that hand work to others.
pub fn tools(crew: &Arc<SubagentPool>) -> Vec<Arc<dyn DynTool>> {
    vec![
        erase(delegate_task::DelegateTask::new(Arc::clone(crew))),
        erase(mixture::MixtureOfAgents::new(Arc::clone(crew))),
    ]
}
