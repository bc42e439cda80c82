//! Files that are traps: reading them hangs, never ends, or gives away the
//! secrets of a process. Refused before they are opened.

use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use hermes_core::ToolError;

/// As many links as the kernel follows.
const HOPS: usize = 40;

/// Files of any process or of the kernel below `/proc`.
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

/// Refuses `path` if it, or anything that it links to, is a trap.
pub(crate) fn refuse_traps(path: &Path) -> Result<(), ToolError> {
    let mut hop = path.to_path_buf();
    for _ in 0..HOPS {
        if is_trap(&hop) || real_form(&hop).is_some_and(|real| is_trap(&real)) {
            return Err(ToolError::denied(format!(
                "{} is a device or a process's inner file, which is never read",
                path.display()
            ))
            .with_hint("Such files are not for reading; look for the information elsewhere."));
        }
        let (Ok(target), Some(folder)) = (fs::read_link(&hop), hop.parent()) else {
            break;
        };
        hop = folder.join(target);
    }
    Ok(())
}

/// The path with every link in its folders followed, but not the last part:
/// the links below `/proc` lead nowhere that can be told from their target.
fn real_form(path: &Path) -> Option<PathBuf> {
    Some(fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?))
}

fn is_trap(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name);
    let is_stream = matches!(name, "0" | "1" | "2") && folder == Some(OsStr::new("fd"));
    if path.starts_with("/proc") {
        return is_stream || PROC_TRAPS.contains(&name);
    }
    if path.starts_with("/sys") {
        return name.starts_with("trace_pipe");
    }
    let is_named_stream = matches!(name, "stdin" | "stdout" | "stderr");
    path.starts_with("/dev") && (is_stream || is_named_stream && folder == Some(OsStr::new("dev")))
}

/// What a file is that is neither a regular file nor a folder.
pub(crate) fn describe_special(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a named pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    let _ = kind;
    "a special file"
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
