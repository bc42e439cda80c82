//! A batch from its beginning, or from where it was left, to its end.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_core::CancellationToken;
use hermes_engine::distributions::ToolsetDistribution;
use serde::Serialize;
use serde_json::json;
use tokio::task::JoinSet;

use crate::BatchError;
use crate::batch_dir::{BatchDir, BatchPlan};
use crate::completed::{CompletedPrompts, ExcludedConversation};
use crate::prompt::{BatchPrompt, PromptFile};
use crate::row::TrajectoryRow;
use crate::worker::{ConversationWorker, RecordedConversation, WorkerError};

/// What is to be done.
#[derive(Debug, Clone)]
pub struct BatchJob {
    /// The prompts.
    pub prompts: PromptFile,
    /// Where the output goes.
    pub output: PathBuf,
    /// How it is begun.
    pub plan: BatchPlan,
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
pub struct BatchProgress {
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
pub struct BatchSummary {
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
    pub left_out_why: Vec<ExcludedConversation>,
    /// Whether it was stopped.
    pub stopped: bool,
}

type PromptOutcome = (BatchPrompt, Vec<String>, Result<RecordedConversation, WorkerError>);

/// Runs a batch. `watch` is told of every step.
///
/// # Errors
/// When the folder cannot be used, or no toolset can be drawn.
pub async fn run(
    batch: BatchJob,
    worker: Arc<dyn ConversationWorker>,
    cancel: &CancellationToken,
    watch: &(dyn Fn(BatchProgress) + Sync),
) -> Result<BatchSummary, BatchError> {
    batch.draw_toolsets(0)?;
    let folder = BatchDir::open(&batch.output, &batch.plan, batch.resume)?;
    let done = CompletedPrompts::read(&folder, &batch.prompts)?;
    folder.remove("failures.jsonl")?;
    let mut progress = BatchProgress {
        total: batch.prompts.prompts.len(),
        done: done.count(),
        failed: 0,
        running: 0,
    };
    let before = progress.done;
    let mut waiting = batch.prompts.prompts.iter().filter(|prompt| !done.is_done(prompt.index));
    let mut running: JoinSet<PromptOutcome> = JoinSet::new();
    loop {
        while running.len() < batch.workers.max(1) && !cancel.is_cancelled() {
            let Some(prompt) = waiting.next() else { break };
            let toolsets = batch.draw_toolsets(prompt.index)?;
            let (worker, prompt) = (Arc::clone(&worker), prompt.clone());
            running.spawn(run_prompt(worker, prompt, toolsets));
        }
        progress.running = running.len();
        watch(progress);
        let Some(ended) = running.join_next().await else { break };
        match ended {
            Ok((prompt, toolsets, Ok(conversation))) => {
                batch.append_row(&folder, &prompt, toolsets, conversation)?;
                progress.done += 1;
            }
            Ok((_, _, Err(WorkerError::Stopped))) => {}
            Ok((prompt, _, Err(WorkerError::Error(error)))) => {
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
    batch.finish(&folder, before, progress, stopped)
}

/// Has one conversation; a worker that crashes harms nobody else.
async fn run_prompt(
    worker: Arc<dyn ConversationWorker>,
    prompt: BatchPrompt,
    toolsets: Vec<String>,
) -> PromptOutcome {
    let (task, names) = (prompt.clone(), toolsets.clone());
    let work = tokio::spawn(async move { worker.run(&task, &names).await });
    let ended = work.await.unwrap_or_else(|e| Err(WorkerError::Error(format!("It crashed: {e}"))));
    (prompt, toolsets, ended)
}

impl BatchJob {
    /// The toolsets of a prompt: the same for the same seed, whichever prompts
    /// came before.
    fn draw_toolsets(&self, index: usize) -> Result<Vec<String>, BatchError> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.plan.seed.to_le_bytes());
        hasher.update(&(index as u64).to_le_bytes());
        let mut seed = [0; 8];
        hasher.finalize_xof().fill(&mut seed);
        let valid = |name: &str| self.toolsets.iter().any(|known| known == name);
        self.distribution
            .sample(u64::from_le_bytes(seed), valid)
            .map_err(|e| BatchError::NoToolset(e.to_string()))
    }

    fn append_row(
        &self,
        folder: &BatchDir,
        prompt: &BatchPrompt,
        toolsets: Vec<String>,
        conversation: RecordedConversation,
    ) -> Result<(), BatchError> {
        let number = prompt.index / self.plan.batch_size.max(1);
        let row = TrajectoryRow::new(prompt, number, toolsets, conversation, &self.tools);
        folder.append(&format!("batch_{number}.jsonl"), &row)
    }

    /// The whole file, the sums, and how it ended. Everything is read anew:
    /// what counts is what is on the disk.
    fn finish(
        &self,
        folder: &BatchDir,
        before: usize,
        progress: BatchProgress,
        stopped: bool,
    ) -> Result<BatchSummary, BatchError> {
        let done = CompletedPrompts::read(folder, &self.prompts)?;
        let sums = done.combine(folder, &self.tools, self.needs_reasoning)?;
        let summary = BatchSummary {
            prompts: progress.total,
            done_before: before,
            done: done.count(),
            failed: progress.failed,
            bad_lines: self.prompts.bad.len(),
            strange: done.unmatched,
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
