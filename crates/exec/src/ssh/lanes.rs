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
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use memchr::memmem;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Programs on one connection; questions about them need room as well.
const FEW: usize = 7;
/// Connections at most. Beyond, each program makes one of its own.
const MOST: usize = 16;
/// A trip that was begun so recently may not be seen yet.
const RECENT: Duration = Duration::from_secs(2);
/// The argument of an ssh that keeps a connection for others.
pub(super) const MASTER: &str = "-oControlMaster=yes";
/// How long ssh may take to greet. It does so at once.
const GREETING: Duration = Duration::from_secs(2);
/// A socket's name has 108 bytes, and ssh puts some behind it at first.
const LONGEST_FOLDER: usize = 60;

/// The connections that are shared.
#[derive(Debug, Default)]
pub(super) struct Lanes(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    folder: Option<Folder>,
    lanes: Vec<Lane>,
    made: usize,
    /// More connections cannot be had.
    is_content: bool,
}

#[derive(Debug)]
struct Lane {
    socket: PathBuf,
    taken: Vec<Instant>,
}

impl Lane {
    fn load(&self, connected: &str) -> usize {
        let recent = self.taken.iter().filter(|at| at.elapsed() < RECENT).count();
        recent.max(connections(connected, &self.socket))
    }
}

impl Lanes {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state().lanes.is_empty()
    }

    /// Forgets the connections that are gone, and ends those that are stuck; how
    /// many there were.
    pub(super) async fn sweep(&self) -> usize {
        let sockets: Vec<_> = self.state().lanes.iter().map(|lane| lane.socket.clone()).collect();
        let mut gone = 0;
        for socket in sockets {
            if !greets(&socket).await {
                end_stuck(&socket);
                self.state().lanes.retain(|lane| lane.socket != socket);
                gone += 1;
            }
        }
        gone
    }

    /// Whether one of them is gone that was not missed yet.
    pub(super) fn is_broken(&self) -> bool {
        self.state().lanes.iter().any(|lane| !answers(&lane.socket))
    }

    /// The socket of a connection that is to be made, if one is needed.
    pub(super) fn wanted(&self) -> io::Result<Option<PathBuf>> {
        let mut state = self.state();
        let connected = table();
        let load: usize = state.lanes.iter().map(|lane| lane.load(&connected)).sum();
        let lanes = state.lanes.len();
        let is_needed = lanes == 0 || load >= lanes * FEW;
        if !is_needed || lanes >= MOST || (state.is_content && lanes > 0) {
            return Ok(None);
        }
        if state.folder.is_none() {
            state.folder = Some(Folder::make()?);
        }
        state.made += 1;
        let name = state.made.to_string();
        Ok(state.folder.as_ref().map(|folder| folder.at.path().join(name)))
    }

    pub(super) fn add(&self, socket: PathBuf) {
        self.state().lanes.push(Lane { socket, taken: Vec::new() });
    }

    /// No more connections are wanted.
    pub(super) fn be_content(&self) {
        self.state().is_content = true;
    }

    /// The connection with the most room, for one trip.
    pub(super) fn take(&self) -> Option<PathBuf> {
        let mut state = self.state();
        let connected = table();
        let lane = state.lanes.iter_mut().min_by_key(|lane| lane.load(&connected))?;
        lane.taken.retain(|at| at.elapsed() < RECENT);
        lane.taken.push(Instant::now());
        Some(lane.socket.clone())
    }

    /// Forgets all of them, and says which they were, and the folder that they
    /// are in, which goes when it is dropped.
    pub(super) fn clear(&self) -> (Vec<PathBuf>, Option<Folder>) {
        let mut state = self.state();
        state.is_content = false;
        state.lanes.clear();
        // One whose making nobody saw through may be there all the same.
        let folder = state.folder.take();
        (folder.as_ref().map(|it| sockets(it.at.path())).unwrap_or_default(), folder)
    }
}

/// The sockets in a folder that somebody listens to.
fn sockets(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| answers(path)).collect()
}

/// Whether somebody looks after the connection behind a socket: ssh greets
/// whoever comes. A system takes callers in for one that does nothing any more.
async fn greets(socket: &Path) -> bool {
    let greeting = async {
        let caller = tokio::net::UnixStream::connect(socket).await?;
        caller.readable().await?;
        caller.try_read(&mut [0])
    };
    matches!(tokio::time::timeout(GREETING, greeting).await, Ok(Ok(1..)))
}

/// Ends the ssh that keeps a connection and does not answer. It is known by its
/// arguments; where the system does not tell them, it stays.
pub(super) fn end_stuck(socket: &Path) {
    let path = socket.as_os_str().as_bytes();
    let is_it = |said: &[u8]| {
        let mut words = said.split(|byte| *byte == 0);
        let is_there = words.clone().any(|word| memmem::find(word, path).is_some());
        is_there && words.any(|word| word == MASTER.as_bytes())
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
fn answers(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}

/// The system's table of sockets, where it has one.
fn table() -> String {
    std::fs::read_to_string("/proc/net/unix").unwrap_or_default()
}

/// How many have connected to a socket. It was bound under its name with
/// some letters behind it.
fn connections(table: &str, socket: &Path) -> usize {
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
const PREFIX: &str = "hermes-ssh-";
/// The file in it that is locked for as long as the program runs.
const OWNER: &str = ".owner";

/// A folder for sockets that nobody else can enter, with a short name.
#[derive(Debug)]
pub(super) struct Folder {
    at: TempDir,
    /// Tells others that it is in use.
    _lock: File,
}

impl Folder {
    fn make() -> io::Result<Self> {
        let mut failed = io::Error::from(io::ErrorKind::NotFound);
        for place in places() {
            let mut builder = tempfile::Builder::new();
            builder.prefix(PREFIX).permissions(Permissions::from_mode(0o700));
            let made = builder.tempdir_in(place).and_then(|at| {
                let lock = File::create(at.path().join(OWNER))?;
                lock.lock()?;
                Ok(Self { at, _lock: lock })
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
fn places() -> impl Iterator<Item = PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let places = runtime.into_iter().chain([std::env::temp_dir(), "/tmp".into()]);
    places.filter(|place| place.as_os_str().len() <= LONGEST_FOLDER)
}

/// What a program has left that did not end well: a folder, and the sockets of
/// connections in it.
#[derive(Debug)]
pub(super) struct Abandoned {
    folder: PathBuf,
    /// Keeps others from taking care of it as well.
    _lock: File,
}

impl Abandoned {
    /// All of them.
    pub(super) fn all() -> Vec<Self> {
        places().flat_map(|place| Self::below(&place)).collect()
    }

    fn below(place: &Path) -> Vec<Self> {
        let us = rustix::process::getuid().as_raw();
        let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
        let ours = entries.filter(|entry| {
            entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())
                && entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == us)
        });
        let left = ours.filter_map(|entry| {
            let lock = File::open(entry.path().join(OWNER)).ok()?;
            lock.try_lock().ok()?;
            Some(Self { folder: entry.path(), _lock: lock })
        });
        left.collect()
    }

    /// The connections that are still there.
    pub(super) fn sockets(&self) -> Vec<PathBuf> {
        sockets(&self.folder)
    }

    /// Takes the folder away.
    pub(super) fn remove(self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
#[path = "lanes_tests.rs"]
mod tests;
