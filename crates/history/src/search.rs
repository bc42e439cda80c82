//! Searching: words first; pieces of words if no word is found; and what is
//! too short for both is looked for in the latest messages themselves.

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

/// So many of the latest messages with a word are ranked.
const MAX_RANKED: usize = 1_000;
/// So many messages that may have a piece of a word are looked at.
const MAX_TRIGRAM_CANDIDATES: usize = 300;
/// So many of the latest messages are looked through for what no index knows.
const MAX_SCANNED: usize = 5_000;

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct MessageQuery {
    /// Any text: words, "phrases", `OR`, `NOT`, `begin*`.
    pub text: String,
    /// Only said by these: user, assistant, tool, system; empty for all.
    pub roles: Vec<String>,
    /// Only in this session.
    pub session: Option<String>,
    /// Only in sessions from here.
    pub source: Option<String>,
    /// Not said before.
    pub since: Option<Timestamp>,
    /// Said before.
    pub until: Option<Timestamp>,
    /// Which come first.
    pub sort: HitOrder,
    /// At most so many.
    pub limit: usize,
}

/// Which hits come first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HitOrder {
    /// Those that fit best.
    #[default]
    Rank,
    /// The latest.
    Newest,
    /// The earliest.
    Oldest,
}

/// A message that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageHit {
    /// The message.
    pub message: i64,
    /// Its session.
    pub session: String,
    /// Who said it.
    pub role: String,
    /// When.
    pub at: Timestamp,
    /// The words around, those that were asked for between `>>>` and `<<<`.
    pub snippet: String,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessageResults {
    /// The messages.
    pub hits: Vec<MessageHit>,
    /// Whether words were only found as pieces of others.
    pub by_substring: bool,
}

/// A hit before its words are fetched.
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

/// What every way of searching asks for; the conditions are the same for all.
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

    /// The hit with its words.
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
            // One moment for all that is read.
            let moment = connection.unchecked_transaction()?;
            let search =
                QueryRun { connection: &moment, query, question, mark: indexed_up_to(&moment)? };
            if !question.is_wordless() {
                let found = search.search_words()?;
                // Pieces know nothing of what must not be there.
                if !found.is_empty() || question.has_exclusions() {
                    return Ok((found, false));
                }
            }
            Ok((search.search_substrings()?, true))
        })
    }
}

/// The parameters of [`WHERE_CONDITIONS`], after what an index is asked.
type ConditionParams<'a> =
    (Option<&'a str>, Option<String>, Option<&'a str>, Option<&'a str>, Option<i64>, Option<i64>);

struct QueryRun<'a> {
    connection: &'a Connection,
    query: &'a MessageQuery,
    question: &'a ParsedQuery,
    /// Up to where the indexes go.
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

    /// Looks through messages after this one, the latest first.
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

    /// Those that wait for the index are the latest.
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
