//! `hermes run`: one task, seen through to its end.

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
use crate::mode::AgentMode;

use events::JsonEventWriter;
use lines::LineEventWriter;

/// Most of what may come in by standard input.
const MAX_INPUT_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The task; `-` stands for what comes in on standard input
    #[arg(required = true, value_name = "TASK")]
    pub(crate) task: Vec<String>,
    /// The model, as MODEL or PROVIDER:MODEL
    #[arg(long, short = 'm', value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Ask the model at most so often, and then once more for a summary
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Spend at most this many dollars, with the last request for a summary
    #[arg(long, value_name = "USD", value_parser = parse_dollars)]
    pub(crate) budget: Option<f64>,
    /// Show the model this picture; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Go on with this session; `last` is the last one
    #[arg(long, value_name = "ID", conflicts_with = "session")]
    pub(crate) resume: Option<String>,
    /// What the session is called
    #[arg(long, visible_alias = "session-title", value_name = "TITLE")]
    pub(crate) title: Option<String>,
    /// Where the session comes from
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
        _ => Err("it must be an amount above 0, such as 0.50".to_owned()),
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
    ready.notices.set_listening();
    let is_alone = caller.approver.is_none();
    let watcher: Arc<dyn AgentObserver> = match app.json {
        true => Arc::new(JsonEventWriter::new(app.terminal, caller.cancel.clone())),
        false => LineEventWriter::new(app.terminal, ready.engine.clone()),
    };
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
                // What is left ends with the task, and it is told that it did.
                if let Some(told) = stopped_text(&working.subagents.stop_session(&ended.1)) {
                    watcher.on_event(&AgentEvent::Warning(&told));
                    if ended.0.end.is_done() {
                        ended.0.end = TurnEnd::Broken("not all of it was waited for".to_owned());
                    }
                }
                Ok(ended)
            }
            Err(failure) => Err(failure),
        };
        working.engine.shutdown().await;
        working.teardown().run().await;
        ended
    })?;
    ready.flush_records(app);
    let (ended, session) = ended?;
    report(app, &ended, &session, began)
}

/// Puts the agent together. Its files may lie where nobody answers, so that whoever
/// wants an end meanwhile does not wait for them.
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
            Err(CommandError::failed(ErrorKind::Internal, format!("The agent cannot begin: {crash}")))
        }),
        () = cancel.cancelled() => {
            Err(CommandError::failed(ErrorKind::Cancelled, "It was stopped before it began"))
        }
    }
}

/// [`Terms`] that can be taken along.
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
    // What sub-agents and summaries took was taken for this task.
    ended.usage = budget.spent().usage;
    // A session that cannot be closed can be gone on with all the same.
    let _ = store.end(&session, ended.end.name());
    (ended, session)
}

/// Waits for what the model has handed to sub-agents in the background, as long
/// as there is time, and tells it what came of that: it was promised.
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
                ended.end = TurnEnd::Budget("the seconds of this task".to_owned());
                return;
            }
            () = caller.cancel.cancelled() => {
                ended.end = TurnEnd::Interrupted;
                return;
            }
            () = ready.subagents.wait_until_idle(session) => {}
        }
        let news = ready.notices.drain(session, MAX_NOTICES);
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

/// What scripts are told of how a turn ended.
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

/// Tells how it ended; the answer itself is data.
fn report(app: &AppContext, ended: &Ended, session: &str, began: Instant) -> CommandResult {
    let exit = exit_for_end(&ended.end);
    let why = ended.end.reason();
    if app.json {
        let line = json!({
            "type": "result",
            "status": if ended.end.is_done() { "success" } else { "failure" },
            "end": ended.end.name(),
            "reason": why,
            "text": ended.text,
            "session": session,
            "turns": ended.requests,
            "calls": ended.calls,
            "usage": events::usage_json(&ended.usage),
            "duration_ms": u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        // Whoever does not read on is told by the exit code.
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
            app.terminal.note(&format!("Go on with: hermes run --resume {session} \"go on\""));
        }
        (_, None) => {}
    }
    app.terminal.note(&lines::usage_summary(ended, session, began.elapsed()));
    Ok(exit)
}

/// The task, and whether standard input was read for it.
fn read_task(words: &[String]) -> Result<(String, bool), CommandError> {
    let takes_input = words.iter().any(|word| word == "-");
    let mut input = String::new();
    if takes_input {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|e| CommandError::usage(format!("Standard input cannot be read: {e}")))?;
        if bytes.len() as u64 > MAX_INPUT_BYTES {
            return Err(CommandError::usage("Standard input is longer than 16 MB")
                .hint("Put it into a file, and name the file in the task."));
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
        return Err(CommandError::usage("The task is empty").hint("Say what is to be done."));
    }
    Ok((task, takes_input))
}

/// What is said to the model: the task, and the pictures.
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
