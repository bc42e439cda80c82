//! Variable names of a dotenv file. Values are skipped and never part of the
//! result.

use std::path::Path;

use hermes_core::ToolError;

use super::answer::NamesAnswer;
use crate::path_text;
use crate::source::SeekableFile;

/// Longer names are not variable names.
const MAX_NAME_CHARS: usize = 128;

/// Reads the names of the variables that the file at `path` sets.
pub(super) fn read(source: &mut SeekableFile, path: &Path) -> Result<NamesAnswer, ToolError> {
    if !is_dotenv(path) {
        return Err(ToolError::invalid(format!(
            "`names_only` is for dotenv files such as .env or .env.local, not for {}",
            path_text::display_path(path)
        ))
        .with_hint("Omit it to read the file."));
    }
    let Some(bytes) = source.memory() else {
        return Err(ToolError::limit(format!(
            "{} is too large for a dotenv file",
            path_text::display_path(path)
        )));
    };
    let (names, skipped) = names(&String::from_utf8_lossy(bytes));
    let note = (skipped > 0).then(|| format!("Lines that do not set a variable: {skipped}."));
    Ok(NamesAnswer { path: path_text::display_path(path), names, note })
}

/// Whether the file name is one of a dotenv file.
fn is_dotenv(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let rest = name.strip_prefix(".env");
    rest.is_some_and(|rest| rest.is_empty() || rest == "rc" || rest.starts_with(['.', '_', '~']))
}

/// Returns the names and the number of lines that could not be parsed. After
/// such a line, everything up to an empty line or a comment is skipped: it may
/// be part of a value.
fn names(text: &str) -> (Vec<String>, usize) {
    let mut names: Vec<String> = Vec::new();
    let mut skipped = 0;
    let mut is_lost = false;
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    while !rest.is_empty() {
        let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let line = rest.get(..end).unwrap_or(rest).trim();
        if line.is_empty() || line.starts_with('#') {
            is_lost = false;
            rest = rest.get(end..).unwrap_or_default();
            continue;
        }
        let taken = assignment(line).filter(|_| !is_lost).and_then(|name| {
            // The value may span several lines.
            let value = rest.find('=').map(|at| at + 1)?;
            Some((name.to_owned(), value + value_bytes(rest.get(value..)?)?))
        });
        match taken {
            Some((name, used)) => {
                if !names.contains(&name) {
                    names.push(name);
                }
                rest = rest.get(used..).unwrap_or_default();
            }
            None => {
                skipped += 1;
                is_lost = true;
                rest = rest.get(end..).unwrap_or_default();
            }
        }
    }
    (names, skipped)
}

/// The name that a line assigns to.
fn assignment(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("export") {
        Some(after) if after.starts_with([' ', '\t']) => after.trim_start(),
        _ => line,
    };
    let name = line.split_once('=')?.0.trim_end();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_name = !name.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && !name.is_empty()
        && name.len() <= MAX_NAME_CHARS
        && name.chars().all(is_part);
    is_name.then_some(name)
}

/// Length of a value including the end of its line; `None` if a quote is not
/// closed.
fn value_bytes(text: &str) -> Option<usize> {
    let opening = text.trim_start_matches([' ', '\t']);
    let start = text.len() - opening.len();
    let line_end = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        from + rest.find('\n').map_or(rest.len(), |at| at + 1)
    };
    let quote = match opening.chars().next() {
        Some(quote @ ('"' | '\'' | '`')) => quote,
        _ => return Some(line_end(start)),
    };
    let mut is_escaped = false;
    for (at, c) in opening.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if quote == '"' => is_escaped = true,
            c if c == quote => return Some(line_end(start + at + 1)),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
