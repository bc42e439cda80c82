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
//!              (what it may change is kept before)  keep.rs
//!              (its children's connections)         network.rs
//!  9 bound      secrets out, strangers' text
//!               labelled, oversize spilled          bound.rs
//! 10 record     audit                                record.rs
//! ```
//!
//! Stages 1 to 5 look at nothing but the call, so a whole batch can be
//! planned before any of it runs; 6 to 10 happen when a call's turn comes.

mod approve;
mod arguments;
mod checkpoint;
mod effects;
mod inspect;
mod network;
mod record;
mod resolve;
mod result_limits;
mod run;
mod screen;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arc_swap::ArcSwap;
use futures_util::FutureExt as _;
use hermes_core::{
    Availability, BoundCall, CallArguments, Confinement, Effect, EffectDisposition, ErrorKind,
    Grants, ToolCall, ToolError, ToolResult, Verdict, WorkingDir,
};
use serde_json::Value;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::caller::Caller;
use crate::engine::Engine;
use crate::entry::ToolEntry;
use crate::loop_guard::CallFingerprint;
use crate::observer::CallStarted;
use crate::registry::RegistrySnapshot;

pub(crate) use resolve::normalize_call;

/// A batch under way: what every call of it shares.
pub(crate) struct BatchContext {
    pub(crate) engine: Engine,
    pub(crate) snapshot: Arc<RegistrySnapshot>,
    pub(crate) caller: Caller,
    /// Changes when a call of the batch changes the session's working folder.
    pub(crate) workplace: ArcSwap<WorkingDir>,
    /// The name of the turn, once somebody asks for it.
    turn: OnceLock<Arc<str>>,
    /// Held by the call that asks, where others do not wait for it anyway.
    approval_lock: tokio::sync::Mutex<()>,
}

/// A call whose tool, arguments and effects are known.
pub(crate) struct ResolvedCall {
    pub(crate) id: String,
    pub(crate) entry: Arc<ToolEntry>,
    pub(crate) arguments: Value,
    pub(crate) effects: Vec<Effect>,
    /// Whether its long arguments have not been read yet.
    bulk_omitted: bool,
    pub(crate) coerced: Vec<String>,
    pub(crate) fingerprint: Option<CallFingerprint>,
    pub(crate) started: Instant,
    /// Keeps the tool from being taken down before the call is through.
    _in_flight: TaskTrackerToken,
}

/// A call that is ready to run once its turn comes.
pub(crate) struct PreparedCall {
    pub(crate) call: ResolvedCall,
    pub(crate) bound: Box<dyn BoundCall>,
    pub(crate) hook_verdict: Verdict,
}

impl PreparedCall {
    /// Whether nothing may run beside it: a call that changes something, but
    /// cannot say what.
    pub(crate) fn is_barrier(&self) -> bool {
        self.call.effects.is_empty() && !self.call.entry.spec().annotations.read_only
    }
}

/// What came of stages 6 and 7, for the stages after them.
#[derive(Default)]
pub(crate) struct Authorization {
    /// `allow`, `ask` or `deny`; nothing if it never came to that.
    pub(crate) verdict: Option<&'static str>,
    /// The rule that decided.
    pub(crate) rule: Option<String>,
    /// What the policy would have said if it did not only watch.
    pub(crate) unenforced_verdict: Option<Verdict>,
    /// The name of the rules that were applied.
    pub(crate) profile: Option<Arc<str>>,
    /// How it was answered.
    pub(crate) approval: Option<String>,
    /// Who was asked.
    pub(crate) approver: Option<&'static str>,
    /// What the commands in the call do by themselves.
    pub(crate) implied: Vec<Effect>,
    /// What the call may touch.
    pub(crate) grants: Arc<Grants>,
    /// What its child processes are held to.
    pub(crate) confinement: Option<Arc<Confinement>>,
}

