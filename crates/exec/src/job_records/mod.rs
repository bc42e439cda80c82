//! Processes that outlived the program that started them.
//!
//! Each job that runs has a small file. A program that ends well takes its
//! files away; what a crash leaves tells the next start what to look for.

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
/// What another machine or container wrote is its own affair for this long.
const FOREIGN_RECORD_MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const MAX_FILE_BYTES: u64 = 64 * 1024;
const MAX_COMMAND_BYTES: usize = 4 * 1024;
const MAX_ID_BYTES: usize = 120;

/// The list of what runs, as files in a folder that any number of programs
/// share.
#[derive(Debug, Clone)]
pub struct JobRecords {
    directory: PathBuf,
    namespace: PidNamespaceId,
}

/// A job that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    /// The job's id.
    pub id: String,
    /// Its first process.
    pub pid: u32,
    /// When that started, as in [`Root`].
    pub started: u64,
    /// The command. A long one is cut when it is written down.
    pub command: String,
    /// Where it was started.
    #[serde(serialize_with = "lossy")]
    pub cwd: PathBuf,
    /// The session that it belongs to.
    pub session: String,
    /// The program that started it.
    pub owner_pid: u32,
    /// When that program started.
    pub owner_started: u64,
    /// When the job began, in seconds since 1970.
    pub at: u64,
    /// Whether it is meant to go on without its owner.
    pub detached: bool,
    /// The file that it writes to, if it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// The whereabouts of the backend that it runs in, if that is not this
    /// machine: then it has no process here.
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
    /// It was looked for elsewhere, and nothing was found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    missed: bool,
}

/// What an owner writes of itself: the id and the start of this process.
pub fn current_process() -> (u32, u64) {
    let pid = std::process::id();
    (pid, tree::start_time(pid).unwrap_or(0))
}

impl JobRecords {
    /// The list in `folder`, which is made if need be and is for its owner
    /// only.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        // What stands in here decides who is killed.
        if fs::metadata(&folder)?.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        }
        Ok(Self { directory: folder, namespace: PidNamespaceId::current() })
    }

    /// Writes a job down, or writes it down anew.
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
        // A crash of the machine takes the processes along, so nothing is
        // gained by waiting for the disk.
        written.and_then(|()| fs::rename(&temporary, &path)).inspect_err(|_| {
            let _ = fs::remove_file(&temporary);
        })
    }

    /// Takes a job off the list. One that is not on it is no error.
    pub fn remove(&self, id: &str) -> io::Result<()> {
        match fs::remove_file(self.record_path(id)?) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// All jobs of this machine that still have a process, oldest first.
    /// Those without one are taken off the list.
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

    /// The jobs whose owner is gone while they still run, the detached ones
    /// among them. A job that this very program runs in is not one of them.
    pub fn orphans(&self) -> Vec<JobRecord> {
        let mut entries = self.read_records();
        // Looking at all processes takes its time, and most owners live.
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

    /// Ends a job, and takes it off the list if nothing of it is left. Blocks
    /// for as long as [`tree::end`].
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
            // One that was started after the table was read is not in it.
            .partition(|it| table.has_members(&it.root()) || tree::is_alive(it.pid, it.started));
        // What comes and goes too fast to be seen may still be there.
        if table.is_complete() {
            for entry in gone {
                let _ = self.remove(&entry.id);
            }
        }
        living
    }

    /// All entries of this machine, whether anything is left of them or not.
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
            let text = "a job's id is up to 120 letters, digits, '_', '-' and '.'";
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

/// Removes a file that nobody has touched for so long.
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
