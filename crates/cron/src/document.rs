//! The jobs file. Entries that cannot be parsed are preserved.

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::job::CronJob;
use crate::{CronError, stamp};

/// The content of the jobs file.
#[derive(Debug, Default)]
pub(crate) struct JobsDocument {
    entries: Vec<DocumentEntry>,
    /// Top-level fields besides the list of jobs.
    rest: Map<String, Value>,
}

#[derive(Debug)]
enum DocumentEntry {
    Job(Box<CronJob>),
    /// An entry that is not a valid job; it is preserved.
    Unknown(Value),
}

impl JobsDocument {
    /// Parses the file; a bare list is accepted.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, CronError> {
        let damaged = |reason: String| CronError::Damaged { path: path.to_owned(), reason };
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let value: Value = serde_json::from_str(text).map_err(|e| damaged(e.to_string()))?;
        let (list, rest) = match value {
            Value::Array(list) => (list, Map::new()),
            Value::Object(mut rest) => match rest.remove("jobs") {
                Some(Value::Array(list)) => (list, rest),
                None => (Vec::new(), rest),
                Some(_) => return Err(damaged("'jobs' is not a list".into())),
            },
            _ => return Err(damaged("neither an object nor a list".into())),
        };
        let entries = list.into_iter().map(|item| {
            match serde_json::from_value::<Box<CronJob>>(item.clone()) {
                Ok(job) if has_safe_ids(&job) => DocumentEntry::Job(job),
                _ => DocumentEntry::Unknown(item),
            }
        });
        Ok(Self { entries: entries.collect(), rest })
    }

    /// Serializes the file.
    pub(crate) fn to_json(&self, now: Timestamp) -> Result<Vec<u8>, serde_json::Error> {
        let mut all = Map::new();
        let list = self.entries.iter().map(|entry| match entry {
            DocumentEntry::Job(job) => serde_json::to_value(job),
            DocumentEntry::Unknown(value) => Ok(value.clone()),
        });
        all.insert("jobs".into(), Value::Array(list.collect::<Result<_, _>>()?));
        all.extend(self.rest.clone());
        all.insert("updated_at".into(), stamp::format_time(now).into());
        let mut text = serde_json::to_vec_pretty(&all)?;
        text.push(b'\n');
        Ok(text)
    }

    pub(crate) fn jobs(&self) -> impl Iterator<Item = &CronJob> {
        self.entries.iter().filter_map(|entry| match entry {
            DocumentEntry::Job(job) => Some(&**job),
            DocumentEntry::Unknown(_) => None,
        })
    }

    pub(crate) fn jobs_mut(&mut self) -> impl Iterator<Item = &mut CronJob> {
        self.entries.iter_mut().filter_map(|entry| match entry {
            DocumentEntry::Job(job) => Some(&mut **job),
            DocumentEntry::Unknown(_) => None,
        })
    }

    /// Returns the number of entries that cannot be parsed.
    pub(crate) fn unknown_count(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry, DocumentEntry::Unknown(_))).count()
    }

    pub(crate) fn push(&mut self, job: CronJob) {
        self.entries.push(DocumentEntry::Job(Box::new(job)));
    }

    /// Removes a job.
    pub(crate) fn remove(&mut self, id: &str) {
        self.entries.retain(|entry| !matches!(entry, DocumentEntry::Job(job) if job.id == id));
    }

    pub(crate) fn get(&self, id: &str) -> Option<&CronJob> {
        self.jobs().find(|job| job.id == id)
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut CronJob> {
        self.jobs_mut().find(|job| job.id == id)
    }

    /// Returns the unfinished job with this name (ignoring case) other than
    /// `except`.
    pub(crate) fn find_by_name(&self, name: &str, except: &str) -> Option<&CronJob> {
        let lower = name.to_lowercase();
        self.jobs()
            .find(|job| job.id != except && !job.is_finished() && job.name.to_lowercase() == lower)
    }

    /// Resolves an id or a name (ignoring case) to a job id. Unfinished jobs
    /// take precedence over finished ones of the same name.
    pub(crate) fn resolve_id(&self, wanted: &str) -> Result<String, CronError> {
        let wanted = wanted.trim();
        if let Some(job) = self.get(wanted) {
            return Ok(job.id.clone());
        }
        let lower = wanted.to_lowercase();
        let named = self.jobs().filter(|job| !lower.is_empty() && job.name.to_lowercase() == lower);
        let named: Vec<&CronJob> = named.collect();
        let is_any_left = named.iter().any(|job| !job.is_finished());
        let meant = named.iter().filter(|job| !is_any_left || !job.is_finished());
        let mut ids: Vec<String> = meant.map(|job| job.id.clone()).collect();
        match (ids.len(), ids.pop()) {
            (1, Some(id)) => Ok(id),
            (_, None) => Err(CronError::NotFound(wanted.to_owned())),
            (_, Some(last)) => {
                ids.push(last);
                Err(CronError::Ambiguous { wanted: wanted.to_owned(), matches: ids })
            }
        }
    }
}

fn has_safe_ids(job: &CronJob) -> bool {
    is_safe_id(&job.id) && job.held.as_ref().is_none_or(|held| is_safe_id(&held.run))
}

/// Whether an id is safe as a file name.
fn is_safe_id(id: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !id.is_empty() && id.len() <= 128 && id.chars().all(fits)
}
