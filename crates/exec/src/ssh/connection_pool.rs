//! The connections that are shared.
//!
//! A host lets only so many programs run over one connection (ten, if nobody
//! has said otherwise), so a busy place has several.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memchr::memmem;
use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Programs on one connection; questions about them need room as well.
const MAX_PROGRAMS_PER_CONNECTION: usize = 7;
/// Connections at most. Beyond, each program makes one of its own.
const MAX_CONNECTIONS: usize = 16;
/// A trip that was begun so recently may not be seen yet.
const RECENT_USE_WINDOW: Duration = Duration::from_secs(2);
/// The argument of an ssh that keeps a connection for others.
pub(super) const MASTER_OPTION: &str = "-oControlMaster=yes";
/// How long ssh may take to greet. It does so at once.
const GREETING_TIMEOUT: Duration = Duration::from_secs(2);
/// A socket's name has 108 bytes, and ssh puts some behind it at first.
const MAX_DIR_BYTES: usize = 60;

/// The connections that are shared.
#[derive(Debug, Default)]
pub(super) struct ConnectionPool(Mutex<PoolState>);

#[derive(Debug, Default)]
struct PoolState {
    socket_dir: Option<SocketDir>,
    connections: Vec<PooledConnection>,
    created: usize,
    /// More connections cannot be had.
    is_at_limit: bool,
}

#[derive(Debug)]
struct PooledConnection {
    socket: PathBuf,
    recent_uses: Vec<Instant>,
}

impl PooledConnection {
    fn load(&self, connected: &str) -> usize {
        let recent = self.recent_uses.iter().filter(|at| at.elapsed() < RECENT_USE_WINDOW).count();
        recent.max(count_connections(connected, &self.socket))
    }
}

impl ConnectionPool {
    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.0.lock()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state().connections.is_empty()
    }

    /// Forgets the connections that are gone, and ends those that are stuck; how
    /// many there were.
    pub(super) async fn remove_dead(&self) -> usize {
        let sockets: Vec<_> =
            self.state().connections.iter().map(|lane| lane.socket.clone()).collect();
        let mut gone = 0;
        for socket in sockets {
            if !answers_greeting(&socket).await {
                kill_stuck_master(&socket);
                self.state().connections.retain(|lane| lane.socket != socket);
                gone += 1;
            }
        }
        gone
    }

    /// Whether one of them is gone that was not missed yet.
    pub(super) fn has_dead(&self) -> bool {
        self.state().connections.iter().any(|lane| !is_listening(&lane.socket))
    }

    /// The socket of a connection that is to be made, if one is needed.
    pub(super) fn next_socket(&self) -> io::Result<Option<PathBuf>> {
        let mut state = self.state();
        let connected = unix_socket_table();
        let load: usize = state.connections.iter().map(|lane| lane.load(&connected)).sum();
        let lanes = state.connections.len();
        let is_needed = lanes == 0 || load >= lanes * MAX_PROGRAMS_PER_CONNECTION;
        if !is_needed || lanes >= MAX_CONNECTIONS || (state.is_at_limit && lanes > 0) {
            return Ok(None);
        }
        if state.socket_dir.is_none() {
            state.socket_dir = Some(SocketDir::create()?);
        }
        state.created += 1;
        let name = state.created.to_string();
        Ok(state.socket_dir.as_ref().map(|folder| folder.directory.path().join(name)))
    }

    pub(super) fn add(&self, socket: PathBuf) {
        self.state().connections.push(PooledConnection { socket, recent_uses: Vec::new() });
    }

    /// No more connections are wanted.
    pub(super) fn stop_growing(&self) {
        self.state().is_at_limit = true;
    }

    /// The connection with the most room, for one trip.
    pub(super) fn acquire(&self) -> Option<PathBuf> {
        let mut state = self.state();
        let connected = unix_socket_table();
        let lane = state.connections.iter_mut().min_by_key(|lane| lane.load(&connected))?;
        lane.recent_uses.retain(|at| at.elapsed() < RECENT_USE_WINDOW);
        lane.recent_uses.push(Instant::now());
        Some(lane.socket.clone())
    }

    /// Forgets all of them, and says which they were, and the folder that they
    /// are in, which goes when it is dropped.
    pub(super) fn clear(&self) -> (Vec<PathBuf>, Option<SocketDir>) {
        let mut state = self.state();
        state.is_at_limit = false;
        state.connections.clear();
        // One whose making nobody saw through may be there all the same.
        let folder = state.socket_dir.take();
        (folder.as_ref().map(|it| sockets(it.directory.path())).unwrap_or_default(), folder)
    }
}

