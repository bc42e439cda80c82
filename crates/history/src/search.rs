//! Message search: by words first; by trigrams if no word matches; text too
//! short for both is searched in the most recent messages directly.

use jiff::Timestamp;
use rusqlite::{Connection, Row};

use crate::error::HistoryError;
use crate::index::{indexed_up_to, searchable_text};
use crate::query::ParsedQuery;
use crate::reader::HistoryReader;
use crate::record::StoredMessage;
use crate::rows::{MESSAGE_COLUMNS, message_from_row, timestamp_from_ms};
use crate::snippet::snippet;
use crate::words::{fold_text, words};

/// Maximum number of recent matching messages to rank.
const MAX_RANKED: usize = 1_000;
/// Maximum number of trigram candidates to check.
const MAX_TRIGRAM_CANDIDATES: usize = 300;
/// Maximum number of recent messages to scan without an index.
const MAX_SCANNED: usize = 5_000;

/// A message query.
#[derive(Debug, Clone, Default)]
pub struct MessageQuery {
    /// Any text: words, "phrases", `OR`, `NOT`, `begin*`.
    pub text: String,
    /// Only these roles: user, assistant, tool, system; empty for all.
    pub roles: Vec<String>,
    /// Only this session.
    pub session: Option<String>,
    /// Only sessions from this source.
    pub source: Option<String>,
    /// Only messages since then.
    pub since: Option<Timestamp>,
    /// Only messages before then.
    pub until: Option<Timestamp>,
    /// Order of the hits.
    pub sort: HitOrder,
    /// Maximum number of hits.
    pub limit: usize,
}

/// Order of search hits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HitOrder {
    /// Best match first.
    #[default]
    Rank,
    /// Newest first.
    Newest,
    /// Oldest first.
    Oldest,
}

/// A message that matches a query.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageHit {
    /// Id of the message.
    pub message: i64,
    /// Id of its session.
    pub session: String,
    /// Its role.
    pub role: String,
    /// When.
    pub at: Timestamp,
    /// The text around the match, with matches between `>>>` and `<<<`.
    pub snippet: String,
}

/// Result of a message search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessageResults {
    /// The hits.
    pub hits: Vec<MessageHit>,
    /// Whether the query matched only as substrings, not as whole words.
    pub by_substring: bool,
}

/// A hit before its text is loaded.
#[derive(Debug, Clone)]
pub(crate) struct RawHit {
    pub(crate) message: i64,
    pub(crate) session: i64,
    pub(crate) session_id: String,
    pub(crate) root: i64,
    pub(crate) source: String,
    pub(crate) role: String,
    pub(crate) at: i64,
}

/// Columns and conditions common to all search methods.
const RAW_HIT_COLUMNS: &str = "x.id, x.session, s.id, s.root, s.source, x.role, x.at";
const WHERE_CONDITIONS: &str = "x.state <> 1 AND x.echo IS NULL \
    AND (?2 IS NULL OR instr(?2, ',' || x.role || ',') > 0) AND (?3 IS NULL OR s.id = ?3) \
    AND (?4 IS NULL OR s.source = ?4) AND (?5 IS NULL OR x.at >= ?5) AND (?6 IS NULL OR x.at < ?6)";

impl HistoryReader {
    /// Searches all sessions.
    pub fn search(&self, query: &MessageQuery) -> Result<MessageResults, HistoryError> {
        let question = ParsedQuery::parse(&query.text);
        let (raw, in_pieces) = self.raw_hits(query, &question)?;
        let mut hits = Vec::new();
        for raw in raw {
            hits.extend(self.load_hit(&raw, &question)?);
        }
        Ok(MessageResults { hits, by_substring: in_pieces })
    }

    /// Loads the text of a hit.
    pub(crate) fn load_hit(
        &self,
        raw: &RawHit,
        question: &ParsedQuery,
    ) -> Result<Option<MessageHit>, HistoryError> {
        Ok(self.message(raw.message)?.map(|(_, kept)| MessageHit {
            message: raw.message,
            session: raw.session_id.clone(),
            role: raw.role.clone(),
            at: timestamp_from_ms(raw.at),
            snippet: snippet(&searchable_text(&kept.message), question),
        }))
    }

    pub(crate) fn raw_hits(
        &self,
        query: &MessageQuery,
        question: &ParsedQuery,
    ) -> Result<(Vec<RawHit>, bool), HistoryError> {
        self.with_connection(|connection| {
            // Reads everything in one transaction.
            let moment = connection.unchecked_transaction()?;
            let search =
                QueryRun { connection: &moment, query, question, mark: indexed_up_to(&moment)? };
            if !question.is_wordless() {
                let found = search.search_words()?;
                // Substring search does not support exclusions.
                if !found.is_empty() || question.has_exclusions() {
                    return Ok((found, false));
                }
            }
            Ok((search.search_substrings()?, true))
        })
    }
}

/// Parameters of [`WHERE_CONDITIONS`], after the index query.
type ConditionParams<'a> =
    (Option<&'a str>, Option<String>, Option<&'a str>, Option<&'a str>, Option<i64>, Option<i64>);

struct QueryRun<'a> {
    connection: &'a Connection,
    query: &'a MessageQuery,
    question: &'a ParsedQuery,
    /// Id of the last indexed message.
    mark: i64,
}

