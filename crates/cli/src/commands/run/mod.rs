//! `hermes run`: runs one task to completion.

mod events;
mod lines;

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use hermes::core::ErrorKind;
use hermes::engine::Caller;
use hermes_agent::{Agent, AgentBudget, AgentEvent, AgentObserver, TurnEnd, TurnOutcome as Ended};
use hermes_delegation::SubagentPool;
use hermes_llm::ContentPart;
use serde_json::json;

use super::runtime;
use crate::agent_session::{AgentOptions, AgentSession, MAX_NOTICES, notices_text, stopped_text};
use crate::app::{AppContext, AppServices};
use crate::args::{CallOptions, ToolsetFilter};
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::held_calls::{self, HeldCall, HeldCallCollector};
use crate::mode::AgentMode;

use events::JsonEventWriter;
use lines::LineEventWriter;

/// Maximum size of standard input.
const MAX_INPUT_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Task; `-` reads standard input
    #[arg(required = true, value_name = "TASK")]
    pub(crate) task: Vec<String>,
    /// Model, as MODEL or PROVIDER:MODEL
    #[arg(long, short = 'm', value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Maximum number of model requests, before a final one for a summary
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Maximum cost in dollars, including the final summary
    #[arg(long, value_name = "USD", value_parser = parse_dollars)]
    pub(crate) budget: Option<f64>,
    /// Image to attach; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Session to resume; `last` is the most recent one
    #[arg(long, value_name = "ID", conflicts_with = "session")]
    pub(crate) resume: Option<String>,
    /// Title of the session
    #[arg(long, visible_alias = "session-title", value_name = "TITLE")]
    pub(crate) title: Option<String>,
    /// Origin of the session
    #[arg(long, hide = true, default_value = "run")]
    pub(crate) source: String,
    #[command(flatten)]
    pub(crate) choice: ToolsetFilter,
    #[command(flatten)]
    pub(crate) options: CallOptions,
}

fn parse_dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(amount) if amount > 0.0 && amount.is_finite() => Ok(amount),
        _ => Err("must be an amount above 0, such as 0.50".to_owned()),
    }
}

pub(crate) fn run(app: &AppContext, args: &RunArgs) -> CommandResult {
    let (task, stdin_is_taken) = read_task(&args.task)?;
    let said = message_parts(task, &args.image)?;
    let ready = app.services()?;
    ready.connect_servers(app, crate::mcp_servers::ServerSelection::All)?;
    let session = match &args.resume {
        None => args.options.session.clone().unwrap_or_else(hermes_history::new_session_id),
        Some(id) => ready.find_session(id)?,
    };
    let options = CallOptions { session: Some(session), ..args.options.clone() };
    let mut caller = app.caller_even_if_closed(&ready, &options, &[], options.timeout())?;
    caller.who = "agent".into();
    caller.approver = app.approver(&ready, &options, stdin_is_taken, true);
    if !stdin_is_taken {
        ready.prompter.allow_questions();
    }
    ready.warn_of_leftovers(app);
    ready.notices().set_listening();
    let is_alone = caller.approver.is_none();
    let watcher: Arc<dyn AgentObserver> = match app.json {
        true => Arc::new(JsonEventWriter::new(app.terminal, caller.cancel.clone())),
        false => LineEventWriter::new(app.terminal, ready.engine().clone()),
    };
    let held = HeldCallCollector::new(watcher);
    let watcher: Arc<dyn AgentObserver> = Arc::clone(&held) as _;
    let budget = ready.budget(args.max_turns, args.budget);
    let cancel = caller.cancel.clone();
    let (terminal, json) = (app.terminal, app.json);
    let terms = OwnedAgentOptions {
        source: args.source.clone(),
        model: args.model.clone(),
        choice: args.choice.clone(),
        title: args.title.clone(),
        resume: args.resume.clone(),
        is_unattended: is_alone,
        mode: app.effective_mode(&ready.config, options.mode.chosen()),
        observer: Arc::clone(&watcher),
    };
    let began = Instant::now();
    let ready = Arc::new(ready);
    let working = Arc::clone(&ready);
    let ended = runtime::with_tools(&cancel, async move {
        let engaged = start_session(Arc::clone(&working), caller, terms).await;
        let ended = match engaged {
            Ok(engaged) => {
                let json = json.then_some(terminal);
                let mut ended = run_task(&working, engaged, said, &budget, json).await;
                // Background sub-agents end with the task; report them.
                if let Some(shown) = stopped_text(&working.subagents.stop_session(&ended.1)) {
                    watcher.on_event(&AgentEvent::Warning(&shown));
                    if ended.0.end.is_done() {
                        ended.0.end =
                            TurnEnd::Broken("background sub-agents were still running".to_owned());
                    }
                }
                Ok(ended)
            }
            Err(failure) => Err(failure),
        };
        working.engine().shutdown().await;
        working.teardown().run().await;
        ended
    })?;
    ready.flush_records(app);
    let (ended, session) = ended?;
    report(app, &ended, &held.take(), &session, began)
}

