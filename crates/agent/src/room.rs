//! Making room: a conversation that fills the model's window is shortened, so
//! that it can go on. No call loses its result, and what was decided stays.

use hermes_llm::{ToolChoice, ModelErrorKind, ChatMessage, ContentPart, ModelReply, ModelRequest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::Agent;
use crate::budget::Budget;
use crate::conversation::tokens;
use crate::journal::Entry;
use crate::outcome::End;
use crate::turn::Stop;
use crate::watcher::Notice;

/// The window of a model that does not say.
const WINDOW: u64 = 128_000;
/// The share of the window that the end of the conversation keeps word by word.
const KEPT: f64 = 0.25;
/// A result that is longer is shortened first.
const LONG: usize = 2_000;
/// A summary is at most so long.
const MOST: usize = 16_000;
/// What a summary begins with.
const SUMMED_UP: &str = "[What happened before, summed up to make room]";
const SUMMARISE: &str = "\
The conversation above is about to be cut to make room. Write down what whoever goes on with it must \
know, in these parts: what the user wants, word for word where it matters; what was decided and why; \
what was done, with the files, commands and values that matter; what failed and why; what is left to \
do next. No preamble, no more than 800 words.";

/// How often the context was made anew: what tools have shown before has then
/// left it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ContextMark {
    #[serde(default)]
    generation: u64,
}

/// How a conversation is shortened, in tokens.
struct Cut {
    /// How much of its end stays word by word.
    kept: u64,
    /// From how much of the rest a summary is made.
    read: u64,
    /// What it may take in all before what the user has said goes to a file.
    most: u64,
    /// Whether it must be shorter, with or without a summary.
    is_needed: bool,
}

impl Agent {
    /// Shortens the conversation because somebody wants it; whether that was
    /// possible. [`crate::Interrupt::stop_turn`] stops it.
    pub async fn compact(&mut self, budget: &Budget) -> Result<bool, End> {
        self.interrupt.begin(Some(&self.makeup.caller.cancel));
        let cut = Cut { is_needed: false, ..self.cut() };
        self.shorten(cut, budget).await.map_err(End::from)
    }

    /// Shortens the conversation if it fills the window.
    pub(crate) async fn make_room(&mut self, budget: &Budget) -> Result<(), Stop> {
        let window = self.makeup.model.window().unwrap_or(WINDOW);
        let full = (window as f64 * self.makeup.manner.full) as u64;
        let is_counted = self.conversation.is_counted();
        let used = self.conversation.tokens() + if is_counted { 0 } else { self.base() };
        if used <= full {
            return Ok(());
        }
        // What the turn is about is not summed up, so that there is no use in trying
        // before there is something else.
        let messages = self.conversation.messages();
        let asked = tokens(&ChatMessage::User { content: asked(messages, messages.len()) });
        let fixed = self.base() + asked + window / 8;
        if used > fixed.min(window / 10 * 9) {
            self.shorten(self.cut(), budget).await?;
        }
        Ok(())
    }

    /// How a conversation is shortened for the model's window.
    fn cut(&self) -> Cut {
        let window = self.makeup.model.window().unwrap_or(WINDOW);
        let kept = (window as f64 * KEPT) as u64;
        let most = self.room().unwrap_or(u64::MAX);
        Cut { kept, read: window / 2, most, is_needed: true }
    }

    /// Shortens a conversation that the server finds too long, whatever the
    /// window is said to be; whether that was possible.
    pub(crate) async fn compress_more(&mut self, budget: &Budget) -> Result<bool, Stop> {
        let window = self.makeup.model.window().unwrap_or(WINDOW);
        let all = sum(self.conversation.messages());
        let kept = ((all as f64 * KEPT) as u64).min((window as f64 * KEPT) as u64);
        let read = (all / 2).min(window / 2);
        self.shorten(Cut { kept, read, most: kept * 3, is_needed: true }, budget).await
    }