impl QueryRun<'_> {
    fn search_words(&self) -> rusqlite::Result<Vec<RawHit>> {
        let limit = self.query.limit;
        let waiting = self.scan(self.mark, MAX_RANKED, |kept| {
            self.question.matches(&words(&searchable_text(&kept.message)))
        })?;
        let matching = self.question.to_fts();
        let inner = |order: &str, most: usize, more: &str| {
            format!(
                "SELECT {RAW_HIT_COLUMNS}{more} FROM words CROSS JOIN messages x ON x.id = words.rowid \
                 CROSS JOIN sessions s ON s.key = x.session \
                 WHERE words MATCH ?1 AND {WHERE_CONDITIONS} ORDER BY words.rowid {order} LIMIT {most}"
            )
        };
        let sql = match self.query.sort {
            HitOrder::Newest => inner("DESC", limit, ""),
            HitOrder::Oldest => inner("ASC", limit, ""),
            HitOrder::Rank => format!(
                "SELECT * FROM ({}) ORDER BY fit LIMIT {limit}",
                inner("DESC", MAX_RANKED, ", bm25(words) AS fit")
            ),
        };
        let indexed: Vec<RawHit> = self
            .connection
            .prepare_cached(&sql)?
            .query_map(self.params(Some(&matching)), raw_hit)?
            .collect::<rusqlite::Result<_>>()?;
        Ok(self.merge(waiting, indexed))
    }

    fn search_substrings(&self) -> rusqlite::Result<Vec<RawHit>> {
        let within = |kept: &StoredMessage| {
            self.question.matches_text(&fold_text(&searchable_text(&kept.message)))
        };
        let Some(pieces) = self.question.to_trigram_fts() else {
            let found = self.scan(0, MAX_SCANNED, within)?;
            return Ok(self.merge(found, Vec::new()));
        };
        let waiting = self.scan(self.mark, MAX_RANKED, within)?;
        let order = self.sql_order();
        let sql = format!(
            "SELECT {MESSAGE_COLUMNS}, {RAW_HIT_COLUMNS} FROM pieces CROSS JOIN messages x ON x.id = pieces.rowid \
             CROSS JOIN sessions s ON s.key = x.session \
             WHERE pieces MATCH ?1 AND {WHERE_CONDITIONS} ORDER BY pieces.rowid {order} LIMIT {MAX_TRIGRAM_CANDIDATES}"
        );
        let indexed = self.filter_rows(&sql, Some(&pieces), within)?;
        Ok(self.merge(waiting, indexed))
    }

    /// Scans messages after `after`, the newest first unless the query sorts by
    /// oldest.
    fn scan(
        &self,
        after: i64,
        most: usize,
        fits: impl Fn(&StoredMessage) -> bool,
    ) -> rusqlite::Result<Vec<RawHit>> {
        let order = self.sql_order();
        let sql = format!(
            "SELECT {MESSAGE_COLUMNS}, {RAW_HIT_COLUMNS} FROM messages x CROSS JOIN sessions s ON s.key = x.session \
             WHERE ?1 IS NULL AND x.id > {after} AND {WHERE_CONDITIONS} ORDER BY x.id {order} LIMIT {most}"
        );
        self.filter_rows(&sql, None, fits)
    }

    fn filter_rows(
        &self,
        sql: &str,
        matching: Option<&str>,
        fits: impl Fn(&StoredMessage) -> bool,
    ) -> rusqlite::Result<Vec<RawHit>> {
        let mut find = self.connection.prepare(sql)?;
        let mut rows = find.query(self.params(matching))?;
        let mut found = Vec::new();
        while found.len() < self.query.limit
            && let Some(row) = rows.next()?
        {
            if fits(&message_from_row(row)?) {
                found.push(raw_hit_at(row, 20)?);
            }
        }
        Ok(found)
    }

    fn params<'b>(&'b self, matching: Option<&'b str>) -> ConditionParams<'b> {
        let query = self.query;
        (
            matching,
            (!query.roles.is_empty()).then(|| format!(",{},", query.roles.join(","))),
            query.session.as_deref(),
            query.source.as_deref(),
            query.since.map(Timestamp::as_millisecond),
            query.until.map(Timestamp::as_millisecond),
        )
    }

    fn sql_order(&self) -> &'static str {
        if self.query.sort == HitOrder::Oldest { "ASC" } else { "DESC" }
    }

    /// Merges unindexed and indexed hits. Unindexed messages are the newest.
    fn merge(&self, waiting: Vec<RawHit>, indexed: Vec<RawHit>) -> Vec<RawHit> {
        let (first, then) = match self.query.sort {
            HitOrder::Oldest => (indexed, waiting),
            HitOrder::Rank | HitOrder::Newest => (waiting, indexed),
        };
        first.into_iter().chain(then).take(self.query.limit).collect()
    }
}

fn raw_hit(row: &Row<'_>) -> rusqlite::Result<RawHit> {
    raw_hit_at(row, 0)
}

fn raw_hit_at(row: &Row<'_>, from: usize) -> rusqlite::Result<RawHit> {
    Ok(RawHit {
        message: row.get(from)?,
        session: row.get(from + 1)?,
        session_id: row.get(from + 2)?,
        root: row.get(from + 3)?,
        source: row.get(from + 4)?,
        role: row.get(from + 5)?,
        at: row.get(from + 6)?,
    })
}
