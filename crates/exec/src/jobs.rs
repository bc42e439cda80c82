//! All jobs of a program, and whose they are.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, SystemTime};

use hermes_core::{ErrorKind, ToolContext, ToolError};
use parking_lot::Mutex;

use crate::backend::ExecBackend;
use crate::command_spec::CommandSpec;
use crate::disk_watch;
use crate::job::{Job, JobOutputOptions};
use crate::job_handle::JobHandle;
use crate::job_monitor::{JobMonitor, MonitorOptions, SessionBreakers};
use crate::job_records::{self, JobRecord, JobRecords};
use crate::local::LocalBackend;
use crate::output::{OutputMask, SpillTarget};
use crate::remote::remarks::{BackendRemarks, CURRENT_REMARKS};
use crate::retention::{self, OwnedTempDir, RetentionPolicy};
use crate::scratch::ScratchDirs;
use crate::shutdown;
use crate::state::ReportExtractor;
use crate::tree::{self, JobRoot, ProcessTable};

/// Jobs that have ended and are remembered; the oldest go first.
const MAX_ENDED_JOBS: usize = 64;

/// How long they are remembered, from their end on.
const ENDED_JOB_TTL: Duration = Duration::from_secs(30 * 60);

/// Bytes of disk for what one job writes.
const MAX_SPILL_BYTES: u64 = 4 << 30;

/// Commands that are remembered for what they may have left.
const MAX_REMEMBERED_ROOTS: usize = 10_000;

/// How long what went its own way may take to end by itself.
const STRAY_GRACE: Duration = Duration::from_millis(300);

/// How long a job that is told to stop may take to do so.
pub const KILL_GRACE: Duration = Duration::from_secs(2);

/// All jobs of a program.
#[derive(Debug)]
pub struct JobRegistry {
    backend: Arc<dyn ExecBackend>,
    directory: PathBuf,
    /// Opened when there is something to write down.
    records: OnceLock<Option<JobRecords>>,
    /// Goes when they are closed.
    scratch: Mutex<ScratchDirs>,
    next: AtomicU64,
    table: Mutex<BTreeMap<String, Arc<JobHandle>>>,
    breakers: Arc<SessionBreakers>,
    mask: Option<Arc<dyn OutputMask>>,
    /// Those of this machine that were started.
    started_roots: Mutex<VecDeque<JobRoot>>,
    /// What crashed programs have left elsewhere was looked for.
    orphans_reaped: AtomicBool,
    retention: RetentionPolicy,
    /// What has grown old was looked for.
    expiry_checked: AtomicBool,
    /// Whether the folder is nobody else's, and goes with them.
    owns_directory: bool,
    /// Such a folder, as long as it is there.
    owned_dir: Mutex<Option<OwnedTempDir>>,
}

impl JobRegistry {
    /// Those of a program that may write in `folder`.
    pub fn new(backend: Arc<dyn ExecBackend>, folder: PathBuf) -> Self {
        Self {
            backend,
            directory: folder,
            records: OnceLock::new(),
            scratch: Mutex::default(),
            next: AtomicU64::new(0),
            table: Mutex::default(),
            breakers: Arc::default(),
            mask: None,
            started_roots: Mutex::default(),
            orphans_reaped: AtomicBool::new(false),
            retention: RetentionPolicy::default(),
            expiry_checked: AtomicBool::new(false),
            owns_directory: false,
            owned_dir: Mutex::default(),
        }
    }

    /// Those of the program that makes a call. One that embeds tools and has
    /// not said where they may write gets a folder among the temporary files,
    /// which goes when they are closed, or when nobody has them any more.
    pub fn from_context(cx: &ToolContext) -> Arc<Self> {
        cx.ports.get::<Self>().unwrap_or_else(Self::embedded)
    }

