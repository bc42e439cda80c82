//! Imports conversations of Hermes Agent, and what it has added since.

use std::collections::HashSet;

use rusqlite::{OptionalExtension as _, Transaction, params};

use crate::agent_message::AgentStateMessage;
use crate::agent_state::AgentStateSession;
use crate::error::HistoryError;
use crate::reader::HistoryReader;
use crate::record::SessionSummary;
use crate::rows::{INSERT_MESSAGE, MESSAGE_COLUMNS, MessageFields, message_from_row};
use crate::store::{HistoryStore, add_to_totals, session_key, to_i64, undo_from};

/// Result of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Whether the session is new here.
    pub is_new: bool,
    /// Number of added messages.
    pub messages: usize,
}

/// What was imported so far. Remains when the session is deleted, so that only
/// an explicit import brings it back.
struct ImportState {
    /// Id of the last message there.
    last_origin: i64,
    /// Number of messages there.
    messages: i64,
    /// Id of the last live message here.
    last_message: i64,
}

impl HistoryReader {
    /// Returns the ids that are taken: of all sessions, and of deleted ones that
    /// were imported.
    pub fn taken_ids(&self) -> Result<HashSet<String>, HistoryError> {
        self.with_connection(|connection| {
            let mut find = connection
                .prepare_cached("SELECT id FROM sessions UNION SELECT id FROM imports")?;
            find.query_map([], |row| row.get(0))?.collect()
        })
    }

    /// Returns the ids of the sessions that were imported and are still here.
    pub fn imported_ids(&self) -> Result<HashSet<String>, HistoryError> {
        self.with_connection(|connection| {
            let mut find = connection
                .prepare_cached("SELECT id FROM sessions INTERSECT SELECT id FROM imports")?;
            find.query_map([], |row| row.get(0))?.collect()
        })
    }
}

impl HistoryStore {
    /// Imports a conversation with these messages under its id, in one
    /// transaction.
    ///
    /// If it was imported before, follows what happened since: adds new
    /// messages, and takes back those that are gone there. A session that was
    /// continued here loses nothing: it only gains new messages, and nothing if
    /// the conversation was rewritten there.
    pub fn import(
        &self,
        session: &AgentStateSession,
        messages: &[AgentStateMessage],
    ) -> Result<ImportReport, HistoryError> {
        let summary = &session.summary;
        let report = self.transact(|step| {
            let state = import_state(step, &summary.id)?;
            let known = session_key(step, &summary.id)?;
            let (key, added) = match (known, state) {
                (Some(_), None) => {
                    return Ok(Err(HistoryError::SessionExists(summary.id.clone())));
                }
                (Some(key), Some(state)) => match new_messages(step, key, &state, messages)? {
                    Some(added) => (key, added),
                    None => return Ok(Ok(ImportReport::default())),
                },
                (None, _) => (insert_session(step, summary)?, messages),
            };
            append(step, key, added)?;
            update_totals(step, key, summary)?;
            step.execute(
                "INSERT OR REPLACE INTO imports (id, last_origin, messages, last_message) \
                 SELECT ?1, ?2, ?3, coalesce(max(id), 0) FROM messages \
                 WHERE session = ?4 AND state = 0",
                params![
                    summary.id,
                    messages.last().map_or(0, |last| last.id),
                    to_i64(messages.len() as u64),
                    key,
                ],
            )?;
            Ok(Ok(ImportReport { is_new: known.is_none(), messages: added.len() }))
        })?;
        if report.messages > 0 {
            // Search also finds unindexed messages.
            let _ = self.index_pending();
        }
        Ok(report)
    }
}

fn import_state(step: &Transaction<'_>, id: &str) -> rusqlite::Result<Option<ImportState>> {
    let mut find = step
        .prepare_cached("SELECT last_origin, messages, last_message FROM imports WHERE id = ?1")?;
    let state = find.query_row([id], |row| {
        Ok(ImportState {
            last_origin: row.get(0)?,
            messages: row.get(1)?,
            last_message: row.get(2)?,
        })
    });
    state.optional()
}

