//! Writes the log to disk, one batch at a time under a lock shared by all
//! processes.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use hermes_store::atomic::write_atomic;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::chain::{self, ChainHash, LogKey, LogLine};
use crate::entry;
use crate::error::LogError;
use crate::head::{ChainStart, HeadState, LogHead};
use crate::log::{LogOptions, PendingEntry};
use crate::log_files::{self, LogFileId};
use crate::reverse_lines::ReverseLineReader;

/// Maximum bytes per batch. Other processes wait for the lock meanwhile.
const MAX_BATCH_BYTES: u64 = 4 << 20;

/// Approximate size of the log's own fields in a line.
const LINE_OVERHEAD_BYTES: u64 = 140;

/// Writer of a log directory.
#[derive(Debug)]
pub(crate) struct AuditJournal {
    dir: PathBuf,
    options: LogOptions,
    lock: Option<File>,
    key: Option<LogKey>,
    active: Option<ActiveFile>,
}

/// The current file in the state in which this process left it.
#[derive(Debug)]
struct ActiveFile {
    file: File,
    file_id: LogFileId,
    len: u64,
    /// The last line of the chain, and where the chain starts.
    head: LogHead,
    /// Events to log before any other entry.
    events: Vec<Value>,
    /// Whether the file ends in an incomplete line.
    ends_mid_line: bool,
}

/// The end of the log as found on disk.
#[derive(Debug, Default)]
struct LogTail {
    last: Option<(u64, ChainHash)>,
    /// Bytes after the last line break.
    torn_line: Vec<u8>,
    /// The last line is complete except for its line break.
    lacks_newline: bool,
    /// Number of lines after the last intact one.
    damaged_lines: u64,
}

impl AuditJournal {
    pub(crate) fn new(dir: PathBuf, options: LogOptions) -> Self {
        Self { dir, options, lock: None, key: None, active: None }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Appends the first entries of `batch`, at least one. Removes from `batch`
    /// what reached the file, even on failure.
    pub(crate) fn write(
        &mut self,
        batch: &mut VecDeque<PendingEntry>,
        waiting: &dyn Fn(bool),
    ) -> Result<(), LogError> {
        let lock = self.acquire_lock(waiting)?;
        let outcome = self.write_locked(batch);
        let path = self.path(log_files::LOCK_FILE);
        lock.unlock().map_err(LogError::io("unlock", &path))?;
        self.lock = Some(lock);
        outcome
    }

    /// Acquires the lock, waiting without a timeout.
    fn acquire_lock(&mut self, waiting: &dyn Fn(bool)) -> Result<File, LogError> {
        let path = self.path(log_files::LOCK_FILE);
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
            // If the file or directory was removed, other processes lock a new
            // file of the same name.
            let held = file.metadata().map_err(LogError::io("read", &path))?;
            if log_files::file_id_at(&path)? == Some(log_files::file_id(&held)) {
                return Ok(file);
            }
        }
    }

