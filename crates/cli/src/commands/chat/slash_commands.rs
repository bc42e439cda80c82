//! Slash commands: lines that start with `/`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes::engine::toolsets::ToolsetSummary;
use hermes_agent::{AgentBudget, TurnEnd};
use hermes_chat::ScreenMode;
use hermes_checkpoints::{CheckpointStore, RestorePlan, RestoreTarget};
use hermes_history::{SessionFilter, format_local};
use hermes_llm::ChatMessage;
use hermes_memory::MemoryTarget as List;

use super::session::{ChatSession, LineOutcome, NextSession};
use super::{agents, skills};
use crate::agent_session::{retry_callback, stopped_text};
use crate::command_error::{CliExitCode, CommandError};
use crate::commands::{checkpoints, memory};
use crate::mode::AgentMode;

/// A slash command.
pub(crate) struct SlashCommand {
    pub(crate) name: &'static str,
    /// Arguments as shown in the help.
    pub(crate) arguments: &'static str,
    pub(crate) about: &'static str,
}

const fn slash_command(
    name: &'static str,
    takes: &'static str,
    about: &'static str,
) -> SlashCommand {
    SlashCommand { name, arguments: takes, about }
}

/// All slash commands.
pub(crate) const SLASH_COMMANDS: &[SlashCommand] = &[
    slash_command("help", "", "show the commands and keys"),
    slash_command("model", "[NAME]", "show or change the model (MODEL or PROVIDER:MODEL)"),
    slash_command("tools", "", "list the tools of this session"),
    slash_command("toolsets", "[NAMES]", "list toolsets, or use only these"),
    slash_command("skills", "[NAME]", "list skills; `show NAME` views one, NAME or /NAME uses it"),
    slash_command("cost", "", "show token usage and cost"),
    slash_command("compact", "", "summarize the conversation to free context"),
    slash_command("undo", "[N]", "undo the last N turns: messages and file changes"),
    slash_command("memory", "", "show the memory"),
    slash_command("todo", "", "show the plan"),
    slash_command("sessions", "", "list recent sessions"),
    slash_command("resume", "[ID]", "resume another session"),
    slash_command("new", "", "start a new session"),
    slash_command("title", "TEXT", "rename this session"),
    slash_command("save", "[FILE]", "write the conversation to a file"),
    slash_command(
        "mode",
        "[NAME]",
        "show or switch the mode: auto, ask or plan (same as Shift-Tab)",
    ),
    slash_command("yolo", "", "toggle automatic approval"),
    slash_command("agents", "[[stop] ID [TEXT]]", "list, stop or message background sub-agents"),
    slash_command("stop", "", "stop the turn (same as Ctrl-C twice) and background work"),
    slash_command("quit", "", "leave (as Ctrl-D)"),
];

/// How long `/stop` waits for sub-agents to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// How many messages are shown when a session is resumed.
const REPLAYED_MESSAGES: usize = 6;

/// Runs a slash command.
pub(crate) async fn run_slash_command(sitting: &mut ChatSession<'_>, order: &str) -> LineOutcome {
    let (name, rest) = order.split_once(char::is_whitespace).unwrap_or((order, ""));
    let rest = rest.trim();
    let done = match name {
        "help" | "?" => show_help(sitting),
        "quit" | "exit" | "q" => return LineOutcome::End(NextSession::Quit),
        "new" | "clear" => return LineOutcome::End(NextSession::New),
        "resume" => match find_session(sitting, rest) {
            Ok(id) => return LineOutcome::End(NextSession::Session(id)),
            Err(failure) => Err(failure),
        },
        "model" => change_model(sitting, rest).await,
        "tools" => list_tools(sitting),
        "toolsets" => change_toolsets(sitting, rest).await,
        "skills" => match skills::run_skills_command(sitting, rest) {
            Ok(Some(message)) => return LineOutcome::Say(message),
            other => other.map(drop),
        },
        "cost" | "usage" => show_cost(sitting),
        "compact" | "compress" => compact(sitting).await,
        "undo" => undo(sitting, rest),
        "memory" => show_memory(sitting),
        "todo" => {
            if !sitting.renderer.show_plan() {
                sitting.screen.note("No plan yet.");
            }
            Ok(())
        }
        "sessions" | "history" => list_sessions(sitting),
        "title" => set_title(sitting, rest),
        "save" => save_conversation(sitting, rest),
        "mode" => change_mode(sitting, rest),
        "yolo" => toggle_yolo(sitting),
        "agents" => {
            agents::run(sitting.ready, sitting.screen, &sitting.agent_session.session, rest)
        }
        "stop" => {
            let stopped = sitting.ready.subagents.stop_session(&sitting.agent_session.session);
            let shown = stopped_text(&stopped);
            sitting.is_halted |= shown.is_some();
            let settled = sitting.ready.subagents.wait_until_idle(&sitting.agent_session.session);
            let _ = tokio::time::timeout(STOP_TIMEOUT, settled).await;
            sitting.screen.note(shown.as_deref().unwrap_or("Nothing is running."));
            Ok(())
        }
        _ => match skills::invocation_message(sitting, order) {
            Ok(Some(message)) => return LineOutcome::Say(message),
            Ok(None) => {
                report_unknown(sitting, name);
                Ok(())
            }
            Err(failure) => Err(failure),
        },
    };
    if let Err(failure) = done {
        if sitting.exit == CliExitCode::Ok {
            sitting.exit = failure.exit;
        }
        let hint = failure.hint.map(|hint| format!("\n{hint}")).unwrap_or_default();
        sitting.screen.error(&format!("{}{hint}", failure.message));
    }
    LineOutcome::Wait
}

