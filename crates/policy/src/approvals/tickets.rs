//! Approval of exactly one call, given after no approver was available: the
//! call leaves a ticket, the user approves it, and the same call redeems it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_core::CallProposal;
use hermes_core::clock::unix_millis;
use hermes_store::atomic::write_atomic;
use hermes_store::regular_file;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How long a ticket waits for approval, and how long an approval is valid.
const PENDING_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
const GRANT_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// Maximum number of tickets; the oldest are removed first.
const MAX_TICKETS: usize = 500;

/// Length of a ticket's token.
const TOKEN_CHARS: usize = 16;

/// A question for which no approver was available.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalTicket {
    /// Short name of the ticket, to be typed.
    pub token: String,
    /// The full fingerprint of the call, which is collision-resistant.
    pub call: String,
    /// Tool of the call.
    pub tool: String,
    /// Effects of the call, one line each.
    pub effects: Vec<String>,
    /// Why the call requires approval.
    pub reason: String,
    /// Profile that requires approval.
    pub profile: String,
    /// Working directory of the call.
    pub folder: String,
    /// Time of the question.
    pub asked_ms: u64,
    /// Time of the approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted_ms: Option<u64>,
}

/// Why a ticket could not be approved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// The ticket does not exist.
    #[error("no open question '{0}'; it may have been used, or be older than a day")]
    Unknown(String),
    /// The file could not be read or written.
    #[error("{0}")]
    Io(String),
}

/// The tickets, one file each.
#[derive(Debug, Clone)]
pub struct TicketStore {
    directory: PathBuf,
}

impl TicketStore {
    /// Creates a store in this directory, which is created on first use.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { directory: folder.into() }
    }

    fn path(&self, token: &str) -> Option<PathBuf> {
        let is_token = token.len() == TOKEN_CHARS && token.bytes().all(|b| b.is_ascii_hexdigit());
        is_token.then(|| self.directory.join(format!("{token}.json")))
    }

    /// Returns the token of a call.
    pub fn token(call: &str) -> String {
        call.chars().take(TOKEN_CHARS).collect()
    }

    /// Issues a ticket and returns its token. The same call gets the same
    /// token.
    pub fn issue(&self, ticket: ApprovalTicket) -> Option<String> {
        let path = self.path(&ticket.token)?;
        // An approval must not apply to another call with the same token.
        if self.read(&path).is_some_and(|other| other.call != ticket.call && !is_expired(&other)) {
            return None;
        }
        create_private_dir(&self.directory).ok()?;
        self.prune();
        let bytes = serde_json::to_vec_pretty(&ticket).ok()?;
        write_atomic(&path, &bytes, 0o600).ok()?;
        Some(ticket.token)
    }

    /// Returns the pending and approved tickets, oldest first.
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
        // A renamed file is not a valid ticket.
        let is_its_own = self.path(&ticket.token).is_some_and(|own| own == path);
        is_its_own.then_some(ticket)
    }

    /// Approves a ticket.
    pub fn grant(&self, token: &str) -> Result<ApprovalTicket, TicketError> {
        let unknown = || TicketError::Unknown(token.to_owned());
        let path = self.path(token).ok_or_else(unknown)?;
        let ticket = self.read(&path).filter(|ticket| !is_expired(ticket));
        let mut ticket = ticket.ok_or_else(unknown)?;
        ticket.granted_ms = Some(unix_millis());
        let io = |error: &dyn std::fmt::Display| {
            TicketError::Io(format!("cannot write {}: {error}", path.display()))
        };
        let bytes = serde_json::to_vec_pretty(&ticket).map_err(|e| io(&e))?;
        write_atomic(&path, &bytes, 0o600).map_err(|e| io(&e))?;
        Ok(ticket)
    }

    /// Removes a ticket without redeeming it; returns whether it existed.
    pub fn discard(&self, token: &str) -> bool {
        self.path(token).is_some_and(|path| std::fs::remove_file(path).is_ok())
    }

    /// Redeems the ticket of a call, if it was approved. Of several concurrent
    /// attempts, one succeeds.
    pub fn redeem(&self, call: &str) -> bool {
        let Some(path) = self.path(&Self::token(call)) else { return false };
        let holds = |ticket: &ApprovalTicket| {
            ticket.call == call && ticket.granted_ms.is_some() && !is_expired(ticket)
        };
        if !self.read(&path).is_some_and(|ticket| holds(&ticket)) {
            return false;
        }
        // Rename first and check again, so the ticket that was checked is
        // redeemed and not one issued in the meantime.
        let taken = path.with_extension(hermes_core::ids::unique_id());
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

    /// Removes expired tickets, and the oldest beyond the limit.
    fn prune(&self) {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut found: Vec<(u64, PathBuf)> = Vec::new();
        for path in entries.map(|entry| entry.path()) {
            // Other processes may be writing: skip files without a ticket's
            // name.
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

fn is_expired(ticket: &ApprovalTicket) -> bool {
    let (since, time) = match ticket.granted_ms {
        Some(granted) => (granted, GRANT_LIFETIME),
        None => (ticket.asked_ms, PENDING_LIFETIME),
    };
    // A timestamp in the future is as invalid as one long ago.
    Duration::from_millis(unix_millis().abs_diff(since)) > time
}

/// Returns the hash that identifies a call: profile, tool, arguments, working
/// directory and touched paths.
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

/// Returns the same value with sorted keys.
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
