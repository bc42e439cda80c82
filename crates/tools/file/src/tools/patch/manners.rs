//! What a caller can do about a refusal, in the words of the format that the
//! patch is written in.

use hermes_text::formats::Format;

/// What a part of a patch is called.
pub(super) fn part(format: Option<Format>) -> &'static str {
    if format == Some(Format::Blocks) { "block" } else { "hunk" }
}

/// How a patch of the format looks.
pub(super) fn shape(format: Option<Format>) -> &'static str {
    match format {
        Some(Format::V4a) => {
            "A V4A patch looks like this: `*** Begin Patch`, `*** Update File: path`, `@@`, lines \
                with ` ` (stays), `-` (goes) or `+` (comes) in front, `*** End Patch`."
        }
        Some(Format::Unified) => {
            "A unified diff looks like this: `--- a/path`, `+++ b/path`, `@@` (numbers may be left \
                out), lines with ` ` (stays), `-` (goes) or `+` (comes) in front."
        }
        Some(Format::Blocks) => {
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
pub(super) fn choose(format: Option<Format>) -> &'static str {
    match format {
        Some(Format::Blocks) => {
            "Put more of the lines around it into SEARCH and REPLACE, copied from one of the \
                places, until it fits only there."
        }
        Some(Format::Unified) => {
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
pub(super) fn anchor(format: Option<Format>) -> &'static str {
    match format {
        Some(Format::Unified) => {
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
pub(super) fn new_file(format: Option<Format>) -> (&'static str, &'static str) {
    match format {
        Some(Format::Blocks) => (
            "an empty SEARCH, which makes a new file,",
            "Put the lines that are to be replaced into SEARCH, or choose another name.",
        ),
        Some(Format::Unified) => (
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
