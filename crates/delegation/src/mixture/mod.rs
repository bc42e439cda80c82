//! One question to several models, and one answer made of theirs.

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
use crate::text::rounded_seconds;
use ask::{MixtureModel, MixtureSession, ModelOpinion};

/// The name of the tool.
const TOOL_NAME: &str = "mixture_of_agents";
/// How long it takes at most, however many layers there are.
const MAX_RUN_TIME: Duration = Duration::from_secs(60 * 60);
/// The longest question.
const MAX_QUESTION_BYTES: usize = 400_000;

/// Puts one question to several models.
#[derive(Debug)]
pub(crate) struct MixtureOfAgents {
    pool: Arc<SubagentPool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The whole question with all that is needed to answer it; the models see nothing else and have no tools
    user_prompt: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct MixtureAnswer {
    success: bool,
    response: String,
    models_used: ModelsUsed,
    /// Every request that was made, with what it took.
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
                "Put one hard question to several models at once and get one answer made of theirs. Costs \
                 several requests: for hard reasoning, mathematics and design, not for what one model or a tool \
                 can answer.",
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
            return Err(ToolError::invalid("The question is empty"));
        }
        if question.len() > MAX_QUESTION_BYTES {
            return Err(ToolError::limit(format!(
                "The question is longer than {MAX_QUESTION_BYTES} bytes"
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
    /// The models that are asked. One that cannot be had counts as one that
    /// does not answer.
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

    /// The model of the session.
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

    /// The answers of the last layer, each with who gave it.
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
                format!("{} models are asked", voices.len()),
            );
            let texts: Vec<&str> = answers.iter().map(|(_, text)| text.as_str()).collect();
            let messages = prompts::reference_messages(question, &texts);
            let heard = asking.ask_all(layer, &voices, messages).await?;
            if heard.len() < mixture.min_answers.max(1) {
                // What was said before is still there.
                if layer > 1 {
                    asking.notes.push(format!("Too few answered in layer {layer}"));
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

    /// One answer of several: by the aggregator, or if it does not answer by
    /// one that has answered before.
    async fn aggregate(
        &self,
        question: &str,
        answers: &[(MixtureModel, String)],
        asking: &mut MixtureSession<'_>,
    ) -> Result<(String, String), ToolError> {
        let mixture = &self.pool.mixture;
        asking.cx.report_progress(Some(0.9), "an answer is made of theirs");
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
                        .push("The aggregator did not answer; another one took its place".into());
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
            "The models have answered, but none could make one answer of theirs",
        );
        Err(error
            .with_hint("Their answers are below; use them as they are.")
            .with("answers", given)
            .with("opinions", json!(asking.opinions)))
    }
}

fn too_few_answers(heard: usize, least: usize, opinions: &[ModelOpinion]) -> ToolError {
    let why = opinions.iter().find_map(|opinion| opinion.error.as_deref()).unwrap_or("no models");
    let message = format!("{heard} models have answered, {least} must: {why}");
    let kind = opinions
        .iter()
        .find_map(|opinion| opinion.kind)
        .unwrap_or(ModelErrorKind::ModelUnavailable);
    let fault = hermes_llm::ModelError::new(kind, message);
    ToolError::from(fault)
        .with_hint("Check the models under `moa` in config.yaml, or answer yourself.")
        .with("opinions", json!(opinions))
}
