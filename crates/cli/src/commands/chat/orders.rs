//! Orders to the program itself: lines that begin with `/`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes::engine::toolsets::ToolsetSummary;
use hermes_agent::{AgentBudget, TurnEnd};
use hermes_chat::ScreenMode;
use hermes_checkpoints::{RestorePlan, CheckpointStore, RestoreTarget};
use hermes_history::{SessionFilter, format_local};
use hermes_llm::ChatMessage;
use hermes_memory::MemoryTarget as List;

use super::sitting::{Next, Sitting, Then};
use super::skills;
use crate::commands::{checkpoints, memory};
use crate::engagement::{told, told_stopped};
use crate::failure::{Exit, Failure};
use crate::mode::AgentMode;
use crate::summary;

/// An order that can be given.
pub(crate) struct Order {
    pub(crate) name: &'static str,
    /// What it takes, as people write it.
    pub(crate) takes: &'static str,
    pub(crate) about: &'static str,
}

const fn order(name: &'static str, takes: &'static str, about: &'static str) -> Order {
    Order { name, takes, about }
}

/// All of them.
pub(crate) const ORDERS: &[Order] = &[
    order("help", "", "show the commands and keys"),
    order("model", "[NAME]", "show or change the model (MODEL or PROVIDER:MODEL)"),
    order("tools", "", "list the tools of this session"),
    order("toolsets", "[NAMES]", "list groups of tools, or use only these"),
    order("skills", "[NAME]", "list skills; show NAME shows one, NAME or /NAME calls for it"),
    order("cost", "", "what was used so far"),
    order("compact", "", "sum up the conversation to make room"),
    order("undo", "[N]", "take back the last turn, or N: the messages, and what changed in files"),
    order("memory", "", "show what is remembered"),
    order("todo", "", "show the plan"),
    order("sessions", "", "list the last sessions"),
    order("resume", "[ID]", "go on with another session"),
    order("new", "", "begin a new session"),
    order("title", "TEXT", "give this session a name"),
    order("save", "[FILE]", "write the conversation to a file"),
    order("mode", "[NAME]", "show the mode, or switch it: auto, ask or plan (as Shift-Tab)"),
    order("yolo", "", "approve every question automatically, or ask again"),
    order("stop", "", "stop the turn (as Ctrl-C twice), and what is in the background"),
    order("quit", "", "leave (as Ctrl-D)"),
];

/// How long it is waited for that what was stopped has ended.
const SETTLING: Duration = Duration::from_secs(2);
/// How many of the last messages are shown when a session goes on.
const SHOWN_AGAIN: usize = 6;

/// Carries an order out.
pub(crate) async fn carry_out(sitting: &mut Sitting<'_>, order: &str) -> Then {
    let (name, rest) = order.split_once(char::is_whitespace).unwrap_or((order, ""));
    let rest = rest.trim();
    let done = match name {
        "help" | "?" => help(sitting),
        "quit" | "exit" | "q" => return Then::End(Next::Leave),
        "new" | "clear" => return Then::End(Next::Anew),
        "resume" => match session(sitting, rest) {
            Ok(id) => return Then::End(Next::Session(id)),
            Err(failure) => Err(failure),
        },
        "model" => model(sitting, rest).await,
        "tools" => tools(sitting),
        "toolsets" => toolsets(sitting, rest).await,
        "skills" => match skills::order(sitting, rest) {
            Ok(Some(message)) => return Then::Say(message),
            other => other.map(drop),
        },
        "cost" | "usage" => cost(sitting),
        "compact" | "compress" => compact(sitting).await,
        "undo" => undo(sitting, rest),
        "memory" => remembered(sitting),
        "todo" => {
            if !sitting.shown.plan() {
                sitting.screen.note("There is no plan.");
            }
            Ok(())
        }
        "sessions" | "history" => sessions(sitting),
        "title" => title(sitting, rest),
        "save" => save(sitting, rest),
        "mode" => mode(sitting, rest),
        "yolo" => yolo(sitting),
        "stop" => {
            let stopped = sitting.ready.crew.stop_session(&sitting.engaged.session);
            let told = told_stopped(&stopped);
            sitting.is_halted |= told.is_some();
            let settled = sitting.ready.crew.wait_until_idle(&sitting.engaged.session);
            // One that does not end is not waited for.
            let _ = tokio::time::timeout(SETTLING, settled).await;
            sitting.screen.note(told.as_deref().unwrap_or("Nothing is under way."));
            Ok(())
        }
        _ => match skills::called(sitting, order) {
            Ok(Some(message)) => return Then::Say(message),
            Ok(None) => {
                tell_unknown(sitting, name);
                Ok(())
            }
            Err(failure) => Err(failure),
        },
    };
    if let Err(failure) = done {
        if sitting.exit == Exit::Ok {
            sitting.exit = failure.exit;
        }
        let hint = failure.hint.map(|hint| format!("\n{hint}")).unwrap_or_default();
        sitting.screen.error(&format!("{}{hint}", failure.message));
    }
    Then::Wait
}

