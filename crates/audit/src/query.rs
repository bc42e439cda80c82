//! Searches entries, newest first.

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::chain::LogLine;
use crate::error::LogError;
use crate::log_files;
use crate::reverse_lines::ReverseLineReader;

/// One entry of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    /// Sequence number.
    pub seq: u64,
    /// When the entry was appended.
    pub time: Timestamp,
    /// The entry's own fields.
    pub fields: Map<String, Value>,
    /// The whole line.
    pub line: String,
}

impl AuditEntry {
    /// Parses a line. Returns `None` for lines that are not entries;
    /// [`crate::verify`] reports those. If the fields cannot be parsed, for
    /// example because they are nested too deeply, the entry has none of them.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let parsed = LogLine::parse(line)?;
        let text = [b"{", parsed.fields, b"}"].concat();
        Some(Self {
            seq: parsed.seq,
            time: parsed.time.parse().ok()?,
            fields: serde_json::from_slice(&text)
                .unwrap_or_else(|_| Map::from_iter([("event".to_owned(), "unreadable".into())])),
            line: std::str::from_utf8(line).ok()?.to_owned(),
        })
    }

    /// Returns a string field.
    pub fn text_field(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }

    /// Returns scope and resource of every effect.
    pub fn effects(&self) -> impl Iterator<Item = (&str, &str)> {
        let effects = self.fields.get("effects").and_then(Value::as_array);
        effects.into_iter().flatten().map(|effect| {
            let part = |name: &str| effect.get(name).and_then(Value::as_str).unwrap_or_default();
            (part("scope"), part("resource"))
        })
    }
}

/// Filter for entries; all given conditions must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Entries at or after this time.
    pub since: Option<Timestamp>,
    /// Entries before this time.
    pub until: Option<Timestamp>,
    /// Calls of this tool.
    pub tool: Option<String>,
    /// Calls of this session.
    pub session: Option<String>,
    /// The call with this id.
    pub call: Option<String>,
    /// Calls with this status.
    pub status: Option<String>,
    /// Calls with this verdict.
    pub verdict: Option<String>,
    /// Calls with an effect of this scope.
    pub scope: Option<String>,
    /// Calls with an effect whose resource contains this text and, if `scope`
    /// is given, has that scope.
    pub resource: Option<String>,
    /// Entries that contain this text anywhere, ignoring case.
    pub text: Option<String>,
}

impl AuditQuery {
    /// Whether the entry matches.
    pub fn matches(&self, entry: &AuditEntry) -> bool {
        self.is_in_range(entry.time)
            && self.exact_fields().all(|(field, wanted)| entry.text_field(field) == Some(wanted))
            && self.matches_effect(entry)
            && self.text.as_deref().is_none_or(|text| contains_text(entry, &text.to_lowercase()))
    }

    fn is_in_range(&self, time: Timestamp) -> bool {
        self.since.is_none_or(|since| time >= since) && self.until.is_none_or(|until| time < until)
    }

    fn exact_fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [
            ("tool", &self.tool),
            ("session", &self.session),
            ("call", &self.call),
            ("status", &self.status),
            ("verdict", &self.verdict),
        ]
        .into_iter()
        .filter_map(|(field, wanted)| Some((field, wanted.as_deref()?)))
    }

    fn matches_effect(&self, entry: &AuditEntry) -> bool {
        if self.scope.is_none() && self.resource.is_none() {
            return true;
        }
        entry.effects().any(|(scope, resource)| {
            self.scope.as_deref().is_none_or(|wanted| scope == wanted)
                && self.resource.as_deref().is_none_or(|wanted| resource.contains(wanted))
        })
    }

    /// Cheap pre-filter: whether a line may match. Parsing every line as JSON
    /// would take ten times as long.
    fn may_match(&self, line: &[u8]) -> bool {
        let Some(parsed) = LogLine::parse(line) else { return false };
        if self.since.is_some() || self.until.is_some() {
            let time = parsed.time.parse();
            if !time.is_ok_and(|time| self.is_in_range(time)) {
                return false;
            }
        }
        let Ok(text) = std::str::from_utf8(parsed.fields) else { return false };
        // JSON writes these characters unescaped.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
        self.exact_fields().all(|(_, wanted)| !wanted.chars().all(plain) || text.contains(wanted))
    }
}

/// Whether the written line or one of its strings contains `needle`.
fn contains_text(entry: &AuditEntry, needle: &str) -> bool {
    if entry.line.to_lowercase().contains(needle) {
        return true;
    }
    let mut open: Vec<&Value> = entry.fields.values().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if text.to_lowercase().contains(needle) => return true,
            Value::Array(values) => open.extend(values),
            Value::Object(fields) => open.extend(fields.values()),
            _ => {}
        }
    }
    false
}

/// Returns the newest matching entries, at most `limit`, newest first. Empty if
/// the directory contains no log.
pub fn query(dir: &Path, query: &AuditQuery, limit: usize) -> Result<Vec<AuditEntry>, LogError> {
    let mut found: Vec<AuditEntry> = Vec::new();
    let current = dir.join(log_files::CURRENT_FILE);
    let mut open = log_files::open_if_exists(&current)?;
    // List after opening the current file: a file rotated in between is then
    // read twice rather than missed.
    let mut older = log_files::rotated_files(dir)?;
    let mut path = current;
    loop {
        if let Some(file) = open {
            let len = file.metadata().map_err(LogError::io("read", &path))?.len();
            let mut lines = ReverseLineReader::new(file, len);
            while found.len() < limit {
                let Ok(Some(line)) = lines.next() else { break };
                let old = found.last().map_or(u64::MAX, |entry| entry.seq);
                if query.may_match(&line)
                    && let Some(entry) = AuditEntry::parse(&line)
                    && entry.seq < old
                    && query.matches(&entry)
                {
                    found.push(entry);
                }
            }
        }
        let Some(next) = older.pop().filter(|_| found.len() < limit) else { return Ok(found) };
        path = next.path;
        open = log_files::open_if_exists(&path)?;
    }
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
