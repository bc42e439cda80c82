//! The comparison key of a line: which lines count as equal.

use std::borrow::Cow;

use super::DiffOptions;

/// How whitespace counts when lines are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhitespaceMode {
    /// All whitespace counts.
    #[default]
    Exact,
    /// Ignores whitespace at the end of a line, including the line ending.
    IgnoreTrailing,
    /// Ignores the amount of whitespace, and all of it at the end of a line.
    IgnoreAmount,
    /// Ignores all whitespace.
    IgnoreAll,
}

/// Returns the part of a line that is compared.
pub(super) fn comparison_key<'a>(line: &'a str, options: &DiffOptions) -> Cow<'a, str> {
    let kept: Cow<'a, str> = match options.whitespace {
        WhitespaceMode::Exact => Cow::Borrowed(line),
        WhitespaceMode::IgnoreTrailing => Cow::Borrowed(line.trim_end()),
        WhitespaceMode::IgnoreAmount => {
            let mut kept = String::with_capacity(line.len());
            for c in line.trim_end().chars() {
                match c.is_whitespace() {
                    true if kept.ends_with(' ') => {}
                    true => kept.push(' '),
                    false => kept.push(c),
                }
            }
            Cow::Owned(kept)
        }
        WhitespaceMode::IgnoreAll => {
            Cow::Owned(line.chars().filter(|c| !c.is_whitespace()).collect())
        }
    };
    if options.ignore_case { Cow::Owned(kept.to_lowercase()) } else { kept }
}
