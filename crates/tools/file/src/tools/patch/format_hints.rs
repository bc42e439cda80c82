//! What a caller can do about a refusal, in the words of the format that the
//! patch is written in.

use hermes_text::patch_formats::PatchFormat;

/// What a part of a patch is called.
pub(super) fn part_name(format: Option<PatchFormat>) -> &'static str {
    if format == Some(PatchFormat::Blocks) { "block" } else { "hunk" }
}

/// How a patch of the format looks.
pub(super) fn format_example(format: Option<PatchFormat>) -> &'static str {
    match format {
        Some(PatchFormat::V4a) => {
            "A V4A patch looks like this: `*** Begin Patch`, `*** Update File: path`, `@@`, lines \
                with ` ` (stays), `-` (goes) or `+` (comes) in front, `*** End Patch`."
        }
        Some(PatchFormat::Unified) => {
            "A unified diff looks like this: `--- a/path`, `+++ b/path`, `@@` (numbers may be left \
                out), lines with ` ` (stays), `-` (goes) or `+` (comes) in front."
        }
        Some(PatchFormat::Blocks) => {
            "A block looks like this: the path on a line, `<<<<<<< SEARCH`, old lines, `=======`, \
                new lines, `>>>>>>> REPLACE`."
        }
        None => {
            "A V4A patch looks like this: `*** Begin Patch`, `*** Update File: path`, `@@`, lines \
                with ` ` (stays), `-` (goes) or `+` (comes) in front, `*** End Patch`. A block: \
                the path, `<<<<<<< SEARCH`, old lines, `=======`, new lines, `>>>>>>> REPLACE`."
        }
    }
}

/// How to say which of several places is meant.
pub(super) fn disambiguation_hint(format: Option<PatchFormat>) -> &'static str {
    match format {
        Some(PatchFormat::Blocks) => {
            "Put more of the lines around it into SEARCH and REPLACE, copied from one of the \
                places, until it fits only there."
        }
        Some(PatchFormat::Unified) => {
            "Give more context lines, copied from one of the places, until it fits only there; \
                numbers count where lines and place agree exactly."
        }
        _ => {
            "Say which with a line `@@ text of a line above it` (the function or section that it \
                is in), or with more context lines."
        }
    }
}

/// How to say where lines are to be added.
pub(super) fn anchor_hint(format: Option<PatchFormat>) -> &'static str {
    match format {
        Some(PatchFormat::Unified) => {
            "Give the lines around the place as context. A diff made with -U0 has none: make it \
                with `git diff -U3` or `diff -u`."
        }
        _ => {
            "Give the lines around the place as context, or the line above as `@@ line`; `*** End \
                of File` behind the hunk adds at the end."
        }
    }
}

/// What a new file is called, and how to change one that exists.
pub(super) fn new_file_wording(format: Option<PatchFormat>) -> (&'static str, &'static str) {
    match format {
        Some(PatchFormat::Blocks) => (
            "an empty SEARCH, which makes a new file,",
            "Put the lines that are to be replaced into SEARCH, or choose another name.",
        ),
        Some(PatchFormat::Unified) => (
            "a diff that makes it anew",
            "Give `--- a/file` instead of `--- /dev/null`, with the lines around the change, or \
                choose another name.",
        ),
        _ => (
            "Add File",
            "Change the file with `*** Update File:`, choose another name, or delete it first in \
                the same patch.",
        ),
    }
}