/// Returns the messages to append, after taking back those that are gone there;
/// none if nothing has changed.
fn new_messages<'a>(
    step: &Transaction<'_>,
    key: i64,
    state: &ImportState,
    messages: &'a [AgentStateMessage],
) -> rusqlite::Result<Option<&'a [AgentStateMessage]>> {
    let seen = messages.partition_point(|message| message.id <= state.last_origin);
    if to_i64(seen as u64) == state.messages {
        let added = messages.get(seen..).filter(|added| !added.is_empty());
        return Ok(added);
    }
    let mut find = step.prepare_cached(&format!(
        "SELECT {MESSAGE_COLUMNS} FROM messages x WHERE x.session = ?1 AND x.state = 0 \
         AND x.echo IS NULL ORDER BY x.id"
    ))?;
    let live = find.query_map([key], message_from_row)?.collect::<rusqlite::Result<Vec<_>>>()?;
    let is_as_imported = to_i64(live.len() as u64) == state.messages
        && live.last().is_none_or(|last| last.id <= state.last_message);
    if !is_as_imported {
        return Ok(None);
    }
    let is_same =
        |(here, there): &(&crate::StoredMessage, &AgentStateMessage)| here.message == there.message;
    let same = live.iter().zip(messages).take_while(is_same).count();
    if let Some(gone) = live.get(same) {
        undo_from(step, key, gone.id)?;
    }
    Ok(messages.get(same..))
}

fn insert_session(step: &Transaction<'_>, summary: &SessionSummary) -> rusqlite::Result<i64> {
    let mut family: Option<(i64, i64)> = None;
    if let Some(parent) = &summary.parent {
        let mut find = step.prepare_cached("SELECT key, root FROM sessions WHERE id = ?1")?;
        family = find.query_row([&parent.id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    }
    let relation = summary.parent.as_ref().filter(|_| family.is_some());
    step.execute(
        "INSERT INTO sessions (id, root, parent, kinship, source, title, cwd, model, started, \
         ended, end_reason, last_active) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?9)",
        params![
            summary.id,
            family.map_or(0, |(_, root)| root),
            family.map(|(key, _)| key),
            relation.map(|parent| parent.relation.name()),
            summary.source,
            summary.title,
            summary.cwd,
            summary.model,
            summary.started.as_millisecond(),
            summary.ended.map(jiff::Timestamp::as_millisecond),
            summary.end_reason,
        ],
    )?;
    let key = step.last_insert_rowid();
    if family.is_none() {
        step.execute("UPDATE sessions SET root = key WHERE key = ?1", [key])?;
    }
    Ok(key)
}

fn append(
    step: &Transaction<'_>,
    key: i64,
    messages: &[AgentStateMessage],
) -> rusqlite::Result<()> {
    for added in messages {
        let at = added.at.as_millisecond();
        let fields = MessageFields::from_message(&added.message);
        step.prepare_cached(INSERT_MESSAGE)?.execute(&fields.params(&key, &at, &None)[..])?;
        add_to_totals(step, key, at, &added.message)?;
    }
    Ok(())
}

/// Updates title and usage, which Hermes Agent stores per session. Never
/// replaces a title given here, nor lowers the usage.
fn update_totals(
    step: &Transaction<'_>,
    key: i64,
    summary: &SessionSummary,
) -> rusqlite::Result<()> {
    let usage = summary.usage;
    let mut update = step.prepare_cached(
        "UPDATE sessions SET title = coalesce(title, ?2), input = max(input, ?3), \
         output = max(output, ?4), cache_read = max(cache_read, ?5), \
         cache_write = max(cache_write, ?6), thought = max(thought, ?7), \
         cost = CASE WHEN ?8 IS NULL THEN cost ELSE max(coalesce(cost, 0), ?8) END \
         WHERE key = ?1",
    )?;
    update
        .execute(params![
            key,
            summary.title,
            to_i64(usage.input),
            to_i64(usage.output),
            to_i64(usage.cache_read),
            to_i64(usage.cache_write),
            to_i64(usage.reasoning),
            usage.cost,
        ])
        .map(drop)
}
