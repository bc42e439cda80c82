//! Patterns for content search.

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};

use crate::error::{PatternSyntaxError, SearchError};
use crate::matcher::LineMatcher;

/// Size limit of a compiled pattern.
const MAX_COMPILED_BYTES: usize = 8 * 1024 * 1024;
/// Size limit of its DFA cache per thread.
const MAX_DFA_BYTES: usize = 64 * 1024 * 1024;
/// Longest pattern for which the error position is illustrated.
const MAX_ILLUSTRATED_BYTES: usize = 500;

/// Indentation of the parser's illustration.
const PARSER_INDENT: &str = "    ";

/// Case sensitivity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CaseMode {
    /// Insensitive unless the pattern has an upper-case letter.
    Smart,
    /// Case matters.
    #[default]
    Sensitive,
    /// Case does not matter.
    Insensitive,
}

/// A pattern for content search.
#[derive(Debug, Clone)]
pub struct SearchPattern {
    /// The regular expression or literal text.
    pub text: String,
    /// Whether `text` is literal.
    pub literal: bool,
    /// Case sensitivity.
    pub case: CaseMode,
    /// Whether only whole words match.
    pub word: bool,
    /// Whether matches may span lines. A pattern that contains a line feed
    /// always may.
    pub multiline: bool,
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(crate) struct CompiledSearch {
    pub(crate) matcher: LineMatcher,
    pub(crate) multiline: bool,
    /// Whether lines may end with `\r\n`.
    pub(crate) crlf: bool,
    /// Whether it searches for carriage returns, so they must not be converted.
    pub(crate) keeps_carriage_returns: bool,
    /// Whether it has characters whose bytes depend on the encoding.
    pub(crate) is_non_ascii: bool,
}

impl SearchPattern {
    /// Creates a case-sensitive regular expression.
    pub fn regex(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { text, literal: false, case: CaseMode::Sensitive, word: false, multiline: false }
    }

    /// Returns the same pattern as literal text.
    #[must_use]
    pub fn as_literal(&self) -> Self {
        Self { literal: true, ..self.clone() }
    }

    /// Returns an error if it is not a valid regular expression.
    pub fn check(&self) -> Result<(), SearchError> {
        self.compile().map(|_| ())
    }

    pub(crate) fn compile(&self) -> Result<CompiledSearch, SearchError> {
        if !self.multiline {
            match self.build(false) {
                Ok(matcher) => return Ok(self.assemble(matcher, false)),
                // It matches line feeds, so it needs multi-line mode.
                Err(error) if matches!(error.kind(), ErrorKind::NotAllowed(_)) => {}
                Err(error) => return Err(self.explain(&error)),
            }
        }
        let matcher = self.build(true).map_err(|error| self.explain(&error))?;
        Ok(self.assemble(matcher, true))
    }

    fn assemble(&self, matcher: RegexMatcher, multiline: bool) -> CompiledSearch {
        let is_beyond_ascii = !self.text.is_ascii();
        let matcher = if multiline || self.uses_carriage_returns() {
            LineMatcher::for_text(matcher)
        } else {
            LineMatcher::for_lines(matcher)
        };
        let (crlf, sees_returns) = (self.uses_line_ends(), self.uses_carriage_returns());
        CompiledSearch {
            matcher,
            multiline,
            crlf,
            keeps_carriage_returns: sees_returns,
            is_non_ascii: is_beyond_ascii,
        }
    }

    /// Whether it has a `$`, which must match before a carriage return as well.
    fn uses_line_ends(&self) -> bool {
        !self.literal && self.text.contains('$')
    }

    /// Whether it contains a carriage return, which is then matched anywhere.
    fn uses_carriage_returns(&self) -> bool {
        self.text.contains('\r') || (!self.literal && self.text.contains(r"\r"))
    }

    fn build(&self, multiline: bool) -> Result<RegexMatcher, grep_regex::Error> {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .fixed_strings(self.literal)
            .case_smart(self.case == CaseMode::Smart)
            .case_insensitive(self.case == CaseMode::Insensitive)
            .word(self.word)
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(MAX_DFA_BYTES);
        if multiline {
            builder.crlf(self.uses_line_ends()).line_terminator(None);
        } else if self.uses_line_ends() {
            builder.crlf(true);
        } else {
            builder.line_terminator(Some(b'\n'));
        }
        match multiline {
            true => {
                builder.fixed_strings(false).build(&expand_line_feeds(&self.text, self.literal))
            }
            false => builder.build(&self.text),
        }
    }

    fn explain(&self, error: &grep_regex::Error) -> SearchError {
        // The matcher's parser sees a wrapped pattern, so its illustration
        // would show another one.
        let parse = || regex::RegexBuilder::new(&self.text).size_limit(0).build().err();
        let plain = (!self.literal).then(parse).flatten();
        let shown = match plain {
            Some(regex::Error::Syntax(shown)) => shown,
            _ => error.to_string(),
        };
        SearchError::Pattern(parse_syntax_error(&self.text, &shown))
    }
}

/// Makes a line feed in a pattern match any line end, also `\r\n`: lines are
/// shown without their terminators, so both look alike. In a character class it
/// stays literal.
fn expand_line_feeds(pattern: &str, literal: bool) -> String {
    const LINE_END_REGEX: &str = r"(?:\r?\n)";
    if literal {
        return regex::escape(pattern).replace('\n', LINE_END_REGEX);
    }
    // In verbose mode, a line feed is ignored whitespace.
    let is_spaced = pattern.contains("(?") && pattern.contains('x');
    let mut made = String::with_capacity(pattern.len() + LINE_END_REGEX.len());
    let (mut classes, mut rest) = (0_usize, pattern.chars().peekable());
    while let Some(c) = rest.next() {
        match c {
            '[' => {
                classes += 1;
                made.push('[');
                // At the start of a class, `]` does not close it.
                for mark in ['^', ']'] {
                    made.extend(rest.next_if_eq(&mark));
                }
            }
            '\\' => match rest.next() {
                Some('n') if classes == 0 => made.push_str(LINE_END_REGEX),
                escaped => {
                    made.push('\\');
                    made.extend(escaped);
                }
            },
            '\n' if classes == 0 && !is_spaced => made.push_str(LINE_END_REGEX),
            _ => {
                classes = classes.saturating_sub(usize::from(c == ']'));
                made.push(c);
            }
        }
    }
    made
}

/// Extracts the reason and position from the parser's error, which has the
/// pattern, then a line of markers, then the reason.
fn parse_syntax_error(pattern: &str, reported: &str) -> PatternSyntaxError {
    let reason = reported
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("error: "))
        .map_or_else(|| reported.trim().to_owned(), str::to_owned);
    let lines: Vec<&str> = reported.lines().collect();
    let is_marks = |line: &str| line.contains('^') && line.chars().all(|c| c == '^' || c == ' ');
    let drawn = lines.windows(2).find_map(|pair| match pair {
        [drawn, marks] if is_marks(marks) => Some((drawn.strip_prefix(PARSER_INDENT)?, *marks)),
        _ => None,
    });
    let position = drawn.and_then(|(shown, marks)| {
        let mark = marks.chars().position(|c| c == '^')?.checked_sub(PARSER_INDENT.len())?;
        (*shown == *pattern).then_some(mark + 1)
    });
    let picture = position.filter(|_| pattern.len() <= MAX_ILLUSTRATED_BYTES).map(|position| {
        let at = position.saturating_sub(1);
        format!("    {pattern}\n    {}^", " ".repeat(at))
    });
    PatternSyntaxError { reason, position, picture }
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