fn tell_unknown(sitting: &mut Sitting<'_>, name: &str) {
    if sitting.exit == Exit::Ok {
        sitting.exit = Exit::Usage;
    }
    let near = ORDERS.iter().find(|known| known.name.starts_with(name));
    let near = near.map(|near| format!("; did you mean /{}?", near.name));
    sitting.screen.warn(&format!(
        "There is no command or skill /{name}{}",
        near.unwrap_or_else(|| "; /help and /skills list them".to_owned())
    ));
}

fn help(sitting: &Sitting<'_>) -> Result<(), Failure> {
    let mut text = String::new();
    for order in ORDERS {
        let written = format!("/{} {}", order.name, order.takes);
        text.push_str(&format!("{written:<20} {}\n", order.about));
    }
    text.push_str(
        "\nEnter sends; Alt-Enter or Ctrl-J begins a new line; Tab completes (@ names a file).\n\
         What is typed while a turn runs reaches the model with the next result.\n\
         Ctrl-C stops the calls, again the turn; Ctrl-D leaves.",
    );
    sitting.screen.note(&text);
    Ok(())
}

async fn model(sitting: &mut Sitting<'_>, wanted: &str) -> Result<(), Failure> {
    if !wanted.is_empty() {
        let watcher = Arc::clone(&sitting.engaged.agent.parts().observer);
        let chosen = sitting.ready.models.find(Some(wanted), told(&watcher)).await?;
        let makeup = sitting.engaged.agent.parts_mut();
        makeup.model = chosen.found.model;
        makeup.params = chosen.manner;
        sitting.engaged.how = chosen.found.source;
    }
    let makeup = sitting.engaged.agent.parts();
    let window = makeup.model.window().map(|tokens| format!(", {tokens} tokens of context"));
    sitting.screen.note(&format!(
        "{} ({}{})",
        makeup.params.model,
        sitting.engaged.how,
        window.unwrap_or_default()
    ));
    sitting.show_status();
    Ok(())
}

fn tools(sitting: &Sitting<'_>) -> Result<(), Failure> {
    let definitions = &sitting.engaged.definitions;
    let snapshot = sitting.ready.engine.snapshot();
    let mut text = String::new();
    for name in &definitions.visible {
        let about = snapshot.find(name).map(|entry| {
            let spec = entry.spec();
            (spec.emoji.to_string(), spec.description.lines().next().unwrap_or("").to_owned())
        });
        let (emoji, about) = about.unwrap_or_default();
        text.push_str(&format!("{emoji} {name:<22} {}\n", summary::short(&about, 70)));
    }
    if !definitions.deferred.is_empty() {
        let names: Vec<&str> = definitions.deferred.iter().map(AsRef::as_ref).collect();
        text.push_str(&format!("found by search: {}\n", names.join(", ")));
    }
    for (name, state) in &definitions.unavailable {
        if let hermes::core::Availability::Missing { reason, .. } = state {
            text.push_str(&format!("not here: {name} ({reason})\n"));
        }
    }
    sitting.screen.note(text.trim_end());
    Ok(())
}

