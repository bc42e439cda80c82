//! Searching: words first; pieces of words if no word is found; and what is
//! too short for both is looked for in the latest messages themselves.

use jiff::Timestamp;
use rusqlite::{Connection, Row};

use crate::error::HistoryError;
use crate::index::{mark, searched};
use crate::query::Question;
use crate::reader::Reader;
use crate::record::Kept;
use crate::rows::{COLUMNS, kept, moment};
use crate::snippet::snippet;
use crate::words::{folded, words};

/// So many of the latest messages with a word are ranked.
const RANKED: usize = 1_000;
/// So many messages that may have a piece of a word are looked at.
const LIKELY: usize = 300;
/// So many of the latest messages are looked through for what no index knows.
const SCANNED: usize = 5_000;

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct Query {
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
    pub sort: Sort,
    /// At most so many.
    pub limit: usize,
}

/// Which hits come first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
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
pub struct Hit {
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
pub struct Results {
    /// The messages.
    pub hits: Vec<Hit>,
    /// Whether words were only found as pieces of others.
    pub in_pieces: bool,
}

/// A hit before its words are fetched.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub(crate) message: i64,
    pub(crate) session: i64,
    pub(crate) session_id: String,
    pub(crate) root: i64,
    pub(crate) source: String,
    pub(crate) role: String,
    pub(crate) at: i64,
}

/// What every way of searching asks for; the conditions are the same for all.
const RAW: &str = "x.id, x.session, s.id, s.root, s.source, x.role, x.at";
const CONDITIONS: &str = "x.state <> 1 AND x.echo IS NULL \
    AND (?2 IS NULL OR instr(?2, ',' || x.role || ',') > 0) AND (?3 IS NULL OR s.id = ?3) \
    AND (?4 IS NULL OR s.source = ?4) AND (?5 IS NULL OR x.at >= ?5) AND (?6 IS NULL OR x.at < ?6)";

impl Reader {
    /// Searches all sessions.
    pub fn search(&self, query: &Query) -> Result<Results, HistoryError> {
        let question = Question::parse(&query.text);
        let (raw, in_pieces) = self.hits(query, &question)?;
        let mut hits = Vec::new();
        for raw in raw {
            hits.extend(self.hit(&raw, &question)?);
        }
        Ok(Results { hits, in_pieces })
    }

    /// The hit with its words.
    pub(crate) fn hit(&self, raw: &Raw, question: &Question) -> Result<Option<Hit>, HistoryError> {
        Ok(self.message(raw.message)?.map(|(_, kept)| Hit {
            message: raw.message,
            session: raw.session_id.clone(),
            role: raw.role.clone(),
            at: moment(raw.at),
            snippet: snippet(&searched(&kept.message), question),
        }))
    }

    pub(crate) fn hits(
        &self,
        query: &Query,
        question: &Question,
    ) -> Result<(Vec<Raw>, bool), HistoryError> {
        self.read(|connection| {
            // One moment for all that is read.
            let moment = connection.unchecked_transaction()?;
            let search = Search { connection: &moment, query, question, mark: mark(&moment)? };
            if !question.is_wordless() {
                let found = search.by_words()?;
                // Pieces know nothing of what must not be there.
                if !found.is_empty() || question.excludes() {
                    return Ok((found, false));
                }
            }
            Ok((search.by_pieces()?, true))
        })
    }
}

/// The parameters of [`CONDITIONS`], after what an index is asked.
type Conditions<'a> =
    (Option<&'a str>, Option<String>, Option<&'a str>, Option<&'a str>, Option<i64>, Option<i64>);

struct Search<'a> {
    connection: &'a Connection,
    query: &'a Query,
    question: &'a Question,
    /// Up to where the indexes go.
    mark: i64,
}

