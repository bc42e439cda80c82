//! All jobs of a program, and whose they are.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use hermes_core::ToolError;

use crate::backend::Backend;
use crate::job::Job;
use crate::leftovers::{self, Entry, Leftovers};
use crate::local::Local;
use crate::order::Order;
use crate::output::{Cleaner, Spill};
use crate::tree;

/// Jobs that have ended and are remembered; the oldest go first.
const REMEMBERED: usize = 64;

/// How long they are remembered, from their end on.
const MEMORY: Duration = Duration::from_secs(30 * 60);

/// Bytes of disk for what one job writes.
const SPILL: u64 = 4 << 30;

/// How long a job that is told to stop may take to do so.
pub const GRACE: Duration = Duration::from_secs(2);

/// All jobs of a program.
#[derive(Debug)]
pub struct Jobs {
    backend: Arc<dyn Backend>,
    folder: PathBuf,
    /// Opened when there is something to write down.
    leftovers: OnceLock<Option<Leftovers>>,
    /// Goes when they are closed.
    scratch: Mutex<Option<tempfile::TempDir>>,
    next: AtomicU64,
    table: Mutex<BTreeMap<String, Arc<Listed>>>,
}

/// A job that others may ask for.
#[derive(Debug)]
pub struct Listed {
    /// The job.
    pub job: Arc<Job>,
    /// The session that it belongs to.
    pub session: String,
    /// Where it was started.
    pub directory: PathBuf,
    /// Whether it outlives this program.
    pub detached: bool,
    told: Mutex<Told>,
}

/// What was told of a job's output so far.
#[derive(Debug, Default)]
struct Told {
    offset: u64,
    cleaner: Cleaner,
}

/// What is new in the output of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// The text.
    pub text: String,
    /// Bytes that are there and were left out, being too many.
    pub skipped: u64,
}

impl Listed {
    /// What was written since this was last asked, at most so many bytes of it:
    /// of more, the end.
    pub fn news(&self, most: usize) -> News {
        let mut told = lock(&self.told);
        let log = self.job.log();
        let start = told.offset.max(log.len().saturating_sub(most as u64));
        let skipped = start - told.offset;
        if skipped > 0 {
            told.cleaner = Cleaner::default();
        }
        let piece = log.since(start, most);
        let mut text = told.cleaner.feed(&piece.bytes);
        // A question has no line end.
        text.push_str(&told.cleaner.flush());
        told.offset = piece.next;
        News { text, skipped: skipped + piece.from.saturating_sub(start) }
    }

    /// All that was written is told, by other means.
    pub fn catch_up(&self) {
        let mut told = lock(&self.told);
        told.offset = self.job.log().len();
        told.cleaner = Cleaner::default();
    }
}

impl Jobs {
    /// Those of a program that may write in `folder`.
    pub fn new(backend: Arc<dyn Backend>, folder: PathBuf) -> Self {
        Self {
            backend,
            folder,
            leftovers: OnceLock::new(),
            scratch: Mutex::default(),
            next: AtomicU64::new(0),
            table: Mutex::default(),
        }
    }

    /// Those of this machine.
    pub fn local(folder: PathBuf) -> Self {
        Self::new(Arc::new(Local::default()), folder)
    }

    /// Where they run.
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// A folder of our own.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A folder that jobs may write in, and nobody else.
    pub fn scratch(&self) -> Result<PathBuf, ToolError> {
        let mut scratch = lock(&self.scratch);
        if let Some(scratch) = &*scratch {
            return Ok(scratch.path().to_path_buf());
        }
        let made = tempfile::Builder::new()
            .prefix("hermes-")
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir()
            .map_err(|error| ToolError::io("A folder for temporary files", &error))?;
        Ok(scratch.insert(made).path().to_path_buf())
    }

    /// Processes that an earlier program has left behind; none if they cannot
    /// be written down here.
    pub fn leftovers(&self) -> Option<&Leftovers> {
        let open = || Leftovers::open(self.folder.join("running")).ok();
        self.leftovers.get_or_init(open).as_ref()
    }

    /// Starts a job, which is not yet listed.
    pub async fn start(&self, command: String, order: Order) -> Result<Arc<Job>, ToolError> {
        let id = self.fresh_id();
        let spill =
            Spill { folder: self.folder.join("output"), name: format!("{id}.log"), most: SPILL };
        Job::start(&*self.backend, id, command, order, Some(spill)).await
    }

    /// Lists a job, so that it can be asked for.
    pub fn list(
        &self,
        job: Arc<Job>,
        session: &str,
        directory: PathBuf,
        detached: bool,
    ) -> Arc<Listed> {
        self.prune();
        if let (Some(leftovers), Some(pid)) = (self.leftovers(), job.pid) {
            let (owner_pid, owner_started) = leftovers::owner();
            let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let entry = Entry {
                id: job.id.clone(),
                pid,
                started: tree::started(pid).unwrap_or_default(),
                command: job.command.clone(),
                cwd: directory.clone(),
                session: session.to_owned(),
                owner_pid,
                owner_started,
                at: at.unwrap_or_default().as_secs(),
                detached,
            };
            // Without it a crash leaves a process that nobody knows of.
            let _: io::Result<()> = leftovers.record(&entry);
        }
        let listed = Arc::new(Listed {
            job,
            session: session.to_owned(),
            directory,
            detached,
            told: Mutex::default(),
        });
        lock(&self.table).insert(listed.job.id.clone(), Arc::clone(&listed));
        listed
    }

    /// A job of a session.
    pub fn get(&self, session: &str, id: &str) -> Option<Arc<Listed>> {
        lock(&self.table).get(id).filter(|listed| listed.session == session).cloned()
    }

    /// The jobs of a session, the oldest first.
    pub fn of(&self, session: &str) -> Vec<Arc<Listed>> {
        let table = lock(&self.table);
        let mut jobs: Vec<_> =
            table.values().filter(|listed| listed.session == session).cloned().collect();
        jobs.sort_by_key(|listed| listed.job.started_at);
        jobs
    }

    /// Ends all that is not to outlive this program.
    pub async fn close(&self) {
        let jobs: Vec<_> = lock(&self.table).values().cloned().collect();
        for listed in jobs.iter().filter(|listed| !listed.detached) {
            if listed.job.ended().is_none_or(|ended| ended.lingers) {
                listed.job.end(GRACE).await;
            }
            self.forget(&listed.job.id);
        }
        lock(&self.scratch).take();
    }

    fn forget(&self, id: &str) {
        if let Some(leftovers) = self.leftovers() {
            let _ = leftovers.forget(id);
        }
    }

    /// Forgets what has ended long ago.
    fn prune(&self) {
        let mut table = lock(&self.table);
        let age = |listed: &Listed| {
            let ended = listed.job.ended().filter(|ended| !ended.lingers)?;
            listed.job.started_at.elapsed().ok()?.checked_sub(ended.after)
        };
        let mut ended: Vec<(Duration, String)> =
            table.iter().filter_map(|(id, listed)| Some((age(listed)?, id.clone()))).collect();
        ended.sort();
        for (at, (age, id)) in ended.into_iter().enumerate() {
            self.forget(&id);
            if at >= REMEMBERED || age > MEMORY {
                table.remove(&id);
            }
        }
    }

    fn fresh_id(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mixed = now.as_nanos() as u64 ^ (u64::from(std::process::id()) << 40) ^ (number << 20);
        format!("proc_{:012x}", mixed & 0xffff_ffff_ffff)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