    fn embedded() -> Arc<Self> {
        static EMBEDDED_REGISTRY: Mutex<Weak<JobRegistry>> = Mutex::new(Weak::new());
        let mut own = EMBEDDED_REGISTRY.lock();
        let jobs = own.upgrade().unwrap_or_else(|| {
            let mut jobs = Self::local(retention::owned_temp_path());
            jobs.owns_directory = true;
            let jobs = Arc::new(jobs);
            *own = Arc::downgrade(&jobs);
            jobs
        });
        let mut passing = jobs.owned_dir.lock();
        if passing.is_none() {
            // Where nothing can be written, whoever wants to write says so.
            *passing = OwnedTempDir::create(&jobs.directory).ok();
        }
        drop(passing);
        jobs
    }

    /// The same, which keep what was written for so long.
    #[must_use]
    pub fn with_retention(mut self, keep: RetentionPolicy) -> Self {
        self.retention = keep;
        self
    }

    /// The same, with somebody who takes secrets out of what lies on the disk.
    #[must_use]
    pub fn with_mask(mut self, mask: Arc<dyn OutputMask>) -> Self {
        self.mask = Some(mask);
        self
    }

    /// Whether there is something in a text that must not lie open.
    pub fn contains_secret(&self, text: &str) -> bool {
        let Some(mask) = &self.mask else { return false };
        let mut masked = text.as_bytes().to_vec();
        mask.mask(&mut masked);
        masked != text.as_bytes()
    }

    /// Those of this machine.
    pub fn local(folder: PathBuf) -> Self {
        Self::new(Arc::new(LocalBackend::default()), folder)
    }

    /// Where they run.
    pub fn backend(&self) -> &dyn ExecBackend {
        &*self.backend
    }