async fn toolsets(sitting: &mut Sitting<'_>, wanted: &str) -> Result<(), Failure> {
    if wanted.is_empty() {
        let infos = crate::commands::toolsets::infos(sitting.ready)?;
        let snapshot = sitting.ready.engine.snapshot();
        // Groups of which nothing is there, and those of other places, are of no use here.
        let is_of_use = |info: &&ToolsetSummary| {
            let is_here = info.tools.iter().any(|tool| snapshot.get(tool).is_some());
            is_here && (info.custom || !info.name.starts_with("hermes-"))
        };
        let names: Vec<&str> = infos.iter().filter(is_of_use).map(|info| &*info.name).collect();
        sitting.screen.note(&format!("{}\n/toolsets NAME,NAME uses only these.", names.join(", ")));
        return Ok(());
    }
    let split = |c: char| c == ',' || c.is_whitespace();
    let names = wanted.split(split).filter(|name| !name.is_empty()).map(str::to_owned);
    let choice = crate::args::Choice { toolsets: names.collect(), without: Vec::new() };
    let window = sitting.engaged.agent.parts().model.window();
    let (definitions, tools) = sitting.ready.told_tools(&choice, window).await?;
    // Who says which tools are used wants no others to join.
    sitting.ready.forget_late();
    let makeup = sitting.engaged.agent.parts_mut();
    makeup.caller.scope = Some(Arc::clone(&definitions.scope));
    makeup.tools = tools;
    sitting.screen.note(&format!("{} tools from now on.", definitions.visible.len()));
    sitting.engaged.definitions = definitions;
    Ok(())
}

fn cost(sitting: &Sitting<'_>) -> Result<(), Failure> {
    let spent = sitting.shown.spent();
    let cost = match spent.cost {
        Some(cost) => format!("${cost:.4}"),
        None if spent.input + spent.output == 0 => "nothing yet".to_owned(),
        None => "not known; model.prices in config.yaml tells it".to_owned(),
    };
    let before = match sitting.shown.before() {
        before if before.input + before.output == 0 => String::new(),
        before => format!(
            " ({} tokens{} of it in earlier sittings)",
            before.input + before.output,
            before.cost.map(|cost| format!(" and ${cost:.4}")).unwrap_or_default()
        ),
    };
    let definitions = &sitting.engaged.definitions.json;
    sitting.screen.note(&format!(
        "sent      {} tokens, {} of them from a cache\nanswered  {} tokens\ncost      {cost}{before}\n\
         context   {} tokens now, about {} of them for {} tools",
        spent.input,
        spent.cache_read,
        spent.output,
        sitting.context(),
        crate::tokens::about(definitions),
        sitting.engaged.definitions.visible.len(),
    ));
    Ok(())
}

async fn compact(sitting: &mut Sitting<'_>) -> Result<(), Failure> {
    sitting.screen.working(Some("summing up"));
    let budget = AgentBudget::new(Default::default());
    sitting.shown.count(&budget);
    let done = sitting.engaged.agent.compact(&budget).await;
    sitting.screen.working(None);
    sitting.show_status();
    match done {
        Ok(true) => {}
        Ok(false) => sitting.screen.note("The conversation is short already."),
        Err(TurnEnd::Interrupted) => sitting.screen.note("Stopped; nothing is changed."),
        Err(end) => super::sitting::tell_end(sitting.screen, &end),
    }
    Ok(())
}

/// Takes turns back, one after the other.
fn undo(sitting: &mut Sitting<'_>, turns: &str) -> Result<(), Failure> {
    let turns: u32 = match turns {
        "" => 1,
        turns => turns
            .parse()
            .ok()
            .filter(|turns| *turns > 0)
            .ok_or_else(|| Failure::usage("/undo takes a number of turns, such as /undo 2"))?,
    };
    for _ in 0..turns {
        if !undo_one(sitting)? {
            break;
        }
    }
    Ok(())
}

