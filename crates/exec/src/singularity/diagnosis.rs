//! What the program's own words mean, and what is to be done.

use hermes_core::ToolError;

/// What says that limits cannot hold here, and nothing else is wrong.
pub(super) const NO_CGROUPS_MESSAGES: [&str; 3] =
    ["cannot use cgroups", "applying cgroups config", "cgroups requires"];

/// A cause, by words that tell of it, and what is to be done.
const KNOWN_CAUSES: [(&str, &str, &str); 7] = [
    (
        "no such file or directory",
        "the image, or a folder that is to be seen in it, is not there",
        "Check terminal.singularity_image and the binds.",
    ),
    (
        "image format not recognized",
        "the image is none",
        "Set terminal.singularity_image to a .sif file, a folder made by `build --sandbox`, or \
         an address such as docker://NAME.",
    ),
    (
        "unable to handle",
        "the image's address is of no known kind",
        "Set terminal.singularity_image to a .sif file, a folder, or an address such as \
         docker://NAME.",
    ),
    (
        "while making image from oci registry",
        "the image cannot be fetched",
        "Check the name and the network, or pull it by hand into a .sif file.",
    ),
    (
        "user namespace",
        "this system lets no user make a container",
        "Ask the administrator for user namespaces or for a setuid installation.",
    ),
    (
        "Requesting capability set",
        "this program lacks a right that containers of root need",
        "Run it as another user.",
    ),
    (
        "/.singularity.d/",
        "the image was not made for instances",
        "Make one of it with `build --sandbox NEW OLD`.",
    ),
];

/// The error if a container could not be started.
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
        "singularity: no container can be started from {image}{cause}{said}"
    ))
    .with_hint(step)
}

/// The first thing that it could not get over.
pub(super) fn fatal_message(words: &str) -> Option<&str> {
    words.lines().find_map(|line| Some(line.trim().strip_prefix("FATAL:")?.trim()))
}

#[cfg(test)]
#[path = "diagnosis_tests.rs"]
mod tests;
