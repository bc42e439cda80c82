//! Jobs that a crashed program has left in another place. Nobody here sees
//! their processes, so they are asked for there, by their marks.

use std::time::{Duration, SystemTime};

use hermes_core::ToolError;

use super::{JobRecord, JobRecords, ONE_DAY};
use crate::backend::ExecBackend;
use crate::captured_command::CapturedCommand;
use crate::command_spec::{CommandSpec, StdinSource, StdioMode};
use crate::remote::job_mark;
use crate::ssh::marked_processes;
use crate::tree;

/// How long what is left has to go by itself.
const KILL_GRACE: Duration = Duration::from_secs(1);
/// How long the place has to do it.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);

impl JobRecords {
    /// The jobs in this place, by its whereabouts, whose owner is gone.
    pub fn remote_orphans_at(&self, place: &str) -> Vec<JobRecord> {
        let mut entries = self.read_records();
        entries.retain(|it| {
            it.elsewhere.as_deref() == Some(place)
                && !it.detached
                && !tree::is_alive(it.owner_pid, it.owner_started)
        });
        entries
    }

    /// The jobs in any other place whose owner is gone, the oldest first. Nobody
    /// here can tell whether they still run; those that were looked for and not
    /// found are not among them.
    pub fn remote_orphans(&self) -> Vec<JobRecord> {
        let notes = self.read_files().into_iter().filter(|note| !note.missed);
        let entries = notes.map(|note| note.entry).filter(|it| {
            it.elsewhere.is_some()
                && !it.detached
                && !tree::is_alive(it.owner_pid, it.owner_started)
        });
        entries.collect()
    }

    /// Ends them there, and says how many processes there were.
    ///
    /// # Errors
    /// If the place cannot be reached.
    pub async fn reap_remote_orphans(
        &self,
        backend: &dyn ExecBackend,
        word: &str,
    ) -> Result<usize, ToolError> {
        self.terminate_remote(self.remote_orphans_at(&backend.location()), backend, word).await
    }

    /// Ends these in the place that they are in, and says how many processes
    /// there were.
    ///
    /// # Errors
    /// If the place cannot be reached.
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
        let order = CommandSpec {
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
        let done =
            CapturedCommand { spec: order, timeout: KILL_TIMEOUT, max_output_bytes: 1 << 16 }
                .run(backend, word)
                .await?;
        let said = String::from_utf8_lossy(&done.output);
        let ended: usize = said.trim().parse().unwrap_or_default();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        for entry in entries {
            // A container may have the name of another one: one in which there
            // was nothing may be the wrong one.
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
