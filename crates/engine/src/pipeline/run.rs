//! Stage 8: runs the tool in its own task and turns every ending into one
//! outcome.

mod commands;

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{
    BoundCall, CallEnding, CancellationToken, Confinement, Effect, EffectDisposition, ErrorKind,
    Grants, ProgressCallback, ProgressUpdate, Resource, Scope, ToolContext, ToolError, ToolOutput,
};
use hermes_secrets::reference;
use serde_json::{Value, json};
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

use super::checkpoint::CallCheckpoint;
use super::{Authorization, BatchContext, CallOutcome, ResolvedCall, effects};
use crate::engine_handle::CallEngineHandle;
use crate::observer::CallEvent;

/// Time that a cancelled tool has to stop.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// The maximum timeout of a tool.
const MAX_TOOL_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The outer `ToolError` means that the tool could not be set up and never ran.
type ToolTaskResult = Result<Result<Result<ToolOutput, ToolError>, ToolError>, JoinError>;

/// A call with all its arguments, and its grants.
type CompleteCall = (Box<dyn BoundCall>, Arc<Grants>);

/// Permissions of a running call.
struct CallPermissions {
    grants: Arc<Grants>,
    confinement: Option<Arc<Confinement>>,
}

impl BatchContext {
    pub(super) async fn run(
        self: &Arc<Self>,
        call: &mut ResolvedCall,
        bound: Box<dyn BoundCall>,
        authorization: &Authorization,
    ) -> CallOutcome {
        let (bound, grants) = match self.complete_call(call, bound, authorization) {
            Ok(complete) => complete,
            Err(error) => return CallOutcome::refused(error),
        };
        let call = &*call;
        let kept = match self.checkpoint_files(call, authorization).await {
            Ok(kept) => kept,
            Err(stopped) => return CallOutcome::refused(stopped),
        };
        let allowed = CallPermissions { grants, confinement: authorization.confinement.clone() };
        self.judge_connections(call, authorization);
        let outcome = self.run_tool(call, bound, &allowed, kept.as_ref()).await;
        self.finish_checkpoint(kept).await;
        outcome
    }

    async fn run_tool(
        self: &Arc<Self>,
        call: &ResolvedCall,
        bound: Box<dyn BoundCall>,
        allowed: &CallPermissions,
        kept: Option<&Arc<CallCheckpoint>>,
    ) -> CallOutcome {
        let entry = &call.entry;
        let started = Instant::now();
        let timeout = entry.spec().timeout.unwrap_or(self.engine.default_timeout());
        let mut deadline = started + timeout.min(MAX_TOOL_TIMEOUT);
        if let Some(batch) = self.caller.deadline {
            deadline = deadline.min(batch);
        }
        let cancel = self.caller.cancel.child_token();
        let _stop_if_dropped = cancel.clone().drop_guard();
        let mut cx = self.tool_context(call, allowed, &cancel, deadline);
        if let Some(kept) = kept {
            cx.ports = kept.ports(&cx.ports);
        }
        let tool = Arc::clone(entry);
        let mut task = AbortOnDropHandle::new(tokio::spawn(async move {
            tool.ensure_ready().await?;
            Ok(bound.run(cx).await)
        }));

        let stopped = tokio::select! {
            biased;
            // The tool may notice the cancellation before this function does.
            ended = &mut task => return classify(entry.name(), ended, ErrorKind::Cancelled),
            () = self.caller.cancel.cancelled() => ToolError::cancelled(),
            () = tokio::time::sleep_until(deadline.into()) => ToolError::new(
                ErrorKind::Timeout,
                format!("{} did not finish within {} s", entry.name(), round_to_millis(deadline - started)),
            ),
        };
        cancel.cancel();
        // A tool that stops in time may return something useful, such as the
        // output so far; its own cancellation error adds nothing.
        match tokio::time::timeout(CANCEL_GRACE, &mut task).await {
            Ok(Ok(Ok(Ok(output)))) => classify(entry.name(), Ok(Ok(Ok(output))), stopped.kind()),
            Ok(Ok(Ok(Err(error)))) if error.kind() != ErrorKind::Cancelled => interrupted(error),
            _ => interrupted(stopped),
        }
    }

