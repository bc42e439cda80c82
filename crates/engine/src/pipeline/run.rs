//! Stage 8: the tool runs, as a task of its own, and whatever it does there
//! is one answer.

mod commands;

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{
    BoundCall, CancellationToken, Confinement, EffectDisposition, Effect, CallEnding, ErrorKind, Grants,
    ProgressSink, Resource, Scope, ToolContext, ToolError, ToolOutput,
};
use hermes_secrets::reference;
use serde_json::{Value, json};
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

use super::keep::Kept;
use super::{Flight, Judged, Known, Landed, effects};
use crate::host::SessionHost;
use crate::onlooker::Signs;

/// How long a tool that was told to stop may take to do so.
const GRACE: Duration = Duration::from_secs(2);

/// The longest time that a tool may ask for.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The outer error is a tool that could not be set up, and so never ran.
type Ended = Result<Result<Result<ToolOutput, ToolError>, ToolError>, JoinError>;

/// A call with all of its arguments, and what it may touch with them.
type Complete = (Box<dyn BoundCall>, Arc<Grants>);

/// What a running call is held to.
struct Allowed {
    grants: Arc<Grants>,
    confinement: Option<Arc<Confinement>>,
}

impl Flight {
    pub(super) async fn run(
        self: &Arc<Self>,
        call: &mut Known,
        bound: Box<dyn BoundCall>,
        judged: &Judged,
    ) -> Landed {
        let (bound, grants) = match self.complete(call, bound, judged) {
            Ok(complete) => complete,
            Err(error) => return Landed::refused(error),
        };
        let call = &*call;
        let kept = match self.keep_files(call, judged).await {
            Ok(kept) => kept,
            Err(stopped) => return Landed::refused(stopped),
        };
        let allowed = Allowed { grants, confinement: judged.confinement.clone() };
        self.judge_connections(call, judged);
        let landed = self.run_alone(call, bound, &allowed, kept.as_ref()).await;
        self.settle_files(kept).await;
        landed
    }

    async fn run_alone(
        self: &Arc<Self>,
        call: &Known,
        bound: Box<dyn BoundCall>,
        allowed: &Allowed,
        kept: Option<&Arc<Kept>>,
    ) -> Landed {
        let entry = &call.entry;
        let started = Instant::now();
        let patience = entry.spec().timeout.unwrap_or(self.engine.default_timeout());
        let mut deadline = started + patience.min(LONGEST);
        if let Some(batch) = self.caller.deadline {
            deadline = deadline.min(batch);
        }
        let cancel = self.caller.cancel.child_token();
        let _stop_if_dropped = cancel.clone().drop_guard();
        let mut cx = self.context(call, allowed, &cancel, deadline);
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
            // It may have noticed by itself that it was to stop, sooner than we did.
            ended = &mut task => return land(entry.name(), ended, ErrorKind::Cancelled),
            () = self.caller.cancel.cancelled() => ToolError::cancelled(),
            () = tokio::time::sleep_until(deadline.into()) => ToolError::new(
                ErrorKind::Timeout,
                format!("{} did not finish within {} s", entry.name(), round(deadline - started)),
            ),
        };
        cancel.cancel();
        // A tool that stops in time may have something to say, such as the
        // output so far; its own word that it was cancelled adds nothing.
        match tokio::time::timeout(GRACE, &mut task).await {
            Ok(Ok(Ok(Ok(output)))) => land(entry.name(), Ok(Ok(Ok(output))), stopped.kind()),
            Ok(Ok(Ok(Err(error)))) if error.kind() != ErrorKind::Cancelled => cut_off(error),
            _ => cut_off(stopped),
        }
    }

    /// An error if a secret that the call names is not there.
    pub(super) fn require_secrets(&self, call: &Known) -> Result<(), ToolError> {
        if !names_secrets(call) {
            return Ok(());
        }
        self.put_in(call).map(drop)
    }

    /// The arguments with the secrets that they name.
    fn put_in(&self, call: &Known) -> Result<Value, ToolError> {
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
            return Err(ToolError::unavailable(format!("The secret cannot be used: {why}")));
        }
        resolved.map_err(|missing| {
            ToolError::unavailable(missing.to_string())
                .with_hint("The user can set it with `hermes secrets set NAME`.")
        })?;
        Ok(arguments)
    }

    /// The call with all of its arguments.
    fn complete(
        &self,
        call: &mut Known,
        bound: Box<dyn BoundCall>,
        judged: &Judged,
    ) -> Result<Complete, ToolError> {
        if names_secrets(call) {
            return self.reveal(call, judged);
        }
        let grants = Arc::clone(&judged.grants);
        if !call.is_thin {
            return Ok((bound, grants));
        }
        // From here on only hooks want to see them.
        let arguments = match self.engine.hooks().0.is_empty() {
            true => std::mem::take(&mut call.arguments),
            false => call.arguments.clone(),
        };
        let whole = Arc::clone(call.entry.tool()).bind_owned(arguments)?;
        if effects::of(&*whole, &self.workplace.load()) != call.effects {
            return Err(ToolError::internal(format!(
                "{} would do something else than was judged",
                call.entry.name()
            )));
        }
        Ok((whole, grants))
    }

    /// The call with its secrets in place: not before somebody has allowed it.
    fn reveal(&self, call: &Known, judged: &Judged) -> Result<Complete, ToolError> {
        let arguments = self.put_in(call)?;
        let revealed = Arc::clone(call.entry.tool()).bind_owned(arguments)?;
        let workplace = self.workplace.load();
        let effects = effects::of(&*revealed, &workplace);
        // Rules judged the placeholder; what it hides must not move the call.
        if !places(&effects).eq(places(&call.effects)) {
            return Err(ToolError::invalid("A secret cannot be part of a path or a host")
                .with_hint("Name the file or the host itself, and use the secret elsewhere."));
        }
        let lookup = |name: &str| self.engine.secrets().lookup(name).ok().flatten();
        let commands = commands::filled(&call.effects, &effects, &lookup, &workplace)?;
        Ok((revealed, commands::granted(&judged.grants, &commands)))
    }

    /// What would happen, for a call that is only rehearsed.
    pub(super) fn rehearse(&self, call: &Known, judged: &Judged) -> Landed {
        let effects = self.told_effects(&call.effects, &judged.grants, &judged.implied);
        let told = json!({
            "dry_run": true,
            "would": "run",
            "tool": call.entry.name(),
            "arguments": self.masked(&call.arguments),
            "coerced": call.coerced,
            "effects": effects,
            "verdict": judged.verdict,
        });
        let outcome = Ok((told.to_string(), Vec::new()));
        Landed { outcome, disposition: EffectDisposition::NotRun, stopped: None, is_well: false }
    }

    /// What the tool is handed. Calls that it makes in turn stop when it must
    /// stop, and see the registry that it was found in.
    fn context(
        self: &Arc<Self>,
        call: &Known,
        allowed: &Allowed,
        cancel: &CancellationToken,
        deadline: Instant,
    ) -> ToolContext {
        let flight = Arc::clone(self);
        let call_id: Arc<str> = call.id.as_str().into();
        let host =
            SessionHost { flight, call_id: Arc::clone(&call_id), cancel: cancel.clone(), deadline };
        ToolContext {
            tool: call.entry.name().into(),
            task_id: Arc::clone(&self.caller.task_id),
            session: self.caller.session.with_grants(Arc::clone(&allowed.grants)),
            working_dir: self.workplace.load_full(),
            cancel: cancel.clone(),
            deadline: Some(deadline),
            grants: Arc::clone(&allowed.grants),
            confinement: allowed.confinement.clone(),
            ports: self.caller.ports.clone().unwrap_or_else(|| Arc::clone(self.engine.ports())),
            progress: self.caller.onlooker.clone().map(|onlooker| {
                Arc::new(Signs { onlooker, call: Arc::clone(&call_id) }) as Arc<dyn ProgressSink>
            }),
            call_id,
            engine: Some(Arc::new(host)),
            is_nested: self.caller.depth > 0,
        }
    }
}

