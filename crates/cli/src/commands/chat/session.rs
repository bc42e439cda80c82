//! One chat session: reads lines, runs turns, and runs slash commands in
//! between.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes::core::ErrorKind;
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
use super::{agents, slash_commands};
use crate::agent_session::{AgentOptions, AgentSession, MAX_NOTICES, notices_text, stopped_text};
use crate::app::{AppContext, AppServices};
use crate::call_summary;
use crate::command_error::{CliExitCode, CommandError};
use crate::commands::run::exit_for_end;
use crate::commands::skills;
use crate::held_calls::{self, HeldCallCollector};
use crate::mode::AgentMode;

/// What follows a session.
#[derive(Debug)]
pub(crate) enum NextSession {
    /// Exit the program.
    Quit,
    /// Resume this session.
    Session(String),
    /// Start a new session.
    New,
}

/// How a chat session ended.
pub(crate) struct SessionEnd {
    pub(crate) next: NextSession,
    /// Exit code for scripts.
    pub(crate) exit: CliExitCode,
    /// Mode at the end of the session.
    pub(crate) mode: AgentMode,
}

/// What to do after an input line.
pub(crate) enum LineOutcome {
    /// Wait for the next line.
    Wait,
    /// End the session.
    End(NextSession),
    /// Send this text to the model.
    Say(String),
}

/// Start of a turn, for `/undo`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnStart {
    /// Start time in nanoseconds since the Unix epoch.
    pub(crate) at: i64,
    /// Number of user messages in the turn.
    pub(crate) message_count: usize,
}

/// A turn in progress.
struct RunningTurn {
    work: JoinHandle<(Agent, TurnOutcome)>,
    interrupt: InterruptHandle,
}