    /// Returns an error if a secret that the call names does not exist.
    pub(super) fn require_secrets(&self, call: &ResolvedCall) -> Result<(), ToolError> {
        if !uses_secrets(call) {
            return Ok(());
        }
        self.arguments_with_secrets(call).map(drop)
    }

    /// The arguments with secret placeholders resolved.
    fn arguments_with_secrets(&self, call: &ResolvedCall) -> Result<Value, ToolError> {
        let mut arguments = call.arguments.clone();
        let trouble = RefCell::new(None);
        let lookup = |name: &str| match self.engine.secrets().lookup(name) {
            Ok(found) => found,
            Err(why) => {
                trouble.replace(Some(why));
                None
            }
        };
        let resolved = reference::resolve(&mut arguments, &lookup);
        if let Some(why) = trouble.take() {
            return Err(ToolError::unavailable(format!("The secret is not available: {why}")));
        }
        resolved.map_err(|missing| {
            ToolError::unavailable(missing.to_string())
                .with_hint("The user can set it with `hermes secrets set NAME`.")
        })?;
        Ok(arguments)
    }

    /// Binds the call with all its arguments.
    fn complete_call(
        &self,
        call: &mut ResolvedCall,
        bound: Box<dyn BoundCall>,
        authorization: &Authorization,
    ) -> Result<CompleteCall, ToolError> {
        if uses_secrets(call) {
            return self.bind_with_secrets(call, authorization);
        }
        let grants = Arc::clone(&authorization.grants);
        if !call.bulk_omitted {
            return Ok((bound, grants));
        }
        // After this, only hooks need the arguments.
        let arguments = match self.engine.hooks().0.is_empty() {
            true => std::mem::take(&mut call.arguments),
            false => call.arguments.clone(),
        };
        let whole = Arc::clone(call.entry.tool()).bind_owned(arguments)?;
        if effects::declared_effects(&*whole, &self.working_dir.load()) != call.effects {
            return Err(ToolError::internal(format!(
                "{}: the complete call declares other effects than those that were judged",
                call.entry.name()
            )));
        }
        Ok((whole, grants))
    }

    /// Binds the call with its secrets; only after it was approved.
    fn bind_with_secrets(
        &self,
        call: &ResolvedCall,
        authorization: &Authorization,
    ) -> Result<CompleteCall, ToolError> {
        let arguments = self.arguments_with_secrets(call)?;
        let revealed = Arc::clone(call.entry.tool()).bind_owned(arguments)?;
        let working_dir = self.working_dir.load();
        let effects = effects::declared_effects(&*revealed, &working_dir);
        // The rules judged the placeholder; the secret must not change the
        // target.
        if !located_effects(&effects).eq(located_effects(&call.effects)) {
            return Err(ToolError::invalid("A secret cannot be part of a path or a host")
                .with_hint("Write the path or host literally, and use the secret elsewhere."));
        }
        let lookup = |name: &str| self.engine.secrets().lookup(name).ok().flatten();
        let commands = commands::fill_commands(
            &call.effects,
            &effects,
            &lookup,
            self.engine.analyzer(),
            &working_dir,
        )?;
        Ok((revealed, commands::grants_with_secrets(&authorization.grants, &commands)))
    }

    /// The result of a dry run.
    pub(super) fn dry_run_outcome(
        &self,
        call: &ResolvedCall,
        authorization: &Authorization,
    ) -> CallOutcome {
        let effects =
            self.shown_effects(&call.effects, &authorization.grants, &authorization.implied);
        let shown = json!({
            "dry_run": true,
            "would": "run",
            "tool": call.entry.name(),
            "arguments": self.redacted_arguments(&call.arguments),
            "coerced": call.coerced,
            "effects": effects,
            "verdict": authorization.verdict,
        });
        let outcome = Ok((shown.to_string(), Vec::new()));
        CallOutcome {
            outcome,
            disposition: EffectDisposition::NotRun,
            stopped: None,
            succeeded: false,
        }
    }

