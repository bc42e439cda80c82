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
mod board;
mod child;
mod crew;
mod delegate_task;
mod mixture;
mod order;
mod outfit;
mod prompt;
mod report;
mod settings;
mod text;
mod together;

use std::sync::Arc;

use hermes_core::{DynTool, erase};

pub use crew::{Child, Crew, Found, Serving, Supply};
pub use settings::{BLOCKED, Mixture, Settings};

/// The tools that hand work to others.
pub fn tools(crew: &Arc<Crew>) -> Vec<Arc<dyn DynTool>> {
    vec![
        erase(delegate_task::DelegateTask::new(Arc::clone(crew))),
        erase(mixture::MixtureOfAgents::new(Arc::clone(crew))),
    ]
}
