//! Content-addressed store: deduplicated, compressed, and verified on read.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use hermes_files::read_whole;
use parking_lot::Mutex;

use crate::state::ContentHash;
use crate::store::now_nanos;
use crate::turn::FILE_TIME_GRANULARITY_NANOS;

/// The fastest level, since a call waits for it.
const COMPRESSION_LEVEL: i32 = 1;

/// Files up to this size are hashed before anything is written.
const MAX_IN_MEMORY_BYTES: usize = 8 * 1024 * 1024;

/// Maximum number of verified objects remembered.
const MAX_VERIFIED_OBJECTS: usize = 4096;

/// Bytes read at a time.
const READ_CHUNK_BYTES: usize = 128 * 1024;

/// Maximum number of temporary names tried.
const MAX_NAME_ATTEMPTS: u64 = 64;

/// Name prefix of incomplete files.
pub(crate) const PART_PREFIX: &str = ".part-";

/// Contents by hash.
#[derive(Debug)]
pub(crate) struct ObjectStore {
    dir: PathBuf,
    /// Bytes that this process has added and not yet counted in the tally.
    added: AtomicU64,
    /// Objects read and found intact.
    verified: Mutex<HashMap<ContentHash, FileFingerprint>>,
}

/// Metadata that changes when a file is modified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileFingerprint {
    inode: u64,
    len: u64,
    /// Nanoseconds since 1970; programs cannot set it back.
    changed: i64,
}

impl FileFingerprint {
    fn from_metadata(found: &Metadata) -> Self {
        let seconds = found.ctime().saturating_mul(1_000_000_000);
        let changed = seconds.saturating_add(found.ctime_nsec());
        Self { inode: found.ino(), len: found.len(), changed }
    }
}

