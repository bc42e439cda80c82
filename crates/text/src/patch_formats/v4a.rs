//! V4A patches: `*** Begin Patch`, a section for each file, and hunks located
//! by their lines and by `@@` hints.

use super::header_names::{FileExists, choose_name};
use super::unwrap::{PatchLine, unwrap_lines};
use super::{PatchError, PatchOperation, hunk_lines, meaningful_hint, trailing_blank_lines};
use crate::matching::{LineRole, PatchHunk};

/// A line that begins with `***`. Names are as written, including surrounding
/// spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
enum V4aHeader<'a> {
    Begin,
    End,
    Add(&'a str),
    Update(&'a str),
    Delete(&'a str),
    Move(&'a str, &'a str),
    MoveTo(&'a str),
    EndOfFile,
}

fn parse_header(line: &str) -> Option<V4aHeader<'_>> {
    let words = line.strip_prefix("***")?.trim_start();
    let after = |name: &str| {
        let rest = words.get(name.len()..)?;
        let named = words.get(..name.len())?.eq_ignore_ascii_case(name);
        named.then_some(rest)
    };
    let is = |name: &str| words.trim_end().eq_ignore_ascii_case(name);
    if is("begin patch") {
        return Some(V4aHeader::Begin);
    }
    if is("end patch") {
        return Some(V4aHeader::End);
    }
    if is("end of file") {
        return Some(V4aHeader::EndOfFile);
    }
    if let Some(names) = after("move file:") {
        let (from, to) = names.split_once("->")?;
        return Some(V4aHeader::Move(from.strip_suffix(' ').unwrap_or(from), to));
    }
    after("add file:")
        .map(V4aHeader::Add)
        .or_else(|| after("update file:").map(V4aHeader::Update))
        .or_else(|| after("delete file:").map(V4aHeader::Delete))
        .or_else(|| after("move to:").map(V4aHeader::MoveTo))
}

/// Whether a line identifies the text as a V4A patch.
pub(super) fn is_header(line: &str) -> bool {
    matches!(parse_header(line), Some(found) if !matches!(found, V4aHeader::EndOfFile | V4aHeader::MoveTo(_)))
}

/// Parses a V4A patch.
pub(super) fn parse(
    patch: &str,
    path: Option<&str>,
    is_there: FileExists<'_>,
) -> Result<Vec<PatchOperation>, PatchError> {
    let mut lines = unwrap_lines(patch);
    remove_padding(&mut lines);
    let body = patch_body(fence_content(&lines))?;
    let mut operations = Vec::new();
    let mut rest = body;
    if let Some(path) = path {
        let bare = rest.iter().take_while(|line| parse_header(line.text).is_none()).count();
        let (hunks, after) = rest.split_at(bare);
        if hunks.iter().any(|line| !line.text.trim().is_empty()) {
            let hunks = read_hunks(hunks);
            operations.push(PatchOperation::Update { path: path.to_owned(), hunks, to: None });
        }
        rest = after;
    }
    while let Some((first, after)) = rest.split_first() {
        if first.text.trim().is_empty() {
            rest = after;
            continue;
        }
        let in_section = |line: &PatchLine<'_>| {
            matches!(
                parse_header(line.text),
                None | Some(V4aHeader::EndOfFile | V4aHeader::MoveTo(_))
            )
        };
        let length = after.iter().take_while(|line| in_section(line)).count();
        let (section, next) = after.split_at(length);
        rest = next;
        match parse_header(first.text) {
            Some(V4aHeader::Add(path)) => {
                operations.push(read_addition(first.number, path, section)?)
            }
            Some(V4aHeader::Update(path)) => {
                let path = existing_name(first.number, path, is_there)?;
                operations.push(read_update(first.number, path, section)?);
            }
            Some(V4aHeader::Delete(path)) => {
                require_blank(section)?;
                operations.push(PatchOperation::Delete {
                    path: existing_name(first.number, path, is_there)?,
                    hunks: Vec::new(),
                });
            }
            Some(V4aHeader::Move(from, to)) => {
                let to = new_name(first.number, to)?.to_owned();
                let path = existing_name(first.number, from, is_there)?;
                operations.push(PatchOperation::Update {
                    path,
                    hunks: read_hunks(section),
                    to: Some(to),
                });
            }
            Some(V4aHeader::Begin | V4aHeader::End) => require_blank(section)?,
            _ => {
                return Err(PatchError::at_line(
                    first.number,
                    "expected `*** Update File: path`, `*** Add File: path`, `*** Delete File: \
                        path` or `*** Move File: from -> to`",
                ));
            }
        }
    }
    Ok(operations)
}

/// Removes the whitespace before headers, and an indentation that the whole
/// patch has. A padded header inside a hunk is a context line, unless headers
/// before the first hunk are padded as well, or it is the only end marker.
fn remove_padding(lines: &mut [PatchLine<'_>]) {
    remove_common_indent(lines);
    let is_end = |text: &str| parse_header(text) == Some(V4aHeader::End);
    let has_end = lines.iter().any(|line| is_end(line.text));
    let last = lines.iter().rposition(|line| is_end(line.text.trim_start()));
    let (mut in_update, mut in_hunk, mut any_hunk, mut pads) = (false, false, false, false);
    for (at, line) in lines.iter_mut().enumerate() {
        let bare = line.text.trim_start();
        let Some(header) = parse_header(bare) else {
            in_update |= hunk_hint(line.text).is_some();
            in_hunk |= in_update && !bare.is_empty();
            any_hunk |= in_hunk;
            continue;
        };
        let is_padded = bare.len() < line.text.len();
        if is_padded && in_hunk && !pads && (has_end || last != Some(at)) {
            continue;
        }
        pads |= is_padded && !any_hunk;
        in_update = !matches!(header, V4aHeader::Begin | V4aHeader::Add(_) | V4aHeader::Delete(_));
        in_hunk = false;
        line.text = bare;
    }
}

/// Removes the indentation of `*** Begin Patch` if all lines after it have it.
fn remove_common_indent(lines: &mut [PatchLine<'_>]) {
    let begins = |line: &PatchLine<'_>| {
        matches!(parse_header(line.text.trim_start()), Some(V4aHeader::Begin))
    };
    let Some(begin) = lines.iter().position(begins) else { return };
    let patch = lines.get_mut(begin..).unwrap_or_default();
    let Some(first) = patch.first().map(|line| line.text) else { return };
    let indent = first.get(..first.len() - first.trim_start().len()).unwrap_or_default();
    if patch.iter().all(|line| line.text.trim().is_empty() || line.text.starts_with(indent)) {
        for line in patch {
            line.text = line.text.strip_prefix(indent).unwrap_or_default();
        }
    }
}

/// Returns the content of a code fence that opens before the patch; all lines
/// if there is none.
fn fence_content<'a, 'p>(lines: &'a [PatchLine<'p>]) -> &'a [PatchLine<'p>] {
    let is_fence = |line: &PatchLine<'_>| line.text.starts_with("```");
    let begins = |line: &PatchLine<'_>| is_header(line.text) || hunk_hint(line.text).is_some();
    match lines.iter().position(|line| is_fence(line) || begins(line)) {
        Some(at) if lines.get(at).is_some_and(is_fence) => {
            let inside = lines.get(at + 1..).unwrap_or_default();
            let end = inside.iter().rposition(|line| line.text.trim_end() == "```");
            inside.get(..end.unwrap_or(inside.len())).unwrap_or_default()
        }
        _ => lines,
    }
}

