//! Questions of tools, put to a person at the terminal.

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
                    // Somebody is there, who has put the question aside.
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
    /// Puts a question that is answered by one of its choices; none if nobody
    /// answers so.
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

/// A line from the keyboard; none if there will be no more.
async fn typed_line() -> Option<String> {
    let (send, typed) = oneshot::channel();
    // A thread of its own: a question that is given up must not keep the program
    // from ending.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        let _ = send.send(read.ok().filter(|read| *read > 0).map(|_| line));
    });
    typed.await.ok().flatten()
}

/// A question with choices as a person sees it: an empty line is the first one.
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

/// The question as a chat shows it: choices by their numbers.
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

/// The question as a person sees it.
fn question_text(question: &str, choices: &[String]) -> String {
    let mut text = String::from("\n");
    for line in question.lines() {
        text.push_str(&format!("? {}\n", one_line(line)));
    }
    for (at, choice) in choices.iter().enumerate() {
        text.push_str(&format!("  {}) {}\n", at + 1, one_line(choice)));
    }
    text.push_str(if choices.is_empty() { "> " } else { "A number, or an answer of your own: " });
    text
}

/// The choice of a number, or the words themselves.
fn parse_choice(line: &str, choices: &[String]) -> String {
    let line = line.trim();
    let number = line.trim_end_matches([')', '.']).parse::<usize>().ok();
    let chosen = number.and_then(|number| choices.get(number.checked_sub(1)?));
    chosen.map_or(line, String::as_str).to_owned()
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
