//! `hermes` without a command: a conversation with the agent in the terminal.

mod agents;
mod approver;
mod completer;
mod renderer;
mod session;
mod skills;
mod slash_commands;

use std::sync::Arc;

use clap::Args;
use hermes_chat::{ChatScreen, ScreenMode, ScreenOptions};

use super::runtime;
use crate::app::{AppContext, AppServices, OPEN_TIMEOUT};
use crate::args::{CallOptions, ToolsetFilter};
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::mode::ModeFlags;

use approver::TerminalApprover;
use completer::ChatCompleter;
use session::{ChatSession, NextSession, SessionEnd};

#[derive(Debug, Clone, Args)]
pub(crate) struct ChatArgs {
    /// Model, as MODEL or PROVIDER:MODEL
    #[arg(long, short = 'm', value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Resume this session; `last` for the most recent one
    #[arg(long, short = 'r', value_name = "ID", conflicts_with = "session")]
    pub(crate) resume: Option<String>,
    /// Maximum number of model requests per turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Print line by line, without drawing on the terminal
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) choice: ToolsetFilter,
    #[command(flatten)]
    pub(crate) options: CallOptions,
}

pub(crate) fn run(app: &AppContext, args: &ChatArgs) -> CommandResult {
    if app.json {
        return Err(CommandError::usage("The chat does not support --json")
            .hint("`hermes --json run TASK` prints each event as a JSON line."));
    }
    let ready = Arc::new(app.services()?);
    ready.warn_of_leftovers(app);
    ready.notices().set_listening();
    ready.connect_servers(app, crate::mcp_servers::ServerSelection::All)?;
    let mut resume = args.resume.as_deref().map(|id| ready.find_session(id)).transpose()?;
    let cwd = args.options.cwd.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let words =
        ChatCompleter { skills: super::skills::skill_library(ready.home(), &ready.config, &cwd) };
    let look = ScreenOptions {
        history: Some(ready.home().root().join("chat_history")),
        completer: Some(Arc::new(words)),
        placeholder: "Describe a task; /help lists the commands".to_owned(),
        whole_thoughts: false,
        plain: args.plain,
        quiet: app.terminal.quiet,
    };
    let (screen, mut events) = ChatScreen::open(look)?;
    ready.prompter.set_screen(screen.clone());
    let mut exit = CliExitCode::Ok;
    let mut args = args.clone();
    let outcome = loop {
        let end = match run_session(app, &ready, &args, &screen, &mut events, resume.take()) {
            Ok(end) => end,
            Err(failure) => break Err(failure),
        };
        exit = if exit == CliExitCode::Ok { end.exit } else { exit };
        // A mode switch also applies to the next session.
        args.options.mode = ModeFlags::for_mode(end.mode);
        match end.next {
            NextSession::Quit => break Ok(exit),
            NextSession::Session(id) => resume = Some(id),
            NextSession::New => {}
        }
    };
    screen.close();
    ready.flush_records(app);
    outcome
}

/// Runs one session until the user leaves it.
fn run_session(
    app: &AppContext,
    ready: &Arc<AppServices>,
    args: &ChatArgs,
    screen: &ChatScreen,
    events: &mut hermes_chat::EventStream,
    resume: Option<String>,
) -> Result<SessionEnd, CommandError> {
    let id = resume.clone().or_else(|| args.options.session.clone());
    let session = id.unwrap_or_else(hermes_history::new_session_id);
    let options = CallOptions { session: Some(session), ..args.options.clone() };
    let mut caller = app.caller_even_if_closed(ready, &options, &[], Some(OPEN_TIMEOUT))?;
    caller.who = "agent".into();
    caller.observer = None;
    if screen.mode() != ScreenMode::Piped {
        let person = Arc::new(TerminalApprover::new(screen.clone()));
        caller.approver = app.with_reviewer(ready, options.mode.chosen(), Some(person));
    }
    let is_alone = caller.approver.is_none();
    runtime::block_on_workers(async {
        let sitting =
            ChatSession::begin(app, ready, args, screen, caller, resume, is_alone).await?;
        let end = sitting.run(events).await;
        if matches!(end.next, NextSession::Quit) {
            ready.engine().shutdown().await;
            ready.teardown().run().await;
        }
        Ok(end)
    })?
}
