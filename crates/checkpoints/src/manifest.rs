//! The log of one checkpoint, in JSON lines. It is append-only, so a process
//! that dies leaves everything it had written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::history::CheckpointKind;
use crate::names;
use crate::objects::PART_PREFIX;
use crate::state::{ContentHash, SavedState};

/// The format version written, and the newest one supported.
const FORMAT_VERSION: u32 = 3;

/// First version that records the end of calls.
const CALL_ENDS_VERSION: u32 = 2;

/// Marks a line left incomplete by a process that died; never part of a valid
/// line.
const TORN_LINE_MARK: u8 = 0x18;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogHeader {
    pub(crate) version: u32,
    pub(crate) id: String,
    #[serde(with = "names")]
    pub(crate) workspace: PathBuf,
    pub(crate) session: String,
    pub(crate) turn: String,
    pub(crate) kind: CheckpointKind,
    /// Nanoseconds since 1970.
    pub(crate) at: i64,
}

/// A call that changed files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallLine {
    /// The caller's id of the call.
    pub id: String,
    /// Name of the tool.
    pub tool: String,
    /// Id of the task.
    pub task: String,
}

/// One line of the log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckpointLine {
    Checkpoint(LogHeader),
    Call(CallLine),
    /// State of a path before the turn.
    Before(PathRecord),
    /// State of a path right before the turn first changed it; replaces a
    /// `Before` that was taken too early.
    Anew(PathRecord),
    /// State of a path that another writer left before the turn changed it
    /// again.
    Broken(PathRecord),
    /// State of a path after a call.
    After(PathRecord),
    /// When the turn first changed something.
    Begun(i64),
    /// Everything below a directory before an open-ended call.
    Tree(TreeLine),
    /// The tree was compared after this open-ended call.
    Through(String),
    /// A path that an open-ended call deleted and that was not saved.
    Gone(#[serde(with = "names")] PathBuf),
    /// Whether all changes have been made.
    Finished(bool),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PathRecord {
    #[serde(with = "names")]
    pub(crate) path: PathBuf,
    pub(crate) state: SavedState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TreeLine {
    #[serde(with = "names")]
    pub(crate) root: PathBuf,
    pub(crate) listing: ContentHash,
    /// Whether only a part of the tree was saved.
    #[serde(default)]
    pub(crate) is_partial: bool,
    /// The call that it was saved for.
    #[serde(default)]
    pub(crate) call: String,
    /// When the walk began.
    #[serde(default)]
    pub(crate) at: i64,
    /// Paths skipped with everything below.
    #[serde(default, with = "names::several")]
    pub(crate) spared: Vec<PathBuf>,
    /// Whether the tree was never compared after the call. Not written, but
    /// derived when the log is read.
    #[serde(skip)]
    pub(crate) is_open: bool,
}

/// The recorded change of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// State before the turn.
    pub before: SavedState,
    /// State after the turn; `None` if it was not recorded.
    pub after: Option<SavedState>,
    /// Whether another writer changed it between two calls of the turn.
    pub is_interleaved: bool,
}

impl PathChange {
    pub(crate) fn new(before: SavedState, after: Option<SavedState>) -> Self {
        Self { before, after, is_interleaved: false }
    }

    /// Whether the turn left the path unchanged.
    pub fn is_unchanged(&self) -> bool {
        self.after.as_ref().is_some_and(|after| after.is_identical(&self.before))
    }
}

/// One checkpoint.
#[derive(Debug, Clone)]
pub struct CheckpointManifest {
    pub(crate) header: LogHeader,
    /// The calls of the turn.
    pub calls: Vec<CallLine>,
    /// Changes by path.
    pub(crate) changes: BTreeMap<PathBuf, PathChange>,
    pub(crate) trees: Vec<TreeLine>,
    pub(crate) is_finished: bool,
    /// When the turn first changed something, if recorded.
    pub(crate) first_change_at: Option<i64>,
    /// Git-ignored paths that commands deleted and that were not saved.
    pub(crate) deleted_unsaved: BTreeSet<PathBuf>,
    /// Whether a command was interrupted and the tree saved before it is
    /// missing.
    pub(crate) is_lost: bool,
}

impl CheckpointManifest {
    pub(crate) fn new(
        id: String,
        workspace: PathBuf,
        session: &str,
        turn: &str,
        kind: CheckpointKind,
        at: i64,
    ) -> Self {
        let (session, turn) = (session.to_owned(), turn.to_owned());
        let head = LogHeader { version: FORMAT_VERSION, id, workspace, session, turn, kind, at };
        Self {
            header: head,
            calls: Vec::new(),
            changes: BTreeMap::new(),
            trees: Vec::new(),
            is_finished: false,
            first_change_at: None,
            deleted_unsaved: BTreeSet::new(),
            is_lost: false,
        }
    }

    /// Returns the id of the checkpoint.
    pub fn id(&self) -> &str {
        &self.header.id
    }

    /// Returns the directory that the turn worked in.
    pub fn workspace(&self) -> &Path {
        &self.header.workspace
    }

    /// Returns the session.
    pub fn session(&self) -> &str {
        &self.header.session
    }

    /// Returns the operation that made the changes.
    pub fn kind(&self) -> &CheckpointKind {
        &self.header.kind
    }

    /// Time of the first change, or else of the start, in nanoseconds since
    /// 1970. Orders turns by when they changed files, not by when they began.
    pub fn at_nanos(&self) -> i64 {
        self.first_change_at.unwrap_or(self.header.at)
    }

    /// Whether a tree was saved only in part because of its size.
    pub fn is_partial(&self) -> bool {
        self.trees.iter().any(|tree| tree.is_partial)
    }

    /// Whether a command, undo, redo or restore has not finished, so its
    /// results are not recorded.
    pub fn is_cut_off(&self) -> bool {
        self.is_interrupted() || self.trees.iter().any(|tree| tree.is_open)
    }

    /// Whether it is an undo, redo or restore that did not finish. The `after`
    /// states of its changes are then the intended ones.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.header.kind != CheckpointKind::Turn && !self.is_finished
    }

    /// Returns the time in RFC 3339 format: `2026-01-31T10:20:30.123Z`.
    pub fn timestamp(&self) -> String {
        let moment = jiff::Timestamp::from_millisecond(self.at_nanos() / 1_000_000);
        moment.map(|moment| moment.to_string()).unwrap_or_default()
    }

    /// Yields paths that were changed or may have been.
    pub fn changes(&self) -> impl Iterator<Item = (&Path, &PathChange)> {
        let changed = self.changes.iter().filter(|(_, change)| !change.is_unchanged());
        changed.map(|(path, change)| (path.as_path(), change))
    }

    /// Yields git-ignored paths that were deleted unsaved and are still absent.
    pub fn missing_paths(&self) -> impl Iterator<Item = &Path> {
        self.deleted_unsaved.iter().map(PathBuf::as_path).filter(|path| is_absent(path))
    }

    /// Returns what changed the files: the tools, or `undo`, `redo`, `restore`.
    pub fn changed_by(&self) -> Vec<String> {
        if let Some(word) = self.header.kind.command_name() {
            return vec![word.to_owned()];
        }
        let mut tools: Vec<String> = Vec::new();
        for call in &self.calls {
            if !tools.contains(&call.tool) {
                tools.push(call.tool.clone());
            }
        }
        tools
    }

    /// Applies a line. The first `Before` of a path wins over later ones.
    pub(crate) fn apply_line(&mut self, line: CheckpointLine) {
        match line {
            CheckpointLine::Checkpoint(_) => {}
            CheckpointLine::Call(call) => self.calls.push(call),
            CheckpointLine::Before(PathRecord { path, state }) => {
                self.changes.entry(path).or_insert(PathChange::new(state, None));
            }
            CheckpointLine::Anew(PathRecord { path, state }) => {
                self.changes.insert(path, PathChange::new(state, None));
            }
            CheckpointLine::Broken(PathRecord { path, .. }) => {
                if let Some(change) = self.changes.get_mut(&path) {
                    change.is_interleaved = true;
                }
            }
            CheckpointLine::Begun(at) => self.first_change_at = Some(at),
            CheckpointLine::After(PathRecord { path, state }) => {
                if let Some(change) = self.changes.get_mut(&path) {
                    change.after = Some(state);
                }
            }
            CheckpointLine::Tree(tree) => self.trees.push(TreeLine { is_open: true, ..tree }),
            CheckpointLine::Through(call) => {
                let of_call = self.trees.iter_mut().filter(|tree| tree.call == call);
                of_call.for_each(|tree| tree.is_open = false);
            }
            CheckpointLine::Gone(path) => {
                self.deleted_unsaved.insert(path);
            }
            CheckpointLine::Finished(is_finished) => self.is_finished = is_finished,
        }
    }

    /// Reads the first line of a log.
    pub(crate) fn read_header(path: &Path) -> Option<LogHeader> {
        let mut first = Vec::new();
        io::BufReader::new(File::open(path).ok()?).read_until(b'\n', &mut first).ok()?;
        match serde_json::from_slice(&first).ok()? {
            CheckpointLine::Checkpoint(head) => Some(head),
            _ => None,
        }
    }

    /// Reads a log; `None` if not even the first line is complete. A truncated
    /// last line is ignored, since no change is made before its line is
    /// written. Any other unreadable line damages the whole log, since it could
    /// concern any path.
    pub(crate) fn load(path: &Path) -> io::Result<Option<Self>> {
        let bytes = fs::read(path)?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (whole, cut_off) = bytes.split_at(end);
        let mut whole = whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let damaged = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let Some(first) = whole.next() else { return Ok(None) };
        let CheckpointLine::Checkpoint(head) = serde_json::from_slice(first).map_err(damaged)?
        else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it has no header"));
        };
        if head.version > FORMAT_VERSION {
            let newer = "it was written by a newer hermes";
            return Err(io::Error::new(io::ErrorKind::Unsupported, newer));
        }
        let mut manifest = Self {
            header: head,
            calls: Vec::new(),
            changes: BTreeMap::new(),
            trees: Vec::new(),
            is_finished: false,
            first_change_at: None,
            deleted_unsaved: BTreeSet::new(),
            is_lost: false,
        };
        for line in whole.filter(|line| line.last() != Some(&TORN_LINE_MARK)) {
            manifest.apply_line(serde_json::from_slice(line).map_err(damaged)?);
        }
        let left = serde_json::from_slice::<CheckpointLine>(cut_off);
        if let Err(error) = left.map(drop)
            && !cut_off.is_empty()
            && !error.is_eof()
        {
            return Err(damaged(error));
        }
        // Older versions wrote changes only after the call had ended.
        if manifest.header.version < CALL_ENDS_VERSION && !manifest.changes.is_empty() {
            manifest.trees.iter_mut().for_each(|tree| tree.is_open = false);
        }
        // The header is written together with the first state of a turn.
        let is_bare = manifest.changes.is_empty() && manifest.trees.is_empty();
        if is_bare && manifest.header.kind == CheckpointKind::Turn {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it has only a header"));
        }
        Ok(Some(manifest))
    }
}

