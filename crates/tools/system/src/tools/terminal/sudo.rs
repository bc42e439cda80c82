//! `sudo` in a command: the user types the password, and the model never sees
//! it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{PasswordPrompter, ToolContext, ToolError};
use hermes_exec::{AskpassHelper, JobRegistry};
use hermes_secrets::Secret;
use parking_lot::Mutex;

use super::scan;

/// How long the user has to type the password.
const PASSWORD_TIMEOUT: Duration = Duration::from_secs(45);

/// Shorter passwords are not redacted, since they would match in any text.
const MIN_MASKED_BYTES: usize = 4;

/// Passwords typed so far, by session.
type PasswordCache = Arc<Mutex<HashMap<String, Secret>>>;

/// Passwords of all sessions, for as long as the program runs.
#[derive(Debug, Default)]
pub(super) struct SudoPasswords {
    cache: PasswordCache,
}

/// A command whose `sudo` calls use an askpass helper.
#[derive(Debug)]
pub(super) struct SudoCommand {
    /// The command to run instead.
    pub(super) command: String,
    askpass: AskpassHelper,
    cache: PasswordCache,
    session: String,
    preset: Option<Secret>,
}

impl SudoPasswords {
    /// Adds an askpass helper to the `sudo` calls of a command; none if it has
    /// no `sudo`, or no user can be asked.
    pub(super) fn prepare(
        &self,
        command: &str,
        jobs: &JobRegistry,
        cx: &ToolContext,
    ) -> Result<Option<SudoCommand>, ToolError> {
        let Some(passwords) = cx.ports.get::<dyn PasswordPrompter>() else { return Ok(None) };
        let places = scan::find_sudos(command).unwrap_or_default();
        if places.is_empty() || jobs.backend().name() != "local" {
            return Ok(None);
        }
        let session = cx.session.id().to_owned();
        let preset = passwords.preset_password("SUDO_PASSWORD").map(Secret::new);
        let askpass = self.start_askpass(passwords, &session, jobs)?;
        let helper = hermes_core::text::shell_quote(&askpass.path().to_string_lossy());
        let mut raised = command.to_owned();
        for place in places.into_iter().rev() {
            let end = raised.get(place..).and_then(|rest| rest.find([' ', '\t']));
            raised.insert_str(place + end.unwrap_or_default(), " -A");
            // For this one program only, so the shell does not keep the
            // variable.
            raised.insert_str(place, &format!("SUDO_ASKPASS={helper} "));
        }
        let known = Arc::clone(&self.cache);
        Ok(Some(SudoCommand { command: raised, askpass, cache: known, session, preset }))
    }

    fn start_askpass(
        &self,
        passwords: Arc<dyn PasswordPrompter>,
        session: &str,
        jobs: &JobRegistry,
    ) -> Result<AskpassHelper, ToolError> {
        let known = Arc::clone(&self.cache);
        let scratch = jobs.scratch(session)?;
        let session = session.to_owned();
        let find = move || {
            let (passwords, known) = (Arc::clone(&passwords), Arc::clone(&known));
            let session = session.clone();
            async move {
                if let Some(preset) = passwords.preset_password("SUDO_PASSWORD") {
                    return Some(preset);
                }
                let before = known.lock().get(&session).map(|secret| secret.expose().to_owned());
                if before.is_some() {
                    return before;
                }
                let question = "A command needs your password (sudo)";
                let typed = tokio::time::timeout(PASSWORD_TIMEOUT, passwords.ask(question)).await;
                let typed = typed.ok().flatten().filter(|typed| !typed.is_empty())?;
                known.lock().insert(session, Secret::new(typed.clone()));
                Some(typed)
            }
        };
        AskpassHelper::new(&scratch, find)
            .map_err(|error| ToolError::io("The askpass helper for sudo", &error))
    }
}

/// Outcome of a command with `sudo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SudoOutcome {
    /// Nothing to report.
    Fine,
    /// The password was wrong.
    WrongPassword {
        /// Whether a cached password was discarded.
        forgotten: bool,
    },
    /// A password was requested, and none was given.
    NoPassword,
}

impl SudoCommand {
    /// Returns the outcome. Discards a wrong password.
    pub(super) fn outcome(&self) -> SudoOutcome {
        if self.askpass.was_rejected() {
            let forgotten = self.cache.lock().remove(&self.session).is_some();
            return SudoOutcome::WrongPassword { forgotten };
        }
        if self.askpass.was_missing() { SudoOutcome::NoPassword } else { SudoOutcome::Fine }
    }

    /// Redacts the password, in case the command printed it.
    pub(super) fn redact(&self, text: &mut String) {
        let known = self.cache.lock();
        for secret in self.preset.iter().chain(known.get(&self.session)) {
            let secret = secret.expose();
            if secret.len() >= MIN_MASKED_BYTES && text.contains(secret) {
                *text = text.replace(secret, "[password]");
            }
        }
    }
}
