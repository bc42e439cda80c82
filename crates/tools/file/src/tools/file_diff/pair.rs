//! Comparison and rendering of two sides.

use std::time::Duration;

use hermes_core::OutputLimits;
use hermes_text::diff::{DiffLayout, DiffOptions, DiffStat, LineBreaks, RenderedDiff, TextDiff};
use hermes_text::{LineEnding, LineEndings};

use super::side::{DiffSide, SideBody};
use super::{Args, DiffFormat, IgnoredWhitespace};

/// Maximum number of context lines.
const MAX_CONTEXT_LINES: u64 = 1000;

/// Options of a comparison.
#[derive(Debug)]
pub(super) struct DiffRequest {
    format: DiffFormat,
    options: DiffOptions,
    context: usize,
    width: usize,
    ignores: bool,
    /// Maximum bytes of the diff, and characters per line.
    pub(super) room: usize,
    line: usize,
}

/// Result of comparing two sides.
#[derive(Debug, Default)]
pub(super) struct PairComparison {
    pub(super) identical: bool,
    /// `None` if a side is not text.
    pub(super) stat: Option<DiffStat>,
    pub(super) shown: RenderedDiff,
    pub(super) is_coarse: bool,
    pub(super) is_binary: bool,
    pub(super) notes: Vec<String>,
}

impl DiffRequest {
    pub(super) fn new(args: &Args, bounds: &OutputLimits) -> Self {
        let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let options = DiffOptions {
            whitespace: args.ignore_whitespace.into(),
            ignore_case: args.ignore_case,
            ignore_blank_lines: args.ignore_blank_lines,
            // Only a diff that can be applied needs standard line breaks.
            line_breaks: match args.format {
                DiffFormat::Unified => LineBreaks::LineFeedsOnly,
                _ => LineBreaks::AsRead,
            },
            ..DiffOptions::default()
        };
        Self {
            format: args.format,
            options,
            context: whole(args.context.min(MAX_CONTEXT_LINES)),
            width: whole(args.width.clamp(20, 500)),
            ignores: args.ignore_whitespace != IgnoredWhitespace::None
                || args.ignore_case
                || args.ignore_blank_lines,
            room: whole(bounds.read_chars / 2),
            line: whole(bounds.line_chars),
        }
    }

    /// Compares two sides and renders the difference in at most `room` bytes.
    /// `effort` is the time limit for a minimal diff.
    pub(super) fn compare(
        &self,
        old: &DiffSide,
        new: &DiffSide,
        room: usize,
        effort: Duration,
    ) -> PairComparison {
        if old.is_same(new) {
            return PairComparison { identical: true, ..PairComparison::default() };
        }
        let (Some(old_text), Some(new_text)) = (old.text(), new.text()) else {
            return PairComparison { is_binary: true, ..PairComparison::default() };
        };
        let options = DiffOptions { time_limit: effort, ..self.options };
        let diff = TextDiff::new(old_text, new_text, &options);
        let name = |side: &DiffSide| match side.body {
            SideBody::Absent => "/dev/null".to_owned(),
            _ => side.name.clone(),
        };
        let (old_name, new_name) = (name(old), name(new));
        let layout = DiffLayout {
            context: self.context,
            limit: room,
            line_limit: self.line,
            ..DiffLayout::full(&old_name, &new_name)
        };
        let shown = match self.format {
            DiffFormat::Unified => diff.unified(&layout),
            DiffFormat::Words => diff.word_diff(&layout),
            DiffFormat::SideBySide => diff.side_by_side(&layout, self.width),
            DiffFormat::Stat => RenderedDiff::default(),
        };
        PairComparison {
            identical: false,
            stat: Some(diff.stat()),
            shown,
            is_coarse: diff.is_coarse(),
            is_binary: false,
            notes: self.notes(old, new, diff.is_empty()),
        }
    }

    /// Returns notes on differences that the lines do not show.
    fn notes(&self, old: &DiffSide, new: &DiffSide, is_empty: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if matches!(old.body, SideBody::Absent) || matches!(new.body, SideBody::Absent) {
            if is_empty {
                notes.push("The file is empty.".to_owned());
            }
        } else if is_empty && old.text() == new.text() {
            notes.push("The text is the same, the bytes are not.".to_owned());
        } else if is_empty && self.ignores {
            notes.push("They differ only in what is ignored.".to_owned());
        }
        if let (Some(old), Some(new)) = (old.encoding(), new.encoding())
            && old != new
        {
            notes.push(format!("Encodings differ: {old}, {new}."));
        }
        let dominant =
            |side: &DiffSide| LineEndings::detect(side.text().unwrap_or_default()).dominant;
        if let (Some(before), Some(after)) = (dominant(old), dominant(new))
            && before != after
        {
            let hint = if is_empty { "" } else { " ignore_whitespace=trailing ignores this." };
            notes.push(format!("Line endings differ: {before}, {after}.{hint}"));
        }
        if self.format == DiffFormat::Unified && !is_empty {
            let sides =
                [old, new].into_iter().filter(|side| dominant(side) == Some(LineEnding::Cr));
            let names: Vec<&str> = sides.map(|side| side.name.as_str()).collect();
            let end = if names.len() > 1 { "end their" } else { "ends its" };
            if !names.is_empty() {
                notes.push(format!(
                    "{} {end} lines with CR, which patch and git do not support: the diff \
                     shows all of them as one line. format=words shows them separately.",
                    names.join(" and ")
                ));
            }
        }
        let is_damaged = |side: &DiffSide| match &side.body {
            SideBody::File(document) => document.is_damaged(),
            _ => false,
        };
        for side in [old, new].into_iter().filter(|side| is_damaged(side)) {
            notes.push(format!("{} contains invalid bytes, shown as U+FFFD.", side.name));
        }
        notes
    }
}