    /// Keeps the end of the conversation and what the turn is about; the rest is
    /// summed up. Whether that was possible.
    async fn shorten(&mut self, cut: Cut, budget: &Budget) -> Result<bool, Stop> {
        let kept = cut.kept;
        let messages = self.conversation.messages();
        let estimate = sum(messages);
        if estimate == 0 {
            return Ok(false);
        }
        let (old, recent) = messages.split_at(seam(messages, kept));
        let mut opening = Vec::new();
        // What the turn is about stays as it is; alone it needs no summary.
        if let [only @ ChatMessage::User { .. }] = old {
            opening.push(only.clone());
        } else if !old.is_empty() {
            let summary = self.summarise(old, &cut, budget).await?;
            let mut told = format!("{SUMMED_UP}\n\n{}", short(&summary, MOST.min(bytes(kept))));
            let session = &self.makeup.caller.session;
            if let Some(open) = self.makeup.reminder.as_ref().and_then(|remind| remind(session)) {
                told.push_str("\n\n");
                told.push_str(&open);
            }
            let asked = asked(messages, old.len());
            if !asked.is_empty() {
                told.push_str("\n\n[What the user has asked for, word for word:]");
            }
            let content = std::iter::once(ContentPart::Text { text: told }).chain(asked).collect();
            opening.push(ChatMessage::User { content });
        }
        let mut shorter = opening;
        shorter.extend(recent.iter().cloned());
        let each = (bytes(kept) / shorter.len().max(1)).max(LONG);
        if sum(&shorter) > kept * 3 {
            shorter.iter_mut().for_each(|message| squeeze(message, each));
        }
        // What the user has said goes to a file, and only if nothing else helps.
        if sum(&shorter) > cut.most {
            shorter.iter_mut().for_each(|message| self.set_texts_aside(message, each));
        }
        // What saves next to nothing is not worth what it loses.
        // Both by the same measure, so that they can be compared.
        let (before, after) = (estimate, sum(&shorter));
        let saved = before.saturating_sub(after);
        if saved == 0 || saved < estimate / 10 {
            return Ok(false);
        }
        self.makeup.journal.write(Entry::Compressed(&shorter))?;
        self.conversation.replace(shorter);
        self.has_left_context();
        self.see(&Notice::Compressed { before, after });
        Ok(true)
    }

    /// What was shown before has left the context. If that cannot be noted, a
    /// tool may only say that something was shown already.
    pub(crate) fn has_left_context(&self) {
        self.makeup.engine.forget_shown_results(&self.makeup.caller);
        let session = &self.makeup.caller.session;
        let _ = session.update("context", |mark: &mut ContextMark| mark.generation += 1);
    }

    async fn summarise(&self, old: &[ChatMessage], cut: &Cut, budget: &Budget) -> Result<String, Stop> {
        let mut messages =
            vec![ChatMessage::system("You sum up conversations so that work can go on.")];
        messages.push(ChatMessage::user(short(&transcript(old), bytes(cut.read))));
        messages.push(ChatMessage::user(SUMMARISE));
        let (messages, _) = crate::mend(messages);
        let request = ModelRequest {
            choice: ToolChoice::None,
            max_tokens: Some(4_096),
            ..ModelRequest::new(self.makeup.manner.model.clone(), messages)
        };
        let stopped = self.interrupt.turn();
        let reply = stopped.run_until_cancelled(self.makeup.model.reply(&request)).await;
        let reply: ModelReply = match reply.ok_or(Stop::Interrupted(None))? {
            // Even that is too long for this server, or it cannot be asked now. A task goes
            // on without, as long as it can.
            Err(fault) if cut.is_needed || fault.kind == ModelErrorKind::ContextTooLong => {
                return Ok(self.unsummed(old));
            }
            reply => reply.map_err(Stop::Fault)?,
        };
        budget.spend_usage(reply.usage);
        self.spent(&reply.usage)?;
        match reply.text.trim() {
            "" => Ok(self.unsummed(old)),
            _ => Ok(reply.text),
        }
    }