    fn open_lock(&self, path: &Path) -> Result<File, LogError> {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&self.dir);
        made.map_err(LogError::io("create the directory", &self.dir))?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        options.open(path).map_err(LogError::io("open", path))
    }

    fn write_locked(&mut self, batch: &mut VecDeque<PendingEntry>) -> Result<(), LogError> {
        let (key, lost) = self.load_or_create_key()?;
        let mut open = self.open_active(&key, lost)?;
        let next =
            batch.front().map_or(0, |pending| pending.text.len() as u64 + LINE_OVERHEAD_BYTES);
        if open.len > 0 && !open.ends_mid_line && open.len + next > self.options.rotate_bytes {
            open = self.rotate(&key, open)?;
        }
        let room = self.options.rotate_bytes.saturating_sub(open.len).min(MAX_BATCH_BYTES);
        let mut text = Vec::new();
        if open.ends_mid_line {
            text.push(b'\n');
        }
        let mut head = open.head.clone();
        for event in open.events.drain(..) {
            let event_text = event.to_string();
            let fields = entry::entry_fields(event_text.as_bytes());
            head.seq = head.seq.saturating_add(1);
            let now = crate::time_parse::now();
            head.hash = chain::compose(&mut text, &key, head.seq, now, &fields, head.hash);
        }
        let mut ends = Vec::new();
        for pending in batch.iter() {
            let time = Timestamp::try_from(pending.time).unwrap_or_default();
            let fields = entry::entry_fields(&pending.text);
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
        let path = self.path(log_files::CURRENT_FILE);
        if let Err(error) = open.file.write_all(&text) {
            let grown = truncate_to(&open.file, open.len);
            batch.drain(..ends.iter().filter(|end| **end as u64 <= grown).count());
            return Err(LogError::io("write", &path)(error));
        }
        if self.options.sync {
            open.file.sync_data().map_err(LogError::io("sync", &path))?;
        }
        batch.drain(..ends.len());
        open.len += text.len() as u64;
        open.ends_mid_line = false;
        open.head = head;
        open.head.write(&self.dir, &key)?;
        // Only set on success: after a failure the state on disk is read again.
        self.active = Some(open);
        Ok(())
    }

    /// Returns the key, and whether a new one was created for an existing log.
    fn load_or_create_key(&mut self) -> Result<(LogKey, bool), LogError> {
        let path = self.path(log_files::KEY_FILE);
        let found = log_files::read_if_exists(&path)?.and_then(|bytes| LogKey::from_bytes(&bytes));
        if let Some(key) = found {
            if self.key.as_ref() != Some(&key) {
                self.active = None;
                self.write_anchor(&key)?;
            }
            self.key = Some(key.clone());
            return Ok((key, false));
        }
        let save = |key: &LogKey| {
            write_atomic(&path, key.as_bytes(), 0o600).map_err(LogError::io("write", &path))
        };
        if let Some(key) = &self.key {
            // The key file was removed while the log was open.
            save(key)?;
            return Ok((key.clone(), false));
        }
        self.active = None;
        let head = match LogHead::read(&self.dir, None)? {
            HeadState::Good(head) | HeadState::WrongKey(head) => head.seq,
            HeadState::Unreadable => 1,
            HeadState::Missing => 0,
        };
        let current = log_files::file_id_at(&self.path(log_files::CURRENT_FILE))?.is_some();
        let lost = head > 0 || current || !log_files::rotated_files(&self.dir)?.is_empty();
        let key = LogKey::new(random_key()?);
        if !lost {
            // Write the head first, so a crash never leaves a key without a
            // head.
            LogHead::new().write(&self.dir, &key)?;
        }
        save(&key)?;
        self.write_anchor(&key)?;
        self.key = Some(key.clone());
        Ok((key, lost))
    }

    /// Writes the key's fingerprint next to the directory, unless an anchor
    /// exists: a log that was recreated is not the original one.
    fn write_anchor(&self, key: &LogKey) -> Result<(), LogError> {
        let path = log_files::anchor_path(&self.dir);
        if log_files::file_id_at(&path)?.is_some() {
            return Ok(());
        }
        write_atomic(&path, key.fingerprint().as_bytes(), 0o600)
            .map_err(LogError::io("write", &path))
    }

    /// Returns the file to append to. Reads its tail only if it changed since
    /// the last write.
    fn open_active(&mut self, key: &LogKey, key_lost: bool) -> Result<ActiveFile, LogError> {
        let path = self.path(log_files::CURRENT_FILE);
        let now = match fs::metadata(&path) {
            Ok(found) => Some((log_files::file_id(&found), found.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(LogError::io("read", &path)(error)),
        };
        if let Some(open) = self.active.take()
            && now == Some((open.file_id, open.len))
        {
            return Ok(open);
        }
        let file = open_log_file(&path)?;
        let found = file.metadata().map_err(LogError::io("read", &path))?;
        let (identity, len) = (log_files::file_id(&found), found.len());
        let mut key_lost = key_lost;
        let mut tail = self.read_tail(key, key_lost)?;
        let found = LogHead::read(&self.dir, Some(key))?;
        if tail.last.is_none() && matches!(found, HeadState::WrongKey(_)) {
            // Nothing here was written with this key, so it is a new key.
            key_lost = true;
            tail = self.read_tail(key, key_lost)?;
        }
        let (head, events) = resume_point(&tail, found, key, key_lost);
        Ok(ActiveFile {
            file,
            file_id: identity,
            len,
            head,
            events,
            ends_mid_line: tail.lacks_newline || !tail.torn_line.is_empty(),
        })
    }

    /// Reads the end of the log: from the current file or, right after a
    /// rotation, from the previous one.
    fn read_tail(&self, key: &LogKey, key_lost: bool) -> Result<LogTail, LogError> {
        let current = self.path(log_files::CURRENT_FILE);
        let mut tail = LogTail::default();
        for path in
            [Some(current.clone()), log_files::rotated_files(&self.dir)?.pop().map(|o| o.path)]
        {
            let Some(path) = path else { break };
            let Some(file) = log_files::open_if_exists(&path)? else { continue };
            let len = file.metadata().map_err(LogError::io("read", &path))?.len();
            let mut lines = ReverseLineReader::new(file, len);
            let mut rest = true;
            loop {
                let line = match lines.next() {
                    Ok(Some(line)) => line,
                    Ok(None) => break,
                    Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                        tail.damaged_lines += 1;
                        break;
                    }
                    Err(error) => return Err(LogError::io("read", &path)(error)),
                };
                let rest = std::mem::take(&mut rest);
                match LogLine::parse(&line) {
                    Some(line) if key_lost || line.is_intact(key) => {
                        tail.last = Some((line.seq, line.hash));
                        tail.lacks_newline = rest && path == current;
                        return Ok(tail);
                    }
                    _ if !rest => tail.damaged_lines += 1,
                    _ if path == current => tail.torn_line = line,
                    _ => {}
                }
            }
        }
        Ok(tail)
    }

    /// Rotates the full file and starts a new one.
    fn rotate(&self, key: &LogKey, open: ActiveFile) -> Result<ActiveFile, LogError> {
        let path = self.path(log_files::CURRENT_FILE);
        let ActiveFile { mut head, events, .. } = open;
        let mut first = read_chain_start(&path)?.map_or(head.seq, |begin| begin.seq);
        while log_files::file_id_at(&log_files::rotated_path(&self.dir, first))?.is_some() {
            first = first.saturating_add(1);
        }
        let aside = log_files::rotated_path(&self.dir, first);
        fs::rename(&path, &aside).map_err(LogError::io("rename", &path))?;
        self.prune(key, &mut head)?;
        let file = open_log_file(&path)?;
        let found = file.metadata().map_err(LogError::io("read", &path))?;
        let (identity, len) = (log_files::file_id(&found), found.len());
        Ok(ActiveFile { file, file_id: identity, len, head, events, ends_mid_line: false })
    }

    /// Removes the oldest files. The head is updated first: a crash in between
    /// leaves too many files, never a gap.
    fn prune(&self, key: &LogKey, head: &mut LogHead) -> Result<(), LogError> {
        let older = log_files::rotated_files(&self.dir)?;
        let surplus = older.len().saturating_sub(self.options.keep_files.max(1));
        let (gone, kept) = older.split_at(surplus);
        if gone.is_empty() {
            return Ok(());
        }
        let Some(oldest) = kept.first() else { return Ok(()) };
        // Keep a file that cannot be read, and those before it, for inspection.
        let Some(begin) = read_chain_start(&oldest.path)? else { return Ok(()) };
        head.chain_start = begin;
        head.write(&self.dir, key)?;
        for file in gone {
            fs::remove_file(&file.path).map_err(LogError::io("remove", &file.path))?;
        }
        Ok(())
    }
}

/// Returns where to continue, and the events to log first.
fn resume_point(
    tail: &LogTail,
    found: HeadState,
    key: &LogKey,
    key_lost: bool,
) -> (LogHead, Vec<Value>) {
    let mut events = Vec::new();
    if key_lost {
        events.push(json!({ "event": "key_lost" }));
    }
    let mut head = match found {
        HeadState::Good(head) => head,
        HeadState::WrongKey(head) if key_lost => head,
        HeadState::WrongKey(_) | HeadState::Unreadable | HeadState::Missing => {
            if !key_lost {
                events.push(json!({ "event": "head_lost" }));
            }
            LogHead::new()
        }
    };
    if tail.damaged_lines > 0 {
        events.push(json!({ "event": "damaged", "lines": tail.damaged_lines }));
    }
    let (seq, hash) = tail.last.unwrap_or((0, ChainHash::GENESIS));
    if seq >= head.seq {
        (head.seq, head.hash) = (seq, hash);
    } else {
        // Continue numbering after the entries that were cut off, so the gap
        // stays visible.
        events.push(json!({ "event": "missing", "from": seq + 1, "to": head.seq }));
    }
    if !tail.torn_line.is_empty() {
        let of = key.digest(&tail.torn_line).to_string();
        // First, directly after the line it describes.
        events.insert(0, json!({ "event": "torn", "bytes": tail.torn_line.len(), "of": of }));
    }
    (head, events)
}

fn open_log_file(path: &Path) -> Result<File, LogError> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let odd = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
        return Err(LogError::io("write", path)(odd));
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    options.open(path).map_err(LogError::io("open", path))
}

/// Removes what a failed write left and returns how many bytes remain.
fn truncate_to(file: &File, len: u64) -> u64 {
    match file.set_len(len) {
        Ok(()) => 0,
        Err(_) => file.metadata().map_or(0, |found| found.len().saturating_sub(len)),
    }
}

/// Returns where a file's part of the chain starts.
fn read_chain_start(path: &Path) -> Result<Option<ChainStart>, LogError> {
    let Some(file) = log_files::open_if_exists(path)? else { return Ok(None) };
    let mut line = Vec::new();
    let mut reader = BufReader::new(file.take(log_files::MAX_LINE_BYTES as u64));
    reader.read_until(b'\n', &mut line).map_err(LogError::io("read", path))?;
    line.pop();
    Ok(LogLine::parse(&line).map(|line| ChainStart { seq: line.seq, prev: line.prev }))
}

fn random_key() -> Result<[u8; 32], LogError> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0; 32];
    let read = File::open(path).and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(LogError::io("read", path)).map(|()| bytes)
}
