//! What a session has read from strangers. Policies may be stricter once
//! somebody else's text has had a chance to steer the model.

use serde::{Deserialize, Serialize};

use crate::{Session, SessionError};

/// The session's document.
pub(crate) const TAINT_DOCUMENT: &str = "taint";

/// How many sources and findings are kept.
const MAX_TAINT_ENTRIES: usize = 50;

/// Where a session's untrusted content came from, and whom it has spoken to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    /// The tools that brought it in, oldest first.
    #[serde(default)]
    pub sources: Vec<String>,
    /// What the scan of it found.
    #[serde(default)]
    pub findings: Vec<String>,
    /// `scope host` of every call to a host that was allowed.
    #[serde(default)]
    pub hosts: Vec<String>,
}

impl Taint {
    /// That of a session.
    pub fn read(session: &Session) -> Result<Self, SessionError> {
        session.without_grants().read(TAINT_DOCUMENT)
    }

    /// Whether anything untrusted was read.
    pub fn is_tainted(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Notes that a tool brought in text from outside.
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

    /// Notes that a call to a host was allowed.
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
