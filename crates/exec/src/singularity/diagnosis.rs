//! Explains error messages of Singularity, with hints.

use hermes_core::ToolError;

/// Messages that mean only that resource limits are unavailable.
pub(super) const NO_CGROUPS_MESSAGES: [&str; 3] =
    ["cannot use cgroups", "applying cgroups config", "cgroups requires"];

/// A message, its cause, and a hint.
const KNOWN_CAUSES: [(&str, &str, &str); 7] = [
    (
        "no such file or directory",
        "the image or a bind source does not exist",
        "Check terminal.singularity_image and the binds.",
    ),
    (
        "image format not recognized",
        "the file is not an image",
        "Set terminal.singularity_image to a .sif file, a directory made by `build --sandbox`, \
         or a URI such as docker://NAME.",
    ),
    (
        "unable to handle",
        "the URI scheme of the image is not supported",
        "Set terminal.singularity_image to a .sif file, a directory, or a URI such as \
         docker://NAME.",
    ),
    (
        "while making image from oci registry",
        "the image cannot be downloaded",
        "Check the name and the network, or pull it by hand into a .sif file.",
    ),
    (
        "user namespace",
        "unprivileged users cannot create containers on this system",
        "Ask the administrator to enable user namespaces or install it setuid.",
    ),
    (
        "Requesting capability set",
        "hermes lacks a capability that containers of root need",
        "Run hermes as another user.",
    ),
    (
        "/.singularity.d/",
        "the image does not support instances",
        "Convert it with `build --sandbox NEW OLD`.",
    ),
];

/// Returns the error for a container that failed to start.
pub(super) fn start_error(program: &str, image: &str, words: &str) -> ToolError {
    let said = fatal_message(words).unwrap_or_default();
    let said = if said.is_empty() { String::new() } else { format!(" ({program} says: {said})") };
    let text = words.to_ascii_lowercase();
    let found = KNOWN_CAUSES.iter().find(|(sign, ..)| text.contains(&sign.to_ascii_lowercase()));
    let (cause, step) = match found {
        Some((_, cause, step)) => (format!(": {cause}"), (*step).to_owned()),
        None => (String::new(), format!("Try `{program} shell --containall {image}` by hand.")),
    };
    ToolError::unavailable(format!(
        "singularity: cannot start a container from {image}{cause}{said}"
    ))
    .with_hint(step)
}

/// Returns the first fatal message.
pub(super) fn fatal_message(words: &str) -> Option<&str> {
    words.lines().find_map(|line| Some(line.trim().strip_prefix("FATAL:")?.trim()))
}

#[cfg(test)]
#[path = "diagnosis_tests.rs"]
mod tests;
