//! Names that models trained on other tools use for the argument `path`.

use hermes_core::ToolSpec;

const FILE_PATH_ALIASES: [&str; 7] =
    ["file_path", "filepath", "filename", "file_name", "file", "absolute_path", "target_file"];

const DIR_PATH_ALIASES: [&str; 8] = [
    "directory",
    "dir",
    "folder",
    "directory_path",
    "dir_path",
    "folder_path",
    "target_directory",
    "root",
];

/// Adds the aliases for a `path` that is a file.
pub(crate) fn add_file_aliases(spec: ToolSpec) -> ToolSpec {
    FILE_PATH_ALIASES.into_iter().fold(spec, |spec, name| spec.parameter_alias(name, "path"))
}

/// Adds the aliases for a `path` that is a directory.
pub(crate) fn add_dir_aliases(spec: ToolSpec) -> ToolSpec {
    DIR_PATH_ALIASES.into_iter().fold(spec, |spec, name| spec.parameter_alias(name, "path"))
}
