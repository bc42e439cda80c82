//! `directory_list`: lists a directory, a few levels deep.

use std::path::Path;

use hermes_core::{
    Effect, ErrorKind, JsonSchema, Scope, Tool, ToolContext, ToolError, ToolExample, ToolSpec,
    WorkingDir, answer_schema,
};
use hermes_files::{FileAccess, FileKind, OpenDir, explain_error};
use hermes_search::{DirIgnoreRules, HiddenPathRules};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::aliases;
use crate::blocking::off_thread;
use crate::missing::{MissingKind, explain_missing};
use crate::path_text;

mod entry;
mod pattern;
mod sum;
mod walk;

use entry::DirListEntry;
use pattern::ListingPattern;
use walk::{ListingTotals, WalkOptions, WalkResult};

/// Maximum number of entries in a result.
const MAX_ENTRIES: u64 = 2000;

#[derive(Debug, Default)]
pub(crate) struct DirectoryList;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Directory.
    #[serde(default = "here")]
    path: String,
    /// Levels to descend, at most 10.
    #[serde(default = "one_level")]
    #[schemars(range(min = 1))]
    depth: u64,
    /// Glob on the name, or on the relative path if it has a `/`.
    pattern: Option<String>,
    /// Show dot files.
    #[serde(default)]
    hidden: bool,
    /// Skip what git ignores.
    #[serde(default = "yes")]
    gitignore: bool,
    /// Number of entries, at most 2000.
    #[serde(default = "usual_entries")]
    #[schemars(range(min = 1))]
    limit: u64,
    /// Entries to skip, for the next page.
    #[serde(default)]
    offset: u64,
    /// Sum sizes below each directory.
    #[serde(default)]
    folder_sizes: bool,
    /// By name (directories first), largest or newest first.
    #[serde(default)]
    sort: ListingSort,
}

/// Sort order of entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ListingSort {
    #[default]
    Name,
    Size,
    Modified,
}

fn here() -> String {
    ".".to_owned()
}

fn one_level() -> u64 {
    1
}

fn yes() -> bool {
    true
}

