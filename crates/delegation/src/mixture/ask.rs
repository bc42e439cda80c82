//! Asking models, with what it takes written down.

use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt as _;
use futures_util::stream;
use hermes_agent::{ModelParams, ParentAgent};
use hermes_core::{BoxFuture, ToolContext, ToolError};
use hermes_llm::{ModelError, ModelErrorKind, FinishReason, ChatMessage, LanguageModel, ModelReply, ModelRequest, TokenUsage};
use serde::Serialize;

use crate::order::used_up;
use crate::report::Tokens;
use crate::settings::Mixture;
use crate::text::seconds;

/// A model that is asked.
#[derive(Debug, Clone)]
pub(super) struct Voice {
    pub(super) label: String,
    pub(super) model: Arc<dyn LanguageModel>,
    pub(super) manner: ModelParams,
    pub(super) temperature: Option<f64>,
}

/// One request, and what came of it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Opinion {
    model: String,
    role: &'static str,
    #[serde(skip_serializing_if = "is_zero")]
    layer: usize,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    tokens: Tokens,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    duration_seconds: f64,
    #[serde(skip)]
    pub(super) kind: Option<ModelErrorKind>,
}

// Taken by reference, as serde hands it over.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(layer: &usize) -> bool {
    *layer == 0
}

impl Opinion {
    /// Of a model that could not even be asked.
    pub(super) fn unheard(model: &str, why: String) -> Self {
        Self {
            model: model.to_owned(),
            role: "reference",
            layer: 0,
            status: "failed",
            error: Some(why),
            tokens: Tokens::default(),
            cost_usd: None,
            duration_seconds: 0.0,
            kind: Some(ModelErrorKind::ModelUnavailable),
        }
    }
}

/// What a request has come to.
struct Heard {
    answer: Result<String, ModelError>,
    usage: TokenUsage,
    opinion: Opinion,
}

/// Asks models, and keeps count.
pub(super) struct Asking<'a> {
    mixture: &'a Mixture,
    pub(super) standing: Option<Arc<ParentAgent>>,
    pub(super) cx: &'a ToolContext,
    pub(super) opinions: Vec<Opinion>,
    pub(super) usage: TokenUsage,
    pub(super) notes: Vec<String>,
}

impl<'a> Asking<'a> {
    pub(super) fn new(
        mixture: &'a Mixture,
        standing: Option<Arc<ParentAgent>>,
        cx: &'a ToolContext,
    ) -> Self {
        Self {
            mixture,
            standing,
            cx,
            opinions: Vec::new(),
            usage: TokenUsage::default(),
            notes: Vec::new(),
        }
    }

    /// An error if there is nothing left to ask with.
    pub(super) fn within_budget(&self) -> Result<(), ToolError> {
        let standing = self.standing.as_ref();
        match standing.and_then(|standing| used_up(&standing.budget, false)) {
            None => Ok(()),
            Some(what) => Err(ToolError::limit(format!("The task has used up {what}"))
                .with_hint("Answer with what is known.")),
        }
    }

    /// Asks all of them, side by side. Those that have answered, in their
    /// order.
    pub(super) async fn ask_all(
        &mut self,
        layer: usize,
        voices: &[Voice],
        messages: Vec<ChatMessage>,
    ) -> Result<Vec<(Voice, String)>, ToolError> {
        let mixture = self.mixture;
        // Boxed, since the compiler cannot tell otherwise that it may move between threads.
        let standing = self.standing.as_deref();
        let requests: Vec<BoxFuture<'_, Heard>> = voices
            .iter()
            .map(|voice| {
                let asked = ask(mixture, standing, layer, voice, messages.clone());
                Box::pin(asked) as BoxFuture<'_, _>
            })
            .collect();
        let all = stream::iter(requests).buffered(mixture.at_once.max(1)).collect::<Vec<_>>();
        let all = self.cx.run_until_cancelled(all).await?;
        let mut heard = Vec::new();
        for (voice, one) in voices.iter().zip(all) {
            if let Some(text) = self.note(one) {
                heard.push((voice.clone(), text));
            }
        }
        Ok(heard)
    }

    /// Asks one of them; layer 0 is the aggregator's.
    pub(super) async fn ask_one(
        &mut self,
        layer: usize,
        voice: &Voice,
        messages: Vec<ChatMessage>,
    ) -> Result<Option<String>, ToolError> {
        let asked = ask(self.mixture, self.standing.as_deref(), layer, voice, messages);
        let one = self.cx.run_until_cancelled(asked).await?;
        Ok(self.note(one))
    }

    /// Writes down what a request took.
    fn note(&mut self, heard: Heard) -> Option<String> {
        self.usage += heard.usage;
        self.opinions.push(heard.opinion);
        heard.answer.ok()
    }
}

/// Asks a model. Whatever happens is what it has said, and is billed at once:
/// the others may be cut short.
async fn ask(
    mixture: &Mixture,
    standing: Option<&ParentAgent>,
    layer: usize,
    voice: &Voice,
    messages: Vec<ChatMessage>,
) -> Heard {
    let began = Instant::now();
    let request = ModelRequest {
        max_tokens: Some(voice.manner.max_tokens.unwrap_or(mixture.max_tokens)),
        temperature: voice.temperature,
        effort: voice.manner.effort.clone(),
        idle_timeout: Some(mixture.patience),
        ..ModelRequest::new(voice.manner.model.clone(), messages)
    };
    let reply = reply(mixture, voice, &request).await;
    let usage = reply.as_ref().map(|reply| reply.usage).unwrap_or_default();
    if let Some(standing) = standing {
        standing.spend(usage);
    }
    let answer = reply.and_then(text_of);
    let error = answer.as_ref().err();
    let opinion = Opinion {
        model: voice.label.clone(),
        role: if layer == 0 { "aggregator" } else { "reference" },
        layer,
        status: if error.is_none() { "answered" } else { "failed" },
        error: error.map(|fault| fault.message.clone()),
        tokens: Tokens { input: usage.input, output: usage.output },
        cost_usd: usage.cost,
        duration_seconds: seconds(began.elapsed()),
        kind: error.map(|fault| fault.kind),
    };
    Heard { answer, usage, opinion }
}

async fn reply(mixture: &Mixture, voice: &Voice, request: &ModelRequest) -> Result<ModelReply, ModelError> {
    let began = Instant::now();
    let late = || {
        let mut message = format!("It did not answer within {} s", seconds(mixture.patience));
        let trouble = voice.model.last_failure().filter(|(at, _)| *at >= began);
        if let Some((_, why)) = trouble {
            message.push_str(&format!("; the last attempt failed: {why}"));
        }
        ModelError::new(ModelErrorKind::Timeout, message)
    };
    let asked = tokio::time::timeout(mixture.patience, voice.model.reply(request)).await;
    asked.unwrap_or_else(|_| Err(late()))
}

fn text_of(reply: ModelReply) -> Result<String, ModelError> {
    if reply.text.trim().is_empty() {
        let message = match reply.finish {
            FinishReason::Filtered => "The server held its answer back",
            FinishReason::Length => "It thought until there was no room for an answer",
            _ => "It answered nothing",
        };
        return Err(ModelError::new(ModelErrorKind::Protocol, message));
    }
    Ok(reply.text)
}
