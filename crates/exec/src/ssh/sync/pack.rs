//! Packs changes into one archive: new files under numbers, and a script that
//! moves them into place.

use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use hermes_core::ToolError;
use hermes_core::text::shell_quote_bytes;

use super::checksum::FileChecksum;
use super::snapshot::{EntryKind, LocalEntry};
use super::{ChangeAction, RemoteChange};

/// First output of the remote script.
pub(super) const BEGIN_MARKER: &[u8] = b"hermes-sync\n";

/// Unpacks the archive, all or nothing, and runs its script.
pub(super) const RECEIVE_SCRIPT: &str = "echo hermes-sync; u=$(umask); umask 077; \
    d=$HOME/.hermes-sync-$$; mkdir \"$d\" || exit 3; trap 'rm -rf \"$d\"' EXIT; \
    trap 'exit 1' HUP INT TERM; tar -xopf - -C \"$d\" || exit 3; umask $u; cd \"$d\" && sh ./moves";

/// Functions of the script: create a file, symlink or directory, or remove one.
/// Anything that differs from its expected state is refused.
const SCRIPT_FUNCTIONS: &str = r#"
s() { cksum <"$1" 2>/dev/null; }
r() { echo "refused $1"; }
f() {
  if [ -d "$3" ] && [ ! -L "$3" ] && ! rmdir "$3" 2>/dev/null; then r $1; return; fi
  if [ -f "$3" ] && [ ! -L "$3" ]; then
    o=$(s "$3")
    if [ "$o" = "$(s "$2")" ]; then :
    elif [ "$4" = - ]; then if [ "$3" -nt "$2" ]; then r $1; return; fi
    elif [ "$o" != "$4" ]; then r $1; return; fi
  fi
  if [ -L "$3" ]; then rm -f "$3" || exit 3; fi
  mv -f "$2" "$3" || exit 3
}
l() {
  if [ -L "$3" ]; then rm -f "$3" || exit 3
  elif [ -e "$3" ] && ! rmdir "$3" 2>/dev/null; then r $1; return; fi
  ln -s "$2" "$3" || exit 3
}
d() {
  if [ -L "$2" ]; then rm -f "$2"
  elif [ -f "$2" ]; then
    if [ "$3" != - ] && [ "$(s "$2")" = "$3" ]; then rm -f "$2"; else r $1; fi
  elif [ -e "$2" ]; then r $1; fi
}
p() { [ -d "$1" ] || mkdir -p "$1" || exit 3; }
e() {
  if [ -f "$2" ] && [ "$3" != - ] && [ "$(s "$2")" = "$3" ]; then rm -f "$2"; fi
  if [ -d "$2" ]; then :; elif [ -e "$2" ] || [ -L "$2" ]; then r $1; else p "$2"; fi
}
"#;

/// Returns the archive, rewound; None if a file changed meanwhile.
pub(super) fn pack(changes: &[RemoteChange]) -> Result<Option<File>, ToolError> {
    let failed = |error: io::Error| ToolError::io("Cannot pack the files to be sent", &error);
    let mut archive = tar::Builder::new(tempfile::tempfile().map_err(failed)?);
    let mut script = SCRIPT_FUNCTIONS.as_bytes().to_vec();
    let mut dir = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        let expected = change.expected.map(cksum_text).unwrap_or_else(|| "-".to_owned());
        let name = quote_remote_path(&change.name);
        match &change.action {
            ChangeAction::Remove => {
                push_line(&mut script, &[&b"d "[..], &entry_name(at), &name, &quoted(&expected)])
            }
            // A directory that is not empty there is kept silently.
            ChangeAction::RemoveDir => {
                push_line(&mut script, &[&b"rmdir "[..], &name, b" 2>/dev/null"]);
            }
            ChangeAction::Put(entry, _) if entry.kind == EntryKind::Directory => {
                push_line(&mut script, &[&b"e "[..], &entry_name(at), &name, &quoted(&expected)]);
            }
            ChangeAction::Put(entry, sum) => {
                let parent = parent_path(&change.name);
                if parent != dir {
                    push_line(&mut script, &[&b"p "[..], &quote_remote_path(parent)]);
                    dir = parent.to_vec();
                }
                match &entry.kind {
                    EntryKind::Directory => {}
                    EntryKind::Link(target) => {
                        push_line(
                            &mut script,
                            &[&b"l "[..], &entry_name(at), &shell_quote_bytes(target), b" ", &name],
                        );
                    }
                    EntryKind::File => {
                        if !add_file(&mut archive, at, entry, *sum).map_err(failed)? {
                            return Ok(None);
                        }
                        let source = format!("./{at} ").into_bytes();
                        let parts: [&[u8]; 5] =
                            [b"f ", &entry_name(at), &source, &name, &quoted(&expected)];
                        push_line(&mut script, &parts);
                    }
                }
            }
        }
    }
    script.extend_from_slice(b"echo hermes-synced\n");
    let mut header = header(script.len() as u64, 0o600, 0);
    archive.append_data(&mut header, "moves", script.as_slice()).map_err(failed)?;
    let mut file = archive.into_inner().map_err(failed)?;
    file.rewind().map_err(failed)?;
    Ok(Some(file))
}

/// Packs a file; returns false if it has changed.
fn add_file(
    archive: &mut tar::Builder<File>,
    at: usize,
    entry: &LocalEntry,
    sum: FileChecksum,
) -> io::Result<bool> {
    let stamp = &entry.stamp;
    let modified = u64::try_from(stamp.modified.0).unwrap_or_default();
    let mut header = header(stamp.size, stamp.mode, modified);
    // Growth is sent with the next push; shrinking is detected below.
    let mut reader = File::open(&entry.path)?.take(stamp.size);
    archive.append_data(&mut header, at.to_string(), &mut reader)?;
    if reader.limit() > 0 {
        return Ok(false);
    }
    let (now, length) = FileChecksum::from_reader(File::open(&entry.path)?)?;
    Ok(now == sum && length == stamp.size)
}

fn header(size: u64, mode: u32, modified: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(mode);
    header.set_mtime(modified);
    header.set_entry_type(tar::EntryType::Regular);
    header
}

/// Formats a checksum as `cksum` prints it.
fn cksum_text(sum: FileChecksum) -> String {
    format!("{} {}", sum.crc, sum.length)
}

fn entry_name(at: usize) -> Vec<u8> {
    format!("{at} ").into_bytes()
}

fn quoted(text: &str) -> Vec<u8> {
    [b" ", shell_quote_bytes(text.as_bytes()).as_slice()].concat()
}

fn push_line(script: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| script.extend_from_slice(part));
    script.push(b'\n');
}

/// Quotes a remote name for `sh`; it starts with `/` or `~`.
fn quote_remote_path(name: &[u8]) -> Vec<u8> {
    match name.strip_prefix(b"~") {
        Some(rest) => [b"\"$HOME\"".as_slice(), &shell_quote_bytes(rest)].concat(),
        None => shell_quote_bytes(name),
    }
}

fn parent_path(name: &[u8]) -> &[u8] {
    let parent = Path::new(std::ffi::OsStr::from_bytes(name)).parent();
    parent.map_or(b"/", |parent| parent.as_os_str().as_bytes())
}
