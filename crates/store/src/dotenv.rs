//! Parser for `.env` files: one `KEY=VALUE` per line. An invalid line is
//! reported and does not affect the others.
//!
//! `export` before a name, blanks around `=`, comments and quotes are allowed.
//! Single quotes are literal. Double quotes support `\n`, `\r`, `\t` and
//! backslash-escaped special characters. Both may span several lines. An
//! unquoted value ends at ` #`. The last value of a name wins.
//!
//! [`DotenvFile::expand`] also expands `$NAME`, `${NAME}`, `${NAME:-default}`,
//! `${NAME:+other}` and `${NAME:?}` outside single quotes to values set before,
//! and joins quoted and plain parts as a shell does. Nothing is executed.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use indexmap::IndexMap;

use crate::regular_file;

/// Maximum size of a `.env` file.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// Maximum nesting of references in defaults.
const MAX_REFERENCE_DEPTH: usize = 16;

/// Looks up a variable that is set outside of the file.
type VariableLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The content of a `.env` file. `Debug` shows names only, because values are
/// secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct DotenvFile {
    /// The variables, in file order.
    pub vars: IndexMap<String, String>,
    /// The lines that could not be parsed.
    pub problems: Vec<DotenvProblem>,
    /// Names that are referenced but not set anywhere.
    pub unresolved: BTreeSet<String>,
}

/// A line that could not be parsed; the message never shows the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DotenvProblem {
    /// The line, counted from 1; 0 for the whole file.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for DotenvProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

impl fmt::Debug for DotenvFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DotenvFile")
            .field("vars", &self.vars.keys().collect::<Vec<_>>())
            .field("problems", &self.problems)
            .finish()
    }
}

impl DotenvFile {
    /// Reads a file. A missing file is empty; an unreadable one is reported as
    /// a problem.
    pub fn load(path: &Path) -> Self {
        let whole = |message: String| Self {
            problems: vec![DotenvProblem { line: 0, message }],
            ..Self::default()
        };
        match fs::metadata(path) {
            Ok(metadata) if metadata.len() > MAX_FILE_BYTES => {
                return whole(format!("larger than {MAX_FILE_BYTES} bytes"));
            }
            _ => {}
        }
        match regular_file::read(path) {
            Ok(bytes) => Self::parse(&bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::default(),
            Err(error) => whole(error.to_string()),
        }
    }

    /// Parses the content; references are not expanded. Invalid UTF-8 only
    /// affects the value that contains it.
    pub fn parse(bytes: &[u8]) -> Self {
        DotenvReader::new(&String::from_utf8_lossy(bytes), None, usize::MAX).read()
    }

    /// Parses the content and expands references. `known` looks up variables set
    /// outside of the file; no value may exceed `max_value_bytes`.
    pub fn expand(text: &str, known: VariableLookup<'_>, max_value_bytes: usize) -> Self {
        DotenvReader::new(text, Some(known), max_value_bytes).read()
    }
}

struct DotenvReader<'a> {
    rest: &'a str,
    line: usize,
    /// `None` if references are not expanded.
    known: Option<VariableLookup<'a>>,
    max_value_bytes: usize,
    file: DotenvFile,
}

impl<'a> DotenvReader<'a> {
    fn new(text: &'a str, known: Option<VariableLookup<'a>>, max_value_bytes: usize) -> Self {
        let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { rest, line: 1, known, max_value_bytes, file: DotenvFile::default() }
    }

    fn read(mut self) -> DotenvFile {
        while !self.rest.is_empty() {
            let (line, start) = (self.line, self.rest);
            if let Err(message) = self.read_entry() {
                self.file.problems.push(DotenvProblem { line, message });
                // An entry that spans several lines is invalid as a whole only
                // if its quotes are closed.
                if self.rest.len() == start.len() || self.line == line {
                    (self.line, self.rest) = (line, start);
                    self.take_line();
                }
            }
        }
        self.file
    }

