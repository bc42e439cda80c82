//! The page of a search, as it is filled.

use crate::content::{Hits, Report, Searched};
use crate::lines::cut;
use crate::watch::{Ended, Watch};
use crate::{Found, Page};

/// The page that is being filled, and the sums.
#[derive(Debug)]
pub(crate) struct Book {
    report: Report,
    page: Page,
    seen: u64,
    matches: u64,
    items: Vec<Hits>,
    /// The total, where all was counted before.
    pub(crate) known_total: Option<u64>,
}

impl Book {
    pub(crate) fn new(report: Report, page: Page) -> Self {
        Self { report, page, seen: 0, matches: 0, items: Vec::new(), known_total: None }
    }

    pub(crate) fn enter(&mut self, mut hits: Hits) {
        let Report::Lines { before, after } = self.report else {
            if hits.count == 0 {
                return;
            }
            self.matches = self.matches.saturating_add(hits.count);
            if (self.page.offset..self.page.end()).contains(&self.seen) {
                self.items.push(hits);
            }
            self.seen += 1;
            return;
        };
        let number = hits.matches.len() as u64;
        let place = |at: u64| usize::try_from(at.saturating_sub(self.seen)).unwrap_or(usize::MAX);
        let (from, to) = (place(self.page.offset), place(self.page.end()));
        self.seen += number;
        self.matches = self.seen;
        hits.matches = cut(hits.matches, from, to, before as u64, after as u64);
        if !hits.matches.is_empty() {
            self.items.push(hits);
        }
    }

    pub(crate) fn close(
        self,
        watch: &Watch<'_>,
        ended: Option<Ended>,
        counts_matches: bool,
    ) -> Searched {
        let is_counted = self.known_total.is_some() || self.report == Report::Counts;
        let is_enough = self.seen >= self.page.needed() && !is_counted;
        let total = self.known_total.unwrap_or(self.seen).max(self.seen);
        let found = Found {
            items: self.items,
            total,
            is_exact: ended.is_none() && !is_enough,
            has_more: total > self.page.end() || ended.is_some(),
            looked_at: watch.looked_at(),
            skipped: watch.skipped(),
            ended: if is_enough { None } else { ended },
        };
        Searched { found, matches: self.matches, counts_matches }
    }
}