/// The sockets in a folder that somebody listens to.
fn sockets(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| is_listening(path)).collect()
}

/// Whether somebody looks after the connection behind a socket: ssh greets
/// whoever comes. A system takes callers in for one that does nothing any more.
async fn answers_greeting(socket: &Path) -> bool {
    let greeting = async {
        let caller = tokio::net::UnixStream::connect(socket).await?;
        caller.readable().await?;
        caller.try_read(&mut [0])
    };
    matches!(tokio::time::timeout(GREETING_TIMEOUT, greeting).await, Ok(Ok(1..)))
}

/// Ends the ssh that keeps a connection and does not answer. It is known by its
/// arguments; where the system does not tell them, it stays.
pub(super) fn kill_stuck_master(socket: &Path) {
    let path = socket.as_os_str().as_bytes();
    let is_it = |said: &[u8]| {
        let mut words = said.split(|byte| *byte == 0);
        let is_there = words.clone().any(|word| memmem::find(word, path).is_some());
        is_there && words.any(|word| word == MASTER_OPTION.as_bytes())
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes {
        let said = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let id = process.file_name().to_str().and_then(|id| id.parse().ok());
        if is_it(&said)
            && let Some(id) = id.and_then(Pid::from_raw)
        {
            let _ = kill_process(id, Signal::KILL);
        }
    }
}

/// Whether somebody listens there.
fn is_listening(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}

/// The system's table of sockets, where it has one.
fn unix_socket_table() -> String {
    std::fs::read_to_string("/proc/net/unix").unwrap_or_default()
}

/// How many have connected to a socket. It was bound under its name with
/// some letters behind it.
fn count_connections(table: &str, socket: &Path) -> usize {
    const CONNECTED: &str = "03";
    let Some(socket) = socket.to_str() else { return 0 };
    let of_it = |line: &&str| {
        let mut fields = line.split_ascii_whitespace().skip(5);
        let is_connected = fields.next() == Some(CONNECTED);
        let path = fields.nth(1).and_then(|path| path.strip_prefix(socket));
        is_connected && path.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    table.lines().filter(of_it).count()
}

/// The beginning of the name of a folder for sockets.
const DIR_PREFIX: &str = "hermes-ssh-";
/// The file in it that is locked for as long as the program runs.
const OWNER_FILE: &str = ".owner";

/// A folder for sockets that nobody else can enter, with a short name.
#[derive(Debug)]
pub(super) struct SocketDir {
    directory: TempDir,
    /// Tells others that it is in use.
    _lock: File,
}

impl SocketDir {
    fn create() -> io::Result<Self> {
        let mut failed = io::Error::from(io::ErrorKind::NotFound);
        for place in candidate_dirs() {
            let mut builder = tempfile::Builder::new();
            builder.prefix(DIR_PREFIX).permissions(Permissions::from_mode(0o700));
            let made = builder.tempdir_in(place).and_then(|at| {
                let lock = File::create(at.path().join(OWNER_FILE))?;
                lock.lock()?;
                Ok(Self { directory: at, _lock: lock })
            });
            match made {
                Ok(folder) => return Ok(folder),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }
}

/// Where such folders are.
fn candidate_dirs() -> impl Iterator<Item = PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let places = runtime.into_iter().chain([std::env::temp_dir(), "/tmp".into()]);
    places.filter(|place| place.as_os_str().len() <= MAX_DIR_BYTES)
}

/// What a program has left that did not end well: a folder, and the sockets of
/// connections in it.
#[derive(Debug)]
pub(super) struct StaleSocketDir {
    directory: PathBuf,
    /// Keeps others from taking care of it as well.
    _lock: File,
}

impl StaleSocketDir {
    /// All of them.
    pub(super) fn all() -> Vec<Self> {
        candidate_dirs().flat_map(|place| Self::in_dir(&place)).collect()
    }

    fn in_dir(place: &Path) -> Vec<Self> {
        let us = rustix::process::getuid().as_raw();
        let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
        let ours = entries.filter(|entry| {
            entry.file_name().as_encoded_bytes().starts_with(DIR_PREFIX.as_bytes())
                && entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == us)
        });
        let left = ours.filter_map(|entry| {
            let lock = File::open(entry.path().join(OWNER_FILE)).ok()?;
            lock.try_lock().ok()?;
            Some(Self { directory: entry.path(), _lock: lock })
        });
        left.collect()
    }

    /// The connections that are still there.
    pub(super) fn sockets(&self) -> Vec<PathBuf> {
        sockets(&self.directory)
    }

    /// Takes the folder away.
    pub(super) fn remove(self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

#[cfg(test)]
#[path = "connection_pool_tests.rs"]
mod tests;
