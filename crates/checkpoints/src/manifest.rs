//! The log of one checkpoint: a line of JSON for each thing that is known. It
//! only ever grows, so that a process that dies leaves what it had written.

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

/// The format that is written, and the latest that is read.
const FORMAT_VERSION: u32 = 3;

/// Since this format the log tells which calls got to their end.
const CALL_ENDS_VERSION: u32 = 2;

/// Ends a line that a process which died left half: no line of ours has it.
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
    /// The caller's id for it.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The task.
    pub task: String,
}

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckpointLine {
    Checkpoint(LogHeader),
    Call(CallLine),
    /// What was there before the turn.
    Before(PathRecord),
    /// What was there right before the turn first changed it; what was said
    /// of it before was seen too early.
    Anew(PathRecord),
    /// What somebody else had made of it before the turn changed it again.
    Broken(PathRecord),
    /// What a call made of it.
    After(PathRecord),
    /// When the turn first changed something.
    Begun(i64),
    /// Everything below a folder, as it was before an open-ended call.
    Tree(TreeLine),
    /// What an open-ended call has made of its tree was looked at.
    Through(String),
    /// What an open-ended call has deleted although it was not kept.
    Gone(#[serde(with = "names")] PathBuf),
    /// Whoever made the changes has made them all.
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
    /// There was more than is kept.
    #[serde(default)]
    pub(crate) is_partial: bool,
    /// The call that it was kept for.
    #[serde(default)]
    pub(crate) call: String,
    /// When the walk began.
    #[serde(default)]
    pub(crate) at: i64,
    /// What was passed over with everything below.
    #[serde(default, with = "names::several")]
    pub(crate) spared: Vec<PathBuf>,
    /// Whether nobody came to look what became of it. It is not written down:
    /// whoever reads the log finds out.
    #[serde(skip)]
    pub(crate) is_open: bool,
}

/// What is known of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// What was there before the turn.
    pub before: SavedState,
    /// What was there after it; none if nobody came to look.
    pub after: Option<SavedState>,
    /// Whether somebody else has changed it between two calls of the turn.
    pub is_interleaved: bool,
}

impl PathChange {
    pub(crate) fn new(before: SavedState, after: Option<SavedState>) -> Self {
        Self { before, after, is_interleaved: false }
    }

    /// Whether the turn left the path as it was.
    pub fn is_unchanged(&self) -> bool {
        self.after.as_ref().is_some_and(|after| after.is_identical(&self.before))
    }
}

/// One checkpoint.
#[derive(Debug, Clone)]
pub struct CheckpointManifest {
    pub(crate) header: LogHeader,
    /// The calls that it is about.
    pub calls: Vec<CallLine>,
    /// What they touched.
    pub(crate) changes: BTreeMap<PathBuf, PathChange>,
    pub(crate) trees: Vec<TreeLine>,
    pub(crate) is_finished: bool,
    /// When the turn first changed something, if a call has told.
    pub(crate) first_change_at: Option<i64>,
    /// What commands have deleted that git ignores, and that was not kept.
    pub(crate) deleted_unsaved: BTreeSet<PathBuf>,
    /// A command was cut off, and the tree that it began with is gone.
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

    /// The name of the checkpoint.
    pub fn id(&self) -> &str {
        &self.header.id
    }

    /// The folder that the turn worked in.
    pub fn workspace(&self) -> &Path {
        &self.header.workspace
    }

    /// The session.
    pub fn session(&self) -> &str {
        &self.header.session
    }

    /// What made the changes.
    pub fn kind(&self) -> &CheckpointKind {
        &self.header.kind
    }

    /// When, in nanoseconds since 1970. Of turns that changed the same files
    /// the one that changed them later is the later one, whichever began
    /// earlier.
    pub fn at_nanos(&self) -> i64 {
        self.first_change_at.unwrap_or(self.header.at)
    }

    /// Whether a tree was kept in part only, since it holds too much.
    pub fn is_partial(&self) -> bool {
        self.trees.iter().any(|tree| tree.is_partial)
    }

