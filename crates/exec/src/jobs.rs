//! The registry of all jobs of this process, by session.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Ended jobs to keep; the oldest are dropped first.
const MAX_ENDED_JOBS: usize = 64;

/// How long to keep a job after its end.
const ENDED_JOB_TTL: Duration = Duration::from_secs(30 * 60);

/// Disk space for the output of one job.
const MAX_SPILL_BYTES: u64 = 4 << 30;

/// Commands to remember for finding processes they left behind.
const MAX_REMEMBERED_ROOTS: usize = 10_000;

/// Time between SIGTERM and SIGKILL for stray processes.
const STRAY_GRACE: Duration = Duration::from_millis(300);

/// Time between SIGTERM and SIGKILL when a job is stopped.
pub const KILL_GRACE: Duration = Duration::from_secs(2);

/// All jobs of this process.
#[derive(Debug)]
pub struct JobRegistry {
    backend: Arc<dyn ExecBackend>,
    directory: PathBuf,
    /// Opened when the first record is written.
    records: OnceLock<Option<JobRecords>>,
    /// Removed by [`close`](Self::close).
    scratch: Mutex<ScratchDirs>,
    table: Mutex<BTreeMap<String, Arc<JobHandle>>>,
    breakers: Arc<SessionBreakers>,
    mask: Option<Arc<dyn OutputMask>>,
    /// The roots of local jobs that were started.
    started_roots: Mutex<VecDeque<JobRoot>>,
    /// Whether orphans of crashed processes on the backend were looked for.
    orphans_reaped: AtomicBool,
    retention: RetentionPolicy,
    /// Whether expired files were looked for.
    expiry_checked: AtomicBool,
    /// Whether the directory belongs to this registry alone and is removed with
    /// it.
    owns_directory: bool,
    /// That directory, while it exists.
    owned_dir: Mutex<Option<OwnedTempDir>>,
}

impl JobRegistry {
    /// Creates a registry that keeps its files in `dir`.
    pub fn new(backend: Arc<dyn ExecBackend>, dir: PathBuf) -> Self {
        Self {
            backend,
            directory: dir,
            records: OnceLock::new(),
            scratch: Mutex::default(),
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

    /// Returns the registry of the calling process. A process that embeds the
    /// tools without choosing a directory gets a temporary one, which is
    /// removed when the registry is closed or dropped.
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
            // If the directory cannot be created, writing to it fails later
            // with an error.
            *passing = OwnedTempDir::create(&jobs.directory).ok();
        }
        drop(passing);
        jobs
    }

    /// Sets how long output is kept.
    #[must_use]
    pub fn with_retention(mut self, keep: RetentionPolicy) -> Self {
        self.retention = keep;
        self
    }

    /// Sets the mask that removes secrets from files.
    #[must_use]
    pub fn with_mask(mut self, mask: Arc<dyn OutputMask>) -> Self {
        self.mask = Some(mask);
        self
    }

    /// Whether a text contains a secret.
    pub fn contains_secret(&self, text: &str) -> bool {
        let Some(mask) = &self.mask else { return false };
        let mut masked = text.as_bytes().to_vec();
        mask.mask(&mut masked);
        masked != text.as_bytes()
    }

    /// Creates a registry for jobs on this machine.
    pub fn local(dir: PathBuf) -> Self {
        Self::new(Arc::new(LocalBackend::default()), dir)
    }

    /// The backend that runs the jobs.
    pub fn backend(&self) -> &dyn ExecBackend {
        &*self.backend
    }

