//! Fetches remote changes: never outside the declared directory, and never over
//! local changes.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use hermes_core::ToolError;

use super::super::client::{SshClient, quote_path};
use super::baseline::SyncBaseline;
use super::checksum::FileChecksum;
use super::snapshot::SyncFileStamp;
use super::{KnownFiles, SyncRoot, stream};
use crate::backend::ProcessExit;

/// Exit code of the remote script if there is nothing to fetch.
const NOTHING_TO_FETCH_CODE: i32 = 44;
/// Header lines of a directory archive and of a file archive.
const DIR_ARCHIVE_HEADER: &[u8] = b"hermes-archive-d\n";
const FILE_ARCHIVE_HEADER: &[u8] = b"hermes-archive-f\n";
/// Maximum length of a banner.
const MAX_GREETING_BYTES: usize = 64 * 1024;
/// Maximum files in an archive.
const MAX_FILES: usize = 100_000;

/// Result of a fetch.
#[derive(Debug, Default)]
pub(super) struct FetchResult {
    pub(super) known: KnownFiles,
    pub(super) notices: Vec<String>,
    /// Files that are equal on both sides, for the next run.
    pub(super) baseline: SyncBaseline,
}

/// State before a fetch.
#[derive(Debug)]
pub(super) struct FetchContext {
    pub(super) known: KnownFiles,
    /// Baseline of an earlier run.
    pub(super) baseline: SyncBaseline,
    /// When the backend was opened.
    pub(super) opened_at: SystemTime,
}

/// Fetches a file or a directory.
pub(super) async fn fetch(
    connection: &SshClient,
    socket: Option<&Path>,
    root: &SyncRoot,
    most: u64,
    before: FetchContext,
) -> Result<FetchResult, ToolError> {
    let script = format!(
        "r={}; if [ -d \"$r\" ]; then cd \"$r\" && echo hermes-archive-d && exec tar -cf - .; \
         elif [ -f \"$r\" ]; then cd \"$(dirname \"$r\")\" && echo hermes-archive-f && \
         exec tar -cf - \"./$(basename \"$r\")\"; else exit {NOTHING_TO_FETCH_CODE}; fi",
        quote_path(&root.remote)
    );
    let (done, file) = stream::download(connection, socket, &script, most).await?;
    match done.exit {
        ProcessExit::Code(0) => {}
        ProcessExit::Code(NOTHING_TO_FETCH_CODE) => {
            return Err(ToolError::not_found("no such file or directory on the host"));
        }
        _ => return Err(ToolError::unavailable(done.errors.trim().to_owned())),
    }
    let (root, host) = (root.clone(), connection.host().to_owned());
    let taken =
        tokio::task::spawn_blocking(move || extract_changes(file, &root, &before, &host)).await;
    let taken = taken.map_err(|error| ToolError::internal(error.to_string()))?;
    taken.map_err(|error| ToolError::io("the archive cannot be unpacked", &error))
}

/// Extracts changed files from an archive.
pub(super) fn extract_changes(
    mut file: File,
    root: &SyncRoot,
    before: &FetchContext,
    host: &str,
) -> io::Result<FetchResult> {
    let is_folder = skip_greeting(&mut file)?;
    let mut archive = tar::Archive::new(BufReader::new(file));
    let mut taker =
        ArchiveExtractor { root, before, host, fetched: FetchResult::default(), skipped: 0 };
    for (count, entry) in archive.entries()?.enumerate() {
        let mut entry = entry?;
        if count >= MAX_FILES {
            return Err(io::Error::other(format!("the archive has more than {MAX_FILES} files")));
        }
        if entry.header().entry_type().is_dir() {
            continue;
        }
        let name = entry.path_bytes().into_owned();
        let parts = relative_components(&name)
            .filter(|parts| entry.header().entry_type().is_file() && !parts.is_empty());
        let Some(parts) = parts else {
            taker.skipped += 1;
            continue;
        };
        let relative = if is_folder { parts } else { Vec::new() };
        let header = entry.header();
        let facts = ArchivedMetadata {
            mode: header.mode().unwrap_or(0o600) & 0o777,
            modified: header.mtime().unwrap_or(0),
        };
        taker.extract_if_changed(&relative, facts, &mut entry)?;
    }
    Ok(taker.finish())
}

/// Whether a local file is unmodified since a time, and not newer than the
/// remote one.
fn is_unmodified_since(here: &fs::Metadata, since: SystemTime, there: ArchivedMetadata) -> bool {
    let since = since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let since = (since.as_secs(), since.subsec_nanos());
    // A file copied here with an old mtime has a new ctime.
    let put = (here.ctime(), u32::try_from(here.ctime_nsec()).unwrap_or_default());
    let put = (u64::try_from(put.0).unwrap_or_default(), put.1);
    put < since && u64::try_from(here.mtime()).unwrap_or_default() <= there.modified
}

/// Seeks to the start of the archive; returns whether it is of a directory.
fn skip_greeting(file: &mut File) -> io::Result<bool> {
    file.rewind()?;
    let mut head = Vec::new();
    file.take(MAX_GREETING_BYTES as u64).read_to_end(&mut head)?;
    let found = [(DIR_ARCHIVE_HEADER, true), (FILE_ARCHIVE_HEADER, false)].into_iter().find_map(
        |(words, is_folder)| {
            let at = head.windows(words.len()).position(|piece| piece == words)?;
            Some((at + words.len(), is_folder))
        },
    );
    let Some((at, is_folder)) = found else { return Err(io::ErrorKind::InvalidData.into()) };
    file.seek(SeekFrom::Start(at as u64))?;
    Ok(is_folder)
}

