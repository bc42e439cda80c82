//! Files of any place where programs run, with one trip for each.
//!
//! A few words of `sh` do it there, so that nothing has to be installed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::time::Duration;

use hermes_core::{ErrorKind, ToolError};

use crate::backend::{ExecBackend, ProcessExit};
use crate::captured_command::{CaptureResult, CapturedCommand};
use crate::command_spec::{CommandSpec, StdinSource, StdioMode};
use crate::remote::fresh_marker;

/// How long a trip may take, beside what its bytes take.
const BASE_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes that travel in a second on a slow way.
const MIN_BYTES_PER_SECOND: u64 = 64 * 1024;
/// Bytes of a folder's list.
const MAX_LISTING_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of the line that goes before the content.
const MAX_HEADER_BYTES: usize = 256;

/// What kind of thing a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteFileKind {
    /// A file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

/// What is known of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteMetadata {
    /// Its bytes.
    pub size: u64,
    /// Who may do what with it: the last twelve bits.
    pub mode: u32,
    /// When it was last changed, in seconds of the Unix time.
    pub modified: i64,
}

/// What was read of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteContents {
    /// Its bytes, or the first of them.
    pub bytes: Vec<u8>,
    /// What it was like before it was read.
    pub metadata: RemoteMetadata,
}

impl RemoteContents {
    /// Whether there is more than was read.
    pub fn is_cut(&self) -> bool {
        self.metadata.size > self.bytes.len() as u64
    }
}

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteDirEntry {
    /// Its name in the folder.
    pub name: OsString,
    /// What it is; a link is not followed.
    pub kind: RemoteFileKind,
    /// The rest.
    pub metadata: RemoteMetadata,
}

// What the scripts end with, beside the usual.
const EXIT_MISSING: i32 = 81;
const EXIT_IS_DIRECTORY: i32 = 82;
const EXIT_NO_DIRECTORY: i32 = 83;
const EXIT_NOT_A_FILE: i32 = 84;
const EXIT_DENIED: i32 = 85;
const EXIT_FAILED: i32 = 86;

/// Takes apart what there is, in the words of this system's `stat`.
const STAT_SCRIPT: &str = "\
if stat -c %s / >/dev/null 2>&1; then o=-c a='%f %s %Y'; n=%n
else o=-f a='%Xp %z %m'; n=%N; fi
";

/// Reads a file, or its first bytes. Links are followed.
///
/// # Errors
/// If there is no such file, it is no file, or it may not be read.
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

/// What is known of something; none if there is nothing. Links are followed.
///
/// # Errors
/// If the place cannot be reached.
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

/// Writes a file, all of it or nothing: until it is whole the old one stays as
/// it is. Links are followed. Without a `mode` it keeps the one it has.
///
/// # Errors
/// If its folder is not there, or something else stands in the way.
pub async fn write(
    backend: &dyn ExecBackend,
    path: &Path,
    bytes: Vec<u8>,
    mode: Option<u32>,
) -> Result<(), ToolError> {
    // The number of bytes is checked: half a file came over a broken way.
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

/// Says what is in a folder, in no order.
///
/// # Errors
/// If there is no such folder, or it may not be read.
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

/// Two slashes stand before each entry, and in no name.
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

/// The mode in hexadecimal digits, the size, the time.
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
    ToolError::unavailable(format!("{}: the answer from there makes no sense", path.display()))
        .with_hint("The place needs `stat`, `find` and `head` as of a usual Unix system.")
}

/// One trip there and back.
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
        let order = CommandSpec {
            program: "sh".into(),
            arguments: first.into_iter().chain(self.extra_arguments).collect(),
            environment: place.environment.clone(),
            directory: place.directory.clone(),
            input: self.stdin_bytes.map_or(StdinSource::Empty, StdinSource::Bytes),
            output: StdioMode::Separate,
            confinement: None,
        };
        let limit = BASE_TIMEOUT + Duration::from_secs(length as u64 / MIN_BYTES_PER_SECOND);
        let errand = CapturedCommand {
            spec: order,
            timeout: limit,
            max_output_bytes: self.max_output_bytes,
        };
        let done = errand.run(backend, &fresh_marker()).await?;
        if done.succeeded() { Ok(done) } else { Err(script_error(path, &done)) }
    }
}

/// A path that no program takes for an option.
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
        ProcessExit::Code(EXIT_MISSING) => {
            ToolError::not_found(format!("{path}: there is no such file"))
        }
        ProcessExit::Code(EXIT_IS_DIRECTORY) => ToolError::invalid(format!("{path} is a folder")),
        ProcessExit::Code(EXIT_NO_DIRECTORY) => {
            ToolError::not_found(format!("{path}: there is no such folder"))
        }
        ProcessExit::Code(EXIT_NOT_A_FILE) => ToolError::invalid(format!("{path} is no file")),
        ProcessExit::Code(EXIT_DENIED) => {
            ToolError::denied(format!("{path}: the system there refuses it"))
                .with_hint("Check owner and mode there.")
        }
        _ if said.contains("No space left") || said.contains("quota") => {
            ToolError::limit(format!("{path}: {said}")).with_hint("Make room there, and try again.")
        }
        _ => ToolError::new(ErrorKind::Internal, format!("{path}: {said} ({:?})", done.exit)),
    }
}
