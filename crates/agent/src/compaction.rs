//! Making room: a conversation that fills the model's window is shortened, so
//! that it can go on. No call loses its result, and what was decided stays.

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

/// The window of a model that does not say.
const DEFAULT_WINDOW_TOKENS: u64 = 128_000;
/// The share of the window that the end of the conversation keeps word by word.
const KEPT_WINDOW_SHARE: f64 = 0.25;
/// A result that is longer is shortened first.
const MAX_RESULT_BYTES: usize = 2_000;
/// A summary is at most so long.
const MAX_SUMMARY_BYTES: usize = 16_000;
/// What a summary begins with.
const SUMMARY_HEADER: &str = "[What happened before, summed up to make room]";
const SUMMARY_PROMPT: &str = "\
The conversation above is about to be cut to make room. Write down what whoever goes on with it must \
know, in these parts: what the user wants, word for word where it matters; what was decided and why; \
what was done, with the files, commands and values that matter; what failed and why; what is left to \
do next. No preamble, no more than 800 words.";

/// How often the context was made anew: what tools have shown before has then
/// left it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ContextGeneration {
    #[serde(default)]
    generation: u64,
}

/// How a conversation is shortened, in tokens.
struct CompactionPlan {
    /// How much of its end stays word by word.
    kept_tokens: u64,
    /// From how much of the rest a summary is made.
    summary_input_tokens: u64,
    /// What it may take in all before what the user has said goes to a file.
    max_tokens: u64,
    /// Whether it must be shorter, with or without a summary.
    is_needed: bool,
}

impl Agent {
    /// Shortens the conversation because somebody wants it; whether that was
    /// possible. [`crate::InterruptHandle::stop_turn`] stops it.
    pub async fn compact(&mut self, budget: &AgentBudget) -> Result<bool, TurnEnd> {
        self.interrupt.begin_turn(Some(&self.parts.caller.cancel));
        let cut = CompactionPlan { is_needed: false, ..self.compaction_plan() };
        self.compact_with(cut, budget).await.map_err(TurnEnd::from)
    }

    /// Shortens the conversation if it fills the window.
    pub(crate) async fn compact_if_full(&mut self, budget: &AgentBudget) -> Result<(), TurnStop> {
        let window = self.parts.model.window().unwrap_or(DEFAULT_WINDOW_TOKENS);
        let full = (window as f64 * self.parts.params.compaction_threshold) as u64;
        let is_counted = self.conversation.is_counted();
        let used = self.conversation.tokens() + if is_counted { 0 } else { self.fixed_tokens() };
        if used <= full {
            return Ok(());
        }
        // What the turn is about is not summed up, so that there is no use in trying
        // before there is something else.
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

    /// How a conversation is shortened for the model's window.
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

    /// Shortens a conversation that the server finds too long, whatever the
    /// window is said to be; whether that was possible.
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

    /// Keeps the end of the conversation and what the turn is about; the rest is
    /// summed up. Whether that was possible.
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
        // What the turn is about stays as it is; alone it needs no summary.
        if let [only @ ChatMessage::User { .. }] = old {
            opening.push(only.clone());
        } else if !old.is_empty() {
            let summary = self.summarize(old, &cut, budget).await?;
            let mut told = format!(
                "{SUMMARY_HEADER}\n\n{}",
                shorten_text(&summary, MAX_SUMMARY_BYTES.min(tokens_to_bytes(kept)))
            );
            let session = &self.parts.caller.session;
            if let Some(open) = self.parts.reminder.as_ref().and_then(|remind| remind(session)) {
                told.push_str("\n\n");
                told.push_str(&open);
            }
            let asked = turn_user_parts(messages, old.len());
            if !asked.is_empty() {
                told.push_str("\n\n[What the user has asked for, word for word:]");
            }
            let content = std::iter::once(ContentPart::Text { text: told }).chain(asked).collect();
            opening.push(ChatMessage::User { content });
        }
        let mut shorter = opening;
        shorter.extend(recent.iter().cloned());
        let each = (tokens_to_bytes(kept) / shorter.len().max(1)).max(MAX_RESULT_BYTES);
        if total_tokens(&shorter) > kept * 3 {
            shorter.iter_mut().for_each(|message| shorten_message(message, each));
        }
        // What the user has said goes to a file, and only if nothing else helps.
        if total_tokens(&shorter) > cut.max_tokens {
            shorter.iter_mut().for_each(|message| self.spill_long_texts(message, each));
        }
        // What saves next to nothing is not worth what it loses.
        // Both by the same measure, so that they can be compared.
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

    /// What was shown before has left the context. If that cannot be noted, a
    /// tool may only say that something was shown already.
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
            vec![ChatMessage::system("You sum up conversations so that work can go on.")];
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
            // Even that is too long for this server, or it cannot be asked now. A task goes
            // on without, as long as it can.
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

    /// What stands for a summary that the model did not make, which is told.
    fn fallback_summary(&self, old: &[ChatMessage]) -> String {
        self.emit(&AgentEvent::Warning(
            "The model did not sum up what came before; the first request and the last steps stand \
             for it.",
        ));
        excerpt_summary(old)
    }
}

/// What the user has said in the turn under way, as far as it stands before
/// this place; an earlier summary is not said by anybody.
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

/// Shortens what is longer than so many bytes in a message, unless a user has
/// said it.
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

/// Arguments with their long texts shortened: servers take only JSON.
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

/// About how many tokens messages take.
fn total_tokens(messages: &[ChatMessage]) -> u64 {
    messages.iter().map(estimate_tokens).sum()
}

/// About how many bytes so many tokens are.
pub(crate) fn tokens_to_bytes(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX)
}

/// Where the conversation is cut: what comes after takes at most so many
/// tokens, and begins with what the user said or with an answer of the model.
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
        // Even the last step is too long: it alone stays.
        let last = messages.iter().rposition(|message| !matches!(message, ChatMessage::Tool(_)));
        cut = last.unwrap_or(0);
    }
    cut
}

/// What stands for a summary that the model did not make: what the user wanted
/// first, and what happened last.
fn excerpt_summary(old: &[ChatMessage]) -> String {
    let wanted = old.iter().find(|message| matches!(message, ChatMessage::User { .. }));
    let wanted =
        wanted.map(|message| shorten_text(&message.text(), MAX_RESULT_BYTES)).unwrap_or_default();
    let all = transcript(old);
    let from = all.ceil_char_boundary(all.len().saturating_sub(MAX_RESULT_BYTES * 2));
    format!("What the user wanted first: {wanted}\n\nWhat happened last:\n\n{}", &all[from..])
}

/// The conversation as text, its long results shortened.
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

/// The beginning and the end of a text that is longer than so many bytes.
fn shorten_text(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most * 2 / 5);
    let tail = text.ceil_char_boundary(text.len() - most * 3 / 5);
    format!("{} … {}", &text[..head], &text[tail..])
}
