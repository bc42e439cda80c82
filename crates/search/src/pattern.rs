//! What is looked for inside of files.

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};

use crate::error::{PatternSyntaxError, SearchError};
use crate::matcher::LineMatcher;

/// Bytes that a pattern may take when it is compiled.
const MAX_COMPILED_BYTES: usize = 8 * 1024 * 1024;
/// Bytes that its tables may grow to in each thread.
const MAX_DFA_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of a pattern of which a picture helps.
const MAX_ILLUSTRATED_BYTES: usize = 500;

/// What the parser puts before the lines of its picture.
const PARSER_INDENT: &str = "    ";

/// Whether upper and lower case are one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CaseMode {
    /// They are unless the pattern has an upper-case letter.
    Smart,
    /// They are not.
    #[default]
    Sensitive,
    /// They are.
    Insensitive,
}

/// What is looked for inside of files.
#[derive(Debug, Clone)]
pub struct SearchPattern {
    /// The regular expression, or the text.
    pub text: String,
    /// It is text and means itself.
    pub literal: bool,
    /// Whether upper and lower case are one.
    pub case: CaseMode,
    /// Only whole words.
    pub word: bool,
    /// Matches may go over several lines. A pattern with a line feed in it
    /// always may.
    pub multiline: bool,
}

/// A pattern that is ready to be used.
#[derive(Debug, Clone)]
pub(crate) struct CompiledSearch {
    pub(crate) matcher: LineMatcher,
    pub(crate) multiline: bool,
    /// Lines may end with a carriage return and a line feed.
    pub(crate) crlf: bool,
    /// It looks for carriage returns, so that they are left in their places.
    pub(crate) keeps_carriage_returns: bool,
    /// It speaks of characters that each encoding has other bytes for.
    pub(crate) is_non_ascii: bool,
}

impl SearchPattern {
    /// A regular expression in which case matters.
    pub fn regex(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { text, literal: false, case: CaseMode::Sensitive, word: false, multiline: false }
    }

    /// The same pattern, taken as it stands.
    #[must_use]
    pub fn as_literal(&self) -> Self {
        Self { literal: true, ..self.clone() }
    }

    /// An error if it is no regular expression.
    pub fn check(&self) -> Result<(), SearchError> {
        self.compile().map(|_| ())
    }

    pub(crate) fn compile(&self) -> Result<CompiledSearch, SearchError> {
        if !self.multiline {
            match self.build(false) {
                Ok(matcher) => return Ok(self.assemble(matcher, false)),
                // It speaks of line feeds, so it wants to see them.
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

    /// The end of a line is its end, also where a carriage return is left.
    fn uses_line_ends(&self) -> bool {
        !self.literal && self.text.contains('$')
    }

    /// Who writes a carriage return looks for one, wherever it is.
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
        // The matcher's parser sees the pattern with something around it, so
        // that its picture is of another pattern.
        let parse = || regex::RegexBuilder::new(&self.text).size_limit(0).build().err();
        let plain = (!self.literal).then(parse).flatten();
        let told = match plain {
            Some(regex::Error::Syntax(told)) => told,
            _ => error.to_string(),
        };
        SearchError::Pattern(parse_syntax_error(&self.text, &told))
    }
}

/// A line feed of a pattern stands for the end of a line, also of one that ends
/// with a carriage return and a line feed: the lines that others are shown end
/// alike. In a class of characters it stands for itself.
fn expand_line_feeds(pattern: &str, literal: bool) -> String {
    const LINE_END_REGEX: &str = r"(?:\r?\n)";
    if literal {
        return regex::escape(pattern).replace('\n', LINE_END_REGEX);
    }
    // Where blanks in the pattern mean nothing, a line feed is one.
    let is_spaced = pattern.contains("(?") && pattern.contains('x');
    let mut made = String::with_capacity(pattern.len() + LINE_END_REGEX.len());
    let (mut classes, mut rest) = (0_usize, pattern.chars().peekable());
    while let Some(c) = rest.next() {
        match c {
            '[' => {
                classes += 1;
                made.push('[');
                // Right at the beginning of a class it closes nothing.
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

/// Takes the reason and the place out of the parser's picture, which has the
/// pattern, then a line of marks, then the reason.
fn parse_syntax_error(pattern: &str, told: &str) -> PatternSyntaxError {
    let reason = told
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("error: "))
        .map_or_else(|| told.trim().to_owned(), str::to_owned);
    let lines: Vec<&str> = told.lines().collect();
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
