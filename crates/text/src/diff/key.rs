//! What makes two lines the same.

use std::borrow::Cow;

use super::DiffOptions;

/// Which white space counts when lines are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhitespaceMode {
    /// All of it.
    #[default]
    Exact,
    /// Not that at the end of a line, the line ending included.
    IgnoreTrailing,
    /// Not how much there is of it, nor that at the end of a line.
    IgnoreAmount,
    /// None.
    IgnoreAll,
}

/// The part of a line that is compared.
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
