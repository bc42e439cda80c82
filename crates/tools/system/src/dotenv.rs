//! Reads `.env` files: `NAME=value` lines, `export`, comments, quotes.
//! Nothing is expanded: `$NAME` in a value stays as it is.

use std::fmt;

/// What is wrong, and in which line. The line itself is not repeated, since
/// it may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    line: usize,
    reason: &'static str,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

/// The variables of a file, in its order.
pub(crate) fn parse(text: &str) -> Result<Vec<(String, String)>, Fault> {
    let mut reader = Reader { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1 };
    let mut variables = Vec::new();
    while reader.skip_to_statement() {
        let name = reader.name()?.to_owned();
        variables.push((name, reader.value()?));
    }
    Ok(variables)
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Reader<'a> {
    fn fault<T>(&self, reason: &'static str) -> Result<T, Fault> {
        Err(Fault { line: self.line, reason })
    }

    /// Takes `length` bytes, which end at a character.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.line += taken.matches('\n').count();
        taken
    }

    fn take_line(&mut self) -> &'a str {
        self.take(self.rest.find('\n').map_or(self.rest.len(), |end| end + 1))
    }

    /// Goes past blank lines and comments; whether anything is left.
    fn skip_to_statement(&mut self) -> bool {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.take(blank);
            if !self.rest.starts_with('#') {
                return !self.rest.is_empty();
            }
            self.take_line();
        }
    }

    fn name(&mut self) -> Result<&'a str, Fault> {
        let end = self.rest.find(['=', '\n']).unwrap_or(self.rest.len());
        if !self.rest.get(end..).is_some_and(|rest| rest.starts_with('=')) {
            return self.fault("it is not NAME=value");
        }
        let written = self.rest.get(..end).unwrap_or_default().trim();
        let name = match written.strip_prefix("export") {
            Some(rest) if rest.starts_with([' ', '\t']) => rest.trim_start(),
            _ => written,
        };
        if !is_name(name) {
            return self.fault("the name is not made of letters, digits and _");
        }
        self.take(end + 1);
        Ok(name)
    }

    fn value(&mut self) -> Result<String, Fault> {
        let blank = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        self.take(blank);
        let value = match self.rest.chars().next() {
            Some('\'') => self.single_quoted()?,
            Some('"') => self.double_quoted()?,
            _ => return Ok(unquoted(self.take_line()).to_owned()),
        };
        let line = self.line;
        let after = self.take_line().trim();
        if !after.is_empty() && !after.starts_with('#') {
            return Err(Fault { line, reason: "there is text after the closing quote" });
        }
        Ok(value)
    }

    fn single_quoted(&mut self) -> Result<String, Fault> {
        let inner = self.rest.get(1..).unwrap_or_default();
        let Some(end) = inner.find('\'') else {
            return self.fault("the quote is not closed");
        };
        let value = inner.get(..end).unwrap_or_default().to_owned();
        self.take(end + 2);
        Ok(value)
    }

    fn double_quoted(&mut self) -> Result<String, Fault> {
        let inner = self.rest.get(1..).unwrap_or_default();
        let mut value = String::new();
        let mut chars = inner.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.take(at + 2);
                    return Ok(value);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, 'r')) => value.push('\r'),
                    Some((_, 't')) => value.push('\t'),
                    Some((_, quoted @ ('"' | '\\' | '$' | '`'))) => value.push(quoted),
                    Some((_, other)) => value.extend(['\\', other]),
                    None => break,
                },
                _ => value.push(c),
            }
        }
        self.fault("the quote is not closed")
    }
}

/// The value of a line without quotes: up to a comment, which follows a blank.
fn unquoted(line: &str) -> &str {
    let is_comment = |(at, _): &(usize, &str)| {
        *at == 0 || line.get(..*at).is_some_and(|before| before.ends_with([' ', '\t']))
    };
    let end = line.match_indices('#').find(is_comment).map_or(line.len(), |(at, _)| at);
    line.get(..end).unwrap_or_default().trim()
}

/// Whether it can name a variable.
pub(crate) fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
#[path = "dotenv_tests.rs"]
mod tests;
