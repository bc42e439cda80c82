//! One session at the terminal: lines come in, turns go out, and orders to the
//! program itself are carried out in between.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes::engine::Caller;
use hermes_agent::{
    Agent, AgentBudget, AgentObserver, InterruptHandle, InterruptScope, TurnEnd, TurnOutcome,
};
use hermes_chat::{ChatScreen, EventStream, ScreenMode, UserEvent};
use hermes_llm::{ChatMessage, ContentPart};
use hermes_skills::SkillLibrary;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::ChatArgs;
use super::approver::TerminalApprover;
use super::renderer::EventRenderer;
use super::slash_commands;
use crate::agent_session::{AgentOptions, AgentSession, MAX_NOTICES, notices_text, stopped_text};
use crate::app::{AppContext, AppServices};
use crate::call_summary;
use crate::command_error::{CliExitCode, CommandError};
use crate::commands::run::exit_for_end;
use crate::commands::skills;
use crate::mode::AgentMode;

/// What comes after a session.
#[derive(Debug)]
pub(crate) enum NextSession {
    /// Nothing.
    Quit,
    /// This session.
    Session(String),
    /// A new session.
    New,
}

/// How a session at the terminal ended.
pub(crate) struct SessionEnd {
    pub(crate) next: NextSession,
    /// What scripts are told of it.
    pub(crate) exit: CliExitCode,
    /// The mode that it was in.
    pub(crate) mode: AgentMode,
}

/// What becomes of a line that was typed.
pub(crate) enum LineOutcome {
    /// The next line is waited for.
    Wait,
    /// The session is over.
    End(NextSession),
    /// This is said to the model.
    Say(String),
}

/// A turn of this session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnStart {
    /// When it began, in nanoseconds since 1970.
    pub(crate) at: i64,
    /// How often the person has said something in it.
    pub(crate) message_count: usize,
}

/// A turn under way.
struct RunningTurn {
    work: JoinHandle<(Agent, TurnOutcome)>,
    interrupt: InterruptHandle,
}

/// A session at the terminal.
pub(crate) struct ChatSession<'a> {
    pub(crate) app: &'a AppContext,
    pub(crate) ready: &'a Arc<AppServices>,
    pub(crate) args: &'a ChatArgs,
    pub(crate) screen: &'a ChatScreen,
    pub(crate) renderer: Arc<EventRenderer>,
    pub(crate) agent_session: AgentSession,
    /// The skills of this place.
    pub(crate) skills: SkillLibrary,
    /// How much the agent does without asking.
    pub(crate) mode: AgentMode,
    /// The mode that comes back when automatic approval is switched off.
    pub(crate) mode_before_yolo: AgentMode,
    /// The turns so far.
    pub(crate) turns: Vec<TurnStart>,
    /// Whether the person has stopped the last turn: nothing begins by itself
    /// until they say something.
    pub(crate) is_halted: bool,
    /// What went wrong first, for scripts.
    pub(crate) exit: CliExitCode,
}

impl<'a> ChatSession<'a> {
    pub(crate) async fn begin(
        app: &'a AppContext,
        ready: &'a Arc<AppServices>,
        args: &'a ChatArgs,
        screen: &'a ChatScreen,
        caller: Caller,
        resume: Option<String>,
        is_alone: bool,
    ) -> Result<Self, CommandError> {
        let shown =
            EventRenderer::new(screen.clone(), ready.engine.clone(), caller.session.clone());
        let mode = app.effective_mode(&ready.config, args.options.mode.chosen());
        let terms = AgentOptions {
            source: "chat",
            model: args.model.as_deref(),
            choice: &args.choice,
            is_unattended: is_alone,
            mode,
            title: None,
            resume: resume.as_deref(),
            has_local_context: true,
            observer: Arc::clone(&shown) as Arc<dyn AgentObserver>,
        };
        let shelf = skills::skill_library(&ready.home, &ready.config, &caller.cwd);
        let engaged = ready.start_agent(caller, terms).await?;
        if resume.is_some() {
            let reader = engaged.store.reader();
            shown.resume_from(reader.total_usage(&reader.session(&engaged.session)?)?);
        }
        let sitting = Self {
            app,
            ready,
            args,
            screen,
            renderer: shown,
            agent_session: engaged,
            skills: shelf,
            mode,
            mode_before_yolo: if mode == AgentMode::Yolo { AgentMode::Auto } else { mode },
            turns: Vec::new(),
            is_halted: false,
            exit: CliExitCode::Ok,
        };
        sitting.show_greeting(resume.is_some());
        Ok(sitting)
    }

