//! Questions to the user, and their answers.

/// A question answered with a key, from a list, or as free text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserQuestion {
    /// The question, on one line.
    pub title: String,
    /// Details, line by line: a command, a diff, a reason.
    pub body: Vec<String>,
    /// The possible answers. The first one is preselected.
    pub choices: Vec<QuestionChoice>,
    /// Whether a free-text answer is also accepted.
    pub free_text: bool,
    /// Whether input is hidden and kept out of the history, for example a
    /// password.
    pub secret: bool,
}

/// One possible answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionChoice {
    /// The key that selects it.
    pub key: char,
    /// Its label.
    pub label: String,
    /// Other keys and words that select it.
    pub aliases: Vec<String>,
}

impl UserQuestion {
    /// Returns the choice that a whole line selects: by key, label, or alias. A
    /// mere prefix selects none.
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

    /// Returns the choice that a single key selects. If upper and lower case
    /// select different choices, the case must match.
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
    /// Creates a choice with its key.
    pub fn new(key: char, label: impl Into<String>) -> Self {
        Self { key, label: label.into(), aliases: Vec::new() }
    }

    /// Adds other keys and words that select it.
    #[must_use]
    pub fn with_aliases(mut self, words: &[&str]) -> Self {
        self.aliases.extend(words.iter().map(|word| (*word).to_owned()));
        self
    }
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionAnswer {
    /// The choice with this key.
    Key(char),
    /// Free text.
    Text(String),
}
