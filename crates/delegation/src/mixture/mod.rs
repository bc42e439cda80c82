//! One question to several models, and one answer made of theirs.

mod ask;
mod words;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_agent::ParentAgent;
use hermes_core::{
    Availability, Effect, ToolExample, JsonSchema, Scope, Tool, ToolContext, ToolError, ToolSpec,
    WorkingDir,
};
use hermes_llm::ModelErrorKind;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::crew::Crew;
use crate::report::Tokens;
use crate::text::seconds;
use ask::{Asking, Opinion, Voice};

/// The name of the tool.
const NAME: &str = "mixture_of_agents";
/// How long it takes at most, however many layers there are.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// The longest question.
const LONG: usize = 400_000;

/// Puts one question to several models.
#[derive(Debug)]
pub(crate) struct MixtureOfAgents {
    crew: Arc<Crew>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The whole question with all that is needed to answer it; the models see nothing else and have no tools
    user_prompt: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    success: bool,
    response: String,
    models_used: Used,
    /// Every request that was made, with what it took.
    opinions: Vec<Opinion>,
    failed: usize,
    tokens: Tokens,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    duration_seconds: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Used {
    reference_models: Vec<String>,
    aggregator_model: String,
}

impl MixtureOfAgents {
    pub(crate) fn new(crew: Arc<Crew>) -> Self {
        Self { crew }
    }
}

impl Tool for MixtureOfAgents {
    type Args = Args;
    type Output = Answer;

    fn spec() -> ToolSpec {
        ToolSpec::new(NAME, "moa")
            .emoji("🧠")
            .description(
                "Put one hard question to several models at once and get one answer made of theirs. Costs \
                 several requests: for hard reasoning, mathematics and design, not for what one model or a tool \
                 can answer.",
            )
            .parameter_alias("prompt", "user_prompt")
            .parameter_alias("question", "user_prompt")
            .timeout(LONGEST)
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
        vec![Effect::name(Scope::AGENT_DELEGATE, NAME)]
    }

    async fn check(&self) -> Availability {
        self.crew.supply.availability()
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Answer, ToolError> {
        let question = args.user_prompt.trim();
        if question.is_empty() {
            return Err(ToolError::invalid("The question is empty"));
        }
        if question.len() > LONG {
            return Err(ToolError::limit(format!("The question is longer than {LONG} bytes")));
        }
        let standing = cx.ports.get::<ParentAgent>();
        let mut asking = Asking::new(&self.crew.mixture, standing, cx);
        asking.within_budget()?;
        let began = Instant::now();
        let voices = self.voices(&mut asking).await?;
        let answers = self.hear(question, voices, &mut asking).await?;
        let (aggregator, response) = self.merge(question, &answers, &mut asking).await?;
        let opinions = std::mem::take(&mut asking.opinions);
        let failed = opinions.iter().filter(|opinion| opinion.error.is_some()).count();
        let reference_models = answers.iter().map(|(voice, _)| voice.label.clone()).collect();
        let tokens = Tokens { input: asking.usage.input, output: asking.usage.output };
        Ok(Answer {
            success: true,
            response,
            models_used: Used { reference_models, aggregator_model: aggregator },
            opinions,
            failed,
            tokens,
            cost_usd: asking.usage.cost,
            duration_seconds: seconds(began.elapsed()),
            notes: asking.notes,
        })
    }
}

impl MixtureOfAgents {
    /// The models that are asked. One that cannot be had counts as one that
    /// does not answer.
    async fn voices(&self, asking: &mut Asking<'_>) -> Result<Vec<Voice>, ToolError> {
        let mixture = &self.crew.mixture;
        if mixture.references.is_empty() {
            let (model, manner) = self.own(asking).await?;
            let name = model.name().to_owned();
            asking.notes.push(format!(
                "No reference models are configured (moa.reference_models), so {name} was asked at several \
                 temperatures"
            ));
            let voice = |temperature: &f64| Voice {
                label: format!("{name} @ {temperature}"),
                model: Arc::clone(&model),
                manner: manner.clone(),
                temperature: Some(*temperature),
            };
            return Ok(mixture.spread.iter().map(voice).collect());
        }
        let mut voices = Vec::new();
        for name in &mixture.references {
            match asking.cx.run_until_cancelled(self.crew.supply.model(Some(name))).await? {
                Ok((model, manner)) => voices.push(Voice {
                    label: name.clone(),
                    model,
                    temperature: mixture.reference_temperature.or(manner.temperature),
                    manner,
                }),
                Err(why) => asking.opinions.push(Opinion::unheard(name, why)),
            }
        }
        Ok(voices)
    }

