//! Unified diffs, as written by `diff -u` and `git diff`, and approximately by
//! models.

use super::file_modes::FileModes;
use super::header_names::{
    FileExists, HeaderName, parse_header_name, split_git_names, strip_prefixes,
};
use super::unwrap::{PatchLine, unwrap_lines};
use super::{
    PatchError, PatchOperation, hunk_lines, meaningful_hint, split_mark, trailing_blank_lines,
};
use crate::line_endings::LineEnding;
use crate::matching::{LineRole, PatchHunk};

/// The numbers in a hunk header: the first old line, and the old and new line
/// counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HunkRange {
    start: usize,
    old: usize,
    new: usize,
}

/// Parses `@@ -1,2 +1,3 @@`.
fn parse_hunk_range(line: &str) -> Option<HunkRange> {
    let words = line.strip_prefix("@@")?.trim_start().strip_prefix('-')?;
    let (old, rest) = words.split_once([' ', '\t'])?;
    let rest = rest.trim_start().strip_prefix('+')?;
    let new = rest.split([' ', '\t', '@']).next()?;
    let pair = |numbers: &str| {
        let (start, count) = numbers.split_once(',').unwrap_or((numbers, "1"));
        Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let ((start, old), (_, new)) = (pair(old)?, pair(new)?);
    Some(HunkRange { start, old, new })
}

/// Whether a line is a hunk header with numbers.
pub(super) fn is_hunk_header(line: &str) -> bool {
    parse_hunk_range(line).is_some()
}

/// The headers and hunks of one file.
#[derive(Debug, Default)]
struct FileSection {
    line: usize,
    old: Option<HeaderName>,
    new: Option<HeaderName>,
    is_new: bool,
    is_deleted: bool,
    from: Option<HeaderName>,
    to: Option<HeaderName>,
    /// Whether `---` and `+++` lines were read.
    has_file_header: bool,
    modes: FileModes,
    hunks: Vec<PatchHunk>,
}

struct PatchReader<'a, 'p> {
    lines: &'a [PatchLine<'p>],
    at: usize,
    /// Indexes of the lines that close a code fence, sorted.
    closing_fences: Vec<usize>,
    /// Whether the patch ends within a line.
    ends_mid_line: bool,
}

impl<'p> PatchReader<'_, 'p> {
    fn peek(&self, ahead: usize) -> Option<&'p str> {
        self.lines.get(self.at + ahead).map(|line| line.text)
    }

    fn line(&self) -> Option<&PatchLine<'p>> {
        self.lines.get(self.at)
    }

    fn number(&self) -> usize {
        self.lines.get(self.at).map_or(0, |line| line.number)
    }

    /// Whether no further header follows.
    fn is_last(&self) -> bool {
        self.lines.get(self.at..).unwrap_or_default().iter().all(|line| !is_header(line.text))
    }

    /// Whether the code fence around the patch ends here.
    fn is_closing(&self) -> bool {
        self.closing_fences.binary_search(&self.at).is_ok()
    }

    /// Whether `---` and `+++` lines begin here.
    fn is_file_header(&self) -> bool {
        let starts =
            |ahead: usize, mark: &str| self.peek(ahead).is_some_and(|l| l.starts_with(mark));
        starts(0, "--- ") && starts(1, "+++ ")
    }
}

/// The contents of a unified diff.
#[derive(Debug, Default)]
pub(super) struct UnifiedPatch {
    pub(super) operations: Vec<PatchOperation>,
    pub(super) executables: Vec<(String, bool)>,
}

