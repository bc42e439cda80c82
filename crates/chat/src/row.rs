//! Rows of styled text, and how they are written to a terminal.

use std::fmt::Write as _;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// One of the terminal's own colours, so that its theme decides how they look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Red = 31,
    Green = 32,
    Yellow = 33,
    Blue = 34,
    Magenta = 35,
    Cyan = 36,
}

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) colour: Option<Colour>,
    pub(crate) bold: bool,
    pub(crate) dim: bool,
    pub(crate) italic: bool,
    pub(crate) underlined: bool,
    pub(crate) struck: bool,
    pub(crate) reversed: bool,
}

/// Nothing special.
pub(crate) const PLAIN: Style = Style {
    colour: None,
    bold: false,
    dim: false,
    italic: false,
    underlined: false,
    struck: false,
    reversed: false,
};
/// In the background.
pub(crate) const DIM: Style = Style { dim: true, ..PLAIN };
/// In the foreground.
pub(crate) const BOLD: Style = Style { bold: true, ..PLAIN };

impl Colour {
    /// Text in this colour.
    pub(crate) const fn style(self) -> Style {
        Style { colour: Some(self), ..PLAIN }
    }

    /// Bold text in this colour.
    pub(crate) const fn bold(self) -> Style {
        Style { colour: Some(self), ..BOLD }
    }
}

/// How much of a style may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Palette {
    /// No escape sequences at all.
    Bare,
    /// Bold, dim and the like, but no colours.
    Shades,
    /// Everything.
    Colours,
}

/// Text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) style: Style,
}

/// Text without line ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) spans: Vec<Span>,
}

impl Row {
    pub(crate) fn new(text: &str, style: Style) -> Self {
        let mut row = Self::default();
        row.push(text, style);
        row
    }

    /// Appends text; it must be clean.
    pub(crate) fn push(&mut self, text: &str, style: Style) {
        match self.spans.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.spans.push(Span { text: text.to_owned(), style }),
        }
    }

    pub(crate) fn with(mut self, text: &str, style: Style) -> Self {
        self.push(text, style);
        self
    }

    pub(crate) fn append(&mut self, row: &Row) {
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

    /// At most `most` columns; what is cut off leaves an ellipsis.
    pub(crate) fn clipped(self, most: usize) -> Row {
        if self.width() <= most {
            return self;
        }
        let (mut kept, _) = self.split(most.saturating_sub(1));
        let style = kept.spans.last().map_or(PLAIN, |span| span.style);
        kept.push("…", style);
        kept
    }

    /// What is before a column, and what is from there on.
    pub(crate) fn split(&self, column: usize) -> (Row, Row) {
        let (mut before, mut after) = (Row::default(), Row::default());
        let mut left = column;
        for span in &self.spans {
            let at = if after.spans.is_empty() { cut(&span.text, left) } else { 0 };
            let (head, tail) = span.text.split_at(at);
            left = left.saturating_sub(width(head));
            before.push(head, span.style);
            after.push(tail, span.style);
        }
        (before, after)
    }

    /// Writes the row, and leaves the terminal's style as it was.
    pub(crate) fn write(&self, out: &mut String, palette: Palette) {
        let mut current = PLAIN;
        for span in &self.spans {
            if palette != Palette::Bare && span.style != current {
                change(span.style, palette, out);
                current = span.style;
            }
            out.push_str(&span.text);
        }
        if current != PLAIN {
            out.push_str("\x1b[0m");
        }
    }
}

fn change(style: Style, palette: Palette, out: &mut String) {
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
    if let (Some(colour), Palette::Colours) = (style.colour, palette) {
        let _ = write!(out, ";{}", colour as u8);
    }
    out.push('m');
}

/// The columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) { text.len() } else { text.width() }
}

/// The byte offset of the first character that does not fit into so many columns.
pub(crate) fn cut(text: &str, columns: usize) -> usize {
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