/// Starts the agent. Its files may be on an unresponsive mount, so a
/// cancellation does not wait for them.
async fn start_session(
    ready: Arc<AppServices>,
    caller: Caller,
    terms: OwnedAgentOptions,
) -> Result<AgentSession, CommandError> {
    let cancel = caller.cancel.clone();
    let engaging = tokio::spawn(async move { ready.start_agent(caller, terms.borrow()).await });
    tokio::select! {
        biased;
        engaged = engaging => engaged.unwrap_or_else(|crash| {
            Err(CommandError::failed(ErrorKind::Internal, format!("Cannot start the agent: {crash}")))
        }),
        () = cancel.cancelled() => {
            Err(CommandError::failed(ErrorKind::Cancelled, "Cancelled before the start"))
        }
    }
}

/// Owned [`AgentOptions`], for a spawned task.
struct OwnedAgentOptions {
    source: String,
    model: Option<String>,
    choice: ToolsetFilter,
    title: Option<String>,
    resume: Option<String>,
    is_unattended: bool,
    mode: AgentMode,
    observer: Arc<dyn AgentObserver>,
}

impl OwnedAgentOptions {
    fn borrow(&self) -> AgentOptions<'_> {
        AgentOptions {
            source: &self.source,
            model: self.model.as_deref(),
            choice: &self.choice,
            is_unattended: self.is_unattended,
            mode: self.mode,
            title: self.title.as_deref(),
            resume: self.resume.as_deref(),
            has_local_context: true,
            observer: Arc::clone(&self.observer),
        }
    }
}

async fn run_task(
    ready: &AppServices,
    engaged: AgentSession,
    said: Vec<ContentPart>,
    budget: &AgentBudget,
    json: Option<crate::terminal::TerminalOutput>,
) -> (Ended, String) {
    let AgentSession { mut agent, session, store, definitions, model_origin: how, warnings } =
        engaged;
    if let Some(terminal) = json {
        let line = json!({
            "type": "session",
            "schema_version": 1,
            "session": session,
            "model": agent.parts().params.model,
            "model_found": how,
            "cwd": agent.parts().caller.cwd,
            "tools": definitions.visible.iter().map(AsRef::as_ref).collect::<Vec<&str>>(),
        });
        let _ = terminal.try_print_line(&line.to_string());
    }
    for warning in &warnings {
        agent.parts().observer.on_event(&AgentEvent::Warning(warning));
    }
    let mut ended = agent.run_turn(said, budget).await;
    await_background(ready, &mut agent, &session, budget, &mut ended).await;
    // The usage includes sub-agents and summaries.
    ended.usage = budget.spent().usage;
    // A session that cannot be closed can still be resumed.
    let _ = store.end(&session, ended.end.name());
    (ended, session)
}

