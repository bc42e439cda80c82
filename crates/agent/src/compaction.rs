//! Compaction: shortens a conversation that fills the context window. Every
//! call keeps its result, and decisions are kept.

use hermes_llm::{ChatMessage, ContentPart, ModelErrorKind, ModelReply, ModelRequest, ToolChoice};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::Agent;
use crate::budget::AgentBudget;
use crate::conversation::estimate_tokens;
use crate::journal::JournalEntry;
use crate::observer::AgentEvent;
use crate::outcome::TurnEnd;
use crate::turn::TurnStop;

/// Context window assumed when the model does not report one.
const DEFAULT_WINDOW_TOKENS: u64 = 128_000;
/// Fraction of the window kept verbatim at the end of the conversation.
const KEPT_WINDOW_SHARE: f64 = 0.25;
/// Longer results are truncated first.
const MAX_RESULT_BYTES: usize = 2_000;
/// Maximum bytes of a summary.
const MAX_SUMMARY_BYTES: usize = 16_000;
/// Header of a summary message; also used to recognize one.
const SUMMARY_HEADER: &str = "[What happened before, summed up to make room]";
const SUMMARY_PROMPT: &str = "The conversation above is about to be compacted. Write down what \
is needed to continue it, in these parts: what the user wants, verbatim where it matters; what \
was decided and why; what was done, with the files, commands and values that matter; what \
failed and why; what is left to do next. No preamble, no more than 800 words.";

/// Counts context replacements. Earlier tool output is no longer in the context
/// after one.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ContextGeneration {
    #[serde(default)]
    generation: u64,
}

/// Token limits of a compaction.
struct CompactionPlan {
    /// Tokens kept verbatim at the end.
    kept_tokens: u64,
    /// Tokens of the rest that the summary is made from.
    summary_input_tokens: u64,
    /// Total above which long user texts are spilled.
    max_tokens: u64,
    /// Whether to compact even without a model summary.
    is_needed: bool,
}

impl Agent {
    /// Compacts the conversation on request; returns whether it became shorter.
    /// [`crate::InterruptHandle::stop_turn`] cancels it.
    pub async fn compact(&mut self, budget: &AgentBudget) -> Result<bool, TurnEnd> {
        self.interrupt.begin_turn(Some(&self.parts.caller.cancel));
        let cut = CompactionPlan { is_needed: false, ..self.compaction_plan() };
        self.compact_with(cut, budget).await.map_err(TurnEnd::from)
    }

    /// Compacts the conversation if it fills the window.
    pub(crate) async fn compact_if_full(&mut self, budget: &AgentBudget) -> Result<(), TurnStop> {
        let window = self.parts.model.window().unwrap_or(DEFAULT_WINDOW_TOKENS);
        let full = (window as f64 * self.parts.params.compaction_threshold) as u64;
        let is_counted = self.conversation.is_counted();
        let used = self.conversation.tokens() + if is_counted { 0 } else { self.fixed_tokens() };
        if used <= full {
            return Ok(());
        }
        // The current turn's input is not summarized, so compaction is useless
        // before there is anything else.
        let messages = self.conversation.messages();
        let asked = estimate_tokens(&ChatMessage::User {
            content: turn_user_parts(messages, messages.len()),
        });
        let fixed = self.fixed_tokens() + asked + window / 8;
        if used > fixed.min(window / 10 * 9) {
            self.compact_with(self.compaction_plan(), budget).await?;
        }
        Ok(())
    }

    /// Returns the limits for the model's window.
    fn compaction_plan(&self) -> CompactionPlan {
        let window = self.parts.model.window().unwrap_or(DEFAULT_WINDOW_TOKENS);
        let kept = (window as f64 * KEPT_WINDOW_SHARE) as u64;
        let most = self.available_tokens().unwrap_or(u64::MAX);
        CompactionPlan {
            kept_tokens: kept,
            summary_input_tokens: window / 2,
            max_tokens: most,
            is_needed: true,
        }
    }

    /// Compacts a conversation that the server rejects as too long, whatever
    /// the reported window; returns whether it became shorter.
    pub(crate) async fn compact_below_server_limit(
        &mut self,
        budget: &AgentBudget,
    ) -> Result<bool, TurnStop> {
        let window = self.parts.model.window().unwrap_or(DEFAULT_WINDOW_TOKENS);
        let all = total_tokens(self.conversation.messages());
        let kept = ((all as f64 * KEPT_WINDOW_SHARE) as u64)
            .min((window as f64 * KEPT_WINDOW_SHARE) as u64);
        let read = (all / 2).min(window / 2);
        self.compact_with(
            CompactionPlan {
                kept_tokens: kept,
                summary_input_tokens: read,
                max_tokens: kept * 3,
                is_needed: true,
            },
            budget,
        )
        .await
    }