impl ObjectStore {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir, added: AtomicU64::new(0), verified: Mutex::default() }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the number of uncounted bytes added.
    pub(crate) fn added(&self) -> u64 {
        self.added.load(Ordering::Relaxed)
    }

    /// Returns and resets the number of uncounted bytes; the caller counts
    /// them.
    pub(crate) fn take_added(&self) -> u64 {
        self.added.swap(0, Ordering::Relaxed)
    }

    /// Adds bytes written outside the object store.
    pub(crate) fn add(&self, bytes: u64) {
        self.added.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Stores a content.
    pub(crate) fn put(&self, bytes: &[u8]) -> io::Result<ContentHash> {
        let hash = ContentHash::for_content(bytes);
        if !self.has_verified(hash, bytes) {
            let packed = zstd::bulk::compress(bytes, COMPRESSION_LEVEL)?;
            let (mut file, part) = self.create_part(hash)?;
            let written = file.write_all(&packed);
            self.commit_part(written, &part, hash, packed.len() as u64)?;
        }
        Ok(hash)
    }

    /// Stores the content of a file; returns its hash and length.
    pub(crate) fn put_file(
        &self,
        file: &mut File,
        expected: u64,
    ) -> io::Result<(ContentHash, u64)> {
        let start = read_whole(&*file, expected, MAX_IN_MEMORY_BYTES as u64 + 1)?;
        if start.len() <= MAX_IN_MEMORY_BYTES {
            return Ok((self.put(&start)?, start.len() as u64));
        }
        let (sink, part) = self.create_part(ContentHash::for_content(&start))?;
        let pack = || {
            let mut hasher = blake3::Hasher::new();
            let mut packer = zstd::stream::write::Encoder::new(sink, COMPRESSION_LEVEL)?;
            hasher.update(&start);
            packer.write_all(&start)?;
            let mut len = start.len() as u64;
            let mut chunk = vec![0; READ_CHUNK_BYTES];
            loop {
                let read = file.read(&mut chunk)?;
                let Some(piece) = chunk.get(..read).filter(|piece| !piece.is_empty()) else {
                    break;
                };
                hasher.update(piece);
                packer.write_all(piece)?;
                len += piece.len() as u64;
            }
            let packed = packer.finish()?.metadata()?.len();
            Ok((ContentHash(hasher.finalize()), len, packed))
        };
        let done: io::Result<(ContentHash, u64, u64)> = pack();
        let (hash, len, packed) = done.inspect_err(|_| discard(&part))?;
        // Replaces an existing object, which may be damaged; the new one is
        // already written.
        let known = fs::metadata(self.path(hash)).map_or(0, |found| found.len());
        self.commit_part(Ok(()), &part, hash, packed.saturating_sub(known))?;
        Ok((hash, len))
    }

    /// Whether an intact object exists. It is read, unless it was verified
    /// before and is unmodified since.
    fn has_verified(&self, hash: ContentHash, bytes: &[u8]) -> bool {
        let path = self.path(hash);
        let Ok(found) = fs::metadata(&path) else { return false };
        let print = FileFingerprint::from_metadata(&found);
        if self.verified.lock().get(&hash) == Some(&print) {
            return true;
        }
        let is_whole = decompresses_to(&path, bytes).unwrap_or(false);
        // A recent file could be modified again with the same ctime.
        if is_whole && print.changed < now_nanos().saturating_sub(FILE_TIME_GRANULARITY_NANOS) {
            let mut checked = self.verified.lock();
            if checked.len() >= MAX_VERIFIED_OBJECTS {
                checked.clear();
            }
            checked.insert(hash, print);
        }
        is_whole
    }

    /// Whether an object exists and is not empty, as after a power failure.
    pub(crate) fn has(&self, hash: ContentHash) -> bool {
        fs::metadata(self.path(hash)).is_ok_and(|found| found.len() > 0)
    }

    /// Copies a content to `to`, and fails at the end if its hash does not
    /// match.
    pub(crate) fn copy_to(&self, hash: ContentHash, to: &mut dyn Write) -> io::Result<()> {
        let mut packed = zstd::stream::read::Decoder::new(File::open(self.path(hash))?)?;
        let mut hasher = blake3::Hasher::new();
        let mut chunk = vec![0; READ_CHUNK_BYTES];
        loop {
            let read = packed.read(&mut chunk)?;
            let Some(piece) = chunk.get(..read).filter(|piece| !piece.is_empty()) else { break };
            hasher.update(piece);
            to.write_all(piece)?;
        }
        if ContentHash(hasher.finalize()) == hash {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "the saved content is damaged"))
    }

    /// Returns a whole content.
    pub(crate) fn get(&self, hash: ContentHash) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.copy_to(hash, &mut bytes)?;
        Ok(bytes)
    }

    /// Returns the path of an object.
    pub(crate) fn path(&self, hash: ContentHash) -> PathBuf {
        let hex = hash.to_hex();
        let (drawer, name) = hex.split_at(2);
        self.dir.join(drawer).join(name)
    }

    /// Creates a temporary file next to the object `near`.
    fn create_part(&self, near: ContentHash) -> io::Result<(File, PathBuf)> {
        let random = RandomState::new();
        for number in 0..MAX_NAME_ATTEMPTS {
            let name = format!("{PART_PREFIX}{:016x}", random.hash_one(number));
            let part = self.path(near).with_file_name(name);
            match create(&part) {
                Ok(file) => return Ok((file, part)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    create_private_dir(part.parent().unwrap_or(&self.dir))?;
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn commit_part(
        &self,
        written: io::Result<()>,
        part: &Path,
        hash: ContentHash,
        packed: u64,
    ) -> io::Result<()> {
        let target = self.path(hash);
        let moved = written.and_then(|()| match fs::rename(part, &target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create_private_dir(target.parent().unwrap_or(&self.dir))?;
                fs::rename(part, &target)
            }
            moved => moved,
        });
        moved.inspect_err(|_| discard(part))?;
        self.add(packed);
        Ok(())
    }
}

/// Creates a directory and its parents with mode 0700.
pub(crate) fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Whether a file decompresses to these bytes.
fn decompresses_to(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut packed = zstd::stream::read::Decoder::new(File::open(path)?)?;
    let mut chunk = vec![0; READ_CHUNK_BYTES];
    let mut rest = bytes;
    loop {
        let read = packed.read(&mut chunk)?;
        if read == 0 {
            return Ok(rest.is_empty());
        }
        match chunk.get(..read).and_then(|piece| rest.strip_prefix(piece)) {
            Some(left) => rest = left,
            None => return Ok(false),
        }
    }
}

fn discard(part: &Path) {
    let _ = fs::remove_file(part);
}
