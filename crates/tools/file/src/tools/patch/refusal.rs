//! Errors for patches that could not be applied, with what the next attempt
//! needs.

use std::path::Path;

use hermes_core::{ErrorKind, ToolContext, ToolError};
use hermes_text::codec::UnencodableChar;
use hermes_text::matching::{
    HunkError, HunkFailure, LineRole, LineSpan, MatchStrictness, MismatchExplanation, NearestBlock,
    PatchHunk, ReplaceError, ReplaceRequest, UniqueContext, WantedText, apply_hunks,
    explain_mismatch, replace_text, show_exactly, unique_contexts,
};
use hermes_text::patch_formats::PatchFormat;
use hermes_text::{NotTextReason, SpliceError};
use serde::Serialize;
use serde_json::{Value, json};

use super::format_hints;
use crate::missing::{self, explain_missing};
use crate::path_recovery;
use crate::path_text::{display_path, display_relative};
use crate::placeholders::has_placeholder;
use crate::seen_files::{self, FileHash};

/// Places shown with text, for ambiguous matches and for equally near ones;
/// minimum context lines around each, maximum lines of each, and characters per
/// line.
const MAX_SHOWN_PLACES: usize = 8;
const MAX_NEAR_PLACES: usize = 3;
const CONTEXT_LINES: usize = 2;
const MAX_EXCERPT_LINES: usize = 18;
const MAX_LINE_CHARS: usize = 200;

/// The old text of a replacement was not found, or was ambiguous.
pub(super) fn mismatch(
    path: &Path,
    text: &str,
    request: &ReplaceRequest<'_>,
    mismatch: ReplaceError,
    hash: Option<String>,
) -> ToolError {
    let shown = display_path(path);
    let error = match mismatch {
        ReplaceError::EmptyOld => return empty_old(path, text.is_empty()),
        ReplaceError::Identical => {
            return ToolError::invalid("old_string and new_string are the same")
                .with_hint("Nothing to do, unless new_string should differ.");
        }
        ReplaceError::OnlyEndingsDiffer => {
            return ToolError::invalid(
                "old_string and new_string differ only in line endings (CRLF and LF)",
            )
            .with_hint("patch keeps the file's line endings; write_file can change them.");
        }
        ReplaceError::NotFound if has_placeholder(request.old) => {
            hidden_secret(&format!("old_string was not found in {shown}"))
        }
        ReplaceError::NotFound => {
            let wanted = WantedText { old: request.old, new: request.new };
            let mut reported = explain_mismatch(text, &wanted);
            let relaxed = relaxed_match(text, request);
            if let Some((lines, _)) = &relaxed {
                reported.nearest = Some(show_exactly(text, request.old, *lines));
            }
            let error = not_found(format!("old_string was not found in {shown}"), text, &reported);
            match relaxed {
                Some((_, hint)) => error.with_hint(hint),
                None => error,
            }
        }
        ReplaceError::Ambiguous { strategy, places, more } => ambiguous(
            format!("old_string matches {} places in {shown}", count_text(places.len(), more)),
            "Add surrounding lines, copied from one of the places, until the match is unique; \
                or set replace_all=true to replace all of them.",
            text,
            &places,
        )
        .with("strategy", strategy.name()),
        ReplaceError::Unclear { strategy, lines, reason } => {
            let error = ToolError::invalid(format!(
                "old_string is at {lines} of {shown}, but the replacement text is ambiguous"
            ));
            error
                .with_hint(reason)
                .with("strategy", strategy.name())
                .with("places", excerpts(text, &[lines], MAX_SHOWN_PLACES))
        }
        ReplaceError::TooMany => {
            ToolError::limit(format!("old_string matches more than a million places in {shown}"))
                .with_hint("Give a longer old_string, or use a program such as sed.")
        }
        ReplaceError::TooRepetitive => too_repetitive(path),
    };
    with_hash(error, hash)
}

/// The old text has the placeholder of a secret. The nearest text is not shown:
/// a difference would spell out the secret.
fn hidden_secret(what: &str) -> ToolError {
    ToolError::conflict(format!(
        "{what}: it has the placeholder of a secret, which the file has in plain text and which \
         is not shown"
    ))
    .with_hint(
        "Choose an old text without that line. An edit around one secret also works if the new \
         text repeats its placeholder, and only one place matches.",
    )
}