fn report_unknown(sitting: &mut ChatSession<'_>, name: &str) {
    if sitting.exit == CliExitCode::Ok {
        sitting.exit = CliExitCode::Usage;
    }
    let near = SLASH_COMMANDS.iter().find(|known| known.name.starts_with(name));
    let near = near.map(|near| format!("; did you mean /{}?", near.name));
    sitting.screen.warn(&format!(
        "Unknown command or skill: /{name}{}",
        near.unwrap_or_else(|| "; see /help and /skills".to_owned())
    ));
}

fn show_help(sitting: &ChatSession<'_>) -> Result<(), CommandError> {
    let mut text = String::new();
    for order in SLASH_COMMANDS {
        let written = format!("/{} {}", order.name, order.arguments);
        text.push_str(&format!("{written:<20} {}\n", order.about));
    }
    text.push_str(
        "\nEnter sends; Alt-Enter or Ctrl-J starts a new line; Tab completes (@ completes a \
         file).\nText typed during a turn reaches the model with the next tool result.\nCtrl-C \
         stops the calls, a second Ctrl-C stops the turn; Ctrl-D exits.",
    );
    sitting.screen.note(&text);
    Ok(())
}

async fn change_model(sitting: &mut ChatSession<'_>, wanted: &str) -> Result<(), CommandError> {
    if !wanted.is_empty() {
        let watcher = Arc::clone(&sitting.agent_session.agent.parts().observer);
        let chosen = sitting.ready.models.find(Some(wanted), retry_callback(&watcher)).await?;
        let makeup = sitting.agent_session.agent.parts_mut();
        makeup.model = chosen.found.model;
        makeup.params = chosen.params;
        sitting.agent_session.model_origin = chosen.found.source;
    }
    let makeup = sitting.agent_session.agent.parts();
    let window = makeup.model.window().map(|tokens| format!(", context window of {tokens} tokens"));
    sitting.screen.note(&format!(
        "{} ({}{})",
        makeup.params.model,
        sitting.agent_session.model_origin,
        window.unwrap_or_default()
    ));
    sitting.show_status();
    Ok(())
}

fn list_tools(sitting: &ChatSession<'_>) -> Result<(), CommandError> {
    let definitions = &sitting.agent_session.definitions;
    let snapshot = sitting.ready.engine().snapshot();
    let mut text = String::new();
    for name in &definitions.visible {
        let about = snapshot.find(name).map(|entry| {
            let spec = entry.spec();
            (spec.emoji.to_string(), spec.description.lines().next().unwrap_or("").to_owned())
        });
        let (emoji, about) = about.unwrap_or_default();
        text.push_str(&format!("{emoji} {name:<22} {}\n", hermes::core::text::excerpt(&about, 70)));
    }
    if !definitions.deferred.is_empty() {
        let names: Vec<&str> = definitions.deferred.iter().map(AsRef::as_ref).collect();
        text.push_str(&format!("found by search: {}\n", names.join(", ")));
    }
    for (name, state) in &definitions.unavailable {
        if let hermes::core::Availability::Missing { reason, .. } = state {
            text.push_str(&format!("unavailable: {name} ({reason})\n"));
        }
    }
    sitting.screen.note(text.trim_end());
    Ok(())
}

