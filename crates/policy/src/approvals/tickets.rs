//! Permission for exactly one call, given while nobody could be asked: the
//! call leaves a ticket, somebody approves it, the same call uses it up.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_core::CallProposal;
use hermes_store::atomic::write_atomic;
use hermes_store::regular_file;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How long a ticket waits for somebody, and how long it then holds.
const PENDING_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
const GRANT_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// How many tickets are kept; the oldest go first.
const MAX_TICKETS: usize = 500;

/// How long a ticket's name is.
const TOKEN_CHARS: usize = 16;

/// A question that nobody was there to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalTicket {
    /// Its name, short enough to be typed.
    pub token: String,
    /// The whole fingerprint of the call, which nobody can find another call for.
    pub call: String,
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
pub struct TicketStore {
    directory: PathBuf,
}

impl TicketStore {
    /// Tickets in that folder, which is made when it is first needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { directory: folder.into() }
    }

    fn path(&self, token: &str) -> Option<PathBuf> {
        let is_token = token.len() == TOKEN_CHARS && token.bytes().all(|b| b.is_ascii_hexdigit());
        is_token.then(|| self.directory.join(format!("{token}.json")))
    }

    /// The short name for a call.
    pub fn token(call: &str) -> String {
        call.chars().take(TOKEN_CHARS).collect()
    }

    /// Leaves a ticket. The same call gets the same one again.
    pub fn issue(&self, ticket: ApprovalTicket) -> Option<String> {
        let path = self.path(&ticket.token)?;
        // Who reads of one call must not approve another of the same short name.
        if self.read(&path).is_some_and(|other| other.call != ticket.call && !is_expired(&other)) {
            return None;
        }
        create_private_dir(&self.directory).ok()?;
        self.prune();
        let bytes = serde_json::to_vec_pretty(&ticket).ok()?;
        write_atomic(&path, &bytes, 0o600).ok()?;
        Some(ticket.token)
    }

    /// The tickets that wait or hold, oldest first.
    pub fn list(&self) -> Vec<ApprovalTicket> {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let read = |entry: std::fs::DirEntry| self.read(&entry.path());
        let mut list: Vec<ApprovalTicket> =
            entries.filter_map(read).filter(|t| !is_expired(t)).collect();
        list.sort_by(|a, b| (a.asked_ms, &a.token).cmp(&(b.asked_ms, &b.token)));
        list
    }

    fn read(&self, path: &Path) -> Option<ApprovalTicket> {
        let ticket: ApprovalTicket =
            serde_json::from_slice(&regular_file::read(path).ok()?).ok()?;
        // A file that was renamed is not the ticket of its new name.
        let is_its_own = self.path(&ticket.token).is_some_and(|own| own == path);
        is_its_own.then_some(ticket)
    }

    /// Approves a ticket.
    pub fn grant(&self, token: &str) -> Result<ApprovalTicket, TicketError> {
        let unknown = || TicketError::Unknown(token.to_owned());
        let path = self.path(token).ok_or_else(unknown)?;
        let ticket = self.read(&path).filter(|ticket| !is_expired(ticket));
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

    /// Uses up the ticket of a call, if it was approved. Of several that try
    /// at once, one succeeds.
    pub fn redeem(&self, call: &str) -> bool {
        let Some(path) = self.path(&Self::token(call)) else { return false };
        let holds = |ticket: &ApprovalTicket| {
            ticket.call == call && ticket.granted_ms.is_some() && !is_expired(ticket)
        };
        if !self.read(&path).is_some_and(|ticket| holds(&ticket)) {
            return false;
        }
        // Taken first and looked at again, so that it is this very ticket that
        // is used up, and not one that was left meanwhile.
        let taken = path.with_extension(format!("{}-{}", std::process::id(), unique_number()));
        if std::fs::rename(&path, &taken).is_err() {
            return false;
        }
        let found = regular_file::read(&taken).ok();
        let found = found.and_then(|bytes| serde_json::from_slice::<ApprovalTicket>(&bytes).ok());
        if found.is_some_and(|ticket| holds(&ticket)) {
            return std::fs::remove_file(&taken).is_ok();
        }
        let _ = std::fs::rename(&taken, &path);
        false
    }

    /// Removes what is over, and the oldest beyond what is kept.
    fn prune(&self) {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut found: Vec<(u64, PathBuf)> = Vec::new();
        for path in entries.map(|entry| entry.path()) {
            // Others may be writing: what is not yet a ticket is theirs.
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            if stem.and_then(|stem| self.path(&stem)).is_none_or(|own| own != path) {
                continue;
            }
            match self.read(&path) {
                Some(ticket) if !is_expired(&ticket) => found.push((ticket.asked_ms, path)),
                _ => {
                    let _ = std::fs::remove_file(path);
                }
            }
        }
        found.sort();
        let surplus = found.len().saturating_sub(MAX_TICKETS);
        for (_, path) in found.into_iter().take(surplus) {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn create_private_dir(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn unique_number() -> u64 {
    static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);
    NEXT_NUMBER.fetch_add(1, Ordering::Relaxed)
}

fn is_expired(ticket: &ApprovalTicket) -> bool {
    let (since, time) = match ticket.granted_ms {
        Some(granted) => (granted, GRANT_LIFETIME),
        None => (ticket.asked_ms, PENDING_LIFETIME),
    };
    // One from the future is as wrong as one from long ago.
    Duration::from_millis(now_ms().abs_diff(since)) > time
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// What makes a call this call: profile, tool, arguments, where it is made
/// and what it touches.
pub(crate) fn call_fingerprint(
    profile: &str,
    proposal: &CallProposal<'_>,
    touched: &[PathBuf],
) -> String {
    let touched: Vec<_> = touched.iter().map(|path| path.to_string_lossy()).collect();
    let call = serde_json::json!([
        profile,
        proposal.tool,
        sort_keys(proposal.arguments),
        proposal.working_dir.cwd().to_string_lossy(),
        touched,
    ]);
    blake3::hash(call.to_string().as_bytes()).to_hex().to_string()
}

/// The same value with its keys in one order.
fn sort_keys(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            let entries = entries.into_iter().map(|(key, value)| (key.clone(), sort_keys(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(sort_keys).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
#[path = "tickets_tests.rs"]
mod tests;
