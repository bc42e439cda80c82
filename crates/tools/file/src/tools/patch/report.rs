//! The result: what was changed, where, and how it was matched.

use std::path::Path;
use std::time::Duration;

use hermes_core::ToolContext;
use hermes_text::diff::{DiffLayout, DiffOptions, TextDiff, close_name};
use schemars::JsonSchema;
use serde::Serialize;

use super::outcome::{ChangedSpot, FileFate, PatchOutcome, PatchedFile};
use super::request::PatchPlan;
use crate::change::AppliedChange;
use crate::lint::{self, LintReport};
use crate::path_text::{diff_header, display_path};
use crate::seen_files::FileHash;

/// Bytes of the diff, in a normal result and in a dry run.
const MAX_DIFF_BYTES: usize = 8_000;
const MAX_DRY_RUN_DIFF_BYTES: usize = 60_000;
/// Characters per diff line.
const MAX_LINE_CHARS: usize = 1_000;
/// Longer texts are not compared.
const MAX_COMPARED_BYTES: usize = 64 << 20;
/// Time limit for all diffs together.
const DIFF_TIME_LIMIT: Duration = Duration::from_millis(500);
/// Changed places listed in a result.
const MAX_PLACES: usize = 100;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    success: bool,
    #[serde(skip_serializing_if = "is_false")]
    dry_run: bool,
    /// How the old text matched; the loosest strategy used.
    #[serde(skip_serializing_if = "Option::is_none")]
    strategy: Option<&'static str>,
    /// Format of the patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    diff: String,
    /// Lines omitted from the diff.
    #[serde(skip_serializing_if = "is_zero")]
    diff_left_out: usize,
    /// Changed places, plus files created, deleted, moved or with a new mode.
    changes: usize,
    /// Lines of each place, before and after; `[n, n-1]` is empty, at n.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    line_ranges: Vec<ChangedRange>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files_modified: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files_created: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files_deleted: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files_moved: Vec<MovedFile>,
    /// The current versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hashes: Vec<FileVersion>,
    /// The only file.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved_path: Option<String>,
    /// The bytes on disk were read back and match.
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dirs_created: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lint: Vec<FileLint>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_kept: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ChangedRange {
    /// Omitted if there is only one file.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    strategy: &'static str,
    before: [usize; 2],
    after: [usize; 2],
}