    fn show_greeting(&self, goes_on: bool) {
        let agent = &self.agent_session.agent;
        let tools = self.agent_session.definitions.visible.len();
        let tokens = crate::tokens::estimate(&self.agent_session.definitions.json);
        let more = match self.agent_session.definitions.deferred.len() {
            0 => String::new(),
            count => format!(", {count} more by search"),
        };
        self.screen.note(&format!(
            "hermes {} · {} ({}) · {tools} tools, about {tokens} tokens{more} · {}",
            env!("CARGO_PKG_VERSION"),
            agent.parts().params.model,
            self.agent_session.model_origin,
            agent.parts().caller.cwd.display(),
        ));
        if goes_on {
            slash_commands::replay_messages(self);
        }
        for warning in &self.agent_session.warnings {
            self.screen.warn(warning);
        }
        self.show_status();
    }

    pub(crate) fn show_status(&self) {
        let makeup = self.agent_session.agent.parts();
        let (model, window) = (&makeup.params.model, makeup.model.window());
        self.renderer.update_status(model, self.context_tokens(), window, self.mode);
    }

    /// Switches to another mode, between turns.
    pub(crate) fn set_mode(&mut self, mode: AgentMode) -> Result<(), CommandError> {
        let cwd = self.agent_session.agent.parts().caller.cwd.clone();
        enforce_mode(self.app, self.ready, self.args, &cwd, mode)?;
        self.note_mode(mode);
        self.apply_mode_to_agent();
        self.show_status();
        Ok(())
    }

    /// Notes the mode that is in force now.
    fn note_mode(&mut self, mode: AgentMode) {
        self.mode = mode;
        if mode != AgentMode::Yolo {
            self.mode_before_yolo = mode;
        }
    }

    /// Tells the model of the mode, and has the right one answer its questions.
    fn apply_mode_to_agent(&mut self) {
        let makeup = self.agent_session.agent.parts_mut();
        self.mode.instruct(&mut makeup.system);
        if self.screen.mode() == ScreenMode::Piped {
            return;
        }
        let person = Arc::new(TerminalApprover::new(self.screen.clone()));
        makeup.caller.approver = self.app.with_reviewer(self.ready, Some(self.mode), Some(person));
        self.ready
            .subagent_services
            .begin_session(&self.agent_session.session, makeup.caller.approver.clone());
    }

    /// About how many tokens of the model's context are in use.
    pub(crate) fn context_tokens(&self) -> u64 {
        let agent = &self.agent_session.agent;
        let said = agent.conversation().tokens();
        if self.renderer.context_used() > 0 {
            return said;
        }
        // No server has counted yet what is sent before the conversation.
        let tools = u64::try_from(crate::tokens::estimate(&self.agent_session.definitions.json));
        said + agent.parts().system.len() as u64 / 4 + tools.unwrap_or_default()
    }

