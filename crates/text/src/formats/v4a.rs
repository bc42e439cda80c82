//! V4A patches: `*** Begin Patch`, a section for each file, hunks that are
//! found by their lines and by `@@` hints.

use super::names::{IsThere, chosen};
use super::wrapping::{Numbered, unwrapped};
use super::{Malformed, Operation, hunk_lines, loose_end, telling};
use crate::matching::Hunk;

/// A line that begins with `***`. Names are as they are written, with the
/// blanks around them.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Header<'a> {
    Begin,
    End,
    Add(&'a str),
    Update(&'a str),
    Delete(&'a str),
    Move(&'a str, &'a str),
    MoveTo(&'a str),
    EndOfFile,
}

fn header(line: &str) -> Option<Header<'_>> {
    let words = line.strip_prefix("***")?.trim_start();
    let after = |name: &str| {
        let rest = words.get(name.len()..)?;
        let named = words.get(..name.len())?.eq_ignore_ascii_case(name);
        named.then_some(rest)
    };
    let is = |name: &str| words.trim_end().eq_ignore_ascii_case(name);
    if is("begin patch") {
        return Some(Header::Begin);
    }
    if is("end patch") {
        return Some(Header::End);
    }
    if is("end of file") {
        return Some(Header::EndOfFile);
    }
    if let Some(names) = after("move file:") {
        let (from, to) = names.split_once("->")?;
        return Some(Header::Move(from.strip_suffix(' ').unwrap_or(from), to));
    }
    after("add file:")
        .map(Header::Add)
        .or_else(|| after("update file:").map(Header::Update))
        .or_else(|| after("delete file:").map(Header::Delete))
        .or_else(|| after("move to:").map(Header::MoveTo))
}

/// Whether a line shows that the text is a V4A patch.
pub(super) fn is_header(line: &str) -> bool {
    matches!(header(line), Some(found) if !matches!(found, Header::EndOfFile | Header::MoveTo(_)))
}

/// Reads a V4A patch.
pub(super) fn parse(
    patch: &str,
    path: Option<&str>,
    is_there: IsThere<'_>,
) -> Result<Vec<Operation>, Malformed> {
    let lines = unwrapped(patch);
    let body = body(fenced(&lines))?;
    let mut operations = Vec::new();
    let mut rest = body;
    if let Some(path) = path {
        let bare = rest.iter().take_while(|line| header(line.text).is_none()).count();
        let (hunks, after) = rest.split_at(bare);
        if hunks.iter().any(|line| !line.text.trim().is_empty()) {
            let hunks = hunks_of(hunks);
            operations.push(Operation::Update { path: path.to_owned(), hunks, to: None });
        }
        rest = after;
    }
    while let Some((first, after)) = rest.split_first() {
        if first.text.trim().is_empty() {
            rest = after;
            continue;
        }
        let in_section = |line: &Numbered<'_>| {
            matches!(header(line.text), None | Some(Header::EndOfFile | Header::MoveTo(_)))
        };
        let length = after.iter().take_while(|line| in_section(line)).count();
        let (section, next) = after.split_at(length);
        rest = next;
        match header(first.text) {
            Some(Header::Add(path)) => operations.push(add(first.number, path, section)?),
            Some(Header::Update(path)) => {
                let path = named(first.number, path, is_there)?;
                operations.push(update(first.number, path, section)?);
            }
            Some(Header::Delete(path)) => {
                bare(section)?;
                operations.push(Operation::Delete {
                    path: named(first.number, path, is_there)?,
                    hunks: Vec::new(),
                });
            }
            Some(Header::Move(from, to)) => {
                let to = new_name(first.number, to)?.to_owned();
                let path = named(first.number, from, is_there)?;
                operations.push(Operation::Update { path, hunks: hunks_of(section), to: Some(to) });
            }
            Some(Header::Begin | Header::End) => bare(section)?,
            _ => {
                return Err(Malformed::at(
                    first.number,
                    "expected `*** Update File: path`, `*** Add File: path`, `*** Delete File: \
                        path` or `*** Move File: from -> to`",
                ));
            }
        }
    }
    Ok(operations)
}

/// What is in a code fence that begins before the patch does; all of it if
/// none does.
fn fenced<'a, 'p>(lines: &'a [Numbered<'p>]) -> &'a [Numbered<'p>] {
    let is_fence = |line: &Numbered<'_>| line.text.starts_with("```");
    let begins = |line: &Numbered<'_>| is_header(line.text) || hint(line.text).is_some();
    match lines.iter().position(|line| is_fence(line) || begins(line)) {
        Some(at) if lines.get(at).is_some_and(is_fence) => {
            let inside = lines.get(at + 1..).unwrap_or_default();
            let end = inside.iter().rposition(|line| line.text.trim_end() == "```");
            inside.get(..end.unwrap_or(inside.len())).unwrap_or_default()
        }
        _ => lines,
    }
}