fn usual_entries() -> u64 {
    200
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    path: String,
    entries: Vec<DirListEntry>,
    /// Number of matches, shown or not.
    total: u64,
    totals: ListingTotals,
    /// If false, time was up and `total` is a lower bound.
    #[serde(skip_serializing_if = "is_true")]
    total_is_exact: bool,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_true(value: &bool) -> bool {
    *value
}

impl Tool for DirectoryList {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        aliases::add_dir_aliases(ToolSpec::new("directory_list", "file"))
            .emoji("📂")
            .description("List a directory: relative paths, types and sizes in bytes, with \
                totals.")
            .alias("list_directory")
            .alias("list")
            .alias("list_dir")
            .alias("list_files")
            .alias("ls")
            .parameter_alias("max_depth", "depth")
            .parameter_alias("glob", "pattern")
            .parameter_alias("show_hidden", "hidden")
            .parameter_alias("include_hidden", "hidden")
            .parameter_alias("respect_gitignore", "gitignore")
            .parameter_alias("max_results", "limit")
            .parameter_alias("max_entries", "limit")
            .parameter_alias("sort_by", "sort")
            .parameter_alias("directory_sizes", "folder_sizes")
            .read_only()
            .keyword("ls")
            .keyword("dir")
            .keyword("tree")
            .keyword("folder")
            .keyword("browse")
            .keyword("files")
            .keyword("du")
            .example(
                ToolExample::new("A directory, two levels deep", r#"{"depth":2}"#)
                    .file("src/main.rs", "fn main() {}\n")
                    .file("README.md", "# Demo\n")
                    .expects(
                        r#"{"entries":[{"path":"src","type":"dir"},{"path":"README.md","type":"file","size":7},{"path":"src/main.rs","type":"file","size":13}],"total":3,"truncated":false}"#,
                    ),
            )
            .example(
                ToolExample::new("Only the Markdown files", r#"{"pattern":"*.md"}"#)
                    .file("a.md", "# A\n")
                    .file("b.txt", "b\n")
                    .expects(r#"{"entries":[{"path":"a.md","type":"file","size":4}],"total":1}"#),
            )
    }

    fn output_schema() -> Option<Value> {
        Some(answer_schema::<Output>())
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        vec![Effect::path(Scope::FILE_READ, path_text::resolve(at, &args.path))]
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        let path = path_text::resolve(&cx.working_dir, &args.path);
        off_thread(cx, move |cx| list(&args, &path, cx)).await
    }
}

fn list(args: &Args, path: &Path, cx: &ToolContext) -> Result<Output, ToolError> {
    let pattern =
        args.pattern.as_deref().map(|glob| ListingPattern::new(glob, path)).transpose()?;
    let files = FileAccess::new(cx);
    let root = files.open_dir(path).map_err(|error| open_error(&files, path, cx, error))?;
    let walked = root.try_clone().map_err(|error| explain_error("list", path, &error))?;
    let place = files.real_path(path)?;
    let above = files.ignore_rules_above(path)?;
    let rules = args.gitignore.then(|| DirIgnoreRules::from_parents(&place, &above));
    let veil = HiddenPathRules::from_grants(&cx.grants);
    let guide = WalkOptions { args, pattern: pattern.as_ref(), place: &place, veil, cx };
    let end = args.offset.saturating_add(args.limit.clamp(1, MAX_ENTRIES));
    let mut survey = WalkResult::walk(&guide, walked, rules, end)?;
    let (is_partial, totals, passed_git) = (survey.is_partial, survey.totals, survey.skipped_git);
    let unreadable = std::mem::take(&mut survey.unreadable);
    let unreadable =
        unreadable.iter().map(|below| path_text::display_below("", path, below)).collect();
    let (found, total) = survey.into_order();
    let skip = usize::try_from(args.offset).unwrap_or(usize::MAX);
    let with_time = args.sort == ListingSort::Modified;
    let shown = found.iter().skip(skip);
    let entries: Vec<DirListEntry> =
        shown.map(|found| found.describe(&root, path, with_time)).collect();
    let next = args.offset.saturating_add(entries.len() as u64);
    let has_more = total > next && !entries.is_empty();
    Ok(Output {
        hint: hint(args, &root, total, next, is_partial).or_else(|| {
            passed_git.then(|| ".git is not expanded; gitignore=false expands it.".to_owned())
        }),
        path: path_text::display_path(path),
        entries,
        total,
        totals,
        total_is_exact: !is_partial,
        truncated: is_partial || has_more,
        next_offset: has_more.then_some(next),
        unreadable,
    })
}

/// Explains why a directory was not opened, with a hint.
fn open_error(
    files: &FileAccess<'_>,
    path: &Path,
    cx: &ToolContext,
    error: ToolError,
) -> ToolError {
    match error.kind() {
        ErrorKind::NotFound => explain_missing(MissingKind::Directory, path, cx),
        ErrorKind::InvalidArguments => match files.metadata(path).map(|found| found.kind) {
            Ok(FileKind::File) => error.with_hint("Read it with read_file."),
            Ok(_) => error.with_hint("Only directories can be listed."),
            Err(_) => error,
        },
        _ => error,
    }
}

fn hint(args: &Args, root: &OpenDir, total: u64, next: u64, is_partial: bool) -> Option<String> {
    if is_partial {
        return Some(format!(
            "Time was up after {total} matches, there may be more; list a subdirectory, or use \
             a smaller depth."
        ));
    }
    if total > 0 && args.offset >= total {
        return Some(format!("There are only {total} entries."));
    }
    if total > next {
        return Some(format!(
            "{} to {next} of {total} shown; use offset={next} for the next page (limit at most \
             {MAX_ENTRIES}), or pattern to filter.",
            args.offset + 1,
        ));
    }
    let is_filtered = !args.hidden || args.gitignore || args.pattern.is_some();
    let holds_any = || root.entries().is_ok_and(|mut entries| entries.next().is_some());
    (total == 0 && is_filtered && holds_any()).then(|| {
        "The directory is not empty, but no entry matches; hidden=true shows dot files, \
         gitignore=false shows ignored files."
            .to_owned()
    })
}
