//! `file_diff`: compares two files, two directories, a file and a text, or a
//! file and its version at a checkpoint.

use std::path::{Path, PathBuf};

use encoding_rs::Encoding;
use hermes_core::{
    CheckpointReader, Effect, ErrorKind, JsonSchema, OutputLimits, Scope, Tool, ToolContext,
    ToolError, ToolExample, ToolSpec, WorkingDir,
};
use hermes_files::{FileAccess, FileKind};
use hermes_text::diff::WhitespaceMode;
use serde::{Deserialize, Serialize};

use crate::aliases;
use crate::blocking::off_thread;
use crate::charset;
use crate::missing::{MissingKind, explain_missing};
use crate::path_text::{display_path, resolve};

mod compared_dir;
mod output;
mod pair;
mod report;
mod side;
mod tree;

use output::Output;
use pair::DiffRequest;
use side::DiffSide;

/// Maximum number of entries in a result.
const MAX_ENTRIES: u64 = 2000;

/// Inputs larger than this report progress.
const LARGE_FILE_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct FileDiff;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Old file/directory.
    path: Option<String>,
    /// New file/directory.
    other_path: Option<String>,
    /// Text instead of the new file.
    content: Option<String>,
    /// Text instead of the old file.
    old_content: Option<String>,
    /// Compare `path` with its version at this checkpoint (an id or `latest`).
    checkpoint: Option<String>,
    /// Stat: only the counts.
    #[serde(default)]
    format: DiffFormat,
    /// Unchanged lines around each change.
    #[serde(default = "usual_context")]
    context: u64,
    /// Whitespace to ignore.
    #[serde(default)]
    ignore_whitespace: IgnoredWhitespace,
    /// Ignore letter case.
    #[serde(default)]
    ignore_case: bool,
    /// Ignore blank lines.
    #[serde(default)]
    ignore_blank_lines: bool,
    /// Columns of side_by_side.
    #[serde(default = "usual_width")]
    width: u64,
    /// If not detected, such as windows-1252.
    encoding: Option<String>,
    /// In directories, skip what git ignores.
    #[serde(default = "yes")]
    gitignore: bool,
    /// Directory entries to list, at most 2000.
    #[serde(default = "usual_entries")]
    #[schemars(range(min = 1))]
    limit: u64,
}

/// Format of the diff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DiffFormat {
    #[default]
    Unified,
    Words,
    SideBySide,
    Stat,
}

/// Whitespace to ignore.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IgnoredWhitespace {
    #[default]
    None,
    Trailing,
    Amount,
    All,
}

fn usual_context() -> u64 {
    3
}

fn usual_width() -> u64 {
    120
}

fn yes() -> bool {
    true
}

fn usual_entries() -> u64 {
    200
}

impl Args {
    /// Returns the encoding set by the caller.
    fn encoding(&self) -> Result<Option<&'static Encoding>, ToolError> {
        let named = self.encoding.as_deref().map(charset::parse_encoding).transpose()?;
        Ok(named.map(|(encoding, _)| encoding))
    }
}

impl Tool for FileDiff {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        let spec = ToolSpec::new("file_diff", "file")
            .emoji("🔀")
            .description(
                "Compare two files or directories (path, other_path), a file and a text (path, \
                 content), or a file and its checkpoint (path, checkpoint).",
            )
            .read_only()
            .keyword("compare")
            .keyword("changes")
            .keyword("delta")
            .keyword("review")
            .keyword("cmp");
        examples(add_aliases(aliases::add_file_aliases(spec)))
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        let paths = [&args.path, &args.other_path].into_iter().flatten();
        paths.map(|path| Effect::path(Scope::FILE_READ, resolve(at, path))).collect()
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        off_thread(cx, move |cx| diff(&args, cx)).await
    }
}

