//! The `mixture_of_agents` tool: several models answer one question, an
//! aggregator merges the answers.

mod ask;
mod prompts;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_agent::ParentAgent;
use hermes_core::{
    Availability, Effect, JsonSchema, Scope, Tool, ToolContext, ToolError, ToolExample, ToolSpec,
    WorkingDir,
};
use hermes_llm::ModelErrorKind;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::pool::SubagentPool;
use crate::report::TokenCounts;
use crate::rounding::rounded_seconds;
use ask::{MixtureModel, MixtureSession, ModelOpinion};

/// Name of the tool.
const TOOL_NAME: &str = "mixture_of_agents";
/// Timeout of the tool, for all layers together.
const MAX_RUN_TIME: Duration = Duration::from_secs(60 * 60);
/// Maximum size of a question.
const MAX_QUESTION_BYTES: usize = 400_000;

/// Asks several models one question.
#[derive(Debug)]
pub(crate) struct MixtureOfAgents {
    pool: Arc<SubagentPool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Complete question; the models see nothing else and have no tools
    user_prompt: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct MixtureAnswer {
    success: bool,
    response: String,
    models_used: ModelsUsed,
    /// Every request made, with its usage.
    opinions: Vec<ModelOpinion>,
    failed: usize,
    tokens: TokenCounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    duration_seconds: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ModelsUsed {
    reference_models: Vec<String>,
    aggregator_model: String,
}

impl MixtureOfAgents {
    pub(crate) fn new(crew: Arc<SubagentPool>) -> Self {
        Self { pool: crew }
    }
}

impl Tool for MixtureOfAgents {
    type Args = Args;
    type Output = MixtureAnswer;

    fn spec() -> ToolSpec {
        ToolSpec::new(TOOL_NAME, "moa")
            .emoji("🧠")
            .description(
                "Ask several models one hard question at once and get one merged answer. Costs \
                 several requests: for hard reasoning, mathematics and design, not for what \
                 one model or a tool can answer.",
            )
            .parameter_alias("prompt", "user_prompt")
            .parameter_alias("question", "user_prompt")
            .timeout(MAX_RUN_TIME)
            .keyword("several models")
            .keyword("ensemble")
            .keyword("reasoning")
            .keyword("moa")
            .example(ToolExample::new(
                "A hard question",
                r#"{"user_prompt":"Is there a regular polygon that tiles the plane beside those with 3, 4 and 6 sides? Prove it."}"#,
            ))
    }

    fn effects(&self, _args: &Args, _at: &WorkingDir) -> Vec<Effect> {
        vec![Effect::name(Scope::AGENT_DELEGATE, TOOL_NAME)]
    }

    async fn check(&self) -> Availability {
        self.pool.host.availability()
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<MixtureAnswer, ToolError> {
        let question = args.user_prompt.trim();
        if question.is_empty() {
            return Err(ToolError::invalid("`user_prompt` is empty"));
        }
        if question.len() > MAX_QUESTION_BYTES {
            return Err(ToolError::limit(format!(
                "`user_prompt` is longer than {MAX_QUESTION_BYTES} bytes"
            )));
        }
        let standing = cx.ports.get::<ParentAgent>();
        let mut asking = MixtureSession::new(&self.pool.mixture, standing, cx);
        asking.check_budget()?;
        let began = Instant::now();
        let voices = self.resolve_references(&mut asking).await?;
        let answers = self.collect_answers(question, voices, &mut asking).await?;
        let (aggregator, response) = self.aggregate(question, &answers, &mut asking).await?;
        let opinions = std::mem::take(&mut asking.opinions);
        let failed = opinions.iter().filter(|opinion| opinion.error.is_some()).count();
        let reference_models = answers.iter().map(|(voice, _)| voice.label.clone()).collect();
        let tokens = TokenCounts { input: asking.usage.input, output: asking.usage.output };
        Ok(MixtureAnswer {
            success: true,
            response,
            models_used: ModelsUsed { reference_models, aggregator_model: aggregator },
            opinions,
            failed,
            tokens,
            cost_usd: asking.usage.cost,
            duration_seconds: rounded_seconds(began.elapsed()),
            notes: asking.notes,
        })
    }
}

impl MixtureOfAgents {
    /// Resolves the reference models. One that cannot be resolved counts as one
    /// that failed.
    async fn resolve_references(
        &self,
        asking: &mut MixtureSession<'_>,
    ) -> Result<Vec<MixtureModel>, ToolError> {
        let mixture = &self.pool.mixture;
        if mixture.references.is_empty() {
            let (model, manner) = self.session_model(asking).await?;
            let name = model.name().to_owned();
            asking.notes.push(format!(
                "No reference models are configured (moa.reference_models), so {name} was asked at several \
                 temperatures"
            ));
            let voice = |temperature: &f64| MixtureModel {
                label: format!("{name} @ {temperature}"),
                model: Arc::clone(&model),
                model_params: manner.clone(),
                temperature: Some(*temperature),
            };
            return Ok(mixture.fallback_temperatures.iter().map(voice).collect());
        }
        let mut voices = Vec::new();
        for name in &mixture.references {
            match asking.cx.run_until_cancelled(self.pool.host.model(Some(name))).await? {
                Ok((model, manner)) => voices.push(MixtureModel {
                    label: name.clone(),
                    model,
                    temperature: mixture.reference_temperature.or(manner.temperature),
                    model_params: manner,
                }),
                Err(why) => asking.opinions.push(ModelOpinion::unavailable(name, why)),
            }
        }
        Ok(voices)
    }

    /// Resolves the model of the session.
    async fn session_model(
        &self,
        asking: &MixtureSession<'_>,
    ) -> Result<(Arc<dyn hermes_llm::LanguageModel>, hermes_agent::ModelParams), ToolError> {
        match &asking.parent_agent {
            Some(standing) => Ok((Arc::clone(&standing.model), standing.params.clone())),
            None => {
                let found = asking.cx.run_until_cancelled(self.pool.host.model(None)).await?;
                found.map_err(ToolError::unavailable)
            }
        }
    }

    /// Runs all layers; returns the answers of the last one with their models.
    async fn collect_answers(
        &self,
        question: &str,
        mut voices: Vec<MixtureModel>,
        asking: &mut MixtureSession<'_>,
    ) -> Result<Vec<(MixtureModel, String)>, ToolError> {
        let mixture = &self.pool.mixture;
        let layers = mixture.layers.max(1);
        let mut answers: Vec<(MixtureModel, String)> = Vec::new();
        for layer in 1..=layers {
            asking.cx.report_progress(
                Some((layer - 1) as f64 / (layers + 1) as f64),
                format!("asking {} models", voices.len()),
            );
            let texts: Vec<&str> = answers.iter().map(|(_, text)| text.as_str()).collect();
            let messages = prompts::reference_messages(question, &texts);
            let heard = asking.ask_all(layer, &voices, messages).await?;
            if heard.len() < mixture.min_answers.max(1) {
                // Fall back to the answers of the previous layer.
                if layer > 1 {
                    asking.notes.push(format!(
                        "Too few models answered in layer {layer}; the \
                        previous layer was used"
                    ));
                    break;
                }
                return Err(too_few_answers(
                    heard.len(),
                    mixture.min_answers.max(1),
                    &asking.opinions,
                ));
            }
            voices = heard.iter().map(|(voice, _)| voice.clone()).collect();
            answers = heard;
            asking.check_budget()?;
        }
        Ok(answers)
    }

    /// Merges the answers with the aggregator, or with a reference model if the
    /// aggregator fails.
    async fn aggregate(
        &self,
        question: &str,
        answers: &[(MixtureModel, String)],
        asking: &mut MixtureSession<'_>,
    ) -> Result<(String, String), ToolError> {
        let mixture = &self.pool.mixture;
        asking.cx.report_progress(Some(0.9), "merging the answers");
        let chosen = match mixture.aggregator.as_deref() {
            Some(name) => {
                let found = asking.cx.run_until_cancelled(self.pool.host.model(Some(name))).await?;
                found.map_err(ToolError::unavailable)
            }
            None => self.session_model(asking).await,
        };
        let mut merging: Vec<MixtureModel> = Vec::new();
        match chosen {
            Ok((model, manner)) => merging.push(MixtureModel {
                label: mixture.aggregator.clone().unwrap_or_else(|| model.name().to_owned()),
                model,
                temperature: mixture.aggregator_temperature.or(manner.temperature),
                model_params: manner,
            }),
            Err(error) => {
                let name = mixture.aggregator.as_deref().unwrap_or("the session's model");
                asking.opinions.push(ModelOpinion::unavailable(name, error.message().to_owned()));
            }
        }
        merging.extend(answers.iter().map(|(voice, _)| MixtureModel {
            temperature: mixture.aggregator_temperature,
            ..voice.clone()
        }));
        let texts: Vec<&str> = answers.iter().map(|(_, text)| text.as_str()).collect();
        let messages = prompts::aggregator_messages(question, &texts);
        for (at, voice) in merging.iter().enumerate() {
            if let Some(text) = asking.ask_one(0, voice, messages.clone()).await? {
                if at > 0 {
                    asking
                        .notes
                        .push("The aggregator failed; a reference model merged the answers".into());
                }
                return Ok((voice.label.clone(), text));
            }
        }
        let given: Vec<_> = answers
            .iter()
            .map(|(voice, text)| json!({"model": voice.label, "answer": text}))
            .collect();
        let error = ToolError::new(
            hermes_core::ErrorKind::Network,
            "The models answered, but no model could merge the answers",
        );
        Err(error
            .with_hint("Use the individual answers below.")
            .with("answers", given)
            .with("opinions", json!(asking.opinions)))
    }
}

fn too_few_answers(heard: usize, least: usize, opinions: &[ModelOpinion]) -> ToolError {
    let why = opinions.iter().find_map(|opinion| opinion.error.as_deref()).unwrap_or("no models");
    let message = format!("{heard} models answered, at least {least} required: {why}");
    let kind = opinions
        .iter()
        .find_map(|opinion| opinion.kind)
        .unwrap_or(ModelErrorKind::ModelUnavailable);
    let fault = hermes_llm::ModelError::new(kind, message);
    ToolError::from(fault)
        .with_hint("Check the models under `moa` in config.yaml, or answer yourself.")
        .with("opinions", json!(opinions))
}
