//! A question to the user.

use std::time::Duration;

use hermes_core::{
    Effect, JsonSchema, Tool, ToolContext, ToolError, ToolExample, ToolSpec, UserPrompter as Port,
    WorkingDir,
};
use serde::{Deserialize, Serialize};

use crate::choice::LenientChoice;

/// Maximum number of choices; more are hard to compare at a glance.
const MAX_CHOICES: usize = 4;

/// Maximum number of questions in a call.
const MAX_QUESTIONS: usize = 4;

/// How long to wait for the user's answers.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3_600);

#[derive(Debug, Default)]
pub(crate) struct Clarify;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The question, with what the user must know to answer it
    #[serde(default)]
    question: Option<String>,
    /// Up to 4 answers to choose from; the user can always answer freely. Leave
    /// out for an open question.
    #[serde(default)]
    choices: Vec<LenientChoice>,
    /// Up to 4 instead of one
    #[serde(default)]
    questions: Vec<QuestionArgs>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionArgs {
    question: String,
    #[serde(default)]
    choices: Vec<LenientChoice>,
}

/// A question to ask.
struct PreparedQuestion {
    question: String,
    choices: Vec<String>,
    /// Number of choices that are not offered.
    omitted: usize,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum ClarifyOutput {
    One(ClarifyAnswer),
    Several { answers: Vec<ClarifyAnswer> },
}

#[derive(Debug, Serialize)]
pub(crate) struct ClarifyAnswer {
    question: String,
    choices_offered: Vec<String>,
    user_response: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Note for an empty answer.
const DECLINED_RESPONSE: &str =
    "The user does not want to answer. Decide by what is known and state your assumptions.";

impl Tool for Clarify {
    type Args = Args;
    type Output = ClarifyOutput;

    fn spec() -> ToolSpec {
        ToolSpec::new("clarify", "clarify")
            .emoji("❓")
            .description(
                "Ask the user a question and wait for the answer. For decisions that are the \
                 user's and that change the next steps; not for what a tool can find out.",
            )
            .alias("ask_user")
            .alias("ask_followup_question")
            .parameter_alias("options", "choices")
            .parameter_alias("prompt", "question")
            .timeout(ANSWER_TIMEOUT)
            .keyword("question")
            .keyword("ask")
            .keyword("user input")
            .example(
                ToolExample::new(
                    "Let the user choose",
                    r#"{"question":"Which database shall the service use?","choices":["SQLite","PostgreSQL"]}"#,
                )
                .expects(r#"{"choices_offered":["SQLite","PostgreSQL"]}"#),
            )
            .example(ToolExample::new("An open question", r#"{"question":"What shall the project be called?"}"#))
    }

    fn effects(&self, _args: &Args, _at: &WorkingDir) -> Vec<Effect> {
        Vec::new()
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<ClarifyOutput, ToolError> {
        let is_single = args.questions.is_empty();
        let prepared = args.prepare()?;
        let count = prepared.len();
        let port = cx.ports.get::<dyn Port>();
        let mut responses = Vec::with_capacity(count);
        for (at, asked) in prepared.iter().enumerate() {
            let text = match count {
                1 => asked.question.clone(),
                _ => format!("({}/{count}) {}", at + 1, asked.question),
            };
            // After a question without an answer the others are still asked: a
            // client may get all of them first, and answer them together.
            responses.push(match &port {
                Some(port) => cx.run_until_cancelled(port.ask(&text, &asked.choices)).await?,
                None => None,
            });
        }
        if responses.iter().all(Option::is_none) {
            return Err(no_user_error(&prepared));
        }
        let answers = prepared.into_iter().zip(responses);
        let mut answers: Vec<ClarifyAnswer> =
            answers.map(|(asked, response)| asked.answered(response)).collect();
        match answers.pop() {
            Some(answer) if is_single => Ok(ClarifyOutput::One(answer)),
            last => {
                answers.extend(last);
                Ok(ClarifyOutput::Several { answers })
            }
        }
    }
}

impl Args {
    /// Returns the questions to ask.
    fn prepare(self) -> Result<Vec<PreparedQuestion>, ToolError> {
        let question = self.question.unwrap_or_default();
        let one = !question.trim().is_empty() || !self.choices.is_empty();
        if one && !self.questions.is_empty() {
            return Err(ToolError::invalid("`questions` and `question` exclude each other"));
        }
        if self.questions.len() > MAX_QUESTIONS {
            return Err(ToolError::invalid(format!(
                "{} questions exceed the limit of {MAX_QUESTIONS}",
                self.questions.len()
            ))
            .with_hint("Ask those that decide the next steps."));
        }
        if self.questions.is_empty() {
            return Ok(vec![PreparedQuestion::new(&question, self.choices)?]);
        }
        let all = self.questions.into_iter();
        all.map(|asked| PreparedQuestion::new(&asked.question, asked.choices)).collect()
    }
}

impl PreparedQuestion {
    fn new(question: &str, offered: Vec<LenientChoice>) -> Result<Self, ToolError> {
        let question = question.trim().to_owned();
        if question.is_empty() {
            return Err(ToolError::invalid("`question` is missing or empty"));
        }
        let mut choices: Vec<String> = Vec::new();
        for choice in offered {
            let text = choice.into_text();
            if !text.is_empty() && !choices.contains(&text) {
                choices.push(text);
            }
        }
        let omitted = choices.len().saturating_sub(MAX_CHOICES);
        choices.truncate(MAX_CHOICES);
        Ok(Self { question, choices, omitted })
    }

    fn answered(self, response: Option<String>) -> ClarifyAnswer {
        let user_response = response.unwrap_or_default();
        let omitted = self.omitted;
        let mut note = (omitted > 0).then(|| {
            format!("{omitted} choices exceeded the limit of {MAX_CHOICES} and were not offered")
        });
        if user_response.trim().is_empty() {
            note = Some(DECLINED_RESPONSE.to_owned());
        }
        ClarifyAnswer {
            question: self.question,
            choices_offered: self.choices,
            user_response,
            note,
        }
    }
}

fn no_user_error(asked: &[PreparedQuestion]) -> ToolError {
    let error = ToolError::unavailable("No user is available to answer").with_hint(
        "Decide by what is known and state your assumptions, or end with the question so the \
         user can answer it.",
    );
    match asked {
        [one] => error
            .with("question", one.question.clone())
            .with("choices_offered", one.choices.clone()),
        all => {
            let questions: Vec<&str> = all.iter().map(|asked| asked.question.as_str()).collect();
            error.with("questions", questions)
        }
    }
}

#[cfg(test)]
#[path = "clarify_tests.rs"]
mod tests;