/// Waits for background sub-agents until the deadline, and passes their results
/// to the model as promised.
async fn await_background(
    ready: &AppServices,
    agent: &mut Agent,
    session: &str,
    budget: &AgentBudget,
    ended: &mut Ended,
) {
    while ended.end.is_done() {
        let caller = &agent.parts().caller;
        let late = caller.deadline.into_iter().chain(budget.deadline()).min();
        let late = async {
            match late {
                Some(late) => tokio::time::sleep_until(late.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = late => {
                ended.end = TurnEnd::Budget("the time limit of the task".to_owned());
                return;
            }
            () = caller.cancel.cancelled() => {
                ended.end = TurnEnd::Interrupted;
                return;
            }
            () = ready.subagents.wait_until_idle(session) => {}
        }
        let news = ready.notices().drain(session, MAX_NOTICES);
        let is_due = news.iter().any(SubagentPool::is_delegation_notice);
        let Some(text) = notices_text(&news).filter(|_| is_due) else { return };
        let before = std::mem::replace(
            ended,
            agent.run_turn(vec![ContentPart::Text { text }], budget).await,
        );
        ended.requests += before.requests;
        ended.calls += before.calls;
    }
}

/// Returns the exit code for the end of a turn.
pub(crate) fn exit_for_end(end: &TurnEnd) -> CliExitCode {
    match end {
        TurnEnd::Done => CliExitCode::Ok,
        TurnEnd::Interrupted => CliExitCode::Kind(ErrorKind::Cancelled),
        TurnEnd::ModelError(fault) => CommandError::from(fault.clone()).exit,
        TurnEnd::Truncated
        | TurnEnd::Broken(_)
        | TurnEnd::Withheld
        | TurnEnd::EmptyAnswer
        | TurnEnd::Budget(_)
        | TurnEnd::Halted(_)
        | TurnEnd::UnknownTools
        | TurnEnd::Journal(_) => CliExitCode::Failed,
    }
}

/// Reports the outcome. The reply itself goes to standard output.
fn report(
    app: &AppContext,
    ended: &Ended,
    held: &[HeldCall],
    session: &str,
    began: Instant,
) -> CommandResult {
    let is_held = ended.end.is_done() && !held.is_empty();
    let exit = match is_held {
        true => CliExitCode::Kind(ErrorKind::ApprovalRequired),
        false => exit_for_end(&ended.end),
    };
    let why = ended.end.reason();
    if app.json {
        let line = json!({
            "type": "result",
            "status": if ended.end.is_done() && !is_held { "success" } else { "failure" },
            "end": ended.end.name(),
            "reason": why,
            "held_calls": held.iter().map(HeldCall::to_json).collect::<Vec<_>>(),
            "text": ended.text,
            "session": session,
            "turns": ended.requests,
            "calls": ended.calls,
            "usage": events::usage_json(&ended.usage),
            "duration_ms": u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        // If the pipe is closed, the exit code is enough.
        let _ = app.terminal.try_print_line(&line.to_string());
        return Ok(exit);
    }
    if !app.terminal.stdout_is_person && !ended.text.is_empty() {
        app.terminal.print_line(&hermes_chat::sanitize(&ended.text))?;
    }
    match (&ended.end, why) {
        (TurnEnd::ModelError(fault), _) => {
            app.terminal.error(&fault.message, fault.hint.as_deref())
        }
        (_, Some(why)) => {
            app.terminal.warn(&why);
            app.terminal.note(&format!("Resume with: hermes run --resume {session} \"continue\""));
        }
        (_, None) => {}
    }
    if !held.is_empty() {
        app.terminal.warn(&held_calls::describe(held));
    }
    app.terminal.note(&lines::usage_summary(ended, session, began.elapsed()));
    Ok(exit)
}

/// Returns the task and whether it includes standard input.
fn read_task(words: &[String]) -> Result<(String, bool), CommandError> {
    let takes_input = words.iter().any(|word| word == "-");
    let mut input = String::new();
    if takes_input {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|e| CommandError::usage(format!("Cannot read standard input: {e}")))?;
        if bytes.len() as u64 > MAX_INPUT_BYTES {
            return Err(CommandError::usage("Standard input exceeds 16 MB")
                .hint("Write it to a file, and refer to the file in the task."));
        }
        input = String::from_utf8_lossy(&bytes).into_owned();
    }
    let mut task = String::new();
    for word in words {
        let part = if word == "-" { input.as_str() } else { word };
        if !task.is_empty() {
            task.push_str(if word == "-" { "\n\n" } else { " " });
        }
        task.push_str(part);
    }
    if task.trim().is_empty() {
        return Err(CommandError::usage("The task is empty").hint("Describe what to do."));
    }
    Ok((task, takes_input))
}

/// Builds the user message from the task and the images.
pub(crate) fn message_parts(
    task: String,
    images: &[PathBuf],
) -> Result<Vec<ContentPart>, CommandError> {
    let mut parts = vec![ContentPart::Text { text: task }];
    for path in images {
        let image = hermes_agent::load_image(path)
            .map_err(|why| CommandError::usage(format!("{}: {why}", path.display())))?;
        parts.push(ContentPart::Image(image));
    }
    Ok(parts)
}
