//! `.env` files with references, as a project keeps them for its programs.
//!
//! `export` before a name, blanks around `=`, comments and quotes are allowed.
//! Single quotes keep all as it is. Double quotes know `\n`, `\r`, `\t` and a
//! backslash before anything special. Both may go over several lines. Outside
//! single quotes `$NAME`, `${NAME}`, `${NAME:-default}`, `${NAME:+other}` and
//! `${NAME:?}` stand for what was set before. Nothing is ever run.

use std::collections::{BTreeMap, BTreeSet};

/// References within defaults within references.
const MAX_REFERENCE_DEPTH: usize = 16;

/// What a file says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DotenvVariables {
    pub(crate) variables: BTreeMap<String, String>,
    /// Names that were referred to and are not set anywhere.
    pub(crate) unresolved: BTreeSet<String>,
}

/// A line that cannot be read. It never shows a value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DotenvError {
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// Reads a whole file. `known` tells what is set outside of it; no value gets
/// longer than `most` bytes.
pub(crate) fn parse(
    text: &str,
    known: &dyn Fn(&str) -> Option<String>,
    most: usize,
) -> Result<DotenvVariables, DotenvError> {
    let mut reader = DotenvReader {
        rest: text.strip_prefix('\u{feff}').unwrap_or(text),
        line: 1,
        known,
        max_value_bytes: most,
        loaded: DotenvVariables::default(),
    };
    while !reader.rest.is_empty() {
        let line = reader.line;
        reader.read_entry().map_err(|message| DotenvError { line, message })?;
    }
    Ok(reader.loaded)
}

struct DotenvReader<'a> {
    rest: &'a str,
    line: usize,
    known: &'a dyn Fn(&str) -> Option<String>,
    max_value_bytes: usize,
    loaded: DotenvVariables,
}