/// The effects that are about a path or a host.
fn places(effects: &[Effect]) -> impl Iterator<Item = &Effect> {
    effects.iter().filter(|e| matches!(e.resource, Resource::Path(_) | Resource::Host(_)))
}

/// Whether there are placeholders in the arguments, which have become effects.
fn names_secrets(call: &Known) -> bool {
    call.effects.iter().any(|effect| effect.scope == Scope::SECRET_USE)
}

fn cut_off(error: ToolError) -> Landed {
    Landed { outcome: Err(error), disposition: EffectDisposition::Unknown, stopped: None, is_well: false }
}

/// What came of a call. If it was stopped, then for this reason.
fn land(tool: &str, ended: Ended, why: ErrorKind) -> Landed {
    let (mut stopped, mut is_well) = (None, false);
    let outcome = match ended {
        Ok(Ok(Ok(output))) => {
            stopped = match output.ending() {
                CallEnding::Stopped => Some(why),
                CallEnding::Incomplete(kind) => Some(kind),
                CallEnding::Completed | CallEnding::Succeeded => None,
            };
            is_well = output.ending() == CallEnding::Succeeded;
            output.into_checked()
        }
        // The tool noticed by itself that it was to stop.
        Ok(Ok(Err(error))) if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Timeout) => {
            return cut_off(error);
        }
        Ok(Ok(Err(error))) => Err(error),
        Ok(Err(error)) => return Landed::refused(error),
        Err(join) if join.is_panic() => return cut_off(crashed(tool, &*join.into_panic())),
        Err(_) => return cut_off(ToolError::cancelled()),
    };
    let disposition = match stopped {
        None => EffectDisposition::Complete,
        Some(_) => EffectDisposition::Unknown,
    };
    Landed { outcome, disposition, stopped, is_well }
}

/// The error for a tool that panicked.
pub(super) fn crashed(tool: &str, panic: &(dyn Any + Send)) -> ToolError {
    let text = panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    ToolError::internal(format!("{tool} crashed: {text}"))
}

fn round(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1000.0).round() / 1000.0
}
