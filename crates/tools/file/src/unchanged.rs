//! Tracks the pages that a caller has been shown, to answer a repeated read
//! with a short note.

use std::collections::BTreeMap;
use std::path::Path;

use hermes_core::ToolContext;
use hermes_files::FileAccess;
use serde::{Deserialize, Serialize};

use crate::shards::{shard, shards};

/// The session document with the read history, stored in shards.
const READS_DOCUMENT: &str = "reads";
/// The session document that counts context resets.
const CONTEXT_DOCUMENT: &str = "context";
/// Maximum reads per task, and tasks per shard.
const MAX_READS_PER_TASK: usize = 32;
const MAX_TASKS_PER_SHARD: usize = 64;

/// Message for a repeated read.
pub(crate) const UNCHANGED_MESSAGE: &str = "Unchanged since you read it: the content of the \
                                  earlier read_file result is still current. Pass fresh=true \
                                  to see it again.";

/// Its generation grows when earlier results leave the context.
#[derive(Debug, Default, Deserialize)]
struct ContextMark {
    #[serde(default)]
    generation: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct ReadHistory {
    #[serde(default)]
    clock: u64,
    #[serde(default)]
    tasks: BTreeMap<String, TaskReads>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct TaskReads {
    generation: u64,
    touched: u64,
    /// Oldest first.
    reads: Vec<ReadRecord>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ReadRecord {
    what: String,
    version: String,
    /// Whether the last result was `unchanged`.
    told: bool,
    /// Hash of the page that was shown.
    #[serde(default)]
    page: String,
}

/// The page that a read would show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShownPage<'a> {
    /// The requested part of the file.
    pub(crate) what: &'a str,
    /// Version of the file.
    pub(crate) version: &'a str,
    /// The numbered lines.
    pub(crate) content: &'a str,
}

/// Whether the caller's last such read showed exactly this page. Returns false
/// if that read was already answered with `unchanged`: a caller that insists
/// gets the content. Nested calls never repeat: a script has not seen earlier
/// results, and its caller sees none of its reads.
pub(crate) fn is_repeat(
    cx: &ToolContext,
    path: &Path,
    page: ShownPage<'_>,
    is_fresh: bool,
) -> bool {
    if cx.is_nested {
        return false;
    }
    let ShownPage { what, version, content } = page;
    let real = FileAccess::new(cx).real_path(path);
    let path = real.as_deref().unwrap_or(path);
    let mut key = blake3::Hasher::new();
    key.update(path.as_os_str().as_encoded_bytes()).update(b"\0").update(what.as_bytes());
    let what = short_hex(&key.finalize());
    let page = digest(content);
    let generation =
        cx.session.read(CONTEXT_DOCUMENT).map_or(0, |mark: ContextMark| mark.generation);
    let noted = cx.session.update(&shard(READS_DOCUMENT, &what), |reads: &mut ReadHistory| {
        let repeat = reads.task(&cx.task_id, generation).record_read(what, version, page, is_fresh);
        reads.forget_old_tasks();
        repeat
    });
    // If the history cannot be saved, show the content.
    noted.unwrap_or(false)
}

/// Whether a text is a page that any task of the session was shown.
pub(crate) fn was_shown(cx: &ToolContext, text: &str) -> bool {
    let page = digest(text);
    let has_page = |shard: String| {
        let reads: ReadHistory = cx.session.read(&shard).unwrap_or_default();
        reads.tasks.values().flat_map(|task| &task.reads).any(|read| read.page == page)
    };
    shards(READS_DOCUMENT).any(has_page)
}

/// Hash of a page, independent of line endings.
fn digest(page: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    for line in hermes_text::lines(page.trim_end()) {
        hasher.update(line.trim_end().as_bytes()).update(b"\n");
    }
    short_hex(&hasher.finalize())
}

fn short_hex(hash: &blake3::Hash) -> String {
    hash.to_hex().chars().take(24).collect()
}

impl ReadHistory {
    fn task(&mut self, task_id: &str, generation: u64) -> &mut TaskReads {
        self.clock += 1;
        let task = self.tasks.entry(task_id.to_owned()).or_default();
        if task.generation != generation {
            task.reads.clear();
        }
        (task.generation, task.touched) = (generation, self.clock);
        task
    }

    fn forget_old_tasks(&mut self) {
        if self.tasks.len() > MAX_TASKS_PER_SHARD {
            let oldest = self.tasks.iter().min_by_key(|(_, task)| task.touched);
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                self.tasks.remove(&oldest);
            }
        }
    }
}

impl TaskReads {
    fn record_read(&mut self, what: String, version: &str, page: String, is_fresh: bool) -> bool {
        let known = self.reads.iter().position(|read| read.what == what);
        let last = known.map(|at| self.reads.remove(at));
        let is_same = last.is_some_and(|last| last.version == version && !last.told);
        let shown = is_same && !is_fresh;
        self.reads.push(ReadRecord { what, version: version.to_owned(), told: shown, page });
        if self.reads.len() > MAX_READS_PER_TASK {
            self.reads.remove(0);
        }
        shown
    }
}

#[cfg(test)]
#[path = "unchanged_tests.rs"]
mod tests;
