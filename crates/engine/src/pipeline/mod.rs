//! The pipeline of one call, in ten stages.
//!
//! ```text
//!  1 snapshot  the current registry               mod.rs
//!  2 resolve   name and argument text → tool      resolve.rs, alias_arguments.rs
//!    –         can it work here?                  mod.rs
//!  3 coerce    arguments by schema                arguments.rs
//!  4 validate  JSON Schema                        arguments.rs
//!    –         `pre_tool_call`, may rewrite (→ 3) inspect.rs
//!  5 effects   what it will do                    effects.rs
//!  6 inspect   policy, loop guard, hooks' verdict inspect.rs
//!  7 approve   a ticket, or the approver is asked approve.rs
//!  8 run       secrets are inserted; deadline,
//!              cancellation, panics               run.rs
//!              checkpoint before and after        checkpoint.rs
//!              connections of child processes     network.rs
//!  9 redact    framing tokens in errors, secrets  result_limits.rs, screen.rs
//!    –         result hooks                       record.rs
//!  9 bound     untrusted text is labelled,
//!              oversize spilled                   screen.rs, result_limits.rs
//! 10 record    audit                              record.rs
//! ```
//!
//! Stages 1 to 5 depend only on the call, so a whole batch can be planned
//! before any of it runs. Stages 6 to 10 run when it is the call's turn.

mod alias_arguments;
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

use crate::batch::is_background_start;
use crate::caller::Caller;
use crate::engine::Engine;
use crate::entry::ToolEntry;
use crate::loop_guard::{GuardedOutcome, LoopKey};
use crate::observer::{CallEvent, CallStarted};
use crate::registry::RegistrySnapshot;

pub(crate) use resolve::normalize_call;

/// State shared by the calls of a running batch.
pub(crate) struct BatchContext {
    pub(crate) engine: Engine,
    pub(crate) snapshot: Arc<RegistrySnapshot>,
    pub(crate) caller: Caller,
    /// Changes when a call of the batch changes the session's working
    /// directory.
    pub(crate) working_dir: ArcSwap<WorkingDir>,
    /// The turn id, created on first use.
    turn: OnceLock<Arc<str>>,
    /// Serializes approval requests of calls that run concurrently.
    approval_lock: tokio::sync::Mutex<()>,
}

/// A call whose tool, arguments and effects are known.
pub(crate) struct ResolvedCall {
    pub(crate) id: String,
    pub(crate) entry: Arc<ToolEntry>,
    /// The alias in the call.
    pub(crate) called_as: Option<String>,
    pub(crate) arguments: Value,
    pub(crate) effects: Vec<Effect>,
    /// Whether its long arguments are not bound yet.
    bulk_omitted: bool,
    pub(crate) coerced: Vec<String>,
    pub(crate) loop_key: Option<LoopKey>,
    pub(crate) started: Instant,
    /// Keeps the tool from being torn down before the call ends.
    _in_flight: TaskTrackerToken,
}

/// The tool of a call that never ran.
struct CalledTool {
    /// Its own name, or the name in the call if there is no such tool.
    name: String,
    /// The alias in the call.
    called_as: Option<String>,
}

/// A call that is ready to run.
pub(crate) struct PreparedCall {
    pub(crate) call: ResolvedCall,
    pub(crate) bound: Box<dyn BoundCall>,
    pub(crate) hook_verdict: Verdict,
}

impl PreparedCall {
    /// Whether nothing may run concurrently with it: it is not read-only and
    /// declares no effects.
    pub(crate) fn is_barrier(&self) -> bool {
        self.call.effects.is_empty() && !self.call.entry.spec().annotations.read_only
    }
}