    /// Until the person wants something else.
    pub(crate) async fn run(mut self, events: &mut EventStream) -> SessionEnd {
        let news = Arc::new(Notify::new());
        let wake = Arc::clone(&news);
        self.ready.notices.on_notice(Arc::new(move || wake.notify_one()));
        // What came while an order was carried out.
        let mut held = VecDeque::new();
        let next = loop {
            let said = tokio::select! {
                biased;
                event = next_event(&mut held, events) => match event {
                    None | Some(UserEvent::Quit | UserEvent::Terminated) => break NextSession::Quit,
                    Some(UserEvent::Resized) => continue,
                    Some(UserEvent::ShiftTab) => {
                        if let Err(failure) = self.set_mode(self.mode.next()) {
                            self.screen.error(&failure.message);
                        }
                        continue;
                    }
                    Some(UserEvent::Interrupt) => {
                        self.screen.note("Ctrl-D or /quit leaves.");
                        continue;
                    }
                    Some(UserEvent::Line { text, attachments }) => {
                        let interrupt = self.agent_session.agent.interrupt();
                        let typed = self.handle_line(text, &attachments);
                        match run_interruptible(typed, &interrupt, &mut held, events).await {
                            Ok(Some(mut said)) => {
                                // What came since it was stopped is told now.
                                if std::mem::take(&mut self.is_halted)
                                    && let Some(news) = self.take_notices()
                                {
                                    said.splice(0..0, news);
                                }
                                said
                            }
                            Ok(None) => continue,
                            Err(next) => break next,
                        }
                    }
                },
                // A process has ended, for instance; the model goes on with that.
                () = news.notified(), if !self.is_halted => match self.take_notices() {
                    Some(said) => said,
                    None => continue,
                },
            };
            match self.run_turn(said, &mut held, events).await {
                Ok(this) => self = this,
                Err(exit) => {
                    return SessionEnd { next: NextSession::Quit, exit, mode: AgentMode::Auto };
                }
            }
        };
        self.close();
        // Whoever sits there has seen how it went.
        let exit =
            if self.screen.mode() == ScreenMode::Piped { self.exit } else { CliExitCode::Ok };
        SessionEnd { next, exit, mode: self.mode }
    }

