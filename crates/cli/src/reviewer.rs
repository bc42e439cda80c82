//! The model that looks at questions first, in approval mode `smart`.

use std::sync::Arc;
use std::time::Duration;

use hermes::core::BoxFuture;
use hermes::policy::Reviewer;
use hermes_config::{Config, Home};
use hermes_llm::{Choice, Message, Model, Request};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::models::{Chosen, Models};

/// How long it may take; after that the person is asked.
const PATIENCE: Duration = Duration::from_secs(30);
/// One word is wanted, but some models think before they say it.
const ROOM: u64 = 2_048;

/// Asks the model of `auxiliary.approval`, or the usual one.
pub(crate) struct ModelReviewer {
    models: Models,
    wanted: Option<String>,
    found: OnceCell<(Arc<dyn Model>, String)>,
}

impl ModelReviewer {
    pub(crate) fn new(home: &Home, config: &Config) -> Self {
        let said = |name: &str| {
            let path = format!("/auxiliary/approval/{name}");
            let said = config.document.value().pointer(&path).and_then(Value::as_str);
            said.filter(|said| !matches!(*said, "" | "auto")).map(str::to_owned)
        };
        let wanted = said("model").map(|model| match said("provider") {
            Some(provider) => format!("{provider}:{model}"),
            None => model,
        });
        Self { models: Models::new(home, config), wanted, found: OnceCell::new() }
    }

    async fn ask(&self, prompt: String) -> Option<String> {
        let find = || async {
            let found = self.models.find(self.wanted.as_deref(), Arc::new(|_| {})).await;
            found.map(|Chosen { found, manner }| (found.model, manner.model))
        };
        let (model, name) = self.found.get_or_try_init(find).await.ok()?;
        let request = Request {
            choice: Choice::None,
            max_tokens: Some(ROOM),
            temperature: Some(0.0),
            ..Request::new(name.clone(), vec![Message::user(prompt)])
        };
        model.reply(&request).await.ok().map(|reply| reply.text)
    }
}

impl Reviewer for ModelReviewer {
    fn review(&self, prompt: String) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            tokio::time::timeout(PATIENCE, self.ask(prompt)).await.ok().flatten()
        })
    }
}
