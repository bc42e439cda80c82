//! `.env`: one `KEY=VALUE` a line. A line that cannot be read is reported and never stops the others.
//!
//! `export ` before the key, blanks around `=`, and quotes are allowed. Single quotes keep everything as it
//! is; double quotes know `\n`, `\r`, `\t`, `\\`, `\"` and `\$`; a quoted value may go over several lines. Without
//! quotes a value ends at ` #`. Nothing is substituted. A key given again wins over the earlier one.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use indexmap::IndexMap;

use crate::regular_file;

/// More than any such file should hold.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// What a `.env` file says. `Debug` shows names only, because values are secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct DotenvFile {
    /// The variables, in the order of the file.
    pub vars: IndexMap<String, String>,
    /// What could not be read.
    pub problems: Vec<DotenvProblem>,
}

/// A line that could not be read; the message never shows the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DotenvProblem {
    /// The line, from 1; 0 when the file as a whole is meant.
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
        f.debug_struct("Dotenv")
            .field("vars", &self.vars.keys().collect::<Vec<_>>())
            .field("problems", &self.problems)
            .finish()
    }
}

impl DotenvFile {
    /// Reads a file; a missing one says nothing, one that cannot be read is a problem like any other.
    pub fn load(path: &Path) -> Self {
        let whole = |message: String| Self {
            vars: IndexMap::new(),
            problems: vec![DotenvProblem { line: 0, message }],
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

    /// Reads a text. Bytes that are not UTF-8 spoil only the value they are in.
    pub fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut result = Self::default();
        let mut rest = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut line = 1;
        while !rest.is_empty() {
            let (outcome, used) = read_entry(rest);
            match outcome {
                Ok(Some((key, value))) if value.contains(char::REPLACEMENT_CHARACTER) => {
                    let message = format!("the value of {key} is not UTF-8");
                    result.problems.push(DotenvProblem { line, message });
                }
                Ok(Some((key, value))) => {
                    result.vars.insert(key, value);
                }
                Ok(None) => {}
                Err(message) => result.problems.push(DotenvProblem { line, message }),
            }
            let (done, next) = rest.split_at(used);
            line += done.matches('\n').count();
            rest = next;
        }
        result
    }
}

type ParsedEntry = Result<Option<(String, String)>, String>;

/// The entry at the start of the text, and how many bytes it took with its line break.
fn read_entry(text: &str) -> (ParsedEntry, usize) {
    let line_end = text.find('\n').map_or(text.len(), |at| at + 1);
    let line = text.get(..line_end).unwrap_or(text).trim();
    if line.is_empty() || line.starts_with('#') {
        return (Ok(None), line_end);
    }
    let assignment = match line.strip_prefix("export") {
        Some(after) if after.starts_with([' ', '\t']) => after.trim_start(),
        _ => line,
    };
    let Some((key, _)) = assignment.split_once('=') else {
        return (Err("there is no `=`".to_owned()), line_end);
    };
    let key = key.trim_end();
    if !is_name(key) {
        return (Err("the part before `=` is not a name".to_owned()), line_end);
    }
    let value_at = text.find('=').map_or(line_end, |at| at + 1);
    let value = text.get(value_at..).unwrap_or("");
    let opening = value.trim_start_matches([' ', '\t']);
    let opened_at = value_at + value.len() - opening.len();
    let (value, used) = match opening.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let body_at = opened_at + 1;
            let body = text.get(body_at..).unwrap_or("");
            match read_quoted(body, quote) {
                Some((value, length)) => {
                    let after_at = body_at + length;
                    let after = text.get(after_at..).unwrap_or("");
                    let end = after.find('\n').map_or(after.len(), |at| at + 1);
                    let left = after.get(..end).unwrap_or("").trim();
                    if !left.is_empty() && !left.starts_with('#') {
                        let message = format!("something follows the closing quote of {key}");
                        return (Err(message), after_at + end);
                    }
                    (value, after_at + end)
                }
                None => {
                    let message = format!("the quote of {key} is not closed");
                    return (Err(message), line_end);
                }
            }
        }
        _ => {
            let value = text.get(value_at..line_end).unwrap_or("");
            (read_plain(value), line_end)
        }
    };
    (Ok(Some((key.to_owned(), value))), used)
}

fn is_name(key: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !key.is_empty() && !key.starts_with(|c: char| c.is_ascii_digit()) && key.chars().all(allowed)
}

fn read_plain(value: &str) -> String {
    let comment = value
        .match_indices('#')
        .map(|(at, _)| at)
        .find(|at| value.get(..*at).is_some_and(|before| before.ends_with([' ', '\t'])));
    value.get(..comment.unwrap_or(value.len())).unwrap_or(value).trim().to_owned()
}

/// The value up to the closing quote and the bytes it took, quote included.
fn read_quoted(body: &str, quote: char) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Some((value, at + c.len_utf8())),
            '\\' if quote == '"' => {
                let (_, escaped) = chars.next()?;
                match escaped {
                    'n' => value.push('\n'),
                    'r' => value.push('\r'),
                    't' => value.push('\t'),
                    '\\' | '"' | '$' => value.push(escaped),
                    other => value.extend(['\\', other]),
                }
            }
            _ => value.push(c),
        }
    }
    None
}

#[cfg(test)]
#[path = "dotenv_tests.rs"]
mod tests;
