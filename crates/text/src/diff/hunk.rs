//! Groups nearby changes into hunks with context lines.

use super::change::{LineBlock, LineChange};
use super::{DiffLayout, TextDiff};

/// A part of a hunk.
#[derive(Debug, Clone, Copy)]
pub(super) enum HunkPart<'a> {
    /// Lines equal under the options, as each text writes them: they may differ
    /// in what the options ignore.
    Same(LineBlock<'a>, LineBlock<'a>),
    /// Lines of the old text, and the lines that replace them.
    Change(LineBlock<'a>, LineBlock<'a>),
}

/// A hunk with its `@@` header.
#[derive(Debug)]
pub(super) struct RenderedHunk<'a> {
    pub(super) header: String,
    pub(super) parts: Vec<HunkPart<'a>>,
}

impl HunkPart<'_> {
    /// Returns the number of lines in a unified diff.
    pub(super) fn line_count(&self) -> usize {
        match self {
            Self::Same(block, _) => block.count(),
            Self::Change(old, new) => old.count() + new.count(),
        }
    }
}

/// Returns the hunks of a diff, built lazily.
pub(super) fn hunks<'a>(
    diff: &'a TextDiff<'a>,
    layout: &DiffLayout<'_>,
) -> impl Iterator<Item = RenderedHunk<'a>> + use<'a> {
    let context = layout.context;
    let near = context.saturating_mul(2);
    let groups = diff.changes.chunk_by(move |a, b| b.old.start - a.old.end <= near);
    groups
        .filter(|group| group.iter().any(|change| !change.is_ignored))
        .filter_map(move |group| make_hunk(diff, group, context))
}

fn make_hunk<'a>(
    diff: &'a TextDiff<'a>,
    group: &[LineChange],
    context: usize,
) -> Option<RenderedHunk<'a>> {
    let (first, last) = (group.first()?, group.last()?);
    let ends = diff.terminators;
    let end = |text: &str| text.as_bytes().as_ptr_range().end;
    let block = |text: &'a str, whole: &str, ends| LineBlock {
        text,
        terminator: ends,
        is_last: !text.is_empty() && end(text) == end(whole),
    };
    let old = |text: &'a str| block(text, diff.old, ends.0);
    let new = |text: &'a str| block(text, diff.new, ends.1);
    let mut before = (
        old(last_lines(diff.old.get(..first.old_bytes.start)?, context, ends.0)),
        new(last_lines(diff.new.get(..first.new_bytes.start)?, context, ends.1)),
    );
    let after = (
        old(first_lines(diff.old.get(last.old_bytes.end..)?, context, ends.0)),
        new(first_lines(diff.new.get(last.new_bytes.end..)?, context, ends.1)),
    );
    let (above, below) = (before.0.count(), after.0.count());
    let mut parts = Vec::with_capacity(group.len() * 2 + 1);
    for (at, change) in group.iter().enumerate() {
        if let Some(last) = at.checked_sub(1).and_then(|last| group.get(last)) {
            before = (
                old(diff.old.get(last.old_bytes.end..change.old_bytes.start)?),
                new(diff.new.get(last.new_bytes.end..change.new_bytes.start)?),
            );
        }
        if !before.0.text.is_empty() {
            parts.push(same_part(before.0, before.1));
        }
        let gone = old(diff.old.get(change.old_bytes.clone())?);
        parts.push(HunkPart::Change(gone, new(diff.new.get(change.new_bytes.clone())?)));
    }
    if !after.0.text.is_empty() {
        parts.push(same_part(after.0, after.1));
    }
    let header = format!(
        "@@ -{} +{} @@",
        format_range(first.old.start - above, last.old.end + below),
        format_range(first.new.start - above, last.new.end + below),
    );
    Some(RenderedHunk { header, parts })
}

/// Builds a part of equal lines. They count as last only if they are last in
/// both texts.
fn same_part<'a>(old: LineBlock<'a>, new: LineBlock<'a>) -> HunkPart<'a> {
    let is_last = old.is_last && new.is_last;
    HunkPart::Same(LineBlock { is_last, ..old }, LineBlock { is_last, ..new })
}

/// Formats a line range as unified diffs do: an empty range is given as the
/// line before it, and a single line has no count.
fn format_range(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        count => format!("{},{count}", start + 1),
    }
}

fn last_lines(text: &str, count: usize, ends: u8) -> &str {
    let bytes = text.as_bytes();
    let inner = bytes.len().saturating_sub(1);
    let mut breaks = memchr::memrchr_iter(ends, bytes.get(..inner).unwrap_or_default());
    match count {
        0 => "",
        _ => breaks.nth(count - 1).map_or(text, |at| text.get(at + 1..).unwrap_or(text)),
    }
}

fn first_lines(text: &str, count: usize, ends: u8) -> &str {
    let mut breaks = memchr::memchr_iter(ends, text.as_bytes());
    match count {
        0 => "",
        _ => breaks.nth(count - 1).map_or(text, |at| text.get(..=at).unwrap_or(text)),
    }
}
