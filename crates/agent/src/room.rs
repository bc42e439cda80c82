//! Making room: a conversation that fills the model's window is shortened, so
//! that it can go on. No call loses its result, and what was decided stays.

use hermes_llm::{Choice, Message, Reply, Request};
use serde::{Deserialize, Serialize};

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

impl Agent {
    /// Shortens the conversation because somebody wants it; whether that was
    /// possible. [`crate::Interrupt::stop_turn`] stops it.
    pub async fn compact(&mut self, budget: &Budget) -> Result<bool, End> {
        self.interrupt.begin(Some(&self.makeup.caller.cancel));
        self.compress(budget).await.map_err(End::from)
    }

    /// Shortens the conversation if it fills the window.
    pub(crate) async fn make_room(&mut self, budget: &Budget) -> Result<(), Stop> {
        let window = self.makeup.model.window().unwrap_or(WINDOW);
        let full = (window as f64 * self.makeup.manner.full) as u64;
        if self.conversation.tokens() > full {
            self.compress(budget).await?;
        }
        Ok(())
    }

    /// Shortens the conversation; whether that was possible.
    pub(crate) async fn compress(&mut self, budget: &Budget) -> Result<bool, Stop> {
        let before = self.conversation.tokens();
        let window = self.makeup.model.window().unwrap_or(WINDOW);
        let kept = (window as f64 * KEPT) as u64;
        let messages = self.conversation.messages();
        let cut = seam(messages, kept);
        if cut == 0 {
            return Ok(false);
        }
        let (old, recent) = messages.split_at(cut);
        let summary = self.summarise(old, budget).await?;
        let mut told = format!("[What happened before, summed up to make room]\n\n{summary}");
        let session = &self.makeup.caller.session;
        if let Some(open) = self.makeup.reminder.as_ref().and_then(|remind| remind(session)) {
            told.push_str("\n\n");
            told.push_str(&open);
        }
        let mut shorter = vec![Message::user(told)];
        shorter.extend(recent.iter().cloned());
        self.makeup.journal.write(Entry::Compressed(&shorter))?;
        // What was shown before has left the context. If that cannot be noted, a
        // tool may only say that something was shown already.
        let _ = session.update("context", |mark: &mut ContextMark| mark.generation += 1);
        self.conversation.replace(shorter);
        let after = self.conversation.tokens();
        self.see(&Notice::Compressed { before, after });
        Ok(after < before)
    }

    async fn summarise(&self, old: &[Message], budget: &Budget) -> Result<String, Stop> {
        let mut messages =
            vec![Message::system("You sum up conversations so that work can go on.")];
        messages.push(Message::user(transcript(old)));
        messages.push(Message::user(SUMMARISE));
        let (messages, _) = crate::mend(messages);
        let request = Request {
            choice: Choice::None,
            max_tokens: Some(4_096),
            ..Request::new(self.makeup.manner.model.clone(), messages)
        };
        let stopped = self.interrupt.turn();
        let reply = stopped.run_until_cancelled(self.makeup.model.reply(&request)).await;
        let reply: Reply = reply.ok_or(Stop::Interrupted(None))?.map_err(Stop::Fault)?;
        budget.spend_usage(reply.usage);
        match reply.text.trim() {
            "" => Ok(excerpt(old)),
            _ => Ok(reply.text),
        }
    }
}

/// Where the conversation is cut: what comes after takes at most so many
/// tokens, and begins with what the user said or with an answer of the model.
fn seam(messages: &[Message], kept: u64) -> usize {
    let mut sum = 0;
    let mut cut = messages.len();
    for (at, message) in messages.iter().enumerate().rev() {
        sum += tokens(message);
        if sum > kept {
            break;
        }
        if !matches!(message, Message::Tool(_)) {
            cut = at;
        }
    }
    if cut == messages.len() {
        // Even the last step is too long: it alone stays.
        let last = messages.iter().rposition(|message| !matches!(message, Message::Tool(_)));
        cut = last.unwrap_or(0);
    }
    cut
}

/// What stands for a summary that the model did not make: what the user wanted
/// first, and what happened last.
fn excerpt(old: &[Message]) -> String {
    let wanted = old.iter().find(|message| matches!(message, Message::User { .. }));
    let wanted = wanted.map(|message| short(&message.text())).unwrap_or_default();
    let all = transcript(old);
    let from = all.ceil_char_boundary(all.len().saturating_sub(LONG * 2));
    format!("What the user wanted first: {wanted}\n\nWhat happened last:\n\n{}", &all[from..])
}

/// The conversation as text, its long results shortened.
fn transcript(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        let (who, what) = match message {
            Message::System { text } => ("System", text.clone()),
            Message::User { .. } => ("User", message.text()),
            Message::Assistant(reply) => {
                let mut said = reply.text.clone();
                for call in &reply.calls {
                    said.push_str(&format!("\n→ {} {}", call.name, short(&call.arguments)));
                }
                ("Assistant", said)
            }
            Message::Tool(answer) => ("Result", short(&answer.content)),
        };
        text.push_str(&format!("{who}: {what}\n\n"));
    }
    text
}

fn short(text: &str) -> String {
    if text.len() <= LONG {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(LONG * 2 / 5);
    let tail = text.ceil_char_boundary(text.len() - LONG * 3 / 5);
    format!("{} … {}", &text[..head], &text[tail..])
}
