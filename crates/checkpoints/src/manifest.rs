//! The log of one checkpoint: a line of JSON for each thing that is known. It
//! only ever grows, so that a process that dies leaves what it had written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::history::Kind;
use crate::names;
use crate::objects::UNFINISHED;
use crate::state::{Hash, State};

/// The format that is written, and the latest that is read.
const VERSION: u32 = 3;

/// Since this format the log tells which calls got to their end.
const TELLS_ENDS: u32 = 2;

/// Ends a line that a process which died left half: no line of ours has it.
const CUT_OFF: u8 = 0x18;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) version: u32,
    pub(crate) id: String,
    #[serde(with = "names")]
    pub(crate) workspace: PathBuf,
    pub(crate) session: String,
    pub(crate) turn: String,
    pub(crate) kind: Kind,
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
pub(crate) enum Line {
    Checkpoint(Head),
    Call(CallLine),
    /// What was there before the turn.
    Before(Seen),
    /// What was there right before the turn first changed it; what was said
    /// of it before was seen too early.
    Anew(Seen),
    /// What somebody else had made of it before the turn changed it again.
    Broken(Seen),
    /// What a call made of it.
    After(Seen),
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
pub(crate) struct Seen {
    #[serde(with = "names")]
    pub(crate) path: PathBuf,
    pub(crate) state: State,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TreeLine {
    #[serde(with = "names")]
    pub(crate) root: PathBuf,
    pub(crate) listing: Hash,
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
pub struct Change {
    /// What was there before the turn.
    pub before: State,
    /// What was there after it; none if nobody came to look.
    pub after: Option<State>,
    /// Whether somebody else has changed it between two calls of the turn.
    pub is_broken: bool,
}

impl Change {
    pub(crate) fn new(before: State, after: Option<State>) -> Self {
        Self { before, after, is_broken: false }
    }

    /// Whether the turn left the path as it was.
    pub fn is_none(&self) -> bool {
        self.after.as_ref().is_some_and(|after| after.is_alike(&self.before))
    }
}

/// One checkpoint.
#[derive(Debug, Clone)]
pub struct Manifest {
    pub(crate) head: Head,
    /// The calls that it is about.
    pub calls: Vec<CallLine>,
    /// What they touched.
    pub(crate) changes: BTreeMap<PathBuf, Change>,
    pub(crate) trees: Vec<TreeLine>,
    pub(crate) is_finished: bool,
    /// When the turn first changed something, if a call has told.
    pub(crate) begun: Option<i64>,
    /// What commands have deleted that git ignores, and that was not kept.
    pub(crate) gone: BTreeSet<PathBuf>,
    /// A command was cut off, and the tree that it began with is gone.
    pub(crate) is_lost: bool,
}

impl Manifest {
    pub(crate) fn new(
        id: String,
        workspace: PathBuf,
        session: &str,
        turn: &str,
        kind: Kind,
        at: i64,
    ) -> Self {
        let (session, turn) = (session.to_owned(), turn.to_owned());
        let head = Head { version: VERSION, id, workspace, session, turn, kind, at };
        Self {
            head,
            calls: Vec::new(),
            changes: BTreeMap::new(),
            trees: Vec::new(),
            is_finished: false,
            begun: None,
            gone: BTreeSet::new(),
            is_lost: false,
        }
    }

    /// The name of the checkpoint.
    pub fn id(&self) -> &str {
        &self.head.id
    }

    /// The folder that the turn worked in.
    pub fn workspace(&self) -> &Path {
        &self.head.workspace
    }

    /// The session.
    pub fn session(&self) -> &str {
        &self.head.session
    }

    /// What made the changes.
    pub fn kind(&self) -> &Kind {
        &self.head.kind
    }

    /// When, in nanoseconds since 1970. Of turns that changed the same files
    /// the one that changed them later is the later one, whichever began
    /// earlier.
    pub fn at(&self) -> i64 {
        self.begun.unwrap_or(self.head.at)
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
        self.head.kind != Kind::Turn && !self.is_finished
    }

    /// When, as programs write it: `2026-01-31T10:20:30.123Z`.
    pub fn moment(&self) -> String {
        let moment = jiff::Timestamp::from_millisecond(self.at() / 1_000_000);
        moment.map(|moment| moment.to_string()).unwrap_or_default()
    }

    /// What was changed, or may have been: paths that are as they were are
    /// left out.
    pub fn changes(&self) -> impl Iterator<Item = (&Path, &Change)> {
        let changed = self.changes.iter().filter(|(_, change)| !change.is_none());
        changed.map(|(path, change)| (path.as_path(), change))
    }

    /// What it has deleted that git ignores and nobody kept, as far as it has
    /// not come back since.
    pub fn missing(&self) -> impl Iterator<Item = &Path> {
        self.gone.iter().map(PathBuf::as_path).filter(|path| is_absent(path))
    }

    /// What changed the files: the tools, or `undo`, `redo`, `restore`.
    pub fn by(&self) -> Vec<String> {
        if let Some(word) = self.head.kind.word() {
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
    pub(crate) fn take(&mut self, line: Line) {
        match line {
            Line::Checkpoint(_) => {}
            Line::Call(call) => self.calls.push(call),
            Line::Before(Seen { path, state }) => {
                self.changes.entry(path).or_insert(Change::new(state, None));
            }
            Line::Anew(Seen { path, state }) => {
                self.changes.insert(path, Change::new(state, None));
            }
            Line::Broken(Seen { path, .. }) => {
                if let Some(change) = self.changes.get_mut(&path) {
                    change.is_broken = true;
                }
            }
            Line::Begun(at) => self.begun = Some(at),
            Line::After(Seen { path, state }) => {
                if let Some(change) = self.changes.get_mut(&path) {
                    change.after = Some(state);
                }
            }
            Line::Tree(tree) => self.trees.push(TreeLine { is_open: true, ..tree }),
            Line::Through(call) => {
                let of_call = self.trees.iter_mut().filter(|tree| tree.call == call);
                of_call.for_each(|tree| tree.is_open = false);
            }
            Line::Gone(path) => {
                self.gone.insert(path);
            }
            Line::Finished(is_finished) => self.is_finished = is_finished,
        }
    }

    /// Reads the first line of a log.
    pub(crate) fn head_of(path: &Path) -> Option<Head> {
        let mut first = Vec::new();
        io::BufReader::new(File::open(path).ok()?).read_until(b'\n', &mut first).ok()?;
        match serde_json::from_slice(&first).ok()? {
            Line::Checkpoint(head) => Some(head),
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
        let Line::Checkpoint(head) = serde_json::from_slice(first).map_err(damaged)? else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it has no heading"));
        };
        if head.version > VERSION {
            let newer = "it was written by a newer hermes";
            return Err(io::Error::new(io::ErrorKind::Unsupported, newer));
        }
        let mut manifest = Self {
            head,
            calls: Vec::new(),
            changes: BTreeMap::new(),
            trees: Vec::new(),
            is_finished: false,
            begun: None,
            gone: BTreeSet::new(),
            is_lost: false,
        };
        for line in whole.filter(|line| line.last() != Some(&CUT_OFF)) {
            manifest.take(serde_json::from_slice(line).map_err(damaged)?);
        }
        let left = serde_json::from_slice::<Line>(cut_off);
        if let Err(error) = left.map(drop)
            && !cut_off.is_empty()
            && !error.is_eof()
        {
            return Err(damaged(error));
        }
        // Who has told of changes then had got to the end.
        if manifest.head.version < TELLS_ENDS && !manifest.changes.is_empty() {
            manifest.trees.iter_mut().for_each(|tree| tree.is_open = false);
        }
        // The first of what a turn is about to change comes with the heading.
        let is_bare = manifest.changes.is_empty() && manifest.trees.is_empty();
        if is_bare && manifest.head.kind == Kind::Turn {
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
pub(crate) struct Log {
    file: File,
    pub(crate) path: PathBuf,
    /// Bytes that were added and not yet counted.
    added: u64,
}

impl Log {
    /// A new log, with its first lines; it is there with them, or not at all.
    pub(crate) fn create(path: PathBuf, head: &Head, first: &[Line]) -> io::Result<Self> {
        let part = path.with_file_name(format!("{UNFINISHED}{}", head.id));
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
        log.write(std::iter::once(&Line::Checkpoint(head.clone())).chain(first))?;
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
            log.file.write_all(&[CUT_OFF, b'\n'])?;
        }
        Ok(log)
    }

    /// Adds lines, all in one piece.
    pub(crate) fn write<'l>(
        &mut self,
        lines: impl IntoIterator<Item = &'l Line>,
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