    /// What stands for a summary that the model did not make, which is told.
    fn unsummed(&self, old: &[ChatMessage]) -> String {
        self.see(&Notice::Warning(
            "The model did not sum up what came before; the first request and the last steps stand \
             for it.",
        ));
        excerpt(old)
    }
}

/// What the user has said in the turn under way, as far as it stands before
/// this place; an earlier summary is not said by anybody.
fn asked(messages: &[ChatMessage], cut: usize) -> Vec<ContentPart> {
    let is_answer =
        |message: &ChatMessage| matches!(message, ChatMessage::Assistant(reply) if reply.calls.is_empty());
    let until_last = &messages[..messages.len().saturating_sub(1)];
    let began = until_last.iter().rposition(is_answer).map_or(0, |at| at + 1);
    let turn = messages.get(began..cut).unwrap_or_default();
    let said = turn.iter().filter_map(|message| match message {
        ChatMessage::User { content } => Some(content.iter().cloned()),
        _ => None,
    });
    let is_summary =
        |part: &ContentPart| matches!(part, ContentPart::Text { text } if text.starts_with(SUMMED_UP));
    said.flatten().filter(|part| !is_summary(part)).collect()
}

/// Shortens what is longer than so many bytes in a message, unless a user has
/// said it.
fn squeeze(message: &mut ChatMessage, most: usize) {
    match message {
        ChatMessage::System { .. } | ChatMessage::User { .. } => {}
        ChatMessage::Assistant(reply) => {
            reply.text = short(&reply.text, most);
            for call in &mut reply.calls {
                if call.arguments.len() > most {
                    call.arguments = short_arguments(&call.arguments, most);
                }
            }
        }
        ChatMessage::Tool(answer) => answer.content = short(&answer.content, most),
    }
}

/// Arguments with their long texts shortened: servers take only JSON.
fn short_arguments(arguments: &str, most: usize) -> String {
    let Ok(Value::Object(mut arguments)) = serde_json::from_str(arguments) else {
        return "{}".to_owned();
    };
    let each = most / arguments.len().max(1);
    for value in arguments.values_mut() {
        let shorter = match &*value {
            Value::String(text) => short(text, each),
            other => short(&other.to_string(), each),
        };
        if value.is_string() || value.to_string().len() > each {
            *value = Value::String(shorter);
        }
    }
    Value::Object(arguments).to_string()
}

/// About how many tokens messages take.
fn sum(messages: &[ChatMessage]) -> u64 {
    messages.iter().map(tokens).sum()
}

/// About how many bytes so many tokens are.
pub(crate) fn bytes(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX)
}

/// Where the conversation is cut: what comes after takes at most so many
/// tokens, and begins with what the user said or with an answer of the model.
fn seam(messages: &[ChatMessage], kept: u64) -> usize {
    let mut sum = 0;
    let mut cut = messages.len();
    for (at, message) in messages.iter().enumerate().rev() {
        sum += tokens(message);
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
fn excerpt(old: &[ChatMessage]) -> String {
    let wanted = old.iter().find(|message| matches!(message, ChatMessage::User { .. }));
    let wanted = wanted.map(|message| short(&message.text(), LONG)).unwrap_or_default();
    let all = transcript(old);
    let from = all.ceil_char_boundary(all.len().saturating_sub(LONG * 2));
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
                    said.push_str(&format!("\n→ {} {}", call.name, short(&call.arguments, LONG)));
                }
                ("Assistant", said)
            }
            ChatMessage::Tool(answer) => ("Result", short(&answer.content, LONG)),
        };
        text.push_str(&format!("{who}: {what}\n\n"));
    }
    text
}

/// The beginning and the end of a text that is longer than so many bytes.
fn short(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most * 2 / 5);
    let tail = text.ceil_char_boundary(text.len() - most * 3 / 5);
    format!("{} … {}", &text[..head], &text[tail..])
}