fn add_aliases(spec: ToolSpec) -> ToolSpec {
    [
        ("old_path", "path"),
        ("file1", "path"),
        ("file_a", "path"),
        ("path1", "path"),
        ("path_a", "path"),
        ("old_file", "path"),
        ("from", "path"),
        ("left", "path"),
        ("source", "path"),
        ("original", "path"),
        ("new_path", "other_path"),
        ("file2", "other_path"),
        ("file_b", "other_path"),
        ("path2", "other_path"),
        ("path_b", "other_path"),
        ("new_file", "other_path"),
        ("to", "other_path"),
        ("right", "other_path"),
        ("target", "other_path"),
        ("modified", "other_path"),
        ("new_content", "content"),
        ("new_text", "content"),
        ("text", "content"),
        ("text2", "content"),
        ("old_text", "old_content"),
        ("text1", "old_content"),
        ("snapshot", "checkpoint"),
        ("context_lines", "context"),
        ("output_format", "format"),
        ("mode", "format"),
        ("respect_gitignore", "gitignore"),
    ]
    .into_iter()
    .fold(spec, |spec, (from, to)| spec.parameter_alias(from, to))
}

fn examples(spec: ToolSpec) -> ToolSpec {
    spec.example(
        ToolExample::new("Two files", r#"{"path":"old.txt","other_path":"new.txt"}"#)
            .file("old.txt", "one\ntwo\n")
            .file("new.txt", "one\n2\n")
            .expects(
                r#"{"identical":false,"added_lines":1,"removed_lines":1,"diff":"--- old.txt\n+++ new.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"}"#,
            ),
    )
    .example(
        ToolExample::new(
            "Word diff of a file and a new text",
            r#"{"path":"a.txt","content":"timeout = 31\n","format":"words"}"#,
        )
        .file("a.txt", "timeout = 30\n")
        .expects(
            r#"{"identical":false,"diff":"--- a.txt\n+++ content\n@@ -1 +1 @@\ntimeout = [-30-]{+31+}\n"}"#,
        ),
    )
    .example(
        ToolExample::new(
            "Files that differ between two directories",
            r#"{"path":"v1","other_path":"v2","format":"stat"}"#,
        )
        .file("v1/a.txt", "a\n")
        .file("v1/same.txt", "same\n")
        .file("v2/b.txt", "b\n")
        .file("v2/same.txt", "same\n")
        .expects(
            r#"{"identical":false,"summary":{"added":1,"removed":1,"changed":0,"type_changed":0,"identical":1},"files":[{"path":"a.txt","status":"removed","removed_lines":1},{"path":"b.txt","status":"added","added_lines":1}]}"#,
        ),
    )
}

/// The inputs of a comparison.
enum DiffSubject {
    Pair(Box<(DiffSide, DiffSide)>),
    Directories(PathBuf, PathBuf),
}

fn diff(args: &Args, cx: &ToolContext) -> Result<Output, ToolError> {
    let bounds = cx.ports.get::<OutputLimits>().map_or_else(OutputLimits::default, |b| *b);
    let request = DiffRequest::new(args, &bounds);
    match subject(args, cx)? {
        DiffSubject::Pair(sides) => {
            let size = sides.0.size + sides.1.size;
            if size > LARGE_FILE_BYTES {
                cx.report_progress(None, format!("comparing {size} bytes"));
            }
            Ok(Output::from_pair(&sides.0, &sides.1, &request))
        }
        DiffSubject::Directories(old, new) => tree::compare(args, &old, &new, &request, cx),
    }
}

fn subject(args: &Args, cx: &ToolContext) -> Result<DiffSubject, ToolError> {
    let shown = args.encoding()?;
    for path in [&args.path, &args.other_path].into_iter().flatten() {
        FileAccess::new(cx).check_trailing_slash(path, &resolve(&cx.working_dir, path))?;
    }
    let read = |path: &String| DiffSide::read(path, &resolve(&cx.working_dir, path), shown, cx);
    let pair = |old: DiffSide, new: DiffSide| Ok(DiffSubject::Pair(Box::new((old, new))));
    match (&args.path, &args.old_content, &args.other_path, &args.content, &args.checkpoint) {
        (Some(old), None, Some(new), None, None) => match as_directories(old, new, cx)? {
            Some((old, new)) => Ok(DiffSubject::Directories(old, new)),
            None => pair(read(old)?, read(new)?),
        },
        (Some(old), None, None, Some(text), None) => {
            pair(read(old)?, DiffSide::from_text("content", text))
        }
        (None, Some(text), Some(new), None, None) => {
            pair(DiffSide::from_text("old_content", text), read(new)?)
        }
        (None, Some(old), None, Some(new), None) => {
            pair(DiffSide::from_text("old_content", old), DiffSide::from_text("content", new))
        }
        (Some(path), None, None, None, Some(checkpoint)) => {
            let (old, new) = checkpoint_sides(checkpoint, path, shown, cx)?;
            pair(old, new)
        }
        _ => Err(ToolError::invalid("The arguments do not name one old and one new side")
            .with_hint(
                "Set path and other_path; path and content; old_content and content; old_content \
             and other_path; or path and checkpoint.",
            )),
    }
}

/// Returns both as directories; `None` for two files.
fn as_directories(
    old: &str,
    new: &str,
    cx: &ToolContext,
) -> Result<Option<(PathBuf, PathBuf)>, ToolError> {
    let (old, new) = (resolve(&cx.working_dir, old), resolve(&cx.working_dir, new));
    let (old_kind, new_kind) = (entry_kind(&old, cx)?, entry_kind(&new, cx)?);
    match (old_kind == FileKind::Directory, new_kind == FileKind::Directory) {
        (true, true) => Ok(Some((old, new))),
        (false, false) => Ok(None),
        _ => Err(ToolError::invalid(format!(
            "{} is {}, but {} is {}",
            display_path(&old),
            old_kind.describe(),
            display_path(&new),
            new_kind.describe()
        ))
        .with_hint("Compare two files or two directories; name a file in the directory.")),
    }
}

fn entry_kind(path: &Path, cx: &ToolContext) -> Result<FileKind, ToolError> {
    let found = FileAccess::new(cx).metadata(path).map(|facts| facts.kind);
    found.map_err(|error| match error.kind() {
        ErrorKind::NotFound => explain_missing(MissingKind::File, path, cx),
        _ => error,
    })
}

/// Returns a file at a checkpoint, and its current version.
fn checkpoint_sides(
    checkpoint: &str,
    path: &str,
    shown: Option<&'static Encoding>,
    cx: &ToolContext,
) -> Result<(DiffSide, DiffSide), ToolError> {
    let place = resolve(&cx.working_dir, path);
    let files = FileAccess::new(cx);
    let real = files.real_path(&place)?;
    let exists = files.exists(&place)?;
    if exists && files.metadata(&place)?.kind == FileKind::Directory {
        return Err(ToolError::invalid(format!("{} is a directory", display_path(&place)))
            .with_hint("Checkpoints are compared per file; name a file in the directory."));
    }
    let Some(snapshots) = cx.ports.get::<dyn CheckpointReader>() else {
        return Err(ToolError::unavailable("Checkpoints are not enabled")
            .with_hint("Compare with another file (other_path) or a text (content)."));
    };
    let name = format!("{path}@{checkpoint}");
    let old = match snapshots.file_content(checkpoint, &real)? {
        Some(bytes) => {
            DiffSide::from_bytes(name, bytes, shown, || charset::known_encoding(cx, &place))
        }
        None => DiffSide::absent(name),
    };
    let new = if exists {
        DiffSide::read(path, &place, shown, cx)?
    } else {
        DiffSide::absent(path.to_owned())
    };
    Ok((old, new))
}

impl From<IgnoredWhitespace> for WhitespaceMode {
    fn from(ignored: IgnoredWhitespace) -> Self {
        match ignored {
            IgnoredWhitespace::None => Self::Exact,
            IgnoredWhitespace::Trailing => Self::IgnoreTrailing,
            IgnoredWhitespace::Amount => Self::IgnoreAmount,
            IgnoredWhitespace::All => Self::IgnoreAll,
        }
    }
}
