//! Questions to the person, and their answers.

/// A question that is answered with a key, from a list, or in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// One line: what is asked.
    pub title: String,
    /// What it is about, line by line: a command, a difference, a reason.
    pub body: Vec<String>,
    /// The ways to answer. The first one is preselected.
    pub choices: Vec<Choice>,
    /// An answer in words is possible as well.
    pub free_text: bool,
    /// What is typed is not shown and not remembered: a password.
    pub secret: bool,
}

/// One way to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The key that chooses it.
    pub key: char,
    /// What it means.
    pub label: String,
}

impl Choice {
    /// A choice with its key.
    pub fn new(key: char, label: impl Into<String>) -> Self {
        Self { key, label: label.into() }
    }
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The choice with this key.
    Key(char),
    /// In words.
    Text(String),
}
