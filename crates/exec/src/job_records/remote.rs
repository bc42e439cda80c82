//! Jobs that a crashed process left on a remote backend. Their processes are
//! not visible from here, so a script on the backend finds them by their marks.

use std::time::{Duration, SystemTime};

use hermes_core::ToolError;

use super::{JobRecord, JobRecords, ONE_DAY};
use crate::backend::ExecBackend;
use crate::captured_command::CapturedCommand;
use crate::command_spec::{CommandSpec, StdinSource, StdioMode};
use crate::remote::job_mark;
use crate::ssh::marked_processes;
use crate::tree;

/// Time between SIGTERM and SIGKILL.
const KILL_GRACE: Duration = Duration::from_secs(1);
/// Timeout of the script.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);

impl JobRecords {
    /// Returns the jobs at this backend location whose owner has exited.
    pub fn remote_orphans_at(&self, place: &str) -> Vec<JobRecord> {
        let mut entries = self.read_records();
        entries.retain(|it| {
            it.elsewhere.as_deref() == Some(place)
                && !it.detached
                && !tree::is_alive(it.owner_pid, it.owner_started)
        });
        entries
    }

    /// Returns the jobs on all remote backends whose owner has exited, oldest
    /// first. Whether they still run is unknown; those already searched for
    /// without success are excluded.
    pub fn remote_orphans(&self) -> Vec<JobRecord> {
        let notes = self.read_files().into_iter().filter(|note| !note.missed);
        let entries = notes.map(|note| note.entry).filter(|it| {
            it.elsewhere.is_some()
                && !it.detached
                && !tree::is_alive(it.owner_pid, it.owner_started)
        });
        entries.collect()
    }

    /// Terminates the orphans on this backend; returns the number of processes.
    ///
    /// # Errors
    /// If the backend cannot be reached.
    pub async fn reap_remote_orphans(
        &self,
        backend: &dyn ExecBackend,
        word: &str,
    ) -> Result<usize, ToolError> {
        self.terminate_remote(self.remote_orphans_at(&backend.location()), backend, word).await
    }

    /// Terminates these jobs on their backend; returns the number of processes.
    ///
    /// # Errors
    /// If the backend cannot be reached.
    pub async fn terminate_remote(
        &self,
        entries: Vec<JobRecord>,
        backend: &dyn ExecBackend,
        word: &str,
    ) -> Result<usize, ToolError> {
        if entries.is_empty() {
            return Ok(0);
        }
        let place = backend.open().await?;
        let marks: Vec<String> = entries.iter().map(|it| job_mark(&it.id)).collect();
        let spec = CommandSpec {
            program: "sh".into(),
            arguments: vec![
                "-c".into(),
                marked_processes::terminate_script(&marks, KILL_GRACE).into(),
            ],
            environment: place.environment.clone(),
            directory: "/".into(),
            input: StdinSource::Empty,
            output: StdioMode::Separate,
            confinement: None,
        };
        let done = CapturedCommand { spec, timeout: KILL_TIMEOUT, max_output_bytes: 1 << 16 }
            .run(backend, word)
            .await?;
        let said = String::from_utf8_lossy(&done.output);
        let ended: usize = said.trim().parse().unwrap_or_default();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        for entry in entries {
            // If nothing was found, this may be another container with the same
            // name, so the record is kept for a day.
            if done.succeeded()
                && (ended > 0 || now.as_secs().saturating_sub(entry.at) > ONE_DAY.as_secs())
            {
                let _ = self.remove(&entry.id);
            } else if done.succeeded() {
                let _ = self.write_record(&entry, true);
            }
        }
        Ok(ended)
    }
}