/// Returns the lines between the markers; all lines if there are none. A patch
/// without its end marker is truncated.
fn patch_body<'a, 'p>(lines: &'a [PatchLine<'p>]) -> Result<&'a [PatchLine<'p>], PatchError> {
    let begin = lines.iter().position(|line| parse_header(line.text) == Some(V4aHeader::Begin));
    let body = lines.get(begin.map_or(0, |at| at + 1)..).unwrap_or_default();
    let end = body.iter().rposition(|line| parse_header(line.text) == Some(V4aHeader::End));
    if begin.is_some() && end.is_none() {
        return Err(PatchError::at_line(
            lines.last().map_or(0, |line| line.number),
            "the patch is cut off: it has `*** Begin Patch` but no `*** End Patch`; send all \
             of it",
        ));
    }
    Ok(body.get(..end.unwrap_or(body.len())).unwrap_or_default())
}

/// Returns the name of a file that must exist: as written after the space, if
/// such a file exists.
fn existing_name(
    line: usize,
    written: &str,
    is_there: FileExists<'_>,
) -> Result<String, PatchError> {
    let literal = written.strip_prefix(' ').unwrap_or(written);
    Ok(choose_name([literal, written.trim()], new_name(line, written)?, is_there).to_owned())
}

/// Returns the name of a new file without quotes and spaces around it.
fn new_name(line: usize, written: &str) -> Result<&str, PatchError> {
    match written.trim().trim_matches(['`', '"']) {
        "" => Err(PatchError::at_line(line, "the file has no name")),
        name => Ok(name),
    }
}

