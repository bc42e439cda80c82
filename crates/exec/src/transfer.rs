//! Files of any place where programs run, with one trip for each.
//!
//! A few words of `sh` do it there, so that nothing has to be installed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::time::Duration;

use hermes_core::{ErrorKind, ToolError};

use crate::backend::{Backend, Exit};
use crate::elsewhere::fresh_word;
use crate::errand::{Done, Errand};
use crate::order::{Input, Order, Output};

/// How long a trip may take, beside what its bytes take.
const LIMIT: Duration = Duration::from_secs(60);
/// Bytes that travel in a second on a slow way.
const SLOWEST: u64 = 64 * 1024;
/// Bytes of a folder's list.
const MOST_LISTED: usize = 64 * 1024 * 1024;
/// Bytes of the line that goes before the content.
const HEAD: usize = 256;

/// What kind of thing a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

/// What is known of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Its bytes.
    pub size: u64,
    /// Who may do what with it: the last twelve bits.
    pub mode: u32,
    /// When it was last changed, in seconds of the Unix time.
    pub modified: i64,
}

/// What was read of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// Its bytes, or the first of them.
    pub bytes: Vec<u8>,
    /// What it was like before it was read.
    pub facts: Facts,
}

impl Contents {
    /// Whether there is more than was read.
    pub fn is_cut(&self) -> bool {
        self.facts.size > self.bytes.len() as u64
    }
}

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the folder.
    pub name: OsString,
    /// What it is; a link is not followed.
    pub kind: Kind,
    /// The rest.
    pub facts: Facts,
}

// What the scripts end with, beside the usual.
const MISSING: i32 = 81;
const FOLDER: i32 = 82;
const NO_FOLDER: i32 = 83;
const NO_FILE: i32 = 84;
const REFUSED: i32 = 85;
const FAILED: i32 = 86;

/// Takes apart what there is, in the words of this system's `stat`.
const STAT: &str = "\
if stat -c %s / >/dev/null 2>&1; then o=-c a='%f %s %Y'; n=%n
else o=-f a='%Xp %z %m'; n=%N; fi
";

