//! Hints for a rejected patch, in the terms of its format.

use hermes_text::patch_formats::PatchFormat;

/// Returns the format's name for a part of a patch.
pub(super) fn part_name(format: Option<PatchFormat>) -> &'static str {
    if format == Some(PatchFormat::Blocks) { "block" } else { "hunk" }
}

/// Returns an example of the format.
pub(super) fn format_example(format: Option<PatchFormat>) -> &'static str {
    match format {
        Some(PatchFormat::V4a) => {
            "A V4A patch looks like this: `*** Begin Patch`, `*** Update File: path`, `@@`, \
                lines prefixed with ` ` (keep), `-` (remove) or `+` (add), `*** End Patch`."
        }
        Some(PatchFormat::Unified) => {
            "A unified diff looks like this: `--- a/path`, `+++ b/path`, `@@` (line numbers \
                are optional), lines prefixed with ` ` (keep), `-` (remove) or `+` (add)."
        }
        Some(PatchFormat::Blocks) => {
            "A block looks like this: the path on its own line, `<<<<<<< SEARCH`, old lines, \
                `=======`, new lines, `>>>>>>> REPLACE`."
        }
        None => {
            "A V4A patch looks like this: `*** Begin Patch`, `*** Update File: path`, `@@`, \
                lines prefixed with ` ` (keep), `-` (remove) or `+` (add), `*** End Patch`. A \
                block: the path, `<<<<<<< SEARCH`, old lines, `=======`, new lines, `>>>>>>> \
                REPLACE`."
        }
    }
}

/// Returns how to select one of several matches.
pub(super) fn disambiguation_hint(format: Option<PatchFormat>) -> &'static str {
    match format {
        Some(PatchFormat::Blocks) => {
            "Add surrounding lines, copied from one of the places, into SEARCH and REPLACE \
                until only that place matches."
        }
        Some(PatchFormat::Unified) => {
            "Add context lines, copied from one of the places, until only that place matches; \
                line numbers help only if the lines match exactly there."
        }
        _ => {
            "Select one with a line `@@ text of a line above it` (its function or section), or \
                with more context lines."
        }
    }
}

/// Returns how to specify where lines are added.
pub(super) fn anchor_hint(format: Option<PatchFormat>) -> &'static str {
    match format {
        Some(PatchFormat::Unified) => {
            "Add the surrounding lines as context. A diff made with -U0 has none: use `git \
                diff -U3` or `diff -u`."
        }
        _ => {
            "Add the surrounding lines as context, or the line above as `@@ line`; `*** End of \
                File` after the hunk appends at the end."
        }
    }
}

/// Returns the format's term for creating a file, and how to change an existing
/// one.
pub(super) fn new_file_wording(format: Option<PatchFormat>) -> (&'static str, &'static str) {
    match format {
        Some(PatchFormat::Blocks) => (
            "an empty SEARCH, which creates a file,",
            "Put the lines to replace into SEARCH, or choose another name.",
        ),
        Some(PatchFormat::Unified) => (
            "a diff that creates it",
            "Use `--- a/file` instead of `--- /dev/null`, with context lines around the \
                change, or choose another name.",
        ),
        _ => (
            "Add File",
            "Use `*** Update File:` to change the file, choose another name, or delete it \
                first in the same patch.",
        ),
    }
}
