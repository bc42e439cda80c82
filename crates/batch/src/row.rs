//! Output lines: a conversation with its statistics.

use std::collections::BTreeMap;

use hermes_llm::ChatMessage;
use serde::{Deserialize, Serialize};

use crate::prompt::BatchPrompt;
use crate::trajectory::{TrajectoryTurn, has_reasoning, is_failure, turns};
use crate::worker::RecordedConversation;

/// Call counts of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolStats {
    /// All calls.
    pub count: u64,
    /// Successful calls.
    pub success: u64,
    /// Failed calls.
    pub failure: u64,
}

/// A line of the output.
#[derive(Debug, Serialize)]
pub(crate) struct TrajectoryRow {
    prompt_index: usize,
    conversations: Vec<TrajectoryTurn>,
    metadata: RowMetadata,
    completed: bool,
    partial: bool,
    api_calls: u32,
    toolsets_used: Vec<String>,
    tool_stats: BTreeMap<String, ToolStats>,
    tool_error_counts: BTreeMap<String, u64>,
}

#[derive(Debug, Serialize)]
struct RowMetadata {
    batch_num: usize,
    timestamp: String,
    model: String,
    prompt_hash: String,
    has_reasoning: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    input_tokens: u64,
    output_tokens: u64,
}

/// The part of a line needed to match it to a prompt and add it to the totals.
#[derive(Debug, Deserialize)]
pub(crate) struct RowSummary {
    pub(crate) prompt_index: usize,
    pub(crate) metadata: RowSummaryMetadata,
    #[serde(default)]
    pub(crate) completed: bool,
    #[serde(default)]
    pub(crate) api_calls: u64,
    #[serde(default)]
    pub(crate) toolsets_used: Vec<String>,
    #[serde(default)]
    pub(crate) tool_stats: BTreeMap<String, ToolStats>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RowSummaryMetadata {
    pub(crate) prompt_hash: String,
    #[serde(default)]
    pub(crate) has_reasoning: bool,
    #[serde(default)]
    pub(crate) input_tokens: u64,
    #[serde(default)]
    pub(crate) output_tokens: u64,
}

impl TrajectoryRow {
    /// Builds the line for a conversation. Every known tool is listed, so all
    /// lines have the same shape.
    pub(crate) fn new(
        prompt: &BatchPrompt,
        batch_num: usize,
        toolsets: Vec<String>,
        conversation: RecordedConversation,
        known: &[String],
    ) -> Self {
        let stats = count_tool_calls(&conversation.messages, known);
        let errors = stats.iter().map(|(name, stats)| (name.clone(), stats.failure)).collect();
        Self {
            prompt_index: prompt.index,
            conversations: turns(&conversation.tools, &conversation.messages),
            metadata: RowMetadata {
                batch_num,
                timestamp: jiff::Timestamp::try_from(std::time::SystemTime::now())
                    .unwrap_or(jiff::Timestamp::MAX)
                    .strftime("%Y-%m-%dT%H:%M:%SZ")
                    .to_string(),
                model: conversation.model,
                prompt_hash: prompt.hash.clone(),
                has_reasoning: has_reasoning(&conversation.messages),
                session: conversation.session,
                input_tokens: conversation.usage.input,
                output_tokens: conversation.usage.output,
            },
            completed: conversation.completed,
            partial: !conversation.completed,
            api_calls: conversation.api_calls,
            toolsets_used: toolsets,
            tool_stats: stats,
            tool_error_counts: errors,
        }
    }
}

fn count_tool_calls(messages: &[ChatMessage], known: &[String]) -> BTreeMap<String, ToolStats> {
    let mut stats: BTreeMap<String, ToolStats> =
        known.iter().map(|name| (name.clone(), ToolStats::default())).collect();
    for message in messages {
        let ChatMessage::Tool(answer) = message else { continue };
        let of = stats.entry(answer.name.clone()).or_default();
        of.count += 1;
        match is_failure(answer) {
            true => of.failure += 1,
            false => of.success += 1,
        }
    }
    stats
}
