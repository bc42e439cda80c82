//! Wraps styled text into rows by display width.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::row::{PLAIN_STYLE, StyledRow, StyledSpan, TextStyle, fitting_prefix, width};

/// Replacement for a tab.
const TAB_SPACES: &str = "    ";

/// Prefix of the first row and of the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowIndent {
    pub(crate) first: StyledRow,
    pub(crate) rest: StyledRow,
}

impl RowIndent {
    /// Uses the same prefix for every row.
    pub(crate) fn all(row: StyledRow) -> Self {
        Self { first: row.clone(), rest: row }
    }

    /// Uses a mark for the first row and equal indentation for the others.
    pub(crate) fn hanging(mark: StyledRow) -> Self {
        let rest = StyledRow::new(&" ".repeat(mark.width()), PLAIN_STYLE);
        Self { first: mark, rest }
    }
}

/// Wraps a text into rows of at most `most` columns, at spaces and between
/// ideographs; longer words are broken anywhere. Keeps spaces at the start of a
/// line.
pub(crate) fn wrap(spans: &[StyledSpan], most: usize, indent: &RowIndent) -> Vec<StyledRow> {
    let mut wrapper = RowWrapper::new(most, indent);
    for span in spans {
        for character in span.text.graphemes(true) {
            wrapper.push_char(character, span.style);
        }
    }
    wrapper.finish()
}

struct RowWrapper<'a> {
    most: usize,
    indent: &'a RowIndent,
    rows: Vec<StyledRow>,
    row: StyledRow,
    used: usize,
    /// Spaces that are written only if something follows in the same row.
    gap: StyledRow,
    gap_width: usize,
    word: StyledRow,
    word_width: usize,
    /// Whether the line contains only spaces so far.
    is_fresh: bool,
    previous: CharClass,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Narrow,
    Wide,
    /// Wide, and never last in a row.
    Opening,
}

impl<'a> RowWrapper<'a> {
    fn new(most: usize, indent: &'a RowIndent) -> Self {
        let mut wrapper = Self {
            most: most.max(4),
            indent,
            rows: Vec::new(),
            row: StyledRow::default(),
            used: 0,
            gap: StyledRow::default(),
            gap_width: 0,
            word: StyledRow::default(),
            word_width: 0,
            is_fresh: true,
            previous: CharClass::Narrow,
        };
        wrapper.begin();
        wrapper
    }

    fn begin(&mut self) {
        let indent = if self.rows.is_empty() { &self.indent.first } else { &self.indent.rest };
        self.row = indent.clone();
        // An indent past the edge would leave no room for progress.
        self.used = indent.width().min(self.most.saturating_sub(2));
    }

    fn push_char(&mut self, character: &str, style: TextStyle) {
        match character {
            "\n" | "\r\n" => {
                self.end_word();
                self.end_row();
                self.is_fresh = true;
            }
            "\t" => self.push_space(TAB_SPACES, style),
            " " | "\u{3000}" => self.push_space(character, style),
            _ => self.push_letter(character, style),
        }
    }

    fn push_space(&mut self, text: &str, style: TextStyle) {
        self.end_word();
        self.gap.push(text, style);
        self.gap_width += width(text);
    }

    fn push_letter(&mut self, character: &str, style: TextStyle) {
        let columns = width(character);
        let kind = match character {
            "「" | "『" | "（" | "【" | "《" | "〈" | "“" | "‘" => CharClass::Opening,
            _ if columns > 1 => CharClass::Wide,
            _ => CharClass::Narrow,
        };
        let closes = matches!(
            character,
            "。" | "、"
                | "，"
                | "．"
                | "！"
                | "？"
                | "："
                | "；"
                | "」"
                | "』"
                | "）"
                | "】"
                | "》"
                | "〉"
                | "”"
                | "’"
                | "ー"
                | "."
                | ","
                | "!"
                | "?"
                | ":"
                | ";"
                | ")"
        );
        let may_break = match self.previous {
            CharClass::Opening => false,
            CharClass::Wide => !closes,
            CharClass::Narrow => kind != CharClass::Narrow && !closes,
        };
        if may_break {
            self.end_word();
        }
        self.word.push(character, style);
        self.word_width += columns;
        self.previous = kind;
    }

    fn end_word(&mut self) {
        self.previous = CharClass::Narrow;
        if self.word_width == 0 && self.word.spans.is_empty() {
            return;
        }
        let fits = self.used + self.gap_width + self.word_width <= self.most;
        if fits || (self.is_fresh && self.used + self.gap_width < self.most / 2) {
            self.row.append(&std::mem::take(&mut self.gap));
            self.used += self.gap_width;
        } else if !self.is_fresh {
            self.end_row();
        }
        self.gap = StyledRow::default();
        self.gap_width = 0;
        self.is_fresh = false;
        self.place_word();
    }

    fn place_word(&mut self) {
        let mut word = std::mem::take(&mut self.word);
        let mut left = std::mem::take(&mut self.word_width);
        while self.used + left > self.most {
            let room = self.most - self.used;
            let (head, tail) = word.split(room);
            let taken = head.width();
            if taken == 0 && self.used > self.row_indent() {
                self.end_row();
                continue;
            }
            if taken == 0 {
                // Wider than the whole row and cannot be split.
                break;
            }
            self.row.append(&head);
            self.end_row();
            word = tail;
            left = word.width();
        }
        self.row.append(&word);
        self.used += left;
    }

    fn row_indent(&self) -> usize {
        let indent = if self.rows.is_empty() { &self.indent.first } else { &self.indent.rest };
        indent.width().min(self.most.saturating_sub(2))
    }

    fn end_row(&mut self) {
        self.gap = StyledRow::default();
        self.gap_width = 0;
        self.rows.push(std::mem::take(&mut self.row));
        self.begin();
    }

    fn finish(mut self) -> Vec<StyledRow> {
        self.end_word();
        // A trailing line break starts no row.
        if self.rows.is_empty() || self.row != self.indent.rest {
            self.rows.push(self.row);
        }
        self.rows
    }
}

/// Breaks a line into rows at the exact width, preserving spaces.
pub(crate) fn hard_wrap(
    text: &str,
    most: usize,
    style: TextStyle,
    indent: &StyledRow,
) -> Vec<StyledRow> {
    let text = text.replace('\t', TAB_SPACES);
    let room = most.saturating_sub(indent.width()).max(2);
    let mut rows = Vec::new();
    let mut rest = text.as_str();
    loop {
        let mut at = fitting_prefix(rest, room);
        if at == 0 {
            at = rest.graphemes(true).next().map_or(0, str::len);
        }
        let (head, tail) = rest.split_at(at);
        let mut row = indent.clone();
        row.push(head, style);
        rows.push(row);
        if tail.is_empty() {
            return rows;
        }
        rest = tail;
    }
}

#[cfg(test)]
#[path = "wrap_tests.rs"]
mod tests;