/// Returns the components of a name; None if it could leave its directory.
fn relative_components(name: &[u8]) -> Option<Vec<Vec<u8>>> {
    let path = Path::new(std::ffi::OsStr::from_bytes(name));
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.as_bytes().to_vec()),
            _ => return None,
        }
    }
    Some(parts)
}

/// Metadata of an archived file.
#[derive(Debug, Clone, Copy)]
struct ArchivedMetadata {
    mode: u32,
    /// Unix time in seconds.
    modified: u64,
}

struct ArchiveExtractor<'a> {
    root: &'a SyncRoot,
    before: &'a FetchContext,
    host: &'a str,
    fetched: FetchResult,
    skipped: usize,
}

impl ArchiveExtractor<'_> {
    /// Extracts a file that changed remotely and not locally.
    fn extract_if_changed(
        &mut self,
        relative: &[Vec<u8>],
        facts: ArchivedMetadata,
        from: &mut impl Read,
    ) -> io::Result<()> {
        let below = relative.join(&b'/');
        let name = self.root.remote_name(&below);
        let Some(dir) = self.ensure_parent_dir(relative)? else {
            return self.report_refused(&name, "a symlink or file here blocks its path");
        };
        let path = match relative.last() {
            Some(last) => dir.join(std::ffi::OsStr::from_bytes(last)),
            None => self.root.local.clone(),
        };
        let mut taken = tempfile::NamedTempFile::new_in(&dir)?;
        io::copy(from, taken.as_file_mut())?;
        taken.as_file_mut().rewind()?;
        let (there, _) = FileChecksum::from_reader(taken.as_file_mut())?;
        let found = fs::symlink_metadata(&path);
        let here = match &found {
            Ok(found) if found.is_file() => Some(FileChecksum::from_reader(File::open(&path)?)?.0),
            Ok(_) => return self.report_refused(&name, "the local path is not a regular file"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(_) => return found.map(|_| ()),
        };
        let sent = self.before.known.get(&name).filter(|file| file.local == path);
        // A fetched file that was deleted locally is fetched again.
        let last = || here.and_then(|_| self.before.baseline.get(&below));
        let base = sent.and_then(|file| file.remote_sum).or_else(last);
        if here == Some(there) || base == Some(there) {
            self.fetched.baseline.record(&below, there);
            return Ok(());
        }
        // Changed on the host. The local file must be the one sent or fetched;
        // if that is unknown, it must be unmodified and older than the remote
        // one.
        let is_old =
            found.is_ok_and(|found| is_unmodified_since(&found, self.before.opened_at, facts));
        if here != base && !(base.is_none() && is_old) {
            if let Some(base) = base {
                self.fetched.baseline.record(&below, base);
            }
            let why =
                if here.is_some() { "it was changed here as well" } else { "it was deleted here" };
            return self.report_refused(&name, why);
        }
        taken.as_file().set_permissions(Permissions::from_mode(facts.mode))?;
        taken.persist(&path)?;
        self.fetched.baseline.record(&below, there);
        let stamp = SyncFileStamp::from_metadata(&fs::symlink_metadata(&path)?);
        let file = super::SyncedFile { local: path, stamp, sum: there, remote_sum: Some(there) };
        self.fetched.known.insert(name, file);
        Ok(())
    }

    /// Returns the parent directory of a file, created if missing; None if
    /// another kind of file is in its place.
    fn ensure_parent_dir(&mut self, relative: &[Vec<u8>]) -> io::Result<Option<PathBuf>> {
        let inner = match relative.split_last() {
            Some((_, inner)) => inner,
            None => {
                let parent = self.root.local.parent().unwrap_or(Path::new("/"));
                DirBuilder::new().recursive(true).create(parent)?;
                return Ok(Some(parent.to_owned()));
            }
        };
        // The declared directory itself may be a symlink: the user chose it.
        DirBuilder::new().recursive(true).create(&self.root.local)?;
        let mut dir = self.root.local.clone();
        for (at, part) in inner.iter().enumerate() {
            dir.push(std::ffi::OsStr::from_bytes(part));
            match fs::symlink_metadata(&dir) {
                Ok(facts) if facts.is_dir() => {}
                Ok(_) => return Ok(None),
                Err(_) => {
                    fs::create_dir(&dir)?;
                    // Recorded as present on both sides, so it is not sent
                    // back.
                    let name =
                        self.root.remote_name(&inner.get(..=at).unwrap_or_default().join(&b'/'));
                    self.fetched.known.insert(name, super::SyncedFile::directory(dir.clone()));
                }
            }
        }
        Ok(Some(dir))
    }

    fn report_refused(&mut self, name: &[u8], why: &str) -> io::Result<()> {
        let name = String::from_utf8_lossy(name);
        let host = self.host;
        self.fetched.notices.push(format!("{name} changed on {host} but was not fetched: {why}."));
        Ok(())
    }

    fn finish(mut self) -> FetchResult {
        if self.skipped > 0 {
            self.fetched.notices.push(format!(
                "{} symlinks or special files in {} were not fetched.",
                self.skipped, self.root.remote
            ));
        }
        self.fetched
    }
}
