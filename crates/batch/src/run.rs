//! Runs a batch from the start or from where it was interrupted.

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

/// Description of a batch run.
#[derive(Debug, Clone)]
pub struct BatchJob {
    /// The prompts.
    pub prompts: PromptFile,
    /// Output directory.
    pub output: PathBuf,
    /// Parameters fixed at the start of the batch.
    pub plan: BatchPlan,
    /// Whether to resume the batch in the directory.
    pub resume: bool,
    /// Number of concurrent conversations.
    pub workers: usize,
    /// Probabilities of the toolsets.
    pub distribution: ToolsetDistribution,
    /// The available toolsets.
    pub toolsets: Vec<String>,
    /// The known tools.
    pub tools: Vec<String>,
    /// Whether conversations without reasoning are excluded from the combined
    /// file.
    pub needs_reasoning: bool,
}

/// Progress of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchProgress {
    /// Number of prompts.
    pub total: usize,
    /// Number of completed prompts, including earlier runs.
    pub done: usize,
    /// Number of failed prompts in this run.
    pub failed: usize,
    /// Number of prompts being processed.
    pub running: usize,
}

/// Outcome of a batch run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BatchSummary {
    /// Number of prompts.
    pub prompts: usize,
    /// Number of prompts completed by earlier runs.
    pub done_before: usize,
    /// Number of completed prompts, including earlier runs.
    pub done: usize,
    /// Number of failed prompts; resuming the batch retries them.
    pub failed: usize,
    /// Number of invalid lines in the prompt file.
    pub bad_lines: usize,
    /// Number of output lines that match no prompt.
    pub strange: usize,
    /// Number of conversations in the combined file.
    pub trajectories: usize,
    /// Number of conversations excluded from it.
    pub left_out: usize,
    /// The excluded conversations, with reasons.
    pub left_out_why: Vec<ExcludedConversation>,
    /// Whether the run was cancelled.
    pub stopped: bool,
}

type PromptOutcome = (BatchPrompt, Vec<String>, Result<RecordedConversation, WorkerError>);

/// Runs a batch. Calls `watch` on every change of progress.
///
/// # Errors
/// If the directory cannot be used, or no toolset can be drawn.
pub async fn run(
    batch: BatchJob,
    worker: Arc<dyn ConversationWorker>,
    cancel: &CancellationToken,
    watch: &(dyn Fn(BatchProgress) + Sync),
) -> Result<BatchSummary, BatchError> {
    batch.draw_toolsets(0)?;
    let dir = BatchDir::open(&batch.output, &batch.plan, batch.resume)?;
    let done = CompletedPrompts::read(&dir, &batch.prompts)?;
    dir.remove("failures.jsonl")?;
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
                batch.append_row(&dir, &prompt, toolsets, conversation)?;
                progress.done += 1;
            }
            Ok((_, _, Err(WorkerError::Stopped))) => {}
            Ok((prompt, _, Err(WorkerError::Error(error)))) => {
                let line = json!({
                    "prompt_index": prompt.index, "prompt_hash": prompt.hash, "error": error,
                });
                dir.append("failures.jsonl", &line)?;
                progress.failed += 1;
            }
            // `run_prompt` catches worker panics; this is a panic in
            // `run_prompt` itself.
            Err(_) => progress.failed += 1,
        }
    }
    let stopped = cancel.is_cancelled();
    batch.finish(&dir, before, progress, stopped)
}

/// Runs one conversation; a worker panic does not affect the others.
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
    /// Draws the toolsets of a prompt. They depend only on seed and index, not
    /// on earlier prompts.
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
        dir: &BatchDir,
        prompt: &BatchPrompt,
        toolsets: Vec<String>,
        conversation: RecordedConversation,
    ) -> Result<(), BatchError> {
        let number = prompt.index / self.plan.batch_size.max(1);
        let row = TrajectoryRow::new(prompt, number, toolsets, conversation, &self.tools);
        dir.append(&format!("batch_{number}.jsonl"), &row)
    }

    /// Writes the combined file and the totals, and returns the summary. Reads
    /// everything from disk again, because only what is on disk counts.
    fn finish(
        &self,
        dir: &BatchDir,
        before: usize,
        progress: BatchProgress,
        stopped: bool,
    ) -> Result<BatchSummary, BatchError> {
        let done = CompletedPrompts::read(dir, &self.prompts)?;
        let sums = done.combine(dir, &self.tools, self.needs_reasoning)?;
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
        dir.write_json("statistics.json", &statistics)?;
        Ok(summary)
    }
}
