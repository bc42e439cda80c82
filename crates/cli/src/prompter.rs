//! Passwords, from the environment, the `.env` file, or the user at the
//! terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use hermes::core::{BoxFuture, PasswordPrompter};
use hermes_chat::{ChatScreen, QuestionAnswer, UserQuestion};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::{Mutex, oneshot};

use crate::terminal::OpenQuestion;
use hermes::SecretsProvider;

/// Prompts on standard error and reads the answer, passwords without echo.
pub(crate) struct TerminalPrompter {
    env_file: PathBuf,
    /// Redacts typed passwords.
    secrets: Arc<SecretsProvider>,
    may_ask: AtomicBool,
    /// The screen that shows questions, in a chat.
    screen: OnceLock<ChatScreen>,
    /// Serializes questions.
    turn: Mutex<()>,
}

impl TerminalPrompter {
    pub(crate) fn new(env_file: PathBuf, secrets: Arc<SecretsProvider>) -> Self {
        Self {
            env_file,
            secrets,
            may_ask: AtomicBool::new(false),
            screen: OnceLock::new(),
            turn: Mutex::new(()),
        }
    }

    /// Waits for other questions to finish; `None` if asking is not allowed.
    pub(crate) async fn wait_turn(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        if !self.may_ask.load(Ordering::Relaxed) {
            return None;
        }
        Some(self.turn.lock().await)
    }

    /// Routes questions to this screen.
    pub(crate) fn set_screen(&self, screen: ChatScreen) {
        let _ = self.screen.set(screen);
    }

    /// Returns the screen that shows questions, in a chat.
    pub(crate) fn screen(&self) -> Option<&ChatScreen> {
        self.screen.get()
    }

    /// Allows questions if a user is at the terminal.
    pub(crate) fn allow_questions(&self) {
        let is_there = io::stdin().is_terminal() && io::stderr().is_terminal();
        self.may_ask.store(is_there, Ordering::Relaxed);
    }
}

impl PasswordPrompter for TerminalPrompter {
    fn preset_password(&self, name: &str) -> Option<String> {
        let from_file =
            || hermes_store::dotenv::DotenvFile::load(&self.env_file).vars.get(name).cloned();
        std::env::var(name).ok().or_else(from_file)
    }

    fn ask<'a>(&'a self, question: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            if let Some(screen) = self.screen() {
                let title = question.to_owned();
                let question = UserQuestion {
                    title,
                    secret: true,
                    free_text: true,
                    ..UserQuestion::default()
                };
                let Some(QuestionAnswer::Text(password)) = screen.ask(question).await else {
                    return None;
                };
                self.secrets.learn_secret("typed password", &password);
                return Some(password);
            }
            if !self.may_ask.load(Ordering::Relaxed) {
                return None;
            }
            let _turn = self.turn.lock().await;
            let _asking = OpenQuestion::begin();
            let _hidden = PasswordEchoGuard::new()?;
            let _ = write!(io::stderr(), "\n{question}: ");
            let _ = io::stderr().flush();
            let (send, typed) = oneshot::channel();
            // A separate thread, so an abandoned question does not block exit.
            std::thread::spawn(move || {
                let mut line = String::new();
                let read = io::stdin().lock().read_line(&mut line);
                let _ = send.send(read.ok().filter(|read| *read > 0).map(|_| line));
            });
            let line = typed.await.ok().flatten()?;
            let password = line.trim_end_matches(['\n', '\r']).to_owned();
            self.secrets.learn_secret("typed password", &password);
            Some(password)
        })
    }
}

/// Turns terminal echo off until dropped.
struct PasswordEchoGuard(Termios);

impl PasswordEchoGuard {
    fn new() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden).ok()?;
        Some(Self(before))
    }
}

impl Drop for PasswordEchoGuard {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        let _ = writeln!(io::stderr());
    }
}
