//! `hermes` by itself: a conversation with the agent in the terminal.

mod completer;
mod orders;
mod person;
mod shown;
mod sitting;
mod skills;

use std::sync::Arc;

use clap::Args;
use hermes_chat::{ScreenMode, ScreenOptions, ChatScreen};

use super::runtime;
use crate::app::{App, BEGINNING, Ready};
use crate::args::{CallOptions, Choice};
use crate::failure::{Exit, Failure, Outcome};
use crate::mode::ModeFlags;

use completer::Words;
use person::Person;
use sitting::{Next, Sitting, SittingEnd};

#[derive(Debug, Clone, Args)]
pub(crate) struct Chat {
    /// The model, as MODEL or PROVIDER:MODEL
    #[arg(long, short = 'm', value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Go on with this session; `last` is the last one
    #[arg(long, short = 'r', value_name = "ID", conflicts_with = "session")]
    pub(crate) resume: Option<String>,
    /// Stop a turn after the model was asked so often
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Print line by line, without drawing on the terminal
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) choice: Choice,
    #[command(flatten)]
    pub(crate) options: CallOptions,
}

pub(crate) fn run(app: &App, args: &Chat) -> Outcome {
    if app.json {
        return Err(Failure::usage("A conversation is for people, and is not told as JSON")
            .hint("`hermes --json run TASK` tells what happens, a line each."));
    }
    let ready = Arc::new(app.ready()?);
    ready.warn_of_leftovers(app);
    ready.notices.set_listening();
    ready.join_servers(app, crate::foreign::Wanted::All)?;
    let mut resume = args.resume.as_deref().map(|id| ready.session_named(id)).transpose()?;
    let cwd = args.options.cwd.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let words = Words { shelf: super::skills::shelf(&ready.home, &ready.config, &cwd) };
    let look = ScreenOptions {
        history: Some(ready.home.root().join("chat_history")),
        completer: Some(Arc::new(words)),
        placeholder: "Say what is to be done; /help shows the commands".to_owned(),
        whole_thoughts: false,
        plain: args.plain,
        quiet: app.terminal.quiet,
    };
    let (screen, mut events) = ChatScreen::open(look)?;
    ready.keyboard.lend(screen.clone());
    let mut exit = Exit::Ok;
    let mut args = args.clone();
    let outcome = loop {
        let end = match sit(app, &ready, &args, &screen, &mut events, resume.take()) {
            Ok(end) => end,
            Err(failure) => break Err(failure),
        };
        exit = if exit == Exit::Ok { end.exit } else { exit };
        // The mode that was switched to holds in the next session, too.
        args.options.mode = ModeFlags::for_mode(end.mode);
        match end.next {
            Next::Leave => break Ok(exit),
            Next::Session(id) => resume = Some(id),
            Next::Anew => {}
        }
    };
    screen.close();
    ready.settle(app);
    outcome
}

/// One session, until the person leaves it.
fn sit(
    app: &App,
    ready: &Arc<Ready>,
    args: &Chat,
    screen: &ChatScreen,
    events: &mut hermes_chat::EventStream,
    resume: Option<String>,
) -> Result<SittingEnd, Failure> {
    let id = resume.clone().or_else(|| args.options.session.clone());
    let session = id.unwrap_or_else(hermes_history::new_session_id);
    let options = CallOptions { session: Some(session), ..args.options.clone() };
    let mut caller = app.caller_anyhow(ready, &options, &[], Some(BEGINNING))?;
    caller.who = "agent".into();
    caller.observer = None;
    if screen.mode() != ScreenMode::Piped {
        let person = Arc::new(Person::new(screen.clone()));
        caller.approver = app.with_review(ready, options.mode.chosen(), Some(person));
    }
    let is_alone = caller.approver.is_none();
    runtime::early(async {
        let sitting = Sitting::begin(app, ready, args, screen, caller, resume, is_alone).await?;
        let end = sitting.go(events).await;
        if matches!(end.next, Next::Leave) {
            ready.engine.shutdown().await;
            ready.leaving().leave().await;
        }
        Ok(end)
    })?
}