    /// The registry's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns a directory that only the jobs of a session may write in; it is
    /// hidden from all other jobs.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn scratch(&self, session: &str) -> Result<PathBuf, ToolError> {
        self.scratch
            .lock()
            .session_dir(session)
            .map_err(|error| ToolError::io("cannot create a temporary directory", &error))
    }

    /// Creates a directory for one job that remains after this process ends.
    pub fn detached_dir(&self) -> Result<PathBuf, ToolError> {
        Ok(private_temp_dir(retention::DETACHED_PREFIX)?.keep())
    }

    /// Returns the records of running jobs, or `None` if they cannot be
    /// written.
    pub fn records(&self) -> Option<&JobRecords> {
        let open = || JobRecords::open(self.directory.join("running")).ok();
        self.records.get_or_init(open).as_ref()
    }

    /// Runs work that needs the backend, with a timeout if the backend is
    /// remote.
    ///
    /// # Errors
    /// If the work fails, or the backend does not respond in time.
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
                    "{} did not respond within {} s; {}",
                    self.backend.name(),
                    limit.as_secs(),
                    stage.consequence()
                ),
            )
            .with_hint(
                "The connection attempt continues: retry later, with a longer timeout if the \
                 backend starts slowly. `hermes doctor --backend` shows what is wrong.",
            )),
        }
    }

    /// Starts a job without registering it.
    pub async fn start(&self, command: String, spec: CommandSpec) -> Result<Arc<Job>, ToolError> {
        self.start_as(self.fresh_id(), command, spec, None).await
    }

    /// Starts a job with an id from [`JobRegistry::fresh_id`], and an optional
    /// extractor for its output.
    pub async fn start_as(
        &self,
        id: String,
        command: String,
        spec: CommandSpec,
        report_extractor: Option<ReportExtractor>,
    ) -> Result<Arc<Job>, ToolError> {
        let spill = SpillTarget {
            directory: self.directory.join("output"),
            name: format!("{id}.log"),
            max_bytes: MAX_SPILL_BYTES,
            mask: self.mask.clone(),
        };
        let reports = JobOutputOptions { spill: Some(spill), report_extractor };
        let remarks = BackendRemarks::default();
        self.remove_expired();
        self.reap_orphans(&remarks).await;
        let directory = spec.directory.clone();
        let start = Job::start(&*self.backend, id, command, spec, reports);
        let job = CURRENT_REMARKS.scope(remarks, start).await?;
        if job.containment.as_ref().is_some_and(|containment| containment.confinement.is_some()) {
            disk_watch::watch(&job, &directory);
        }
        if let Some(root) = job.root().filter(|root| root.started > 0).cloned() {
            let mut ran = self.started_roots.lock();
            // In a long session the most recent ones are enough.
            if ran.len() >= MAX_REMEMBERED_ROOTS {
                ran.pop_front();
            }
            ran.push_back(root);
        }
        Ok(job)
    }

    /// Removes expired files once, in the background.
    fn remove_expired(&self) {
        if !self.expiry_checked.swap(true, Ordering::Relaxed) {
            let (dir, keep) = (self.directory.clone(), self.retention);
            // The thread is detached; the end of the process may cut it short.
            let _ = std::thread::Builder::new()
                .name("hermes-tidy".to_owned())
                .spawn(move || retention::remove_expired(&dir, keep));
        }
    }

    /// Terminates stray processes of commands: those that closed their streams
    /// are found only by their marks.
    async fn terminate_strays(&self) {
        let ran = std::mem::take(&mut *self.started_roots.lock());
        if ran.is_empty() {
            return;
        }
        let sweep = Arc::new(move || {
            let first = ran.iter().map(|root| root.started).min().unwrap_or_default();
            let Ok(table) = ProcessTable::read_since(first) else { return };
            ran.iter().filter(|root| table.has_members(root)).for_each(|root| {
                tree::terminate(root, STRAY_GRACE);
            });
        });
        let (done, swept) = tokio::sync::oneshot::channel();
        let own = Arc::clone(&sweep);
        let thread = std::thread::Builder::new().name("hermes-sweep".to_owned()).spawn(move || {
            own();
            let _ = done.send(());
        });
        match thread {
            Ok(_) => drop(swept.await),
            // No thread can be started; the processes must still be found.
            Err(_) => sweep(),
        }
    }

    /// Terminates what a crashed process left on this backend, once.
    async fn reap_orphans(&self, remarks: &BackendRemarks) {
        if self.backend.is_local() || self.orphans_reaped.swap(true, Ordering::Relaxed) {
            return;
        }
        let Some(records) = self.records() else { return };
        match records.reap_remote_orphans(&*self.backend, &self.fresh_id()).await {
            Ok(0) => {}
            Ok(ended) => remarks.add(format!(
                "An earlier hermes that crashed had left {ended} processes running there; they \
                 were terminated."
            )),
            // Starting the command reports what is wrong with the backend.
            Err(_) => self.orphans_reaped.store(false, Ordering::Relaxed),
        }
    }

    /// Registers a job so it can be looked up.
    pub fn register(&self, job: Arc<Job>, session: &str, directory: PathBuf) -> Arc<JobHandle> {
        // Without the record, a crash leaves a process that cannot be found
        // again.
        let _: io::Result<()> = self.persist(&job, session, &directory, None);
        self.insert(JobHandle::new(job, session, directory, false))
    }

    /// Registers a job that outlives this process and writes to the file
    /// `output`.
    ///
    /// # Errors
    /// If the record cannot be written, since the job could not be found again.
    /// The job is then not registered, and ends with this process.
    pub fn register_detached(
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

    fn insert(&self, handle: JobHandle) -> Arc<JobHandle> {
        self.prune();
        let handle = Arc::new(handle.with_mask(self.mask.clone()));
        self.table.lock().insert(handle.job.id.clone(), Arc::clone(&handle));
        handle
    }

    /// Writes the record of a job so the next process finds it if this one
    /// crashes.
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
        let unwritable = || io::Error::other("cannot create the directory for job records");
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

    /// Keeps the record of an unregistered job until the guard is dropped.
    pub fn guard_record(&self, job: &Job, session: &str, directory: &Path) -> JobRecordGuard<'_> {
        let _: io::Result<()> = self.persist(job, session, directory, None);
        JobRecordGuard { jobs: self, id: job.id.clone() }
    }

    /// Starts monitoring a registered job.
    pub fn monitor(&self, handle: &Arc<JobHandle>, what: MonitorOptions) {
        if !what.has_work() {
            return;
        }
        if let Some(notices) = &what.notices {
            handle.set_notices(Arc::clone(notices));
        }
        let breakers = Arc::clone(&self.breakers);
        tokio::spawn(JobMonitor::new(Arc::clone(handle), what, breakers).run());
    }

    /// Returns jobs that an earlier process left running, oldest first,
    /// followed by those it may have left on remote backends. Reads the process
    /// table if there are any records.
    pub fn orphans(&self) -> Vec<JobRecord> {
        // Do not create the directory just to find it empty.
        if !self.directory.join("running").is_dir() {
            return Vec::new();
        }
        let Some(records) = self.records() else { return Vec::new() };
        let mut left = records.orphans();
        left.extend(records.remote_orphans());
        left
    }

    /// Returns a local process that an earlier process left in a session. Not
    /// the first process of its job: that may have ended, and its pid may have
    /// been reused.
    pub fn survivor(&self, session: &str) -> Option<u32> {
        let mut left = self.orphans();
        left.retain(|it| it.elsewhere.is_none() && it.session == session);
        let table = if left.is_empty() { return None } else { ProcessTable::read().ok()? };
        left.iter().flat_map(|it| table.members(&it.root())).map(|member| member.pid).next()
    }

    /// Terminates a job that an earlier process left on a remote backend.
    ///
    /// # Errors
    /// If it runs on another backend, or the backend cannot be reached.
    pub async fn terminate_remote_orphan(&self, entry: &JobRecord) -> Result<(), ToolError> {
        let place = entry.elsewhere.as_deref().unwrap_or("this machine");
        if self.backend.is_local() || place != self.backend.location() {
            let message = format!("{} was started on another backend: {place}", entry.id);
            return Err(ToolError::conflict(message)
                .with_hint("Select that backend in the settings and stop it there."));
        }
        let Some(records) = self.records() else { return Ok(()) };
        records.terminate_remote(vec![entry.clone()], &*self.backend, &self.fresh_id()).await?;
        Ok(())
    }

    /// Terminates a job that an earlier process left running; returns whether
    /// no process of it is left. Blocks until then.
    pub fn terminate_orphan(&self, entry: &JobRecord) -> bool {
        self.records()
            .is_some_and(|records| records.terminate(entry, KILL_GRACE).survivors.is_empty())
    }

    /// Returns a job of a session.
    pub fn get(&self, session: &str, id: &str) -> Option<Arc<JobHandle>> {
        self.table.lock().get(id).filter(|handle| handle.session == session).cloned()
    }

    /// Whether the job has ended, in any session.
    pub fn has_ended(&self, id: &str) -> bool {
        self.table.lock().get(id).is_some_and(|handle| handle.job.ended().is_some())
    }

    /// Returns the jobs of a session, oldest first.
    pub fn session_jobs(&self, session: &str) -> Vec<Arc<JobHandle>> {
        let table = self.table.lock();
        let mut jobs: Vec<_> =
            table.values().filter(|handle| handle.session == session).cloned().collect();
        jobs.sort_by_key(|handle| handle.job.started_at);
        jobs
    }

    /// Terminates everything that is not meant to outlive this process,
    /// concurrently, since there is little time at shutdown.
    pub async fn close(&self) {
        let jobs: Vec<_> = self.table.lock().values().cloned().collect();
        let ours: Vec<_> = jobs.iter().filter(|handle| !handle.detached).collect();
        ours.iter().for_each(|handle| handle.acknowledge_end());
        let open: Vec<Arc<Job>> = ours
            .iter()
            .map(|handle| Arc::clone(&handle.job))
            .filter(|job| !has_finished(job))
            .collect();
        if !open.is_empty() {
            shutdown::terminate_all(open).await;
        }
        for handle in jobs.iter().filter(|handle| !handle.detached || has_finished(&handle.job)) {
            self.forget(&handle.job.id);
        }
        self.table.lock().retain(|_, handle| handle.detached && !has_finished(&handle.job));
        self.terminate_strays().await;
        *self.scratch.lock() = ScratchDirs::default();
        // The records of detached jobs are in this directory.
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

    /// Drops jobs that ended long ago.
    fn prune(&self) {
        let mut table = self.table.lock();
        let age = |handle: &JobHandle| {
            handle.job.ended().filter(|ended| !ended.has_descendants)?;
            handle.job.started_at.elapsed().ok()?.checked_sub(handle.job.age())
        };
        let mut ended: Vec<(Duration, String)> =
            table.iter().filter_map(|(id, handle)| Some((age(handle)?, id.clone()))).collect();
        ended.sort();
        for (at, (age, id)) in ended.into_iter().enumerate() {
            self.forget(&id);
            if at >= MAX_ENDED_JOBS || age > ENDED_JOB_TTL {
                table.remove(&id);
            }
        }
    }

    /// Returns an unused job id.
    pub fn fresh_id(&self) -> String {
        format!("proc_{}", hermes_core::ids::random_hex(12))
    }
}

