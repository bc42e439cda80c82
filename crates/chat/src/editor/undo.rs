//! What the text was before.

const MOST: usize = 200;

/// Former texts with their cursors.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    past: Vec<(String, usize)>,
    future: Vec<(String, usize)>,
    is_typing: bool,
}

impl Undo {
    /// The text is about to change.
    pub(super) fn keep(&mut self, text: &str, cursor: usize) {
        self.is_typing = false;
        self.future.clear();
        if self.past.last().is_some_and(|(last, _)| last == text) {
            return;
        }
        if self.past.len() == MOST {
            self.past.remove(0);
        }
        self.past.push((text.to_owned(), cursor));
    }

    /// Letters in a row are one change.
    pub(super) fn is_typing(&self) -> bool {
        self.is_typing
    }

    pub(super) fn typed(&mut self) {
        self.is_typing = true;
    }

    pub(super) fn pause(&mut self) {
        self.is_typing = false;
    }

    pub(super) fn back(&mut self, text: &str, cursor: usize) -> Option<(String, usize)> {
        self.is_typing = false;
        let before = self.past.pop()?;
        self.future.push((text.to_owned(), cursor));
        Some(before)
    }

    pub(super) fn forth(&mut self, text: &str, cursor: usize) -> Option<(String, usize)> {
        self.is_typing = false;
        let after = self.future.pop()?;
        self.past.push((text.to_owned(), cursor));
        Some(after)
    }
}
