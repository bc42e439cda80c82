//! Reads, writes and lists files on any backend, with one round trip per
//! operation.
//!
//! Each operation is a short `sh` script, so nothing has to be installed on the
//! host.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::time::Duration;

use hermes_core::ids::random_marker;
use hermes_core::{ErrorKind, ToolError};

use crate::backend::{ExecBackend, ProcessExit};
use crate::captured_command::{CaptureResult, CapturedCommand};
use crate::command_spec::{CommandSpec, StdinSource, StdioMode};

/// Timeout of one operation, excluding the transfer time of its bytes.
const BASE_TIMEOUT: Duration = Duration::from_secs(60);
/// Throughput assumed for a slow connection.
const MIN_BYTES_PER_SECOND: u64 = 64 * 1024;
/// Maximum size of a directory listing in bytes.
const MAX_LISTING_BYTES: usize = 64 * 1024 * 1024;
/// Maximum length in bytes of the header line before the contents.
const MAX_HEADER_BYTES: usize = 256;

/// File type of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteFileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

/// Metadata of a remote file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteMetadata {
    /// Size in bytes.
    pub size: u64,
    /// Permission bits: the low twelve bits of the mode.
    pub mode: u32,
    /// Modification time in seconds since the Unix epoch.
    pub modified: i64,
}

/// Contents of a remote file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteContents {
    /// The bytes, possibly truncated.
    pub bytes: Vec<u8>,
    /// Metadata from before the read.
    pub metadata: RemoteMetadata,
}

impl RemoteContents {
    /// Whether the file is longer than the bytes read.
    pub fn is_cut(&self) -> bool {
        self.metadata.size > self.bytes.len() as u64
    }
}

/// An entry of a remote directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteDirEntry {
    /// Its file name.
    pub name: OsString,
    /// Its type; symlinks are not followed.
    pub kind: RemoteFileKind,
    /// Its metadata.
    pub metadata: RemoteMetadata,
}

// Exit codes of the scripts, in addition to the usual ones.
const EXIT_MISSING: i32 = 81;
const EXIT_IS_DIRECTORY: i32 = 82;
const EXIT_NO_DIRECTORY: i32 = 83;
const EXIT_NOT_A_FILE: i32 = 84;
const EXIT_DENIED: i32 = 85;
const EXIT_FAILED: i32 = 86;

/// Selects the options and format of the host's `stat`: GNU or BSD.
const STAT_SCRIPT: &str = "\
if stat -c %s / >/dev/null 2>&1; then o=-c a='%f %s %Y'; n=%n
else o=-f a='%Xp %z %m'; n=%N; fi
";

