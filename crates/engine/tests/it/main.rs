//! The engine through its public door.
#![allow(clippy::unwrap_used)]

mod aliases;
mod batches;
mod bounds;
mod bulk;
mod checkpoints;
mod definitions;
mod pipeline;
mod registry;
mod screening;

use std::sync::Arc;

use hermes_core::DynTool;
use hermes_engine::{Caller, Engine, EngineBuilder, LoopGuardSettings};

/// An engine with these tools, in a folder of its own.
fn engine(tools: Vec<Arc<dyn DynTool>>) -> (Engine, Caller, tempfile::TempDir) {
    built(Engine::builder().tools(tools))
}

/// The same from a builder.
fn built(builder: EngineBuilder) -> (Engine, Caller, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let engine = builder
        .analyzer(std::sync::Arc::new(hermes_policy::ShellAnalyzer))
        .spill_to(dir.path().join("spill"))
        .build()
        .unwrap();
    let caller = Caller::new(dir.path());
    (engine, caller, dir)
}

/// A guard that says nothing.
const NO_GUARD: LoopGuardSettings = LoopGuardSettings { warn: None, stop: None };