/// The lines that a strict request would match under relaxed rules, and a hint.
fn relaxed_match(text: &str, request: &ReplaceRequest<'_>) -> Option<(LineSpan, String)> {
    if request.strictness != MatchStrictness::Strict {
        return None;
    }
    let found =
        replace_text(text, &ReplaceRequest { strictness: MatchStrictness::Relaxed, ..*request })
            .ok()?;
    let (lines, strategy) = (*found.lines.first()?, found.strategy.name());
    let hint = format!(
        "It is at {lines}, but does not match exactly ({strategy}). Copy `nearest.text`, or \
         omit strict."
    );
    Some((lines, hint))
}

/// A hunk does not apply.
pub(super) fn hunk_mismatch(
    path: &Path,
    text: &str,
    hunks: &[PatchHunk],
    failure: &HunkFailure,
    format: Option<PatchFormat>,
) -> ToolError {
    let text = failure.text.as_deref().unwrap_or(text);
    let hunk = hunks.get(failure.hunk);
    let part = format_hints::part_name(format);
    let name = if hunks.len() == 1 {
        format!("The {part} for {}", display_path(path))
    } else {
        format!("The {part} for {} ({} of {})", display_path(path), failure.hunk + 1, hunks.len())
    };
    let old = hunk.map(PatchHunk::old_text).unwrap_or_default();
    let error = match &failure.error {
        HunkError::NotFound if has_placeholder(&old) => {
            hidden_secret(&format!("{name} fits nowhere"))
        }
        HunkError::HintNotFound { hint } if has_placeholder(hint) => {
            hidden_secret(&format!("{name} adds lines after '{hint}', which is not in the file"))
        }
        HunkError::NotFound => {
            let new = hunk.map(PatchHunk::new_text).unwrap_or_default();
            let mut shown = explain_mismatch(text, &WantedText { old: &old, new: &new });
            if hunk.is_some_and(|hunk| lacks_context_marks(text, hunk)) {
                shown.notes = vec![UNMARKED_CONTEXT_HINT.to_owned()];
            }
            if let Some(lines) = hunk.and_then(|hunk| match_before_end(text, hunk)) {
                shown.notes = vec![format!(
                    "It matches at {lines}, but `\\ No newline at end of file` says that the \
                        file ends there: omit that line if it does not."
                )];
            }
            not_found(format!("{name} fits nowhere"), text, &shown)
        }
        HunkError::Ambiguous { strategy, places, more } => ambiguous(
            format!("{name} matches {} places", count_text(places.len(), *more)),
            format_hints::disambiguation_hint(format),
            text,
            places,
        )
        .with("strategy", strategy.name()),
        HunkError::NotAtHint { hint, hinted, places } => ambiguous(
            format!("{name} matches only outside the section of its hint '{hint}'"),
            "Correct the hint or the hunk's lines.",
            text,
            places,
        )
        .with("hinted", ranges(hinted)),
        HunkError::NoLocation => {
            ToolError::invalid(format!("{name} only adds lines and has no location"))
                .with_hint(format_hints::anchor_hint(format))
        }
        HunkError::HintNotFound { hint } => {
            let shown = explain_mismatch(text, &WantedText { old: hint, new: "" });
            let what = format!("{name} adds lines after '{hint}', which is not in the file");
            not_found(what, text, &shown)
        }
        HunkError::HintAmbiguous { hint, places } => ambiguous(
            format!("{name} adds lines after '{hint}', which is in several places"),
            "Give a hint that occurs only once, nested hints (`@@ class`, then `@@ def`), or \
                context lines.",
            text,
            places,
        ),
        HunkError::Unclear { lines, reason } => ToolError::invalid(format!(
            "{name} matches at {lines}, but the replacement text is \
                ambiguous"
        ))
        .with_hint(reason.clone())
        .with("places", excerpts(text, &[*lines], MAX_SHOWN_PLACES)),
        HunkError::Overlap { lines } => {
            ToolError::invalid(format!("{name} overlaps another one ({lines})"))
                .with_hint(format!("Merge the two into one {part}."))
        }
        HunkError::TooRepetitive => too_repetitive(path),
        HunkError::TooManyRounds => {
            ToolError::limit(format!("{name}: too many hunks depend on each other"))
                .with_hint("Write the whole file with write_file.")
        }
    };
    if hunks.len() > 1 { error.with("hunk", failure.hunk + 1) } else { error }
}

const UNMARKED_CONTEXT_HINT: &str = "The context lines lack their marker: prefix each with one \
    more space, before its own indentation.";