impl Search<'_> {
    fn by_words(&self) -> rusqlite::Result<Vec<Raw>> {
        let limit = self.query.limit;
        let waiting = self.scan(self.mark, RANKED, |kept| {
            self.question.holds(&words(&searched(&kept.message)))
        })?;
        let matching = self.question.to_match();
        let inner = |order: &str, most: usize, more: &str| {
            format!(
                "SELECT {RAW}{more} FROM words CROSS JOIN messages x ON x.id = words.rowid \
                 CROSS JOIN sessions s ON s.key = x.session \
                 WHERE words MATCH ?1 AND {CONDITIONS} ORDER BY words.rowid {order} LIMIT {most}"
            )
        };
        let sql = match self.query.sort {
            Sort::Newest => inner("DESC", limit, ""),
            Sort::Oldest => inner("ASC", limit, ""),
            Sort::Rank => format!(
                "SELECT * FROM ({}) ORDER BY fit LIMIT {limit}",
                inner("DESC", RANKED, ", bm25(words) AS fit")
            ),
        };
        let indexed: Vec<Raw> = self
            .connection
            .prepare_cached(&sql)?
            .query_map(self.params(Some(&matching)), raw)?
            .collect::<rusqlite::Result<_>>()?;
        Ok(self.merge(waiting, indexed))
    }

    fn by_pieces(&self) -> rusqlite::Result<Vec<Raw>> {
        let within = |kept: &Kept| self.question.is_within(&folded(&searched(&kept.message)));
        let Some(pieces) = self.question.to_pieces() else {
            let found = self.scan(0, SCANNED, within)?;
            return Ok(self.merge(found, Vec::new()));
        };
        let waiting = self.scan(self.mark, RANKED, within)?;
        let order = self.order();
        let sql = format!(
            "SELECT {COLUMNS}, {RAW} FROM pieces CROSS JOIN messages x ON x.id = pieces.rowid \
             CROSS JOIN sessions s ON s.key = x.session \
             WHERE pieces MATCH ?1 AND {CONDITIONS} ORDER BY pieces.rowid {order} LIMIT {LIKELY}"
        );
        let indexed = self.look_through(&sql, Some(&pieces), within)?;
        Ok(self.merge(waiting, indexed))
    }

    /// Looks through messages after this one, the latest first.
    fn scan(
        &self,
        after: i64,
        most: usize,
        fits: impl Fn(&Kept) -> bool,
    ) -> rusqlite::Result<Vec<Raw>> {
        let order = self.order();
        let sql = format!(
            "SELECT {COLUMNS}, {RAW} FROM messages x CROSS JOIN sessions s ON s.key = x.session \
             WHERE ?1 IS NULL AND x.id > {after} AND {CONDITIONS} ORDER BY x.id {order} LIMIT {most}"
        );
        self.look_through(&sql, None, fits)
    }

    fn look_through(
        &self,
        sql: &str,
        matching: Option<&str>,
        fits: impl Fn(&Kept) -> bool,
    ) -> rusqlite::Result<Vec<Raw>> {
        let mut find = self.connection.prepare(sql)?;
        let mut rows = find.query(self.params(matching))?;
        let mut found = Vec::new();
        while found.len() < self.query.limit
            && let Some(row) = rows.next()?
        {
            if fits(&kept(row)?) {
                found.push(raw_from(row, 20)?);
            }
        }
        Ok(found)
    }

    fn params<'b>(&'b self, matching: Option<&'b str>) -> Conditions<'b> {
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

    fn order(&self) -> &'static str {
        if self.query.sort == Sort::Oldest { "ASC" } else { "DESC" }
    }

    /// Those that wait for the index are the latest.
    fn merge(&self, waiting: Vec<Raw>, indexed: Vec<Raw>) -> Vec<Raw> {
        let (first, then) = match self.query.sort {
            Sort::Oldest => (indexed, waiting),
            Sort::Rank | Sort::Newest => (waiting, indexed),
        };
        first.into_iter().chain(then).take(self.query.limit).collect()
    }
}

fn raw(row: &Row<'_>) -> rusqlite::Result<Raw> {
    raw_from(row, 0)
}

fn raw_from(row: &Row<'_>, from: usize) -> rusqlite::Result<Raw> {
    Ok(Raw {
        message: row.get(from)?,
        session: row.get(from + 1)?,
        session_id: row.get(from + 2)?,
        root: row.get(from + 3)?,
        source: row.get(from + 4)?,
        role: row.get(from + 5)?,
        at: row.get(from + 6)?,
    })
}
