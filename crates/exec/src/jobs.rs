//! All jobs of a program, and whose they are.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use hermes_core::{ErrorKind, ToolContext, ToolError};

use crate::attend::{Attendant, Attention, Breakers};
use crate::backend::Backend;
use crate::closing;
use crate::disk_watch;
use crate::elsewhere::remarks::{REMARKS, Remarks};
use crate::job::{Job, Reports};
use crate::keeping::{self, Keep, Passing};
use crate::leftovers::{self, Entry, Leftovers};
use crate::listed::Listed;
use crate::local::Local;
use crate::order::Order;
use crate::output::{Mask, Spill};
use crate::scratch::Scratch;
use crate::state::Frame;
use crate::tree::{self, Root, Table};

/// Jobs that have ended and are remembered; the oldest go first.
const REMEMBERED: usize = 64;

/// How long they are remembered, from their end on.
const MEMORY: Duration = Duration::from_secs(30 * 60);

/// Bytes of disk for what one job writes.
const SPILL: u64 = 4 << 30;

/// Commands that are remembered for what they may have left.
const RAN: usize = 10_000;

/// How long what went its own way may take to end by itself.
const STRAY: Duration = Duration::from_millis(300);

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
    scratch: Mutex<Scratch>,
    next: AtomicU64,
    table: Mutex<BTreeMap<String, Arc<Listed>>>,
    breakers: Arc<Breakers>,
    mask: Option<Arc<dyn Mask>>,
    /// Those of this machine that were started.
    ran: Mutex<VecDeque<Root>>,
    /// What crashed programs have left elsewhere was looked for.
    swept: AtomicBool,
    keep: Keep,
    /// What has grown old was looked for.
    tidied: AtomicBool,
    /// Whether the folder is nobody else's, and goes with them.
    is_passing: bool,
    /// Such a folder, as long as it is there.
    passing: Mutex<Option<Passing>>,
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
            breakers: Arc::default(),
            mask: None,
            ran: Mutex::default(),
            swept: AtomicBool::new(false),
            keep: Keep::default(),
            tidied: AtomicBool::new(false),
            is_passing: false,
            passing: Mutex::default(),
        }
    }

    /// Those of the program that makes a call. One that embeds tools and has
    /// not said where they may write gets a folder among the temporary files,
    /// which goes when they are closed, or when nobody has them any more.
    pub fn port(cx: &ToolContext) -> Arc<Self> {
        cx.ports.get::<Self>().unwrap_or_else(Self::own)
    }

    fn own() -> Arc<Self> {
        static OWN: Mutex<Weak<Jobs>> = Mutex::new(Weak::new());
        let mut own = lock(&OWN);
        let jobs = own.upgrade().unwrap_or_else(|| {
            let mut jobs = Self::local(keeping::passing_folder());
            jobs.is_passing = true;
            let jobs = Arc::new(jobs);
            *own = Arc::downgrade(&jobs);
            jobs
        });
        let mut passing = lock(&jobs.passing);
        if passing.is_none() {
            // Where nothing can be written, whoever wants to write says so.
            *passing = Passing::make(&jobs.folder).ok();
        }
        drop(passing);
        jobs
    }

    /// The same, which keep what was written for so long.
    #[must_use]
    pub fn keeping(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// The same, with somebody who takes secrets out of what lies on the disk.
    #[must_use]
    pub fn masked(mut self, mask: Arc<dyn Mask>) -> Self {
        self.mask = Some(mask);
        self
    }

    /// Whether there is something in a text that must not lie open.
    pub fn hides(&self, text: &str) -> bool {
        let Some(mask) = &self.mask else { return false };
        let mut masked = text.as_bytes().to_vec();
        mask.mask(&mut masked);
        masked != text.as_bytes()
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

    /// A folder that the jobs of a session may write in, and nobody else: jobs
    /// that are not told of it do not see it.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn scratch(&self, session: &str) -> Result<PathBuf, ToolError> {
        lock(&self.scratch)
            .folder(session)
            .map_err(|error| ToolError::io("A folder for temporary files", &error))
    }

    /// A folder for one job, which is there when this program has ended.
    pub fn lasting_folder(&self) -> Result<PathBuf, ToolError> {
        Ok(private_folder(keeping::DETACHED)?.keep())
    }

    /// Processes that an earlier program has left behind; none if they cannot
    /// be written down here.
    pub fn leftovers(&self) -> Option<&Leftovers> {
        let open = || Leftovers::open(self.folder.join("running")).ok();
        self.leftovers.get_or_init(open).as_ref()
    }

    /// Does what needs the place where they run, as long as somebody is ready
    /// to wait for that place.
    ///
    /// # Errors
    /// Those of the work, or that the place does not answer.
    pub async fn as_long_as<T>(
        &self,
        limit: Duration,
        stage: Stage,
        cx: &ToolContext,
        work: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        if self.backend.is_here() {
            return work.await;
        }
        match tokio::time::timeout(limit, cx.run_until_cancelled(work)).await {
            Ok(done) => done?,
            Err(_) => Err(ToolError::new(
                stage.kind(),
                format!(
                    "{} has not answered within {} s; {}",
                    self.backend.name(),
                    limit.as_secs(),
                    stage.standing()
                ),
            )
            .with_hint(
                "It is still tried to reach it: call again in a while, with a longer timeout if \
                 it takes long to start. `hermes doctor --backend` tells what is wrong.",
            )),
        }
    }

    /// Starts a job, which is not yet listed.
    pub async fn start(&self, command: String, order: Order) -> Result<Arc<Job>, ToolError> {
        self.start_as(self.fresh_id(), command, order, None).await
    }

    /// The same for an id that [`Jobs::fresh_id`] has given, and with something
    /// to be taken out of its output.
    pub async fn start_as(
        &self,
        id: String,
        command: String,
        order: Order,
        frame: Option<Frame>,
    ) -> Result<Arc<Job>, ToolError> {
        let spill = Spill {
            folder: self.folder.join("output"),
            name: format!("{id}.log"),
            most: SPILL,
            mask: self.mask.clone(),
        };
        let reports = Reports { spill: Some(spill), frame };
        let remarks = Remarks::default();
        self.tidy_up();
        self.end_adrift(&remarks).await;
        let directory = order.directory.clone();
        let start = Job::start(&*self.backend, id, command, order, reports);
        let job = REMARKS.scope(remarks, start).await?;
        if job.containment.as_ref().is_some_and(|held| held.confinement.is_some()) {
            disk_watch::watch(&job, &directory);
        }
        if let Some(root) = job.root().filter(|root| root.started > 0).cloned() {
            let mut ran = lock(&self.ran);
            // Of a long session the last ones are enough.
            if ran.len() >= RAN {
                ran.pop_front();
            }
            ran.push_back(root);
        }
        Ok(job)
    }

    /// Throws away what has grown old, once and beside all else.
    fn tidy_up(&self) {
        if !self.tidied.swap(true, Ordering::Relaxed) {
            let (folder, keep) = (self.folder.clone(), self.keep);
            // Nobody waits for it: a program that ends lets it go.
            let _ = std::thread::Builder::new()
                .name("hermes-tidy".to_owned())
                .spawn(move || keeping::tidy(&folder, keep));
        }
    }

    /// Ends what commands have left that went their own way: those that closed
    /// their streams are known by nothing but what they bear.
    async fn end_strays(&self) {
        let ran = std::mem::take(&mut *lock(&self.ran));
        if ran.is_empty() {
            return;
        }
        let sweep = move || {
            let first = ran.iter().map(|root| root.started).min().unwrap_or_default();
            let Ok(table) = Table::read_since(first) else { return };
            ran.iter().filter(|root| table.has_members(root)).for_each(|root| {
                tree::end(root, STRAY);
            });
        };
        let _ = tokio::task::spawn_blocking(sweep).await;
    }

    /// Ends what a crashed program has left in this place, once.
    async fn end_adrift(&self, remarks: &Remarks) {
        if self.backend.is_here() || self.swept.swap(true, Ordering::Relaxed) {
            return;
        }
        let Some(leftovers) = self.leftovers() else { return };
        match leftovers.end_adrift(&*self.backend, &self.fresh_id()).await {
            Ok(0) => {}
            Ok(ended) => remarks.add(format!(
                "An earlier hermes that did not end well had left {ended} processes running \
                 there; they were ended."
            )),
            // What is wrong with the place is told by the program to be run.
            Err(_) => self.swept.store(false, Ordering::Relaxed),
        }
    }

    /// Lists a job, so that it can be asked for.
    pub fn list(&self, job: Arc<Job>, session: &str, directory: PathBuf) -> Arc<Listed> {
        // Without it a crash leaves a process that nobody knows of.
        let _: io::Result<()> = self.write_down(&job, session, &directory, None);
        self.enter(Listed::new(job, session, directory, false))
    }

    /// Lists a job that is to outlive this program, and writes to this file.
    ///
    /// # Errors
    /// If it cannot be written down: nobody would find it again. It is not
    /// listed then, and ends with this program.
    pub fn list_detached(
        &self,
        job: Arc<Job>,
        session: &str,
        directory: PathBuf,
        output: PathBuf,
    ) -> io::Result<Arc<Listed>> {
        self.write_down(&job, session, &directory, Some(output))?;
        lock(&self.ran).retain(|root| root.job != job.id);
        #[cfg(target_os = "linux")]
        if let Some(root) = job.root() {
            crate::guardian::release(root.pid);
        }
        Ok(self.enter(Listed::new(job, session, directory, true)))
    }

    fn enter(&self, listed: Listed) -> Arc<Listed> {
        self.prune();
        let listed = Arc::new(listed.masked(self.mask.clone()));
        lock(&self.table).insert(listed.job.id.clone(), Arc::clone(&listed));
        listed
    }

    /// Writes a job down that runs for longer, so that the next program finds
    /// it if this one crashes.
    fn write_down(
        &self,
        job: &Job,
        session: &str,
        directory: &Path,
        output: Option<PathBuf>,
    ) -> io::Result<()> {
        let elsewhere = (!self.backend.is_here()).then(|| self.backend.whereabouts());
        if job.pid.is_none() && elsewhere.is_none() {
            return Ok(());
        }
        let unwritable = || io::Error::other("the folder for that cannot be made");
        let leftovers = self.leftovers().ok_or_else(unwritable)?;
        let pid = job.pid.unwrap_or_default();
        let (owner_pid, owner_started) = leftovers::owner();
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let entry = Entry {
            id: job.id.clone(),
            pid,
            started: tree::started(pid).unwrap_or_default(),
            command: job.command.clone(),
            cwd: directory.to_path_buf(),
            session: session.to_owned(),
            owner_pid,
            owner_started,
            at: at.unwrap_or_default().as_secs(),
            detached: output.is_some(),
            output,
            elsewhere,
        };
        leftovers.record(&entry)
    }

    /// Keeps a job that is not listed written down, as long as what is given
    /// back lives.
    pub fn vouch(&self, job: &Job, session: &str, directory: &Path) -> Vouched<'_> {
        let _: io::Result<()> = self.write_down(job, session, directory, None);
        Vouched { jobs: self, id: job.id.clone() }
    }

    /// Looks after a listed job from now on.
    pub fn attend(&self, listed: &Arc<Listed>, what: Attention) {
        if !what.is_needed() {
            return;
        }
        if let Some(notices) = &what.notices {
            listed.tell(Arc::clone(notices));
        }
        let breakers = Arc::clone(&self.breakers);
        tokio::spawn(Attendant::new(Arc::clone(listed), what, breakers).serve());
    }

    /// Jobs that an earlier program has left, the oldest first; behind them
    /// those that it may have left in other places. Looks at all processes if
    /// there may be some.
    pub fn left_over(&self) -> Vec<Entry> {
        // Nobody makes a folder to see that there is nothing in it.
        if !self.folder.join("running").is_dir() {
            return Vec::new();
        }
        let Some(leftovers) = self.leftovers() else { return Vec::new() };
        let mut left = leftovers.orphans();
        left.extend(leftovers.astray());
        left
    }

    /// A process of this machine that an earlier program has left in a session.
    /// The first one of its job may have ended long ago, and its number may be
    /// that of a stranger by now.
    pub fn survivor(&self, session: &str) -> Option<u32> {
        let mut left = self.left_over();
        left.retain(|it| it.elsewhere.is_none() && it.session == session);
        let table = if left.is_empty() { return None } else { Table::read().ok()? };
        left.iter().flat_map(|it| table.members(&it.root())).map(|member| member.pid).next()
    }

    /// Ends a job that an earlier program has left in another place.
    ///
    /// # Errors
    /// If that is not the place of these, or cannot be reached.
    pub async fn end_elsewhere(&self, entry: &Entry) -> Result<(), ToolError> {
        let place = entry.elsewhere.as_deref().unwrap_or("this machine");
        if self.backend.is_here() || place != self.backend.whereabouts() {
            let message = format!("{} was started in another place: {place}", entry.id);
            return Err(ToolError::conflict(message)
                .with_hint("Choose that place in the settings, and end it there."));
        }
        let Some(leftovers) = self.leftovers() else { return Ok(()) };
        leftovers.end_there(vec![entry.clone()], &*self.backend, &self.fresh_id()).await?;
        Ok(())
    }

    /// Ends a job that an earlier program has left; whether nothing of it is
    /// left now. Blocks until then.
    pub fn end_left_over(&self, entry: &Entry) -> bool {
        self.leftovers().is_some_and(|leftovers| leftovers.end(entry, GRACE).survivors.is_empty())
    }

    /// A job of a session.
    pub fn get(&self, session: &str, id: &str) -> Option<Arc<Listed>> {
        lock(&self.table).get(id).filter(|listed| listed.session == session).cloned()
    }

    /// Whether this one has ended, whosever it is.
    pub fn has_ended(&self, id: &str) -> bool {
        lock(&self.table).get(id).is_some_and(|listed| listed.job.ended().is_some())
    }

    /// The jobs of a session, the oldest first.
    pub fn of(&self, session: &str) -> Vec<Arc<Listed>> {
        let table = lock(&self.table);
        let mut jobs: Vec<_> =
            table.values().filter(|listed| listed.session == session).cloned().collect();
        jobs.sort_by_key(|listed| listed.job.started_at);
        jobs
    }

    /// Ends all that is not to outlive this program. Whoever ends has little
    /// time, so all are ended together.
    pub async fn close(&self) {
        let jobs: Vec<_> = lock(&self.table).values().cloned().collect();
        let ours: Vec<_> = jobs.iter().filter(|listed| !listed.detached).collect();
        ours.iter().for_each(|listed| listed.see_end());
        let open: Vec<Arc<Job>> =
            ours.iter().map(|listed| Arc::clone(&listed.job)).filter(|job| !is_over(job)).collect();
        if !open.is_empty() {
            closing::end(open).await;
        }
        for listed in jobs.iter().filter(|listed| !listed.detached || is_over(&listed.job)) {
            self.forget(&listed.job.id);
        }
        lock(&self.table).retain(|_, listed| listed.detached && !is_over(&listed.job));
        self.end_strays().await;
        *lock(&self.scratch) = Scratch::default();
        // What was detached is written down there.
        let is_empty = lock(&self.table).is_empty();
        if is_empty {
            lock(&self.passing).take();
        }
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
            listed.job.ended().filter(|ended| !ended.lingers)?;
            listed.job.started_at.elapsed().ok()?.checked_sub(listed.job.age())
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

    /// An id that no other job has.
    pub fn fresh_id(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mixed = now.as_nanos() as u64 ^ (u64::from(std::process::id()) << 40) ^ (number << 20);
        format!("proc_{:012x}", mixed & 0xffff_ffff_ffff)
    }
}

