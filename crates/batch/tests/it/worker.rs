//! A worker whose conversations follow from the prompt, and the folder that it
//! works for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_batch::{
    BatchError, BatchJob, BatchPlan, BatchPrompt, BatchSummary, ConversationWorker, PromptFile,
    RecordedConversation, WorkerError, run,
};
use hermes_core::{BoxFuture, CancellationToken};
use hermes_engine::distributions::ToolsetDistribution;
use hermes_llm::{ChatMessage, ModelReply, RequestedCall, ToolCallAnswer};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Answers everything; prompts that say so go wrong.
#[derive(Default)]
pub(crate) struct Parrot {
    /// What was asked of it, in order.
    pub(crate) asked: Mutex<Vec<usize>>,
    /// Stops the batch after so many.
    pub(crate) stop: Option<(usize, CancellationToken)>,
    /// Whether what went wrong goes well now.
    pub(crate) mended: bool,
}

impl ConversationWorker for Parrot {
    fn run<'a>(
        &'a self,
        prompt: &'a BatchPrompt,
        toolsets: &'a [String],
    ) -> BoxFuture<'a, Result<RecordedConversation, WorkerError>> {
        let count = {
            let mut asked = self.asked.lock();
            asked.push(prompt.index);
            asked.len()
        };
        Box::pin(async move {
            // Others get their turn, so that the order of endings varies.
            for _ in 0..prompt.index % 3 {
                tokio::task::yield_now().await;
            }
            if let Some((most, token)) = &self.stop
                && count >= *most
            {
                token.cancel();
            }
            match prompt.text.as_str() {
                "panic" if !self.mended => panic!("as it was told"),
                "fail" if !self.mended => Err(WorkerError::Error("the model is gone".into())),
                text => Ok(talk(text, toolsets)),
            }
        })
    }
}

fn talk(text: &str, toolsets: &[String]) -> RecordedConversation {
    let call = RequestedCall { id: "c1".into(), name: "read_file".into(), arguments: "{}".into() };
    let answer = ToolCallAnswer {
        call_id: "c1".into(),
        name: "read_file".into(),
        content: json!({ "tools": toolsets }).to_string(),
        images: Vec::new(),
        is_error: text.contains("missing"),
        is_cancelled: false,
    };
    let think = if text.contains("think") { "<think>Hm.</think>" } else { "" };
    RecordedConversation {
        tools: vec![json!({"name": "read_file", "parameters": {}})],
        messages: vec![
            ChatMessage::user(text),
            ChatMessage::Assistant(ModelReply { calls: vec![call], ..ModelReply::default() }),
            ChatMessage::Tool(answer),
            ChatMessage::Assistant(ModelReply {
                text: format!("{think}I heard: {text}"),
                ..ModelReply::default()
            }),
        ],
        completed: !text.contains("partial"),
        api_calls: 2,
        model: "parrot".into(),
        ..RecordedConversation::default()
    }
}

/// A folder for a batch.
pub(crate) struct Place {
    pub(crate) home: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn output(&self) -> PathBuf {
        self.home.path().join("out")
    }

    pub(crate) fn batch(&self, lines: &str) -> BatchJob {
        let distribution = ToolsetDistribution::parse("web=50,file=50,terminal=50").unwrap();
        BatchJob {
            prompts: PromptFile::read(lines.as_bytes()).unwrap(),
            output: self.output(),
            plan: BatchPlan {
                seed: 7,
                distribution: distribution.description.clone(),
                model: None,
                max_turns: Some(10),
                batch_size: 4,
            },
            resume: false,
            workers: 3,
            distribution,
            toolsets: ["web", "file", "terminal"].map(str::to_owned).into(),
            tools: ["read_file", "terminal"].map(str::to_owned).into(),
            needs_reasoning: false,
        }
    }

    /// Every file, for those who want to break something.
    pub(crate) fn batches(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(self.output())
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("batch_"))
            .collect();
        files.sort();
        files
    }

    pub(crate) fn rows(&self, name: &str) -> Vec<Value> {
        rows(&self.output().join(name))
    }
}

/// The lines of a file, without when they were written.
pub(crate) fn rows(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let read = |line: &str| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        if let Some(metadata) = row.get_mut("metadata") {
            metadata["timestamp"] = Value::Null;
        }
        row
    };
    text.lines().map(read).collect()
}

pub(crate) fn prompts(count: usize) -> String {
    (0..count).map(|n| json!({ "prompt": format!("prompt {n}") }).to_string() + "\n").collect()
}

/// Runs a batch to its end.
pub(crate) fn work(batch: BatchJob, parrot: &Arc<Parrot>) -> Result<BatchSummary, BatchError> {
    let token = parrot.stop.as_ref().map(|(_, token)| token.clone()).unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let parrot = Arc::clone(parrot) as Arc<dyn ConversationWorker>;
    runtime.block_on(run(batch, parrot, &token, &|_| {}))
}

/// How often each prompt was asked.
pub(crate) fn asked(parrot: &Parrot) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    for index in parrot.asked.lock().iter() {
        *counts.entry(*index).or_default() += 1;
    }
    counts
}
