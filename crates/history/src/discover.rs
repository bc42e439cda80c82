//! Finding sessions by what was said in them: the best place of each family of
//! sessions, with what was said around it, at the beginning and at the end.

use std::collections::HashSet;

use crate::error::HistoryError;
use crate::query::Question;
use crate::reader::{Reader, Span};
use crate::record::{Kept, SessionInfo};
use crate::search::{Hit, Query};

/// So many hits are looked at.
const HITS: usize = 300;
/// So many messages of the beginning and of the end are shown.
const BOOKEND: usize = 3;
/// Sessions that are parts of others' work.
const HIDDEN: [&str; 2] = ["subagent", "tool"];
/// Sessions that nobody took part in.
const AUTOMATIC: &str = "cron";

/// What is looked for, and how it is shown.
#[derive(Debug, Clone, Default)]
pub struct Discovery {
    /// What; its limit is the number of sessions.
    pub query: Query,
    /// Messages on each side of the hit.
    pub window: usize,
    /// The session that asks: its family is left out.
    pub asker: Option<String>,
}

/// A session that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The session.
    pub session: SessionInfo,
    /// Where; none if it is the title that fits.
    pub hit: Option<Hit>,
    /// How it began, as far as that is not around the hit.
    pub beginning: Vec<Kept>,
    /// What was said around the hit.
    pub around: Vec<Kept>,
    /// How it ended, as far as that is not around the hit.
    pub end: Vec<Kept>,
    /// How many messages come before those around the hit.
    pub before: usize,
    /// How many come after.
    pub after: usize,
}

impl Reader {
    /// Finds sessions: the number of those that have it, and the best of them.
    pub fn discover(&self, discovery: &Discovery) -> Result<(Vec<Found>, usize), HistoryError> {
        let query = &discovery.query;
        let question = Question::parse(&query.text);
        let asker = match &discovery.asker {
            // A session that was never written has no family.
            Some(id) => self.session(id).ok().filter(|found| found.id == *id).map(|s| s.root),
            None => None,
        };
        let mut seen: HashSet<i64> = asker.into_iter().collect();
        let mut found = Vec::new();
        let titled =
            if query.text.trim().is_empty() { Vec::new() } else { self.titled(&query.text)? };
        for session in titled {
            let fits = query.session.as_ref().is_none_or(|id| *id == session.id)
                && !HIDDEN.contains(&session.source.as_str());
            if fits && seen.insert(session.root) {
                found.push((session, None));
            }
        }
        let by_title = found.len();
        let (hits, _) = self.hits(&Query { limit: HITS, ..query.clone() }, &question)?;
        let (mut chosen, mut automatic) = (Vec::new(), Vec::new());
        for raw in hits {
            if HIDDEN.contains(&raw.source.as_str()) || !seen.insert(raw.root) {
                continue;
            }
            let list = if raw.source == AUTOMATIC { &mut automatic } else { &mut chosen };
            list.push(raw);
        }
        chosen.append(&mut automatic);
        let total = by_title + chosen.len();
        found.truncate(query.limit);
        for raw in chosen.into_iter().take(query.limit.saturating_sub(found.len())) {
            let hit = self.hit(&raw, &question)?;
            found.extend(self.session_by_key(raw.session)?.map(|session| (session, hit)));
        }
        let found =
            found.into_iter().map(|(session, hit)| self.show(session, hit, discovery.window));
        Ok((found.collect::<Result<_, _>>()?, total))
    }

    fn show(
        &self,
        session: SessionInfo,
        hit: Option<Hit>,
        window: usize,
    ) -> Result<Found, HistoryError> {
        let around = match &hit {
            Some(hit) => self.around(&session, hit.message, window)?,
            None => self.messages(&session, Span::First(window * 2 + 1))?,
        };
        let (first, last) =
            (around.first().map_or(i64::MAX, |m| m.id), around.last().map_or(0, |m| m.id));
        let (before, _) = self.sides(&session, first)?;
        let (_, after) = self.sides(&session, last)?;
        let mut beginning = self.messages(&session, Span::First(BOOKEND))?;
        beginning.retain(|message| message.id < first);
        let mut end = self.messages(&session, Span::Last(BOOKEND))?;
        end.retain(|message| message.id > last);
        Ok(Found { session, hit, beginning, around, end, before, after })
    }

    /// A message with those on each side of it.
    pub fn around(
        &self,
        session: &SessionInfo,
        message: i64,
        window: usize,
    ) -> Result<Vec<Kept>, HistoryError> {
        let mut around = self.messages(session, Span::Before(message, window))?;
        let from = self.messages(session, Span::After(message - 1, window + 1))?;
        if from.first().is_none_or(|found| found.id != message) {
            let session = session.id.clone();
            return Err(HistoryError::NoMessage { session, message });
        }
        around.extend(from);
        Ok(around)
    }

    /// Whether two sessions come from the same one.
    pub fn are_kin(&self, one: &SessionInfo, other: &SessionInfo) -> bool {
        one.root == other.root
    }
}
