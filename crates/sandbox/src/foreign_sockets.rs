//! The sockets of programs outside. Whoever connects to one may have that
//! program act for it, and a terminal multiplexer runs whatever it is told.
//!
//! The kernel lists sockets by the name under which they were bound. One with a
//! relative name is looked for in the folder of whoever has it open; one that
//! was renamed since is not found.

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

/// Where the kernel lists them.
const UNIX_SOCKET_TABLE: &str = "/proc/net/unix";
/// Whether one waits for others to connect.
const ACCEPTING_FLAG: u32 = 1 << 16;
const DATAGRAM_TYPE: u32 = libc::SOCK_DGRAM as u32;

/// How long a look at the table counts.
const RESCAN_INTERVAL: Duration = Duration::from_secs(1);

/// Tells names of users, and nothing else.
const USER_DATABASE_SOCKETS: &[&str] = &["/run/systemd/userdb", "/var/lib/sss/pipes"];
/// Look up hosts, which tells others something.
const RESOLVER_SOCKETS: &[&str] = &["/run/nscd", "/run/systemd/resolve"];

/// The sockets of others, as they were at the last look.
#[derive(Debug)]
pub(crate) struct ForeignSockets {
    scanned_at: Instant,
    known_inodes: BTreeSet<u64>,
}

/// A line of the table.
#[derive(Debug, PartialEq, Eq)]
struct UnixSocketRow {
    inode: u64,
    is_listening: bool,
    path: PathBuf,
}

impl ForeignSockets {
    /// Those that children may not reach.
    pub(crate) fn scan(confinement: &Confinement) -> (Self, Vec<PathBuf>) {
        let looked = Instant::now();
        let table = read_table();
        let known = table.iter().map(|socket| socket.inode).collect();
        let mut paths = foreign_paths(table, confinement);
        paths.sort();
        paths.dedup();
        (Self { scanned_at: looked, known_inodes: known }, paths)
    }

    /// Whether there are others by now. A burst of children looks once.
    pub(crate) fn has_new(&mut self, confinement: &Confinement) -> bool {
        if self.scanned_at.elapsed() < RESCAN_INTERVAL {
            return false;
        }
        self.scanned_at = Instant::now();
        let mut fresh = read_table();
        // A datagram socket comes with every client.
        fresh.retain(|socket| socket.is_listening && self.known_inodes.insert(socket.inode));
        !fresh.is_empty() && !foreign_paths(fresh, confinement).is_empty()
    }
}

fn read_table() -> Vec<UnixSocketRow> {
    let text = fs::read(UNIX_SOCKET_TABLE).unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(parse_row).collect()
}

/// Sockets with a relative name, by the folders of the processes that have
/// them open, as far as we may look.
fn resolve_relative(sockets: Vec<UnixSocketRow>) -> Vec<UnixSocketRow> {
    let (mut found, sockets): (Vec<_>, Vec<_>) =
        sockets.into_iter().partition(|socket| socket.path.is_absolute());
    if sockets.is_empty() {
        return found;
    }
    for process in proc_dirs() {
        let Ok(folder) = fs::read_link(process.join("cwd")) else { continue };
        for inode in sockets_in_proc_dir(&process) {
            let own = sockets.iter().filter(|socket| socket.inode == inode);
            found.extend(own.map(|socket| UnixSocketRow {
                path: folder.join(&socket.path),
                inode,
                is_listening: socket.is_listening,
            }));
        }
    }
    found
}

/// The folders of all processes.
fn proc_dirs() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process =
        |entry: &fs::DirEntry| entry.file_name().as_bytes().iter().all(u8::is_ascii_digit);
    entries.filter(is_process).map(|entry| entry.path())
}

/// The columns are: address, count, protocol, flags, type, state, inode, path.
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

/// Those among them that are there, belong to others and are not served.
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
    // What was there in a folder before it was opened for something new is not
    // the child's either.
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
        // What a child has made there, the next one may use.
        let made = child_sockets();
        found.retain(|socket| !made.contains(&socket.inode));
    }
    found.into_iter().map(|socket| socket.path).collect()
}

/// Where programs of all kinds put their sockets.
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
    let folder = path.parent().and_then(Path::file_name).map(OsStr::to_string_lossy);
    let folder = folder.unwrap_or_default();
    confinement.services.iter().any(|service| match service {
        HostService::Keys => {
            name.starts_with("S.gpg-agent")
                || name == "S.keyboxd"
                || (name.starts_with("agent.") && folder.starts_with("ssh-"))
                || (name == "ssh" && folder.starts_with("keyring"))
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

/// The sockets of processes that carry the mark of a job.
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