impl Drop for Jobs {
    /// Nobody has closed them: what is not to outlive this program is ended
    /// without being asked.
    fn drop(&mut self) {
        let table = std::mem::take(&mut *lock(&self.table));
        let is_left = |listed: &&Arc<Listed>| listed.detached && !is_over(&listed.job);
        let detached: Vec<&str> =
            table.values().filter(is_left).map(|listed| listed.job.id.as_str()).collect();
        let mut ran = std::mem::take(&mut *lock(&self.ran));
        ran.retain(|root| !detached.contains(&root.job.as_str()));
        if let Some(found) = ran
            .iter()
            .map(|root| root.started)
            .min()
            .and_then(|first| Table::read_since(first).ok())
        {
            for root in ran.iter().filter(|root| found.has_members(root)) {
                tree::end(root, Duration::ZERO);
            }
        }
        for listed in table.values().filter(|listed| !listed.detached) {
            self.forget(&listed.job.id);
        }
        if !detached.is_empty()
            && let Some(passing) = lock(&self.passing).take()
        {
            passing.leave();
        }
    }
}

/// What is done in a place that may not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It is looked at.
    Opening,
    /// A program is sent there.
    Starting,
}

impl Stage {
    fn kind(self) -> ErrorKind {
        match self {
            Self::Opening => ErrorKind::Unavailable,
            // The kind of what may or may not have happened.
            Self::Starting => ErrorKind::Timeout,
        }
    }

    fn standing(self) -> &'static str {
        match self {
            Self::Opening => "nothing was run",
            Self::Starting => {
                "it is not known whether the command has begun, and it is ended if it has"
            }
        }
    }
}

/// A job that is written down for as long as this lives.
#[derive(Debug)]
pub struct Vouched<'a> {
    jobs: &'a Jobs,
    id: String,
}

impl Drop for Vouched<'_> {
    fn drop(&mut self) {
        // One that was listed meanwhile is still to be found.
        if !lock(&self.jobs.table).contains_key(&self.id) {
            self.jobs.forget(&self.id);
        }
    }
}

fn private_folder(prefix: &str) -> Result<tempfile::TempDir, ToolError> {
    tempfile::Builder::new()
        .prefix(prefix)
        .permissions(std::fs::Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|error| ToolError::io("A folder for temporary files", &error))
}

pub(crate) fn is_over(job: &Job) -> bool {
    job.ended().is_some_and(|ended| !ended.lingers)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