    /// Consumes `bytes` bytes.
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
            // `export NAME` exports a variable that is already set.
            let words = assignment.split('#').next().unwrap_or_default();
            if after_export.is_some() && words.split_whitespace().all(is_shell_name) {
                self.take_line();
                return Ok(());
            }
            return Err("missing '='".to_owned());
        };
        let name = name.trim_end();
        if !is_key(name) {
            return Err("the text before '=' is not a variable name".to_owned());
        }
        let name = name.to_owned();
        let start = self.rest.find('=').map_or(0, |at| at + 1);
        self.take(start);
        let blanks = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        self.take(blanks);
        let value = self.read_value(&name)?;
        if self.known.is_none() && value.contains(char::REPLACEMENT_CHARACTER) {
            return Err(format!("the value of {name} is not UTF-8"));
        }
        self.file.vars.insert(name, value);
        Ok(())
    }

    fn read_value(&mut self, name: &str) -> Result<String, String> {
        if !self.rest.starts_with(['"', '\'']) {
            let line = self.take_line();
            return self.expand(name, without_comment(line), QuoteStyle::Plain, 0);
        }
        let mut value = String::new();
        // As in a shell, text directly after a quote belongs to the value; a
        // file that is not expanded has one quoted part.
        while let Some(first) = self.rest.chars().next().filter(|c| !c.is_whitespace() && *c != '#')
        {
            let piece = self.read_piece(name, first)?;
            value.push_str(&piece);
            self.check_length(name, &value)?;
            if self.known.is_none() {
                break;
            }
        }
        let after = self.take_line().trim();
        if !after.is_empty() && !after.starts_with('#') {
            return Err(format!("unexpected text after the closing quote of {name}"));
        }
        Ok(value)
    }

    /// Reads a quoted part of a value, or unquoted text between two of them.
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

    /// Expands references and escapes.
    fn expand(
        &mut self,
        name: &str,
        text: &str,
        spelling: QuoteStyle,
        depth: usize,
    ) -> Result<String, String> {
        if depth > MAX_REFERENCE_DEPTH {
            return Err(format!("references in {name} are nested too deeply"));
        }
        let mut value = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['$', '\\']) {
            let (before, special) = rest.split_at(at);
            value.push_str(before);
            rest = if special.starts_with('\\') {
                unescape(special, spelling, &mut value)
            } else if self.known.is_some() {
                self.expand_reference(name, special, spelling, depth, &mut value)?
            } else {
                value.push('$');
                special.get(1..).unwrap_or_default()
            };
            self.check_length(name, &value)?;
        }
        value.push_str(rest);
        self.check_length(name, &value)?;
        Ok(value)
    }

    fn check_length(&self, name: &str, value: &str) -> Result<(), String> {
        let most = self.max_value_bytes;
        if value.len() <= most { Ok(()) } else { Err(format!("{name} exceeds {most} bytes")) }
    }

    /// Expands the reference at the start of `text`; returns the rest.
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
            if is_shell_name(to) {
                value.push_str(&self.look_up(to).unwrap_or_default());
                return Ok(rest);
            }
            // Not a reference: `$5`, `$(date)`, a single dollar sign.
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
        if !is_shell_name(to) {
            return Err(format!("a reference in {name} does not name a variable"));
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
            return Err(format!("unsupported kind of reference in {name}"));
        }
        Ok(rest)
    }

    fn find(&self, name: &str) -> Option<String> {
        self.file.vars.get(name).cloned().or_else(|| self.known?(name))
    }

    fn look_up(&mut self, name: &str) -> Option<String> {
        let found = self.find(name);
        if found.is_none() {
            self.file.unresolved.insert(name.to_owned());
        }
        found
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuoteStyle {
    Plain,
    Quoted,
}

/// Appends the character that a backslash escapes; returns the rest.
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
        // Line continuation.
        (QuoteStyle::Quoted, '\n') => {}
        _ => value.extend(['\\', next]),
    }
    letters.as_str()
}

/// Strips a comment, which must follow a blank, from an unquoted value.
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

/// Finds the closing brace, skipping nested pairs.
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

fn is_shell_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(is_word_char)
}

/// Whether a name may appear in a file. Some are not shell names; the caller
/// reports those.
fn is_key(name: &str) -> bool {
    let allowed = |c: char| is_word_char(c) || matches!(c, '-' | '.');
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(allowed)
}

#[cfg(test)]
#[path = "dotenv_tests.rs"]
mod tests;