/// The outcome of stages 6 and 7.
#[derive(Default)]
pub(crate) struct Authorization {
    /// `allow`, `ask` or `deny`; `None` if it was not judged.
    pub(crate) verdict: Option<&'static str>,
    /// The rule that decided.
    pub(crate) rule: Option<String>,
    /// The verdict that the policy would have given if it were enforcing.
    pub(crate) unenforced_verdict: Option<Verdict>,
    /// The profile that was applied.
    pub(crate) profile: Option<Arc<str>>,
    /// The approver's answer.
    pub(crate) approval: Option<String>,
    /// The approver that was asked.
    pub(crate) approver: Option<&'static str>,
    /// Effects of the commands in the call.
    pub(crate) implied: Vec<Effect>,
    /// What the call may touch.
    pub(crate) grants: Arc<Grants>,
    /// The confinement of its child processes.
    pub(crate) confinement: Option<Arc<Confinement>>,
}

/// The outcome of a call, before it is bounded and recorded.
pub(crate) struct CallOutcome {
    pub(crate) outcome: Result<(String, Vec<hermes_core::Attachment>), ToolError>,
    pub(crate) disposition: EffectDisposition,
    /// Why the result is incomplete, if it is.
    pub(crate) stopped: Option<ErrorKind>,
    /// Whether the call succeeded, whatever its exit code.
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
    /// Stage 1: the batch sees one registry snapshot, whatever changes
    /// meanwhile.
    pub(crate) fn new(engine: &Engine, caller: &Caller) -> Arc<Self> {
        let snapshot = caller.snapshot.clone().unwrap_or_else(|| engine.snapshot());
        Arc::new(Self {
            engine: engine.clone(),
            snapshot,
            caller: caller.clone(),
            working_dir: ArcSwap::from_pointee(caller.working_dir()),
            turn: OnceLock::new(),
            approval_lock: tokio::sync::Mutex::default(),
        })
    }

    /// Reloads the session's working directory; returns whether it has changed.
    pub(crate) fn update_working_dir(&self) -> bool {
        let now = self.caller.working_dir();
        let moved = **self.working_dir.load() != now;
        if moved {
            self.working_dir.store(Arc::new(now));
        }
        moved
    }

    /// Stages 2 to 5. A call that cannot be made gets its error result at once,
    /// as does one whose tool or hook panics.
    pub(crate) async fn prepare(&self, call: ToolCall) -> Result<PreparedCall, ToolResult> {
        let started = Instant::now();
        let (call_id, written) = (call.id.clone(), call.name.clone());
        let asked = self.caller.observer.as_ref().map(|_| call.arguments.clone());
        let work = AssertUnwindSafe(self.prepare_named(call, started)).catch_unwind();
        let (tool, error) = match self.within_deadline(work).await {
            Ok(Ok(Ok(prepared))) => return Ok(prepared),
            Ok(Ok(Err((tool, error)))) => (tool, error),
            Ok(Err(panic)) => (None, run::panic_error(&written, &*panic)),
            Err(stopped) => (None, stopped),
        };
        let tool = tool.unwrap_or(CalledTool { name: written, called_as: None });
        if let Some(asked) = asked {
            self.notify_refused(&call_id, &tool.name, asked);
        }
        Err(self.refuse_call(&call_id, tool, error, started).await)
    }

    /// The error carries the tool's names if the tool was found.
    async fn prepare_named(
        &self,
        mut call: ToolCall,
        started: Instant,
    ) -> Result<PreparedCall, (Option<CalledTool>, ToolError)> {
        let id = std::mem::take(&mut call.id);
        let resolved = resolve::resolve(self, call).await.map_err(|error| (None, error))?;
        let (entry, called_as) = (Arc::clone(&resolved.entry), resolved.called_as.clone());
        let prepared = self.prepare_resolved(id, resolved, started).await;
        prepared
            .map_err(|error| (Some(CalledTool { name: entry.name().to_owned(), called_as }), error))
    }