impl Drop for JobRegistry {
    /// Kills everything that is not meant to outlive this process, in case the
    /// registry was not closed.
    fn drop(&mut self) {
        let table = std::mem::take(&mut *self.table.lock());
        let is_left = |handle: &&Arc<JobHandle>| handle.detached && !has_finished(&handle.job);
        let detached: Vec<&str> =
            table.values().filter(is_left).map(|handle| handle.job.id.as_str()).collect();
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
        for handle in table.values().filter(|handle| !handle.detached) {
            self.forget(&handle.job.id);
        }
        if !detached.is_empty()
            && let Some(passing) = self.owned_dir.lock().take()
        {
            passing.persist();
        }
    }
}

/// Phase of working with a backend that may not respond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendPhase {
    /// Connecting to it.
    Opening,
    /// Starting a program on it.
    Starting,
}

impl BackendPhase {
    fn kind(self) -> ErrorKind {
        match self {
            Self::Opening => ErrorKind::Unavailable,
            // The command may or may not have started.
            Self::Starting => ErrorKind::Timeout,
        }
    }

    fn consequence(self) -> &'static str {
        match self {
            Self::Opening => "nothing was run",
            Self::Starting => "the command may have started; if so, it is terminated",
        }
    }
}

/// Keeps the record of a job until dropped.
#[derive(Debug)]
pub struct JobRecordGuard<'a> {
    jobs: &'a JobRegistry,
    id: String,
}

impl Drop for JobRecordGuard<'_> {
    fn drop(&mut self) {
        // A job registered in the meantime keeps its record.
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
        .map_err(|error| ToolError::io("cannot create a temporary directory", &error))
}

pub(crate) fn has_finished(job: &Job) -> bool {
    job.ended().is_some_and(|ended| !ended.has_descendants)
}
