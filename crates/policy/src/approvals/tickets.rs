//! Permission for exactly one call, given while nobody could be asked: the
//! call leaves a ticket, somebody approves it, the same call uses it up.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_core::Proposal;
use hermes_store::atomic::write_atomic;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How long a ticket waits for somebody, and how long it then holds.
const WAITS: Duration = Duration::from_secs(24 * 60 * 60);
const HOLDS: Duration = Duration::from_secs(60 * 60);

/// How many tickets are kept; the oldest go first.
const KEPT: usize = 500;

/// A question that nobody was there to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// Its name.
    pub token: String,
    /// The tool.
    pub tool: String,
    /// What the call would do, one line each.
    pub effects: Vec<String>,
    /// Why it must be asked.
    pub reason: String,
    /// The profile that asks.
    pub profile: String,
    /// Where the call would happen.
    pub folder: String,
    /// When it was asked.
    pub asked_ms: u64,
    /// When it was approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted_ms: Option<u64>,
}

/// Why a ticket could not be approved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// No such ticket.
    #[error("There is no open question '{0}'; it may have been used, or be older than a day")]
    Unknown(String),
    /// The file could not be read or written.
    #[error("{0}")]
    Io(String),
}

/// The tickets, a file each.
#[derive(Debug, Clone)]
pub struct Tickets {
    folder: PathBuf,
}

impl Tickets {
    /// Tickets in that folder, which is made when it is first needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn path(&self, token: &str) -> Option<PathBuf> {
        let is_token = token.len() == 16 && token.bytes().all(|b| b.is_ascii_hexdigit());
        is_token.then(|| self.folder.join(format!("{token}.json")))
    }

    /// Leaves a ticket. The same call gets the same one again.
    pub fn issue(&self, ticket: Ticket) -> Option<String> {
        let path = self.path(&ticket.token)?;
        make_folder(&self.folder).ok()?;
        self.prune();
        let bytes = serde_json::to_vec_pretty(&ticket).ok()?;
        write_atomic(&path, &bytes, 0o600).ok()?;
        Some(ticket.token)
    }

    /// The tickets that wait or hold, oldest first.
    pub fn list(&self) -> Vec<Ticket> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let read = |entry: std::fs::DirEntry| self.read(&entry.path());
        let mut list: Vec<Ticket> = entries.filter_map(read).filter(|t| !is_over(t)).collect();
        list.sort_by(|a, b| (a.asked_ms, &a.token).cmp(&(b.asked_ms, &b.token)));
        list
    }

    fn read(&self, path: &Path) -> Option<Ticket> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    /// Approves a ticket.
    pub fn grant(&self, token: &str) -> Result<Ticket, TicketError> {
        let unknown = || TicketError::Unknown(token.to_owned());
        let path = self.path(token).ok_or_else(unknown)?;
        let ticket = self.read(&path).filter(|ticket| !is_over(ticket));
        let mut ticket = ticket.ok_or_else(unknown)?;
        ticket.granted_ms = Some(now_ms());
        let io = |error: &dyn std::fmt::Display| {
            TicketError::Io(format!("{} cannot be written: {error}", path.display()))
        };
        let bytes = serde_json::to_vec_pretty(&ticket).map_err(|e| io(&e))?;
        write_atomic(&path, &bytes, 0o600).map_err(|e| io(&e))?;
        Ok(ticket)
    }

    /// Takes a ticket away without using it; whether it was there.
    pub fn discard(&self, token: &str) -> bool {
        self.path(token).is_some_and(|path| std::fs::remove_file(path).is_ok())
    }

    /// Uses up the ticket of that name, if it was approved. Of several that
    /// try at once, one succeeds.
    pub fn redeem(&self, token: &str) -> bool {
        let Some(path) = self.path(token) else { return false };
        let granted =
            self.read(&path).is_some_and(|ticket| ticket.granted_ms.is_some() && !is_over(&ticket));
        granted && std::fs::remove_file(&path).is_ok()
    }

    /// Removes what is over, and the oldest beyond what is kept.
    fn prune(&self) {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut found: Vec<(u64, PathBuf)> = Vec::new();
        for path in entries.map(|entry| entry.path()) {
            match self.read(&path) {
                Some(ticket) if !is_over(&ticket) => found.push((ticket.asked_ms, path)),
                _ => {
                    let _ = std::fs::remove_file(path);
                }
            }
        }
        found.sort();
        let surplus = found.len().saturating_sub(KEPT);
        for (_, path) in found.into_iter().take(surplus) {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn make_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn is_over(ticket: &Ticket) -> bool {
    let (since, time) = match ticket.granted_ms {
        Some(granted) => (granted, HOLDS),
        None => (ticket.asked_ms, WAITS),
    };
    Duration::from_millis(now_ms().saturating_sub(since)) > time
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// What makes a call this call: profile, tool, arguments, place.
pub(crate) fn fingerprint(profile: &str, proposal: &Proposal<'_>) -> String {
    let call = serde_json::json!([
        profile,
        proposal.tool,
        sorted(proposal.arguments),
        proposal.workplace.cwd().to_string_lossy(),
    ]);
    blake3::hash(call.to_string().as_bytes()).to_hex().chars().take(16).collect()
}

/// The same value with its keys in one order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            let entries = entries.into_iter().map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
#[path = "tickets_tests.rs"]
mod tests;
