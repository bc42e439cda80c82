//! The way of one call: ten stages, each a file of its own.
//!
//! ```text
//!  1 snapshot   the registry as it is now            (Flight::board)
//!  2 resolve    name and argument text → tool        resolve.rs
//!              (can it work here? else `unavailable`)
//!  3 coerce     arguments by schema                  arguments.rs
//!  4 validate   JSON Schema                          arguments.rs
//!  5 effects    what it will do                      effects.rs
//!  6 inspect    policy, loop guard, hooks            inspect.rs
//!  7 approve    somebody is asked                    approve.rs
//!  8 run        deadline, cancellation, panics       run.rs
//!  9 bound      framing stripped, oversize spilled   bound.rs
//! 10 record     audit, usage                         record.rs
//! ```
//!
//! Stages 1 to 5 look at nothing but the call, so a whole batch can be
//! planned before any of it runs; 6 to 10 happen when a call's turn comes.

mod approve;
mod arguments;
mod bound;
mod effects;
mod inspect;
mod record;
mod resolve;
mod run;

use std::sync::Arc;
use std::time::Instant;

use hermes_core::{
    Availability, BoundCall, Disposition, Effect, Host, ToolCall, ToolError, ToolResult, Verdict,
    Workplace,
};
use serde_json::Value;

use crate::caller::Caller;
use crate::engine::Inner;
use crate::entry::Entry;
use crate::registry::Snapshot;

/// A batch under way: what every call of it shares.
pub(crate) struct Flight {
    pub(crate) engine: Arc<Inner>,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) caller: Caller,
    pub(crate) workplace: Arc<Workplace>,
    pub(crate) host: Arc<dyn Host>,
}

/// A call that is ready to run once its turn comes.
pub(crate) struct Prepared {
    pub(crate) call_id: String,
    pub(crate) entry: Arc<Entry>,
    pub(crate) arguments: Value,
    pub(crate) bound: Box<dyn BoundCall>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) coerced: Vec<String>,
    pub(crate) hook_verdict: Verdict,
    pub(crate) started: Instant,
}

/// How a call ended, before it is bounded and recorded.
pub(crate) struct Landed {
    pub(crate) outcome: Result<(String, Vec<hermes_core::Attachment>), ToolError>,
    pub(crate) disposition: Disposition,
}

impl Landed {
    fn refused(error: ToolError) -> Self {
        Self { outcome: Err(error), disposition: Disposition::NotRun }
    }
}

impl Flight {
    /// Stage 1: what this batch sees stays as it is, whatever changes meanwhile.
    pub(crate) fn board(engine: &Arc<Inner>, caller: &Caller, host: Arc<dyn Host>) -> Arc<Self> {
        Arc::new(Self {
            engine: Arc::clone(engine),
            snapshot: engine.registry.snapshot(),
            caller: caller.clone(),
            workplace: Arc::new(caller.workplace()),
            host,
        })
    }

    /// Stages 2 to 5. A call that cannot be made is answered at once.
    pub(crate) async fn prepare(&self, call: ToolCall) -> Result<Prepared, ToolResult> {
        let started = Instant::now();
        let call_id = call.id.clone();
        let written = call.name.clone();
        let resolved = match resolve::resolve(&self.snapshot, self.caller.scope.as_deref(), call) {
            Ok(resolved) => resolved,
            Err(error) => return Err(self.refuse(&call_id, &written, &error, started)),
        };
        let entry = Arc::clone(&resolved.entry);
        match self.prepare_resolved(call_id.clone(), resolved, started).await {
            Ok(prepared) => Ok(prepared),
            Err(error) => Err(self.refuse(&call_id, entry.name(), &error, started)),
        }
    }

    async fn prepare_resolved(
        &self,
        call_id: String,
        resolved: resolve::Resolved,
        started: Instant,
    ) -> Result<Prepared, ToolError> {
        let resolve::Resolved { entry, arguments, mut notes, guessed } = resolved;
        if let Availability::Missing { reason, fix } = self.engine.checks.state(&entry).await {
            let message = format!("{} cannot be used here: {reason}", entry.name());
            return Err(ToolError::unavailable(message).with_hint(fix));
        }
        let mut arguments = arguments::fit(&entry, arguments, &mut notes)?;
        if guessed {
            arguments::refuse_guess(&entry)?;
        }
        let (rewritten, hook_verdict) = self.ask_hooks(&call_id, &entry, &arguments).await;
        if let Some(rewritten) = rewritten {
            arguments = arguments::fit(&entry, rewritten, &mut notes)?;
        }
        let (bound, effects) = effects::declare(&entry, &arguments, &self.workplace)?;
        Ok(Prepared {
            call_id,
            entry,
            arguments,
            bound,
            effects,
            coerced: notes,
            hook_verdict,
            started,
        })
    }

    /// Stages 6 to 10.
    pub(crate) async fn execute(self: Arc<Self>, prepared: Prepared) -> ToolResult {
        let Prepared { call_id, entry, arguments, bound, effects, coerced, hook_verdict, started } =
            prepared;
        let footprint = self.footprint(&entry, &arguments);
        let landed = match self
            .clear(&call_id, &entry, &arguments, &effects, footprint.as_ref(), hook_verdict)
            .await
        {
            Ok(()) => self.run(&call_id, &entry, bound).await,
            Err(error) => Landed::refused(error),
        };
        let mut result = self.bound(&call_id, &entry, landed);
        result.coerced = coerced;
        result.duration = started.elapsed();
        self.finish(&entry, &arguments, &effects, footprint.as_ref(), result).await
    }

    /// Stages 6 and 7: may it go on?
    async fn clear(
        &self,
        call_id: &str,
        entry: &Entry,
        arguments: &Value,
        effects: &[Effect],
        footprint: Option<&crate::guard::Footprint>,
        hook_verdict: Verdict,
    ) -> Result<(), ToolError> {
        if self.caller.cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        let verdict = self.inspect(entry, arguments, effects, footprint, hook_verdict);
        self.approve(verdict, call_id, entry, arguments, effects).await
    }

    /// The answer to a call that never got as far as running.
    pub(crate) fn refuse(
        &self,
        call_id: &str,
        name: &str,
        error: &ToolError,
        started: Instant,
    ) -> ToolResult {
        let error = bound::clean(error.clone());
        let mut result = ToolResult::error(call_id, name, &error, Disposition::NotRun);
        result.duration = started.elapsed();
        self.record(&result, &[]);
        result
    }
}
