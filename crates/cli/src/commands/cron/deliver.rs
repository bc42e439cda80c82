//! `hermes cron deliver`: sends the answer of a job to one of its targets. The
//! daemon runs this command.

use std::io::Read as _;
use std::sync::Arc;

use hermes::core::{
    ApprovalDecision, ApprovalRequest, ApprovalScope, Approver, BoxFuture, Effect, ErrorKind,
    Resource, Scope, ToolCall,
};
use hermes::engine::SecretSource as _;
use hermes_cron::{CronJob, DeliveryTarget, JobStore};
use serde_json::{Value, json};

use crate::app::AppContext;
use crate::args::{CallOptions, ProfileOptions};
use crate::command_error::{CommandError, CommandResult};
use crate::commands::{call, runtime};
use crate::mode::ModeFlags;

/// Maximum size of standard input.
const MAX_INPUT_BYTES: u64 = 4 << 20;
/// Prefix of a secret reference in call arguments, and its escaped form: an
/// answer must not send a secret by naming it.
const SECRET_SCHEME_ESCAPE: (&str, &str) = ("secret://", "secret:/ /");

struct DeliveryMessage {
    target: String,
    title: String,
    message: String,
}

/// Approver for deliveries. The job's owner chose the target in advance, so
/// sending there is approved and nothing else. Denied calls stay denied.
struct DeliveryApprover {
    target: String,
}

impl DeliveryApprover {
    fn allows_effect(&self, effect: &Effect) -> bool {
        match (&effect.scope, &effect.resource) {
            (scope, Resource::Name(name)) if *scope == Scope::MESSAGE_SEND => *name == self.target,
            // The target's settings determine the host.
            (scope, Resource::Host(_)) => *scope == Scope::NETWORK_SEND,
            _ => false,
        }
    }
}

impl Approver for DeliveryApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision> {
        let is_ordered = request.tool == "send_message"
            && request.effects.iter().all(|effect| self.allows_effect(effect));
        Box::pin(async move {
            match is_ordered {
                true => ApprovalDecision::Approved(ApprovalScope::Once),
                false => ApprovalDecision::NoApprover,
            }
        })
    }

    fn name(&self) -> &'static str {
        "order"
    }
}

pub(super) fn run(app: &AppContext, jobs: &JobStore, wanted: &str) -> CommandResult {
    // The owner ordered deliveries by the daemon, not by the run.
    if jobs.is_in_scheduled_run() {
        let message = "A scheduled run cannot deliver its own answer; the daemon delivers it";
        return Err(CommandError::failed(ErrorKind::Denied, message));
    }
    let job = jobs.get(wanted)?;
    let letter = read_message()?;
    if !delivers_to(&job, &letter.target) {
        let message = format!("Job '{}' does not deliver to '{}'", job.name, letter.target);
        return Err(CommandError::failed(ErrorKind::Denied, message).hint(format!(
            "Run `hermes cron edit {} --deliver TARGETS` to change the targets.",
            job.id
        )));
    }
    let ready = app.services()?;
    let profile = ProfileOptions { profile: job.profile.clone(), permissions: None };
    let mode = ModeFlags::default();
    let options =
        CallOptions { session: None, cwd: None, timeout: None, dry_run: false, mode, profile };
    let mut caller = app.caller(&ready, &options, &[])?;
    caller.who = "cron".into();
    caller.label_untrusted = false;
    caller.observer = None;
    caller.approver = Some(Arc::new(DeliveryApprover { target: letter.target.clone() }));
    let redactor = ready.secrets().redactor();
    let clean =
        |text: &str| redactor.redact(text).replace(SECRET_SCHEME_ESCAPE.0, SECRET_SCHEME_ESCAPE.1);
    let arguments = json!({
        "target": letter.target, "title": clean(&letter.title), "message": clean(&letter.message),
    });
    let send = ToolCall::new("call_1", "send_message", arguments);
    let engine = ready.engine().clone();
    let leaving = ready.teardown();
    let cancel = caller.cancel.clone();
    let result = runtime::with_tools(&cancel, async move {
        let result = engine.call(send, &caller).await;
        engine.shutdown().await;
        leaving.run().await;
        result
    })?;
    ready.flush_records(app);
    call::show_result(app, &result)
}

/// Whether the job delivers to this target.
fn delivers_to(job: &CronJob, target: &str) -> bool {
    job.targets()
        .iter()
        .any(|named| matches!(named, DeliveryTarget::Message(name) if name == target))
}

fn read_message() -> Result<DeliveryMessage, CommandError> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_INPUT_BYTES).read_to_string(&mut text);
    read.map_err(|e| CommandError::usage(format!("Cannot read standard input: {e}")))?;
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    let word = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let (Some(target), Some(message)) = (word("target"), word("message")) else {
        return Err(CommandError::usage("Standard input is not a valid message")
            .hint(r#"Write {"target": "NAME", "title": "…", "message": "…"}."#));
    };
    Ok(DeliveryMessage { target, title: word("title").unwrap_or_default(), message })
}
