//! Session search: the best hit of each session family, with the messages
//! around it and the first and last messages of the session.

use std::collections::HashSet;

use crate::error::HistoryError;
use crate::query::ParsedQuery;
use crate::reader::{HistoryReader, MessageRange};
use crate::record::{SessionSummary, StoredMessage};
use crate::search::{MessageHit, MessageQuery};

/// Maximum number of hits considered.
const MAX_CANDIDATE_HITS: usize = 300;
/// Number of messages shown from the start and from the end.
const BOOKEND_MESSAGES: usize = 3;
/// Sources of sessions that do part of another session's work.
const HIDDEN_SOURCES: [&str; 2] = ["subagent", "tool"];
/// Source of sessions without a user.
const AUTOMATIC_SOURCE: &str = "cron";

/// A session query and how to show its hits.
#[derive(Debug, Clone, Default)]
pub struct SessionQuery {
    /// The message query; its limit counts sessions.
    pub query: MessageQuery,
    /// Messages on each side of the hit.
    pub window: usize,
    /// The querying session, whose family is excluded.
    pub asker: Option<String>,
}

/// A session that matches a query.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundSession {
    /// The session.
    pub session: SessionSummary,
    /// The hit; none if the title matched.
    pub hit: Option<MessageHit>,
    /// The first messages, except those in `around`.
    pub beginning: Vec<StoredMessage>,
    /// The messages around the hit.
    pub around: Vec<StoredMessage>,
    /// The last messages, except those in `around`.
    pub end: Vec<StoredMessage>,
    /// Number of messages before `around`.
    pub before: usize,
    /// Number of messages after `around`.
    pub after: usize,
}

impl HistoryReader {
    /// Returns the best matching sessions and the total number of matches.
    pub fn discover(
        &self,
        discovery: &SessionQuery,
    ) -> Result<(Vec<FoundSession>, usize), HistoryError> {
        let query = &discovery.query;
        let question = ParsedQuery::parse(&query.text);
        let asker = match &discovery.asker {
            // A session that was never written has no family.
            Some(id) => self.session(id).ok().filter(|found| found.id == *id).map(|s| s.root),
            None => None,
        };
        let mut seen: HashSet<i64> = asker.into_iter().collect();
        let mut found = Vec::new();
        let titled = if query.text.trim().is_empty() {
            Vec::new()
        } else {
            self.sessions_by_title(&query.text)?
        };
        for session in titled {
            let fits = query.session.as_ref().is_none_or(|id| *id == session.id)
                && !HIDDEN_SOURCES.contains(&session.source.as_str());
            if fits && seen.insert(session.root) {
                found.push((session, None));
            }
        }
        let by_title = found.len();
        let (hits, _) =
            self.raw_hits(&MessageQuery { limit: MAX_CANDIDATE_HITS, ..query.clone() }, &question)?;
        let (mut chosen, mut automatic) = (Vec::new(), Vec::new());
        for raw in hits {
            if HIDDEN_SOURCES.contains(&raw.source.as_str()) || !seen.insert(raw.root) {
                continue;
            }
            let list = if raw.source == AUTOMATIC_SOURCE { &mut automatic } else { &mut chosen };
            list.push(raw);
        }
        chosen.append(&mut automatic);
        let total = by_title + chosen.len();
        found.truncate(query.limit);
        for raw in chosen.into_iter().take(query.limit.saturating_sub(found.len())) {
            let hit = self.load_hit(&raw, &question)?;
            found.extend(self.session_by_key(raw.session)?.map(|session| (session, hit)));
        }
        let found = found
            .into_iter()
            .map(|(session, hit)| self.build_found(session, hit, discovery.window));
        Ok((found.collect::<Result<_, _>>()?, total))
    }

    fn build_found(
        &self,
        session: SessionSummary,
        hit: Option<MessageHit>,
        window: usize,
    ) -> Result<FoundSession, HistoryError> {
        let around = match &hit {
            Some(hit) => self.messages_around(&session, hit.message, window)?,
            None => self.messages(&session, MessageRange::First(window * 2 + 1))?,
        };
        let (first, last) =
            (around.first().map_or(i64::MAX, |m| m.id), around.last().map_or(0, |m| m.id));
        let (before, _) = self.count_around(&session, first)?;
        let (_, after) = self.count_around(&session, last)?;
        let mut beginning = self.messages(&session, MessageRange::First(BOOKEND_MESSAGES))?;
        beginning.retain(|message| message.id < first);
        let mut end = self.messages(&session, MessageRange::Last(BOOKEND_MESSAGES))?;
        end.retain(|message| message.id > last);
        Ok(FoundSession { session, hit, beginning, around, end, before, after })
    }

    /// Returns a message and its neighbours on each side.
    pub fn messages_around(
        &self,
        session: &SessionSummary,
        message: i64,
        window: usize,
    ) -> Result<Vec<StoredMessage>, HistoryError> {
        let mut around = self.messages(session, MessageRange::Before(message, window))?;
        let from = self.messages(session, MessageRange::After(message - 1, window + 1))?;
        if from.first().is_none_or(|found| found.id != message) {
            let session = session.id.clone();
            return Err(HistoryError::NoMessage { session, message });
        }
        around.extend(from);
        Ok(around)
    }

    /// Whether two sessions belong to the same family.
    pub fn are_related(&self, one: &SessionSummary, other: &SessionSummary) -> bool {
        one.root == other.root
    }
}