/// How a call ended, before it is bounded and recorded.
pub(crate) struct CallOutcome {
    pub(crate) outcome: Result<(String, Vec<hermes_core::Attachment>), ToolError>,
    pub(crate) disposition: EffectDisposition,
    /// Why its answer is not what was asked for, if it is not.
    pub(crate) stopped: Option<ErrorKind>,
    /// Nothing has failed, whatever exit code is told.
    pub(crate) succeeded: bool,
}

impl CallOutcome {
    fn refused(error: ToolError) -> Self {
        Self {
            outcome: Err(error),
            disposition: EffectDisposition::NotRun,
            stopped: None,
            succeeded: false,
        }
    }
}

impl BatchContext {
    /// Stage 1: what this batch sees stays as it is, whatever changes meanwhile.
    pub(crate) fn new(engine: &Engine, caller: &Caller) -> Arc<Self> {
        let snapshot = caller.snapshot.clone().unwrap_or_else(|| engine.snapshot());
        Arc::new(Self {
            engine: engine.clone(),
            snapshot,
            caller: caller.clone(),
            workplace: ArcSwap::from_pointee(caller.workplace()),
            turn: OnceLock::new(),
            approval_lock: tokio::sync::Mutex::default(),
        })
    }

    /// Looks where the session is now; whether that is another place.
    pub(crate) fn update_workplace(&self) -> bool {
        let now = self.caller.workplace();
        let moved = **self.workplace.load() != now;
        if moved {
            self.workplace.store(Arc::new(now));
        }
        moved
    }

    /// Stages 2 to 5. A call that cannot be made is answered at once, and so
    /// is one on which outsiders' code panics.
    pub(crate) async fn prepare(&self, call: ToolCall) -> Result<PreparedCall, ToolResult> {
        let started = Instant::now();
        let (call_id, written) = (call.id.clone(), call.name.clone());
        let asked = self.caller.observer.as_ref().map(|_| call.arguments.clone());
        let work = AssertUnwindSafe(self.prepare_named(call, started)).catch_unwind();
        let (name, error) = match self.within_deadline(work).await {
            Ok(Ok(Ok(prepared))) => return Ok(prepared),
            Ok(Ok(Err((name, error)))) => (name.unwrap_or(written), error),
            Ok(Err(panic)) => {
                let error = run::panic_error(&written, &*panic);
                (written, error)
            }
            Err(stopped) => (written, stopped),
        };
        if let Some(asked) = asked {
            self.notify_refused(&call_id, &name, asked);
        }
        Err(self.refuse_call(&call_id, &name, error, started).await)
    }

    /// The error comes with the tool's name, where there is a tool.
    async fn prepare_named(
        &self,
        mut call: ToolCall,
        started: Instant,
    ) -> Result<PreparedCall, (Option<String>, ToolError)> {
        let id = std::mem::take(&mut call.id);
        let resolved = resolve::resolve(self, call).await.map_err(|error| (None, error))?;
        let entry = Arc::clone(&resolved.entry);
        let prepared = self.prepare_resolved(id, resolved, started).await;
        prepared.map_err(|error| (Some(entry.name().to_owned()), error))
    }

    async fn prepare_resolved(
        &self,
        id: String,
        resolved: resolve::ParsedCall,
        started: Instant,
    ) -> Result<PreparedCall, ToolError> {
        let resolve::ParsedCall { entry, arguments, mut notes, guessed } = resolved;
        if let Availability::Missing { reason, fix } = self.engine.tool_availability(&entry).await {
            let message = format!("{} cannot be used here: {reason}", entry.name());
            return Err(ToolError::unavailable(message).with_hint(fix));
        }
        let mut arguments = arguments::coerce_and_validate(&entry, arguments, &mut notes)?;
        if guessed {
            arguments::refuse_truncated(&entry)?;
        }
        let (rewritten, hook_verdict) = self.ask_hooks(&id, &entry, &arguments).await;
        if let Some(rewritten) = rewritten {
            arguments = arguments::coerce_and_validate(&entry, rewritten, &mut notes)?;
        }
        let effects::DeclaredCall { bound, effects, bulk_omitted: is_thin } =
            effects::declare(&entry, &arguments, &self.workplace.load())?;
        let footprint = self.call_fingerprint(&entry, &arguments);
        let _in_flight = entry.acquire();
        let coerced = notes;
        let call = ResolvedCall {
            id,
            entry,
            arguments,
            effects,
            bulk_omitted: is_thin,
            coerced,
            fingerprint: footprint,
            started,
            _in_flight,
        };
        Ok(PreparedCall { call, bound, hook_verdict })
    }