/// Reads a file, up to `most` bytes. Follows symlinks.
///
/// # Errors
/// If the path does not exist, is not a regular file, or is not readable.
pub async fn read(
    backend: &dyn ExecBackend,
    path: &Path,
    most: usize,
) -> Result<RemoteContents, ToolError> {
    let script = format!(
        "{STAT_SCRIPT}[ -e \"$1\" ] || exit {EXIT_MISSING}
[ -d \"$1\" ] && exit {EXIT_IS_DIRECTORY}
[ -f \"$1\" ] || exit {EXIT_NOT_A_FILE}
[ -r \"$1\" ] || exit {EXIT_DENIED}
stat -L $o \"$a\" \"$1\" && head -c {most} \"$1\" || exit {EXIT_FAILED}"
    );
    let trip = TransferScript {
        script,
        path,
        extra_arguments: Vec::new(),
        stdin_bytes: None,
        max_output_bytes: most + MAX_HEADER_BYTES,
    };
    let mut bytes = trip.run(backend).await?.output;
    let end = bytes.iter().take(MAX_HEADER_BYTES).position(|byte| *byte == b'\n');
    let facts = end
        .and_then(|end| parse_metadata(bytes.get(..end)?))
        .ok_or_else(|| unexpected_output_error(path))?;
    bytes.drain(..=end.unwrap_or_default());
    Ok(RemoteContents { bytes, metadata: facts.1 })
}

/// Returns the metadata of a path, or `None` if it does not exist. Follows
/// symlinks.
///
/// # Errors
/// If the backend cannot be reached.
pub async fn metadata(
    backend: &dyn ExecBackend,
    path: &Path,
) -> Result<Option<RemoteMetadata>, ToolError> {
    let script = format!(
        "{STAT_SCRIPT}[ -e \"$1\" ] || exit {EXIT_MISSING}\nstat -L $o \"$a\" \"$1\" || exit {EXIT_MISSING}"
    );
    let trip = TransferScript {
        script,
        path,
        extra_arguments: Vec::new(),
        stdin_bytes: None,
        max_output_bytes: MAX_HEADER_BYTES,
    };
    match trip.run(backend).await {
        Ok(done) => parse_metadata(done.output.trim_ascii_end())
            .map(|(_, facts)| Some(facts))
            .ok_or_else(|| unexpected_output_error(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a file atomically: the old contents stay until the new ones are
/// complete. Follows symlinks. Without a `mode`, the file keeps its current
/// one.
///
/// # Errors
/// If the parent directory does not exist, or the path cannot be written.
pub async fn write(
    backend: &dyn ExecBackend,
    path: &Path,
    bytes: Vec<u8>,
    mode: Option<u32>,
) -> Result<(), ToolError> {
    // The script checks the byte count, since a broken connection delivers part
    // of a file.
    let script = format!(
        "{STAT_SCRIPT}r=$1; case $r in */*) ;; *) r=./$r;; esac
[ -d \"$r\" ] && exit {EXIT_IS_DIRECTORY}
n=$(printf '\\nx'); n=${{n%x}}
if [ -L \"$r\" ]; then l=$(readlink -f \"$r\" && echo x) || exit {EXIT_MISSING}; r=${{l%\"$n\"x}}; fi
[ -d \"${{r%/*}}/\" ] || exit {EXIT_NO_DIRECTORY}
if [ -e \"$r\" ]; then
[ -f \"$r\" ] || exit {EXIT_NOT_A_FILE}
[ -w \"$r\" ] || exit {EXIT_DENIED}
fi
w=${{r%/*}}/.hermes-$$-$2; u=$(umask); umask 077
trap 'rm -f \"$w\"' EXIT; trap 'exit {EXIT_FAILED}' HUP INT TERM
cat >\"$w\" || exit {EXIT_FAILED}
[ \"$(wc -c <\"$w\")\" -eq $2 ] || {{ echo 'it did not arrive whole' >&2; exit {EXIT_FAILED}; }}
if [ -n \"$3\" ]; then m=$3
elif [ -e \"$r\" ]; then
if [ $o = -c ]; then m=$(stat -c %a \"$r\"); chown \"$(stat -c %u:%g \"$r\")\" \"$w\" 2>/dev/null
else m=$(stat -f %Lp \"$r\"); chown \"$(stat -f %u:%g \"$r\")\" \"$w\" 2>/dev/null; fi
else m=$(printf '%o' $((0666 & ~0$u))); fi
chmod \"$m\" \"$w\" && mv -f \"$w\" \"$r\" || exit {EXIT_FAILED}"
    );
    let mode = mode.map(|mode| format!("{mode:o}")).unwrap_or_default();
    let more = vec![bytes.len().to_string().into(), mode.into()];
    let trip = TransferScript {
        script,
        path,
        extra_arguments: more,
        stdin_bytes: Some(bytes),
        max_output_bytes: MAX_HEADER_BYTES,
    };
    trip.run(backend).await.map(drop)
}

/// Lists a directory in no particular order.
///
/// # Errors
/// If the directory does not exist or is not readable.
pub async fn list(
    backend: &dyn ExecBackend,
    path: &Path,
) -> Result<Vec<RemoteDirEntry>, ToolError> {
    let script = format!(
        "{STAT_SCRIPT}[ -e \"$1\" ] || exit {EXIT_MISSING}
[ -d \"$1\" ] || exit {EXIT_NO_DIRECTORY}
[ -r \"$1\" ] && cd \"$1\" || exit {EXIT_DENIED}
find . -mindepth 1 -maxdepth 1 -exec stat $o \"//$a $n\" {{}} + ; :"
    );
    let trip = TransferScript {
        script,
        path,
        extra_arguments: Vec::new(),
        stdin_bytes: None,
        max_output_bytes: MAX_LISTING_BYTES,
    };
    parse_entries(&trip.run(backend).await?.output).ok_or_else(|| unexpected_output_error(path))
}

/// Parses entries, each of which starts with `//`, which no name contains.
fn parse_entries(said: &[u8]) -> Option<Vec<RemoteDirEntry>> {
    let mut entries = Vec::new();
    let mut rest = said.strip_prefix(b"//").unwrap_or_default();
    while !rest.is_empty() {
        let end = memchr::memmem::find(rest, b"\n//");
        let (entry, after) = match end {
            Some(end) => (rest.get(..end)?, rest.get(end + 3..)?),
            None => (rest.strip_suffix(b"\n")?, &rest[rest.len()..]),
        };
        let start = memchr::memmem::find(entry, b" ./")?;
        let (kind, facts) = parse_metadata(entry.get(..start)?)?;
        let name = OsString::from_vec(entry.get(start + 3..)?.to_vec());
        entries.push(RemoteDirEntry { name, kind, metadata: facts });
        rest = after;
    }
    Some(entries)
}

/// Parses the mode in hexadecimal, the size and the modification time.
fn parse_metadata(line: &[u8]) -> Option<(RemoteFileKind, RemoteMetadata)> {
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let mode = u32::from_str_radix(words.next()?, 16).ok()?;
    let (size, modified) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let kind = match mode & 0o170_000 {
        0o100_000 => RemoteFileKind::File,
        0o040_000 => RemoteFileKind::Directory,
        0o120_000 => RemoteFileKind::Link,
        _ => RemoteFileKind::Other,
    };
    Some((kind, RemoteMetadata { size, mode: mode & 0o7777, modified }))
}

fn unexpected_output_error(path: &Path) -> ToolError {
    ToolError::unavailable(format!("{}: unexpected output from the backend", path.display()))
        .with_hint("The backend needs `stat`, `find` and `head` as on a usual Unix system.")
}

/// A script that transfers data in one round trip.
struct TransferScript<'a> {
    script: String,
    path: &'a Path,
    extra_arguments: Vec<OsString>,
    stdin_bytes: Option<Vec<u8>>,
    max_output_bytes: usize,
}

impl TransferScript<'_> {
    async fn run(self, backend: &dyn ExecBackend) -> Result<CaptureResult, ToolError> {
        let place = backend.open().await?;
        let path = self.path;
        let length = self.stdin_bytes.as_ref().map_or(self.max_output_bytes, Vec::len);
        let first =
            ["-c".into(), self.script.into(), "sh".into(), option_safe_path(path.as_os_str())];
        let spec = CommandSpec {
            program: "sh".into(),
            arguments: first.into_iter().chain(self.extra_arguments).collect(),
            environment: place.environment.clone(),
            directory: place.directory.clone(),
            input: self.stdin_bytes.map_or(StdinSource::Empty, StdinSource::Bytes),
            output: StdioMode::Separate,
            confinement: None,
        };
        let limit = BASE_TIMEOUT + Duration::from_secs(length as u64 / MIN_BYTES_PER_SECOND);
        let errand =
            CapturedCommand { spec, timeout: limit, max_output_bytes: self.max_output_bytes };
        let done = errand.run(backend, &random_marker()).await?;
        if done.succeeded() { Ok(done) } else { Err(script_error(path, &done)) }
    }
}

/// Returns the path in a form that no program parses as an option.
fn option_safe_path(path: &OsStr) -> OsString {
    if path.as_bytes().starts_with(b"-") {
        let mut plain = OsString::from("./");
        plain.push(path);
        return plain;
    }
    path.to_owned()
}

fn script_error(path: &Path, done: &CaptureResult) -> ToolError {
    let path = path.display();
    let said = done.errors.trim();
    match done.exit {
        ProcessExit::Code(EXIT_MISSING) => ToolError::not_found(format!("{path}: no such file")),
        ProcessExit::Code(EXIT_IS_DIRECTORY) => ToolError::invalid(format!("{path} is a folder")),
        ProcessExit::Code(EXIT_NO_DIRECTORY) => {
            ToolError::not_found(format!("{path}: no such directory"))
        }
        ProcessExit::Code(EXIT_NOT_A_FILE) => {
            ToolError::invalid(format!("{path} is not a regular file"))
        }
        ProcessExit::Code(EXIT_DENIED) => {
            ToolError::denied(format!("{path}: permission denied on the backend"))
                .with_hint("Check its owner and mode there.")
        }
        _ if said.contains("No space left") || said.contains("quota") => {
            ToolError::limit(format!("{path}: {said}")).with_hint("Free up space there and retry.")
        }
        _ => ToolError::new(ErrorKind::Internal, format!("{path}: {said} ({:?})", done.exit)),
    }
}
