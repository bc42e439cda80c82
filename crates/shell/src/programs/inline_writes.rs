//! Files that inline code writes and names by string literals. They are judged
//! like any other file, so the call itself is no longer suspicious.

use super::code_calls::{self, FileArgument};
use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;

/// JavaScript calls that write the file given as the first argument.
const WRITING_CALLS: &[&str] = &["writeFileSync", "appendFileSync"];

/// Adds writes for files with known names, and returns the code without the
/// calls that write them.
pub(super) fn javascript(
    act: &mut EffectBuilder<'_>,
    bare: &str,
    strings: &[String],
    places: &[usize],
) -> String {
    let mentions: usize = WRITING_CALLS.iter().map(|name| bare.matches(name).count()).sum();
    if mentions == 0 {
        return bare.to_owned();
    }
    let namings = code_calls::file_arguments(bare, strings, places, WRITING_CALLS);
    let paths: Vec<&String> = namings
        .iter()
        .filter_map(|naming| match naming {
            FileArgument::Text(path) => Some(path),
            _ => None,
        })
        .collect();
    if paths.len() != mentions {
        return bare.to_owned();
    }
    paths.iter().for_each(|path| act.write(&ShellWord::literal(path.as_str())));
    // The length must not change, since `places` are offsets.
    WRITING_CALLS
        .iter()
        .fold(bare.to_owned(), |code, name| code.replace(name, &"_".repeat(name.len())))
}

/// The same for `Path("a").write_text(…)` and for files found by
/// `Path("a").rglob("*.b")`.
pub(super) fn python(
    act: &mut EffectBuilder<'_>,
    bare: &str,
    strings: &[String],
    places: &[usize],
) -> String {
    const WRITE_TEXT_CALL: &str = ".write_text(";
    if !bare.contains(WRITE_TEXT_CALL) {
        return bare.to_owned();
    }
    let mut files = Vec::new();
    let mut shown = bare.matches("write_text").count() == bare.matches(WRITE_TEXT_CALL).count();
    for (at, _) in bare.match_indices(WRITE_TEXT_CALL) {
        let before = bare.get(..at).unwrap_or("");
        let place = match path_literal(before) {
            Some(quote) => Some(quote),
            None => loop_source(bare, last_name(before)),
        };
        let text = place
            .and_then(|place| places.binary_search(&place).ok())
            .and_then(|index| strings.get(index));
        match text {
            Some(text) => files.push(text.clone()),
            None => shown = false,
        }
    }
    if !shown {
        return bare.to_owned();
    }
    files.iter().for_each(|file| act.write(&ShellWord::literal(file.as_str())));
    bare.replace("write_text", "saved_text")
}

/// The start of the string in a trailing `Path("…")`.
fn path_literal(before: &str) -> Option<usize> {
    let quoted = before.strip_suffix("Path(\"\")").or_else(|| before.strip_suffix("Path('')"))?;
    Some(quoted.len() + "Path(".len())
}

fn last_name(before: &str) -> &str {
    let start = before
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_alphanumeric() || *c == '_')
        .last()
        .map_or(before.len(), |(at, _)| at);
    before.get(start..).unwrap_or("")
}

/// The start of the directory name that a loop over `name` searches, if nothing
/// else assigns `name`.
fn loop_source(bare: &str, name: &str) -> Option<usize> {
    let head = format!("for {name} in ");
    let sets = [format!("{name} ="), format!("{name}="), format!("{name},"), format!("as {name}")];
    if name.is_empty() || bare.matches(&head).count() != 1 {
        return None;
    }
    if sets.iter().any(|set| bare.contains(set.as_str())) {
        return None;
    }
    let start = bare.find(&head)? + head.len();
    let rest = bare.get(start..)?;
    let skipped = rest.strip_prefix("sorted(").unwrap_or(rest);
    let skipped = skipped.strip_prefix("pathlib.").unwrap_or(skipped);
    let after = ["Path(\"\").", "Path('')."].iter().find_map(|path| skipped.strip_prefix(path))?;
    let globs = ["rglob(\"\")", "rglob('')", "glob(\"\")", "glob('')"];
    let after = globs.iter().find_map(|glob| after.strip_prefix(glob))?;
    if !after.trim_start_matches(')').starts_with(':') {
        return None;
    }
    Some(start + (rest.len() - skipped.len()) + "Path(".len())
}

#[cfg(test)]
#[path = "inline_writes_tests.rs"]
mod tests;
