//! What is kept of every call.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_core::{Effect, Status};
use serde::Serialize;

/// One call, as it is remembered. Arguments and results are not part of it:
/// they may hold secrets.
#[derive(Debug, Clone, Serialize)]
pub struct Record<'a> {
    /// Milliseconds since the epoch.
    pub time_ms: u64,
    /// The session.
    pub session: &'a str,
    /// The task.
    pub task: &'a str,
    /// The caller's id for the call.
    pub call: &'a str,
    /// The canonical name of the tool, or the caller's where there is none.
    pub tool: &'a str,
    /// What it did, or would have done.
    #[serde(serialize_with = "shortened")]
    pub effects: &'a [Effect],
    /// `success`, or the kind of error.
    pub status: &'static str,
    /// How long all stages took.
    pub duration_us: u64,
    /// How much text came out.
    pub chars: usize,
    /// How many things were changed in the arguments.
    pub coerced: usize,
}

/// How much of a resource, and how many effects, a record keeps.
const RESOURCE_CHARS: usize = 4096;
const EFFECTS: usize = 100;

/// Effects with their resources cut to what a log should hold.
fn shortened<S: serde::Serializer>(effects: &&[Effect], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Short<'a> {
        scope: &'a str,
        resource: std::borrow::Cow<'a, str>,
    }
    serializer.collect_seq(effects.iter().take(EFFECTS).map(|effect| {
        let resource = effect.resource.as_text();
        let resource = match resource.char_indices().nth(RESOURCE_CHARS) {
            Some((end, _)) => format!("{}…", &resource[..end]).into(),
            None => resource,
        };
        Short { scope: effect.scope.as_str(), resource }
    }))
}

/// The name of a status in records.
pub fn status_name(status: Status) -> &'static str {
    match status {
        Status::Success => "success",
        Status::Error(kind) => kind.name(),
    }
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Whoever keeps records.
pub trait Recorder: Send + Sync {
    /// Called once for every call, when its answer is known.
    fn record(&self, record: &Record<'_>);
}

/// Records as JSON lines in a file that is only ever appended to.
#[derive(Debug)]
pub struct AuditLog {
    path: PathBuf,
    // Opened by the first record: looking at tools must not make files.
    file: Mutex<Option<File>>,
}

/// Whether a file ends within a line, because a disk was full or a process
/// was killed.
fn is_torn(file: &mut File) -> bool {
    let mut last = [b'\n'];
    let end = file.seek(SeekFrom::End(-1));
    end.is_ok() && file.read_exact(&mut last).is_ok() && last != [b'\n']
}

impl AuditLog {
    /// A log in that file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), file: Mutex::new(None) }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self) -> std::io::Result<File> {
        use std::os::unix::fs::OpenOptionsExt as _;
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.append(true).read(true).create(true).mode(0o600).open(&self.path)?;
        if is_torn(&mut file) {
            file.write_all(b"\n")?;
        }
        Ok(file)
    }
}

impl Recorder for AuditLog {
    fn record(&self, record: &Record<'_>) {
        let mut line = Vec::with_capacity(320);
        if serde_json::to_writer(&mut line, record).is_err() {
            return;
        }
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            *file = self.open().ok();
        }
        // One write per line, so that lines of several processes do not mix.
        // A log that cannot be written must not stop the work.
        if let Some(open) = file.as_mut()
            && open.write_all(&line).is_err()
        {
            // Opened anew by the next record, which then begins a new line.
            *file = None;
        }
    }
}
