//! Full-text indexes of words and trigrams. Messages are indexed in batches,
//! which is many times faster than one by one; a search scans the messages that
//! are not indexed yet.

use hermes_llm::ChatMessage;
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use crate::error::is_index_damage;
use crate::rows::{MESSAGE_COLUMNS, message_from_row};
use crate::schema::INDEX_TABLES_SQL;
use crate::words::{fold_text, normalize_nfc, words};

/// Number of unindexed messages that triggers indexing.
pub(crate) const MAX_UNINDEXED_MESSAGES: i64 = 64;
/// Maximum number of messages indexed per transaction.
const INDEX_BATCH_MESSAGES: i64 = 512;
/// Maximum number of indexed bytes per message.
const MAX_INDEXED_BYTES: usize = 64 * 1024;

/// Returns the searchable text of a message: its text, tool names and call
/// arguments.
pub(crate) fn searchable_text(message: &ChatMessage) -> String {
    let mut text = match message {
        ChatMessage::Tool(answer) => format!("{}\n{}", answer.content, answer.name),
        other => other.text(),
    };
    text.truncate(text.floor_char_boundary(MAX_INDEXED_BYTES));
    if let ChatMessage::Assistant(reply) = message {
        for call in &reply.calls {
            if text.len() > MAX_INDEXED_BYTES {
                break;
            }
            text.push('\n');
            text.push_str(&call.name);
            add_arguments(&call.arguments, &mut text);
        }
        text.truncate(text.floor_char_boundary(MAX_INDEXED_BYTES));
    }
    match normalize_nfc(&text) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(composed) => composed,
    }
}

/// Appends the values of JSON arguments, without the JSON syntax.
fn add_arguments(arguments: &str, text: &mut String) {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(arguments) else {
        text.push(' ');
        text.push_str(arguments);
        return;
    };
    // The parser bounds the depth.
    let mut open = vec![&value];
    while let Some(value) = open.pop() {
        match value {
            serde_json::Value::String(said) => {
                text.push(' ');
                text.push_str(said);
            }
            serde_json::Value::Array(items) => open.extend(items.iter().rev()),
            serde_json::Value::Object(fields) => open.extend(fields.values().rev()),
            serde_json::Value::Null | serde_json::Value::Bool(_) => {}
            serde_json::Value::Number(number) => {
                text.push(' ');
                text.push_str(&number.to_string());
            }
        }
    }
}

/// Returns the id of the last indexed message.
pub(crate) fn indexed_up_to(connection: &Connection) -> rusqlite::Result<i64> {
    let mut find = connection.prepare_cached("SELECT value FROM marks WHERE name = 'indexed'")?;
    Ok(find.query_row([], |row| row.get(0)).optional()?.unwrap_or_default())
}

/// Indexes one batch. Returns the last indexed id and whether more messages are
/// pending. Rebuilds a damaged index.
pub(crate) fn index_pending(connection: &mut Connection) -> rusqlite::Result<(i64, bool)> {
    match index_batch(connection) {
        Err(error) if is_index_damage(&error) => {
            let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            step.execute_batch("DROP TABLE IF EXISTS words; DROP TABLE IF EXISTS pieces;")?;
            step.execute_batch(INDEX_TABLES_SQL)?;
            step.execute("UPDATE marks SET value = 0 WHERE name = 'indexed'", [])?;
            step.commit()?;
            index_batch(connection)
        }
        other => other,
    }
}

fn index_batch(connection: &mut Connection) -> rusqlite::Result<(i64, bool)> {
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut last = indexed_up_to(&step)?;
    let mut count = 0;
    {
        let mut waiting = step.prepare_cached(&format!(
            "SELECT {MESSAGE_COLUMNS} FROM messages x WHERE x.id > ?1 ORDER BY x.id LIMIT {INDEX_BATCH_MESSAGES}"
        ))?;
        let mut add_words =
            step.prepare_cached("INSERT INTO words(rowid, text) VALUES (?1, ?2)")?;
        let mut add_pieces =
            step.prepare_cached("INSERT INTO pieces(rowid, text) VALUES (?1, ?2)")?;
        let mut rows = waiting.query([last])?;
        while let Some(row) = rows.next()? {
            last = row.get(0)?;
            count += 1;
            let (state, echo): (i64, Option<i64>) = (row.get(2)?, row.get(3)?);
            if state == STATE_UNDONE || echo.is_some() {
                continue;
            }
            let text = searchable_text(&message_from_row(row)?.message);
            add_words.execute((last, join_words(&text)))?;
            add_pieces.execute((last, fold_text(&text)))?;
        }
    }
    step.prepare_cached("UPDATE marks SET value = ?1 WHERE name = 'indexed'")?.execute([last])?;
    step.commit()?;
    Ok((last, count == INDEX_BATCH_MESSAGES))
}

/// State of an undone message.
pub(crate) const STATE_UNDONE: i64 = 1;

/// Joins the folded words of a text with spaces.
fn join_words(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in words(text) {
        line.push_str(&word.folded);
        line.push(' ');
    }
    line
}

/// Removes messages from the indexes, within the caller's transaction.
pub(crate) fn remove_from_index(connection: &Connection, messages: &[i64]) -> rusqlite::Result<()> {
    let mark = indexed_up_to(connection)?;
    let mut words = connection.prepare_cached("DELETE FROM words WHERE rowid = ?1")?;
    let mut pieces = connection.prepare_cached("DELETE FROM pieces WHERE rowid = ?1")?;
    for message in messages.iter().filter(|message| **message <= mark) {
        words.execute([message])?;
        pieces.execute([message])?;
    }
    Ok(())
}
