//! A registered tool: what it says of itself, with everything derived from
//! that computed once, when first needed.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use hermes_core::{DynTool, ToolError, ToolSpec};
use hermes_schema::Schema;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::registry::Owner;

/// A tool in the registry.
pub struct Entry {
    id: u64,
    tool: Arc<dyn DynTool>,
    owner: Owner,
    schema: OnceLock<Schema>,
    definition: OnceLock<Arc<str>>,
    ready: OnceCell<()>,
    // Counts the calls in flight, so that a removed tool is taken down only
    // when the last of them is through.
    flights: TaskTracker,
}

impl Entry {
    pub(crate) fn new(tool: Arc<dyn DynTool>, owner: Owner) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            tool,
            owner,
            schema: OnceLock::new(),
            definition: OnceLock::new(),
            ready: OnceCell::new(),
            flights: TaskTracker::new(),
        }
    }

    /// What the tool says of itself.
    pub fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    /// Tells this registration from a later one of the same name.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Its canonical name.
    pub fn name(&self) -> &str {
        &self.spec().name
    }

    /// The toolset that owns it.
    pub fn toolset(&self) -> &str {
        &self.spec().toolset
    }

    /// Who registered it.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The tool itself.
    pub fn tool(&self) -> &Arc<dyn DynTool> {
        &self.tool
    }

    /// The schema of its arguments, tidied for models and ready to validate.
    pub fn schema(&self) -> &Schema {
        self.schema.get_or_init(|| Schema::new(hermes_schema::tidy(self.tool.parameters())))
    }

    /// Its definition in the OpenAI format, serialised.
    pub fn definition(&self) -> Arc<str> {
        // A definition that depends on the day's configuration is not kept.
        if let Some(fields) = self.tool.overrides() {
            return self.render(Some(fields)).into();
        }
        self.definition.get_or_init(|| self.render(None).into()).clone()
    }

    /// Name, description and parameters, as a model sees them.
    pub fn function(&self) -> Value {
        self.function_with(self.tool.overrides())
    }

    fn function_with(&self, overrides: Option<Map<String, Value>>) -> Value {
        let mut function = json!({
            "name": self.name(),
            "description": self.spec().description,
            "parameters": self.schema().raw(),
        });
        if let (Value::Object(function), Some(overrides)) = (&mut function, overrides) {
            for (key, value) in overrides {
                // The entry's name always wins: it is how the call comes back.
                if key != "name" {
                    function.insert(key, value);
                }
            }
        }
        function
    }

    fn render(&self, overrides: Option<Map<String, Value>>) -> String {
        json!({ "type": "function", "function": self.function_with(overrides) }).to_string()
    }

    /// Sets the tool up, once.
    pub(crate) async fn ensure_ready(&self) -> Result<(), ToolError> {
        self.ready.get_or_try_init(|| self.tool.setup()).await.copied()
    }

    /// Marks a call as being in flight until the token is dropped.
    pub(crate) fn board(&self) -> TaskTrackerToken {
        self.flights.token()
    }

    /// Waits for the calls in flight, then takes the tool down.
    pub async fn retire(&self) {
        self.flights.close();
        self.flights.wait().await;
        if self.ready.initialized() {
            self.tool.teardown().await;
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({}:{})", self.toolset(), self.name())
    }
}
