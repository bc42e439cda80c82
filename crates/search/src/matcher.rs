//! A regular expression that does not see how lines end.

use grep_matcher::{ByteSet, LineMatchKind, LineTerminator, Match, Matcher, NoError};
use grep_regex::{RegexCaptures, RegexMatcher};

/// Finds matches in lines, or over several of them. Where it goes line by line,
/// the carriage return before a line feed belongs to the end of the line, as it
/// does for whoever reads the file. Nobody pays for that in files without any.
#[derive(Debug, Clone)]
pub(crate) struct LineMatcher {
    regex: RegexMatcher,
    /// It could match a carriage return, and must not match that of an end.
    excludes_line_ends: bool,
}

impl LineMatcher {
    /// Line by line, blind for the ends of the lines.
    pub(crate) fn for_lines(regex: RegexMatcher) -> Self {
        let takes_none = regex.non_matching_bytes().is_some_and(|bytes| bytes.contains(b'\r'));
        // A place between the two may match, too.
        let spares_ends = !takes_none || regex.is_match(b"\r").unwrap_or(true);
        Self { regex, excludes_line_ends: spares_ends }
    }

    /// As it is, for whoever asks for the ends of lines.
    pub(crate) fn for_text(regex: RegexMatcher) -> Self {
        Self { regex, excludes_line_ends: false }
    }

    /// A line without what it cannot see of it.
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

    /// Here the haystack is many lines. A match that goes up to the line feed
    /// with the carriage return before it may need that: then the line is
    /// looked at by itself.
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