    /// A folder of our own.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A folder that the jobs of a session may write in, and nobody else: jobs
    /// that are not told of it do not see it.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn scratch(&self, session: &str) -> Result<PathBuf, ToolError> {
        self.scratch
            .lock()
            .session_dir(session)
            .map_err(|error| ToolError::io("A folder for temporary files", &error))
    }

    /// A folder for one job, which is there when this program has ended.
    pub fn detached_dir(&self) -> Result<PathBuf, ToolError> {
        Ok(private_temp_dir(retention::DETACHED_PREFIX)?.keep())
    }

    /// Processes that an earlier program has left behind; none if they cannot
    /// be written down here.
    pub fn records(&self) -> Option<&JobRecords> {
        let open = || JobRecords::open(self.directory.join("running")).ok();
        self.records.get_or_init(open).as_ref()
    }

    /// Does what needs the place where they run, as long as somebody is ready
    /// to wait for that place.
    ///
    /// # Errors
    /// Those of the work, or that the place does not answer.
    pub async fn with_timeout<T>(
        &self,
        limit: Duration,
        stage: BackendPhase,
        cx: &ToolContext,
        work: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        if self.backend.is_local() {
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
                    stage.consequence()
                ),
            )
            .with_hint(
                "It is still tried to reach it: call again in a while, with a longer timeout if \
                 it takes long to start. `hermes doctor --backend` tells what is wrong.",
            )),
        }
    }

    /// Starts a job, which is not yet listed.
    pub async fn start(&self, command: String, order: CommandSpec) -> Result<Arc<Job>, ToolError> {
        self.start_as(self.fresh_id(), command, order, None).await
    }

    /// The same for an id that [`JobRegistry::fresh_id`] has given, and with something
    /// to be taken out of its output.
    pub async fn start_as(
        &self,
        id: String,
        command: String,
        order: CommandSpec,
        frame: Option<ReportExtractor>,
    ) -> Result<Arc<Job>, ToolError> {
        let spill = SpillTarget {
            directory: self.directory.join("output"),
            name: format!("{id}.log"),
            max_bytes: MAX_SPILL_BYTES,
            mask: self.mask.clone(),
        };
        let reports = JobOutputOptions { spill: Some(spill), frame };
        let remarks = BackendRemarks::default();
        self.remove_expired();
        self.reap_orphans(&remarks).await;
        let directory = order.directory.clone();
        let start = Job::start(&*self.backend, id, command, order, reports);
        let job = CURRENT_REMARKS.scope(remarks, start).await?;
        if job.containment.as_ref().is_some_and(|held| held.confinement.is_some()) {
            disk_watch::watch(&job, &directory);
        }
        if let Some(root) = job.root().filter(|root| root.started > 0).cloned() {
            let mut ran = self.started_roots.lock();
            // Of a long session the last ones are enough.
            if ran.len() >= MAX_REMEMBERED_ROOTS {
                ran.pop_front();
            }
            ran.push_back(root);
        }
        Ok(job)
    }

    /// Throws away what has grown old, once and beside all else.
    fn remove_expired(&self) {
        if !self.expiry_checked.swap(true, Ordering::Relaxed) {
            let (folder, keep) = (self.directory.clone(), self.retention);
            // Nobody waits for it: a program that ends lets it go.
            let _ = std::thread::Builder::new()
                .name("hermes-tidy".to_owned())
                .spawn(move || retention::remove_expired(&folder, keep));
        }
    }

    /// Ends what commands have left that went their own way: those that closed
    /// their streams are known by nothing but what they bear.
    async fn terminate_strays(&self) {
        let ran = std::mem::take(&mut *self.started_roots.lock());
        if ran.is_empty() {
            return;
        }
        let sweep = move || {
            let first = ran.iter().map(|root| root.started).min().unwrap_or_default();
            let Ok(table) = ProcessTable::read_since(first) else { return };
            ran.iter().filter(|root| table.has_members(root)).for_each(|root| {
                tree::terminate(root, STRAY_GRACE);
            });
        };
        let _ = tokio::task::spawn_blocking(sweep).await;
    }

    /// Ends what a crashed program has left in this place, once.
    async fn reap_orphans(&self, remarks: &BackendRemarks) {
        if self.backend.is_local() || self.orphans_reaped.swap(true, Ordering::Relaxed) {
            return;
        }
        let Some(records) = self.records() else { return };
        match records.reap_remote_orphans(&*self.backend, &self.fresh_id()).await {
            Ok(0) => {}
            Ok(ended) => remarks.add(format!(
                "An earlier hermes that did not end well had left {ended} processes running \
                 there; they were ended."
            )),
            // What is wrong with the place is told by the program to be run.
            Err(_) => self.orphans_reaped.store(false, Ordering::Relaxed),
        }
    }

    /// Lists a job, so that it can be asked for.
    pub fn list(&self, job: Arc<Job>, session: &str, directory: PathBuf) -> Arc<JobHandle> {
        // Without it a crash leaves a process that nobody knows of.
        let _: io::Result<()> = self.persist(&job, session, &directory, None);
        self.insert(JobHandle::new(job, session, directory, false))
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
    ) -> io::Result<Arc<JobHandle>> {
        self.persist(&job, session, &directory, Some(output))?;
        self.started_roots.lock().retain(|root| root.job != job.id);
        #[cfg(target_os = "linux")]
        if let Some(root) = job.root() {
            crate::guardian::release(root.pid);
        }
        Ok(self.insert(JobHandle::new(job, session, directory, true)))
    }

    fn insert(&self, listed: JobHandle) -> Arc<JobHandle> {
        self.prune();
        let listed = Arc::new(listed.with_mask(self.mask.clone()));
        self.table.lock().insert(listed.job.id.clone(), Arc::clone(&listed));
        listed
    }

    /// Writes a job down that runs for longer, so that the next program finds
    /// it if this one crashes.
    fn persist(
        &self,
        job: &Job,
        session: &str,
        directory: &Path,
        output: Option<PathBuf>,
    ) -> io::Result<()> {
        let elsewhere = (!self.backend.is_local()).then(|| self.backend.location());
        if job.pid.is_none() && elsewhere.is_none() {
            return Ok(());
        }
        let unwritable = || io::Error::other("the folder for that cannot be made");
        let records = self.records().ok_or_else(unwritable)?;
        let pid = job.pid.unwrap_or_default();
        let (owner_pid, owner_started) = job_records::current_process();
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let entry = JobRecord {
            id: job.id.clone(),
            pid,
            started: tree::start_time(pid).unwrap_or_default(),
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
        records.record(&entry)
    }

    /// Keeps a job that is not listed written down, as long as what is given
    /// back lives.
    pub fn guard_record(&self, job: &Job, session: &str, directory: &Path) -> JobRecordGuard<'_> {
        let _: io::Result<()> = self.persist(job, session, directory, None);
        JobRecordGuard { jobs: self, id: job.id.clone() }
    }

    /// Looks after a listed job from now on.
    pub fn monitor(&self, listed: &Arc<JobHandle>, what: MonitorOptions) {
        if !what.has_work() {
            return;
        }
        if let Some(notices) = &what.notices {
            listed.set_notices(Arc::clone(notices));
        }
        let breakers = Arc::clone(&self.breakers);
        tokio::spawn(JobMonitor::new(Arc::clone(listed), what, breakers).run());
    }

    /// Jobs that an earlier program has left, the oldest first; behind them
    /// those that it may have left in other places. Looks at all processes if
    /// there may be some.
    pub fn orphans(&self) -> Vec<JobRecord> {
        // Nobody makes a folder to see that there is nothing in it.
        if !self.directory.join("running").is_dir() {
            return Vec::new();
        }
        let Some(records) = self.records() else { return Vec::new() };
        let mut left = records.orphans();
        left.extend(records.remote_orphans());
        left
    }

    /// A process of this machine that an earlier program has left in a session.
    /// The first one of its job may have ended long ago, and its number may be
    /// that of a stranger by now.
    pub fn survivor(&self, session: &str) -> Option<u32> {
        let mut left = self.orphans();
        left.retain(|it| it.elsewhere.is_none() && it.session == session);
        let table = if left.is_empty() { return None } else { ProcessTable::read().ok()? };
        left.iter().flat_map(|it| table.members(&it.root())).map(|member| member.pid).next()
    }

    /// Ends a job that an earlier program has left in another place.
    ///
    /// # Errors
    /// If that is not the place of these, or cannot be reached.
    pub async fn terminate_remote_orphan(&self, entry: &JobRecord) -> Result<(), ToolError> {
        let place = entry.elsewhere.as_deref().unwrap_or("this machine");
        if self.backend.is_local() || place != self.backend.location() {
            let message = format!("{} was started in another place: {place}", entry.id);
            return Err(ToolError::conflict(message)
                .with_hint("Choose that place in the settings, and end it there."));
        }
        let Some(records) = self.records() else { return Ok(()) };
        records.terminate_remote(vec![entry.clone()], &*self.backend, &self.fresh_id()).await?;
        Ok(())
    }

    /// Ends a job that an earlier program has left; whether nothing of it is
    /// left now. Blocks until then.
    pub fn terminate_orphan(&self, entry: &JobRecord) -> bool {
        self.records()
            .is_some_and(|records| records.terminate(entry, KILL_GRACE).survivors.is_empty())
    }

    /// A job of a session.
    pub fn get(&self, session: &str, id: &str) -> Option<Arc<JobHandle>> {
        self.table.lock().get(id).filter(|listed| listed.session == session).cloned()
    }

    /// Whether this one has ended, whosever it is.
    pub fn has_ended(&self, id: &str) -> bool {
        self.table.lock().get(id).is_some_and(|listed| listed.job.ended().is_some())
    }

    /// The jobs of a session, the oldest first.
    pub fn session_jobs(&self, session: &str) -> Vec<Arc<JobHandle>> {
        let table = self.table.lock();
        let mut jobs: Vec<_> =
            table.values().filter(|listed| listed.session == session).cloned().collect();
        jobs.sort_by_key(|listed| listed.job.started_at);
        jobs
    }

    /// Ends all that is not to outlive this program. Whoever ends has little
    /// time, so all are ended together.
    pub async fn close(&self) {
        let jobs: Vec<_> = self.table.lock().values().cloned().collect();
        let ours: Vec<_> = jobs.iter().filter(|listed| !listed.detached).collect();
        ours.iter().for_each(|listed| listed.acknowledge_end());
        let open: Vec<Arc<Job>> = ours
            .iter()
            .map(|listed| Arc::clone(&listed.job))
            .filter(|job| !has_finished(job))
            .collect();
        if !open.is_empty() {
            shutdown::terminate_all(open).await;
        }
        for listed in jobs.iter().filter(|listed| !listed.detached || has_finished(&listed.job)) {
            self.forget(&listed.job.id);
        }
        self.table.lock().retain(|_, listed| listed.detached && !has_finished(&listed.job));
        self.terminate_strays().await;
        *self.scratch.lock() = ScratchDirs::default();
        // What was detached is written down there.
        let is_empty = self.table.lock().is_empty();
        if is_empty {
            self.owned_dir.lock().take();
        }
    }

    fn forget(&self, id: &str) {
        if let Some(records) = self.records() {
            let _ = records.remove(id);
        }
    }

    /// Forgets what has ended long ago.
    fn prune(&self) {
        let mut table = self.table.lock();
        let age = |listed: &JobHandle| {
            listed.job.ended().filter(|ended| !ended.has_descendants)?;
            listed.job.started_at.elapsed().ok()?.checked_sub(listed.job.age())
        };
        let mut ended: Vec<(Duration, String)> =
            table.iter().filter_map(|(id, listed)| Some((age(listed)?, id.clone()))).collect();
        ended.sort();
        for (at, (age, id)) in ended.into_iter().enumerate() {
            self.forget(&id);
            if at >= MAX_ENDED_JOBS || age > ENDED_JOB_TTL {
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

impl Drop for JobRegistry {
    /// Nobody has closed them: what is not to outlive this program is ended
    /// without being asked.
    fn drop(&mut self) {
        let table = std::mem::take(&mut *self.table.lock());
        let is_left = |listed: &&Arc<JobHandle>| listed.detached && !has_finished(&listed.job);
        let detached: Vec<&str> =
            table.values().filter(is_left).map(|listed| listed.job.id.as_str()).collect();
        let mut ran = std::mem::take(&mut *self.started_roots.lock());
        ran.retain(|root| !detached.contains(&root.job.as_str()));
        if let Some(found) = ran
            .iter()
            .map(|root| root.started)
            .min()
            .and_then(|first| ProcessTable::read_since(first).ok())
        {
            for root in ran.iter().filter(|root| found.has_members(root)) {
                tree::terminate(root, Duration::ZERO);
            }
        }
        for listed in table.values().filter(|listed| !listed.detached) {
            self.forget(&listed.job.id);
        }
        if !detached.is_empty()
            && let Some(passing) = self.owned_dir.lock().take()
        {
            passing.persist();
        }
    }
}

/// What is done in a place that may not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendPhase {
    /// It is looked at.
    Opening,
    /// A program is sent there.
    Starting,
}

impl BackendPhase {
    fn kind(self) -> ErrorKind {
        match self {
            Self::Opening => ErrorKind::Unavailable,
            // The kind of what may or may not have happened.
            Self::Starting => ErrorKind::Timeout,
        }
    }

    fn consequence(self) -> &'static str {
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
pub struct JobRecordGuard<'a> {
    jobs: &'a JobRegistry,
    id: String,
}

impl Drop for JobRecordGuard<'_> {
    fn drop(&mut self) {
        // One that was listed meanwhile is still to be found.
        if !self.jobs.table.lock().contains_key(&self.id) {
            self.jobs.forget(&self.id);
        }
    }
}

fn private_temp_dir(prefix: &str) -> Result<tempfile::TempDir, ToolError> {
    tempfile::Builder::new()
        .prefix(prefix)
        .permissions(std::fs::Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|error| ToolError::io("A folder for temporary files", &error))
}

pub(crate) fn has_finished(job: &Job) -> bool {
    job.ended().is_some_and(|ended| !ended.has_descendants)
}