/// Whether a path certainly does not exist.
pub(crate) fn is_absent(path: &Path) -> bool {
    let absent = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    fs::symlink_metadata(path).is_err_and(|error| absent.contains(&error.kind()))
}

/// A log open for appending.
#[derive(Debug)]
pub(crate) struct CheckpointLog {
    file: File,
    pub(crate) path: PathBuf,
    /// Bytes written and not yet counted.
    added: u64,
}

impl CheckpointLog {
    /// Creates a log with its first lines, atomically.
    pub(crate) fn create(
        path: PathBuf,
        head: &LogHeader,
        first: &[CheckpointLine],
    ) -> io::Result<Self> {
        let part = path.with_file_name(format!("{PART_PREFIX}{}", head.id));
        let open = || OpenOptions::new().append(true).create_new(true).mode(0o600).open(&part);
        let file = match open() {
            // Left by a process that died: no two processes begin the same
            // checkpoint.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&part)?;
                open()?
            }
            file => file?,
        };
        let mut log = Self { file, path, added: 0 };
        log.write(std::iter::once(&CheckpointLine::Checkpoint(head.clone())).chain(first))?;
        fs::rename(&part, &log.path)?;
        Ok(log)
    }

    /// Opens an existing log.
    pub(crate) fn reopen(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).append(true).open(&path)?;
        let mut log = Self { file, path, added: 0 };
        let len = log.file.metadata()?.len();
        let mut last = [b'\n'];
        if len > 0 {
            log.file.read_exact_at(&mut last, len - 1)?;
        }
        if last != [b'\n'] {
            log.file.write_all(&[TORN_LINE_MARK, b'\n'])?;
        }
        Ok(log)
    }

    /// Appends lines with a single write.
    pub(crate) fn write<'l>(
        &mut self,
        lines: impl IntoIterator<Item = &'l CheckpointLine>,
    ) -> io::Result<()> {
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, line)?;
            text.push(b'\n');
        }
        self.added += text.len() as u64;
        self.file.write_all(&text)
    }

    /// Returns and resets the number of bytes written.
    pub(crate) fn take_added(&mut self) -> u64 {
        std::mem::take(&mut self.added)
    }
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
