//! Where installed programs and the code that they load lie.

use std::path::Path;

use hermes_core::WorkingDir;

/// Folders of the system.
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

/// Folders below the home folder.
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

/// Whether a path is in a folder for programs of the system or of the user.
pub(super) fn is_installed(at: &WorkingDir, path: &Path) -> bool {
    SYSTEM_PROGRAM_DIRS.iter().any(|place| path.starts_with(place))
        || is_at_home(at, path, USER_PROGRAM_DIRS)
}

/// Whether a path is in one of these folders of the home folder.
pub(super) fn is_at_home(at: &WorkingDir, path: &Path, places: &[&str]) -> bool {
    let below = at.home().and_then(|home| path.strip_prefix(home).ok());
    below.is_some_and(|below| places.iter().any(|place| below.starts_with(place)))
}