/// A chat session at the terminal.
pub(crate) struct ChatSession<'a> {
    pub(crate) app: &'a AppContext,
    pub(crate) ready: &'a Arc<AppServices>,
    pub(crate) args: &'a ChatArgs,
    pub(crate) screen: &'a ChatScreen,
    pub(crate) renderer: Arc<EventRenderer>,
    /// Calls of the turn that were held back for want of an approver.
    held_calls: Arc<HeldCallCollector>,
    pub(crate) agent_session: AgentSession,
    /// Skills available in the working directory.
    pub(crate) skills: SkillLibrary,
    /// How much the agent does without asking.
    pub(crate) mode: AgentMode,
    /// Mode to restore when automatic approval is switched off.
    pub(crate) mode_before_yolo: AgentMode,
    /// The turns so far.
    pub(crate) turns: Vec<TurnStart>,
    /// Whether the user interrupted the last turn. No turn starts automatically
    /// until the next user message.
    pub(crate) is_halted: bool,
    /// First failure, as the exit code for scripts.
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
            EventRenderer::new(screen.clone(), ready.engine().clone(), caller.session.clone());
        let held_calls = HeldCallCollector::new(Arc::clone(&shown) as Arc<dyn AgentObserver>);
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
            observer: Arc::clone(&held_calls) as Arc<dyn AgentObserver>,
        };
        let shelf = skills::skill_library(ready.home(), &ready.config, &caller.cwd);
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
            held_calls,
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
            count => format!(", {count} more found by search"),
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

    /// Shows a script how to approve the calls that were held back.
    fn report_held_calls(&mut self) {
        let held = self.held_calls.take();
        if held.is_empty() || self.screen.mode() != ScreenMode::Piped {
            return;
        }
        self.screen.warn(&held_calls::describe(&held));
        if self.exit == CliExitCode::Ok {
            self.exit = CliExitCode::Kind(ErrorKind::ApprovalRequired);
        }
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

    /// Records the current mode.
    fn note_mode(&mut self, mode: AgentMode) {
        self.mode = mode;
        if mode != AgentMode::Yolo {
            self.mode_before_yolo = mode;
        }
    }

    /// Updates the system prompt and the approver for the current mode.
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

    /// Estimates how many tokens of the model's context are in use.
    pub(crate) fn context_tokens(&self) -> u64 {
        let agent = &self.agent_session.agent;
        let said = agent.conversation().tokens();
        if self.renderer.context_used() > 0 {
            return said;
        }
        // Without a server count, add the system prompt and the tool
        // definitions.
        let tools = u64::try_from(crate::tokens::estimate(&self.agent_session.definitions.json));
        said + agent.parts().system.len() as u64 / 4 + tools.unwrap_or_default()
    }

    /// Runs the session until the user quits or switches sessions.
    pub(crate) async fn run(mut self, events: &mut EventStream) -> SessionEnd {
        let news = Arc::new(Notify::new());
        let wake = Arc::clone(&news);
        self.ready.notices().on_notice(Arc::new(move || wake.notify_one()));
        // Events received while a command ran.
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
                        self.screen.note("Press Ctrl-D or type /quit to exit.");
                        continue;
                    }
                    Some(UserEvent::Line { text, attachments }) => {
                        let interrupt = self.agent_session.agent.interrupt();
                        let typed = self.handle_line(text, &attachments);
                        match run_interruptible(typed, &interrupt, &mut held, events).await {
                            Ok(Some(mut said)) => {
                                // Deliver the notices held back since the interrupt.
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
                // A notice, such as a process exit, starts a turn.
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
        // An interactive user has already seen the failures.
        let exit =
            if self.screen.mode() == ScreenMode::Piped { self.exit } else { CliExitCode::Ok };
        SessionEnd { next, exit, mode: self.mode }
    }

    /// Returns the message for the model, or `None` if the line was a command.
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

    /// Adds the tools of MCP servers that connected after the start.
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
                self.screen.note(&format!("The tools of {names} are now available."));
            }
            Err(failure) => self.screen.warn(&failure.message),
        }
    }

    fn take_notices(&self) -> Option<Vec<ContentPart>> {
        let news = self.ready.notices().drain(&self.agent_session.session, MAX_NOTICES);
        let shown = notices_text(&news)?;
        for notice in &news {
            self.screen.note(&call_summary::notice_line(notice));
        }
        Some(vec![ContentPart::Text { text: shown }])
    }

    /// Runs one turn. Lines typed meanwhile steer it; commands wait until it
    /// ends. An error ends the session and carries the exit code.
    async fn run_turn(
        mut self,
        said: Vec<ContentPart>,
        held: &mut VecDeque<UserEvent>,
        events: &mut EventStream,
    ) -> Result<Self, CliExitCode> {
        let budget = self.ready.budget(self.args.max_turns, None);
        self.renderer.track_budget(&budget);
        let (app, ready, args, screen) = (self.app, self.ready, self.args, self.screen);
        let at = i64::try_from(hermes::core::clock::unix_millis()).unwrap_or_default();
        let at = at.saturating_mul(1_000_000);
        // The turn task owns the agent while it runs.
        let mut agent = self.agent_session.agent;
        // The deadline applies to each turn.
        agent.parts_mut().caller.deadline = self.args.options.deadline();
        let before = user_message_count(&agent);
        let cwd = agent.parts().caller.cwd.clone();
        let mut mode = self.mode;
        let mut turn = start_turn(agent, said, budget);
        let mut leaves = false;
        // Piped input runs one turn per line and never steers.
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
                    // Applies to calls from now on; the system prompt changes
                    // after the turn.
                    Some(UserEvent::ShiftTab) => match enforce_mode(app, ready, args, &cwd, mode.next()) {
                        Ok(()) => {
                            mode = mode.next();
                            self.renderer.show_mode(mode);
                        }
                        Err(failure) => screen.error(&failure.message),
                    },
                    Some(UserEvent::Interrupt) => match turn.interrupt.stop() {
                        InterruptScope::Calls => screen.note("Stopping the calls; press Ctrl-C again to stop the turn."),
                        InterruptScope::Turn => stop_turn(ready, screen, &self.agent_session.session),
                    },
                    Some(UserEvent::Line { text, .. }) if text.trim() == "/stop" => {
                        turn.interrupt.stop_turn();
                        stop_turn(ready, screen, &self.agent_session.session);
                    }
                    Some(UserEvent::Line { ref text, .. })
                        if let Some(rest) = agents::arguments(text) =>
                    {
                        let session = &self.agent_session.session;
                        if let Err(failure) = agents::run(ready, screen, session, rest) {
                            screen.error(&failure.message);
                        }
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
                            "{} runs after this turn; /stop ends the turn.",
                            text.trim()
                        ));
                        held.push_back(UserEvent::Line { text, attachments });
                    }
                    Some(UserEvent::Line { text, attachments }) if !text.trim().is_empty() => {
                        screen.user(&text);
                        screen.note("The model receives this with the next tool result.");
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
        // Later turns do not clear an earlier failure.
        if self.exit == CliExitCode::Ok {
            self.exit = exit_for_end(&outcome.end);
        }
        self.report_held_calls();
        self.show_status();
        if leaves {
            self.close();
            return Err(CliExitCode::Ok);
        }
        Ok(self)
    }

    /// Closes the session; deletes it if it has no messages.
    fn close(&self) {
        let AgentSession { agent, session, store, .. } = &self.agent_session;
        if let Some(shown) = stopped_text(&self.ready.subagents.stop_session(session)) {
            self.screen.note(&shown);
        }
        if agent.conversation().messages().is_empty() {
            let _ = store.delete(session);
            return;
        }
        let _ = store.end(session, "left");
        self.screen.note(&format!("Resume with: hermes chat --resume {session}"));
    }
}

