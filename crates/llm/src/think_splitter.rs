//! Splits `<think>` blocks off the start of a reply, for servers that do not.

use crate::reply::ReplyEvent;

const THINK_OPEN_TAG: &str = "<think>";
const THINK_CLOSE_TAG: &str = "</think>";

/// Separates thoughts from reply text in a stream.
#[derive(Debug, Default)]
pub(crate) struct ThinkSplitter {
    state: ThinkState,
    /// Text that may be part of a tag.
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum ThinkState {
    /// No text has arrived yet.
    #[default]
    Before,
    Inside,
    /// The thoughts are complete; the reply text has not begun.
    After,
    Done,
}

impl ThinkSplitter {
    /// Adds the next piece of the reply.
    pub(crate) fn push(&mut self, more: &str, events: &mut Vec<ReplyEvent>) {
        self.held.push_str(more);
        loop {
            let was = self.state;
            self.step(events);
            if self.state == was {
                return;
            }
        }
    }

    /// Ends the reply and emits the text that was held back.
    pub(crate) fn finish(&mut self, events: &mut Vec<ReplyEvent>) {
        let held = std::mem::take(&mut self.held);
        match self.state {
            _ if held.is_empty() => {}
            ThinkState::Inside => events.push(ReplyEvent::Thought(held)),
            _ => events.push(ReplyEvent::Text(held)),
        }
        self.state = ThinkState::Done;
    }

    fn step(&mut self, events: &mut Vec<ReplyEvent>) {
        match self.state {
            ThinkState::Before => {
                let begun = self.held.trim_start();
                if let Some(thought) = begun.strip_prefix(THINK_OPEN_TAG) {
                    self.held = thought.to_owned();
                    self.state = ThinkState::Inside;
                } else if !THINK_OPEN_TAG.starts_with(begun) {
                    self.state = ThinkState::Done;
                }
            }
            ThinkState::Inside => {
                let end = self.held.find(THINK_CLOSE_TAG);
                let until = end.unwrap_or_else(|| self.held.len() - partial_close_len(&self.held));
                let rest = self.held.split_off(until);
                let thought = std::mem::replace(&mut self.held, rest);
                if !thought.is_empty() {
                    events.push(ReplyEvent::Thought(thought));
                }
                if end.is_some() {
                    self.held.drain(..THINK_CLOSE_TAG.len());
                    self.state = ThinkState::After;
                }
            }
            ThinkState::After => {
                self.held = self.held.trim_start().to_owned();
                if !self.held.is_empty() {
                    self.state = ThinkState::Done;
                }
            }
            ThinkState::Done => {
                if !self.held.is_empty() {
                    events.push(ReplyEvent::Text(std::mem::take(&mut self.held)));
                }
            }
        }
    }
}

/// Returns how many bytes at the end of a text may be the start of the closing
/// tag.
fn partial_close_len(text: &str) -> usize {
    let most = THINK_CLOSE_TAG.len().min(text.len() + 1);
    (1..most).rev().find(|length| text.ends_with(&THINK_CLOSE_TAG[..*length])).unwrap_or_default()
}

#[cfg(test)]
#[path = "think_splitter_tests.rs"]
mod tests;