/// Takes the last turn back; whether there was one.
fn undo_one(sitting: &mut Sitting<'_>) -> Result<bool, Failure> {
    let session = sitting.engaged.session.clone();
    // What was said while the turn ran belongs to it.
    let said = sitting.began.last().map_or(1, |turn| turn.said);
    let taken = sitting.engaged.store.undo(&session, said)?;
    if taken.messages == 0 {
        sitting.screen.note("There is nothing to take back.");
        return Ok(false);
    }
    let reader = sitting.engaged.store.reader();
    let info = reader.session(&session)?;
    sitting.engaged.agent.set_conversation(reader.conversation(&info)?);
    let mut told = format!("{} messages are taken back.", taken.messages);
    let store = checkpoints::store(sitting.app)?;
    match plan(sitting, &store)? {
        Some(plan) => {
            let restored = store.apply_plan(&plan, false)?;
            for path in &restored.restored {
                let what = if path.symlink_metadata().is_ok() { "restored" } else { "removed " };
                told.push_str(&format!("\n{what}  {}", path.display()));
            }
            for (path, why) in &restored.skipped {
                told.push_str(&format!("\nleft      {} ({why})", path.display()));
            }
        }
        None => told.push_str(" It had changed no files that are kept."),
    }
    sitting.screen.note(&told);
    if let Some(text) = taken.user_text {
        sitting.screen.fill(hermes_skills::typed_text(&text).unwrap_or(&text));
    }
    Ok(true)
}

/// How the files come back that the last turn has changed. Another program may
/// have worked here since, so only this session's own turn counts.
fn plan(sitting: &mut Sitting<'_>, store: &CheckpointStore) -> Result<Option<RestorePlan>, Failure> {
    let Some(began) = sitting.began.pop() else { return Ok(None) };
    let cwd = sitting.engaged.agent.parts().caller.cwd.clone();
    let workspace = checkpoints::workspace(sitting.app, store, Some(&cwd))?;
    let Ok(plan) = store.plan(RestoreTarget::Undo { workspace: &workspace, turns: 1 }) else {
        return Ok(None);
    };
    let Some(id) = plan.checkpoints.last() else { return Ok(None) };
    let kept = store.find(id)?;
    let is_own = kept.session() == sitting.engaged.session && kept.at_nanos() >= began.at;
    Ok(is_own.then_some(plan))
}

fn remembered(sitting: &Sitting<'_>) -> Result<(), Failure> {
    let lists = memory::lists(&sitting.ready.home, &sitting.ready.config)?;
    let mut text = String::new();
    for (title, target) in [("What is known of you", List::User), ("Notes", List::Memory)] {
        let read = lists.read(target).map_err(Failure::from)?;
        text.push_str(&format!("{title}:\n"));
        for entry in &read.entries {
            text.push_str(&format!("  - {}\n", entry.replace('\n', "\n    ")));
        }
        if read.entries.is_empty() {
            text.push_str("  nothing yet\n");
        }
    }
    text.push_str("`hermes memory` changes it.");
    sitting.screen.note(&text);
    Ok(())
}

/// Where sessions come from that nobody has talked in.
fn helpers() -> Vec<String> {
    crate::commands::sessions::HELPERS.map(str::to_owned).to_vec()
}

fn sessions(sitting: &Sitting<'_>) -> Result<(), Failure> {
    let listing = SessionFilter { limit: 15, excluded_sources: helpers(), ..SessionFilter::default() };
    let found = sitting.engaged.store.reader().sessions(&listing)?;
    let mut text = String::new();
    for session in found.iter().filter(|session| session.id != sitting.engaged.session) {
        let title = session.title.as_deref().unwrap_or(&session.preview);
        let when = format_local(session.last_active);
        text.push_str(&format!("{}  {when}  {}\n", session.id, summary::short(title, 60)));
    }
    text.push_str(match text.is_empty() {
        true => "There is no other session yet.",
        false => "/resume ID goes on with one.",
    });
    sitting.screen.note(&text);
    Ok(())
}