async fn change_toolsets(sitting: &mut ChatSession<'_>, wanted: &str) -> Result<(), CommandError> {
    if wanted.is_empty() {
        let infos = crate::commands::toolsets::toolset_infos(sitting.ready)?;
        let snapshot = sitting.ready.engine().snapshot();
        // Hide toolsets without available tools and those for other platforms.
        let is_of_use = |info: &&ToolsetSummary| {
            let is_here = info.tools.iter().any(|tool| snapshot.get(tool).is_some());
            is_here && (info.custom || !info.name.starts_with("hermes-"))
        };
        let names: Vec<&str> = infos.iter().filter(is_of_use).map(|info| &*info.name).collect();
        sitting
            .screen
            .note(&format!("{}\n/toolsets NAME,NAME selects toolsets.", names.join(", ")));
        return Ok(());
    }
    let split = |c: char| c == ',' || c.is_whitespace();
    let names = wanted.split(split).filter(|name| !name.is_empty()).map(str::to_owned);
    let choice = crate::args::ToolsetFilter { toolsets: names.collect(), without: Vec::new() };
    let window = sitting.agent_session.agent.parts().model.window();
    let (definitions, tools) = sitting.ready.tool_definitions(&choice, window).await?;
    // An explicit selection must not grow when servers connect later.
    sitting.ready.forget_late_servers();
    let makeup = sitting.agent_session.agent.parts_mut();
    makeup.caller.scope = Some(Arc::clone(&definitions.scope));
    makeup.tools = tools;
    sitting.screen.note(&format!("{} tools are now available.", definitions.visible.len()));
    sitting.agent_session.definitions = definitions;
    Ok(())
}

fn show_cost(sitting: &ChatSession<'_>) -> Result<(), CommandError> {
    let spent = sitting.renderer.total_usage();
    let cost = match spent.cost {
        Some(cost) => format!("${cost:.4}"),
        None if spent.input + spent.output == 0 => "nothing yet".to_owned(),
        None => "unknown; set model.prices in config.yaml".to_owned(),
    };
    let before = match sitting.renderer.earlier_usage() {
        before if before.input + before.output == 0 => String::new(),
        before => format!(
            " ({} tokens{} of it before this session was resumed)",
            before.input + before.output,
            before.cost.map(|cost| format!(" and ${cost:.4}")).unwrap_or_default()
        ),
    };
    let definitions = &sitting.agent_session.definitions.json;
    sitting.screen.note(&format!(
        "input     {} tokens, {} of them cached\noutput    {} \
         tokens\ncost      {cost}{before}\ncontext   {} tokens now, about {} of them for {} \
         tools",
        spent.input,
        spent.cache_read,
        spent.output,
        sitting.context_tokens(),
        crate::tokens::estimate(definitions),
        sitting.agent_session.definitions.visible.len(),
    ));
    Ok(())
}

async fn compact(sitting: &mut ChatSession<'_>) -> Result<(), CommandError> {
    sitting.screen.working(Some("summarizing"));
    let budget = AgentBudget::new(Default::default());
    sitting.renderer.track_budget(&budget);
    let done = sitting.agent_session.agent.compact(&budget).await;
    sitting.screen.working(None);
    sitting.show_status();
    match done {
        Ok(true) => {}
        Ok(false) => sitting.screen.note("The conversation is too short to compact."),
        Err(TurnEnd::Interrupted) => sitting.screen.note("Stopped; the conversation is unchanged."),
        Err(end) => super::session::show_end(sitting.screen, &end),
    }
    Ok(())
}

/// Undoes turns, newest first.
fn undo(sitting: &mut ChatSession<'_>, turns: &str) -> Result<(), CommandError> {
    let turns: u32 =
        match turns {
            "" => 1,
            turns => turns.parse().ok().filter(|turns| *turns > 0).ok_or_else(|| {
                CommandError::usage("/undo takes a number of turns, such as /undo 2")
            })?,
        };
    for _ in 0..turns {
        if !undo_last_turn(sitting)? {
            break;
        }
    }
    Ok(())
}

