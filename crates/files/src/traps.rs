//! Files that are refused before they are opened because reading them blocks,
//! never ends, or exposes the secrets of a process.

use std::error::Error;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use hermes_core::ToolError;
use rustix::fs::PROC_SUPER_MAGIC;

use crate::resolve::trace_links;

/// Files of any process or of the kernel in `/proc`.
const PROC_TRAPS: &[&str] = &[
    "auxv",
    "cmdline",
    "environ",
    "kcore",
    "kmsg",
    "kpagecount",
    "kpageflags",
    "maps",
    "mem",
    "numa_maps",
    "pagemap",
    "smaps",
    "smaps_rollup",
    "sysrq-trigger",
];

/// Refuses `path` if it, or any symlink on its way, is a trap.
pub fn refuse_traps(path: &Path) -> Result<(), ToolError> {
    // Check symlinks too: those in `/proc` cannot be distinguished from their
    // targets.
    let mut is_caught = is_trap(path);
    let end = trace_links(path, &mut |link| is_caught |= is_trap(link));
    if is_caught || end.is_ok_and(|end| is_trap(&end)) {
        return Err(trap_error(path));
    }
    Ok(())
}

pub(crate) fn trap_error(path: &Path) -> ToolError {
    ToolError::denied(format!(
        "{} is a device or an internal process file, which is never read",
        path.display()
    ))
    .with_hint("Get the information from another source.")
}

/// Fails if `name` in an open directory is a trap, wherever procfs is mounted.
pub(crate) fn refuse_trap_in(dir: impl AsFd, name: &OsStr) -> io::Result<()> {
    let is_suspect = name.to_str().is_some_and(|name| PROC_TRAPS.contains(&name));
    if is_suspect && rustix::fs::fstatfs(dir)?.f_type == PROC_SUPER_MAGIC {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, TrapError));
    }
    Ok(())
}

/// The file to open is a trap.
#[derive(Debug)]
pub(crate) struct TrapError;

impl TrapError {
    pub(crate) fn is_cause_of(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Self>())
    }
}

impl fmt::Display for TrapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is an internal process file, which is never read")
    }
}

impl Error for TrapError {}

/// Whether a path is a trap by its name.
pub(crate) fn is_trap(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let dir = path.parent().and_then(Path::file_name);
    let is_stream = matches!(name, "0" | "1" | "2") && dir == Some(OsStr::new("fd"));
    if path.starts_with("/proc") {
        return is_stream || PROC_TRAPS.contains(&name);
    }
    if path.starts_with("/sys") {
        return name.starts_with("trace_pipe");
    }
    let is_named_stream = matches!(name, "stdin" | "stdout" | "stderr");
    path.starts_with("/dev") && (is_stream || is_named_stream && dir == Some(OsStr::new("dev")))
}

#[cfg(test)]
#[path = "traps_tests.rs"]
mod tests;
