//! Conversations of Hermes Agent: listed next to the sessions, and imported by
//! `hermes sessions import` or when a command names one.

use hermes_history::{AgentStateSession, HistoryError, HomeHistory, SessionFilter, SessionSummary};
use hermes_llm::TokenUsage;
use serde_json::{Value, json};

use super::rendering::session_json;
use super::{HELPER_SOURCES, SessionBrowser, find_stored_session};
use crate::command_error::CommandError;

/// Minimum number of characters of an ID prefix.
const MIN_ID_PREFIX_CHARS: usize = 4;

/// A session of a list.
pub(super) struct ListedSession {
    pub(super) session: SessionSummary,
    /// Usage including that of its helper sessions.
    pub(super) spent: TokenUsage,
    /// Whether it is in the history, not only in Hermes Agent's database.
    pub(super) is_imported: bool,
}

impl ListedSession {
    pub(super) fn to_json(&self) -> Value {
        let mut value = session_json(&self.session, &self.spent);
        if let Some(fields) = value.as_object_mut()
            && !self.is_imported
        {
            fields.insert("imported".into(), false.into());
        }
        value
    }
}

/// Resolves an ID, an ID prefix, or `last`, and imports the session if only
/// Hermes Agent has it. `last` means a conversation of Hermes Agent only while
/// there are no other sessions.
pub(crate) fn find_session(
    history: &HomeHistory,
    id: &str,
) -> Result<SessionSummary, HistoryError> {
    let pending = || match history.pending_imports() {
        Ok(pending) => find_agent_session(pending, id),
        Err(error) => Err(error),
    };
    let none = || HistoryError::NoSession(id.to_owned());
    let stored = match history.reader()? {
        Some(reader) => find_stored_session(&reader, id),
        None => Err(none()),
    };
    match stored {
        Ok(session) if session.id == id || id == "last" => return Ok(session),
        // The prefix may match a conversation of Hermes Agent too.
        Ok(session) => {
            return match pending() {
                Ok(_) | Err(HistoryError::Ambiguous(_)) => {
                    Err(HistoryError::Ambiguous(id.to_owned()))
                }
                Err(_) => Ok(session),
            };
        }
        Err(HistoryError::NoSession(_)) => {}
        Err(error) => return Err(error),
    }
    let session = pending()?;
    history.import(&session)?;
    history.reader()?.ok_or_else(none)?.session(&session.summary.id)
}

/// Resolves an ID, an ID prefix, or `last` among conversations of Hermes Agent.
fn find_agent_session(
    mut sessions: Vec<AgentStateSession>,
    id: &str,
) -> Result<AgentStateSession, HistoryError> {
    let none = || HistoryError::NoSession(id.to_owned());
    if id == "last" {
        sessions.retain(|session| {
            !session.is_archived && !HELPER_SOURCES.contains(&session.summary.source.as_str())
        });
        return sessions.into_iter().next().ok_or_else(none);
    }
    if let Some(exact) = sessions.iter().position(|session| session.summary.id == id) {
        return Ok(sessions.swap_remove(exact));
    }
    sessions.retain(|session| session.summary.id.starts_with(id));
    match sessions.len() {
        _ if id.chars().count() < MIN_ID_PREFIX_CHARS => Err(none()),
        0 | 1 => sessions.pop().ok_or_else(none),
        _ => Err(HistoryError::Ambiguous(id.to_owned())),
    }
}

impl SessionBrowser<'_> {
    /// Lists the conversations that only Hermes Agent has. If its database
    /// cannot be read, warns and lists none.
    pub(super) fn pending_sessions(
        &self,
        listing: &SessionFilter,
        with_archived: bool,
    ) -> Vec<ListedSession> {
        let pending = self.history.pending_imports().unwrap_or_else(|error| {
            self.app.terminal.warn(&format!("{error}. {}", error.hint()));
            Vec::new()
        });
        let listed = pending.into_iter().filter(|session| {
            (with_archived || !session.is_archived) && listing.matches(&session.summary)
        });
        listed
            .map(|session| {
                let spent = session.summary.usage;
                ListedSession { session: session.summary, spent, is_imported: false }
            })
            .collect()
    }

    /// Resolves an ID of a session to delete. A conversation of Hermes Agent
    /// cannot be deleted here.
    pub(super) fn find_deletable(&self, id: &str) -> Result<SessionSummary, CommandError> {
        let none = || HistoryError::NoSession(id.to_owned());
        let stored = match self.history.reader()? {
            Some(reader) => find_stored_session(&reader, id),
            None => Err(none()),
        };
        if matches!(stored, Err(HistoryError::NoSession(_))) && id != "last" {
            let pending = self.history.pending_imports().unwrap_or_default();
            if let Ok(session) = find_agent_session(pending, id) {
                let path = self.history.agent_state().path().display().to_string();
                return Err(CommandError::usage(format!(
                    "Session '{}' is a conversation of Hermes Agent in {path}, which hermes \
                     does not change",
                    session.summary.id
                ))
                .hint("Delete it with Hermes Agent."));
            }
        }
        Ok(stored?)
    }

    /// Imports these conversations, or all that are not archived.
    pub(super) fn import(&self, ids: &[String]) -> Result<(), CommandError> {
        let mut sessions = self.history.agent_state().sessions()?;
        if ids.is_empty() {
            self.retain_importable(&mut sessions)?;
            // Parents come first.
            sessions.sort_by_key(|session| session.summary.started);
        } else {
            // Resolves all IDs before importing anything.
            let found = ids.iter().map(|id| find_agent_session(sessions.clone(), id));
            sessions = found.collect::<Result<Vec<_>, _>>()?;
        }
        let (mut new, mut updated, mut messages) = (0, 0, 0);
        for session in &sessions {
            let report = self.history.import(session)?;
            new += usize::from(report.is_new);
            updated += usize::from(!report.is_new && report.messages > 0);
            messages += report.messages;
        }
        let unchanged = sessions.len() - new - updated;
        if self.app.json {
            return self.print_json(&json!({
                "schema_version": 1,
                "imported": new,
                "updated": updated,
                "unchanged": unchanged,
                "messages": messages,
            }));
        }
        self.app.terminal.note(&format!(
            "Imported from {}: {new} new sessions, {updated} updated, {unchanged} unchanged; \
             {messages} messages.",
            self.history.agent_state().path().display()
        ));
        Ok(())
    }

    /// Keeps the conversations that an import without IDs covers: no archived
    /// or empty ones, none that was deleted here, and none whose ID belongs to
    /// another session.
    fn retain_importable(&self, sessions: &mut Vec<AgentStateSession>) -> Result<(), CommandError> {
        sessions.retain(|session| !session.is_archived && session.summary.messages > 0);
        if let Some(reader) = self.history.reader()? {
            let (taken, imported) = (reader.taken_ids()?, reader.imported_ids()?);
            sessions.retain(|session| {
                let id = &session.summary.id;
                !taken.contains(id) || imported.contains(id)
            });
        }
        Ok(())
    }
}
