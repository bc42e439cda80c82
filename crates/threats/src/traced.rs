//! Rewritten text that maps each byte back to its source character.

use std::ops::Range;

/// Text with a mapping back to the source characters.
#[derive(Debug, Default, Clone)]
pub(crate) struct TracedText {
    text: String,
    /// Pairs of a byte offset in `text` and a source character index. Between
    /// two anchors one byte is one character, so plain text needs hardly any.
    anchors: Vec<(usize, usize)>,
}

/// A byte range of a text and its replacement.
pub(crate) type TextEdit = (Range<usize>, String);

impl TracedText {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), anchors: Vec::new() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Appends a character that maps to the source character `source`.
    pub(crate) fn push(&mut self, c: char, source: usize) {
        self.anchor(source);
        self.text.push(c);
    }

    /// Appends lower-cased ASCII text in which each byte maps to one source
    /// character.
    pub(crate) fn push_lowercase(&mut self, ascii: &str, source: usize) {
        self.anchor(source);
        let start = self.text.len();
        self.text.push_str(ascii);
        if let Some(added) = self.text.get_mut(start..) {
            added.make_ascii_lowercase();
        }
    }

    /// Removes the last character.
    pub(crate) fn pop(&mut self) {
        self.text.pop();
        while self.anchors.last().is_some_and(|&(at, _)| at > self.text.len()) {
            self.anchors.pop();
        }
    }

    /// Returns the source character index for a byte of the text.
    pub(crate) fn source_char(&self, at: usize) -> usize {
        let next = self.anchors.partition_point(|&(byte, _)| byte <= at);
        match next.checked_sub(1).and_then(|last| self.anchors.get(last)) {
            Some(&(byte, source)) => source + (at - byte),
            None => at,
        }
    }

    /// Applies `edits`, which must be sorted and must not overlap.
    pub(crate) fn rewrite(self, edits: &[TextEdit]) -> Self {
        if edits.is_empty() {
            return self;
        }
        let mut new = Self::with_capacity(self.text.len());
        let mut done = 0;
        for (range, instead) in edits {
            new.copy(&self, done..range.start);
            let first = self.source_char(range.start);
            let last = self.source_char(range.end.saturating_sub(1));
            let count = instead.chars().count();
            for (at, c) in instead.chars().enumerate() {
                new.push(c, if at + 1 == count { last } else { (first + at).min(last) });
            }
            done = range.end;
        }
        new.copy(&self, done..self.text.len());
        new
    }

    fn copy(&mut self, old: &Self, range: Range<usize>) {
        let Some(kept) = old.text.get(range.clone()).filter(|kept| !kept.is_empty()) else {
            return;
        };
        let base = self.text.len();
        self.anchor(old.source_char(range.start));
        let from = old.anchors.partition_point(|&(byte, _)| byte <= range.start);
        let inside = old.anchors.iter().skip(from).take_while(|&&(byte, _)| byte < range.end);
        self.anchors.extend(inside.map(|&(byte, source)| (byte - range.start + base, source)));
        self.text.push_str(kept);
    }

    fn anchor(&mut self, source: usize) {
        let at = self.text.len();
        match self.anchors.last_mut() {
            Some((byte, known)) if *known + (at - *byte) == source => {}
            Some((byte, known)) if *byte == at => *known = source,
            None if source == at => {}
            _ => self.anchors.push((at, source)),
        }
    }
}
