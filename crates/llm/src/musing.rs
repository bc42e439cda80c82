//! Thoughts that a model writes at the beginning of its answer, between marks
//! of its own, where its server does not take them out.

use crate::reply::Event;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Tells such thoughts from what is said, piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Musing {
    state: State,
    /// What may be a part of a mark.
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum State {
    /// Nothing was said yet.
    #[default]
    Before,
    Within,
    /// The thoughts are over, and the answer has not begun.
    After,
    Over,
}

impl Musing {
    /// More of the answer.
    pub(crate) fn hear(&mut self, more: &str, events: &mut Vec<Event>) {
        self.held.push_str(more);
        loop {
            let was = self.state;
            self.step(events);
            if self.state == was {
                return;
            }
        }
    }

    /// The answer is complete; what was held back is what it looks like.
    pub(crate) fn end(&mut self, events: &mut Vec<Event>) {
        let held = std::mem::take(&mut self.held);
        match self.state {
            _ if held.is_empty() => {}
            State::Within => events.push(Event::Thought(held)),
            _ => events.push(Event::Text(held)),
        }
        self.state = State::Over;
    }

    fn step(&mut self, events: &mut Vec<Event>) {
        match self.state {
            State::Before => {
                let begun = self.held.trim_start();
                if let Some(thought) = begun.strip_prefix(OPEN) {
                    self.held = thought.to_owned();
                    self.state = State::Within;
                } else if !OPEN.starts_with(begun) {
                    self.state = State::Over;
                }
            }
            State::Within => {
                let end = self.held.find(CLOSE);
                let until = end.unwrap_or_else(|| self.held.len() - begun_mark(&self.held));
                let rest = self.held.split_off(until);
                let thought = std::mem::replace(&mut self.held, rest);
                if !thought.is_empty() {
                    events.push(Event::Thought(thought));
                }
                if end.is_some() {
                    self.held.drain(..CLOSE.len());
                    self.state = State::After;
                }
            }
            State::After => {
                self.held = self.held.trim_start().to_owned();
                if !self.held.is_empty() {
                    self.state = State::Over;
                }
            }
            State::Over => {
                if !self.held.is_empty() {
                    events.push(Event::Text(std::mem::take(&mut self.held)));
                }
            }
        }
    }
}

/// How much of the end of a text may be the beginning of the closing mark.
fn begun_mark(text: &str) -> usize {
    let most = CLOSE.len().min(text.len() + 1);
    (1..most).rev().find(|length| text.ends_with(&CLOSE[..*length])).unwrap_or_default()
}

#[cfg(test)]
#[path = "musing_tests.rs"]
mod tests;
