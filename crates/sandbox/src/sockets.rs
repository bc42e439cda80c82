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

use hermes_core::{Confinement, NetworkMode, HostService};

use crate::JOB_VARIABLE;
use crate::network_space::sockets_in;

/// Where the kernel lists them.
const TABLE: &str = "/proc/net/unix";
/// Whether one waits for others to connect.
const LISTENS: u32 = 1 << 16;
const DATAGRAM: u32 = libc::SOCK_DGRAM as u32;

/// How long a look at the table counts.
const FRESH: Duration = Duration::from_secs(1);

/// Tells names of users, and nothing else.
const NAMES: &[&str] = &["/run/systemd/userdb", "/var/lib/sss/pipes"];
/// Look up hosts, which tells others something.
const RESOLVERS: &[&str] = &["/run/nscd", "/run/systemd/resolve"];

/// The sockets of others, as they were at the last look.
#[derive(Debug)]
pub(crate) struct Sockets {
    looked: Instant,
    known: BTreeSet<u64>,
}

/// A line of the table.
#[derive(Debug, PartialEq, Eq)]
struct Socket {
    inode: u64,
    listens: bool,
    path: PathBuf,
}

impl Sockets {
    /// Those that children may not reach.
    pub(crate) fn look(confinement: &Confinement) -> (Self, Vec<PathBuf>) {
        let looked = Instant::now();
        let table = table();
        let known = table.iter().map(|socket| socket.inode).collect();
        let mut paths = foreign(table, confinement);
        paths.sort();
        paths.dedup();
        (Self { looked, known }, paths)
    }

    /// Whether there are others by now. A burst of children looks once.
    pub(crate) fn has_new(&mut self, confinement: &Confinement) -> bool {
        if self.looked.elapsed() < FRESH {
            return false;
        }
        self.looked = Instant::now();
        let mut fresh = table();
        // A datagram socket comes with every client.
        fresh.retain(|socket| socket.listens && self.known.insert(socket.inode));
        !fresh.is_empty() && !foreign(fresh, confinement).is_empty()
    }
}

fn table() -> Vec<Socket> {
    let text = fs::read(TABLE).unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(parse).collect()
}

/// Sockets with a relative name, by the folders of the processes that have
/// them open, as far as we may look.
fn placed(sockets: Vec<Socket>) -> Vec<Socket> {
    let (mut found, sockets): (Vec<_>, Vec<_>) =
        sockets.into_iter().partition(|socket| socket.path.is_absolute());
    if sockets.is_empty() {
        return found;
    }
    for process in processes() {
        let Ok(folder) = fs::read_link(process.join("cwd")) else { continue };
        for inode in sockets_in(&process) {
            let own = sockets.iter().filter(|socket| socket.inode == inode);
            found.extend(own.map(|socket| Socket {
                path: folder.join(&socket.path),
                inode,
                listens: socket.listens,
            }));
        }
    }
    found
}

/// The folders of all processes.
fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process =
        |entry: &fs::DirEntry| entry.file_name().as_bytes().iter().all(u8::is_ascii_digit);
    entries.filter(is_process).map(|entry| entry.path())
}

/// The columns are: address, count, protocol, flags, type, state, inode, path.
fn parse(line: &[u8]) -> Option<Socket> {
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
    let listens = u32::from_str_radix(&text(flags)?, 16).ok()? & LISTENS != 0;
    let kind = u32::from_str_radix(&text(kind)?, 16).ok()?;
    let path = PathBuf::from(OsStr::from_bytes(path));
    let inode = text(inode)?.parse().ok()?;
    let is_wanted = listens || (kind == DATAGRAM && path.is_absolute());
    is_wanted.then_some(Socket { inode, listens, path })
}

/// Those among them that are there, belong to others and are not served.
fn foreign(sockets: Vec<Socket>, confinement: &Confinement) -> Vec<PathBuf> {
    let common: Vec<PathBuf> = common_places();
    let is_own = |tree: &&PathBuf| !common.iter().any(|place| place.starts_with(tree));
    let own: Vec<&PathBuf> = confinement.write.iter().filter(is_own).collect();
    let is_there =
        |path: &Path| fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_socket());
    let real = placed(sockets).into_iter().filter_map(|socket| {
        let path = fs::canonicalize(&socket.path).ok().filter(|path| is_there(path))?;
        Some(Socket { path, ..socket })
    });
    // What was there in a folder before it was opened for something new is not
    // the child's either.
    let is_within = |path: &Path| {
        own.iter().any(|tree| path.starts_with(tree))
            && !confinement.frozen.iter().any(|kept| path.starts_with(kept))
    };
    let mut found: Vec<Socket> = real
        .filter(|socket| !is_within(&socket.path))
        .filter(|socket| !is_served(&socket.path, confinement))
        .collect();
    let reachable = |path: &Path| confinement.write.iter().any(|tree| path.starts_with(tree));
    if found.iter().any(|socket| reachable(&socket.path)) {
        // What a child has made there, the next one may use.
        let made = made_by_children();
        found.retain(|socket| !made.contains(&socket.inode));
    }
    found.into_iter().map(|socket| socket.path).collect()
}

/// Where programs of all kinds put their sockets.
fn common_places() -> Vec<PathBuf> {
    let named = ["HOME", "XDG_RUNTIME_DIR"].into_iter().filter_map(env::var_os);
    let fixed = ["/tmp", "/var/tmp", "/dev/shm", "/run"].map(PathBuf::from);
    let all = named.map(PathBuf::from).chain([env::temp_dir()]).chain(fixed);
    all.filter_map(|place| fs::canonicalize(place).ok()).collect()
}

fn is_served(path: &Path, confinement: &Confinement) -> bool {
    let below = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
    if below(NAMES) || (confinement.network == NetworkMode::Host && below(RESOLVERS)) {
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
fn made_by_children() -> BTreeSet<u64> {
    let mark = format!("{JOB_VARIABLE}=");
    let is_marked = |process: &Path| {
        let variables = fs::read(process.join("environ")).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|it| it.starts_with(mark.as_bytes()))
    };
    let own = Path::new("/proc").join(std::process::id().to_string());
    let children = processes().filter(|process| *process != own && is_marked(process));
    children.flat_map(|process| sockets_in(&process)).collect()
}

#[cfg(test)]
#[path = "sockets_tests.rs"]
mod tests;
