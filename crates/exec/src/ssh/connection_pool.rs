//! Pool of shared ssh connections.
//!
//! A host limits the sessions per connection (ten by default), so a busy
//! backend opens several.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::client::control_path_option;

/// Maximum programs per connection; queries about them need sessions too.
const MAX_PROGRAMS_PER_CONNECTION: usize = 7;
/// Maximum connections. Beyond that, each program opens its own.
const MAX_CONNECTIONS: usize = 16;
/// A session started this recently may not be in the socket table yet.
const RECENT_USE_WINDOW: Duration = Duration::from_secs(2);
/// Argument that identifies an ssh master process.
pub(super) const MASTER_OPTION: &str = "-oControlMaster=yes";
/// Timeout of the master's greeting, which it sends immediately.
const GREETING_TIMEOUT: Duration = Duration::from_secs(2);
/// A socket path has at most 108 bytes, and ssh appends a temporary suffix.
const MAX_DIR_BYTES: usize = 60;

/// Pool of shared connections.
#[derive(Debug, Default)]
pub(super) struct ConnectionPool(Mutex<PoolState>);

#[derive(Debug, Default)]
struct PoolState {
    socket_dir: Option<SocketDir>,
    connections: Vec<PooledConnection>,
    created: usize,
    /// No more connections can be opened.
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

    /// Removes dead connections, kills stuck masters, and returns the number of
    /// both.
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

    /// Whether a connection in the pool is dead.
    pub(super) fn has_dead(&self) -> bool {
        self.state().connections.iter().any(|lane| !is_listening(&lane.socket))
    }

    /// Returns the socket path for a new connection, if one is needed.
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
        Ok(state.socket_dir.as_ref().map(|dir| dir.directory.path().join(name)))
    }

    pub(super) fn add(&self, socket: PathBuf) {
        self.state().connections.push(PooledConnection { socket, recent_uses: Vec::new() });
    }

    /// Stops opening further connections.
    pub(super) fn stop_growing(&self) {
        self.state().is_at_limit = true;
    }

    /// Returns the least loaded connection and counts one use.
    pub(super) fn acquire(&self) -> Option<PathBuf> {
        let mut state = self.state();
        let connected = unix_socket_table();
        let lane = state.connections.iter_mut().min_by_key(|lane| lane.load(&connected))?;
        lane.recent_uses.retain(|at| at.elapsed() < RECENT_USE_WINDOW);
        lane.recent_uses.push(Instant::now());
        Some(lane.socket.clone())
    }

    /// Clears the pool, and returns all sockets and their directory, which is
    /// removed on drop.
    pub(super) fn clear(&self) -> (Vec<PathBuf>, Option<SocketDir>) {
        let mut state = self.state();
        state.is_at_limit = false;
        state.connections.clear();
        // Includes connections whose start was cancelled.
        let dir = state.socket_dir.take();
        (dir.as_ref().map(|it| sockets(it.directory.path())).unwrap_or_default(), dir)
    }
}

/// Returns the sockets in a directory that accept connections.
fn sockets(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| is_listening(path)).collect()
}

/// Whether the master behind a socket is responsive: ssh greets every client.
/// Connecting is no proof, since the kernel accepts connections for a hung
/// process.
async fn answers_greeting(socket: &Path) -> bool {
    let greeting = async {
        let caller = tokio::net::UnixStream::connect(socket).await?;
        caller.readable().await?;
        caller.try_read(&mut [0])
    };
    matches!(tokio::time::timeout(GREETING_TIMEOUT, greeting).await, Ok(Ok(1..)))
}

/// Kills an unresponsive ssh master, identified by its arguments. Does nothing
/// where `/proc` is missing.
pub(super) fn kill_stuck_master(socket: &Path) {
    let control_path = control_path_option(socket);
    // Compares the whole argument: the path of socket 1 is a prefix of that of
    // socket 10.
    let is_it = |said: &[u8]| {
        let has = |wanted: &[u8]| said.split(|byte| *byte == 0).any(|word| word == wanted);
        has(control_path.as_bytes()) && has(MASTER_OPTION.as_bytes())
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

/// Whether the socket accepts connections.
fn is_listening(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}

/// Returns the kernel's table of Unix sockets, if available.
fn unix_socket_table() -> String {
    std::fs::read_to_string("/proc/net/unix").unwrap_or_default()
}

/// Counts the clients of a socket. ssh binds it under its name with a temporary
/// suffix.
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

/// Name prefix of a socket directory.
const DIR_PREFIX: &str = "hermes-ssh-";
/// File in the directory that is locked while the program runs.
const OWNER_FILE: &str = ".owner";

/// A private directory for sockets, with a short path.
#[derive(Debug)]
pub(super) struct SocketDir {
    directory: TempDir,
    /// Marks the directory as in use.
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
                Ok(dir) => return Ok(dir),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }
}

/// Returns the parents of socket directories.
fn candidate_dirs() -> impl Iterator<Item = PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let places = runtime.into_iter().chain([std::env::temp_dir(), "/tmp".into()]);
    places.filter(|place| place.as_os_str().len() <= MAX_DIR_BYTES)
}

/// Socket directory of a program that crashed, with its connections.
#[derive(Debug)]
pub(super) struct StaleSocketDir {
    directory: PathBuf,
    /// Keeps other processes from cleaning it up too.
    _lock: File,
}

impl StaleSocketDir {
    /// Returns all stale socket directories.
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

    /// Returns the connections that are still open.
    pub(super) fn sockets(&self) -> Vec<PathBuf> {
        sockets(&self.directory)
    }

    /// Removes the directory.
    pub(super) fn remove(self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

#[cfg(test)]
#[path = "connection_pool_tests.rs"]
mod tests;
