//! Directories of installed programs and the code that they load.

use std::path::Path;

use hermes_core::WorkingDir;

/// System directories.
const SYSTEM_PROGRAM_DIRS: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr",
    "/opt",
    "/nix",
    "/snap",
    "/lib",
    "/lib64",
    "/System",
    "/Library",
    "/Applications",
    "/home/linuxbrew",
];

/// Directories below the home directory.
const USER_PROGRAM_DIRS: &[&str] = &[
    "bin",
    ".cargo/bin",
    ".local",
    ".rustup",
    ".pyenv",
    ".rbenv",
    ".nvm",
    ".asdf",
    ".volta",
    ".bun",
    ".deno",
    "go",
    ".goenv",
    ".sdkman",
    "miniconda3",
    "anaconda3",
    "miniforge3",
    ".nix-profile",
    ".dotnet",
    ".ghcup",
    ".juliaup",
    ".npm-global",
    ".poetry",
    ".fnm",
    ".rvm",
    ".composer/vendor/bin",
    ".krew/bin",
    ".pixi",
    ".elan",
    ".opam",
];

/// Whether a path is in a program directory of the system or the user.
pub(super) fn is_installed(at: &WorkingDir, path: &Path) -> bool {
    SYSTEM_PROGRAM_DIRS.iter().any(|place| path.starts_with(place))
        || is_at_home(at, path, USER_PROGRAM_DIRS)
}

/// Whether a path is in one of these directories below the home directory.
pub(super) fn is_at_home(at: &WorkingDir, path: &Path, places: &[&str]) -> bool {
    let below = at.home().and_then(|home| path.strip_prefix(home).ok());
    below.is_some_and(|below| places.iter().any(|place| below.starts_with(place)))
}