/// Parses a unified diff. `path` is the file of hunks without a header. Adds
/// warnings about what is not applied.
pub(super) fn parse(
    patch: &str,
    path: Option<&str>,
    is_there: FileExists<'_>,
    warnings: &mut Vec<String>,
) -> Result<UnifiedPatch, PatchError> {
    let lines = unwrap_lines(patch);
    let closing = if is_fenced(patch) { closing_fences(&lines) } else { Vec::new() };
    let is_ragged = !patch.ends_with('\n') && closing.is_empty();
    let mut reader =
        PatchReader { lines: &lines, at: 0, closing_fences: closing, ends_mid_line: is_ragged };
    let mut read = UnifiedPatch::default();
    let mut entry: Option<FileSection> = None;
    while let Some(line) = reader.peek(0) {
        let number = reader.number();
        if let Some(names) = line.strip_prefix("diff --git ") {
            into_operation(&mut read, entry.take(), path, is_there)?;
            let (old, new) = split_git_names(names);
            entry = Some(FileSection { line: number, old, new, ..FileSection::default() });
            reader.at += 1;
        } else if reader.is_file_header() {
            if entry.as_ref().is_none_or(|entry| entry.has_file_header) {
                into_operation(&mut read, entry.take(), path, is_there)?;
            }
            let open =
                entry.get_or_insert_with(|| FileSection { line: number, ..FileSection::default() });
            open.old = Some(parse_header_name(number, line.get(4..).unwrap_or_default())?);
            let second = reader.peek(1).and_then(|line| line.get(4..)).unwrap_or_default();
            open.new = Some(parse_header_name(number + 1, second)?);
            open.has_file_header = true;
            reader.at += 2;
        } else if line.starts_with("@@") {
            let open =
                entry.get_or_insert_with(|| FileSection { line: number, ..FileSection::default() });
            open.hunks.push(read_hunk(&mut reader, warnings)?);
        } else {
            if let Some(open) = &mut entry {
                read_git_line(open, number, line)?;
            }
            reader.at += 1;
        }
    }
    into_operation(&mut read, entry, path, is_there)?;
    Ok(read)
}

/// Whether a code fence opens before the patch begins.
fn is_fenced(patch: &str) -> bool {
    patch.lines().take_while(|line| !is_header(line)).any(|line| line.starts_with("```"))
}

/// Returns the lines that close a fence: no hunk lines follow them up to the
/// next header, so they are not hunk lines themselves.
fn closing_fences(lines: &[PatchLine<'_>]) -> Vec<usize> {
    let mut closing = Vec::new();
    let mut is_over = true;
    for (at, line) in lines.iter().enumerate().rev() {
        if line.text.trim_end() == "```" && is_over {
            closing.push(at);
        }
        is_over = is_header(line.text) || is_over && !line.text.starts_with(['+', '-', ' ']);
    }
    closing.reverse();
    closing
}

/// Reads a git extended header line.
fn read_git_line(entry: &mut FileSection, number: usize, line: &str) -> Result<(), PatchError> {
    let name = |prefix: &str| {
        line.strip_prefix(prefix).map(|rest| parse_header_name(number, rest)).transpose()
    };
    entry.modes.read_line(number, line)?;
    if line.starts_with("new file mode") {
        entry.is_new = true;
    } else if line.starts_with("deleted file mode") {
        entry.is_deleted = true;
    } else if let Some(from) = name("rename from ")? {
        entry.from = Some(from);
    } else if let Some(to) = name("rename to ")? {
        entry.to = Some(to);
    } else if line.starts_with("copy from ") || line.starts_with("copy to ") {
        return Err(PatchError::at_line(
            number,
            "copies are not supported; add the new file instead",
        ));
    } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
        return Err(PatchError::at_line(
            number,
            "binary patches are not supported, only text patches",
        ));
    }
    Ok(())
}

/// Starts a hunk from its header line.
fn open_hunk(head: &str, said: Option<HunkRange>) -> PatchHunk {
    let mut made = PatchHunk {
        line: said.map(|said| said.start).filter(|start| *start > 0),
        ..PatchHunk::default()
    };
    if said.is_some() {
        let behind = head.trim_start_matches('@').split_once("@@").map(|(_, behind)| behind.trim());
        made.heading = behind.map(meaningful_hint).filter(|it| !it.is_empty()).map(str::to_owned);
    } else {
        let hint =
            meaningful_hint(head.trim_start_matches('@').trim().trim_end_matches('@').trim());
        made.hints.extend((!hint.is_empty()).then(|| hint.to_owned()));
    }
    made
}