/// Applies the policy of this mode to later calls.
fn enforce_mode(
    app: &AppContext,
    ready: &AppServices,
    args: &ChatArgs,
    cwd: &Path,
    mode: AgentMode,
) -> Result<(), CommandError> {
    let permissions = app.permissions(ready, &args.options.profile, cwd, Some(mode))?;
    ready.engine().set_policy(permissions);
    Ok(())
}

/// Returns the next event; held events come first.
async fn next_event(held: &mut VecDeque<UserEvent>, events: &mut EventStream) -> Option<UserEvent> {
    match held.pop_front() {
        Some(event) => Some(event),
        None => events.next().await,
    }
}

/// Runs work that an interrupt stops; holds back all other events.
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

/// Counts the user messages of the conversation.
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

/// Stops the turn and its background sub-agents.
fn stop_turn(ready: &AppServices, screen: &ChatScreen, session: &str) {
    screen.note("Stopping the turn.");
    if let Some(shown) = stopped_text(&ready.subagents.stop_session(session)) {
        screen.note(&shown);
    }
}

pub(crate) fn show_end(screen: &ChatScreen, end: &TurnEnd) {
    match end {
        TurnEnd::Done => {}
        TurnEnd::Budget(what) => screen.warn(&format!(
            "Stopped: the budget is used up \
            ({what}). Type “continue” to resume."
        )),
        TurnEnd::Interrupted => screen.note("Stopped. Describe what to do instead."),
        TurnEnd::ModelError(fault) => {
            let hint = fault.hint.as_deref().map(|hint| format!("\n{hint}")).unwrap_or_default();
            screen.error(&format!("{fault}{hint}"));
        }
        TurnEnd::Journal(why) => screen.error(&format!("Cannot write the session: {why}")),
        other => screen.warn(&other.reason().unwrap_or_default()),
    }
}

/// Whether a line that starts with a slash starts with a path.
fn is_path(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    word[1.min(word.len())..].contains('/') || Path::new(word).exists() && word.len() > 1
}

/// Builds the message of a line and its pasted images.
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
    // Formats that no server accepts: loading them reports a clear error.
    let others = ["bmp", "tif", "tiff", "heic", "avif"];
    matches!(name.as_str(), "png" | "jpg" | "jpeg" | "gif" | "webp") || others.contains(&&*name)
}