/// The session that is meant; the one before this if none is named.
fn session(sitting: &Sitting<'_>, named: &str) -> Result<String, Failure> {
    let reader = sitting.engaged.store.reader();
    if !named.is_empty() && named != "last" {
        return Ok(reader.session(named)?.id);
    }
    let listing = SessionFilter { limit: 2, excluded_sources: helpers(), ..SessionFilter::default() };
    let found = reader.sessions(&listing)?;
    let other = found.into_iter().find(|session| session.id != sitting.engaged.session);
    let other = other.ok_or_else(|| Failure::not_found("There is no other session"))?;
    Ok(other.id)
}

fn title(sitting: &Sitting<'_>, title: &str) -> Result<(), Failure> {
    if title.is_empty() {
        return Err(Failure::usage("/title needs a text"));
    }
    sitting.engaged.store.rename(&sitting.engaged.session, title)?;
    sitting.screen.note(&format!("This session is called “{title}” from now on."));
    Ok(())
}

/// A file for a session that is not there yet.
fn unused(folder: &Path, session: &str) -> PathBuf {
    let named = |at: u32| match at {
        1 => folder.join(format!("hermes-{session}.md")),
        at => folder.join(format!("hermes-{session}-{at}.md")),
    };
    (1..1_000).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(1))
}

fn save(sitting: &Sitting<'_>, file: &str) -> Result<(), Failure> {
    if sitting.engaged.agent.conversation().messages().is_empty() {
        return Err(Failure::usage("Nothing was said yet"));
    }
    let cwd = sitting.engaged.agent.parts().caller.cwd.clone();
    let path = match file {
        "" => unused(&cwd, &sitting.engaged.session),
        file => cwd.join(file),
    };
    let mut text = String::new();
    for message in sitting.engaged.agent.conversation().messages() {
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
            Failure::usage(format!("{} is there already", path.display()))
                .hint("Name another file.")
        }
        _ => Failure::usage(format!("{}: {error}", path.display())),
    };
    let mut options = std::fs::OpenOptions::new();
    // What was said is for nobody else.
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.write(true).create_new(true).open(&path);
    std::io::Write::write_all(&mut file.map_err(cannot)?, text.as_bytes()).map_err(cannot)?;
    sitting.screen.note(&format!("Written to {}", path.display()));
    Ok(())
}

/// Shows the mode, or switches it.
fn mode(sitting: &mut Sitting<'_>, name: &str) -> Result<(), Failure> {
    if !name.is_empty() {
        sitting.set_mode(AgentMode::parse(name)?)?;
    }
    let mut text = String::new();
    for mode in AgentMode::CYCLE.into_iter().chain([AgentMode::Yolo]) {
        let mark = if mode == sitting.mode { "▸" } else { " " };
        text.push_str(&format!("{mark} {:<5} {}\n", mode.name(), mode.about()));
    }
    text.push_str("/mode NAME or Shift-Tab switches; /yolo switches automatic approval.");
    sitting.screen.note(&text);
    Ok(())
}

fn yolo(sitting: &mut Sitting<'_>) -> Result<(), Failure> {
    if sitting.mode == AgentMode::Yolo {
        sitting.set_mode(sitting.calm_mode)?;
        sitting.screen.warn(&format!("Automatic approval is off: {}.", sitting.mode.label()));
        return Ok(());
    }
    sitting.set_mode(AgentMode::Yolo)?;
    let told = "Automatic approval is on; what is denied stays denied. /yolo switches it off.";
    sitting.screen.warn(told);
    Ok(())
}

/// The last messages of a session that goes on.
pub(crate) fn show_again(sitting: &Sitting<'_>) {
    // Whoever reads a pipe takes every answer for a new one.
    if sitting.screen.mode() == ScreenMode::Piped {
        return;
    }
    let messages = sitting.engaged.agent.conversation().messages();
    let said = messages.iter().filter(|message| match message {
        ChatMessage::User { .. } => true,
        ChatMessage::Assistant(reply) => !reply.text.is_empty(),
        _ => false,
    });
    let said: Vec<&ChatMessage> = said.collect();
    let from = said.len().saturating_sub(SHOWN_AGAIN);
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
