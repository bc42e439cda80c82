//! The log on disk: one batch at a time, alone among all processes.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use hermes_store::atomic::write_atomic;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::backwards::Backwards;
use crate::chain::{self, Digest, Key, Line};
use crate::entry;
use crate::error::LogError;
use crate::files::{self, Identity};
use crate::head::{Begin, Found, Head};
use crate::log::{Options, Pending};

/// As much as is written at once. Others wait meanwhile.
const BATCH_BYTES: u64 = 4 << 20;

/// What the log's own fields take of a line, about.
const LINE_BYTES: u64 = 140;

/// A log that is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    options: Options,
    lock: Option<File>,
    key: Option<Key>,
    open: Option<Open>,
}

/// The file that grows, as this process left it.
#[derive(Debug)]
struct Open {
    file: File,
    identity: Identity,
    len: u64,
    /// The last line of the chain, and where the chain begins.
    head: Head,
    /// What must be told in the log before anything else.
    events: Vec<Value>,
    /// The file ends within a line.
    torn: bool,
}

/// The end of the log, as it was found.
#[derive(Debug, Default)]
struct Tail {
    last: Option<(u64, Digest)>,
    /// What stands after the last line break.
    torn: Vec<u8>,
    /// The last line lacks its line break and nothing else.
    unended: bool,
    /// Lines after the last one that is whole.
    damaged: u64,
}

impl Journal {
    pub(crate) fn new(folder: PathBuf, options: Options) -> Self {
        Self { folder, options, lock: None, key: None, open: None }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Appends the first entries of `batch`, at least one, and takes off what
    /// is in the file, even if it then fails.
    pub(crate) fn write(
        &mut self,
        batch: &mut VecDeque<Pending>,
        waiting: &dyn Fn(bool),
    ) -> Result<(), LogError> {
        let lock = self.acquire(waiting)?;
        let outcome = self.write_alone(batch);
        let path = self.path(files::LOCK);
        lock.unlock().map_err(LogError::io("unlock", &path))?;
        self.lock = Some(lock);
        outcome
    }

    /// Waits for the lock, for as long as it takes.
    fn acquire(&mut self, waiting: &dyn Fn(bool)) -> Result<File, LogError> {
        let path = self.path(files::LOCK);
        loop {
            let file = match self.lock.take() {
                Some(file) => file,
                None => self.open_lock(&path)?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    waiting(true);
                    let locked = file.lock();
                    waiting(false);
                    locked.map_err(LogError::io("lock", &path))?;
                }
                Err(TryLockError::Error(error)) => return Err(LogError::io("lock", &path)(error)),
            }
            // Somebody may have removed the file, or the folder; then others
            // lock another file of that name.
            let held = file.metadata().map_err(LogError::io("read", &path))?;
            if files::identity_at(&path)? == Some(files::identity(&held)) {
                return Ok(file);
            }
        }
    }

