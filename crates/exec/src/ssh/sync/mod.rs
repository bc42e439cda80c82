//! Files that are the same here and there: the declared ones are sent before a
//! program runs and when they have changed, and what was declared so is
//! fetched when the place is closed.
//!
//! Nothing is overwritten that somebody else has changed: that is told, and
//! both sides are left as they are. What is known of either side changes only
//! after everything has gone well.

mod checksum;
mod fetch;
mod last;
mod pack;
mod snapshot;
mod stream;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_core::ToolError;

use super::connection::{Connection, after};
use super::settings::{Settings, Synced, expand};
use crate::backend::Exit;
use checksum::Sum;
use last::Last;
use snapshot::{Entry, Kind, Stamp};

/// A file that changes while it is read is read again so often.
const TRIES: usize = 3;
/// What the script there says when it is done.
const DONE: &[u8] = b"hermes-synced\n";

/// What is kept the same, and what is known of it.
#[derive(Debug)]
pub(super) struct Sync {
    sent: Vec<Root>,
    fetched: Vec<Root>,
    most: u64,
    known: Known,
    /// What the last program has fetched.
    last: Last,
    /// When it was first opened.
    opened: Option<SystemTime>,
}

/// A file or folder that is here and there.
#[derive(Debug, Clone)]
struct Root {
    local: PathBuf,
    remote: String,
}

/// What is known, by name there.
type Known = BTreeMap<Vec<u8>, File>;

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct File {
    /// Its name here.
    local: PathBuf,
    /// As it was here when it was looked at.
    stamp: Stamp,
    /// What it held here then; the target of a link.
    sum: Sum,
    /// What it is known to hold there.
    there: Option<Sum>,
}

impl File {
    /// A folder that is here and there.
    fn folder(local: PathBuf) -> Self {
        let sum = Sum::of(b"");
        Self { local, stamp: Stamp::folder(), sum, there: Some(sum) }
    }
}

/// What has to be done there.
#[derive(Debug, PartialEq, Eq)]
struct Change {
    name: Vec<u8>,
    /// What is expected there; none if nothing is known.
    expected: Option<Sum>,
    what: What,
}

#[derive(Debug, PartialEq, Eq)]
enum What {
    Put(Entry, Sum),
    Remove,
    /// If there is nothing in it.
    RemoveFolder,
}

impl Sync {
    pub(super) fn new(settings: &Settings) -> Self {
        let roots = |all: &[Synced]| all.iter().map(Root::of).collect();
        Self {
            sent: roots(&settings.sync),
            fetched: roots(&settings.sync_back),
            most: settings.most,
            known: Known::new(),
            last: Last::of(settings),
            opened: None,
        }
    }

    /// Sends what has changed. What could not be sent without harm is told.
    pub(super) async fn push(
        &mut self,
        connection: &Connection,
        socket: Option<&Path>,
    ) -> Result<Vec<String>, ToolError> {
        self.opened.get_or_insert_with(SystemTime::now);
        if self.sent.is_empty() {
            return Ok(Vec::new());
        }
        for _ in 0..TRIES {
            let (roots, known) = (self.sent.clone(), self.known.clone());
            let prepared = tokio::task::spawn_blocking(move || prepare(&roots, known)).await;
            let prepared = prepared.map_err(|error| ToolError::internal(error.to_string()))?;
            let Some(prepared) = prepared? else { continue };
            let Prepared { mut known, changes, archive, mut news } = prepared;
            if let Some(archive) = archive {
                let refused = send(connection, socket, archive, &changes).await?;
                news.extend(note(&mut known, &changes, &refused, connection.host()));
            }
            self.known = known;
            return Ok(news);
        }
        Err(ToolError::conflict("ssh: a file that is to be sent changes all the time")
            .with_hint("Wait until it is written, or leave it out of terminal.sync."))
    }

