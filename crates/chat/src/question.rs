//! Questions to the person, and their answers.

/// A question that is answered with a key, from a list, or in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserQuestion {
    /// One line: what is asked.
    pub title: String,
    /// What it is about, line by line: a command, a difference, a reason.
    pub body: Vec<String>,
    /// The ways to answer. The first one is preselected.
    pub choices: Vec<QuestionChoice>,
    /// An answer in words is possible as well.
    pub free_text: bool,
    /// What is typed is not shown and not remembered: a password.
    pub secret: bool,
}

/// One way to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionChoice {
    /// The key that chooses it.
    pub key: char,
    /// What it means.
    pub label: String,
    /// Other keys and words that mean the same.
    pub aliases: Vec<String>,
}

impl UserQuestion {
    /// The choice that a whole line means: its key, its label, or one of its
    /// words. A line that only begins with one means none.
    pub fn choice_for_line(&self, line: &str) -> Option<&QuestionChoice> {
        let line = line.trim().to_lowercase();
        let is_other = |choice: &QuestionChoice| {
            choice.label.to_lowercase() == line
                || choice.aliases.iter().any(|word| word.to_lowercase() == line)
        };
        self.choices
            .iter()
            .find(|choice| choice.key.to_lowercase().eq(line.chars()))
            .or_else(|| self.choices.iter().find(|choice| is_other(choice)))
    }

    /// The choice that one key means. Where a capital means something else, it
    /// is not taken for the small letter.
    pub(crate) fn choice_for_key(&self, key: char) -> Option<&QuestionChoice> {
        let same_letter =
            |choice: &&QuestionChoice| choice.key.to_lowercase().eq(key.to_lowercase());
        if let Some(choice) = self.choices.iter().find(|choice| choice.key == key) {
            return Some(choice);
        }
        match self.choices.iter().filter(same_letter).collect::<Vec<_>>()[..] {
            [] => self.choice_for_line(key.encode_utf8(&mut [0; 4])),
            [only] => Some(only),
            _ => None,
        }
    }
}

impl QuestionChoice {
    /// A choice with its key.
    pub fn new(key: char, label: impl Into<String>) -> Self {
        Self { key, label: label.into(), aliases: Vec::new() }
    }

    /// The same with other keys and words that mean it.
    #[must_use]
    pub fn with_aliases(mut self, words: &[&str]) -> Self {
        self.aliases.extend(words.iter().map(|word| (*word).to_owned()));
        self
    }
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionAnswer {
    /// The choice with this key.
    Key(char),
    /// In words.
    Text(String),
}