    /// Builds the tool's context. Nested calls are cancelled with the tool, and
    /// see the same registry snapshot.
    fn tool_context(
        self: &Arc<Self>,
        call: &ResolvedCall,
        allowed: &CallPermissions,
        cancel: &CancellationToken,
        deadline: Instant,
    ) -> ToolContext {
        let batch_context = Arc::clone(self);
        let call_id: Arc<str> = call.id.as_str().into();
        let handle = CallEngineHandle {
            batch: batch_context,
            call_id: Arc::clone(&call_id),
            cancel: cancel.clone(),
            deadline,
        };
        ToolContext {
            tool: call.entry.name().into(),
            task_id: Arc::clone(&self.caller.task_id),
            session: self.caller.session.with_grants(Arc::clone(&allowed.grants)),
            working_dir: self.working_dir.load_full(),
            cancel: cancel.clone(),
            deadline: Some(deadline),
            grants: Arc::clone(&allowed.grants),
            confinement: allowed.confinement.clone(),
            ports: self.caller.ports.clone().unwrap_or_else(|| Arc::clone(self.engine.ports())),
            progress: self.caller.observer.clone().map(|observer| {
                let call = Arc::clone(&call_id);
                Arc::new(move |tool: &str, progress: &ProgressUpdate| {
                    observer.on_event(&CallEvent::Progress { call: &call, tool, progress });
                }) as ProgressCallback
            }),
            call_id,
            engine: Some(Arc::new(handle)),
            is_nested: self.caller.depth > 0,
        }
    }
}

/// The effects on a path or host.
fn located_effects(effects: &[Effect]) -> impl Iterator<Item = &Effect> {
    effects.iter().filter(|e| matches!(e.resource, Resource::Path(_) | Resource::Host(_)))
}

/// Whether the arguments contain secret placeholders, which were declared as
/// effects.
fn uses_secrets(call: &ResolvedCall) -> bool {
    call.effects.iter().any(|effect| effect.scope == Scope::SECRET_USE)
}

fn interrupted(error: ToolError) -> CallOutcome {
    CallOutcome {
        outcome: Err(error),
        disposition: EffectDisposition::Unknown,
        stopped: None,
        succeeded: false,
    }
}

/// Turns the end of a tool's task into an outcome; `why` is the kind of error
/// if it was stopped.
fn classify(tool: &str, ended: ToolTaskResult, why: ErrorKind) -> CallOutcome {
    let (mut stopped, mut succeeded) = (None, false);
    let outcome = match ended {
        Ok(Ok(Ok(output))) => {
            stopped = match output.ending() {
                CallEnding::Stopped => Some(why),
                CallEnding::Incomplete(kind) => Some(kind),
                CallEnding::Completed | CallEnding::Succeeded => None,
            };
            succeeded = output.ending() == CallEnding::Succeeded;
            output.into_checked()
        }
        // The tool noticed the cancellation or timeout on its own.
        Ok(Ok(Err(error))) if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Timeout) => {
            return interrupted(error);
        }
        Ok(Ok(Err(error))) => Err(error),
        Ok(Err(error)) => return CallOutcome::refused(error),
        Err(join) if join.is_panic() => return interrupted(panic_error(tool, &*join.into_panic())),
        Err(_) => return interrupted(ToolError::cancelled()),
    };
    let disposition = match stopped {
        None => EffectDisposition::Complete,
        Some(_) => EffectDisposition::Unknown,
    };
    CallOutcome { outcome, disposition, stopped, succeeded }
}

/// The error for a tool that panicked.
pub(super) fn panic_error(tool: &str, panic: &(dyn Any + Send)) -> ToolError {
    let text = panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    ToolError::internal(format!("{tool} crashed: {text}"))
}

fn round_to_millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1000.0).round() / 1000.0
}