    /// Declares a call's effects anew, because the working folder has changed
    /// since they were declared.
    pub(crate) async fn redeclare(
        &self,
        prepared: PreparedCall,
    ) -> Result<PreparedCall, ToolResult> {
        let PreparedCall { mut call, hook_verdict, .. } = prepared;
        match effects::declare(&call.entry, &call.arguments, &self.workplace.load()) {
            Ok(effects::DeclaredCall { bound, effects, bulk_omitted: is_thin }) => {
                call.effects = effects;
                call.bulk_omitted = is_thin;
                Ok(PreparedCall { call, bound, hook_verdict })
            }
            Err(error) => {
                self.notify_started(&call);
                Err(self.refuse_call(&call.id, call.entry.name(), error, call.started).await)
            }
        }
    }

    /// Stages 6 to 10.
    pub(crate) async fn execute(self: Arc<Self>, prepared: PreparedCall) -> ToolResult {
        let (id, name) = (prepared.call.id.clone(), prepared.call.entry.name().to_owned());
        let flight = Arc::clone(&self);
        AssertUnwindSafe(self.execute_prepared(prepared)).catch_unwind().await.unwrap_or_else(
            |panic| {
                let error = result_limits::sanitize_tool_error(run::panic_error(&name, &*panic));
                let result = ToolResult::error(&id, &name, &error, EffectDisposition::Unknown);
                if let Some(onlooker) = &flight.caller.observer {
                    onlooker.call_ended(&result, flight.caller.parent.as_deref());
                }
                result
            },
        )
    }

    async fn execute_prepared(self: Arc<Self>, prepared: PreparedCall) -> ToolResult {
        let PreparedCall { mut call, bound, hook_verdict } = prepared;
        // What it has waited for others is not its own time.
        call.started = Instant::now();
        self.notify_started(&call);
        let mut judged = Authorization::default();
        let landed = match self.authorize(&call, hook_verdict, &mut judged).await {
            Ok(()) if self.caller.dry_run => self.dry_run_outcome(&call, &judged),
            Ok(()) => self.run(&mut call, bound, &judged).await,
            Err(error) if self.caller.dry_run => {
                let would = if judged.verdict == Some("ask") { "ask" } else { "refuse" };
                let error = error.with("dry_run", true).with("would", would);
                CallOutcome::refused(error.with("verdict", judged.verdict.unwrap_or("deny")))
            }
            Err(error) => CallOutcome::refused(error),
        };
        let ran = landed.disposition != EffectDisposition::NotRun;
        let (is_answer, is_well) = (landed.outcome.is_ok(), landed.succeeded);
        let mut result = self.build_result(&call, landed);
        result.duration = call.started.elapsed();
        self.redact(&mut result);
        self.run_result_hooks(&call.arguments, &mut result).await;
        if ran {
            self.mark_untrusted(&call, is_answer, &mut result);
        }
        let warning = call
            .fingerprint
            .as_ref()
            .and_then(|print| self.record_in_guard(print, is_well, &result));
        self.limit_result(call.entry.spec().result_limit, warning.as_deref(), &mut result);
        result.coercions = call.coerced;
        self.record(&result, &call.effects, &judged);
        result
    }

    fn notify_started(&self, call: &ResolvedCall) {
        let Some(onlooker) = &self.caller.observer else { return };
        onlooker.call_started(&CallStarted {
            call: &call.id,
            tool: call.entry.name(),
            arguments: &self.redacted_arguments(&call.arguments),
            parent: self.caller.parent.as_deref(),
        });
    }

