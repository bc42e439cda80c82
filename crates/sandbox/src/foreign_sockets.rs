//! Unix sockets of programs outside of the sandbox. A child that connects to
//! one can make that program act on its behalf; a terminal multiplexer runs any
//! command it receives.
//!
//! The kernel lists sockets by the path that they were bound to. A relative
//! path is resolved in the working directory of the processes that hold the
//! socket; a socket that was renamed is not found.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_core::{Confinement, HostService, NetworkMode};

use crate::JOB_VARIABLE;
use crate::network_namespace::sockets_in_proc_dir;

/// Kernel table of Unix sockets.
const UNIX_SOCKET_TABLE: &str = "/proc/net/unix";
/// Flag of a listening socket (`__SO_ACCEPTCON`).
const ACCEPTING_FLAG: u32 = 1 << 16;
const DATAGRAM_TYPE: u32 = libc::SOCK_DGRAM as u32;

/// Minimum time between two scans of the table.
const RESCAN_INTERVAL: Duration = Duration::from_secs(1);

/// Sockets that only look up user names.
const USER_DATABASE_SOCKETS: &[&str] = &["/run/systemd/userdb", "/var/lib/sss/pipes"];
/// Sockets that resolve host names, which can leak data.
const RESOLVER_SOCKETS: &[&str] = &["/run/nscd", "/run/systemd/resolve"];

/// Sockets known at the last scan.
#[derive(Debug)]
pub(crate) struct ForeignSockets {
    scanned_at: Instant,
    known_inodes: BTreeSet<u64>,
}

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
struct UnixSocketRow {
    inode: u64,
    is_listening: bool,
    path: PathBuf,
}

impl ForeignSockets {
    /// Returns the sockets that children must not reach.
    pub(crate) fn scan(confinement: &Confinement) -> (Self, Vec<PathBuf>) {
        let looked = Instant::now();
        let table = read_table();
        let known = table.iter().map(|socket| socket.inode).collect();
        let mut paths = foreign_paths(table, confinement);
        paths.sort();
        paths.dedup();
        (Self { scanned_at: looked, known_inodes: known }, paths)
    }

    /// Whether new foreign sockets have appeared. Scans at most once per
    /// `RESCAN_INTERVAL`, so a burst of children scans once.
    pub(crate) fn has_new(&mut self, confinement: &Confinement) -> bool {
        if self.scanned_at.elapsed() < RESCAN_INTERVAL {
            return false;
        }
        self.scanned_at = Instant::now();
        let mut fresh = read_table();
        // Every datagram client binds a socket, so only listeners count.
        fresh.retain(|socket| socket.is_listening && self.known_inodes.insert(socket.inode));
        !fresh.is_empty() && !foreign_paths(fresh, confinement).is_empty()
    }
}

fn read_table() -> Vec<UnixSocketRow> {
    let text = fs::read(UNIX_SOCKET_TABLE).unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(parse_row).collect()
}

/// Resolves relative socket paths in the working directories of the processes
/// that hold them, as far as `/proc` is readable.
fn resolve_relative(sockets: Vec<UnixSocketRow>) -> Vec<UnixSocketRow> {
    let (mut found, sockets): (Vec<_>, Vec<_>) =
        sockets.into_iter().partition(|socket| socket.path.is_absolute());
    if sockets.is_empty() {
        return found;
    }
    for process in proc_dirs() {
        let Ok(dir) = fs::read_link(process.join("cwd")) else { continue };
        for inode in sockets_in_proc_dir(&process) {
            let own = sockets.iter().filter(|socket| socket.inode == inode);
            found.extend(own.map(|socket| UnixSocketRow {
                path: dir.join(&socket.path),
                inode,
                is_listening: socket.is_listening,
            }));
        }
    }
    found
}

/// Returns the `/proc` directories of all processes.
fn proc_dirs() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process =
        |entry: &fs::DirEntry| entry.file_name().as_bytes().iter().all(u8::is_ascii_digit);
    entries.filter(is_process).map(|entry| entry.path())
}

/// Parses a row. The columns are: address, count, protocol, flags, type, state,
/// inode, path.
fn parse_row(line: &[u8]) -> Option<UnixSocketRow> {
    let mut rest = line;
    let mut columns = [&line[..0]; 7];
    for column in &mut columns {
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(|byte| *byte == b' ')?;
        (*column, rest) = rest.split_at(end);
    }
    let path =
        rest.strip_prefix(b" ").filter(|path| !path.is_empty() && !path.starts_with(b"@"))?;
    let text = |column: &'_ [u8]| std::str::from_utf8(column).map(str::to_owned).ok();
    let [.., flags, kind, _, inode] = columns;
    let listens = u32::from_str_radix(&text(flags)?, 16).ok()? & ACCEPTING_FLAG != 0;
    let kind = u32::from_str_radix(&text(kind)?, 16).ok()?;
    let path = PathBuf::from(OsStr::from_bytes(path));
    let inode = text(inode)?.parse().ok()?;
    let is_wanted = listens || (kind == DATAGRAM_TYPE && path.is_absolute());
    is_wanted.then_some(UnixSocketRow { inode, is_listening: listens, path })
}

