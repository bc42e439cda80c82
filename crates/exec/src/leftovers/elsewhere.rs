//! Jobs that a crashed program has left in another place. Nobody here sees
//! their processes, so they are asked for there, by their marks.

use std::time::{Duration, SystemTime};

use hermes_core::ToolError;

use super::{DAY, Entry, Leftovers};
use crate::backend::Backend;
use crate::elsewhere::mark_of;
use crate::errand::Errand;
use crate::order::{Input, Order, Output};
use crate::ssh::marked;
use crate::tree;

/// How long what is left has to go by itself.
const GRACE: Duration = Duration::from_secs(1);
/// How long the place has to do it.
const LIMIT: Duration = Duration::from_secs(30);

impl Leftovers {
    /// The jobs in this place, by its whereabouts, whose owner is gone.
    pub fn adrift(&self, place: &str) -> Vec<Entry> {
        let mut entries = self.read();
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
    pub fn astray(&self) -> Vec<Entry> {
        let notes = self.notes().into_iter().filter(|note| !note.missed);
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
    pub async fn end_adrift(&self, backend: &dyn Backend, word: &str) -> Result<usize, ToolError> {
        self.end_there(self.adrift(&backend.whereabouts()), backend, word).await
    }

    /// Ends these in the place that they are in, and says how many processes
    /// there were.
    ///
    /// # Errors
    /// If the place cannot be reached.
    pub async fn end_there(
        &self,
        entries: Vec<Entry>,
        backend: &dyn Backend,
        word: &str,
    ) -> Result<usize, ToolError> {
        if entries.is_empty() {
            return Ok(0);
        }
        let place = backend.open().await?;
        let marks: Vec<String> = entries.iter().map(|it| mark_of(&it.id)).collect();
        let order = Order {
            program: "sh".into(),
            arguments: vec!["-c".into(), marked::ending(&marks, GRACE).into()],
            environment: place.environment.clone(),
            directory: "/".into(),
            input: Input::Nothing,
            output: Output::Apart,
            confinement: None,
        };
        let done = Errand { order, limit: LIMIT, most: 1 << 16 }.run(backend, word).await?;
        let said = String::from_utf8_lossy(&done.output);
        let ended: usize = said.trim().parse().unwrap_or_default();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        for entry in entries {
            // A container may have the name of another one: one in which there
            // was nothing may be the wrong one.
            if done.is_well()
                && (ended > 0 || now.as_secs().saturating_sub(entry.at) > DAY.as_secs())
            {
                let _ = self.forget(&entry.id);
            } else if done.is_well() {
                let _ = self.note(&entry, true);
            }
        }
        Ok(ended)
    }
}