/// Undoes the last turn; returns whether there was one.
fn undo_last_turn(sitting: &mut ChatSession<'_>) -> Result<bool, CommandError> {
    let session = sitting.agent_session.session.clone();
    // Messages typed during the turn belong to it.
    let last = sitting.turns.pop();
    let said = last.map_or(1, |turn| turn.message_count);
    let taken = sitting.agent_session.store.undo(&session, said)?;
    if taken.messages == 0 {
        sitting.turns.extend(last);
        sitting.screen.note("Nothing to undo.");
        return Ok(false);
    }
    let reader = sitting.agent_session.store.reader();
    let info = reader.session(&session)?;
    sitting.agent_session.agent.set_conversation(reader.conversation(&info)?);
    let mut shown = format!("Removed {} messages.", taken.messages);
    let store = checkpoints::open_store(sitting.app)?;
    // A turn from before the session was resumed began with its first message.
    let began = last
        .map(|turn| turn.at)
        .or_else(|| taken.since.and_then(|since| i64::try_from(since.as_nanosecond()).ok()));
    match plan_file_undo(sitting, &store, began)? {
        Some(plan) => {
            let restored = store.apply_plan(&plan, false)?;
            for path in &restored.restored {
                let what = if path.symlink_metadata().is_ok() { "restored" } else { "removed " };
                shown.push_str(&format!("\n{what}  {}", path.display()));
            }
            for (path, why) in &restored.skipped {
                shown.push_str(&format!("\nskipped   {} ({why})", path.display()));
            }
        }
        None => shown.push_str(" No file changes to undo."),
    }
    sitting.screen.note(&shown);
    if let Some(text) = taken.user_text {
        sitting.screen.fill(hermes_skills::typed_text(&text).unwrap_or(&text));
    }
    Ok(true)
}

/// Plans how to restore the files that the last turn changed. Another process
/// may have changed files here since, so only this session's own turn counts.
fn plan_file_undo(
    sitting: &ChatSession<'_>,
    store: &CheckpointStore,
    began: Option<i64>,
) -> Result<Option<RestorePlan>, CommandError> {
    let Some(began) = began else { return Ok(None) };
    let cwd = sitting.agent_session.agent.parts().caller.cwd.clone();
    let workspace = checkpoints::find_workspace(sitting.app, store, Some(&cwd))?;
    let Ok(plan) = store.plan(RestoreTarget::Undo { workspace: &workspace, turns: 1 }) else {
        return Ok(None);
    };
    let Some(id) = plan.checkpoints.last() else { return Ok(None) };
    let kept = store.find(id)?;
    let is_own = kept.session() == sitting.agent_session.session && kept.at_nanos() >= began;
    Ok(is_own.then_some(plan))
}

fn show_memory(sitting: &ChatSession<'_>) -> Result<(), CommandError> {
    let lists = memory::open_lists(sitting.ready.home(), &sitting.ready.config)?;
    let mut text = String::new();
    for (title, target) in [("About you", List::User), ("Notes", List::Memory)] {
        let read = lists.read(target).map_err(CommandError::from)?;
        text.push_str(&format!("{title}:\n"));
        for entry in &read.entries {
            text.push_str(&format!("  - {}\n", entry.replace('\n', "\n    ")));
        }
        if read.entries.is_empty() {
            text.push_str("  nothing yet\n");
        }
    }
    text.push_str("To change it, run `hermes memory`.");
    sitting.screen.note(&text);
    Ok(())
}

/// Sources of sessions without a user, excluded from lists.
fn helper_sources() -> Vec<String> {
    crate::commands::sessions::HELPER_SOURCES.map(str::to_owned).to_vec()
}

fn list_sessions(sitting: &ChatSession<'_>) -> Result<(), CommandError> {
    let listing =
        SessionFilter { limit: 15, excluded_sources: helper_sources(), ..SessionFilter::default() };
    let found = sitting.agent_session.store.reader().sessions(&listing)?;
    let mut text = String::new();
    for session in found.iter().filter(|session| session.id != sitting.agent_session.session) {
        let title = session.title.as_deref().unwrap_or(&session.preview);
        let when = format_local(session.last_active);
        text.push_str(&format!(
            "{}  {when}  {}\n",
            session.id,
            hermes::core::text::excerpt(title, 60)
        ));
    }
    text.push_str(match text.is_empty() {
        true => "No other sessions yet.",
        false => "Type /resume ID to resume one.",
    });
    sitting.screen.note(&text);
    Ok(())
}

/// Resolves a session id; an empty name or `last` is the previous session.
fn find_session(sitting: &ChatSession<'_>, named: &str) -> Result<String, CommandError> {
    let reader = sitting.agent_session.store.reader();
    if !named.is_empty() && named != "last" {
        return sitting.ready.find_session(named);
    }
    let listing =
        SessionFilter { limit: 2, excluded_sources: helper_sources(), ..SessionFilter::default() };
    let found = reader.sessions(&listing)?;
    let other = found.into_iter().find(|session| session.id != sitting.agent_session.session);
    let other = other.ok_or_else(|| CommandError::not_found("No other session to resume"))?;
    Ok(other.id)
}

