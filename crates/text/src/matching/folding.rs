//! Folds a text to plainer characters and maps offsets back to the original.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem::Finder;

/// What is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FoldMode {
    /// Line endings only.
    Endings { returns: bool },
    /// Line endings and look-alike characters.
    LookAlikes { returns: bool, dash: LongDash },
}

/// The ASCII spelling of the em dash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LongDash {
    /// `-`
    Single,
    /// `--`
    Double,
}

impl LongDash {
    /// Both spellings, the usual one first.
    pub(crate) const ALL: [Self; 2] = [Self::Single, Self::Double];

    fn spelling(self, c: char) -> Option<&'static str> {
        match self {
            Self::Double if is_long_dash(c) => Some("--"),
            _ => plain_spelling(c),
        }
    }
}

/// Whether authors also write `--` for this dash.
pub(crate) fn is_long_dash(c: char) -> bool {
    matches!(c, '\u{2014}' | '\u{2015}')
}

/// Returns the ASCII spelling of a look-alike character. Covers only what
/// authors and programs commonly substitute: quotes, dashes, spaces and the
/// ellipsis.
pub(crate) fn plain_spelling(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{2018}' | '\u{2019}' | '\u{201A}' | '\u{201B}' => "'",
        '\u{201C}' | '\u{201D}' | '\u{201E}' | '\u{201F}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "-",
        '\u{A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => " ",
        '\u{2026}' => "...",
        _ => return None,
    })
}

/// Replaces look-alike characters in a line.
pub(crate) fn plain_line(line: &str) -> Cow<'_, str> {
    if line.is_ascii() || !line.contains(|c| plain_spelling(c).is_some()) {
        return line.into();
    }
    let mut folded = String::with_capacity(line.len());
    for c in line.chars() {
        match plain_spelling(c) {
            Some(spelling) => folded.push_str(spelling),
            None => folded.push(c),
        }
    }
    folded.into()
}

/// A folded text.
#[derive(Debug)]
pub(crate) struct FoldedText {
    pub(crate) text: String,
    /// Runs of unchanged characters: folded offset, original offset. The text
    /// between two runs was replaced as a whole.
    runs: Vec<UnchangedRun>,
    original_len: usize,
}

#[derive(Debug, Clone, Copy)]
struct UnchangedRun {
    folded: usize,
    original: usize,
    len: usize,
}

impl FoldedText {
    pub(crate) fn new(text: &str, fold: FoldMode) -> Self {
        let mut made = Self {
            text: String::with_capacity(text.len()),
            runs: Vec::new(),
            original_len: text.len(),
        };
        match fold {
            FoldMode::Endings { returns } => made.fold_endings(text, returns),
            FoldMode::LookAlikes { returns, dash } => made.fold_all(text, returns, dash),
        }
        made
    }

    /// Skips from one carriage return to the next, since no other character
    /// matters.
    fn fold_endings(&mut self, text: &str, returns: bool) {
        let bytes = text.as_bytes();
        let mut kept = 0;
        for at in memchr::memchr_iter(b'\r', bytes) {
            let is_pair = bytes.get(at + 1) == Some(&b'\n');
            if is_pair || returns {
                self.push_unchanged(text, kept..at);
                self.text.push('\n');
                kept = at + 1 + usize::from(is_pair);
            }
        }
        self.push_unchanged(text, kept..text.len());
    }

    fn fold_all(&mut self, text: &str, returns: bool, dash: LongDash) {
        let mut kept = 0;
        let mut rest = text.char_indices().peekable();
        while let Some((at, c)) = rest.next() {
            let spelling = match c {
                '\r' if matches!(rest.peek(), Some((_, '\n'))) => {
                    rest.next();
                    Some("\n")
                }
                '\r' if returns => Some("\n"),
                c if !c.is_ascii() => dash.spelling(c),
                _ => None,
            };
            if let Some(spelling) = spelling {
                self.push_unchanged(text, kept..at);
                self.text.push_str(spelling);
                kept = rest.peek().map_or(text.len(), |&(next, _)| next);
            }
        }
        self.push_unchanged(text, kept..text.len());
    }

    fn push_unchanged(&mut self, text: &str, range: Range<usize>) {
        self.runs.push(UnchangedRun {
            folded: self.text.len(),
            original: range.start,
            len: range.len(),
        });
        self.text.push_str(text.get(range).unwrap_or_default());
    }

    /// Maps a folded offset to the original; none inside a replaced piece.
    fn original_offset(&self, offset: usize) -> Option<usize> {
        let index = self.runs.partition_point(|run| run.folded <= offset).checked_sub(1)?;
        let run = self.runs.get(index)?;
        let inside = offset - run.folded;
        if inside <= run.len {
            return Some(run.original + inside);
        }
        // After the last run there is only replaced text.
        (index + 1 == self.runs.len()).then_some(self.original_len)
    }

    /// Returns the places of `old` in the original text, in order. Excludes
    /// places that begin or end inside a replaced character.
    pub(crate) fn find(&self, old: &str, overlapping: bool, most: usize) -> Vec<Range<usize>> {
        occurrences(&self.text, old, overlapping, |range| {
            let start = self.original_offset(range.start)?;
            Some(start..self.original_offset(range.end)?)
        })
        .take(most)
        .collect()
    }
}

/// Maximum number of bytes compared without a match.
const MAX_WASTED_BYTES: usize = 1 << 28;

/// Returns where `old` occurs in `text`, mapped by `accept`, which may reject a
/// place.
pub(crate) fn occurrences<'a>(
    text: &'a str,
    old: &'a str,
    overlapping: bool,
    accept: impl Fn(Range<usize>) -> Option<Range<usize>> + 'a,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let finder = Finder::new(old).into_owned();
    let mut from = 0;
    let mut left = MAX_WASTED_BYTES;
    std::iter::from_fn(move || {
        loop {
            let rest = text.as_bytes().get(from..)?;
            let start = from + finder.find(rest)?;
            let range = start..start + old.len();
            let found = accept(range.clone());
            let step = text.get(start..).and_then(|rest| rest.chars().next());
            let step = step.map_or(1, char::len_utf8);
            from = if found.is_some() && !overlapping { range.end } else { start + step };
            if found.is_some() {
                return found;
            }
            left = left.checked_sub(old.len())?;
        }
    })
}