/// Fails unless all lines are blank.
fn require_blank(section: &[PatchLine<'_>]) -> Result<(), PatchError> {
    match section.iter().find(|line| !line.text.trim().is_empty()) {
        None => Ok(()),
        Some(line) => Err(PatchError::at_line(
            line.number,
            "unexpected line; a section begins with `*** Update File: path` or a similar header",
        )),
    }
}

fn read_addition(
    number: usize,
    path: &str,
    section: &[PatchLine<'_>],
) -> Result<PatchOperation, PatchError> {
    let last = section.iter().rposition(|line| !line.text.is_empty()).map_or(0, |at| at + 1);
    let mut text = String::new();
    for line in section.get(..last).unwrap_or_default() {
        if parse_header(line.text) == Some(V4aHeader::EndOfFile) {
            continue;
        }
        let content = match line.text.strip_prefix('+') {
            Some(content) => content,
            None if line.text.trim().is_empty() => "",
            None => {
                return Err(PatchError::at_line(
                    line.number,
                    "every line of a new file begins with `+`",
                ));
            }
        };
        text.push_str(content);
        text.push('\n');
    }
    Ok(PatchOperation::Add { path: new_name(number, path)?.to_owned(), text })
}

fn read_update(
    number: usize,
    path: String,
    section: &[PatchLine<'_>],
) -> Result<PatchOperation, PatchError> {
    let mut section = section;
    let mut to = None;
    while let Some((first, rest)) = section.split_first() {
        match parse_header(first.text) {
            Some(V4aHeader::MoveTo(name)) => to = Some(new_name(first.number, name)?.to_owned()),
            None if first.text.trim().is_empty() && to.is_none() => {}
            _ => break,
        }
        section = rest;
    }
    if let Some(stray) =
        section.iter().find(|l| matches!(parse_header(l.text), Some(V4aHeader::MoveTo(_))))
    {
        return Err(PatchError::at_line(
            stray.number,
            "`*** Move to:` must directly follow `*** Update File:`",
        ));
    }
    let hunks = read_hunks(section);
    if to.is_none() && hunks.iter().all(PatchHunk::changes_nothing) {
        return Err(PatchError::at_line(
            number,
            format!(
                "the section of {path} changes nothing: removed lines begin with `-`, added \
                    lines with `+`"
            ),
        ));
    }
    Ok(PatchOperation::Update { path, hunks, to })
}

/// Returns the hint of a line that begins a hunk.
fn hunk_hint(line: &str) -> Option<&str> {
    let words = line.strip_prefix("@@")?;
    if !(words.is_empty() || words.starts_with(' ') || words.starts_with('@')) {
        return None;
    }
    let words = words.trim();
    // Unified diff line numbers are not reliable here.
    if super::unified::is_hunk_header(line) {
        return Some("");
    }
    Some(meaningful_hint(words.strip_suffix("@@").unwrap_or(words).trim()))
}

fn read_hunks(section: &[PatchLine<'_>]) -> Vec<PatchHunk> {
    let mut hunks = Vec::new();
    let mut open = PatchHunk::default();
    let mut is_numbered = false;
    let mut lines: Vec<PatchLine<'_>> = Vec::new();
    let mut close = |open: &mut PatchHunk, lines: &mut Vec<PatchLine<'_>>, is_numbered: bool| {
        if lines.iter().any(|line| !line.text.is_empty()) {
            let mut hunk = std::mem::take(open);
            hunk.optional_blank_lines = trailing_blank_lines(lines);
            hunk.lines = hunk_lines(lines, None);
            // Lines without a place are appended to the file.
            let added = lines.len() - hunk.optional_blank_lines;
            let mut added = hunk.lines.iter().take(added);
            hunk.at_end |= hunk.hints.is_empty()
                && !is_numbered
                && added.all(|line| line.role == LineRole::Add);
            hunks.push(hunk);
        }
        lines.clear();
    };
    for line in section {
        if parse_header(line.text) == Some(V4aHeader::EndOfFile) {
            open.at_end = true;
            close(&mut open, &mut lines, is_numbered);
        } else if let Some(hint) = hunk_hint(line.text) {
            close(&mut open, &mut lines, is_numbered);
            is_numbered = super::unified::is_hunk_header(line.text);
            // Consecutive hints go from the outermost inward.
            if !hint.is_empty() {
                open.hints.push(hint.to_owned());
            }
        } else if !line.text.starts_with("\\ No newline") {
            lines.push(*line);
        }
    }
    close(&mut open, &mut lines, is_numbered);
    hunks
}