/// Whether a hunk would apply if its context lines had a leading space.
fn lacks_context_marks(text: &str, hunk: &PatchHunk) -> bool {
    let mut marked = hunk.clone();
    let stay = marked.lines.iter_mut().filter(|line| line.role == LineRole::Context);
    stay.filter(|line| !line.text.is_empty()).for_each(|line| line.text.insert(0, ' '));
    marked != *hunk && apply_hunks(text, &[marked], MatchStrictness::Relaxed).is_ok()
}

/// The lines where a hunk anchored to the end of the file would apply without
/// that anchor.
fn match_before_end(text: &str, hunk: &PatchHunk) -> Option<LineSpan> {
    let free = PatchHunk { final_newline: None, no_newline_at_end: false, ..hunk.clone() };
    let made =
        (free != *hunk).then(|| apply_hunks(text, &[free], MatchStrictness::Relaxed).ok())??;
    Some(made.placed.first()?.before)
}

fn count_text(places: usize, more: bool) -> String {
    if more { format!("more than {places}") } else { places.to_string() }
}

pub(super) fn with_hash(error: ToolError, hash: Option<String>) -> ToolError {
    match hash {
        Some(hash) => error.with("current_hash", hash),
        None => error,
    }
}

fn to_value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

/// Reports text that was not found, with the nearest match.
fn not_found(what: String, text: &str, shown: &MismatchExplanation) -> ToolError {
    let mut said = shown.notes.clone();
    if let Some(lines) = shown.already_applied {
        let note = format!(
            "The new text is already present ({lines}): the change seems to be \
            applied."
        );
        said.insert(0, note);
    }
    match &shown.nearest {
        Some(nearest) => {
            let is_clear = nearest.times == 1 && !nearest.is_cut && nearest.others.is_empty();
            if said.is_empty() || !is_clear {
                said.push(how_to_copy(nearest));
            }
        }
        None if !said.is_empty() => {}
        None if shown.too_large => said.push(TOO_LARGE_HINT.to_owned()),
        None => said.push(NO_SIMILAR_HINT.to_owned()),
    }
    let mut error = ToolError::not_found(what).with_hint(said.join(" "));
    if shown.already_applied.is_some() {
        error = error.with("already_applied", true);
    }
    if let Some(nearest) = &shown.nearest {
        error = error.with(
            "nearest",
            json!({
                "lines": [nearest.lines.first, nearest.lines.last],
                "text": nearest.text,
                "difference": nearest.difference,
            }),
        );
        if !nearest.others.is_empty() {
            error = error.with("as_near", excerpts(text, &nearest.others, MAX_NEAR_PLACES));
        }
    }
    error
}

const TOO_LARGE_HINT: &str = "The file is too large to search for similar text. Find the place \
    with search_files, read it, and copy the text without the line numbers.";
const NO_SIMILAR_HINT: &str = "The file has no similar text. Read the file and copy the text \
    from it without the line numbers.";

/// How to use the nearest text, in a sentence or two.
fn how_to_copy(nearest: &NearestBlock) -> String {
    let lines = nearest.lines;
    let mut said = if nearest.is_cut {
        format!("The nearest text is at {lines}, too long to show: read those lines and copy them.")
    } else if !nearest.is_alone {
        format!(
            "The nearest text is at {lines}, but its surrounding lines are repeated too: no \
                old text is unique there. Use old_string with replace_all, or write_file."
        )
    } else {
        format!(
            "The nearest text is at {lines}: copy the old text from `nearest.text`. \
                `difference` shows [-yours-]{{+the file's+}}."
        )
    };
    if nearest.times > 1 && nearest.is_alone {
        said.push_str(
            " Similar text occurs several times: keep the surrounding lines, in the new text too.",
        );
    }
    if !nearest.others.is_empty() {
        said.push_str(" Other places are equally near (`as_near`, with line numbers): choose one.");
    }
    said
}

fn ambiguous(what: String, hint: &str, text: &str, places: &[LineSpan]) -> ToolError {
    ToolError::invalid(what)
        .with_hint(hint)
        .with("places", excerpts(text, places, MAX_SHOWN_PLACES))
}

fn ranges(places: &[LineSpan]) -> Value {
    places.iter().map(|lines| json!([lines.first, lines.last])).collect()
}