/// Describes the stated and the actual line counts of a hunk.
fn describe_line_counts(said: HunkRange, raw: &[PatchLine<'_>]) -> String {
    let without =
        |side: LineRole| raw.iter().filter(|line| split_mark(line.text).0 != side).count();
    format!(
        "{} old and {} new lines stated, {} and {} found",
        said.old,
        said.new,
        without(LineRole::Add),
        without(LineRole::Remove)
    )
}

/// Whether a file or a hunk begins at this line.
fn is_header(line: &str) -> bool {
    ["@@", "diff --git ", "--- "].iter().any(|mark| line.starts_with(mark))
}

/// Reads a hunk: as many lines as its header states, and further ones that look
/// like hunk lines, since the numbers are often wrong.
fn read_hunk(
    reader: &mut PatchReader<'_, '_>,
    warnings: &mut Vec<String>,
) -> Result<PatchHunk, PatchError> {
    let begin = reader.line().copied();
    let head = reader.peek(0).unwrap_or_default();
    let said = parse_hunk_range(head);
    let mut made = open_hunk(head, said);
    reader.at += 1;
    let (mut old, mut new) = said.map_or((0, 0), |said| (said.old, said.new));
    let mut raw: Vec<PatchLine<'_>> = Vec::new();
    let (mut old_open, mut new_open) = (false, false);
    while let Some(numbered) = reader.line().copied() {
        let line = numbered.text;
        let left = old > 0 || new > 0;
        let begins_other = line.starts_with("@@") || line.starts_with("diff --git ");
        let names = reader.is_file_header()
            && (!left || reader.peek(2).is_some_and(|l| l.starts_with("@@")));
        let is_over = reader.is_closing() || !left && (line == "-- " || line == "--");
        if begins_other || names || is_over {
            break;
        }
        if line.starts_with('\\') {
            let side = raw.last().map(|last| split_mark(last.text).0);
            old_open |= side != Some(LineRole::Add);
            new_open |= side.is_some_and(|side| side != LineRole::Remove);
            if let Some(last) = raw.last_mut() {
                last.ending = None;
            }
        } else if line.is_empty() || line.starts_with([' ', '+', '-']) || left {
            raw.push(numbered);
            let (side, _) = split_mark(line);
            old = old.saturating_sub(usize::from(side != LineRole::Add));
            new = new.saturating_sub(usize::from(side != LineRole::Remove));
        } else {
            break;
        }
        reader.at += 1;
    }
    if let Some(said) = said.filter(|_| (old > 0 || new > 0) && reader.is_last()) {
        let counts = describe_line_counts(said, &raw);
        // Applying it would remove lines without their replacement, or write
        // half a line.
        let is_bare = raw.last().is_some_and(|last| split_mark(last.text).0 == LineRole::Remove);
        if old > 0 && new > 0 && (is_bare || reader.ends_mid_line) {
            let reason = format!(
                "the patch ends in the middle of a hunk: {counts}; send the whole patch, or \
                 use a bare `@@`, which needs no numbers"
            );
            return Err(PatchError::at_line(begin.map_or(0, |begin| begin.number), reason));
        }
        // The missing lines might have made the place unambiguous.
        made.line = None;
        warnings.push(format!(
            "The last hunk is shorter than its header states ({counts}): is the patch cut off? \
             A bare `@@` needs no numbers."
        ));
    }
    made.optional_blank_lines = trailing_blank_lines(&raw);
    match (old_open, new_open) {
        (false, false) => {}
        (true, true) => made.no_newline_at_end = true,
        (_, new_open) => made.final_newline = Some(!new_open),
    }
    // Without old lines, the header shows the line ending of the patch itself.
    let head = begin.filter(|_| said.is_some_and(|said| said.old == 0));
    made.lines = hunk_lines(&raw, head.as_ref());
    Ok(made)
}

impl FileSection {
    /// Returns both names without git's prefixes, in one of the readings.
    fn both_names(&self, how: usize) -> (Option<String>, Option<String>) {
        let read =
            |name: &Option<HeaderName>| name.as_ref().map(|name| name.reading(how).to_owned());
        strip_prefixes(read(&self.old), read(&self.new))
    }

    /// Returns the file of the section: the literal name, if it exists.
    fn file_name(&self, is_there: FileExists<'_>) -> Option<String> {
        let read = |how: usize| {
            let (old, new) = self.both_names(how);
            if self.is_deleted { old } else { new }
        };
        let plain = read(HeaderName::PLAIN_READING);
        if self.is_new {
            let is_exact = self.new.as_ref().is_some_and(HeaderName::is_exact);
            return if is_exact { read(0) } else { plain };
        }
        let mut literal =
            (0..HeaderName::PLAIN_READING).map(read).take_while(|name| *name != plain).flatten();
        literal.find(|name| is_there(name)).or(plain)
    }

    /// Returns the new name of a file, with trailing spaces only if `+++`
    /// confirms them.
    fn new_name<'n>(&self, to: &'n HeaderName) -> &'n str {
        let is_exact = self.new.as_ref().is_some_and(HeaderName::is_exact);
        let is_reported = is_exact && self.both_names(0).1.as_deref() == Some(to.reading(0));
        to.reading(if is_reported { 0 } else { HeaderName::PLAIN_READING })
    }
}

