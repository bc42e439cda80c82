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

/// How long to wait for the user's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3_600);

#[derive(Debug, Default)]
pub(crate) struct Clarify;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The question, with what the user must know to answer it
    question: String,
    /// Up to 4 answers to choose from; the user can always answer freely. Leave
    /// out for an open question.
    #[serde(default)]
    choices: Vec<LenientChoice>,
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
    type Output = ClarifyAnswer;

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

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<ClarifyAnswer, ToolError> {
        let question = args.question.trim().to_owned();
        if question.is_empty() {
            return Err(ToolError::invalid("The question is empty"));
        }
        let mut choices: Vec<String> = Vec::new();
        for choice in args.choices {
            let text = choice.into_text();
            if !text.is_empty() && !choices.contains(&text) {
                choices.push(text);
            }
        }
        let over = choices.len().saturating_sub(MAX_CHOICES);
        choices.truncate(MAX_CHOICES);
        let response = match cx.ports.get::<dyn Port>() {
            Some(port) => cx.run_until_cancelled(port.ask(&question, &choices)).await?,
            None => None,
        };
        let Some(response) = response else {
            return Err(ToolError::unavailable("No user is available to answer")
                .with_hint(
                    "Decide by what is known and state your assumptions, or end with the \
                     question so the user can answer it.",
                )
                .with("question", question)
                .with("choices_offered", choices));
        };
        let mut note = (over > 0).then(|| {
            format!("{over} choices exceeded the limit of {MAX_CHOICES} and were not offered")
        });
        if response.trim().is_empty() {
            note = Some(DECLINED_RESPONSE.to_owned());
        }
        Ok(ClarifyAnswer { question, choices_offered: choices, user_response: response, note })
    }
}

#[cfg(test)]
#[path = "clarify_tests.rs"]
mod tests;