/// The first few places, numbered, with enough context to distinguish them.
fn excerpts(text: &str, places: &[LineSpan], most: usize) -> Value {
    let lines: Vec<&str> = hermes_text::lines(text).collect();
    let (shown, others) = places.split_at(places.len().min(most));
    let shown = shown.iter().zip(unique_contexts(text, shown)).map(|(place, alone)| {
        let range = to_value(&[place.first, place.last]);
        let context = excerpt(&lines, *place, alone);
        if alone.is_unique {
            json!({"lines": range, "context": context})
        } else {
            json!({"lines": range, "context": context, "unique": false})
        }
    });
    let others = others.iter().map(|place| json!({"lines": [place.first, place.last]}));
    shown.chain(others).collect()
}

/// A place with some lines around it. The middle of a long one is omitted.
fn excerpt(lines: &[&str], place: LineSpan, alone: UniqueContext) -> String {
    let from = alone.lines.first.min(place.first.saturating_sub(CONTEXT_LINES)).max(1);
    let to = alone.lines.last.max(place.last + CONTEXT_LINES).min(lines.len());
    let gap = place.first + MAX_EXCERPT_LINES..place.last;
    let mut shown = Vec::new();
    for number in from..=to {
        if gap.contains(&number) {
            if number == gap.start {
                shown.push(format!("... ({} more lines)", gap.len()));
            }
            continue;
        }
        let line = lines.get(number - 1).copied().unwrap_or_default();
        shown.push(format!("{number}|{}", line.chars().take(MAX_LINE_CHARS).collect::<String>()));
    }
    shown.join("\n")
}

/// The file does not exist.
pub(super) fn missing(path: &Path, cx: &ToolContext) -> ToolError {
    let error = explain_missing(missing::MissingKind::File, path, cx);
    let Some(meant) = path_recovery::intended_file(path, cx) else { return error };
    let meant = display_relative(&meant, &cx.working_dir);
    error
        .with_hint(format!(
            "'{meant}' exists: use a path relative to the working directory, or an absolute one."
        ))
        .with("similar_files", vec![meant])
}

pub(super) fn empty_old(path: &Path, empty_file: bool) -> ToolError {
    let hint = if empty_file {
        "Use write_file to fill a new or empty file."
    } else {
        "Give the text to replace; to insert, give an existing line and repeat it in new_string."
    };
    ToolError::invalid(format!(
        "old_string is empty, so there is nothing to replace in {}",
        display_path(path)
    ))
    .with_hint(hint)
}

pub(super) fn no_change() -> ToolError {
    ToolError::invalid("The patch changes nothing: the files already have this content")
        .with_hint(
            "The change seems to be applied already. Line endings alone cannot be patched; \
            write_file can change them.",
        )
        .with("already_applied", true)
}

/// What a step would put where a file already exists.
#[derive(Debug, Clone, Copy)]
pub(super) enum IncomingFile {
    New,
    Moved,
}

pub(super) fn occupied(path: &Path, what: IncomingFile, format: Option<PatchFormat>) -> ToolError {
    let (what, hint) = match what {
        IncomingFile::New => format_hints::new_file_wording(format),
        IncomingFile::Moved => ("move", "Choose another name, or delete the file first."),
    };
    ToolError::conflict(format!("{} already exists, so {what} is refused", display_path(path)))
        .with_hint(hint)
}

/// The patch makes a path both a file and a directory.
pub(super) fn below_file(path: &Path, file: &Path) -> ToolError {
    ToolError::invalid(format!(
        "The patch makes {} a file, so it cannot be a directory for {}",
        display_path(file),
        display_path(path)
    ))
    .with_hint("Rename one of them.")
}

/// The patch removes a file and needs a directory of the same name.
pub(super) fn in_place_of_file(path: &Path, file: &Path) -> ToolError {
    ToolError::invalid(format!(
        "{} cannot be created by the patch that removes {}: its directory can only be created \
         once the file is gone",
        display_path(path),
        display_path(file)
    ))
    .with_hint("Make two calls: delete or move the file, then add the files below that path.")
}

pub(super) fn other_content(path: &Path) -> ToolError {
    ToolError::conflict(format!(
        "{} does not have the content that the patch would delete",
        display_path(path)
    ))
    .with_hint(
        "The deleted lines must be the whole file. Read it; a V4A patch with `*** Delete \
            File:` deletes it whatever its content.",
    )
}

/// The patch deletes an empty file, but this one has content.
pub(super) fn not_empty(path: &Path, text: &str) -> ToolError {
    let shown = display_path(path);
    ToolError::conflict(format!(
        "{shown} is not empty ({} bytes), but the patch deletes an empty file",
        text.len()
    ))
    .with_hint(format!(
        "Read it; a V4A patch with `*** Delete File: {shown}` deletes it whatever its content."
    ))
}