    fn open_lock(&self, path: &Path) -> Result<File, LogError> {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&self.folder);
        made.map_err(LogError::io("make the folder", &self.folder))?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        options.open(path).map_err(LogError::io("open", path))
    }

    fn write_alone(&mut self, batch: &mut VecDeque<Pending>) -> Result<(), LogError> {
        let (key, lost) = self.ready_key()?;
        let mut open = self.ready_file(&key, lost)?;
        let next = batch.front().map_or(0, |pending| pending.text.len() as u64 + LINE_BYTES);
        if open.len > 0 && !open.torn && open.len + next > self.options.rotate_bytes {
            open = self.rotate(&key, open)?;
        }
        let room = self.options.rotate_bytes.saturating_sub(open.len).min(BATCH_BYTES);
        let mut text = Vec::new();
        if open.torn {
            text.push(b'\n');
        }
        let mut head = open.head.clone();
        for event in open.events.drain(..) {
            let event_text = event.to_string();
            let fields = entry::fields(event_text.as_bytes());
            head.seq = head.seq.saturating_add(1);
            let now = Timestamp::now();
            head.hash = chain::compose(&mut text, &key, head.seq, now, &fields, head.hash);
        }
        let mut ends = Vec::new();
        for pending in batch.iter() {
            let time = Timestamp::try_from(pending.time).unwrap_or_default();
            let fields = entry::fields(&pending.text);
            let start = text.len();
            let seq = head.seq.saturating_add(1);
            let hash = chain::compose(&mut text, &key, seq, time, &fields, head.hash);
            if !ends.is_empty() && text.len() as u64 > room {
                text.truncate(start);
                break;
            }
            (head.seq, head.hash) = (seq, hash);
            ends.push(text.len());
        }
        let path = self.path(files::CURRENT);
        if let Err(error) = open.file.write_all(&text) {
            let grown = undo(&open.file, open.len);
            batch.drain(..ends.iter().filter(|end| **end as u64 <= grown).count());
            return Err(LogError::io("write", &path)(error));
        }
        if self.options.sync {
            open.file.sync_data().map_err(LogError::io("sync", &path))?;
        }
        batch.drain(..ends.len());
        open.len += text.len() as u64;
        open.torn = false;
        open.head = head;
        open.head.write(&self.folder, &key)?;
        // After a failure what is on disk is looked at anew.
        self.open = Some(open);
        Ok(())
    }

    /// The key, and whether the log was there before it.
    fn ready_key(&mut self) -> Result<(Key, bool), LogError> {
        let path = self.path(files::KEY);
        let found = files::read_if_there(&path)?.and_then(|bytes| Key::read(&bytes));
        if let Some(key) = found {
            if self.key.as_ref() != Some(&key) {
                self.open = None;
                self.anchor(&key)?;
            }
            self.key = Some(key.clone());
            return Ok((key, false));
        }
        let save = |key: &Key| {
            write_atomic(&path, key.as_bytes(), 0o600).map_err(LogError::io("write", &path))
        };
        if let Some(key) = &self.key {
            // It was removed under our hands.
            save(key)?;
            return Ok((key.clone(), false));
        }
        self.open = None;
        let head = match Head::read(&self.folder, None)? {
            Found::Good(head) | Found::Foreign(head) => head.seq,
            Found::Unreadable => 1,
            Found::Missing => 0,
        };
        let current = files::identity_at(&self.path(files::CURRENT))?.is_some();
        let lost = head > 0 || current || !files::older(&self.folder)?.is_empty();
        let key = Key::new(random()?);
        if !lost {
            // The head comes first: a key without a head is then never the
            // work of a crash.
            Head::new().write(&self.folder, &key)?;
        }
        save(&key)?;
        self.anchor(&key)?;
        self.key = Some(key.clone());
        Ok((key, lost))
    }

    /// Says beside the folder which log it is, unless something is said there:
    /// a log that was begun anew is not the one that was.
    fn anchor(&self, key: &Key) -> Result<(), LogError> {
        let path = files::anchor(&self.folder);
        if files::identity_at(&path)?.is_some() {
            return Ok(());
        }
        write_atomic(&path, key.mark().as_bytes(), 0o600).map_err(LogError::io("write", &path))
    }

    /// The file to append to. It is looked at only if it is not as we left it.
    fn ready_file(&mut self, key: &Key, key_lost: bool) -> Result<Open, LogError> {
        let path = self.path(files::CURRENT);
        let now = match fs::metadata(&path) {
            Ok(found) => Some((files::identity(&found), found.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(LogError::io("read", &path)(error)),
        };
        if let Some(open) = self.open.take()
            && now == Some((open.identity, open.len))
        {
            return Ok(open);
        }
        let file = open_log(&path)?;
        let found = file.metadata().map_err(LogError::io("read", &path))?;
        let (identity, len) = (files::identity(&found), found.len());
        let mut key_lost = key_lost;
        let mut tail = self.tail(key, key_lost)?;
        let found = Head::read(&self.folder, Some(key))?;
        if tail.last.is_none() && matches!(found, Found::Foreign(_)) {
            // Nothing here was written with this key: it is not the old one.
            key_lost = true;
            tail = self.tail(key, key_lost)?;
        }
        let (head, events) = resume(&tail, found, key, key_lost);
        Ok(Open { file, identity, len, head, events, torn: tail.unended || !tail.torn.is_empty() })
    }

    /// The end of the log: in the file that grows or, just after it was begun,
    /// in the one before.
    fn tail(&self, key: &Key, key_lost: bool) -> Result<Tail, LogError> {
        let current = self.path(files::CURRENT);
        let mut tail = Tail::default();
        for path in [Some(current.clone()), files::older(&self.folder)?.pop().map(|o| o.path)] {
            let Some(path) = path else { break };
            let Some(file) = files::open_if_there(&path)? else { continue };
            let len = file.metadata().map_err(LogError::io("read", &path))?.len();
            let mut lines = Backwards::new(file, len);
            let mut rest = true;
            loop {
                let line = match lines.next() {
                    Ok(Some(line)) => line,
                    Ok(None) => break,
                    Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                        tail.damaged += 1;
                        break;
                    }
                    Err(error) => return Err(LogError::io("read", &path)(error)),
                };
                let rest = std::mem::take(&mut rest);
                match Line::read(&line) {
                    Some(line) if key_lost || line.is_intact(key) => {
                        tail.last = Some((line.seq, line.hash));
                        tail.unended = rest && path == current;
                        return Ok(tail);
                    }
                    _ if !rest => tail.damaged += 1,
                    _ if path == current => tail.torn = line,
                    _ => {}
                }
            }
        }
        Ok(tail)
    }

    /// Puts the full file aside and begins a new one.
    fn rotate(&self, key: &Key, open: Open) -> Result<Open, LogError> {
        let path = self.path(files::CURRENT);
        let Open { mut head, events, .. } = open;
        let mut first = first_line(&path)?.map_or(head.seq, |begin| begin.seq);
        while files::identity_at(&files::older_path(&self.folder, first))?.is_some() {
            first = first.saturating_add(1);
        }
        let aside = files::older_path(&self.folder, first);
        fs::rename(&path, &aside).map_err(LogError::io("rename", &path))?;
        self.prune(key, &mut head)?;
        let file = open_log(&path)?;
        let found = file.metadata().map_err(LogError::io("read", &path))?;
        let (identity, len) = (files::identity(&found), found.len());
        Ok(Open { file, identity, len, head, events, torn: false })
    }

    /// Removes the oldest files. The head tells of it first: a crash between
    /// leaves too many files, never a gap.
    fn prune(&self, key: &Key, head: &mut Head) -> Result<(), LogError> {
        let older = files::older(&self.folder)?;
        let surplus = older.len().saturating_sub(self.options.keep_files.max(1));
        let (gone, kept) = older.split_at(surplus);
        if gone.is_empty() {
            return Ok(());
        }
        let Some(oldest) = kept.first() else { return Ok(()) };
        // A file that cannot be read is kept with what is before it, for
        // whoever looks into it.
        let Some(begin) = first_line(&oldest.path)? else { return Ok(()) };
        head.begin = begin;
        head.write(&self.folder, key)?;
        for file in gone {
            fs::remove_file(&file.path).map_err(LogError::io("remove", &file.path))?;
        }
        Ok(())
    }
}

