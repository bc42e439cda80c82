//! What callers call the argument `path` when they have learnt other tools.

use hermes_core::ToolSpec;

const FILE: [&str; 7] =
    ["file_path", "filepath", "filename", "file_name", "file", "absolute_path", "target_file"];

const FOLDER: [&str; 8] = [
    "directory",
    "dir",
    "folder",
    "directory_path",
    "dir_path",
    "folder_path",
    "target_directory",
    "root",
];

/// `path` is a file.
pub(crate) fn of_file(spec: ToolSpec) -> ToolSpec {
    FILE.into_iter().fold(spec, |spec, name| spec.parameter_alias(name, "path"))
}

/// `path` is a folder.
pub(crate) fn of_folder(spec: ToolSpec) -> ToolSpec {
    FOLDER.into_iter().fold(spec, |spec, name| spec.parameter_alias(name, "path"))
}
