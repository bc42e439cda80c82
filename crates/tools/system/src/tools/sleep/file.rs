//! Polls a file on the backend where commands run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hermes_core::{Effect, ErrorKind, JsonSchema, Scope, ToolContext, ToolError};
use hermes_exec::{JobRegistry, file_transfer};
use hermes_files::FileAccess;
use serde::Deserialize;

use super::{WakeCause, WakeEvent};
use crate::blocking::blocking;

/// Awaited state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum FileState {
    #[default]
    Exists,
    Gone,
    Changed,
}

#[derive(Debug)]
pub(super) struct FileWatch {
    /// The path as the caller wrote it.
    name: String,
    path: PathBuf,
    wanted: FileState,
    initial: Option<WatchedStamp>,
    is_there: bool,
    /// Registry of the backend that holds the file; none if the file is local.
    remote_jobs: Option<Arc<JobRegistry>>,
}

/// Attributes that distinguish two states of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WatchedStamp {
    modified: Option<SystemTime>,
    bytes: u64,
}

impl FileWatch {
    pub(super) async fn start(
        name: &str,
        wanted: FileState,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let path = cx.working_dir.resolve(name);
        let elsewhere = crate::remote::remote_jobs(cx);
        let mut watch = Self {
            name: name.to_owned(),
            path,
            wanted,
            initial: None,
            is_there: false,
            remote_jobs: elsewhere,
        };
        watch.initial = watch.read_stamp(cx).await?;
        watch.is_there = watch.initial.is_some();
        Ok(watch)
    }

    /// Whether each check is a round trip to a remote backend.
    pub(super) fn is_remote(&self) -> bool {
        self.remote_jobs.is_some()
    }

    pub(super) async fn poll(&mut self, cx: &ToolContext) -> Result<Option<WakeEvent>, ToolError> {
        let now = self.read_stamp(cx).await?;
        self.is_there = now.is_some();
        let happened = match (self.wanted, &self.initial, &now) {
            (FileState::Exists, Some(_), Some(_)) => "exists",
            (FileState::Exists | FileState::Changed, None, Some(_)) => "appeared",
            (FileState::Gone, None, None) => "does not exist",
            (FileState::Gone | FileState::Changed, Some(_), None) => "was removed",
            (FileState::Changed, Some(before), Some(after)) if before != after => "changed",
            _ => return Ok(None),
        };
        Ok(Some(WakeEvent::new(WakeCause::File, format!("{} {happened}", self.name))))
    }

    pub(super) fn status_text(&self) -> String {
        let state = match (self.wanted, self.is_there) {
            (_, false) => "is missing",
            (FileState::Changed, true) => "is unchanged",
            (_, true) => "still exists",
        };
        format!("{} {state}", self.name)
    }

    async fn read_stamp(&self, cx: &ToolContext) -> Result<Option<WatchedStamp>, ToolError> {
        match &self.remote_jobs {
            None => local_stamp(&self.path, cx).await,
            Some(jobs) => {
                let effect = Effect::path(Scope::FILE_READ, &*self.path);
                cx.check_grant(&effect.scope, &effect.resource)?;
                let found = cx
                    .run_until_cancelled(file_transfer::metadata(jobs.backend(), &self.path))
                    .await??;
                Ok(found.map(|facts| {
                    let since = Duration::from_secs(facts.modified.unsigned_abs());
                    WatchedStamp {
                        modified: SystemTime::UNIX_EPOCH.checked_add(since),
                        bytes: facts.size,
                    }
                }))
            }
        }
    }
}

async fn local_stamp(path: &Path, cx: &ToolContext) -> Result<Option<WatchedStamp>, ToolError> {
    let (owned, own) = (path.to_owned(), cx.clone());
    let found = blocking(cx, move || {
        let files = FileAccess::new(&own);
        if files.exists(&owned)? { files.metadata(&owned).map(Some) } else { Ok(None) }
    });
    match found.await? {
        Ok(found) => Ok(found.map(|f| WatchedStamp { modified: f.modified, bytes: f.len })),
        // The file was removed between the two checks.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