#[derive(Debug, Serialize, JsonSchema)]
struct MovedFile {
    from: String,
    to: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FileVersion {
    path: String,
    hash: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FileLint {
    path: String,
    #[serde(flatten)]
    found: LintReport,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &usize) -> bool {
    *value == 0
}

impl Output {
    /// The result of a call, before its changes are written.
    pub(super) fn describe(
        outcome: &PatchOutcome,
        plan: &PatchPlan,
        hashes: &[Option<FileHash>],
        dry_run: bool,
        cx: &ToolContext,
    ) -> Self {
        let single = match outcome.files.as_slice() {
            [file] => Some(display_path(&file.written_path())),
            _ => None,
        };
        let place = |spot: &ChangedSpot| ChangedRange {
            path: single.is_none().then(|| display_path(&spot.path)),
            strategy: spot.strategy.name(),
            before: [spot.before.first, spot.before.last],
            after: [spot.after.first, spot.after.last],
        };
        let strategy = outcome.spots.iter().map(|spot| spot.strategy).max();
        let of = |wanted: FileFate| {
            let files = outcome.files.iter().filter(move |file| file.fate == wanted);
            files.map(|file| display_path(&file.written_path())).collect::<Vec<String>>()
        };
        let moved = outcome.files.iter().filter_map(|file| match &file.fate {
            FileFate::Moved(from) => {
                Some(MovedFile { from: display_path(from), to: display_path(&file.path) })
            }
            _ => None,
        });
        let version = |file: &PatchedFile| {
            let hash = outcome.version(file, hashes)?.to_string();
            Some(FileVersion { path: display_path(&file.path), hash })
        };
        let (diff, diff_left_out) = unified_diffs(
            &outcome.files,
            if dry_run { MAX_DRY_RUN_DIFF_BYTES } else { MAX_DIFF_BYTES },
            cx,
        );
        let mut warnings = plan.warnings.clone();
        warnings.extend(outcome.stale_warnings(cx));
        warnings.extend_from_slice(&outcome.warnings);
        warnings.dedup();
        Self {
            success: true,
            dry_run,
            strategy: strategy.map(hermes_text::matching::MatchStrategy::name),
            format: plan.format.map(hermes_text::patch_formats::PatchFormat::name),
            diff,
            diff_left_out,
            changes: outcome.spots.len()
                + outcome.files.iter().filter(|f| f.is_changed_as_whole()).count(),
            line_ranges: outcome.spots.iter().take(MAX_PLACES).map(place).collect(),
            files_modified: of(FileFate::Modified),
            files_created: of(FileFate::Created),
            files_deleted: of(FileFate::Deleted),
            files_moved: moved.collect(),
            hashes: outcome.files.iter().filter_map(version).collect(),
            resolved_path: single,
            verified: None,
            dirs_created: Vec::new(),
            lint: outcome.files.iter().filter_map(lint_file).collect(),
            not_kept: Vec::new(),
            warnings,
        }
    }

    /// Adds what is known once the changes are written.
    pub(super) fn with_written(mut self, done: &[AppliedChange]) -> Self {
        self.verified = Some(true);
        let dirs = done.iter().flat_map(|done| &done.created_dirs);
        self.dirs_created = dirs.map(|dir| display_path(dir)).collect();
        self.not_kept = done.iter().flat_map(|done| done.not_kept.clone()).collect();
        self
    }
}

/// Syntax errors that a change introduces.
fn lint_file(file: &PatchedFile) -> Option<FileLint> {
    let found = lint::check(&file.path, file.old.as_deref(), file.new.as_deref()?)?;
    Some(FileLint { path: display_path(&file.path), found })
}

/// The git header lines for a mode change.
fn mode_diff(file: &PatchedFile, old_name: &str, new_name: &str) -> String {
    let Some(runs) = file.is_executable else { return String::new() };
    let (old, new) = if runs { ("100644", "100755") } else { ("100755", "100644") };
    match &file.fate {
        FileFate::Created => format!("diff --git {old_name} {new_name}\nnew file mode {new}\n"),
        // The rename header already has the names.
        FileFate::Moved(_) => format!("old mode {old}\nnew mode {new}\n"),
        _ => {
            format!("diff --git {old_name} {new_name}\nold mode {old}\nnew mode {new}\n")
        }
    }
}

/// The unified diffs of all files within `limit` bytes, and the number of lines
/// omitted.
fn unified_diffs(files: &[PatchedFile], limit: usize, cx: &ToolContext) -> (String, usize) {
    let mut text = String::new();
    let mut left_out = 0;
    let name = |side: &str, path: &Path| diff_header(side, path, &cx.working_dir);
    for file in files {
        let (old, new) = (file.old.as_deref(), file.new.as_deref());
        let (old_name, new_name) = match &file.fate {
            FileFate::Modified => (name("a/", &file.path), name("b/", &file.path)),
            FileFate::Created => ("/dev/null".to_owned(), name("b/", &file.path)),
            FileFate::Deleted => (name("a/", &file.path), "/dev/null".to_owned()),
            FileFate::Moved(from) => {
                let (old, new) = (name("a/", from), name("b/", &file.path));
                let (from, to) = (name("", from), name("", &file.path));
                text.push_str(&format!("diff --git {old} {new}\n"));
                text.push_str(&format!("rename from {from}\nrename to {to}\n"));
                (old, new)
            }
        };
        // Git puts the file's name on both sides, even for a new file.
        let heading = mode_diff(file, &name("a/", &file.path), &name("b/", &file.path));
        // An empty file that is created or deleted has no diff lines.
        let is_new = matches!(file.fate, FileFate::Created);
        if heading.is_empty() && old.or(new) == Some("") && (is_new || new.is_none()) {
            let (old, new) = (name("a/", &file.path), name("b/", &file.path));
            let what = if is_new { "new" } else { "deleted" };
            text.push_str(&format!("diff --git {old} {new}\n{what} file mode 100644\n"));
        }
        text.push_str(&heading);
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        if old.len().max(new.len()) > MAX_COMPARED_BYTES {
            left_out += 1;
            continue;
        }
        let effort = DIFF_TIME_LIMIT / u32::try_from(files.len()).unwrap_or(u32::MAX);
        let diff =
            TextDiff::new(old, new, &DiffOptions { time_limit: effort, ..DiffOptions::default() });
        let room = limit.saturating_sub(text.len());
        let (old_name, new_name) = (close_name(old_name), close_name(new_name));
        let layout = DiffLayout {
            limit: room,
            line_limit: MAX_LINE_CHARS,
            is_quoted: true,
            ..DiffLayout::full(&old_name, &new_name)
        };
        let shown = diff.unified(&layout);
        text.push_str(&shown.text);
        left_out += shown.omitted_lines;
    }
    (text, left_out)
}
