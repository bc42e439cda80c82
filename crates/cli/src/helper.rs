//! Models that help beside the conversation: one looks at questions first, in
//! approval mode `smart`; one sums up what a search has found.

use std::sync::Arc;
use std::time::Duration;

use hermes::core::BoxFuture;
use hermes::policy::ApprovalReviewer;
use hermes_config::ResolvedConfig;
use hermes_history::Summarizer;
use hermes_llm::{ToolChoice, ModelError, ChatMessage, LanguageModel, ModelRequest};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::models::{Chosen, Models};

/// How long it may take; after that the person is asked.
const PATIENCE: Duration = Duration::from_secs(30);
/// One word is wanted, but some models think before they say it.
const ROOM: u64 = 2_048;

/// Asks the model of a task in `auxiliary`, or the usual one.
pub(crate) struct Helper {
    models: Models,
    wanted: Option<String>,
    found: OnceCell<(Arc<dyn LanguageModel>, String)>,
}

impl Helper {
    /// For that task, such as `approval`.
    pub(crate) fn new(models: Models, config: &ResolvedConfig, task: &str) -> Self {
        let said = |name: &str| {
            let path = format!("/auxiliary/{task}/{name}");
            let said = config.document.value().pointer(&path).and_then(Value::as_str);
            said.filter(|said| !matches!(*said, "" | "auto")).map(str::to_owned)
        };
        let wanted = said("model").map(|model| match said("provider") {
            Some(provider) => format!("{provider}:{model}"),
            None => model,
        });
        Self { models, wanted, found: OnceCell::new() }
    }

    async fn ask(&self, prompt: String) -> Result<String, ModelError> {
        let find = || async {
            let found = self.models.find(self.wanted.as_deref(), Arc::new(|_| {})).await;
            found.map(|Chosen { found, manner }| (found.model, manner.model))
        };
        let (model, name) = self.found.get_or_try_init(find).await?;
        let request = ModelRequest {
            choice: ToolChoice::None,
            max_tokens: Some(ROOM),
            temperature: Some(0.0),
            ..ModelRequest::new(name.clone(), vec![ChatMessage::user(prompt)])
        };
        Ok(model.reply(&request).await?.text)
    }
}

impl ApprovalReviewer for Helper {
    fn review(&self, prompt: String) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move { tokio::time::timeout(PATIENCE, self.ask(prompt)).await.ok()?.ok() })
    }
}

impl Summarizer for Helper {
    fn summarize(&self, prompt: String) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move { self.ask(prompt).await.map_err(|fault| fault.message) })
    }
}