    async fn prepare_resolved(
        &self,
        id: String,
        resolved: resolve::ParsedCall,
        started: Instant,
    ) -> Result<PreparedCall, ToolError> {
        let resolve::ParsedCall { entry, called_as, arguments, mut notes, guessed, preset } =
            resolved;
        if let Availability::Missing { reason, fix } = self.engine.tool_availability(&entry).await {
            let message = format!("{} is not available here: {reason}", entry.name());
            return Err(ToolError::unavailable(message).with_hint(fix));
        }
        let mut arguments = arguments::coerce_and_validate(&entry, arguments, &mut notes)?;
        alias_arguments::check_preset(&entry, called_as.as_deref(), &preset, &arguments)?;
        if guessed {
            arguments::refuse_truncated(&entry)?;
        }
        let (rewritten, hook_verdict) = self.ask_hooks(&id, &entry, &arguments).await;
        if let Some(rewritten) = rewritten {
            arguments = arguments::coerce_and_validate(&entry, rewritten, &mut notes)?;
        }
        let effects::DeclaredCall { bound, effects, bulk_omitted } =
            effects::declare(&entry, &arguments, &self.working_dir.load())?;
        let loop_key = self.loop_key(&entry, &arguments);
        let _in_flight = entry.acquire();
        let coerced = notes;
        let call = ResolvedCall {
            id,
            entry,
            called_as,
            arguments,
            effects,
            bulk_omitted,
            coerced,
            loop_key,
            started,
            _in_flight,
        };
        Ok(PreparedCall { call, bound, hook_verdict })
    }

    /// Declares a call's effects again after the working directory has changed.
    pub(crate) async fn redeclare(
        &self,
        prepared: PreparedCall,
    ) -> Result<PreparedCall, ToolResult> {
        let PreparedCall { mut call, hook_verdict, .. } = prepared;
        match effects::declare(&call.entry, &call.arguments, &self.working_dir.load()) {
            Ok(effects::DeclaredCall { bound, effects, bulk_omitted }) => {
                call.effects = effects;
                call.bulk_omitted = bulk_omitted;
                Ok(PreparedCall { call, bound, hook_verdict })
            }
            Err(error) => {
                self.notify_started(&call);
                let name = call.entry.name().to_owned();
                let tool = CalledTool { name, called_as: call.called_as.take() };
                Err(self.refuse_call(&call.id, tool, error, call.started).await)
            }
        }
    }

    /// Stages 6 to 10.
    pub(crate) async fn execute(self: Arc<Self>, prepared: PreparedCall) -> ToolResult {
        let (id, name) = (prepared.call.id.clone(), prepared.call.entry.name().to_owned());
        let batch = Arc::clone(&self);
        AssertUnwindSafe(self.execute_prepared(prepared)).catch_unwind().await.unwrap_or_else(
            |panic| {
                let error = result_limits::sanitize_tool_error(run::panic_error(&name, &*panic));
                let result = ToolResult::error(&id, &name, &error, EffectDisposition::Unknown);
                batch.notify(&CallEvent::Ended {
                    result: &result,
                    parent: batch.caller.parent.as_deref(),
                });
                result
            },
        )
    }

    async fn execute_prepared(self: Arc<Self>, prepared: PreparedCall) -> ToolResult {
        let PreparedCall { mut call, bound, hook_verdict } = prepared;
        // Time spent waiting for other calls does not count.
        call.started = Instant::now();
        self.notify_started(&call);
        let mut authorization = Authorization::default();
        let outcome = match self.authorize(&call, hook_verdict, &mut authorization).await {
            Ok(()) if self.caller.dry_run => self.dry_run_outcome(&call, &authorization),
            Ok(()) => self.run(&mut call, bound, &authorization).await,
            Err(error) if self.caller.dry_run => {
                let would = if authorization.verdict == Some("ask") { "ask" } else { "refuse" };
                let error = error.with("dry_run", true).with("would", would);
                CallOutcome::refused(error.with("verdict", authorization.verdict.unwrap_or("deny")))
            }
            Err(error) => CallOutcome::refused(error),
        };
        let ran = outcome.disposition != EffectDisposition::NotRun;
        let (is_answer, succeeded) = (outcome.outcome.is_ok(), outcome.succeeded);
        let mut result = self.build_result(&call, outcome);
        result.called_as = call.called_as.take();
        result.duration = call.started.elapsed();
        let guarded = GuardedOutcome::from_result(result.status, succeeded, &result.content);
        result.command_failed = guarded == GuardedOutcome::CommandFailed;
        self.redact(&mut result);
        self.run_result_hooks(&call.arguments, &mut result).await;
        if ran {
            self.mark_untrusted(&call, is_answer, &mut result);
        }
        let warning =
            call.loop_key.as_ref().and_then(|key| self.record_in_guard(key, guarded, &result));
        self.limit_result(call.entry.spec().result_limit, warning.as_deref(), &mut result);
        result.coercions = call.coerced;
        self.record(&result, &call.effects, &authorization);
        result
    }

