//! `write_file`: writes a whole text file atomically, and never over a version
//! that the caller has not seen.

use std::mem;
use std::path::Path;

use encoding_rs::UTF_8;
use hermes_core::{
    Effect, ErrorKind, JsonSchema, Scope, Tool, ToolContext, ToolError, ToolExample, ToolSpec,
    WorkingDir, answer_schema,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use hermes_text::{LineEndings, TextDocument, count_lines};

use crate::aliases;
use crate::blocking::in_place;
use crate::change::{AppliedChange, ExistingFile, FileChange, cache_versions, lock_files};
use crate::charset;
use crate::lint::{self, LintReport};
use crate::numbered::{LineNumbering, begins_numbered, is_unchanged_note, numbers_lines_of};
use crate::original::OriginalFile;
use crate::path_text::{self, display_path};
use crate::seen_files::{self, FileHash, FileSighting};
use crate::{unchanged, versions};

mod conflict;
mod version;
mod write_format;

use conflict::CallerKnowledge;
use version::{LONG_DIFF, ReplacedVersion, SHORT_DIFF, addition, diff};
use write_format::{EncodedContent, LineEndingArg, MisreadEncoding, WriteFormat};

#[derive(Debug, Default)]
pub(crate) struct WriteFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// File to write; missing dirs are created.
    path: String,
    /// The whole new content.
    content: String,
    /// Write only if the file still has this `hash`.
    expected_hash: Option<String>,
    /// Show the diff, write nothing.
    #[serde(default)]
    dry_run: bool,
    /// Such as utf-8 or windows-1252; default: the file's.
    encoding: Option<String>,
    /// Default: the file's.
    line_endings: Option<LineEndingArg>,
    /// `N|` line prefixes are intended.
    #[serde(default)]
    keep_numbers: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    success: bool,
    /// As in the call.
    path: String,
    resolved_path: String,
    bytes_written: u64,
    created: bool,
    /// The current version.
    hash: String,
    lines: u64,
    files_modified: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dirs_created: Vec<String>,
    #[serde(skip_serializing_if = "is_false")]
    dry_run: bool,
    /// The file already had this content.
    #[serde(skip_serializing_if = "is_false")]
    unchanged: bool,
    /// The replaced version, if unseen.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced_unseen: Option<ReplacedVersion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_endings: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lint: Option<LintReport>,
    /// Attributes of the old file that were lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_kept: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

const PARTIAL_READ_NOTE: &str = "You had read only part of the replaced file.";
const RECREATED_NOTE: &str = "The file you had read no longer existed; it was created again.";
const BINARY_REPLACED_NOTE: &str = "The replaced file is not text.";

fn is_false(value: &bool) -> bool {
    !value
}

impl Tool for WriteFile {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        aliases::add_file_aliases(ToolSpec::new("write_file", "file"))
            .emoji("📝")
            .description(
                "Write a whole text file, new or existing. Refused (`conflict`) if the file \
                 has changed since you read it. To change parts, use patch.",
            )
            .alias("file_write")
            .alias("write")
            .alias("write_to_file")
            .alias("create_file")
            .alias("save_file")
            .parameter_alias("text", "content")
            .parameter_alias("contents", "content")
            .parameter_alias("file_content", "content")
            .parameter_alias("data", "content")
            .parameter_alias("hash", "expected_hash")
            .parameter_alias("charset", "encoding")
            .parameter_alias("line_ending", "line_endings")
            .parameter_alias("newline", "line_endings")
            .destructive()
            .reports_changes()
            .idempotent()
            .keyword("save")
            .keyword("create")
            .keyword("overwrite")
            .keyword("new file")
            .keyword("output")
            .example(
                ToolExample::new(
                    "New file in a new dir",
                    r#"{"path":"src/hello.txt","content":"Hello\nworld\n"}"#,
                )
                .expects(r#"{"success":true,"path":"src/hello.txt","bytes_written":12,"created":true,"lines":2}"#),
            )
            .example(
                ToolExample::new(
                    "Preview a write",
                    r#"{"path":"a.txt","content":"one\nthree\n","dry_run":true}"#,
                )
                .file("a.txt", "one\ntwo\n")
                .expects(
                    r#"{"bytes_written":0,"created":false,"dry_run":true,"diff":"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"}"#,
                ),
            )
    }

    fn output_schema() -> Option<Value> {
        Some(answer_schema::<Output>())
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        let path = path_text::resolve(at, &args.path);
        let mut effects = vec![Effect::path(Scope::FILE_READ, &path)];
        if !args.dry_run {
            effects.push(Effect::path(Scope::FILE_WRITE, path));
        }
        effects
    }

    fn bulk_arguments() -> &'static [&'static str] {
        &["content"]
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        let path = path_text::resolve(&cx.working_dir, &args.path);
        let written = in_place(cx, move |cx| write(args, &path, cx)).await;
        written.map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                error.with_hint("A parent of the path is a file; choose another path.")
            }
            _ => error,
        })
    }
}

