//! A version of the file that was there before, and how the new one differs.

use std::path::Path;
use std::time::Duration;

use hermes_core::ToolContext;
use hermes_text::count_lines;
use hermes_text::diff::{TextDiff, DiffLayout, DiffOptions};
use schemars::JsonSchema;
use serde::Serialize;

use crate::original::Original;
use crate::spelling;

/// What a diff may cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// Bytes of the diff.
    pub(super) limit: usize,
    pub(super) time: Duration,
    /// Bytes of a text; longer ones are not compared.
    pub(super) longest: usize,
}
/// For a diff that comes along with an answer: whoever rewrites so much learns
/// little from its first lines.
pub(super) const SHORT_DIFF: Effort =
    Effort { limit: 2_000, time: Duration::from_millis(10), longest: 256 * 1024 };
/// For one that was asked for.
pub(super) const LONG_DIFF: Effort =
    Effort { limit: 20_000, time: Duration::from_secs(1), longest: 16 * 1024 * 1024 };

/// Characters of a line of a diff.
const LINE: usize = 500;

/// A version that was replaced, in short.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Replaced {
    hash: String,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
}

impl Replaced {
    pub(super) fn of(old: &Original) -> Self {
        let lines = old.text().map(|text| count_lines(text) as u64);
        Self { hash: old.hash().to_string(), bytes: old.len(), lines }
    }
}

/// What a new text changes in a file.
pub(super) fn diff(
    old: &Original,
    new: &str,
    path: &Path,
    cx: &ToolContext,
    effort: Effort,
) -> Option<String> {
    let name = |side| spelling::heading(side, path, &cx.working_dir);
    compare(old.text()?, new, (&name("a/"), &name("b/")), effort)
}

/// What is in a file that was not there.
pub(super) fn addition(new: &str, path: &Path, cx: &ToolContext, effort: Effort) -> Option<String> {
    compare("", new, ("/dev/null", &spelling::heading("b/", path, &cx.working_dir)), effort)
}

/// The unified diff of two texts, within bounds; none if it is empty. The names
/// are those of its header.
pub(super) fn compare(
    old: &str,
    new: &str,
    (old_name, new_name): (&str, &str),
    effort: Effort,
) -> Option<String> {
    if old.len().max(new.len()) > effort.longest {
        return None;
    }
    let diff = TextDiff::new(old, new, &DiffOptions { time_limit: effort.time, ..DiffOptions::default() });
    let layout = DiffLayout {
        limit: effort.limit,
        line_limit: LINE,
        is_quoted: true,
        ..DiffLayout::full(old_name, new_name)
    };
    let mut shown = diff.unified(&layout);
    if shown.omitted_lines > 0 {
        shown.text.push_str(&format!("[{} more lines of the diff]\n", shown.omitted_lines));
    }
    (!shown.text.is_empty()).then_some(shown.text)
}
