//! The log on disk: one batch at a time, alone among all processes.

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

/// As much as is written at once. Others wait meanwhile.
const MAX_BATCH_BYTES: u64 = 4 << 20;

/// What the log's own fields take of a line, about.
const LINE_OVERHEAD_BYTES: u64 = 140;

/// A log that is being written.
#[derive(Debug)]
pub(crate) struct AuditJournal {
    folder: PathBuf,
    options: LogOptions,
    lock: Option<File>,
    key: Option<LogKey>,
    active: Option<ActiveFile>,
}

/// The file that grows, as this process left it.
#[derive(Debug)]
struct ActiveFile {
    file: File,
    file_id: LogFileId,
    len: u64,
    /// The last line of the chain, and where the chain begins.
    head: LogHead,
    /// What must be told in the log before anything else.
    events: Vec<Value>,
    /// The file ends within a line.
    ends_mid_line: bool,
}

/// The end of the log, as it was found.
#[derive(Debug, Default)]
struct LogTail {
    last: Option<(u64, ChainHash)>,
    /// What stands after the last line break.
    torn_line: Vec<u8>,
    /// The last line lacks its line break and nothing else.
    lacks_newline: bool,
    /// Lines after the last one that is whole.
    damaged_lines: u64,
}

impl AuditJournal {
    pub(crate) fn new(folder: PathBuf, options: LogOptions) -> Self {
        Self { folder, options, lock: None, key: None, active: None }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Appends the first entries of `batch`, at least one, and takes off what
    /// is in the file, even if it then fails.
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

    /// Waits for the lock, for as long as it takes.
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
            // Somebody may have removed the file, or the folder; then others
            // lock another file of that name.
            let held = file.metadata().map_err(LogError::io("read", &path))?;
            if log_files::file_id_at(&path)? == Some(log_files::file_id(&held)) {
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
            let now = Timestamp::now();
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
        open.head.write(&self.folder, &key)?;
        // After a failure what is on disk is looked at anew.
        self.active = Some(open);
        Ok(())
    }

    /// The key, and whether the log was there before it.
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
            // It was removed under our hands.
            save(key)?;
            return Ok((key.clone(), false));
        }
        self.active = None;
        let head = match LogHead::read(&self.folder, None)? {
            HeadState::Good(head) | HeadState::WrongKey(head) => head.seq,
            HeadState::Unreadable => 1,
            HeadState::Missing => 0,
        };
        let current = log_files::file_id_at(&self.path(log_files::CURRENT_FILE))?.is_some();
        let lost = head > 0 || current || !log_files::rotated_files(&self.folder)?.is_empty();
        let key = LogKey::new(random_key()?);
        if !lost {
            // The head comes first: a key without a head is then never the
            // work of a crash.
            LogHead::new().write(&self.folder, &key)?;
        }
        save(&key)?;
        self.write_anchor(&key)?;
        self.key = Some(key.clone());
        Ok((key, lost))
    }

    /// Says beside the folder which log it is, unless something is said there:
    /// a log that was begun anew is not the one that was.
    fn write_anchor(&self, key: &LogKey) -> Result<(), LogError> {
        let path = log_files::anchor_path(&self.folder);
        if log_files::file_id_at(&path)?.is_some() {
            return Ok(());
        }
        write_atomic(&path, key.fingerprint().as_bytes(), 0o600)
            .map_err(LogError::io("write", &path))
    }

    /// The file to append to. It is looked at only if it is not as we left it.
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
        let found = LogHead::read(&self.folder, Some(key))?;
        if tail.last.is_none() && matches!(found, HeadState::WrongKey(_)) {
            // Nothing here was written with this key: it is not the old one.
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

    /// The end of the log: in the file that grows or, just after it was begun,
    /// in the one before.
    fn read_tail(&self, key: &LogKey, key_lost: bool) -> Result<LogTail, LogError> {
        let current = self.path(log_files::CURRENT_FILE);
        let mut tail = LogTail::default();
        for path in
            [Some(current.clone()), log_files::rotated_files(&self.folder)?.pop().map(|o| o.path)]
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

    /// Puts the full file aside and begins a new one.
    fn rotate(&self, key: &LogKey, open: ActiveFile) -> Result<ActiveFile, LogError> {
        let path = self.path(log_files::CURRENT_FILE);
        let ActiveFile { mut head, events, .. } = open;
        let mut first = read_chain_start(&path)?.map_or(head.seq, |begin| begin.seq);
        while log_files::file_id_at(&log_files::rotated_path(&self.folder, first))?.is_some() {
            first = first.saturating_add(1);
        }
        let aside = log_files::rotated_path(&self.folder, first);
        fs::rename(&path, &aside).map_err(LogError::io("rename", &path))?;
        self.prune(key, &mut head)?;
        let file = open_log_file(&path)?;
        let found = file.metadata().map_err(LogError::io("read", &path))?;
        let (identity, len) = (log_files::file_id(&found), found.len());
        Ok(ActiveFile { file, file_id: identity, len, head, events, ends_mid_line: false })
    }

    /// Removes the oldest files. The head tells of it first: a crash between
    /// leaves too many files, never a gap.
    fn prune(&self, key: &LogKey, head: &mut LogHead) -> Result<(), LogError> {
        let older = log_files::rotated_files(&self.folder)?;
        let surplus = older.len().saturating_sub(self.options.keep_files.max(1));
        let (gone, kept) = older.split_at(surplus);
        if gone.is_empty() {
            return Ok(());
        }
        let Some(oldest) = kept.first() else { return Ok(()) };
        // A file that cannot be read is kept with what is before it, for
        // whoever looks into it.
        let Some(begin) = read_chain_start(&oldest.path)? else { return Ok(()) };
        head.chain_start = begin;
        head.write(&self.folder, key)?;
        for file in gone {
            fs::remove_file(&file.path).map_err(LogError::io("remove", &file.path))?;
        }
        Ok(())
    }
}

/// Where to go on, and what has to be told first.
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
        // The numbers go on after those that were cut off, so that the gap
        // can be seen for ever.
        events.push(json!({ "event": "missing", "from": seq + 1, "to": head.seq }));
    }
    if !tail.torn_line.is_empty() {
        let of = key.digest(&tail.torn_line).to_string();
        // First, right after the line that it speaks of.
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

/// Takes away what a failed write has left; how much of it stays.
fn truncate_to(file: &File, len: u64) -> u64 {
    match file.set_len(len) {
        Ok(()) => 0,
        Err(_) => file.metadata().map_or(0, |found| found.len().saturating_sub(len)),
    }
}

/// Where a file's part of the chain begins.
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
