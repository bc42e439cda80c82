//! Delegation to other models: sub-agents with a share of the budget, and one
//! question to several models.
//!
//! ```text
//! tools ── delegate_task ── SubagentPool ─┬─ SubagentHost   models, journals, approver
//!      │        │                         ├─ PoolGuard      keeps the engine alive
//!      │        └─ PreparedTask → sub-agents → SubagentReport
//!      └── mixture_of_agents ── references → aggregator
//! ```

mod background;
mod delegate_task;
mod mixture;
mod output_schema;
mod pool;
mod progress_board;
mod prompt;
mod report;
mod rounding;
mod run_tasks;
mod settings;
mod subagent;
mod task;
mod toolset;

use std::sync::Arc;

use hermes_core::{DynTool, erase};

pub use pool::{ModelLookup, PoolGuard, SubagentHost, SubagentPool, SubagentSpec};
pub use settings::{DEFAULT_BLOCKED_TOOLS, DelegationSettings, MixtureSettings};

/// Returns the delegation tools.
pub fn tools(pool: &Arc<SubagentPool>) -> Vec<Arc<dyn DynTool>> {
    vec![
        erase(delegate_task::DelegateTask::new(Arc::clone(pool))),
        erase(mixture::MixtureOfAgents::new(Arc::clone(pool))),
    ]
}