/// Converts the section of a file into an operation.
fn into_operation(
    read: &mut UnifiedPatch,
    entry: Option<FileSection>,
    path: Option<&str>,
    is_there: FileExists<'_>,
) -> Result<(), PatchError> {
    let Some(mut entry) = entry else { return Ok(()) };
    let is_null = |name: &Option<HeaderName>| name.as_ref().is_some_and(HeaderName::is_null);
    entry.is_new |= is_null(&entry.old);
    entry.is_deleted |= is_null(&entry.new);
    if let (Some(from), Some(to)) = (&entry.from, &entry.to) {
        let (from, to) = (from.choose_existing(is_there).to_owned(), entry.new_name(to).to_owned());
        read.executables.extend(entry.modes.executable_change().map(|runs| (to.clone(), runs)));
        read.operations.push(PatchOperation::Update {
            path: from,
            hunks: entry.hunks,
            to: Some(to),
        });
        return Ok(());
    }
    let name = entry.file_name(is_there);
    let Some(name) = name.or_else(|| path.map(str::to_owned)) else {
        return Err(PatchError::at_line(
            entry.line,
            "the hunks have no file: put `--- a/file` and `+++ b/file` before them, or give \
                the path argument",
        ));
    };
    if entry.is_deleted && entry.hunks.is_empty() {
        entry.hunks.push(PatchHunk::default());
    }
    let runs = entry.modes.executable_change().filter(|_| !entry.is_deleted);
    read.executables.extend(runs.map(|runs| (name.clone(), runs)));
    if entry.is_new {
        read.operations
            .push(PatchOperation::Add { path: name, text: added_text(entry.line, &entry.hunks)? });
    } else if entry.is_deleted {
        read.operations.push(PatchOperation::Delete { path: name, hunks: entry.hunks });
    } else if !entry.hunks.is_empty() {
        read.operations.push(PatchOperation::Update { path: name, hunks: entry.hunks, to: None });
    } else if runs.is_none() {
        return Err(PatchError::at_line(entry.line, format!("no changes given for {name}")));
    }
    Ok(())
}

fn added_text(line: usize, hunks: &[PatchHunk]) -> Result<String, PatchError> {
    let mut text = String::new();
    for hunk in hunks {
        let kept = hunk.lines.len() - hunk.optional_blank_lines.min(hunk.lines.len());
        for line_of in hunk.lines.iter().take(kept) {
            if line_of.role != LineRole::Add {
                return Err(PatchError::at_line(
                    line,
                    "every line of a new file must begin with `+`",
                ));
            }
            text.push_str(&line_of.text);
            text.push_str(line_of.ending.map_or("\n", LineEnding::as_str));
        }
    }
    if hunks.last().is_some_and(|hunk| hunk.final_newline == Some(false)) {
        text.pop();
    }
    Ok(text)
}
