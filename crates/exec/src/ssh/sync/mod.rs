//! File sync: declared files are sent before a program runs and when they have
//! changed; declared results are fetched when the backend is closed.
//!
//! Conflicting changes are never overwritten: they are reported, and both sides
//! stay unchanged. The recorded state changes only after a successful sync.

mod baseline;
mod checksum;
mod fetch;
mod pack;
mod snapshot;
mod stream;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_core::ToolError;

use super::client::{SshClient, after_words};
use super::settings::{SshSettings, SyncMapping, expand_home};
use crate::backend::ProcessExit;
use baseline::BaselineStore;
use checksum::FileChecksum;
use snapshot::{EntryKind, LocalEntry, SyncFileStamp};

/// Retries for files that change while they are read.
const MAX_READ_ATTEMPTS: usize = 3;
/// Output of the remote script on success.
const DONE_MARKER: &[u8] = b"hermes-synced\n";

/// Sync mappings and their recorded state.
#[derive(Debug)]
pub(super) struct FileSync {
    sent: Vec<SyncRoot>,
    fetched: Vec<SyncRoot>,
    max_fetch_bytes: u64,
    known: KnownFiles,
    /// Baselines of the last run.
    baselines: BaselineStore,
    /// When the backend was first opened.
    opened_at: Option<SystemTime>,
}

/// A file or directory that is synced.
#[derive(Debug, Clone)]
struct SyncRoot {
    local: PathBuf,
    remote: String,
}

/// Recorded files by remote name.
type KnownFiles = BTreeMap<Vec<u8>, SyncedFile>;

/// Recorded state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SyncedFile {
    /// Local path.
    local: PathBuf,
    /// Local metadata when it was scanned.
    stamp: SyncFileStamp,
    /// Local checksum at that time; of a symlink, that of its target.
    sum: FileChecksum,
    /// Last known remote checksum.
    remote_sum: Option<FileChecksum>,
}

impl SyncedFile {
    /// Returns the state of a directory that exists on both sides.
    fn directory(local: PathBuf) -> Self {
        let sum = FileChecksum::from_bytes(b"");
        Self { local, stamp: SyncFileStamp::directory(), sum, remote_sum: Some(sum) }
    }
}

/// A change to apply on the host.
#[derive(Debug, PartialEq, Eq)]
struct RemoteChange {
    name: Vec<u8>,
    /// Expected remote checksum; None if unknown.
    expected: Option<FileChecksum>,
    action: ChangeAction,
}

#[derive(Debug, PartialEq, Eq)]
enum ChangeAction {
    Put(LocalEntry, FileChecksum),
    Remove,
    /// Only if it is empty.
    RemoveDir,
}

impl FileSync {
    pub(super) fn new(settings: &SshSettings) -> Self {
        let roots = |all: &[SyncMapping]| all.iter().map(SyncRoot::from_mapping).collect();
        Self {
            sent: roots(&settings.sync),
            fetched: roots(&settings.sync_back),
            max_fetch_bytes: settings.max_fetch_bytes,
            known: KnownFiles::new(),
            baselines: BaselineStore::for_settings(settings),
            opened_at: None,
        }
    }

    /// Sends local changes. Returns notices about conflicts.
    pub(super) async fn push(
        &mut self,
        connection: &SshClient,
        socket: Option<&Path>,
    ) -> Result<Vec<String>, ToolError> {
        self.opened_at.get_or_insert_with(SystemTime::now);
        if self.sent.is_empty() {
            return Ok(Vec::new());
        }
        for _ in 0..MAX_READ_ATTEMPTS {
            let (roots, known) = (self.sent.clone(), self.known.clone());
            let prepared = tokio::task::spawn_blocking(move || prepare_push(&roots, known)).await;
            let prepared = prepared.map_err(|error| ToolError::internal(error.to_string()))?;
            let Some(prepared) = prepared? else { continue };
            let PreparedPush { mut known, changes, archive, notices: mut news } = prepared;
            if let Some(archive) = archive {
                let refused = send_changes(connection, socket, archive, &changes).await?;
                news.extend(record_changes(&mut known, &changes, &refused, connection.host()));
            }
            self.known = known;
            return Ok(news);
        }
        Err(ToolError::conflict("ssh: a file to be sent keeps changing")
            .with_hint("Wait until it is written, or remove it from terminal.sync."))
    }

    /// Fetches remote changes. Returns notices about files that were not
    /// fetched.
    pub(super) async fn pull(
        &mut self,
        connection: &SshClient,
        socket: Option<&Path>,
    ) -> Vec<String> {
        let mut news = Vec::new();
        let opened = self.opened_at.unwrap_or_else(SystemTime::now);
        for root in self.fetched.clone() {
            let known = fetch::FetchContext {
                known: self.known.clone(),
                baseline: self.baselines.read(&root),
                opened_at: opened,
            };
            match fetch::fetch(connection, socket, &root, self.max_fetch_bytes, known).await {
                Ok(fetched) => {
                    self.known.extend(fetched.known);
                    self.baselines.write(&root, &fetched.baseline);
                    news.extend(fetched.notices);
                }
                Err(error) => news.push(format!(
                    "{} was not fetched from {}: {}",
                    root.remote,
                    connection.host(),
                    error.message()
                )),
            }
        }
        news
    }
}

impl SyncRoot {
    fn from_mapping(synced: &SyncMapping) -> Self {
        // Normalizes paths relative to the home.
        let remote = synced.remote.trim_end_matches('/');
        let remote = match remote.chars().next() {
            None if synced.remote.is_empty() => "~".to_owned(),
            None => "/".to_owned(),
            Some('/' | '~') => remote.to_owned(),
            Some(_) => format!("~/{remote}"),
        };
        Self { local: expand_home(&synced.local), remote }
    }