fn set_title(sitting: &ChatSession<'_>, title: &str) -> Result<(), CommandError> {
    if title.is_empty() {
        return Err(CommandError::usage("/title requires a text"));
    }
    sitting.agent_session.store.rename(&sitting.agent_session.session, title)?;
    sitting.screen.note(&format!("Renamed this session to “{title}”."));
    Ok(())
}

/// Returns an unused file name for a session.
fn unused_path(dir: &Path, session: &str) -> PathBuf {
    let named = |at: u32| match at {
        1 => dir.join(format!("hermes-{session}.md")),
        at => dir.join(format!("hermes-{session}-{at}.md")),
    };
    (1..1_000).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(1))
}

fn save_conversation(sitting: &ChatSession<'_>, file: &str) -> Result<(), CommandError> {
    if sitting.agent_session.agent.conversation().messages().is_empty() {
        return Err(CommandError::usage("Nothing to save: the conversation is empty"));
    }
    let cwd = sitting.agent_session.agent.parts().caller.cwd.clone();
    let path = match file {
        "" => unused_path(&cwd, &sitting.agent_session.session),
        file => cwd.join(file),
    };
    let mut text = String::new();
    for message in sitting.agent_session.agent.conversation().messages() {
        let (who, said) = match message {
            ChatMessage::User { .. } => ("You", message.text()),
            ChatMessage::Assistant(reply) => {
                let calls = reply
                    .calls
                    .iter()
                    .map(|call| format!("\n\n`{} {}`", call.name, call.arguments));
                ("Hermes", format!("{}{}", reply.text, calls.collect::<String>()))
            }
            ChatMessage::Tool(answer) => ("Result", format!("```\n{}\n```", answer.content)),
            ChatMessage::System { .. } => continue,
        };
        text.push_str(&format!("## {who}\n\n{said}\n\n"));
    }
    let cannot = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            CommandError::usage(format!("{} already exists", path.display()))
                .hint("Choose another file name.")
        }
        _ => CommandError::usage(format!("{}: {error}", path.display())),
    };
    let mut options = std::fs::OpenOptions::new();
    // The conversation is private to the user.
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.write(true).create_new(true).open(&path);
    std::io::Write::write_all(&mut file.map_err(cannot)?, text.as_bytes()).map_err(cannot)?;
    sitting.screen.note(&format!("Written to {}", path.display()));
    Ok(())
}

/// Shows or switches the mode.
fn change_mode(sitting: &mut ChatSession<'_>, name: &str) -> Result<(), CommandError> {
    if !name.is_empty() {
        sitting.set_mode(AgentMode::parse(name)?)?;
    }
    let mut text = String::new();
    for mode in AgentMode::CYCLED_MODES.into_iter().chain([AgentMode::Yolo]) {
        let mark = if mode == sitting.mode { "▸" } else { " " };
        text.push_str(&format!("{mark} {:<5} {}\n", mode.name(), mode.about()));
    }
    text.push_str("/mode NAME or Shift-Tab switches the mode; /yolo toggles automatic approval.");
    sitting.screen.note(&text);
    Ok(())
}

fn toggle_yolo(sitting: &mut ChatSession<'_>) -> Result<(), CommandError> {
    if sitting.mode == AgentMode::Yolo {
        sitting.set_mode(sitting.mode_before_yolo)?;
        sitting.screen.warn(&format!("Automatic approval is off: {}.", sitting.mode.label()));
        return Ok(());
    }
    sitting.set_mode(AgentMode::Yolo)?;
    let shown = "Automatic approval is on; denied calls stay denied. /yolo switches it off.";
    sitting.screen.warn(shown);
    Ok(())
}

/// Shows the last messages of a resumed session.
pub(crate) fn replay_messages(sitting: &ChatSession<'_>) {
    // A program that reads a pipe would take old replies for new ones.
    if sitting.screen.mode() == ScreenMode::Piped {
        return;
    }
    let messages = sitting.agent_session.agent.conversation().messages();
    let said = messages.iter().filter(|message| match message {
        ChatMessage::User { .. } => true,
        ChatMessage::Assistant(reply) => !reply.text.is_empty(),
        _ => false,
    });
    let said: Vec<&ChatMessage> = said.collect();
    let from = said.len().saturating_sub(REPLAYED_MESSAGES);
    if from > 0 {
        sitting.screen.note(&format!("… {from} earlier messages"));
    }
    for message in &said[from..] {
        match message {
            ChatMessage::Assistant(reply) => {
                sitting.screen.text(&reply.text);
                sitting.screen.end_text();
            }
            other => {
                let text = other.text();
                sitting.screen.user(hermes_skills::typed_text(&text).unwrap_or(&text));
            }
        }
    }
}