/// Returns the paths of existing sockets that are foreign and not permitted.
fn foreign_paths(sockets: Vec<UnixSocketRow>, confinement: &Confinement) -> Vec<PathBuf> {
    let common: Vec<PathBuf> = common_socket_dirs();
    let is_own = |tree: &&PathBuf| !common.iter().any(|place| place.starts_with(tree));
    let own: Vec<&PathBuf> = confinement.write.iter().filter(is_own).collect();
    let is_there =
        |path: &Path| fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_socket());
    let real = resolve_relative(sockets).into_iter().filter_map(|socket| {
        let path = fs::canonicalize(&socket.path).ok().filter(|path| is_there(path))?;
        Some(UnixSocketRow { path, ..socket })
    });
    // What existed in a directory that was opened only for new names is not the
    // child's either.
    let is_within = |path: &Path| {
        own.iter().any(|tree| path.starts_with(tree))
            && !confinement.frozen.iter().any(|kept| path.starts_with(kept))
    };
    let mut found: Vec<UnixSocketRow> = real
        .filter(|socket| !is_within(&socket.path))
        .filter(|socket| !is_permitted(&socket.path, confinement))
        .collect();
    let reachable = |path: &Path| confinement.write.iter().any(|tree| path.starts_with(tree));
    if found.iter().any(|socket| reachable(&socket.path)) {
        // A socket created by one child may be used by the next.
        let made = child_sockets();
        found.retain(|socket| !made.contains(&socket.inode));
    }
    found.into_iter().map(|socket| socket.path).collect()
}

/// Returns directories in which programs commonly put sockets.
fn common_socket_dirs() -> Vec<PathBuf> {
    let named = ["HOME", "XDG_RUNTIME_DIR"].into_iter().filter_map(env::var_os);
    let fixed = ["/tmp", "/var/tmp", "/dev/shm", "/run"].map(PathBuf::from);
    let all = named.map(PathBuf::from).chain([env::temp_dir()]).chain(fixed);
    all.filter_map(|place| fs::canonicalize(place).ok()).collect()
}

fn is_permitted(path: &Path, confinement: &Confinement) -> bool {
    let below = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
    if below(USER_DATABASE_SOCKETS)
        || (confinement.network == NetworkMode::Host && below(RESOLVER_SOCKETS))
    {
        return true;
    }
    let named = confinement.sockets.iter().filter_map(|place| fs::canonicalize(place).ok());
    if named.into_iter().any(|place| path.starts_with(place)) {
        return true;
    }
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let dir = path.parent().and_then(Path::file_name).map(OsStr::to_string_lossy);
    let dir = dir.unwrap_or_default();
    confinement.services.iter().any(|service| match service {
        HostService::Keys => {
            name.starts_with("S.gpg-agent")
                || name == "S.keyboxd"
                || (name.starts_with("agent.") && dir.starts_with("ssh-"))
                || (name == "ssh" && dir.starts_with("keyring"))
                || env::var_os("SSH_AUTH_SOCK")
                    .and_then(|named| fs::canonicalize(named).ok())
                    .is_some_and(|named| named == path)
        }
        HostService::Containers => ["docker", "podman", "containerd", "buildkitd", "crio"]
            .iter()
            .any(|engine| name.strip_prefix(engine).is_some_and(|rest| rest.ends_with("sock"))),
        HostService::Databases => {
            name.starts_with(".s.PGSQL.")
                || ["mysql", "mariadb", "redis", "valkey", "mongodb"]
                    .iter()
                    .any(|server| name.starts_with(server) && name.ends_with(".sock"))
        }
        HostService::Settings => false,
    })
}

/// Returns the sockets of processes that carry the mark of a job.
fn child_sockets() -> BTreeSet<u64> {
    let mark = format!("{JOB_VARIABLE}=");
    let is_marked = |process: &Path| {
        let variables = fs::read(process.join("environ")).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|it| it.starts_with(mark.as_bytes()))
    };
    let own = Path::new("/proc").join(std::process::id().to_string());
    let children = proc_dirs().filter(|process| *process != own && is_marked(process));
    children.flat_map(|process| sockets_in_proc_dir(&process)).collect()
}

#[cfg(test)]
#[path = "foreign_sockets_tests.rs"]
mod tests;
