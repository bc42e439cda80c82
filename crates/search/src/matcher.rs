//! A regex matcher that ignores line terminators.

use grep_matcher::{ByteSet, LineMatchKind, LineTerminator, Match, Matcher, NoError};
use grep_regex::{RegexCaptures, RegexMatcher};

/// Matches within lines or across them. In line mode, the carriage return
/// before a line feed belongs to the terminator. Files without carriage returns
/// pay nothing for that.
#[derive(Debug, Clone)]
pub(crate) struct LineMatcher {
    regex: RegexMatcher,
    /// Whether it could match a carriage return, so terminators must be
    /// stripped.
    excludes_line_ends: bool,
}

impl LineMatcher {
    /// A matcher for single lines that ignores terminators.
    pub(crate) fn for_lines(regex: RegexMatcher) -> Self {
        let takes_none = regex.non_matching_bytes().is_some_and(|bytes| bytes.contains(b'\r'));
        // An empty match between `\r` and `\n` is possible, too.
        let spares_ends = !takes_none || regex.is_match(b"\r").unwrap_or(true);
        Self { regex, excludes_line_ends: spares_ends }
    }

    /// A matcher that sees line terminators.
    pub(crate) fn for_text(regex: RegexMatcher) -> Self {
        Self { regex, excludes_line_ends: false }
    }

    /// Returns the part of a line that the matcher sees.
    pub(crate) fn visible<'l>(&self, line: &'l [u8]) -> &'l [u8] {
        if !self.excludes_line_ends {
            return line;
        }
        let rest = line.strip_suffix(b"\n").unwrap_or(line);
        rest.strip_suffix(b"\r").unwrap_or(line)
    }
}

impl Matcher for LineMatcher {
    type Captures = RegexCaptures;
    type Error = NoError;

    #[inline]
    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, NoError> {
        let line = self.visible(haystack);
        if at > line.len() { Ok(None) } else { self.regex.find_at(line, at) }
    }

    #[inline]
    fn new_captures(&self) -> Result<RegexCaptures, NoError> {
        self.regex.new_captures()
    }

    #[inline]
    fn try_find_iter<F, E>(&self, haystack: &[u8], matched: F) -> Result<Result<(), E>, NoError>
    where
        F: FnMut(Match) -> Result<bool, E>,
    {
        self.regex.try_find_iter(self.visible(haystack), matched)
    }

    #[inline]
    fn shortest_match_at(&self, haystack: &[u8], at: usize) -> Result<Option<usize>, NoError> {
        let line = self.visible(haystack);
        if at > line.len() { Ok(None) } else { self.regex.shortest_match_at(line, at) }
    }

    #[inline]
    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        self.regex.non_matching_bytes()
    }

    #[inline]
    fn line_terminator(&self) -> Option<LineTerminator> {
        self.regex.line_terminator()
    }

    /// The haystack holds many lines. A match that ends after the carriage
    /// return of a line terminator may depend on it, so the line is only a
    /// candidate.
    #[inline]
    fn find_candidate_line(&self, haystack: &[u8]) -> Result<Option<LineMatchKind>, NoError> {
        let found = self.regex.find_candidate_line(haystack)?;
        let is_end = |at: usize| {
            let before = at.checked_sub(1).and_then(|before| haystack.get(before));
            before == Some(&b'\r') && haystack.get(at).is_none_or(|next| *next == b'\n')
        };
        Ok(match found {
            Some(LineMatchKind::Confirmed(at)) if self.excludes_line_ends && is_end(at) => {
                Some(LineMatchKind::Candidate(at))
            }
            found => found,
        })
    }
}

#[cfg(test)]
#[path = "matcher_tests.rs"]
mod tests;
