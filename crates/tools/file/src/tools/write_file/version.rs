//! The replaced version of a file, and how the new one differs.

use std::path::Path;
use std::time::Duration;

use hermes_core::ToolContext;
use hermes_text::count_lines;
use hermes_text::diff::{DiffLayout, DiffOptions, TextDiff};
use schemars::JsonSchema;
use serde::Serialize;

use crate::original::OriginalFile;
use crate::path_text;

/// Limits of a diff.
#[derive(Debug, Clone, Copy)]
pub(super) struct DiffBudget {
    /// Maximum bytes of the diff.
    pub(super) limit: usize,
    pub(super) time: Duration,
    /// Maximum bytes of a text; longer ones are not compared.
    pub(super) max_text_bytes: usize,
}
/// For the diff in a normal result. For a large rewrite, its first lines say
/// little.
pub(super) const SHORT_DIFF: DiffBudget =
    DiffBudget { limit: 2_000, time: Duration::from_millis(10), max_text_bytes: 256 * 1024 };
/// For a requested diff.
pub(super) const LONG_DIFF: DiffBudget =
    DiffBudget { limit: 20_000, time: Duration::from_secs(1), max_text_bytes: 16 * 1024 * 1024 };

/// Maximum characters of a diff line.
const MAX_LINE_CHARS: usize = 500;

/// Summary of a replaced version.
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

/// The diff from a file to a new text.
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

/// The diff of a new file.
pub(super) fn addition(
    new: &str,
    path: &Path,
    cx: &ToolContext,
    effort: DiffBudget,
) -> Option<String> {
    compare("", new, ("/dev/null", &path_text::diff_heading("b/", path, &cx.working_dir)), effort)
}

/// The unified diff of two texts, within limits; `None` if it is empty. The
/// names go into its header.
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
        shown.text.push_str(&format!("[{} more diff lines]\n", shown.omitted_lines));
    }
    (!shown.text.is_empty()).then_some(shown.text)
}
