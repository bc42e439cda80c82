//! A batch from its beginning, or from where it was left, to its end.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_core::CancellationToken;
use hermes_engine::distributions::ToolsetDistribution;
use serde::Serialize;
use serde_json::json;
use tokio::task::JoinSet;

use crate::BatchError;
use crate::done::{Done, LeftOut};
use crate::folder::{Folder, Plan};
use crate::prompt::{Prompt, Prompts};
use crate::row::Row;
use crate::worker::{Conversation, Failed, Worker};

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The prompts.
    pub prompts: Prompts,
    /// Where the output goes.
    pub output: PathBuf,
    /// How it is begun.
    pub plan: Plan,
    /// Whether to go on with what is in the folder.
    pub resume: bool,
    /// How many conversations at once.
    pub workers: usize,
    /// The chances of the toolsets.
    pub distribution: ToolsetDistribution,
    /// The toolsets that can be drawn.
    pub toolsets: Vec<String>,
    /// Every tool that there is.
    pub tools: Vec<String>,
    /// Whether conversations without thoughts are left out of the whole.
    pub needs_reasoning: bool,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// How many prompts there are.
    pub total: usize,
    /// How many are done, with those of earlier.
    pub done: usize,
    /// How many have failed this time.
    pub failed: usize,
    /// How many are being worked on.
    pub running: usize,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// How many prompts there are.
    pub prompts: usize,
    /// How many were done before.
    pub done_before: usize,
    /// How many are done now, with those.
    pub done: usize,
    /// How many have failed; they are tried again when the batch is resumed.
    pub failed: usize,
    /// How many lines were no prompts.
    pub bad_lines: usize,
    /// How many lines of the output are about other prompts.
    pub strange: usize,
    /// How many conversations the whole file has.
    pub trajectories: usize,
    /// How many are left out of it.
    pub left_out: usize,
    /// Which, and why.
    pub left_out_why: Vec<LeftOut>,
    /// Whether it was stopped.
    pub stopped: bool,
}

type Ended = (Prompt, Vec<String>, Result<Conversation, Failed>);

/// Runs a batch. `watch` is told of every step.
///
/// # Errors
/// When the folder cannot be used, or no toolset can be drawn.
pub async fn run(
    batch: Batch,
    worker: Arc<dyn Worker>,
    cancel: &CancellationToken,
    watch: &(dyn Fn(Progress) + Sync),
) -> Result<Summary, BatchError> {
    batch.draw(0)?;
    let folder = Folder::open(&batch.output, &batch.plan, batch.resume)?;
    let done = Done::read(&folder, &batch.prompts)?;
    folder.remove("failures.jsonl")?;
    let mut progress =
        Progress { total: batch.prompts.prompts.len(), done: done.count(), failed: 0, running: 0 };
    let before = progress.done;
    let mut waiting = batch.prompts.prompts.iter().filter(|prompt| !done.has(prompt.index));
    let mut running: JoinSet<Ended> = JoinSet::new();
    loop {
        while running.len() < batch.workers.max(1) && !cancel.is_cancelled() {
            let Some(prompt) = waiting.next() else { break };
            let toolsets = batch.draw(prompt.index)?;
            let (worker, prompt) = (Arc::clone(&worker), prompt.clone());
            running.spawn(attend(worker, prompt, toolsets));
        }
        progress.running = running.len();
        watch(progress);
        let Some(ended) = running.join_next().await else { break };
        match ended {
            Ok((prompt, toolsets, Ok(conversation))) => {
                batch.keep(&folder, &prompt, toolsets, conversation)?;
                progress.done += 1;
            }
            Ok((_, _, Err(Failed::Stopped))) => {}
            Ok((prompt, _, Err(Failed::Error(error)))) => {
                let line = json!({
                    "prompt_index": prompt.index, "prompt_hash": prompt.hash, "error": error,
                });
                folder.append("failures.jsonl", &line)?;
                progress.failed += 1;
            }
            // Its own panic is caught where it is; this one is ours.
            Err(_) => progress.failed += 1,
        }
    }
    let stopped = cancel.is_cancelled();
    batch.conclude(&folder, before, progress, stopped)
}

/// Has one conversation; a worker that crashes harms nobody else.
async fn attend(worker: Arc<dyn Worker>, prompt: Prompt, toolsets: Vec<String>) -> Ended {
    let (task, names) = (prompt.clone(), toolsets.clone());
    let work = tokio::spawn(async move { worker.run(&task, &names).await });
    let ended = work.await.unwrap_or_else(|e| Err(Failed::Error(format!("It crashed: {e}"))));
    (prompt, toolsets, ended)
}

impl Batch {
    /// The toolsets of a prompt: the same for the same seed, whichever prompts
    /// came before.
    fn draw(&self, index: usize) -> Result<Vec<String>, BatchError> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.plan.seed.to_le_bytes());
        hasher.update(&(index as u64).to_le_bytes());
        let mut seed = [0; 8];
        hasher.finalize_xof().fill(&mut seed);
        let valid = |name: &str| self.toolsets.iter().any(|known| known == name);
        self.distribution
            .sample(u64::from_le_bytes(seed), valid)
            .map_err(|e| BatchError::Tools(e.to_string()))
    }

    fn keep(
        &self,
        folder: &Folder,
        prompt: &Prompt,
        toolsets: Vec<String>,
        conversation: Conversation,
    ) -> Result<(), BatchError> {
        let number = prompt.index / self.plan.batch_size.max(1);
        let row = Row::new(prompt, number, toolsets, conversation, &self.tools);
        folder.append(&format!("batch_{number}.jsonl"), &row)
    }

    /// The whole file, the sums, and how it ended. Everything is read anew:
    /// what counts is what is on the disk.
    fn conclude(
        &self,
        folder: &Folder,
        before: usize,
        progress: Progress,
        stopped: bool,
    ) -> Result<Summary, BatchError> {
        let done = Done::read(folder, &self.prompts)?;
        let sums = done.combine(folder, &self.tools, self.needs_reasoning)?;
        let summary = Summary {
            prompts: progress.total,
            done_before: before,
            done: done.count(),
            failed: progress.failed,
            bad_lines: self.prompts.bad.len(),
            strange: done.strange,
            trajectories: sums.conversations,
            left_out: sums.left_out.len(),
            left_out_why: sums.left_out.clone(),
            stopped,
        };
        let statistics = json!({ "plan": self.plan, "summary": summary, "sums": sums });
        folder.write_json("statistics.json", &statistics)?;
        Ok(summary)
    }
}