    /// Whether a command of it did not get to its end, or has not yet: nobody
    /// has seen what it left. The same of an undo, a redo or a restore.
    pub fn is_cut_off(&self) -> bool {
        self.is_interrupted() || self.trees.iter().any(|tree| tree.is_open)
    }

    /// Whether it is an undo, a redo or a restore that did not get to its end.
    /// What its changes say of the time after it is what it was to make.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.header.kind != CheckpointKind::Turn && !self.is_finished
    }

    /// When, as programs write it: `2026-01-31T10:20:30.123Z`.
    pub fn timestamp(&self) -> String {
        let moment = jiff::Timestamp::from_millisecond(self.at_nanos() / 1_000_000);
        moment.map(|moment| moment.to_string()).unwrap_or_default()
    }

    /// What was changed, or may have been: paths that are as they were are
    /// left out.
    pub fn changes(&self) -> impl Iterator<Item = (&Path, &PathChange)> {
        let changed = self.changes.iter().filter(|(_, change)| !change.is_unchanged());
        changed.map(|(path, change)| (path.as_path(), change))
    }

    /// What it has deleted that git ignores and nobody kept, as far as it has
    /// not come back since.
    pub fn missing_paths(&self) -> impl Iterator<Item = &Path> {
        self.deleted_unsaved.iter().map(PathBuf::as_path).filter(|path| is_absent(path))
    }

    /// What changed the files: the tools, or `undo`, `redo`, `restore`.
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

    /// Takes a line in. What was there before the turn is said once, and not
    /// changed by what is said later.
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

    /// Reads a log; none if not even the first line is whole. A last line that
    /// was cut off does not count, since nothing is changed before it is
    /// written down. Any other that cannot be read may have been about
    /// anything, so all of the log is damaged then.
    pub(crate) fn load(path: &Path) -> io::Result<Option<Self>> {
        let bytes = fs::read(path)?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (whole, cut_off) = bytes.split_at(end);
        let mut whole = whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let damaged = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let Some(first) = whole.next() else { return Ok(None) };
        let CheckpointLine::Checkpoint(head) = serde_json::from_slice(first).map_err(damaged)?
        else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it has no heading"));
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
        // Who has told of changes then had got to the end.
        if manifest.header.version < CALL_ENDS_VERSION && !manifest.changes.is_empty() {
            manifest.trees.iter_mut().for_each(|tree| tree.is_open = false);
        }
        // The first of what a turn is about to change comes with the heading.
        let is_bare = manifest.changes.is_empty() && manifest.trees.is_empty();
        if is_bare && manifest.header.kind == CheckpointKind::Turn {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it has only its heading"));
        }
        Ok(Some(manifest))
    }
}

/// Whether certainly nothing is there.
pub(crate) fn is_absent(path: &Path) -> bool {
    let absent = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    fs::symlink_metadata(path).is_err_and(|error| absent.contains(&error.kind()))
}

/// A log that is open to be written on.
#[derive(Debug)]
pub(crate) struct CheckpointLog {
    file: File,
    pub(crate) path: PathBuf,
    /// Bytes that were added and not yet counted.
    added: u64,
}

impl CheckpointLog {
    /// A new log, with its first lines; it is there with them, or not at all.
    pub(crate) fn create(
        path: PathBuf,
        head: &LogHeader,
        first: &[CheckpointLine],
    ) -> io::Result<Self> {
        let part = path.with_file_name(format!("{PART_PREFIX}{}", head.id));
        let open = || OpenOptions::new().append(true).create_new(true).mode(0o600).open(&part);
        let file = match open() {
            // It was left by a process that died: no two processes begin the
            // same checkpoint.
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

    /// One that is there.
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

    /// Adds lines, all in one piece.
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

    /// Bytes that were added since this was last asked.
    pub(crate) fn take_added(&mut self) -> u64 {
        std::mem::take(&mut self.added)
    }
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
