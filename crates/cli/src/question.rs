//! Questions from tools to the user at the terminal.

use std::io::{self, BufRead as _, Write as _};

use hermes::core::{BoxFuture, UserPrompter};
use hermes_chat::{QuestionAnswer, QuestionChoice, ScreenMode, UserQuestion};
use tokio::sync::oneshot;

use crate::prompter::TerminalPrompter;
use crate::terminal::{OpenQuestion, one_line};

impl UserPrompter for TerminalPrompter {
    fn ask<'a>(
        &'a self,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            if let Some(screen) = self.screen() {
                return match screen.ask(screen_question(question, choices)).await {
                    Some(QuestionAnswer::Text(text)) => Some(parse_choice(&text, choices)),
                    Some(QuestionAnswer::Key(key)) => Some(parse_choice(&key.to_string(), choices)),
                    None if screen.mode() == ScreenMode::Piped => None,
                    // The user is present but dismissed the question.
                    None => Some(String::new()),
                };
            }
            let _turn = self.wait_turn().await?;
            let _asking = OpenQuestion::begin();
            let _ = write!(io::stderr(), "{}", question_text(question, choices));
            let _ = io::stderr().flush();
            Some(parse_choice(&typed_line().await?, choices))
        })
    }
}

impl TerminalPrompter {
    /// Asks a multiple-choice question; `None` without a valid choice.
    pub(crate) async fn choose(&self, question: UserQuestion) -> Option<char> {
        if let Some(screen) = self.screen() {
            return match screen.ask(question).await? {
                QuestionAnswer::Key(key) => Some(key),
                QuestionAnswer::Text(_) => None,
            };
        }
        let _turn = self.wait_turn().await?;
        let _asking = OpenQuestion::begin();
        let _ = write!(io::stderr(), "{}", choice_question_text(&question));
        let _ = io::stderr().flush();
        question.choice_for_line(&typed_line().await?).map(|choice| choice.key)
    }
}

/// Reads a line from the keyboard; `None` at end of input.
async fn typed_line() -> Option<String> {
    let (send, typed) = oneshot::channel();
    // A separate thread, so an abandoned question does not block exit.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        let _ = send.send(read.ok().filter(|read| *read > 0).map(|_| line));
    });
    typed.await.ok().flatten()
}

/// Formats a multiple-choice question; an empty line selects the first choice.
fn choice_question_text(question: &UserQuestion) -> String {
    let mut text = String::from("\n");
    for line in &question.body {
        text.push_str(&format!("  {}\n", one_line(line)));
    }
    let choice = |(at, choice): (usize, &QuestionChoice)| match at {
        0 => format!("[{}] {}", choice.key.to_uppercase(), choice.label),
        _ => format!("[{}] {}", choice.key, choice.label),
    };
    let choices: Vec<String> = question.choices.iter().enumerate().map(choice).collect();
    text.push_str(&format!("? {} {}: ", one_line(&question.title), choices.join(", ")));
    text
}

/// Returns the question for a chat screen, with numbered choices.
fn screen_question(question: &str, choices: &[String]) -> UserQuestion {
    let mut lines = question.lines().map(one_line);
    let title = lines.next().unwrap_or_default();
    let numbered = ('1'..='9').zip(choices);
    UserQuestion {
        title,
        body: lines.collect(),
        choices: numbered.map(|(key, label)| QuestionChoice::new(key, one_line(label))).collect(),
        free_text: true,
        secret: false,
    }
}

/// Formats a question for the terminal.
fn question_text(question: &str, choices: &[String]) -> String {
    let mut text = String::from("\n");
    for line in question.lines() {
        text.push_str(&format!("? {}\n", one_line(line)));
    }
    for (at, choice) in choices.iter().enumerate() {
        text.push_str(&format!("  {}) {}\n", at + 1, one_line(choice)));
    }
    text.push_str(if choices.is_empty() { "> " } else { "Number, or your own answer: " });
    text
}

/// Returns the choice with that number, or the line itself.
fn parse_choice(line: &str, choices: &[String]) -> String {
    let line = line.trim();
    let number = line.trim_end_matches([')', '.']).parse::<usize>().ok();
    let chosen = number.and_then(|number| choices.get(number.checked_sub(1)?));
    chosen.map_or(line, String::as_str).to_owned()
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
