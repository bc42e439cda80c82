//! The file of the jobs, and what of it cannot be read here.

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::job::Job;
use crate::{CronError, stamp};

/// What the file holds.
#[derive(Debug, Default)]
pub(crate) struct Document {
    entries: Vec<Entry>,
    /// What stands beside the list.
    rest: Map<String, Value>,
}

#[derive(Debug)]
enum Entry {
    Job(Box<Job>),
    /// Something that is no job to us; it is kept.
    Other(Value),
}

impl Document {
    /// Reads the file; a bare list will do.
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
            _ => return Err(damaged("it is neither an object nor a list".into())),
        };
        let entries =
            list.into_iter().map(|item| match serde_json::from_value::<Box<Job>>(item.clone()) {
                Ok(job) if has_plain_ids(&job) => Entry::Job(job),
                _ => Entry::Other(item),
            });
        Ok(Self { entries: entries.collect(), rest })
    }

    /// The text of the file.
    pub(crate) fn text(&self, now: Timestamp) -> Result<Vec<u8>, serde_json::Error> {
        let mut all = Map::new();
        let list = self.entries.iter().map(|entry| match entry {
            Entry::Job(job) => serde_json::to_value(job),
            Entry::Other(value) => Ok(value.clone()),
        });
        all.insert("jobs".into(), Value::Array(list.collect::<Result<_, _>>()?));
        all.extend(self.rest.clone());
        all.insert("updated_at".into(), stamp::write(now).into());
        let mut text = serde_json::to_vec_pretty(&all)?;
        text.push(b'\n');
        Ok(text)
    }

    pub(crate) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Job(job) => Some(&**job),
            Entry::Other(_) => None,
        })
    }

    pub(crate) fn jobs_mut(&mut self) -> impl Iterator<Item = &mut Job> {
        self.entries.iter_mut().filter_map(|entry| match entry {
            Entry::Job(job) => Some(&mut **job),
            Entry::Other(_) => None,
        })
    }

    /// How many entries cannot be read.
    pub(crate) fn others(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry, Entry::Other(_))).count()
    }

    pub(crate) fn push(&mut self, job: Job) {
        self.entries.push(Entry::Job(Box::new(job)));
    }

    /// Takes a job out.
    pub(crate) fn remove(&mut self, id: &str) {
        self.entries.retain(|entry| !matches!(entry, Entry::Job(job) if job.id == id));
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Job> {
        self.jobs().find(|job| job.id == id)
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut Job> {
        self.jobs_mut().find(|job| job.id == id)
    }

    /// The job that has this name in any case and is not over, if one has that is
    /// not `except`.
    pub(crate) fn named(&self, name: &str, except: &str) -> Option<&Job> {
        let lower = name.to_lowercase();
        self.jobs()
            .find(|job| job.id != except && !job.is_over() && job.name.to_lowercase() == lower)
    }

    /// The id of the job that is meant: by its id, or by its name in any case. Of
    /// several with that name, one that is not over.
    pub(crate) fn find(&self, wanted: &str) -> Result<String, CronError> {
        let wanted = wanted.trim();
        if let Some(job) = self.get(wanted) {
            return Ok(job.id.clone());
        }
        let lower = wanted.to_lowercase();
        let named = self.jobs().filter(|job| !lower.is_empty() && job.name.to_lowercase() == lower);
        let named: Vec<&Job> = named.collect();
        let is_any_left = named.iter().any(|job| !job.is_over());
        let meant = named.iter().filter(|job| !is_any_left || !job.is_over());
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

fn has_plain_ids(job: &Job) -> bool {
    is_plain(&job.id) && job.held.as_ref().is_none_or(|held| is_plain(&held.run))
}

/// Ids become names of files.
fn is_plain(id: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !id.is_empty() && id.len() <= 128 && id.chars().all(fits)
}
