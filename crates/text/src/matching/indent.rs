//! Uniform indentation differences between two blocks.

/// How the file's indentation derives from the old text's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndentShift {
    /// The prefix `from` of every line is `to` in the file.
    Swap { from: String, to: String },
    /// Every `unit` spaces are one tab in the file.
    ToTabs { unit: usize },
    /// Every tab is `unit` spaces in the file.
    ToSpaces { unit: usize },
}

/// Returns the leading spaces and tabs of a line.
pub(crate) fn indent(line: &str) -> &str {
    let words = line.trim_start_matches([' ', '\t']);
    line.get(..line.len() - words.len()).unwrap_or_default()
}

/// Whether a line is indented with both tabs and spaces.
pub(crate) fn is_mixed_indent(line: &str) -> bool {
    let indent = indent(line);
    indent.contains(' ') && indent.contains('\t')
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Returns the pairs of indents of the lines that are not blank.
fn indent_pairs<'a>(
    old: impl Iterator<Item = &'a str>,
    file: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    old.zip(file).filter(|(old, _)| !is_blank(old)).map(|(old, file)| (indent(old), indent(file)))
}

impl IndentShift {
    /// Returns the shift between two blocks that differ only in indentation.
    pub(crate) fn between<'a>(
        old: impl Iterator<Item = &'a str> + Clone,
        file: impl Iterator<Item = &'a str> + Clone,
    ) -> Option<Self> {
        let pairs = || indent_pairs(old.clone(), file.clone());
        let (first_old, first_file) = pairs().next()?;
        let swap = Self::least_swap(first_old, first_file);
        // Prefer a tab/space conversion: it also holds for deeper lines.
        if let Some(units) =
            Self::unit_conversion(pairs().find(|(old, file)| !(old.is_empty() || file.is_empty())))
            && pairs().all(|(old, file)| units.shift_whole_units(old).as_deref() == Some(file))
        {
            return Some(units);
        }
        pairs().all(|(old, file)| swap.shift_indent(old).as_deref() == Some(file)).then_some(swap)
    }

    /// Returns the tab/space conversion, if one indent is all spaces and the
    /// other all tabs.
    fn unit_conversion(pair: Option<(&str, &str)>) -> Option<Self> {
        let (old, file) = pair?;
        let is_all = |indent: &str, of: u8| indent.bytes().all(|byte| byte == of);
        if is_all(old, b' ') && is_all(file, b'\t') {
            Some(Self::ToTabs { unit: old.len() / file.len() })
        } else if is_all(old, b'\t') && is_all(file, b' ') {
            Some(Self::ToSpaces { unit: file.len() / old.len() })
        } else {
            None
        }
    }

    /// Returns the smallest prefix swap that turns one indent into the other.
    fn least_swap(old: &str, file: &str) -> Self {
        let shared =
            old.bytes().rev().zip(file.bytes().rev()).take_while(|(old, file)| old == file).count();
        let cut = |indent: &str| indent.get(..indent.len() - shared).unwrap_or_default().to_owned();
        Self::Swap { from: cut(old), to: cut(file) }
    }

    /// Shifts an indent to the file's; none if it cannot be shifted.
    fn shift_indent(&self, indent: &str) -> Option<String> {
        match self {
            Self::Swap { from, to } => Some(format!("{to}{}", indent.strip_prefix(from.as_str())?)),
            Self::ToTabs { unit } => {
                let spaces = indent.len() - indent.trim_start_matches(' ').len();
                let tabs = "\t".repeat(spaces.checked_div(*unit)?);
                Some(format!("{tabs}{}", indent.get(tabs.len() * unit..)?))
            }
            Self::ToSpaces { unit } => Some(indent.replace('\t', &" ".repeat(*unit))),
        }
    }

    /// Like [`Self::shift_indent`], but only for indents made of whole units.
    fn shift_whole_units(&self, indent: &str) -> Option<String> {
        let whole = match self {
            Self::Swap { .. } => true,
            Self::ToTabs { unit } => {
                *unit > 1 && indent.bytes().all(|b| b == b' ') && indent.len().is_multiple_of(*unit)
            }
            Self::ToSpaces { unit } => *unit > 1 && indent.bytes().all(|b| b == b'\t'),
        };
        if whole { self.shift_indent(indent) } else { None }
    }

    /// Shifts a new line to the file's indentation; none if its indent is
    /// smaller than what would be removed.
    pub(crate) fn shift_line(&self, line: &str) -> Option<String> {
        if is_blank(line) {
            return Some(line.to_owned());
        }
        let indent = indent(line);
        Some(format!(
            "{}{}",
            self.shift_indent(indent)?,
            line.get(indent.len()..).unwrap_or_default()
        ))
    }
}

/// Returns the smallest indent of the lines that are not blank.
fn least_indent<'a>(lines: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    lines.filter(|line| !is_blank(line)).map(indent).min_by_key(|indent| indent.len())
}

/// Whether the new text seems to have the file's indentation already while the
/// old text does not: a shift would double it.
pub(crate) fn is_shifted_already<'a>(
    old: impl Iterator<Item = &'a str>,
    new: impl Iterator<Item = &'a str>,
    file: impl Iterator<Item = &'a str>,
) -> bool {
    match (least_indent(old), least_indent(new), least_indent(file)) {
        (Some(old), Some(new), Some(file)) => new != old && new == file,
        _ => false,
    }
}
