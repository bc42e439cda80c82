//! Errors of the operating system in words that say what to do.

use std::io;
use std::path::{Path, PathBuf};

use hermes_core::{ErrorKind, ToolError};
use rustix::io::Errno;

use crate::metadata::{FileKind, WrongFileKind};
use crate::resolve::trace_links;
use crate::traps::{TrapError, trap_error};

/// Why `verb`, such as `open`, could not be done to `path`.
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
        // Without a number it is a refusal of our own, which has said why.
        Io::PermissionDenied if error.raw_os_error().is_none() => ToolError::io(what, error)
            .with_hint("Whoever owns it wants it unchanged; ask the user before going on."),
        Io::PermissionDenied => ToolError::io(what, error).with_hint(
            "The account that hermes runs under lacks the permission; ask the user to grant it.",
        ),
        Io::StorageFull => ToolError::io(what, error).with_hint("Free space on the disk."),
        Io::QuotaExceeded => {
            ToolError::io(what, error).with_hint("Free space: the account has used up its share.")
        }
        Io::ReadOnlyFilesystem => ToolError::denied(format!("{what}: {error}"))
            .with_hint("Nothing can be changed on that file system; choose another place."),
        Io::InvalidFilename => {
            ToolError::new(ErrorKind::InvalidArguments, format!("{what}: the name is too long"))
        }
        Io::NotADirectory => {
            ToolError::not_found(format!("{what}: a part of the path is not a folder"))
        }
        Io::AlreadyExists => ToolError::conflict(format!("{what}: it exists already"))
            .with_hint("Look at what is there; choose another name, or say that it may go."),
        Io::DirectoryNotEmpty => ToolError::conflict(format!("{what}: the folder is not empty")),
        Io::ResourceBusy => ToolError::conflict(format!("{what}: the system uses it")).with_hint(
            "A file that is mounted in its place cannot be replaced. Write to it with a \
                        command, or change what was mounted there.",
        ),
        Io::CrossesDevices => {
            ToolError::invalid(format!("{what}: the two places are on different file systems"))
                .with_hint("Copy it, then remove the original.")
        }
        _ => ToolError::io(what, error),
    }
}

/// The words for an error met on the way to a place that was free of links
/// when it was looked up.
pub(crate) fn explain_path_error(verb: &str, path: &Path, error: &io::Error) -> ToolError {
    let again = Errno::AGAIN.raw_os_error();
    if is_loop(error) || error.raw_os_error() == Some(again) {
        return path_changed_error(path);
    }
    explain_error(verb, path, error)
}

/// The path leads elsewhere than it did when it was judged.
pub(crate) fn path_changed_error(path: &Path) -> ToolError {
    ToolError::conflict(format!(
        "{} changed while the call was on its way; nothing was done",
        path.display()
    ))
    .with_hint("A link took the place of something on the path. Try again.")
}

/// Whether the system met too many links, or one where none may be.
pub fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

fn explain_kind(path: &Path, wrong: WrongFileKind) -> ToolError {
    let WrongFileKind { found, wanted } = wrong;
    let wanted = if wanted == FileKind::File { "a regular file" } else { wanted.describe() };
    ToolError::invalid(format!("{} is {}, not {wanted}", path.display(), found.describe()))
        .with_hint(match found {
            FileKind::Directory => "Name a file in it.",
            FileKind::File => "Name a folder.",
            _ => "Only regular files and folders can be used.",
        })
}

/// The answer to a path whose links go round: it names the first of them that
/// comes up again.
fn explain_loop(path: &Path) -> ToolError {
    let mut met: Vec<PathBuf> = Vec::new();
    let _ = trace_links(path, &mut |link| met.push(link.to_path_buf()));
    let comes_again = |(at, link): &(usize, &PathBuf)| met.iter().skip(at + 1).any(|l| l == *link);
    let link = match met.iter().enumerate().find(comes_again) {
        Some((_, link)) => link,
        None => met.first().map_or(path, PathBuf::as_path),
    };
    ToolError::invalid(format!("{} is a link that leads back to itself", link.display()))
        .with_hint("Mend the link, or name another path.")
}