/// Two paths name the same file.
pub(super) fn same_file(path: &Path, other: &Path) -> ToolError {
    ToolError::invalid(format!(
        "{} and {} are the same file: one is a symbolic link to the other",
        display_path(path),
        display_path(other)
    ))
    .with_hint("Put all changes to the file under one of its names.")
}

/// The patch uses the path of a symlink twice.
pub(super) fn link_twice(path: &Path) -> ToolError {
    ToolError::invalid(format!(
        "{} is a symbolic link that the patch deletes or moves, and also uses in another \
            operation",
        display_path(path)
    ))
    .with_hint(
        "Name the target to change the file. Delete or move the link in a separate call, \
            without expected_hash.",
    )
}

/// The patch moves a symlink and changes its content.
pub(super) fn moved_link(path: &Path, target: &Path) -> ToolError {
    ToolError::invalid(format!(
        "{} is a symbolic link to '{}': the move applies to the link, so the hunks have no file",
        display_path(path),
        display_path(target)
    ))
    .with_hint("Change and move the target, or move the link without hunks.")
}

pub(super) fn another_version(
    cx: &ToolContext,
    path: &Path,
    expected: &FileHash,
    found: Option<&FileHash>,
) -> ToolError {
    let Some(found) = found else {
        return ToolError::conflict(format!(
            "{} does not exist, so it does not have the hash {expected}",
            display_path(path)
        ));
    };
    let by = seen_files::other_writer(cx, path, || found);
    let who = by.as_ref().map(|by| format!(": task '{}' wrote it at {}", by.task_id, by.at));
    let message =
        format!("{} is not the expected version{}", display_path(path), who.unwrap_or_default());
    let error = ToolError::conflict(message)
        .with_hint("Nothing was changed. Read it again and patch this version.")
        .with("expected_hash", expected.to_string())
        .with("current_hash", found.to_string());
    match by {
        Some(by) => error.with("written_by", to_value(&by)),
        None => error,
    }
}

pub(super) fn not_text(path: &Path, reason: NotTextReason) -> ToolError {
    ToolError::invalid(format!("{} cannot be patched. {reason}", display_path(path)))
        .with("binary", matches!(reason, NotTextReason::Binary { .. }))
        .with_hint(
            "Only text can be patched. If it is text, set its encoding, such as \
             encoding=utf-16le; a binary file can be moved or deleted.",
        )
}

/// The file's encoding lacks a character of the new text.
pub(super) fn unencodable(path: &Path, what: &UnencodableChar) -> ToolError {
    ToolError::invalid(format!("{} was not changed. In the new text, {what}", display_path(path)))
        .with("encoding", what.encoding)
        .with("offset", what.offset)
        .with("character", what.character.to_string())
        .with_hint(
            "Use characters that the file's encoding has, or rewrite the file with write_file \
            and encoding=utf-8.",
        )
}

/// The edits cannot be written in the file's encoding.
pub(super) fn splice_error(path: &Path, error: &SpliceError) -> ToolError {
    let kind = match error {
        SpliceError::OutOfOrder { .. } | SpliceError::OutOfBounds { .. } => ErrorKind::Internal,
        _ => ErrorKind::InvalidArguments,
    };
    let refused = ToolError::new(kind, format!("{} was not changed. {error}", display_path(path)));
    match error {
        SpliceError::Unencodable { what, .. } => unencodable(path, what),
        SpliceError::Damaged { offset, encoding, .. } => refused
            .with("encoding", *encoding)
            .with("offset", *offset)
            .with_hint("Choose an old text without the damaged bytes."),
        SpliceError::Inexact { offset, encoding } => {
            refused.with("encoding", *encoding).with("offset", *offset)
        }
        SpliceError::OutOfOrder { .. } | SpliceError::OutOfBounds { .. } => refused,
    }
}

pub(super) fn too_long() -> ToolError {
    ToolError::limit("The patch has too many operations on the same large files").with_hint(
        "Put all hunks of a file into one section, or split the patch into several \
            calls.",
    )
}

fn too_repetitive(path: &Path) -> ToolError {
    ToolError::limit(format!("{} is too repetitive to locate the text", display_path(path)))
        .with_hint(
            "Give a part of the old text that is rare in the file, or rewrite it with write_file.",
        )
}