    /// A call that cannot be made, as it was asked for.
    fn notify_refused(&self, call: &str, tool: &str, asked: CallArguments) {
        let Some(onlooker) = &self.caller.observer else { return };
        let asked = match asked {
            CallArguments::Json(value) => value,
            CallArguments::Text(text) => {
                serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text))
            }
        };
        let arguments = &self.redacted_arguments(&asked);
        let parent = self.caller.parent.as_deref();
        onlooker.call_started(&CallStarted { call, tool, arguments, parent });
    }

    /// Stages 6 and 7: may it go on?
    async fn authorize(
        &self,
        call: &ResolvedCall,
        hook_verdict: Verdict,
        judged: &mut Authorization,
    ) -> Result<(), ToolError> {
        if self.caller.deadline.is_some_and(|at| at <= Instant::now()) {
            return Err(self.deadline_error());
        }
        if self.caller.cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        let mut ruling = self.inspect(call, hook_verdict.clone());
        // Calls of one peer that run side by side ask one after the other: the
        // answer to the first may be the answer to all.
        let asks = matches!(ruling.verdict, Verdict::Ask { .. }) && call.entry.spec().unordered;
        let _asking = match asks {
            true => {
                let turn = self.within_deadline(self.approval_lock.lock()).await?;
                ruling = self.inspect(call, hook_verdict);
                Some(turn)
            }
            false => None,
        };
        let (verdict, rule) = match &ruling.verdict {
            Verdict::Allow => ("allow", None),
            Verdict::Ask { rule, .. } => ("ask", Some(rule.clone())),
            Verdict::Deny { rule, .. } => ("deny", Some(rule.clone())),
        };
        judged.verdict = Some(verdict);
        judged.rule = rule;
        judged.unenforced_verdict = ruling.audit_verdict.take();
        judged.implied = std::mem::take(&mut ruling.implied_effects);
        judged.profile = ruling.profile.take();
        let approved = self.approve(&ruling, call, judged).await;
        // The record tells where paths lead, also of what was refused.
        judged.grants = Arc::new(ruling.grants);
        judged.confinement = ruling.confinement;
        approved
    }

    /// Waits for work that is not the tool's own, within the batch's time.
    async fn within_deadline<T>(&self, work: impl Future<Output = T>) -> Result<T, ToolError> {
        let work = self.caller.cancel.run_until_cancelled(work);
        let done = match self.caller.deadline {
            None => work.await,
            Some(at) => {
                tokio::time::timeout_at(at.into(), work).await.map_err(|_| self.deadline_error())?
            }
        };
        done.ok_or_else(ToolError::cancelled)
    }

    fn deadline_error(&self) -> ToolError {
        ToolError::new(ErrorKind::Timeout, "The time of the batch was up before this call began")
    }

    /// The answer to a call that never got as far as running.
    async fn refuse_call(
        &self,
        call_id: &str,
        name: &str,
        error: ToolError,
        started: Instant,
    ) -> ToolResult {
        // The same wrong call gives the same error, so that tells a loop too.
        let message = Value::from(error.message());
        let footprint =
            self.engine.guard().is_enabled().then(|| CallFingerprint::new(name, &message, false));
        let mut result = ToolResult::error(
            call_id,
            name,
            &result_limits::sanitize_tool_error(error),
            EffectDisposition::NotRun,
        );
        result.duration = started.elapsed();
        self.redact(&mut result);
        let shown =
            AssertUnwindSafe(self.run_result_hooks(&Value::Null, &mut result)).catch_unwind();
        // A hook that panics over a refusal changes nothing about it.
        let _ = shown.await;
        let warning = footprint.and_then(|print| self.record_in_guard(&print, false, &result));
        self.limit_result(hermes_core::ResultLimit::Default, warning.as_deref(), &mut result);
        self.record(&result, &[], &Authorization::default());
        result
    }
}