    /// What a line says to the model; none if it was an order to the program.
    async fn handle_line(
        &mut self,
        text: String,
        attachments: &[PathBuf],
    ) -> Result<Option<Vec<ContentPart>>, NextSession> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        self.screen.user(&text);
        let order = text.strip_prefix('/').filter(|_| !is_path(&text));
        let then = match order {
            Some(order) => Some(slash_commands::run_slash_command(self, order).await),
            None => None,
        };
        let text = match then {
            None => text,
            Some(LineOutcome::Say(message)) => message,
            Some(LineOutcome::Wait) => return Ok(None),
            Some(LineOutcome::End(next)) => return Err(next),
        };
        self.add_late_servers().await;
        Ok(Some(parts_with_pictures(self.screen, text, attachments)))
    }

    /// Takes in the tools of servers that were not there at the beginning.
    async fn add_late_servers(&mut self) {
        let newcomers = self.ready.take_arrived_servers();
        if newcomers.is_empty() {
            return;
        }
        match self
            .ready
            .tool_definitions(&self.args.choice, self.agent_session.agent.parts().model.window())
            .await
        {
            Ok((definitions, tools)) => {
                let makeup = self.agent_session.agent.parts_mut();
                makeup.caller.scope = Some(Arc::clone(&definitions.scope));
                makeup.tools = tools;
                self.agent_session.definitions = definitions;
                let names = newcomers.join(", ");
                self.screen.note(&format!("The tools of {names} are there now."));
            }
            Err(failure) => self.screen.warn(&failure.message),
        }
    }

    fn take_notices(&self) -> Option<Vec<ContentPart>> {
        let news = self.ready.notices.drain(&self.agent_session.session, MAX_NOTICES);
        let told = notices_text(&news)?;
        for notice in &news {
            self.screen.note(&call_summary::notice_line(notice));
        }
        Some(vec![ContentPart::Text { text: told }])
    }

    /// One turn. What is typed meanwhile steers it, and orders are for later. An
    /// error means that this was the last one, and is what scripts are told.
    async fn run_turn(
        mut self,
        said: Vec<ContentPart>,
        held: &mut VecDeque<UserEvent>,
        events: &mut EventStream,
    ) -> Result<Self, CliExitCode> {
        let budget = self.ready.budget(self.args.max_turns, None);
        self.renderer.track_budget(&budget);
        let (app, ready, args, screen) = (self.app, self.ready, self.args, self.screen);
        let at = hermes_history::Timestamp::now().as_millisecond() * 1_000_000;
        // It is lent to the turn, and comes back with what came of it.
        let mut agent = self.agent_session.agent;
        // Each turn is a request of its own.
        agent.parts_mut().caller.deadline = self.args.options.deadline();
        let before = user_message_count(&agent);
        let cwd = agent.parts().caller.cwd.clone();
        let mut mode = self.mode;
        let mut turn = start_turn(agent, said, budget);
        let mut leaves = false;
        // A script says one thing after the other, and steers nothing.
        let listens = screen.mode() != ScreenMode::Piped;
        let (agent, outcome) = loop {
            tokio::select! {
                biased;
                done = &mut turn.work => match done {
                    Ok(done) => break done,
                    Err(error) => {
                        screen.error(&format!("The turn crashed: {error}"));
                        return Err(CliExitCode::Failed);
                    }
                },
                event = events.next(), if listens && !leaves => match event {
                    None | Some(UserEvent::Quit | UserEvent::Terminated) => {
                        leaves = true;
                        turn.interrupt.stop_turn();
                    }
                    // What is called from now on is judged by it; the model is told later.
                    Some(UserEvent::ShiftTab) => match enforce_mode(app, ready, args, &cwd, mode.next()) {
                        Ok(()) => {
                            mode = mode.next();
                            self.renderer.show_mode(mode);
                        }
                        Err(failure) => screen.error(&failure.message),
                    },
                    Some(UserEvent::Interrupt) => match turn.interrupt.stop() {
                        InterruptScope::Calls => screen.note("Stopping the calls; once more stops the turn."),
                        InterruptScope::Turn => stop_turn(ready, screen, &self.agent_session.session),
                    },
                    Some(UserEvent::Line { text, .. }) if text.trim() == "/stop" => {
                        turn.interrupt.stop_turn();
                        stop_turn(ready, screen, &self.agent_session.session);
                    }
                    Some(UserEvent::Line { text, .. })
                        if matches!(text.trim(), "/quit" | "/exit" | "/q") =>
                    {
                        leaves = true;
                        turn.interrupt.stop_turn();
                    }
                    Some(UserEvent::Line { text, attachments })
                        if text.starts_with('/') && !is_path(&text) =>
                    {
                        screen.note(&format!(
                            "{} comes after this turn; /stop ends it.",
                            text.trim()
                        ));
                        held.push_back(UserEvent::Line { text, attachments });
                    }
                    Some(UserEvent::Line { text, attachments }) if !text.trim().is_empty() => {
                        screen.user(&text);
                        screen.note("The model hears this with the next result.");
                        turn.interrupt.queue_input(parts_with_pictures(screen, text, &attachments));
                    }
                    Some(UserEvent::Line { .. } | UserEvent::Resized) => {}
                },
            }
        };
        screen.working(None);
        screen.end_text();
        show_end(screen, &outcome.end);
        let said = user_message_count(&agent).saturating_sub(before).max(1);
        self.agent_session.agent = agent;
        if mode != self.mode {
            self.note_mode(mode);
            self.apply_mode_to_agent();
        }
        self.turns.push(TurnStart { at, message_count: said });
        self.is_halted = outcome.end == TurnEnd::Interrupted;
        // What went wrong once is not made good by what comes after.
        if self.exit == CliExitCode::Ok {
            self.exit = exit_for_end(&outcome.end);
        }
        self.show_status();
        if leaves {
            self.close();
            return Err(CliExitCode::Ok);
        }
        Ok(self)
    }

    /// The session is closed; one in which nothing was said is not kept.
    fn close(&self) {
        let AgentSession { agent, session, store, .. } = &self.agent_session;
        if let Some(told) = stopped_text(&self.ready.subagents.stop_session(session)) {
            self.screen.note(&told);
        }
        if agent.conversation().messages().is_empty() {
            let _ = store.delete(session);
            return;
        }
        let _ = store.end(session, "left");
        self.screen.note(&format!("Go on later with: hermes chat --resume {session}"));
    }
}

