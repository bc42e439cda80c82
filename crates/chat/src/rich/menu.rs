//! The completion menu.

use crate::row::{AnsiColour, DIM_STYLE, PLAIN_STYLE, StyledRow, width};
use crate::sanitize::one_line;
use crate::{CompletionCandidate, CompletionList};

/// Maximum number of candidates shown at once.
const MAX_MENU_ROWS: usize = 6;
/// Maximum number of candidates kept.
const MAX_CANDIDATES: usize = 500;
const MAX_CANDIDATE_COLUMNS: usize = 32;

/// Why the menu opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MenuTrigger {
    /// While typing.
    Automatic,
    /// On request.
    Requested,
}

/// Completion candidates, one of which may be selected.
#[derive(Debug)]
pub(super) struct CompletionMenu {
    start: usize,
    candidates: Vec<CompletionCandidate>,
    selected: Option<usize>,
    trigger: MenuTrigger,
}

impl CompletionMenu {
    /// Creates a menu, if there are candidates.
    pub(super) fn new(found: CompletionList, opening: MenuTrigger, typed: &str) -> Option<Self> {
        let CompletionList { start, mut candidates } = found;
        candidates.truncate(MAX_CANDIDATES);
        if !typed.is_char_boundary(start) {
            return None;
        }
        // A candidate equal to the typed text completes nothing.
        let is_typed =
            |candidate: &CompletionCandidate| typed.get(start..) == Some(candidate.text.trim_end());
        let is_over = opening == MenuTrigger::Automatic
            && candidates.len() == 1
            && candidates.iter().all(is_typed);
        if candidates.is_empty() || is_over {
            return None;
        }
        Some(Self { start, candidates, selected: None, trigger: opening })
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }

    pub(super) fn len(&self) -> usize {
        self.candidates.len()
    }

    pub(super) fn has_selection(&self) -> bool {
        self.selected.is_some()
    }

    /// Whether the menu opened while typing.
    pub(super) fn is_automatic(&self) -> bool {
        self.trigger == MenuTrigger::Automatic
    }

    pub(super) fn selected(&self) -> Option<&CompletionCandidate> {
        self.candidates.get(self.selected?)
    }

    pub(super) fn move_selection(&mut self, by: isize) {
        let count = self.candidates.len();
        self.selected = Some(match (self.selected, by < 0) {
            (None, false) => 0,
            (None | Some(0), true) => count - 1,
            (Some(at), true) => at - 1,
            (Some(at), false) => (at + 1) % count,
        });
    }

    /// Returns the common prefix of all candidates.
    pub(super) fn common_prefix(&self) -> String {
        let mut texts = self.candidates.iter().map(|candidate| candidate.text.as_str());
        let first = texts.next().unwrap_or_default();
        let mut length = first.len();
        for text in texts {
            let same = first.char_indices().zip(text.chars()).find(|((_, a), b)| a != b);
            length = length.min(same.map_or(text.len().min(first.len()), |((at, _), _)| at));
        }
        first.get(..length).unwrap_or_default().to_owned()
    }

    /// Returns the whole line with the selected candidate, or with the first
    /// one.
    pub(super) fn preview_line(&self, typed: &str) -> Option<String> {
        let candidate = self.candidates.get(self.selected.unwrap_or(0))?;
        Some(format!("{}{}", typed.get(..self.start)?, candidate.text.trim_end()))
    }

    pub(super) fn rows(&self, columns: usize) -> Vec<StyledRow> {
        let chosen = self.selected.unwrap_or(0);
        let first = (chosen + 1).saturating_sub(MAX_MENU_ROWS);
        let shown = self.candidates.iter().enumerate().skip(first).take(MAX_MENU_ROWS);
        let names: Vec<(usize, String, String)> = shown
            .map(|(at, candidate)| (at, one_line(&candidate.text), one_line(&candidate.note)))
            .collect();
        let widest = names
            .iter()
            .map(|(_, name, _)| width(name))
            .max()
            .unwrap_or(0)
            .min(MAX_CANDIDATE_COLUMNS);
        let mut rows = Vec::new();
        for (at, name, note) in names {
            let is_chosen = self.selected == Some(at);
            let style = if is_chosen { AnsiColour::Cyan.bold() } else { PLAIN_STYLE };
            let padding = " ".repeat(widest.saturating_sub(width(&name)) + 2);
            let row = StyledRow::new(if is_chosen { "▸ " } else { "  " }, style)
                .with(&name, style)
                .with(&padding, PLAIN_STYLE)
                .with(&note, DIM_STYLE);
            rows.push(row.clipped(columns));
        }
        let hidden = self.candidates.len().saturating_sub(first + MAX_MENU_ROWS);
        if hidden > 0 {
            rows.push(StyledRow::new(&format!("  … {hidden} more"), DIM_STYLE));
        }
        rows
    }
}
