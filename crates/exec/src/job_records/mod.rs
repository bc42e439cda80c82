//! Records of running jobs, to find processes that outlive the process that
//! started them.
//!
//! Each running job has a small file. A process that shuts down cleanly removes
//! its files; what a crash leaves shows the next process what to look for.

mod pid_namespace;
mod remote;

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize, Serializer};

use crate::tree::{self, JobRoot, ProcessTable, TerminationReport};
use pid_namespace::{NamespaceRelation, PidNamespaceId};

const ONE_DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long to keep records written by another machine or container.
const FOREIGN_RECORD_MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const MAX_FILE_BYTES: u64 = 64 * 1024;
const MAX_COMMAND_BYTES: usize = 4 * 1024;
const MAX_ID_BYTES: usize = 120;

/// Records of running jobs: files in a directory shared by any number of
/// processes.
#[derive(Debug, Clone)]
pub struct JobRecords {
    directory: PathBuf,
    namespace: PidNamespaceId,
}

/// The record of a running job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    /// The job's id.
    pub id: String,
    /// Its first process.
    pub pid: u32,
    /// When that process started, as in [`JobRoot`].
    pub started: u64,
    /// The command; a long one is truncated in the file.
    pub command: String,
    /// Its working directory.
    #[serde(serialize_with = "lossy")]
    pub cwd: PathBuf,
    /// The session that it belongs to.
    pub session: String,
    /// The process that started it.
    pub owner_pid: u32,
    /// When that process started.
    pub owner_started: u64,
    /// When the job started, in seconds since the Unix epoch.
    pub at: u64,
    /// Whether it is meant to outlive its owner.
    pub detached: bool,
    /// The file it writes to, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// The location of the remote backend it runs in; such a job has no process
    /// on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
}

impl JobRecord {
    /// The root of its processes.
    pub fn root(&self) -> JobRoot {
        JobRoot { pid: self.pid, started: self.started, job: self.id.clone() }
    }
}

#[derive(Serialize, Deserialize)]
struct RecordFile {
    place: PidNamespaceId,
    entry: JobRecord,
    /// Whether a search on the backend found nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    missed: bool,
}

/// Returns the id and start time of this process, which identify an owner.
pub fn current_process() -> (u32, u64) {
    let pid = std::process::id();
    (pid, tree::start_time(pid).unwrap_or(0))
}

