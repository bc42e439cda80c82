//! A version of the file that was there before, and how the new one differs.

use std::path::Path;
use std::time::Duration;

use hermes_core::ToolContext;
use hermes_text::count_lines;
use hermes_text::diff::{DiffLayout, DiffOptions, TextDiff};
use schemars::JsonSchema;
use serde::Serialize;

use crate::original::OriginalFile;
use crate::path_text;

/// What a diff may cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct DiffBudget {
    /// Bytes of the diff.
    pub(super) limit: usize,
    pub(super) time: Duration,
    /// Bytes of a text; longer ones are not compared.
    pub(super) max_text_bytes: usize,
}
/// For a diff that comes along with an answer: whoever rewrites so much learns
/// little from its first lines.
pub(super) const SHORT_DIFF: DiffBudget =
    DiffBudget { limit: 2_000, time: Duration::from_millis(10), max_text_bytes: 256 * 1024 };
/// For one that was asked for.
pub(super) const LONG_DIFF: DiffBudget =
    DiffBudget { limit: 20_000, time: Duration::from_secs(1), max_text_bytes: 16 * 1024 * 1024 };

/// Characters of a line of a diff.
const MAX_LINE_CHARS: usize = 500;

/// A version that was replaced, in short.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ReplacedVersion {
    hash: String,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
}

impl ReplacedVersion {
    pub(super) fn from_original(old: &OriginalFile) -> Self {
        let lines = old.text().map(|text| count_lines(text) as u64);
        Self { hash: old.hash().to_string(), bytes: old.len(), lines }
    }
}

/// What a new text changes in a file.
pub(super) fn diff(
    old: &OriginalFile,
    new: &str,
    path: &Path,
    cx: &ToolContext,
    effort: DiffBudget,
) -> Option<String> {
    let name = |side| path_text::diff_heading(side, path, &cx.working_dir);
    compare(old.text()?, new, (&name("a/"), &name("b/")), effort)
}

/// What is in a file that was not there.
pub(super) fn addition(
    new: &str,
    path: &Path,
    cx: &ToolContext,
    effort: DiffBudget,
) -> Option<String> {
    compare("", new, ("/dev/null", &path_text::diff_heading("b/", path, &cx.working_dir)), effort)
}

/// The unified diff of two texts, within bounds; none if it is empty. The names
/// are those of its header.
pub(super) fn compare(
    old: &str,
    new: &str,
    (old_name, new_name): (&str, &str),
    effort: DiffBudget,
) -> Option<String> {
    if old.len().max(new.len()) > effort.max_text_bytes {
        return None;
    }
    let diff =
        TextDiff::new(old, new, &DiffOptions { time_limit: effort.time, ..DiffOptions::default() });
    let layout = DiffLayout {
        limit: effort.limit,
        line_limit: MAX_LINE_CHARS,
        is_quoted: true,
        ..DiffLayout::full(old_name, new_name)
    };
    let mut shown = diff.unified(&layout);
    if shown.omitted_lines > 0 {
        shown.text.push_str(&format!("[{} more lines of the diff]\n", shown.omitted_lines));
    }
    (!shown.text.is_empty()).then_some(shown.text)
}