    /// The model of the session.
    async fn own(
        &self,
        asking: &Asking<'_>,
    ) -> Result<(Arc<dyn hermes_llm::LanguageModel>, hermes_agent::ModelParams), ToolError> {
        match &asking.standing {
            Some(standing) => Ok((Arc::clone(&standing.model), standing.params.clone())),
            None => {
                let found = asking.cx.run_until_cancelled(self.crew.supply.model(None)).await?;
                found.map_err(ToolError::unavailable)
            }
        }
    }

    /// The answers of the last layer, each with who gave it.
    async fn hear(
        &self,
        question: &str,
        mut voices: Vec<Voice>,
        asking: &mut Asking<'_>,
    ) -> Result<Vec<(Voice, String)>, ToolError> {
        let mixture = &self.crew.mixture;
        let layers = mixture.layers.max(1);
        let mut answers: Vec<(Voice, String)> = Vec::new();
        for layer in 1..=layers {
            asking.cx.report_progress(
                Some((layer - 1) as f64 / (layers + 1) as f64),
                format!("{} models are asked", voices.len()),
            );
            let texts: Vec<&str> = answers.iter().map(|(_, text)| text.as_str()).collect();
            let messages = words::reference(question, &texts);
            let heard = asking.ask_all(layer, &voices, messages).await?;
            if heard.len() < mixture.least.max(1) {
                // What was said before is still there.
                if layer > 1 {
                    asking.notes.push(format!("Too few answered in layer {layer}"));
                    break;
                }
                return Err(too_few(heard.len(), mixture.least.max(1), &asking.opinions));
            }
            voices = heard.iter().map(|(voice, _)| voice.clone()).collect();
            answers = heard;
            asking.within_budget()?;
        }
        Ok(answers)
    }

    /// One answer of several: by the aggregator, or if it does not answer by
    /// one that has answered before.
    async fn merge(
        &self,
        question: &str,
        answers: &[(Voice, String)],
        asking: &mut Asking<'_>,
    ) -> Result<(String, String), ToolError> {
        let mixture = &self.crew.mixture;
        asking.cx.report_progress(Some(0.9), "an answer is made of theirs");
        let chosen = match mixture.aggregator.as_deref() {
            Some(name) => {
                let found = asking.cx.run_until_cancelled(self.crew.supply.model(Some(name))).await?;
                found.map_err(ToolError::unavailable)
            }
            None => self.own(asking).await,
        };
        let mut merging: Vec<Voice> = Vec::new();
        match chosen {
            Ok((model, manner)) => merging.push(Voice {
                label: mixture.aggregator.clone().unwrap_or_else(|| model.name().to_owned()),
                model,
                temperature: mixture.aggregator_temperature.or(manner.temperature),
                manner,
            }),
            Err(error) => {
                let name = mixture.aggregator.as_deref().unwrap_or("the session's model");
                asking.opinions.push(Opinion::unheard(name, error.message().to_owned()));
            }
        }
        merging.extend(answers.iter().map(|(voice, _)| Voice {
            temperature: mixture.aggregator_temperature,
            ..voice.clone()
        }));
        let texts: Vec<&str> = answers.iter().map(|(_, text)| text.as_str()).collect();
        let messages = words::aggregator(question, &texts);
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

fn too_few(heard: usize, least: usize, opinions: &[Opinion]) -> ToolError {
    let why = opinions.iter().find_map(|opinion| opinion.error.as_deref()).unwrap_or("no models");
    let message = format!("{heard} models have answered, {least} must: {why}");
    let kind = opinions.iter().find_map(|opinion| opinion.kind).unwrap_or(ModelErrorKind::ModelUnavailable);
    let fault = hermes_llm::ModelError::new(kind, message);
    ToolError::from(fault)
        .with_hint("Check the models under `moa` in config.yaml, or answer yourself.")
        .with("opinions", json!(opinions))
}
