//! `directory_list`: what a folder holds, a few levels deep.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use hermes_core::{
    Effect, ErrorKind, Example, JsonSchema, Scope, Tool, ToolContext, ToolError, ToolSpec,
    Workplace,
};
use hermes_files::{Files, Folder, Kind, explain};
use serde::{Deserialize, Serialize};

use crate::blocking::off_thread;
use crate::missing::{Wanted, explain_missing};

mod entry;
mod rules;
mod walk;

use entry::{Entry, Found};
use rules::Rules;
use walk::Survey;

/// Entries in an answer at most.
const ENTRIES: u64 = 2000;

#[derive(Debug, Default)]
pub(crate) struct DirectoryList;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Folder to list.
    #[serde(default = "here")]
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// Levels to descend.
    #[serde(default = "one_level")]
    #[schemars(range(min = 1, max = 10))]
    depth: u64,
    /// Glob on the name, or on the relative path if it has a `/`.
    pattern: Option<String>,
    /// Show dot files.
    #[serde(default)]
    hidden: bool,
    /// Leave out what git ignores.
    #[serde(default = "yes")]
    gitignore: bool,
    /// Number of entries, at most 2000.
    #[serde(default = "usual_entries")]
    #[schemars(range(min = 1))]
    limit: u64,
    /// Name: folders first; size: largest first; modified: newest first.
    #[serde(default)]
    sort: Sort,
}

/// What the entries are ordered by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sort {
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

#[derive(Debug, Serialize)]
pub(crate) struct Output {
    path: String,
    entries: Vec<Entry>,
    /// Of all that match, shown or not.
    total: u64,
    truncated: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Tool for DirectoryList {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        ToolSpec::new("directory_list", "file")
            .emoji("📂")
            .description("List a folder: paths relative to it, types and sizes in bytes.")
            .alias("list_directory")
            .parameter_alias("directory", "path")
            .parameter_alias("dir", "path")
            .parameter_alias("folder", "path")
            .parameter_alias("directory_path", "path")
            .parameter_alias("max_depth", "depth")
            .parameter_alias("glob", "pattern")
            .parameter_alias("show_hidden", "hidden")
            .parameter_alias("include_hidden", "hidden")
            .parameter_alias("respect_gitignore", "gitignore")
            .parameter_alias("max_results", "limit")
            .parameter_alias("max_entries", "limit")
            .parameter_alias("sort_by", "sort")
            .read_only()
            .keyword("ls")
            .keyword("dir")
            .keyword("tree")
            .keyword("folder")
            .keyword("browse")
            .keyword("files")
            .example(
                Example::new("A folder and what is one level below", r#"{"depth":2}"#)
                    .given("src/main.rs", "fn main() {}\n")
                    .given("README.md", "# Demo\n")
                    .gives(
                        r#"{"entries":[{"path":"src","type":"dir"},{"path":"README.md","type":"file","size":7},{"path":"src/main.rs","type":"file","size":13}],"total":3,"truncated":false}"#,
                    ),
            )
            .example(
                Example::new("Only the Markdown files", r#"{"pattern":"*.md"}"#)
                    .given("a.md", "# A\n")
                    .given("b.txt", "b\n")
                    .gives(r#"{"entries":[{"path":"a.md","type":"file","size":4}],"total":1}"#),
            )
    }

    fn effects(&self, args: &Args, at: &Workplace) -> Vec<Effect> {
        vec![Effect::path(Scope::FILE_READ, at.resolve(&args.path))]
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        let path = cx.workplace.resolve(&args.path);
        off_thread(cx, move |cx| list(&args, &path, cx)).await
    }
}

fn list(args: &Args, path: &Path, cx: &ToolContext) -> Result<Output, ToolError> {
    let pattern = args.pattern.as_deref().map(Pattern::new).transpose()?;
    let files = Files::new(cx);
    let root = files.folder(path).map_err(|error| refused(&files, path, cx, error))?;
    let walked = root.try_clone().map_err(|error| explain("list", path, &error))?;
    let rules = if args.gitignore { Some(Rules::above(&files, path)?) } else { None };
    let mut survey = Survey::take(args, walked, rules, pattern.as_ref(), cx)?;
    let total = survey.found.len() as u64;
    let shown = usize::try_from(args.limit.clamp(1, ENTRIES)).unwrap_or(usize::MAX);
    let truncated = survey.is_partial || survey.found.len() > shown;
    Found::sort(&mut survey.found, args.sort);
    survey.found.truncate(shown);
    let with_time = args.sort == Sort::Modified;
    let entries: Vec<Entry> =
        survey.found.iter().map(|found| found.describe(&root, with_time)).collect();
    Ok(Output {
        hint: hint(args, &root, &survey, total, truncated),
        path: path.to_string_lossy().into_owned(),
        entries,
        total,
        truncated,
        unreadable: survey.unreadable,
    })
}

/// Why a folder was not opened, with what to do instead.
fn refused(files: &Files<'_>, path: &Path, cx: &ToolContext, error: ToolError) -> ToolError {
    match error.kind() {
        ErrorKind::NotFound => explain_missing(Wanted::Folder, path, cx),
        ErrorKind::InvalidArguments => match files.metadata(path).map(|found| found.kind) {
            Ok(Kind::File) => error.with_hint("Read it with read_file."),
            Ok(_) => error.with_hint("Only folders can be listed."),
            Err(_) => error,
        },
        _ => error,
    }
}

fn hint(
    args: &Args,
    root: &Folder,
    survey: &Survey,
    total: u64,
    truncated: bool,
) -> Option<String> {
    if survey.is_partial {
        return Some(format!(
            "The walk stopped after {total} matches, there are more; list a folder below, or use \
             a smaller depth."
        ));
    }
    if truncated {
        return Some(format!(
            "{} of {total} shown; set limit (at most {ENTRIES}), narrow with pattern, or list a \
             folder below.",
            survey.found.len()
        ));
    }
    let is_filtered = !args.hidden || args.gitignore || args.pattern.is_some();
    let holds_any = || root.entries().is_ok_and(|mut entries| entries.next().is_some());
    (total == 0 && is_filtered && holds_any()).then(|| {
        "The folder is not empty, but nothing in it matches; hidden=true shows dot files, \
         gitignore=false what git ignores."
            .to_owned()
    })
}

/// A glob for names, or for relative paths if it speaks of folders.
#[derive(Debug)]
pub(crate) struct Pattern {
    matcher: GlobMatcher,
    on_path: bool,
}

impl Pattern {
    fn new(glob: &str) -> Result<Self, ToolError> {
        let written = glob.strip_prefix("./").unwrap_or(glob);
        let built = GlobBuilder::new(written).literal_separator(true).build();
        let matcher = built
            .map_err(|error| ToolError::invalid(format!("The pattern is not a glob: {error}")))?
            .compile_matcher();
        Ok(Self { matcher, on_path: written.contains('/') })
    }

    fn matches(&self, relative: &Path) -> bool {
        let subject = if self.on_path { Some(relative.as_os_str()) } else { relative.file_name() };
        subject.is_some_and(|subject| self.matcher.is_match(subject))
    }
}