    /// Keeps the end of the conversation and the current turn's input, and
    /// summarizes the rest. Returns whether it became shorter.
    async fn compact_with(
        &mut self,
        cut: CompactionPlan,
        budget: &AgentBudget,
    ) -> Result<bool, TurnStop> {
        let kept = cut.kept_tokens;
        let messages = self.conversation.messages();
        let estimate = total_tokens(messages);
        if estimate == 0 {
            return Ok(false);
        }
        let (old, recent) = messages.split_at(split_point(messages, kept));
        let mut opening = Vec::new();
        // The current turn's input stays unchanged; alone it needs no summary.
        if let [only @ ChatMessage::User { .. }] = old {
            opening.push(only.clone());
        } else if !old.is_empty() {
            let summary = self.summarize(old, &cut, budget).await?;
            let mut shown = format!(
                "{SUMMARY_HEADER}\n\n{}",
                shorten_text(&summary, MAX_SUMMARY_BYTES.min(tokens_to_bytes(kept)))
            );
            let session = &self.parts.caller.session;
            if let Some(open) = self.parts.reminder.as_ref().and_then(|remind| remind(session)) {
                shown.push_str("\n\n");
                shown.push_str(&open);
            }
            let asked = turn_user_parts(messages, old.len());
            if !asked.is_empty() {
                shown.push_str("\n\n[The user's request, verbatim:]");
            }
            let content = std::iter::once(ContentPart::Text { text: shown }).chain(asked).collect();
            opening.push(ChatMessage::User { content });
        }
        let mut shorter = opening;
        shorter.extend(recent.iter().cloned());
        let each = (tokens_to_bytes(kept) / shorter.len().max(1)).max(MAX_RESULT_BYTES);
        if total_tokens(&shorter) > kept * 3 {
            shorter.iter_mut().for_each(|message| shorten_message(message, each));
        }
        // Spill user texts only as a last resort.
        if total_tokens(&shorter) > cut.max_tokens {
            shorter.iter_mut().for_each(|message| self.spill_long_texts(message, each));
        }
        // Saving almost nothing is not worth the loss. Both sizes are
        // estimates, so they are comparable.
        let (before, after) = (estimate, total_tokens(&shorter));
        let saved = before.saturating_sub(after);
        if saved == 0 || saved < estimate / 10 {
            return Ok(false);
        }
        self.parts.journal.write(JournalEntry::Compressed(&shorter))?;
        self.conversation.replace(shorter);
        self.mark_context_replaced();
        self.emit(&AgentEvent::Compressed { before, after });
        Ok(true)
    }

    /// Marks earlier tool output as gone from the context. If that fails, a
    /// tool may only report a result as already shown.
    pub(crate) fn mark_context_replaced(&self) {
        self.parts.engine.forget_shown_results(&self.parts.caller);
        let session = &self.parts.caller.session;
        let _ = session.update("context", |mark: &mut ContextGeneration| mark.generation += 1);
    }

    async fn summarize(
        &self,
        old: &[ChatMessage],
        cut: &CompactionPlan,
        budget: &AgentBudget,
    ) -> Result<String, TurnStop> {
        let mut messages =
            vec![ChatMessage::system("You summarize conversations so work can continue.")];
        messages.push(ChatMessage::user(shorten_text(
            &transcript(old),
            tokens_to_bytes(cut.summary_input_tokens),
        )));
        messages.push(ChatMessage::user(SUMMARY_PROMPT));
        let (messages, _) = crate::repair_history(messages);
        let request = ModelRequest {
            choice: ToolChoice::None,
            max_tokens: Some(4_096),
            ..ModelRequest::new(self.parts.params.model.clone(), messages)
        };
        let stopped = self.interrupt.turn_token();
        let reply = stopped.run_until_cancelled(self.parts.model.reply(&request)).await;
        let reply: ModelReply = match reply.ok_or(TurnStop::Interrupted(None))? {
            // Too long even for this, or the request failed. Continue without a
            // model summary where possible.
            Err(fault) if cut.is_needed || fault.kind == ModelErrorKind::ContextTooLong => {
                return Ok(self.fallback_summary(old));
            }
            reply => reply.map_err(TurnStop::ModelError)?,
        };
        budget.spend_usage(reply.usage);
        self.journal_usage(&reply.usage)?;
        match reply.text.trim() {
            "" => Ok(self.fallback_summary(old)),
            _ => Ok(reply.text),
        }
    }

    /// Warns that the model gave no summary and returns an excerpt instead.
    fn fallback_summary(&self, old: &[ChatMessage]) -> String {
        self.emit(&AgentEvent::Warning(
            "The model did not summarize the conversation; the first request and the last \
             steps are kept instead.",
        ));
        excerpt_summary(old)
    }
}

