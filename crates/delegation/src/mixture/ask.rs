//! Requests to the models of a mixture, with usage accounting.

use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt as _;
use futures_util::stream;
use hermes_agent::{ModelParams, ParentAgent};
use hermes_core::{BoxFuture, ToolContext, ToolError};
use hermes_llm::{
    ChatMessage, FinishReason, LanguageModel, ModelError, ModelErrorKind, ModelReply, ModelRequest,
    TokenUsage,
};
use serde::Serialize;

use crate::report::TokenCounts;
use crate::rounding::rounded_seconds;
use crate::settings::MixtureSettings;
use crate::task::exhausted_resource;

/// A model of the mixture and its parameters.
#[derive(Debug, Clone)]
pub(super) struct MixtureModel {
    pub(super) label: String,
    pub(super) model: Arc<dyn LanguageModel>,
    pub(super) model_params: ModelParams,
    pub(super) temperature: Option<f64>,
}

/// Record of one request.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ModelOpinion {
    model: String,
    role: &'static str,
    #[serde(skip_serializing_if = "is_zero")]
    layer: usize,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    tokens: TokenCounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    duration_seconds: f64,
    #[serde(skip)]
    pub(super) kind: Option<ModelErrorKind>,
}

// serde passes the value by reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(layer: &usize) -> bool {
    *layer == 0
}

impl ModelOpinion {
    /// Record of a model that could not be resolved.
    pub(super) fn unavailable(model: &str, why: String) -> Self {
        Self {
            model: model.to_owned(),
            role: "reference",
            layer: 0,
            status: "failed",
            error: Some(why),
            tokens: TokenCounts::default(),
            cost_usd: None,
            duration_seconds: 0.0,
            kind: Some(ModelErrorKind::ModelUnavailable),
        }
    }
}

/// Outcome of one request.
struct ModelAnswer {
    answer: Result<String, ModelError>,
    usage: TokenUsage,
    opinion: ModelOpinion,
}

/// Sends the requests of one call and sums their usage.
pub(super) struct MixtureSession<'a> {
    mixture: &'a MixtureSettings,
    pub(super) parent_agent: Option<Arc<ParentAgent>>,
    pub(super) cx: &'a ToolContext,
    pub(super) opinions: Vec<ModelOpinion>,
    pub(super) usage: TokenUsage,
    pub(super) notes: Vec<String>,
}

impl<'a> MixtureSession<'a> {
    pub(super) fn new(
        mixture: &'a MixtureSettings,
        standing: Option<Arc<ParentAgent>>,
        cx: &'a ToolContext,
    ) -> Self {
        Self {
            mixture,
            parent_agent: standing,
            cx,
            opinions: Vec::new(),
            usage: TokenUsage::default(),
            notes: Vec::new(),
        }
    }

    /// Fails if the budget is exhausted.
    pub(super) fn check_budget(&self) -> Result<(), ToolError> {
        let standing = self.parent_agent.as_ref();
        match standing.and_then(|standing| exhausted_resource(&standing.budget, false)) {
            None => Ok(()),
            Some(what) => Err(ToolError::limit(format!("The task has used up {what}"))
                .with_hint("Answer with what you have.")),
        }
    }

    /// Asks all models concurrently; returns the answers received, in order.
    pub(super) async fn ask_all(
        &mut self,
        layer: usize,
        voices: &[MixtureModel],
        messages: Vec<ChatMessage>,
    ) -> Result<Vec<(MixtureModel, String)>, ToolError> {
        let mixture = self.mixture;
        // Boxed: otherwise the compiler cannot prove the future is `Send`.
        let standing = self.parent_agent.as_deref();
        let requests: Vec<BoxFuture<'_, ModelAnswer>> = voices
            .iter()
            .map(|voice| {
                let asked = ask_model(mixture, standing, layer, voice, messages.clone());
                Box::pin(asked) as BoxFuture<'_, _>
            })
            .collect();
        let all = stream::iter(requests).buffered(mixture.max_parallel.max(1)).collect::<Vec<_>>();
        let all = self.cx.run_until_cancelled(all).await?;
        let mut heard = Vec::new();
        for (voice, one) in voices.iter().zip(all) {
            if let Some(text) = self.record(one) {
                heard.push((voice.clone(), text));
            }
        }
        Ok(heard)
    }

