//! Undo and redo of the input text.

const MAX_UNDO_STEPS: usize = 200;

/// Earlier and undone texts with their cursors.
#[derive(Clone, Debug, Default)]
pub(super) struct UndoHistory {
    past: Vec<(String, usize)>,
    future: Vec<(String, usize)>,
    is_typing: bool,
}

impl UndoHistory {
    /// Records the text before a change.
    pub(super) fn record(&mut self, text: &str, cursor: usize) {
        self.is_typing = false;
        self.future.clear();
        if self.past.last().is_some_and(|(last, _)| last == text) {
            return;
        }
        if self.past.len() == MAX_UNDO_STEPS {
            self.past.remove(0);
        }
        self.past.push((text.to_owned(), cursor));
    }

    /// Whether the last change was typing; consecutive characters are one undo
    /// step.
    pub(super) fn is_typing(&self) -> bool {
        self.is_typing
    }

    pub(super) fn mark_typing(&mut self) {
        self.is_typing = true;
    }

    pub(super) fn end_typing(&mut self) {
        self.is_typing = false;
    }

    pub(super) fn undo(&mut self, text: &str, cursor: usize) -> Option<(String, usize)> {
        self.is_typing = false;
        let before = self.past.pop()?;
        self.future.push((text.to_owned(), cursor));
        Some(before)
    }

    pub(super) fn redo(&mut self, text: &str, cursor: usize) -> Option<(String, usize)> {
        self.is_typing = false;
        let after = self.future.pop()?;
        self.past.push((text.to_owned(), cursor));
        Some(after)
    }
}