impl<'a> DotenvReader<'a> {
    /// Takes the first so many bytes.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn take_line(&mut self) -> &'a str {
        let end = self.rest.find('\n').map_or(self.rest.len(), |at| at + 1);
        self.take(end)
    }

    fn read_entry(&mut self) -> Result<(), String> {
        let line = self.rest.lines().next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with('#') {
            self.take_line();
            return Ok(());
        }
        let after_export = line.strip_prefix("export").filter(|rest| rest.starts_with([' ', '\t']));
        let assignment = after_export.unwrap_or(line).trim_start();
        let Some((name, _)) = assignment.split_once('=') else {
            // `export NAME` passes on what is set already.
            let words = assignment.split('#').next().unwrap_or_default();
            if after_export.is_some() && words.split_whitespace().all(super::is_variable_name) {
                self.take_line();
                return Ok(());
            }
            return Err("there is no '='".to_owned());
        };
        let name = name.trim_end();
        if !is_key(name) {
            return Err("what is before '=' is not a name".to_owned());
        }
        let name = name.to_owned();
        let start = self.rest.find('=').map_or(0, |at| at + 1);
        self.take(start);
        let blanks = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        self.take(blanks);
        let value = self.read_value(&name)?;
        self.loaded.variables.insert(name, value);
        Ok(())
    }

    fn read_value(&mut self, name: &str) -> Result<String, String> {
        if !self.rest.starts_with(['"', '\'']) {
            let line = self.take_line();
            return self.expand(name, without_comment(line), QuoteStyle::Plain, 0);
        }
        let mut value = String::new();
        // What follows a quote without a blank belongs to it, as in a shell.
        while let Some(first) = self.rest.chars().next().filter(|c| !c.is_whitespace() && *c != '#')
        {
            let piece = self.read_piece(name, first)?;
            value.push_str(&piece);
            self.check_length(name, &value)?;
        }
        let after = self.take_line().trim();
        if !after.is_empty() && !after.starts_with('#') {
            return Err(format!("something follows the closing quote of {name}"));
        }
        Ok(value)
    }

    /// A part of a value: what is in quotes, or what is between two of them.
    fn read_piece(&mut self, name: &str, first: char) -> Result<String, String> {
        if !matches!(first, '"' | '\'') {
            let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
            let end = self.rest.find(ends).unwrap_or(self.rest.len());
            let plain = self.take(end);
            return self.expand(name, plain, QuoteStyle::Plain, 0);
        }
        let body = self.rest.get(1..).unwrap_or_default();
        let Some(end) = closing_quote(body, first) else {
            return Err(format!("the quote of {name} is not closed"));
        };
        let inside = body.get(..end).unwrap_or_default();
        self.take(end + 2);
        match first {
            '\'' => Ok(inside.to_owned()),
            _ => self.expand(name, inside, QuoteStyle::Quoted, 0),
        }
    }

    /// Puts values in the place of references.
    fn expand(
        &mut self,
        name: &str,
        text: &str,
        spelling: QuoteStyle,
        depth: usize,
    ) -> Result<String, String> {
        if depth > MAX_REFERENCE_DEPTH {
            return Err(format!("references in {name} are nested too deep"));
        }
        let mut value = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['$', '\\']) {
            let (before, special) = rest.split_at(at);
            value.push_str(before);
            rest = if special.starts_with('\\') {
                unescape(special, spelling, &mut value)
            } else {
                self.expand_reference(name, special, spelling, depth, &mut value)?
            };
            self.check_length(name, &value)?;
        }
        value.push_str(rest);
        self.check_length(name, &value)?;
        Ok(value)
    }

    fn check_length(&self, name: &str, value: &str) -> Result<(), String> {
        let most = self.max_value_bytes;
        if value.len() <= most { Ok(()) } else { Err(format!("{name} has more than {most} bytes")) }
    }

    /// The reference at the start of the text; what is left after it.
    fn expand_reference<'t>(
        &mut self,
        name: &str,
        text: &'t str,
        spelling: QuoteStyle,
        depth: usize,
        value: &mut String,
    ) -> Result<&'t str, String> {
        let after = text.get(1..).unwrap_or_default();
        let Some(inside) = after.strip_prefix('{') else {
            let end = after.find(|c: char| !is_word_char(c)).unwrap_or(after.len());
            let (to, rest) = after.split_at(end);
            if super::is_variable_name(to) {
                value.push_str(&self.look_up(to).unwrap_or_default());
                return Ok(rest);
            }
            // Not a reference: `$5`, `$(date)`, a dollar alone.
            value.push('$');
            return Ok(after);
        };
        let Some(end) = closing_brace(inside) else {
            return Err(format!("a reference in {name} is not closed"));
        };
        let (inside, rest) = (inside.get(..end), inside.get(end + 1..));
        let (inside, rest) = (inside.unwrap_or_default(), rest.unwrap_or_default());
        let to = inside.find(|c: char| !is_word_char(c)).unwrap_or(inside.len());
        let (to, operation) = inside.split_at(to);
        if !super::is_variable_name(to) {
            return Err(format!("a reference in {name} names no variable"));
        }
        let operation_of = |sign: char| {
            let strict = operation.strip_prefix(sign).map(|word| (word, true));
            let empty_too = operation.strip_prefix(':').and_then(|rest| rest.strip_prefix(sign));
            strict.or(empty_too.map(|word| (word, false)))
        };
        let find = |reader: &Self, counts_empty: bool| {
            reader.find(to).filter(|found| counts_empty || !found.is_empty())
        };
        if operation.is_empty() {
            value.push_str(&self.look_up(to).unwrap_or_default());
        } else if let Some((word, counts_empty)) = operation_of('-') {
            match find(self, counts_empty) {
                Some(found) => value.push_str(&found),
                None => value.push_str(&self.expand(name, word, spelling, depth + 1)?),
            }
        } else if let Some((word, counts_empty)) = operation_of('+') {
            if find(self, counts_empty).is_some() {
                value.push_str(&self.expand(name, word, spelling, depth + 1)?);
            }
        } else if let Some((_, counts_empty)) = operation_of('?') {
            let found = find(self, counts_empty);
            value.push_str(&found.ok_or_else(|| format!("{name} needs {to}, which is not set"))?);
        } else {
            return Err(format!("a reference in {name} is of a kind that is not known"));
        }
        Ok(rest)
    }

    fn find(&self, name: &str) -> Option<String> {
        self.loaded.variables.get(name).cloned().or_else(|| (self.known)(name))
    }

    fn look_up(&mut self, name: &str) -> Option<String> {
        let found = self.find(name);
        if found.is_none() {
            self.loaded.unresolved.insert(name.to_owned());
        }
        found
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuoteStyle {
    Plain,
    Quoted,
}

/// What a backslash makes of the next character; what is left after it.
fn unescape<'t>(text: &'t str, spelling: QuoteStyle, value: &mut String) -> &'t str {
    let mut letters = text.chars();
    letters.next();
    let Some(next) = letters.next() else {
        value.push('\\');
        return "";
    };
    match (spelling, next) {
        (_, '$') => value.push('$'),
        (QuoteStyle::Quoted, 'n') => value.push('\n'),
        (QuoteStyle::Quoted, 'r') => value.push('\r'),
        (QuoteStyle::Quoted, 't') => value.push('\t'),
        (QuoteStyle::Quoted, '"' | '\\' | '`') => value.push(next),
        // The line goes on.
        (QuoteStyle::Quoted, '\n') => {}
        _ => value.extend(['\\', next]),
    }
    letters.as_str()
}

/// A value without quotes ends at a comment, which a blank comes before.
fn without_comment(line: &str) -> &str {
    if line.starts_with('#') {
        return "";
    }
    let comment = [" #", "\t#"].iter().filter_map(|sign| line.find(sign)).min();
    line.get(..comment.unwrap_or(line.len())).unwrap_or(line).trim()
}

fn closing_quote(body: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    body.char_indices().find_map(|(at, c)| {
        let ends = c == quote && !is_escaped;
        is_escaped = quote == '"' && c == '\\' && !is_escaped;
        ends.then_some(at)
    })
}

/// The brace that closes, others that are opened within left aside.
fn closing_brace(inside: &str) -> Option<usize> {
    let mut depth = 0_usize;
    inside.char_indices().find_map(|(at, c)| {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
        None
    })
}

fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Files hold names that no shell knows; whoever loads them says so.
fn is_key(name: &str) -> bool {
    let allowed = |c: char| is_word_char(c) || matches!(c, '-' | '.');
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(allowed)
}

#[cfg(test)]
#[path = "dotenv_tests.rs"]
mod tests;