fn write(mut args: Args, path: &Path, cx: &ToolContext) -> Result<Output, ToolError> {
    refuse_note(&args.content)?;
    refuse_directory(&args.path)?;
    let expected: Option<FileHash> = args.expected_hash.as_deref().map(str::parse).transpose()?;
    let held = lock_files(cx, &[path])?;
    let old = held.current(path)?.map(|bytes| OriginalFile::read(cx, path, bytes));
    let old = old.as_ref();
    let document = old.and_then(|old| old.document().ok());
    let script = WriteFormat::choose(&args, document, || charset::new_file_format(cx, path))?;
    let written = script.write(mem::take(&mut args.content))?;
    let disguise =
        script.misread_encoding(&written, |bytes| charset::detect_format(cx, path, bytes));
    let EncodedContent { text, bytes } = written;
    let unchanged = old.is_some_and(|old| old.holds(&bytes));
    let differs = old.filter(|_| !unchanged);
    let text = text.as_deref().or(bytes.text()).unwrap_or_default();
    let len = bytes.len() as u64;
    let changes = [FileChange::Write {
        path: path.into(),
        bytes: bytes.clone(),
        existing: ExistingFile::Replace,
    }];
    let permit = || {
        if !args.keep_numbers {
            refuse_numbered(cx, old, text)?;
        }
        // An explicit version is checked even if there is nothing to write.
        match unchanged && expected.is_none() {
            true => Ok(CallerKnowledge::Whole),
            false => conflict::check(cx, path, expected.as_ref(), old, text),
        }
    };
    // Resolved before the write: afterwards a symlink may be gone.
    let place = path_text::follow_link(path);
    let look = |hash: &FileHash| {
        let effort = if args.dry_run { LONG_DIFF } else { SHORT_DIFF };
        Output {
            success: true,
            path: args.path.clone(),
            resolved_path: display_path(&place),
            bytes_written: 0,
            created: old.is_none(),
            hash: hash.to_string(),
            lines: count_lines(text) as u64,
            files_modified: Vec::new(),
            dirs_created: Vec::new(),
            dry_run: args.dry_run,
            unchanged,
            replaced_unseen: None,
            encoding: script.label(),
            line_endings: LineEndings::detect(text).label(),
            diff: match old {
                None if args.dry_run => addition(text, path, cx, effort),
                _ => differs.and_then(|old| diff(old, text, path, cx, effort)),
            },
            lint: lint::check(path, old.and_then(OriginalFile::text), text),
            not_kept: Vec::new(),
            note: None,
        }
    };
    let is_gone = old.is_none() && seen_files::has_seen(cx, path);
    // UTF-8 without an explicit encoding is detected on read.
    let remember_encoding = || {
        if args.encoding.is_some() || script.encoding() != UTF_8 {
            charset::remember_encoding(cx, path, &bytes, true, script.encoding());
        }
    };
    let tell = |output: Output, sight| Output {
        replaced_unseen: differs
            .filter(|_| sight == CallerKnowledge::None)
            .map(ReplacedVersion::from_original),
        note: write_note(differs, sight, disguise, is_gone),
        ..output
    };
    if args.dry_run || unchanged {
        drop(held);
        let sight = permit()?;
        let hash = FileHash::from_bytes(&bytes);
        let output = tell(look(&hash), sight);
        if unchanged {
            remember_encoding();
            seen_files::record_seen(
                cx,
                path,
                hash,
                FileSighting { len, modified: None, whole: true },
            );
        }
        return Ok(output);
    }
    let look = |hashes: &[Option<FileHash>]| match hashes {
        [Some(hash)] => Ok(look(hash)),
        _ => Err(ToolError::internal("a write of one file must have one hash")),
    };
    let (done, sight, output) = held.commit(&changes, permit, look)?;
    let mut output = tell(output, sight);
    remember_encoding();
    output.bytes_written = len;
    cache_versions(changes, &done);
    if let Some(AppliedChange { created_dirs: made_folders, not_kept: lost, .. }) =
        done.into_iter().next()
    {
        output.files_modified = vec![display_path(&place)];
        output.dirs_created = made_folders.iter().map(|dir| display_path(dir)).collect();
        output.not_kept = lost;
    }
    Ok(output)
}