/// What is between the markers; all of it if there are none. A patch that has
/// only the first of them has lost its end.
fn body<'a, 'p>(lines: &'a [Numbered<'p>]) -> Result<&'a [Numbered<'p>], Malformed> {
    let begin = lines.iter().position(|line| header(line.text) == Some(Header::Begin));
    let body = lines.get(begin.map_or(0, |at| at + 1)..).unwrap_or_default();
    let end = body.iter().rposition(|line| header(line.text) == Some(Header::End));
    if begin.is_some() && end.is_none() {
        return Err(Malformed::at(
            lines.last().map_or(0, |line| line.number),
            "the patch is cut off: it has `*** Begin Patch` but no `*** End Patch`; send all of it",
        ));
    }
    Ok(body.get(..end.unwrap_or(body.len())).unwrap_or_default())
}

/// The name of a file that is to be there: as it is written behind a blank, if
/// there is one of that name.
fn named(line: usize, written: &str, is_there: IsThere<'_>) -> Result<String, Malformed> {
    let literal = written.strip_prefix(' ').unwrap_or(written);
    Ok(chosen([literal, written.trim()], new_name(line, written)?, is_there).to_owned())
}

/// The name of a new file, without what is put around names.
fn new_name(line: usize, written: &str) -> Result<&str, Malformed> {
    match written.trim().trim_matches(['`', '"']) {
        "" => Err(Malformed::at(line, "the file has no name")),
        name => Ok(name),
    }
}

/// Nothing but empty lines.
fn bare(section: &[Numbered<'_>]) -> Result<(), Malformed> {
    match section.iter().find(|line| !line.text.trim().is_empty()) {
        None => Ok(()),
        Some(line) => Err(Malformed::at(
            line.number,
            "nothing may stand here; a section begins with `*** Update File: path` or the like",
        )),
    }
}

fn add(number: usize, path: &str, section: &[Numbered<'_>]) -> Result<Operation, Malformed> {
    let last = section.iter().rposition(|line| !line.text.is_empty()).map_or(0, |at| at + 1);
    let mut text = String::new();
    for line in section.get(..last).unwrap_or_default() {
        if header(line.text) == Some(Header::EndOfFile) {
            continue;
        }
        let content = match line.text.strip_prefix('+') {
            Some(content) => content,
            None if line.text.trim().is_empty() => "",
            None => {
                return Err(Malformed::at(line.number, "every line of a new file begins with `+`"));
            }
        };
        text.push_str(content);
        text.push('\n');
    }
    Ok(Operation::Add { path: new_name(number, path)?.to_owned(), text })
}

fn update(number: usize, path: String, section: &[Numbered<'_>]) -> Result<Operation, Malformed> {
    let mut section = section;
    let mut to = None;
    while let Some((first, rest)) = section.split_first() {
        match header(first.text) {
            Some(Header::MoveTo(name)) => to = Some(new_name(first.number, name)?.to_owned()),
            None if first.text.trim().is_empty() && to.is_none() => {}
            _ => break,
        }
        section = rest;
    }
    if let Some(stray) = section.iter().find(|l| matches!(header(l.text), Some(Header::MoveTo(_))))
    {
        return Err(Malformed::at(
            stray.number,
            "`*** Move to:` stands right behind `*** Update File:`",
        ));
    }
    let hunks = hunks_of(section);
    if to.is_none() && hunks.iter().all(Hunk::is_idle) {
        return Err(Malformed::at(
            number,
            format!(
                "the section of {path} changes nothing: lines that go begin with `-`, lines \
                    that come with `+`"
            ),
        ));
    }
    Ok(Operation::Update { path, hunks, to })
}

/// The hint of a line that begins a hunk.
fn hint(line: &str) -> Option<&str> {
    let words = line.strip_prefix("@@")?;
    if !(words.is_empty() || words.starts_with(' ') || words.starts_with('@')) {
        return None;
    }
    let words = words.trim();
    // The numbers of a unified diff tell nothing here that could be relied on.
    if super::unified::is_range(line) {
        return Some("");
    }
    Some(telling(words.strip_suffix("@@").unwrap_or(words).trim()))
}

fn hunks_of(section: &[Numbered<'_>]) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    let mut open = Hunk::default();
    let mut lines: Vec<Numbered<'_>> = Vec::new();
    let mut close = |open: &mut Hunk, lines: &mut Vec<Numbered<'_>>| {
        if lines.iter().any(|line| !line.text.is_empty()) {
            let mut hunk = std::mem::take(open);
            hunk.loose = loose_end(lines);
            hunk.lines = hunk_lines(lines, None);
            hunks.push(hunk);
        }
        lines.clear();
    };
    for line in section {
        if header(line.text) == Some(Header::EndOfFile) {
            open.at_end = true;
            close(&mut open, &mut lines);
        } else if let Some(hint) = hint(line.text) {
            close(&mut open, &mut lines);
            // Several in a row lead from the outermost inwards.
            if !hint.is_empty() {
                open.hints.push(hint.to_owned());
            }
        } else if !line.text.starts_with("\\ No newline") {
            lines.push(*line);
        }
    }
    close(&mut open, &mut lines);
    hunks
}
