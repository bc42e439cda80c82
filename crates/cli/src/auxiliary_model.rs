//! Auxiliary models: one reviews approval requests in approval mode `smart`,
//! one summarizes search results.

use std::sync::Arc;
use std::time::Duration;

use hermes::core::BoxFuture;
use hermes::policy::ApprovalReviewer;
use hermes_config::ResolvedConfig;
use hermes_history::Summarizer;
use hermes_llm::{ChatMessage, LanguageModel, ModelError, ModelRequest, ToolChoice};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::models::{ModelFinder, SelectedModel};

/// Timeout of a review; afterwards the user is asked.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);
/// Only one word is needed, but some models reason first.
const MAX_REPLY_TOKENS: u64 = 2_048;

/// The model of a task in `auxiliary`, or the default model.
pub(crate) struct AuxiliaryModel {
    models: ModelFinder,
    model_name: Option<String>,
    cached_model: OnceCell<(Arc<dyn LanguageModel>, String)>,
}

impl AuxiliaryModel {
    /// Creates the model for a task such as `approval`.
    pub(crate) fn new(models: ModelFinder, config: &ResolvedConfig, task: &str) -> Self {
        let said = |name: &str| {
            let path = format!("/auxiliary/{task}/{name}");
            let said = config.values().pointer(&path).and_then(Value::as_str);
            said.filter(|said| !matches!(*said, "" | "auto")).map(str::to_owned)
        };
        let wanted = said("model").map(|model| match said("provider") {
            Some(provider) => format!("{provider}:{model}"),
            None => model,
        });
        Self { models, model_name: wanted, cached_model: OnceCell::new() }
    }

    async fn ask(&self, prompt: String) -> Result<String, ModelError> {
        let find = || async {
            let found = self.models.find(self.model_name.as_deref(), Arc::new(|_| {})).await;
            found.map(|SelectedModel { found, params: manner }| (found.model, manner.model))
        };
        let (model, name) = self.cached_model.get_or_try_init(find).await?;
        let request = ModelRequest {
            choice: ToolChoice::None,
            max_tokens: Some(MAX_REPLY_TOKENS),
            temperature: Some(0.0),
            ..ModelRequest::new(name.clone(), vec![ChatMessage::user(prompt)])
        };
        Ok(model.reply(&request).await?.text)
    }
}

impl ApprovalReviewer for AuxiliaryModel {
    fn review(&self, prompt: String) -> BoxFuture<'_, Option<String>> {
        Box::pin(
            async move { tokio::time::timeout(REPLY_TIMEOUT, self.ask(prompt)).await.ok()?.ok() },
        )
    }
}

impl Summarizer for AuxiliaryModel {
    fn summarize(&self, prompt: String) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move { self.ask(prompt).await.map_err(|fault| fault.message) })
    }
}
