//! Builds the page of a content search.

use crate::content::{ContentResults, FileMatches, MatchOutput};
use crate::lines::slice_matches;
use crate::monitor::{EarlyStop, SearchMonitor};
use crate::{PageRange, ResultPage};

/// The page being filled, with its totals.
#[derive(Debug)]
pub(crate) struct PageBuilder {
    output: MatchOutput,
    page: PageRange,
    seen: u64,
    matches: u64,
    items: Vec<FileMatches>,
    /// The total, if everything was counted beforehand.
    pub(crate) known_total: Option<u64>,
}

impl PageBuilder {
    pub(crate) fn new(report: MatchOutput, page: PageRange) -> Self {
        Self { output: report, page, seen: 0, matches: 0, items: Vec::new(), known_total: None }
    }

    pub(crate) fn add(&mut self, mut hits: FileMatches) {
        let MatchOutput::Lines { before, after } = self.output else {
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
        hits.matches = slice_matches(hits.matches, from, to, before as u64, after as u64);
        if !hits.matches.is_empty() {
            self.items.push(hits);
        }
    }

    pub(crate) fn finish(
        self,
        watch: &SearchMonitor<'_>,
        ended: Option<EarlyStop>,
        counts_matches: bool,
    ) -> ContentResults {
        let is_counted = self.known_total.is_some() || self.output == MatchOutput::Counts;
        let is_enough = self.seen >= self.page.needed() && !is_counted;
        let total = self.known_total.unwrap_or(self.seen).max(self.seen);
        let found = ResultPage {
            items: self.items,
            total,
            is_exact: ended.is_none() && !is_enough,
            has_more: total > self.page.end() || ended.is_some(),
            files_visited: watch.files_visited(),
            skipped: watch.skipped(),
            early_stop: if is_enough { None } else { ended },
        };
        ContentResults { page: found, matches: self.matches, counts_matches }
    }
}