/// Has the calls from now on judged as this mode wants it.
fn enforce_mode(
    app: &AppContext,
    ready: &AppServices,
    args: &ChatArgs,
    cwd: &Path,
    mode: AgentMode,
) -> Result<(), CommandError> {
    let permissions = app.permissions(ready, &args.options.profile, cwd, Some(mode))?;
    ready.engine.set_policy(permissions);
    Ok(())
}

/// What comes next: first what was held back.
async fn next_event(held: &mut VecDeque<UserEvent>, events: &mut EventStream) -> Option<UserEvent> {
    match held.pop_front() {
        Some(event) => Some(event),
        None => events.next().await,
    }
}

/// Carries something out that an interrupt stops; what else comes meanwhile is
/// for later.
async fn run_interruptible<T>(
    work: impl Future<Output = T>,
    interrupt: &InterruptHandle,
    held: &mut VecDeque<UserEvent>,
    events: &mut EventStream,
) -> T {
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            event = events.next() => match event {
                Some(UserEvent::Interrupt) => interrupt.stop_turn(),
                Some(event) => {
                    if matches!(event, UserEvent::Quit | UserEvent::Terminated) {
                        interrupt.stop_turn();
                    }
                    held.push_back(event);
                }
                None => return work.await,
            },
        }
    }
}

/// How many messages of the person the conversation has.
fn user_message_count(agent: &Agent) -> usize {
    let is_said = |message: &&ChatMessage| matches!(message, ChatMessage::User { .. });
    agent.conversation().messages().iter().filter(is_said).count()
}

fn start_turn(mut agent: Agent, said: Vec<ContentPart>, budget: AgentBudget) -> RunningTurn {
    let interrupt = agent.interrupt();
    let work = tokio::spawn(async move {
        let outcome = agent.run_turn(said, &budget).await;
        (agent, outcome)
    });
    RunningTurn { work, interrupt }
}

/// The turn is stopped, with what it has in the background.
fn stop_turn(ready: &AppServices, screen: &ChatScreen, session: &str) {
    screen.note("Stopping the turn.");
    if let Some(told) = stopped_text(&ready.subagents.stop_session(session)) {
        screen.note(&told);
    }
}

pub(crate) fn show_end(screen: &ChatScreen, end: &TurnEnd) {
    match end {
        TurnEnd::Done => {}
        TurnEnd::Budget(what) => screen.warn(&format!("Stopped: {what} are used up. Say “go on”.")),
        TurnEnd::Interrupted => screen.note("Stopped. Say what is to be done instead."),
        TurnEnd::ModelError(fault) => {
            let hint = fault.hint.as_deref().map(|hint| format!("\n{hint}")).unwrap_or_default();
            screen.error(&format!("{fault}{hint}"));
        }
        TurnEnd::Journal(why) => screen.error(&format!("The session cannot be written: {why}")),
        other => screen.warn(&other.reason().unwrap_or_default()),
    }
}

/// Whether a line that begins with a slash begins with a path.
fn is_path(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    word[1.min(word.len())..].contains('/') || Path::new(word).exists() && word.len() > 1
}

/// What a line says to the model, with the pictures that were pasted into it.
fn parts_with_pictures(
    screen: &ChatScreen,
    text: String,
    attachments: &[PathBuf],
) -> Vec<ContentPart> {
    let mut said = vec![ContentPart::Text { text }];
    for path in attachments.iter().filter(|path| is_picture(path)) {
        match hermes_agent::load_image(path) {
            Ok(image) => said.push(ContentPart::Image(image)),
            Err(why) => screen.warn(&format!("{}: {why}", path.display())),
        }
    }
    said
}

fn is_picture(path: &Path) -> bool {
    let name = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_lowercase();
    // Those that no server takes are said to be such.
    let others = ["bmp", "tif", "tiff", "heic", "avif"];
    matches!(name.as_str(), "png" | "jpg" | "jpeg" | "gif" | "webp") || others.contains(&&*name)
}
