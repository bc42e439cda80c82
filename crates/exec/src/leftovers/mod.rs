//! Processes that outlived the program that started them.
//!
//! Each job that runs has a small file. A program that ends well takes its
//! files away; what a crash leaves tells the next start what to look for.

mod elsewhere;
mod place;

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize, Serializer};

use crate::tree::{self, Ended, Root, Table};
use place::{Place, Relation};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// What another machine or container wrote is its own affair for this long.
const FOREIGN: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const LONGEST_FILE: u64 = 64 * 1024;
const LONGEST_COMMAND: usize = 4 * 1024;
const LONGEST_ID: usize = 120;

/// The list of what runs, as files in a folder that any number of programs
/// share.
#[derive(Debug, Clone)]
pub struct Leftovers {
    folder: PathBuf,
    place: Place,
}

/// A job that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
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

impl Entry {
    /// The root of its processes.
    pub fn root(&self) -> Root {
        Root { pid: self.pid, started: self.started, job: self.id.clone() }
    }
}

#[derive(Serialize, Deserialize)]
struct Note {
    place: Place,
    entry: Entry,
    /// It was looked for elsewhere, and nothing was found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    missed: bool,
}

/// What an owner writes of itself: the id and the start of this process.
pub fn owner() -> (u32, u64) {
    let pid = std::process::id();
    (pid, tree::started(pid).unwrap_or(0))
}

impl Leftovers {
    /// The list in `folder`, which is made if need be and is for its owner
    /// only.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        // What stands in here decides who is killed.
        if fs::metadata(&folder)?.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        }
        Ok(Self { folder, place: Place::here() })
    }

    /// Writes a job down, or writes it down anew.
    pub fn record(&self, entry: &Entry) -> io::Result<()> {
        self.note(entry, false)
    }

    fn note(&self, entry: &Entry, missed: bool) -> io::Result<()> {
        let path = self.file(&entry.id)?;
        let mut entry = entry.clone();
        cut(&mut entry.command);
        let note = Note { place: self.place.clone(), entry, missed };
        let bytes = serde_json::to_vec(&note)?;
        let temporary = self.folder.join(format!(".{}.{}", note.entry.id, std::process::id()));
        let written = write_private(&temporary, &bytes);
        // A crash of the machine takes the processes along, so nothing is
        // gained by waiting for the disk.
        written.and_then(|()| fs::rename(&temporary, &path)).inspect_err(|_| {
            let _ = fs::remove_file(&temporary);
        })
    }

    /// Takes a job off the list. One that is not on it is no error.
    pub fn forget(&self, id: &str) -> io::Result<()> {
        match fs::remove_file(self.file(id)?) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// All jobs of this machine that still have a process, oldest first.
    /// Those without one are taken off the list.
    pub fn list(&self) -> Vec<Entry> {
        let mut entries = self.read();
        entries.retain(|it| it.elsewhere.is_none());
        if entries.is_empty() {
            return entries;
        }
        match Table::read() {
            Ok(table) => self.living(entries, &table),
            Err(_) => entries,
        }
    }

    /// The jobs whose owner is gone while they still run, the detached ones
    /// among them. A job that this very program runs in is not one of them.
    pub fn orphans(&self) -> Vec<Entry> {
        let mut entries = self.read();
        // Looking at all processes takes its time, and most owners live.
        entries
            .retain(|it| it.elsewhere.is_none() && !tree::is_alive(it.owner_pid, it.owner_started));
        if entries.is_empty() {
            return entries;
        }
        let Ok(table) = Table::read() else { return Vec::new() };
        let mut entries = self.living(entries, &table);
        entries.retain(|it| !tree::holds_us(&table, &it.root()));
        entries
    }

    /// Ends a job, and takes it off the list if nothing of it is left. Blocks
    /// for as long as [`tree::end`].
    pub fn end(&self, entry: &Entry, grace: Duration) -> Ended {
        let ended = tree::end(&entry.root(), grace);
        if ended.survivors.is_empty() {
            let _ = self.forget(&entry.id);
        }
        ended
    }

    fn living(&self, entries: Vec<Entry>, table: &Table) -> Vec<Entry> {
        let (living, gone): (Vec<_>, Vec<_>) = entries
            .into_iter()
            // One that was started after the table was read is not in it.
            .partition(|it| table.has_members(&it.root()) || tree::is_alive(it.pid, it.started));
        // What comes and goes too fast to be seen may still be there.
        if table.is_settled() {
            for entry in gone {
                let _ = self.forget(&entry.id);
            }
        }
        living
    }

    /// All entries of this machine, whether anything is left of them or not.
    fn read(&self) -> Vec<Entry> {
        self.notes().into_iter().map(|note| note.entry).collect()
    }

    fn notes(&self) -> Vec<Note> {
        let Ok(files) = fs::read_dir(&self.folder) else { return Vec::new() };
        let mut found: Vec<Note> =
            files.flatten().filter_map(|file| self.read_one(&file.path())).collect();
        found.sort_by(|a, b| (a.entry.at, &a.entry.id).cmp(&(b.entry.at, &b.entry.id)));
        found
    }

    fn read_one(&self, path: &Path) -> Option<Note> {
        let note = load(path).filter(|note| self.file(&note.entry.id).is_ok_and(|it| it == path));
        let Some(note) = note else {
            remove_after(path, DAY);
            return None;
        };
        match self.place.relation(&note.place) {
            Relation::Same => Some(note),
            Relation::Past => {
                let _ = fs::remove_file(path);
                None
            }
            Relation::Foreign => {
                remove_after(path, FOREIGN);
                None
            }
        }
    }

    fn file(&self, id: &str) -> io::Result<PathBuf> {
        let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if id.is_empty() || id.len() > LONGEST_ID || id.starts_with('.') || !id.chars().all(is_safe)
        {
            let text = "a job's id is up to 120 letters, digits, '_', '-' and '.'";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(self.folder.join(format!("{id}.json")))
    }
}

fn load(path: &Path) -> Option<Note> {
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_file() || found.len() > LONGEST_FILE {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LONGEST_FILE).read_to_end(&mut bytes).ok()?;
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

fn cut(text: &mut String) {
    if text.len() > LONGEST_COMMAND {
        text.truncate(text.floor_char_boundary(LONGEST_COMMAND));
        text.push('…');
    }
}

fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

#[cfg(test)]
#[path = "leftovers_tests.rs"]
mod tests;