    /// Sends an event to the caller's observer.
    fn notify(&self, event: &CallEvent<'_>) {
        if let Some(observer) = &self.caller.observer {
            observer.on_event(event);
        }
    }

    fn notify_started(&self, call: &ResolvedCall) {
        let Some(observer) = &self.caller.observer else { return };
        observer.on_event(&CallEvent::Started(&CallStarted {
            call: &call.id,
            tool: call.entry.name(),
            arguments: &self.redacted_arguments(&call.arguments),
            parent: self.caller.parent.as_deref(),
        }));
    }

    /// Notifies the observer of a call that cannot be made, with its original
    /// arguments.
    fn notify_refused(&self, call: &str, tool: &str, asked: CallArguments) {
        let Some(observer) = &self.caller.observer else { return };
        let asked = match asked {
            CallArguments::Json(value) => value,
            CallArguments::Text(text) => {
                serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text))
            }
        };
        let arguments = &self.redacted_arguments(&asked);
        let parent = self.caller.parent.as_deref();
        let started = CallStarted { call, tool, arguments, parent };
        observer.on_event(&CallEvent::Started(&started));
    }

    /// Stages 6 and 7: decides whether the call may run.
    async fn authorize(
        &self,
        call: &ResolvedCall,
        hook_verdict: Verdict,
        authorization: &mut Authorization,
    ) -> Result<(), ToolError> {
        if self.caller.deadline.is_some_and(|at| at <= Instant::now()) {
            return Err(self.deadline_error());
        }
        if self.caller.cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        let mut ruling = self.inspect(call, hook_verdict.clone());
        // Concurrent calls of one caller ask one at a time: the answer to the
        // first may settle the others.
        let asks = matches!(ruling.verdict, Verdict::Ask { .. })
            && (call.entry.spec().unordered || is_background_start(&call.effects));
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
        authorization.verdict = Some(verdict);
        authorization.rule = rule;
        authorization.unenforced_verdict = ruling.audit_verdict.take();
        authorization.implied = std::mem::take(&mut ruling.implied_effects);
        authorization.profile = ruling.profile.take();
        let approved = self.approve(&ruling, call, authorization).await;
        // Set for refused calls too: the record shows real paths.
        authorization.grants = Arc::new(ruling.grants);
        authorization.confinement = ruling.confinement;
        approved
    }

    /// Awaits work outside the tool, within the batch's deadline.
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
        ToolError::new(
            ErrorKind::Timeout,
            "The deadline of the batch passed before this call started",
        )
    }

    /// Builds the result of a call that never ran.
    async fn refuse_call(
        &self,
        call_id: &str,
        tool: CalledTool,
        error: ToolError,
        started: Instant,
    ) -> ToolResult {
        let name = &tool.name;
        // The same wrong call gives the same error, so the message identifies a
        // loop.
        let message = Value::from(error.message());
        let loop_key =
            self.engine.guard().is_enabled().then(|| LoopKey::new(name, &message, false));
        let mut result = ToolResult::error(
            call_id,
            name,
            &result_limits::sanitize_tool_error(error),
            EffectDisposition::NotRun,
        );
        result.called_as = tool.called_as;
        result.duration = started.elapsed();
        self.redact(&mut result);
        let shown =
            AssertUnwindSafe(self.run_result_hooks(&Value::Null, &mut result)).catch_unwind();
        // A hook that panics does not change the refusal.
        let _ = shown.await;
        let guarded = GuardedOutcome::from_result(result.status, false, &result.content);
        let warning = loop_key.and_then(|key| self.record_in_guard(&key, guarded, &result));
        self.limit_result(hermes_core::ResultLimit::Default, warning.as_deref(), &mut result);
        self.record(&result, &[], &Authorization::default());
        result
    }
}