/// Notes for the caller about a write.
fn write_note(
    replaced: Option<&OriginalFile>,
    sight: CallerKnowledge,
    disguise: Option<MisreadEncoding>,
    is_gone: bool,
) -> Option<String> {
    let mut notes = Vec::new();
    match replaced {
        None if is_gone => notes.push(RECREATED_NOTE.to_owned()),
        Some(old) if old.document().is_err() => notes.push(BINARY_REPLACED_NOTE.to_owned()),
        _ if sight == CallerKnowledge::Part => notes.push(PARTIAL_READ_NOTE.to_owned()),
        _ => {}
    }
    if let Some((encoding, other)) = disguise {
        let [encoding, other] = [encoding, other].map(|one| one.name().to_ascii_lowercase());
        notes.push(format!("Read it with encoding={encoding}; its bytes are detected as {other}."));
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}

/// Rejects a path that can only mean a directory; it would silently name a
/// file.
fn refuse_directory(path: &str) -> Result<(), ToolError> {
    if path.ends_with('/') || path.ends_with("/.") {
        return Err(ToolError::invalid(format!(
            "'{path}' names a directory: it ends with a slash"
        ))
        .with_hint("Name a file in it; missing directories are created."));
    }
    Ok(())
}

/// Rejects content copied by mistake from an `unchanged` result.
fn refuse_note(content: &str) -> Result<(), ToolError> {
    if !is_unchanged_note(content) {
        return Ok(());
    }
    Err(ToolError::invalid(
        "The content is read_file's note that a file is unchanged, not file \
        content",
    )
    .with_hint("Read the file with fresh=true and write its content."))
}

/// Rejects content with the line numbers of `read_file`.
fn refuse_numbered(
    cx: &ToolContext,
    old: Option<&OriginalFile>,
    text: &str,
) -> Result<(), ToolError> {
    if !begins_numbered(text.as_bytes()) {
        return Ok(());
    }
    let is_ours = match LineNumbering::detect(text) {
        LineNumbering::No => false,
        LineNumbering::Perhaps => was_shown(cx, old, text),
        LineNumbering::Surely => true,
    };
    if !is_ours {
        return Ok(());
    }
    Err(ToolError::invalid(
        "The content has read_file's line numbers (`N|`) at the start of its lines",
    )
    .with_hint("Remove the numbers; if they belong to the file, set keep_numbers=true."))
}

/// Whether numbered lines are those of the current file, or of one that the
/// session has read.
fn was_shown(cx: &ToolContext, old: Option<&OriginalFile>, numbered: &str) -> bool {
    let holds = |text: &str| numbers_lines_of(numbered, text);
    let seen =
        || seen_files::seen_versions(cx).into_iter().filter_map(|hash| versions::find(&hash));
    old.and_then(OriginalFile::text).is_some_and(holds)
        || unchanged::was_shown(cx, numbered)
        || seen().any(|bytes| {
            TextDocument::read(bytes.to_vec(), None).is_ok_and(|seen| holds(seen.text()))
        })
}