/// Reads a file, or its first bytes. Links are followed.
///
/// # Errors
/// If there is no such file, it is no file, or it may not be read.
pub async fn read(backend: &dyn Backend, path: &Path, most: usize) -> Result<Contents, ToolError> {
    let script = format!(
        "{STAT}[ -e \"$1\" ] || exit {MISSING}
[ -d \"$1\" ] && exit {FOLDER}
[ -f \"$1\" ] || exit {NO_FILE}
[ -r \"$1\" ] || exit {REFUSED}
stat -L $o \"$a\" \"$1\" && head -c {most} \"$1\" || exit {FAILED}"
    );
    let trip = Trip { script, path, more: Vec::new(), sent: None, most: most + HEAD };
    let mut bytes = trip.make(backend).await?.output;
    let end = bytes.iter().take(HEAD).position(|byte| *byte == b'\n');
    let facts = end.and_then(|end| facts(bytes.get(..end)?)).ok_or_else(|| strange(path))?;
    bytes.drain(..=end.unwrap_or_default());
    Ok(Contents { bytes, facts: facts.1 })
}

/// What is known of something; none if there is nothing. Links are followed.
///
/// # Errors
/// If the place cannot be reached.
pub async fn look(backend: &dyn Backend, path: &Path) -> Result<Option<Facts>, ToolError> {
    let script = format!(
        "{STAT}[ -e \"$1\" ] || exit {MISSING}\nstat -L $o \"$a\" \"$1\" || exit {MISSING}"
    );
    let trip = Trip { script, path, more: Vec::new(), sent: None, most: HEAD };
    match trip.make(backend).await {
        Ok(done) => facts(done.output.trim_ascii_end())
            .map(|(_, facts)| Some(facts))
            .ok_or_else(|| strange(path)),
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
    backend: &dyn Backend,
    path: &Path,
    bytes: Vec<u8>,
    mode: Option<u32>,
) -> Result<(), ToolError> {
    // The number of bytes is checked: half a file came over a broken way.
    let script = format!(
        "{STAT}r=$1; case $r in */*) ;; *) r=./$r;; esac
[ -d \"$r\" ] && exit {FOLDER}
n=$(printf '\\nx'); n=${{n%x}}
if [ -L \"$r\" ]; then l=$(readlink -f \"$r\" && echo x) || exit {MISSING}; r=${{l%\"$n\"x}}; fi
[ -d \"${{r%/*}}/\" ] || exit {NO_FOLDER}
if [ -e \"$r\" ]; then
[ -f \"$r\" ] || exit {NO_FILE}
[ -w \"$r\" ] || exit {REFUSED}
fi
w=${{r%/*}}/.hermes-$$-$2; u=$(umask); umask 077
trap 'rm -f \"$w\"' EXIT; trap 'exit {FAILED}' HUP INT TERM
cat >\"$w\" || exit {FAILED}
[ \"$(wc -c <\"$w\")\" -eq $2 ] || {{ echo 'it did not arrive whole' >&2; exit {FAILED}; }}
if [ -n \"$3\" ]; then m=$3
elif [ -e \"$r\" ]; then
if [ $o = -c ]; then m=$(stat -c %a \"$r\"); chown \"$(stat -c %u:%g \"$r\")\" \"$w\" 2>/dev/null
else m=$(stat -f %Lp \"$r\"); chown \"$(stat -f %u:%g \"$r\")\" \"$w\" 2>/dev/null; fi
else m=$(printf '%o' $((0666 & ~0$u))); fi
chmod \"$m\" \"$w\" && mv -f \"$w\" \"$r\" || exit {FAILED}"
    );
    let mode = mode.map(|mode| format!("{mode:o}")).unwrap_or_default();
    let more = vec![bytes.len().to_string().into(), mode.into()];
    let trip = Trip { script, path, more, sent: Some(bytes), most: HEAD };
    trip.make(backend).await.map(drop)
}

/// Says what is in a folder, in no order.
///
/// # Errors
/// If there is no such folder, or it may not be read.
pub async fn list(backend: &dyn Backend, path: &Path) -> Result<Vec<Entry>, ToolError> {
    let script = format!(
        "{STAT}[ -e \"$1\" ] || exit {MISSING}
[ -d \"$1\" ] || exit {NO_FOLDER}
[ -r \"$1\" ] && cd \"$1\" || exit {REFUSED}
find . -mindepth 1 -maxdepth 1 -exec stat $o \"//$a $n\" {{}} + ; :"
    );
    let trip = Trip { script, path, more: Vec::new(), sent: None, most: MOST_LISTED };
    entries(&trip.make(backend).await?.output).ok_or_else(|| strange(path))
}

/// Two slashes stand before each entry, and in no name.
fn entries(said: &[u8]) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut rest = said.strip_prefix(b"//").unwrap_or_default();
    while !rest.is_empty() {
        let end = memchr::memmem::find(rest, b"\n//");
        let (entry, after) = match end {
            Some(end) => (rest.get(..end)?, rest.get(end + 3..)?),
            None => (rest.strip_suffix(b"\n")?, &rest[rest.len()..]),
        };
        let start = memchr::memmem::find(entry, b" ./")?;
        let (kind, facts) = facts(entry.get(..start)?)?;
        let name = OsString::from_vec(entry.get(start + 3..)?.to_vec());
        entries.push(Entry { name, kind, facts });
        rest = after;
    }
    Some(entries)
}

/// The mode in hexadecimal digits, the size, the time.
fn facts(line: &[u8]) -> Option<(Kind, Facts)> {
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let mode = u32::from_str_radix(words.next()?, 16).ok()?;
    let (size, modified) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let kind = match mode & 0o170_000 {
        0o100_000 => Kind::File,
        0o040_000 => Kind::Folder,
        0o120_000 => Kind::Link,
        _ => Kind::Other,
    };
    Some((kind, Facts { size, mode: mode & 0o7777, modified }))
}

fn strange(path: &Path) -> ToolError {
    ToolError::unavailable(format!("{}: the answer from there makes no sense", path.display()))
        .with_hint("The place needs `stat`, `find` and `head` as of a usual Unix system.")
}

/// One trip there and back.
struct Trip<'a> {
    script: String,
    path: &'a Path,
    more: Vec<OsString>,
    sent: Option<Vec<u8>>,
    most: usize,
}

impl Trip<'_> {
    async fn make(self, backend: &dyn Backend) -> Result<Done, ToolError> {
        let place = backend.open().await?;
        let path = self.path;
        let length = self.sent.as_ref().map_or(self.most, Vec::len);
        let first = ["-c".into(), self.script.into(), "sh".into(), plain(path.as_os_str())];
        let order = Order {
            program: "sh".into(),
            arguments: first.into_iter().chain(self.more).collect(),
            environment: place.environment.clone(),
            directory: place.directory.clone(),
            input: self.sent.map_or(Input::Nothing, Input::Given),
            output: Output::Apart,
            confinement: None,
        };
        let limit = LIMIT + Duration::from_secs(length as u64 / SLOWEST);
        let errand = Errand { order, limit, most: self.most };
        let done = errand.run(backend, &fresh_word()).await?;
        if done.is_well() { Ok(done) } else { Err(failure(path, &done)) }
    }
}

/// A path that no program takes for an option.
fn plain(path: &OsStr) -> OsString {
    if path.as_bytes().starts_with(b"-") {
        let mut plain = OsString::from("./");
        plain.push(path);
        return plain;
    }
    path.to_owned()
}

fn failure(path: &Path, done: &Done) -> ToolError {
    let path = path.display();
    let said = done.errors.trim();
    match done.exit {
        Exit::Code(MISSING) => ToolError::not_found(format!("{path}: there is no such file")),
        Exit::Code(FOLDER) => ToolError::invalid(format!("{path} is a folder")),
        Exit::Code(NO_FOLDER) => ToolError::not_found(format!("{path}: there is no such folder")),
        Exit::Code(NO_FILE) => ToolError::invalid(format!("{path} is no file")),
        Exit::Code(REFUSED) => ToolError::denied(format!("{path}: the system there refuses it"))
            .with_hint("Check owner and mode there."),
        _ if said.contains("No space left") || said.contains("quota") => {
            ToolError::limit(format!("{path}: {said}")).with_hint("Make room there, and try again.")
        }
        _ => ToolError::new(ErrorKind::Internal, format!("{path}: {said} ({:?})", done.exit)),
    }
}
