//! SEARCH/REPLACE blocks: the old lines and the new lines.

use super::header_names::{FileExists, choose_name};
use super::unwrap::{PatchLine, unwrap_lines};
use super::{PatchError, PatchOperation};
use crate::matching::PatchHunk;

/// Whether a line is five to nine of these marks followed by the word.
fn is_marker(line: &str, mark: char, word: &str) -> bool {
    let line = line.trim_end();
    let rest = line.trim_start_matches(mark);
    let count = line.len() - rest.len();
    (5..=9).contains(&count) && rest.trim().trim_end_matches(':').eq_ignore_ascii_case(word)
}

/// Whether a line starts a block.
pub(super) fn is_block_start(line: &str) -> bool {
    is_marker(line, '<', "SEARCH")
        || is_marker(line, '<', "ORIGINAL")
        || is_marker(line, '-', "SEARCH")
}

fn is_divider(line: &str) -> bool {
    is_marker(line, '=', "")
}

fn is_block_end(line: &str) -> bool {
    is_marker(line, '>', "REPLACE")
        || is_marker(line, '>', "UPDATED")
        || is_marker(line, '+', "REPLACE")
}

/// Parses blocks. `path` is the file of blocks that no file name precedes.
pub(super) fn parse(
    patch: &str,
    path: Option<&str>,
    is_there: FileExists<'_>,
) -> Result<Vec<PatchOperation>, PatchError> {
    let lines = unwrap_lines(patch);
    let mut operations: Vec<PatchOperation> = Vec::new();
    let mut current: Option<String> = path.map(str::to_owned);
    let mut rest = lines.as_slice();
    while let Some(at) = rest.iter().position(|line| is_block_start(line.text)) {
        let (before, block) = rest.split_at(at);
        current = file_named_before(before, path.is_some(), is_there).or(current);
        let number = block.first().map_or(0, |line| line.number);
        let body = block.get(1..).unwrap_or_default();
        let length = body
            .iter()
            .position(|line| is_block_end(line.text))
            .ok_or_else(|| PatchError::at_line(number, "the block has no `>>>>>>> REPLACE`"))?;
        let (body, after) = body.split_at(length);
        rest = after.get(1..).unwrap_or_default();
        if let Some(nested) = body.iter().find(|line| is_block_start(line.text)) {
            return Err(PatchError::at_line(nested.number, "a block begins inside another block"));
        }
        let dividers: Vec<usize> = body
            .iter()
            .enumerate()
            .filter(|(_, line)| is_divider(line.text))
            .map(|(at, _)| at)
            .collect();
        let divider = match dividers.as_slice() {
            [one] => *one,
            [] => return Err(PatchError::at_line(number, "the block has no `=======`")),
            _ => {
                return Err(PatchError::at_line(
                    number,
                    "the block has several `=======` lines, so it is unclear where the new \
                        text begins",
                )
                .with_remedy("Use old_string and new_string for this change, or a V4A patch."));
            }
        };
        let (search, replace) = body.split_at(divider);
        let search = join_lines(search);
        let replace = join_lines(replace.get(1..).unwrap_or_default());
        let path = current.clone().ok_or_else(|| {
            PatchError::at_line(
                number,
                "the block has no file: put its path on the line before it, or give the path \
                argument",
            )
        })?;
        if search == replace {
            return Err(PatchError::at_line(
                number,
                "the block changes nothing: both halves are equal",
            ));
        }
        push_block(&mut operations, path, &search, replace);
    }
    Ok(operations)
}

/// Adds a block; consecutive blocks of one file are merged.
fn push_block(operations: &mut Vec<PatchOperation>, path: String, search: &str, replace: String) {
    if search.is_empty() {
        operations.push(PatchOperation::Add { path, text: replace });
        return;
    }
    let hunk = PatchHunk::from_texts(search, &replace);
    match operations.last_mut() {
        Some(PatchOperation::Update { path: last, hunks, .. }) if *last == path => hunks.push(hunk),
        _ => operations.push(PatchOperation::Update { path, hunks: vec![hunk], to: None }),
    }
}

fn join_lines(lines: &[PatchLine<'_>]) -> String {
    lines.iter().flat_map(|line| [line.text, "\n"]).collect()
}

/// Returns the file named before a block: on the last line that is neither
/// empty nor a fence, if such a file exists or the line looks like a path. A
/// single plain word counts only if no path is `given`.
fn file_named_before(
    lines: &[PatchLine<'_>],
    given: bool,
    is_there: FileExists<'_>,
) -> Option<String> {
    let is_layout = |line: &str| line.is_empty() || line.starts_with("```");
    let line = lines.iter().rev().map(|line| line.text).find(|line| !is_layout(line.trim()))?;
    let bare = line.trim().trim_start_matches("File:");
    let name = bare.trim_matches(['`', '*', '#', ':', ' ', '"']);
    let found = choose_name(peel_decoration(line), name, is_there);
    if found != name {
        return Some(found.to_owned());
    }
    let word = !name.is_empty() && !name.contains(char::is_whitespace);
    let pathlike = word && (!given || name.contains(['/', '.']));
    // A name with spaces is distinguished from a sentence by its extension.
    let extension = name.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty() && (1..=8).contains(&end.len()) && end.chars().all(char::is_alphanumeric)
    });
    (pathlike || extension).then(|| name.to_owned())
}

/// Returns the line, then what remains as decoration around the name is
/// stripped step by step.
fn peel_decoration(line: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(line), |name| {
        let wrapped = |mark: &str| name.strip_prefix(mark)?.strip_suffix(mark);
        let heading = || name.trim_start_matches('#').strip_prefix(' ');
        let trimmed = Some(name.trim()).filter(|trimmed| trimmed != name);
        trimmed
            .or_else(|| name.strip_prefix("File:"))
            .or_else(heading)
            .or_else(|| name.strip_suffix(':'))
            .or_else(|| ["**", "*", "`", "\""].into_iter().find_map(wrapped))
    })
}
