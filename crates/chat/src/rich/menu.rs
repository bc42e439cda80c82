//! The ways in which a line may go on, as a small menu.

use crate::clean::one_line;
use crate::row::{Colour, DIM, PLAIN, Row, width};
use crate::{Candidate, Completions};

/// So many are shown at once.
const MOST_ROWS: usize = 6;
/// More than this nobody looks through.
const MOST: usize = 500;
const WIDEST: usize = 32;

/// Why a menu opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// By itself.
    Automatic,
    /// Somebody asked for it.
    Wanted,
}

/// Candidates, one of which may be chosen.
#[derive(Debug)]
pub(super) struct Menu {
    start: usize,
    candidates: Vec<Candidate>,
    chosen: Option<usize>,
    opening: Opening,
}

impl Menu {
    /// A menu, if there is anything to choose from.
    pub(super) fn new(found: Completions, opening: Opening, typed: &str) -> Option<Self> {
        let Completions { start, mut candidates } = found;
        candidates.truncate(MOST);
        if !typed.is_char_boundary(start) {
            return None;
        }
        // What is typed already is no way to go on.
        let is_typed =
            |candidate: &Candidate| typed.get(start..) == Some(candidate.text.trim_end());
        let is_over = opening == Opening::Automatic
            && candidates.len() == 1
            && candidates.iter().all(is_typed);
        if candidates.is_empty() || is_over {
            return None;
        }
        Some(Self { start, candidates, chosen: None, opening })
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }

    pub(super) fn len(&self) -> usize {
        self.candidates.len()
    }

    pub(super) fn is_chosen(&self) -> bool {
        self.chosen.is_some()
    }

    /// It opened by itself.
    pub(super) fn is_automatic(&self) -> bool {
        self.opening == Opening::Automatic
    }

    pub(super) fn chosen(&self) -> Option<&Candidate> {
        self.candidates.get(self.chosen?)
    }

    pub(super) fn step(&mut self, by: isize) {
        let count = self.candidates.len();
        self.chosen = Some(match (self.chosen, by < 0) {
            (None, false) => 0,
            (None | Some(0), true) => count - 1,
            (Some(at), true) => at - 1,
            (Some(at), false) => (at + 1) % count,
        });
    }

    /// What all candidates begin with.
    pub(super) fn common(&self) -> String {
        let mut texts = self.candidates.iter().map(|candidate| candidate.text.as_str());
        let first = texts.next().unwrap_or_default();
        let mut length = first.len();
        for text in texts {
            let same = first.char_indices().zip(text.chars()).find(|((_, a), b)| a != b);
            length = length.min(same.map_or(text.len().min(first.len()), |((at, _), _)| at));
        }
        first.get(..length).unwrap_or_default().to_owned()
    }

    /// The whole line with the chosen candidate, or the first.
    pub(super) fn ghost(&self, typed: &str) -> Option<String> {
        let candidate = self.candidates.get(self.chosen.unwrap_or(0))?;
        Some(format!("{}{}", typed.get(..self.start)?, candidate.text.trim_end()))
    }

    pub(super) fn rows(&self, columns: usize) -> Vec<Row> {
        let chosen = self.chosen.unwrap_or(0);
        let first = (chosen + 1).saturating_sub(MOST_ROWS);
        let shown = self.candidates.iter().enumerate().skip(first).take(MOST_ROWS);
        let names: Vec<(usize, String, String)> = shown
            .map(|(at, candidate)| (at, one_line(&candidate.text), one_line(&candidate.note)))
            .collect();
        let widest = names.iter().map(|(_, name, _)| width(name)).max().unwrap_or(0).min(WIDEST);
        let mut rows = Vec::new();
        for (at, name, note) in names {
            let is_chosen = self.chosen == Some(at);
            let style = if is_chosen { Colour::Cyan.bold() } else { PLAIN };
            let padding = " ".repeat(widest.saturating_sub(width(&name)) + 2);
            let row = Row::new(if is_chosen { "▸ " } else { "  " }, style)
                .with(&name, style)
                .with(&padding, PLAIN)
                .with(&note, DIM);
            rows.push(row.clipped(columns));
        }
        let hidden = self.candidates.len().saturating_sub(first + MOST_ROWS);
        if hidden > 0 {
            rows.push(Row::new(&format!("  … {hidden} more"), DIM));
        }
        rows
    }
}