    /// Fetches what has changed there. What could not be fetched is told.
    pub(super) async fn pull(
        &mut self,
        connection: &Connection,
        socket: Option<&Path>,
    ) -> Vec<String> {
        let mut news = Vec::new();
        let opened = self.opened.unwrap_or_else(SystemTime::now);
        for root in self.fetched.clone() {
            let known =
                fetch::Before { known: self.known.clone(), last: self.last.read(&root), opened };
            match fetch::fetch(connection, socket, &root, self.most, known).await {
                Ok(fetched) => {
                    self.known.extend(fetched.known);
                    self.last.write(&root, &fetched.seen);
                    news.extend(fetched.news);
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

impl Root {
    fn of(synced: &Synced) -> Self {
        // One spelling for what is meant in the home.
        let remote = synced.remote.trim_end_matches('/');
        let remote = match remote.chars().next() {
            None if synced.remote.is_empty() => "~".to_owned(),
            None => "/".to_owned(),
            Some('/' | '~') => remote.to_owned(),
            Some(_) => format!("~/{remote}"),
        };
        Self { local: expand(&synced.local), remote }
    }

    /// The name there of something in it.
    fn name(&self, relative: &[u8]) -> Vec<u8> {
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

struct Prepared {
    /// What will be known if all goes well.
    known: Known,
    changes: Vec<Change>,
    archive: Option<std::fs::File>,
    news: Vec<String>,
}

/// Looks at what is here and packs what has changed; none if it changed
/// meanwhile.
fn prepare(roots: &[Root], mut known: Known) -> Result<Option<Prepared>, ToolError> {
    let (mut changes, mut news) = (Vec::new(), Vec::new());
    for root in roots {
        let Some(entries) = snapshot::take(&root.local)? else {
            news.push(format!("{} is not here, so it was not sent.", root.local.display()));
            continue;
        };
        let here: BTreeMap<Vec<u8>, Entry> =
            entries.into_iter().map(|entry| (root.name(&entry.relative), entry)).collect();
        let is_gone = |(name, file): &(&Vec<u8>, &File)| {
            is_in(root, name) && file.local.starts_with(&root.local) && !here.contains_key(*name)
        };
        // What is in a folder goes before it.
        changes.extend(known.iter().rev().filter(is_gone).map(|(name, file)| Change {
            name: name.clone(),
            expected: file.there,
            what: if file.stamp.is_folder() { What::RemoveFolder } else { What::Remove },
        }));
        for (name, entry) in here {
            let before = known.get(&name).filter(|file| file.local == entry.path);
            if before.is_some_and(|file| file.stamp == entry.stamp) {
                continue;
            }
            let Some(sum) = entry.sum()? else { return Ok(None) };
            let is_same =
                before.is_some_and(|file| file.sum == sum && file.stamp.mode == entry.stamp.mode);
            if is_same {
                known.entry(name).and_modify(|file| file.stamp = entry.stamp.clone());
                continue;
            }
            let expected = before.and_then(|file| file.there);
            changes.push(Change { name, expected, what: What::Put(entry, sum) });
        }
    }
    let archive = match changes.is_empty() {
        true => None,
        false => match pack::pack(&changes)? {
            Some(archive) => Some(archive),
            None => return Ok(None),
        },
    };
    Ok(Some(Prepared { known, changes, archive, news }))
}

fn is_in(root: &Root, name: &[u8]) -> bool {
    let rest = name.strip_prefix(root.remote.as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || root.remote == "/")
}

/// Sends the changes; which of them were refused there.
async fn send(
    connection: &Connection,
    socket: Option<&Path>,
    archive: std::fs::File,
    changes: &[Change],
) -> Result<Vec<usize>, ToolError> {
    let done = stream::upload(connection, socket, pack::RECEIVER, archive).await?;
    let said = after(&done.output, pack::BEGIN).unwrap_or_default();
    if done.exit != Exit::Code(0) || !said.ends_with(DONE) {
        return Err(ToolError::unavailable(format!(
            "ssh: the files to be sent to {} did not get there: {}",
            connection.host(),
            done.errors.trim()
        ))
        .with_hint("Check terminal.sync, and that there is room and a `tar` on the host."));
    }
    let refused = String::from_utf8_lossy(said);
    let refused = refused.lines().filter_map(|line| line.strip_prefix("refused ")?.parse().ok());
    Ok(refused.filter(|at| *at < changes.len()).collect())
}

/// Writes down what has been done, and says what has not.
fn note(known: &mut Known, changes: &[Change], refused: &[usize], host: &str) -> Vec<String> {
    let mut news = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        let is_refused = refused.contains(&at);
        let name = String::from_utf8_lossy(&change.name);
        match &change.what {
            What::Remove | What::RemoveFolder => {
                known.remove(&change.name);
                if is_refused {
                    news.push(format!(
                        "{name} is gone here but was changed on {host}; it stays there."
                    ));
                }
            }
            What::Put(entry, sum) => {
                let there = if is_refused { change.expected } else { Some(*sum) };
                let (local, stamp) = (entry.path.clone(), entry.stamp.clone());
                let file = File { local, stamp, sum: *sum, there };
                known.insert(change.name.clone(), file);
                if is_refused {
                    news.push(format!(
                        "{name} was changed on {host} as well, so it was not overwritten with the one here."
                    ));
                }
            }
        }
    }
    news
}

impl Entry {
    /// What it holds; none if it changed meanwhile.
    fn sum(&self) -> Result<Option<Sum>, ToolError> {
        match &self.kind {
            Kind::Link(target) => Ok(Some(Sum::of(target))),
            Kind::Folder => Ok(Some(Sum::of(b""))),
            Kind::File => {
                let failed = |error| ToolError::io(self.path.display(), &error);
                let file = std::fs::File::open(&self.path).map_err(failed)?;
                let (sum, length) = Sum::read(file).map_err(failed)?;
                Ok((length == self.stamp.size).then_some(sum))
            }
        }
    }
}

#[cfg(test)]
#[path = "sync_tests.rs"]
mod tests;
