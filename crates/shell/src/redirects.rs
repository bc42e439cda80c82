//! Redirects and heredocs.

use std::cell::OnceCell;
use std::rc::Rc;

use crate::parse::ShellParser;
use crate::syntax::{ParseProblem, RawWord, RedirectKind, ShellRedirect, WordPart};

const REDIRECT_OPERATORS: &[(&str, RedirectKind)] = &[
    ("<<<", RedirectKind::HereString),
    ("<<-", RedirectKind::Heredoc),
    ("<<", RedirectKind::Heredoc),
    ("<>", RedirectKind::ReadWrite),
    ("<&", RedirectKind::Duplicate),
    ("<", RedirectKind::Read),
    (">>", RedirectKind::Append),
    (">&", RedirectKind::Duplicate),
    (">|", RedirectKind::Write),
    (">", RedirectKind::Write),
    ("&>>", RedirectKind::Append),
    ("&>", RedirectKind::Write),
];

/// A heredoc whose body has not been read yet.
pub(crate) struct PendingHeredoc {
    delimiter: String,
    literal: bool,
    strip_tabs: bool,
    body: Rc<OnceCell<RawWord>>,
}

impl ShellParser<'_> {
    /// Reads the bodies of all heredocs announced on the last line.
    pub(crate) fn read_heredocs(&mut self) {
        for waiting in std::mem::take(&mut self.pending) {
            self.count_command();
            let mut body = String::new();
            let mut closed = false;
            while !self.at_end() {
                let mut line = self.line().to_owned();
                // Continued lines are joined before the search for the
                // delimiter.
                while !waiting.literal && is_continued(&line) && !self.at_end() {
                    line.pop();
                    line.push_str(self.line());
                }
                let line =
                    if waiting.strip_tabs { line.trim_start_matches('\t') } else { line.as_str() };
                if line == waiting.delimiter {
                    closed = true;
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            if !closed {
                self.fail(ParseProblem::Syntax);
            }
            let raw = if waiting.literal {
                RawWord::literal(body)
            } else {
                let mut inner = ShellParser::new(&body, self.depth);
                let raw = inner.heredoc_body();
                if let Some(problem) = inner.problem {
                    self.fail(problem);
                }
                raw
            };
            let _ = waiting.body.set(raw);
        }
    }

    /// Reads a line, without its line ending.
    fn line(&mut self) -> &str {
        let line = self.rest().split('\n').next().unwrap_or("");
        self.pos = (self.pos + line.len() + 1).min(self.source.len());
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// Parses all redirects at the current position.
    pub(crate) fn redirects(&mut self) -> Vec<ShellRedirect> {
        let mut all = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect() {
                Some(redirect) => all.push(redirect),
                None => return all,
            }
        }
    }

    /// Parses a redirect, if one is next.
    pub(crate) fn redirect(&mut self) -> Option<ShellRedirect> {
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let name = rest.bytes().skip(1).take_while(|b| b.is_ascii_alphanumeric() || *b == b'_');
        let named = if rest.starts_with('{') { name.count() } else { 0 };
        let braced = named > 0 && rest.as_bytes().get(named + 1) == Some(&b'}');
        let skip = if braced { named + 2 } else { digits };
        let operator = rest.get(skip..)?;
        operator.strip_prefix(['<', '>', '&'])?;
        let (sign, kind) =
            REDIRECT_OPERATORS.iter().find(|(sign, _)| operator.starts_with(sign))?;
        if (*sign == "<" || *sign == ">") && operator.get(1..2) == Some("(") {
            return None;
        }
        self.count_command();
        self.pos = (self.pos + skip + sign.len()).min(self.source.len());
        self.skip_blanks();
        let target = Rc::new(OnceCell::new());
        if *kind == RedirectKind::Heredoc {
            let from = self.pos;
            let word = self.word();
            let written = self.source.get(from..self.pos).unwrap_or("");
            let literal = written.contains(['\'', '"', '\\']);
            // The delimiter is not expanded: `<<$x` ends at the line `$x`.
            let plain = word.parts.iter().all(|part| matches!(part, WordPart::Text { .. }));
            let delimiter = if plain {
                word.parts.iter().map(part_text).collect()
            } else {
                written.replace(['\'', '"', '\\'], "")
            };
            let body = Rc::clone(&target);
            self.pending.push(PendingHeredoc {
                delimiter,
                literal,
                strip_tabs: *sign == "<<-",
                body,
            });
        } else {
            let before = self.pos;
            let word = self.word();
            if self.pos == before {
                self.fail(ParseProblem::Syntax);
            }
            let _ = target.set(word);
        }
        Some(ShellRedirect { kind: *kind, target })
    }
}

fn part_text(part: &WordPart) -> &str {
    match part {
        WordPart::Text { text, .. } => text,
        _ => "",
    }
}

/// Whether a line ends with an unescaped backslash.
fn is_continued(line: &str) -> bool {
    line.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1
}