    /// Returns the remote name of an entry.
    fn remote_name(&self, relative: &[u8]) -> Vec<u8> {
        let mut name = self.remote.clone().into_bytes();
        if !relative.is_empty() {
            if !name.ends_with(b"/") {
                name.push(b'/');
            }
            name.extend_from_slice(relative);
        }
        name
    }
}

struct PreparedPush {
    /// The state to record on success.
    known: KnownFiles,
    changes: Vec<RemoteChange>,
    archive: Option<std::fs::File>,
    notices: Vec<String>,
}

/// Scans local files and packs the changed ones; None if a file changed
/// meanwhile.
fn prepare_push(
    roots: &[SyncRoot],
    mut known: KnownFiles,
) -> Result<Option<PreparedPush>, ToolError> {
    let (mut changes, mut news) = (Vec::new(), Vec::new());
    for root in roots {
        let Some(entries) = snapshot::scan(&root.local)? else {
            news.push(format!("{} does not exist here, so it was not sent.", root.local.display()));
            continue;
        };
        let here: BTreeMap<Vec<u8>, LocalEntry> =
            entries.into_iter().map(|entry| (root.remote_name(&entry.relative), entry)).collect();
        let is_gone = |(name, file): &(&Vec<u8>, &SyncedFile)| {
            contains_name(root, name)
                && file.local.starts_with(&root.local)
                && !here.contains_key(*name)
        };
        // Reversed: the contents of a directory are removed before it.
        changes.extend(known.iter().rev().filter(is_gone).map(|(name, file)| RemoteChange {
            name: name.clone(),
            expected: file.remote_sum,
            action: if file.stamp.is_directory() {
                ChangeAction::RemoveDir
            } else {
                ChangeAction::Remove
            },
        }));
        for (name, entry) in here {
            let before = known.get(&name).filter(|file| file.local == entry.path);
            if before.is_some_and(|file| file.stamp == entry.stamp) {
                continue;
            }
            let Some(sum) = entry.checksum()? else { return Ok(None) };
            let is_same =
                before.is_some_and(|file| file.sum == sum && file.stamp.mode == entry.stamp.mode);
            if is_same {
                known.entry(name).and_modify(|file| file.stamp = entry.stamp.clone());
                continue;
            }
            let expected = before.and_then(|file| file.remote_sum);
            changes.push(RemoteChange { name, expected, action: ChangeAction::Put(entry, sum) });
        }
    }
    let archive = match changes.is_empty() {
        true => None,
        false => match pack::pack(&changes)? {
            Some(archive) => Some(archive),
            None => return Ok(None),
        },
    };
    Ok(Some(PreparedPush { known, changes, archive, notices: news }))
}

fn contains_name(root: &SyncRoot, name: &[u8]) -> bool {
    let rest = name.strip_prefix(root.remote.as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || root.remote == "/")
}

/// Sends the changes; returns the indexes of those that the host refused.
async fn send_changes(
    connection: &SshClient,
    socket: Option<&Path>,
    archive: std::fs::File,
    changes: &[RemoteChange],
) -> Result<Vec<usize>, ToolError> {
    let done = stream::upload(connection, socket, pack::RECEIVE_SCRIPT, archive).await?;
    let said = after_words(&done.output, pack::BEGIN_MARKER).unwrap_or_default();
    if done.exit != ProcessExit::Code(0) || !said.ends_with(DONE_MARKER) {
        return Err(ToolError::unavailable(format!(
            "ssh: cannot send files to {}: {}",
            connection.host(),
            done.errors.trim()
        ))
        .with_hint("Check terminal.sync, and that the host has free space and `tar`."));
    }
    let refused = String::from_utf8_lossy(said);
    let refused = refused.lines().filter_map(|line| line.strip_prefix("refused ")?.parse().ok());
    Ok(refused.filter(|at| *at < changes.len()).collect())
}

/// Records applied changes, and returns notices about refused ones.
fn record_changes(
    known: &mut KnownFiles,
    changes: &[RemoteChange],
    refused: &[usize],
    host: &str,
) -> Vec<String> {
    let mut news = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        let is_refused = refused.contains(&at);
        let name = String::from_utf8_lossy(&change.name);
        match &change.action {
            ChangeAction::Remove | ChangeAction::RemoveDir => {
                known.remove(&change.name);
                if is_refused {
                    news.push(format!(
                        "{name} was deleted here but changed on {host}; it is kept there."
                    ));
                }
            }
            ChangeAction::Put(entry, sum) => {
                let there = if is_refused { change.expected } else { Some(*sum) };
                let (local, stamp) = (entry.path.clone(), entry.stamp.clone());
                let file = SyncedFile { local, stamp, sum: *sum, remote_sum: there };
                known.insert(change.name.clone(), file);
                if is_refused {
                    news.push(format!(
                        "{name} was also changed on {host}, so it was not overwritten with the \
                         local version."
                    ));
                }
            }
        }
    }
    news
}

impl LocalEntry {
    /// Returns the checksum; None if the file changed meanwhile.
    fn checksum(&self) -> Result<Option<FileChecksum>, ToolError> {
        match &self.kind {
            EntryKind::Link(target) => Ok(Some(FileChecksum::from_bytes(target))),
            EntryKind::Directory => Ok(Some(FileChecksum::from_bytes(b""))),
            EntryKind::File => {
                let failed = |error| ToolError::io(self.path.display(), &error);
                let file = std::fs::File::open(&self.path).map_err(failed)?;
                let (sum, length) = FileChecksum::from_reader(file).map_err(failed)?;
                Ok((length == self.stamp.size).then_some(sum))
            }
        }
    }
}

#[cfg(test)]
#[path = "sync_tests.rs"]
mod tests;
