//! Converts operating system errors to messages with a hint.

use std::io;
use std::path::{Path, PathBuf};

use hermes_core::{ErrorKind, ToolError};
use rustix::io::Errno;

use crate::metadata::{FileKind, WrongFileKind};
use crate::resolve::trace_links;
use crate::traps::{TrapError, trap_error};

/// Returns the error for a failed `verb`, such as `open`, on `path`.
pub fn explain_error(verb: &str, path: &Path, error: &io::Error) -> ToolError {
    use io::ErrorKind as Io;
    if let Some(wrong) = WrongFileKind::from_error(error) {
        return explain_kind(path, wrong);
    }
    if TrapError::is_cause_of(error) {
        return trap_error(path);
    }
    if is_loop(error) {
        return explain_loop(path);
    }
    let what = format!("Cannot {verb} {}", path.display());
    match error.kind() {
        // Without an errno it is our own refusal, which states its reason.
        Io::PermissionDenied if error.raw_os_error().is_none() => ToolError::io(what, error)
            .with_hint("The file is protected on purpose; ask the user before continuing."),
        Io::PermissionDenied => ToolError::io(what, error).with_hint(
            "The account that hermes runs under lacks permission; ask the user to grant it.",
        ),
        Io::StorageFull => ToolError::io(what, error).with_hint("Free space on the disk."),
        Io::QuotaExceeded => ToolError::io(what, error)
            .with_hint("Free space: the account has exceeded its disk quota."),
        Io::ReadOnlyFilesystem => ToolError::denied(format!("{what}: {error}"))
            .with_hint("That file system is read-only; choose another path."),
        Io::InvalidFilename => {
            ToolError::new(ErrorKind::InvalidArguments, format!("{what}: the name is too long"))
        }
        Io::NotADirectory => {
            ToolError::not_found(format!("{what}: a component of the path is not a directory"))
        }
        Io::AlreadyExists => ToolError::conflict(format!("{what}: it already exists"))
            .with_hint("Check what exists there; choose another name, or allow replacing it."),
        Io::DirectoryNotEmpty => ToolError::conflict(format!("{what}: the directory is not empty")),
        Io::ResourceBusy => ToolError::conflict(format!("{what}: it is in use by the system"))
            .with_hint(
                "A mounted file cannot be replaced. Write to it in place with a command, or change \
                        the mount.",
            ),
        Io::CrossesDevices => {
            ToolError::invalid(format!("{what}: the two paths are on different file systems"))
                .with_hint("Copy it, then remove the original.")
        }
        _ => ToolError::io(what, error),
    }
}

/// Returns the error for a failure on a path that contained no symlinks when it
/// was resolved.
pub(crate) fn explain_path_error(verb: &str, path: &Path, error: &io::Error) -> ToolError {
    let again = Errno::AGAIN.raw_os_error();
    if is_loop(error) || error.raw_os_error() == Some(again) {
        return path_changed_error(path);
    }
    explain_error(verb, path, error)
}

/// The path no longer leads where it did when the policy checked it.
pub(crate) fn path_changed_error(path: &Path) -> ToolError {
    ToolError::conflict(format!("{} changed during the call; nothing was done", path.display()))
        .with_hint("A component of the path became a symlink. Retry.")
}

/// Whether the system met too many symlinks, or one where none is allowed.
pub fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

fn explain_kind(path: &Path, wrong: WrongFileKind) -> ToolError {
    let WrongFileKind { found, wanted } = wrong;
    let wanted = if wanted == FileKind::File { "a regular file" } else { wanted.describe() };
    ToolError::invalid(format!("{} is {}, not {wanted}", path.display(), found.describe()))
        .with_hint(match found {
            FileKind::Directory => "Specify a file in it.",
            FileKind::File => "Specify a directory.",
            _ => "Only regular files and directories can be used.",
        })
}

/// Returns the error for a symlink loop, naming the first link that repeats.
fn explain_loop(path: &Path) -> ToolError {
    let mut met: Vec<PathBuf> = Vec::new();
    let _ = trace_links(path, &mut |link| met.push(link.to_path_buf()));
    let comes_again = |(at, link): &(usize, &PathBuf)| met.iter().skip(at + 1).any(|l| l == *link);
    let link = match met.iter().enumerate().find(comes_again) {
        Some((_, link)) => link,
        None => met.first().map_or(path, PathBuf::as_path),
    };
    ToolError::invalid(format!("{} is a symlink that leads back to itself", link.display()))
        .with_hint("Fix the symlink, or use another path.")
}