/// Returns the user input of the current turn before `cut`, without earlier
/// summaries.
fn turn_user_parts(messages: &[ChatMessage], cut: usize) -> Vec<ContentPart> {
    let is_answer = |message: &ChatMessage| matches!(message, ChatMessage::Assistant(reply) if reply.calls.is_empty());
    let until_last = &messages[..messages.len().saturating_sub(1)];
    let began = until_last.iter().rposition(is_answer).map_or(0, |at| at + 1);
    let turn = messages.get(began..cut).unwrap_or_default();
    let said = turn.iter().filter_map(|message| match message {
        ChatMessage::User { content } => Some(content.iter().cloned()),
        _ => None,
    });
    let is_summary = |part: &ContentPart| matches!(part, ContentPart::Text { text } if text.starts_with(SUMMARY_HEADER));
    said.flatten().filter(|part| !is_summary(part)).collect()
}

/// Truncates texts of a message to `most` bytes, except user input.
fn shorten_message(message: &mut ChatMessage, most: usize) {
    match message {
        ChatMessage::System { .. } | ChatMessage::User { .. } => {}
        ChatMessage::Assistant(reply) => {
            reply.text = shorten_text(&reply.text, most);
            for call in &mut reply.calls {
                if call.arguments.len() > most {
                    call.arguments = shorten_arguments(&call.arguments, most);
                }
            }
        }
        ChatMessage::Tool(answer) => answer.content = shorten_text(&answer.content, most),
    }
}

/// Truncates long argument values; the result stays JSON, which servers
/// require.
fn shorten_arguments(arguments: &str, most: usize) -> String {
    let Ok(Value::Object(mut arguments)) = serde_json::from_str(arguments) else {
        return "{}".to_owned();
    };
    let each = most / arguments.len().max(1);
    for value in arguments.values_mut() {
        let shorter = match &*value {
            Value::String(text) => shorten_text(text, each),
            other => shorten_text(&other.to_string(), each),
        };
        if value.is_string() || value.to_string().len() > each {
            *value = Value::String(shorter);
        }
    }
    Value::Object(arguments).to_string()
}

/// Estimates the tokens of messages.
fn total_tokens(messages: &[ChatMessage]) -> u64 {
    messages.iter().map(estimate_tokens).sum()
}

/// Estimates the bytes of this many tokens.
pub(crate) fn tokens_to_bytes(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX)
}

/// Returns where to split: the tail has at most `kept` tokens and starts with a
/// user message or a reply.
fn split_point(messages: &[ChatMessage], kept: u64) -> usize {
    let mut sum = 0;
    let mut cut = messages.len();
    for (at, message) in messages.iter().enumerate().rev() {
        sum += estimate_tokens(message);
        if sum > kept {
            break;
        }
        if !matches!(message, ChatMessage::Tool(_)) {
            cut = at;
        }
    }
    if cut == messages.len() {
        // Even the last step is too long: keep only that one.
        let last = messages.iter().rposition(|message| !matches!(message, ChatMessage::Tool(_)));
        cut = last.unwrap_or(0);
    }
    cut
}

/// Returns a substitute for a model summary: the first request and the last
/// steps.
fn excerpt_summary(old: &[ChatMessage]) -> String {
    let wanted = old.iter().find(|message| matches!(message, ChatMessage::User { .. }));
    let wanted =
        wanted.map(|message| shorten_text(&message.text(), MAX_RESULT_BYTES)).unwrap_or_default();
    let all = transcript(old);
    let from = all.ceil_char_boundary(all.len().saturating_sub(MAX_RESULT_BYTES * 2));
    format!("First user request: {wanted}\n\nLast steps:\n\n{}", &all[from..])
}

/// Renders the conversation as text, with long results truncated.
fn transcript(messages: &[ChatMessage]) -> String {
    let mut text = String::new();
    for message in messages {
        let (who, what) = match message {
            ChatMessage::System { text } => ("System", text.clone()),
            ChatMessage::User { .. } => ("User", message.text()),
            ChatMessage::Assistant(reply) => {
                let mut said = reply.text.clone();
                for call in &reply.calls {
                    said.push_str(&format!(
                        "\n→ {} {}",
                        call.name,
                        shorten_text(&call.arguments, MAX_RESULT_BYTES)
                    ));
                }
                ("Assistant", said)
            }
            ChatMessage::Tool(answer) => {
                ("Result", shorten_text(&answer.content, MAX_RESULT_BYTES))
            }
        };
        text.push_str(&format!("{who}: {what}\n\n"));
    }
    text
}

/// Returns the head and tail of a text longer than `most` bytes.
fn shorten_text(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most * 2 / 5);
    let tail = text.ceil_char_boundary(text.len() - most * 3 / 5);
    format!("{} … {}", &text[..head], &text[tail..])
}