/// Where to go on, and what has to be told first.
fn resume(tail: &Tail, found: Found, key: &Key, key_lost: bool) -> (Head, Vec<Value>) {
    let mut events = Vec::new();
    if key_lost {
        events.push(json!({ "event": "key_lost" }));
    }
    let mut head = match found {
        Found::Good(head) => head,
        Found::Foreign(head) if key_lost => head,
        Found::Foreign(_) | Found::Unreadable | Found::Missing => {
            if !key_lost {
                events.push(json!({ "event": "head_lost" }));
            }
            Head::new()
        }
    };
    if tail.damaged > 0 {
        events.push(json!({ "event": "damaged", "lines": tail.damaged }));
    }
    let (seq, hash) = tail.last.unwrap_or((0, Digest::GENESIS));
    if seq >= head.seq {
        (head.seq, head.hash) = (seq, hash);
    } else {
        // The numbers go on after those that were cut off, so that the gap
        // can be seen for ever.
        events.push(json!({ "event": "missing", "from": seq + 1, "to": head.seq }));
    }
    if !tail.torn.is_empty() {
        let of = key.digest(&tail.torn).to_string();
        // First, right after the line that it speaks of.
        events.insert(0, json!({ "event": "torn", "bytes": tail.torn.len(), "of": of }));
    }
    (head, events)
}

fn open_log(path: &Path) -> Result<File, LogError> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let odd = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
        return Err(LogError::io("write", path)(odd));
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    options.open(path).map_err(LogError::io("open", path))
}

/// Takes away what a failed write has left; how much of it stays.
fn undo(file: &File, len: u64) -> u64 {
    match file.set_len(len) {
        Ok(()) => 0,
        Err(_) => file.metadata().map_or(0, |found| found.len().saturating_sub(len)),
    }
}

/// Where a file's part of the chain begins.
fn first_line(path: &Path) -> Result<Option<Begin>, LogError> {
    let Some(file) = files::open_if_there(path)? else { return Ok(None) };
    let mut line = Vec::new();
    let mut reader = BufReader::new(file.take(files::MAX_LINE as u64));
    reader.read_until(b'\n', &mut line).map_err(LogError::io("read", path))?;
    line.pop();
    Ok(Line::read(&line).map(|line| Begin { seq: line.seq, prev: line.prev }))
}

fn random() -> Result<[u8; 32], LogError> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0; 32];
    let read = File::open(path).and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(LogError::io("read", path)).map(|()| bytes)
}