impl JobRecords {
    /// Opens the records in `folder`, which is created if necessary and made
    /// private to the user.
    pub fn open(dir: impl Into<PathBuf>) -> io::Result<Self> {
        let dir = dir.into();
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        // Its contents decide which processes are killed.
        if fs::metadata(&dir)?.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(&dir, Permissions::from_mode(0o700))?;
        }
        Ok(Self { directory: dir, namespace: PidNamespaceId::current() })
    }

    /// Writes or overwrites the record of a job.
    pub fn record(&self, entry: &JobRecord) -> io::Result<()> {
        self.write_record(entry, false)
    }

    fn write_record(&self, entry: &JobRecord, missed: bool) -> io::Result<()> {
        let path = self.record_path(&entry.id)?;
        let mut entry = entry.clone();
        truncate_command(&mut entry.command);
        let note = RecordFile { place: self.namespace.clone(), entry, missed };
        let bytes = serde_json::to_vec(&note)?;
        let temporary = self.directory.join(format!(".{}.{}", note.entry.id, std::process::id()));
        let written = write_private(&temporary, &bytes);
        // No fsync: a crash of the machine ends the processes as well.
        written.and_then(|()| fs::rename(&temporary, &path)).inspect_err(|_| {
            let _ = fs::remove_file(&temporary);
        })
    }

    /// Removes the record of a job, if it exists.
    pub fn remove(&self, id: &str) -> io::Result<()> {
        match fs::remove_file(self.record_path(id)?) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns all jobs on this machine that still have a process, oldest
    /// first. Removes the records of the others.
    pub fn running(&self) -> Vec<JobRecord> {
        let mut entries = self.read_records();
        entries.retain(|it| it.elsewhere.is_none());
        if entries.is_empty() {
            return entries;
        }
        match ProcessTable::read() {
            Ok(table) => self.retain_living(entries, &table),
            Err(_) => entries,
        }
    }

    /// Returns running jobs, including detached ones, whose owner has exited.
    /// Excludes a job that contains this process.
    pub fn orphans(&self) -> Vec<JobRecord> {
        let mut entries = self.read_records();
        // Reading the process table is slow, and most owners are alive.
        entries
            .retain(|it| it.elsewhere.is_none() && !tree::is_alive(it.owner_pid, it.owner_started));
        if entries.is_empty() {
            return entries;
        }
        let Ok(table) = ProcessTable::read() else { return Vec::new() };
        let mut entries = self.retain_living(entries, &table);
        entries.retain(|it| !tree::contains_self(&table, &it.root()));
        entries
    }

    /// Terminates a job, and removes its record if no process is left. Blocks
    /// for as long as [`tree::terminate`].
    pub fn terminate(&self, entry: &JobRecord, grace: Duration) -> TerminationReport {
        let ended = tree::terminate(&entry.root(), grace);
        if ended.survivors.is_empty() {
            let _ = self.remove(&entry.id);
        }
        ended
    }

    fn retain_living(&self, entries: Vec<JobRecord>, table: &ProcessTable) -> Vec<JobRecord> {
        let (living, gone): (Vec<_>, Vec<_>) = entries
            .into_iter()
            // A process started after the table was read is not in it.
            .partition(|it| table.has_members(&it.root()) || tree::is_alive(it.pid, it.started));
        // An incomplete table may miss short-lived processes.
        if table.is_complete() {
            for entry in gone {
                let _ = self.remove(&entry.id);
            }
        }
        living
    }

    /// Returns all records of this machine, whether their jobs still run or
    /// not.
    fn read_records(&self) -> Vec<JobRecord> {
        self.read_files().into_iter().map(|note| note.entry).collect()
    }

    fn read_files(&self) -> Vec<RecordFile> {
        let Ok(files) = fs::read_dir(&self.directory) else { return Vec::new() };
        let mut found: Vec<RecordFile> =
            files.flatten().filter_map(|file| self.read_valid(&file.path())).collect();
        found.sort_by(|a, b| (a.entry.at, &a.entry.id).cmp(&(b.entry.at, &b.entry.id)));
        found
    }

    fn read_valid(&self, path: &Path) -> Option<RecordFile> {
        let note = load_file(path)
            .filter(|note| self.record_path(&note.entry.id).is_ok_and(|it| it == path));
        let Some(note) = note else {
            remove_after(path, ONE_DAY);
            return None;
        };
        match self.namespace.relation(&note.place) {
            NamespaceRelation::Same => Some(note),
            NamespaceRelation::PreviousBoot => {
                let _ = fs::remove_file(path);
                None
            }
            NamespaceRelation::Foreign => {
                remove_after(path, FOREIGN_RECORD_MAX_AGE);
                None
            }
        }
    }

    fn record_path(&self, id: &str) -> io::Result<PathBuf> {
        let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if id.is_empty()
            || id.len() > MAX_ID_BYTES
            || id.starts_with('.')
            || !id.chars().all(is_safe)
        {
            let text = "a job id must be 1 to 120 letters, digits, '_', '-' or '.', and not \
                start with '.'";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(self.directory.join(format!("{id}.json")))
    }
}

fn load_file(path: &Path) -> Option<RecordFile> {
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_file() || found.len() > MAX_FILE_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Removes a file that was not modified for this long.
fn remove_after(path: &Path, age: Duration) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    let since = found.modified().ok().and_then(|it| SystemTime::now().duration_since(it).ok());
    if !found.is_dir() && since.is_some_and(|since| since >= age) {
        let _ = fs::remove_file(path);
    }
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}

fn truncate_command(text: &mut String) {
    if text.len() > MAX_COMMAND_BYTES {
        text.truncate(text.floor_char_boundary(MAX_COMMAND_BYTES));
        text.push('…');
    }
}

fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

#[cfg(test)]
#[path = "leftovers_tests.rs"]
mod tests;
