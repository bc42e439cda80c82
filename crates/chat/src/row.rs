//! Rows of styled text and their terminal output.

use std::fmt::Write as _;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// A colour of the terminal's palette, so its theme applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnsiColour {
    Red = 31,
    Green = 32,
    Yellow = 33,
    Blue = 34,
    Magenta = 35,
    Cyan = 36,
}

/// Style of a span of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextStyle {
    pub(crate) colour: Option<AnsiColour>,
    pub(crate) bold: bool,
    pub(crate) dim: bool,
    pub(crate) italic: bool,
    pub(crate) underlined: bool,
    pub(crate) struck: bool,
    pub(crate) reversed: bool,
}

/// Default style.
pub(crate) const PLAIN_STYLE: TextStyle = TextStyle {
    colour: None,
    bold: false,
    dim: false,
    italic: false,
    underlined: false,
    struck: false,
    reversed: false,
};
/// Style for secondary text.
pub(crate) const DIM_STYLE: TextStyle = TextStyle { dim: true, ..PLAIN_STYLE };
/// Style for emphasized text.
pub(crate) const BOLD_STYLE: TextStyle = TextStyle { bold: true, ..PLAIN_STYLE };

impl AnsiColour {
    /// Returns the style for text in this colour.
    pub(crate) const fn style(self) -> TextStyle {
        TextStyle { colour: Some(self), ..PLAIN_STYLE }
    }

    /// Returns the style for bold text in this colour.
    pub(crate) const fn bold(self) -> TextStyle {
        TextStyle { colour: Some(self), ..BOLD_STYLE }
    }
}

/// Which parts of a style may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColourSupport {
    /// No escape sequences.
    Unstyled,
    /// Bold, dim and the like, but no colours.
    NoColour,
    /// Everything.
    Full,
}

/// Text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StyledSpan {
    pub(crate) text: String,
    pub(crate) style: TextStyle,
}

/// Styled text without line breaks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StyledRow {
    pub(crate) spans: Vec<StyledSpan>,
}

impl StyledRow {
    pub(crate) fn new(text: &str, style: TextStyle) -> Self {
        let mut row = Self::default();
        row.push(text, style);
        row
    }

    /// Appends text, which must be sanitized.
    pub(crate) fn push(&mut self, text: &str, style: TextStyle) {
        match self.spans.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.spans.push(StyledSpan { text: text.to_owned(), style }),
        }
    }

    pub(crate) fn with(mut self, text: &str, style: TextStyle) -> Self {
        self.push(text, style);
        self
    }

    pub(crate) fn append(&mut self, row: &StyledRow) {
        for span in &row.spans {
            self.push(&span.text, span.style);
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.spans.iter().map(|span| width(&span.text)).sum()
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Truncates the row to `most` columns, ending in an ellipsis if cut.
    pub(crate) fn clipped(self, most: usize) -> StyledRow {
        if self.width() <= most {
            return self;
        }
        let (mut kept, _) = self.split(most.saturating_sub(1));
        let style = kept.spans.last().map_or(PLAIN_STYLE, |span| span.style);
        kept.push("…", style);
        kept
    }

    /// Splits the row at a column.
    pub(crate) fn split(&self, column: usize) -> (StyledRow, StyledRow) {
        let (mut before, mut after) = (StyledRow::default(), StyledRow::default());
        let mut left = column;
        for span in &self.spans {
            let at = if after.spans.is_empty() { fitting_prefix(&span.text, left) } else { 0 };
            let (head, tail) = span.text.split_at(at);
            left = left.saturating_sub(width(head));
            before.push(head, span.style);
            after.push(tail, span.style);
        }
        (before, after)
    }

    /// Writes the row and resets the style at its end.
    pub(crate) fn write(&self, out: &mut String, palette: ColourSupport) {
        let mut current = PLAIN_STYLE;
        for span in &self.spans {
            if palette != ColourSupport::Unstyled && span.style != current {
                write_style(span.style, palette, out);
                current = span.style;
            }
            out.push_str(&span.text);
        }
        if current != PLAIN_STYLE {
            out.push_str("\x1b[0m");
        }
    }
}

fn write_style(style: TextStyle, palette: ColourSupport, out: &mut String) {
    out.push_str("\x1b[0");
    let shades = [
        (style.bold, 1),
        (style.dim, 2),
        (style.italic, 3),
        (style.underlined, 4),
        (style.reversed, 7),
        (style.struck, 9),
    ];
    for (_, code) in shades.into_iter().filter(|(wanted, _)| *wanted) {
        let _ = write!(out, ";{code}");
    }
    if let (Some(colour), ColourSupport::Full) = (style.colour, palette) {
        let _ = write!(out, ";{}", colour as u8);
    }
    out.push('m');
}

/// Returns the number of columns that a text occupies.
pub(crate) fn width(text: &str) -> usize {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) { text.len() } else { text.width() }
}

/// Returns the length in bytes of the longest prefix that fits into `columns`.
pub(crate) fn fitting_prefix(text: &str, columns: usize) -> usize {
    let mut used = 0;
    for (at, character) in text.grapheme_indices(true) {
        used += width(character);
        if used > columns {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;