    /// Asks one model; layer 0 is the aggregator.
    pub(super) async fn ask_one(
        &mut self,
        layer: usize,
        voice: &MixtureModel,
        messages: Vec<ChatMessage>,
    ) -> Result<Option<String>, ToolError> {
        let asked = ask_model(self.mixture, self.parent_agent.as_deref(), layer, voice, messages);
        let one = self.cx.run_until_cancelled(asked).await?;
        Ok(self.record(one))
    }

    /// Records the usage of a request and returns its answer.
    fn record(&mut self, heard: ModelAnswer) -> Option<String> {
        self.usage += heard.usage;
        self.opinions.push(heard.opinion);
        heard.answer.ok()
    }
}

/// Asks a model. A failure is part of the answer, and usage is charged at once
/// because the other requests may be cancelled.
async fn ask_model(
    mixture: &MixtureSettings,
    standing: Option<&ParentAgent>,
    layer: usize,
    voice: &MixtureModel,
    messages: Vec<ChatMessage>,
) -> ModelAnswer {
    let began = Instant::now();
    let request = ModelRequest {
        max_tokens: Some(voice.model_params.max_tokens.unwrap_or(mixture.max_tokens)),
        temperature: voice.temperature,
        effort: voice.model_params.effort.clone(),
        idle_timeout: Some(mixture.reply_timeout),
        ..ModelRequest::new(voice.model_params.model.clone(), messages)
    };
    let reply = request_reply(mixture, voice, &request).await;
    let usage = reply.as_ref().map(|reply| reply.usage).unwrap_or_default();
    if let Some(standing) = standing {
        standing.spend(usage);
    }
    let answer = reply.and_then(answer_text);
    let error = answer.as_ref().err();
    let opinion = ModelOpinion {
        model: voice.label.clone(),
        role: if layer == 0 { "aggregator" } else { "reference" },
        layer,
        status: if error.is_none() { "answered" } else { "failed" },
        error: error.map(|fault| fault.message.clone()),
        tokens: TokenCounts { input: usage.input, output: usage.output },
        cost_usd: usage.cost,
        duration_seconds: rounded_seconds(began.elapsed()),
        kind: error.map(|fault| fault.kind),
    };
    ModelAnswer { answer, usage, opinion }
}

async fn request_reply(
    mixture: &MixtureSettings,
    voice: &MixtureModel,
    request: &ModelRequest,
) -> Result<ModelReply, ModelError> {
    let began = Instant::now();
    let late = || {
        let mut message = format!("No answer within {} s", rounded_seconds(mixture.reply_timeout));
        let trouble = voice.model.last_failure().filter(|(at, _)| *at >= began);
        if let Some((_, why)) = trouble {
            message.push_str(&format!("; the last attempt failed: {why}"));
        }
        ModelError::new(ModelErrorKind::Timeout, message)
    };
    let asked = tokio::time::timeout(mixture.reply_timeout, voice.model.reply(request)).await;
    asked.unwrap_or_else(|_| Err(late()))
}

fn answer_text(reply: ModelReply) -> Result<String, ModelError> {
    if reply.text.trim().is_empty() {
        let message = match reply.finish {
            FinishReason::Filtered => "The server withheld the answer (content filter)",
            FinishReason::Length => {
                "The model spent its output tokens on reasoning and gave \
                no answer"
            }
            _ => "The model returned an empty answer",
        };
        return Err(ModelError::new(ModelErrorKind::Protocol, message));
    }
    Ok(reply.text)
}
