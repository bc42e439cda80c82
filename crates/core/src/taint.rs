//! Taint: what untrusted text a session has read. Policies may be stricter
//! once such text could have steered the model.

use serde::{Deserialize, Serialize};

use crate::{Session, SessionError};

/// The session document that holds the taint.
pub(crate) const TAINT_DOCUMENT: &str = "taint";

/// Maximum number of sources, and of findings, that are recorded.
const MAX_TAINT_ENTRIES: usize = 50;

/// Where a session's untrusted text came from, and which hosts it has contacted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    /// The tools that returned untrusted text, oldest first.
    #[serde(default)]
    pub sources: Vec<String>,
    /// What scanning that text found.
    #[serde(default)]
    pub findings: Vec<String>,
    /// `scope host` of every allowed call to a host.
    #[serde(default)]
    pub hosts: Vec<String>,
}

impl Taint {
    /// Reads the taint of a session.
    pub fn read(session: &Session) -> Result<Self, SessionError> {
        session.without_grants().read(TAINT_DOCUMENT)
    }

    /// Whether the session has read any untrusted text.
    pub fn is_tainted(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Records that a tool returned untrusted text.
    pub fn record_source(
        session: &Session,
        source: &str,
        findings: &[String],
    ) -> Result<(), SessionError> {
        session.without_grants().update(TAINT_DOCUMENT, |taint: &mut Self| {
            push_unique(&mut taint.sources, source);
            for finding in findings {
                push_unique(&mut taint.findings, finding);
            }
        })
    }

    /// Records that a call to a host was allowed.
    pub fn record_host(session: &Session, scope: &str, host: &str) -> Result<(), SessionError> {
        let entry = format!("{scope} {host}");
        if Self::read(session)?.hosts.contains(&entry) {
            return Ok(());
        }
        session.without_grants().update(TAINT_DOCUMENT, |taint: &mut Self| {
            if !taint.hosts.contains(&entry) {
                taint.hosts.push(entry);
            }
        })
    }
}

fn push_unique(list: &mut Vec<String>, text: &str) {
    if list.len() < MAX_TAINT_ENTRIES && !list.iter().any(|known| known == text) {
        list.push(text.to_owned());
    }
}
