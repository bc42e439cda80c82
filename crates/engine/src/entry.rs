//! A registered tool, with everything derived from its spec computed lazily and
//! once.

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hermes_core::{DynTool, ToolError, ToolSpec};
use hermes_schema::Schema;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::registry::ToolOwner;

/// How long retiring a tool waits for its calls in flight, and then for its
/// teardown.
pub(crate) const RETIRE_TIMEOUT: Duration = Duration::from_secs(3);

// Lifecycle of a tool, as bits of `ToolEntry::lifecycle`. One atomic, so
// concurrent setup and retirement agree on their order.
const LIFECYCLE_SET_UP: u8 = 1;
const LIFECYCLE_RETIRING: u8 = 2;
const LIFECYCLE_RETIRED: u8 = 4;
const LIFECYCLE_TORN_DOWN: u8 = 8;

/// A tool in the registry.
pub struct ToolEntry {
    id: u64,
    tool: Arc<dyn DynTool>,
    owner: ToolOwner,
    schema: OnceLock<Schema>,
    definition: OnceLock<Arc<str>>,
    ready: OnceCell<()>,
    retired: OnceCell<()>,
    lifecycle: AtomicU8,
    // Calls in flight; a removed tool is torn down only after the last one.
    in_flight: TaskTracker,
}

impl ToolEntry {
    pub(crate) fn new(tool: Arc<dyn DynTool>, owner: ToolOwner) -> Self {
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            tool,
            owner,
            schema: OnceLock::new(),
            definition: OnceLock::new(),
            ready: OnceCell::new(),
            retired: OnceCell::new(),
            lifecycle: AtomicU8::new(0),
            in_flight: TaskTracker::new(),
        }
    }

    /// The tool's spec.
    pub fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    /// Distinguishes this registration from a later one of the same name.
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

    /// The owner that registered it.
    pub fn owner(&self) -> &ToolOwner {
        &self.owner
    }

    /// The tool itself.
    pub fn tool(&self) -> &Arc<dyn DynTool> {
        &self.tool
    }

    /// Other names of its parameters, as (alias, name).
    pub(crate) fn parameter_aliases(&self) -> Vec<(&str, &str)> {
        let aliases = self.spec().parameter_aliases.iter();
        aliases.map(|(from, to)| (&**from, &**to)).collect()
    }

    /// The schema of its arguments, normalized for models and ready to
    /// validate.
    pub fn schema(&self) -> &Schema {
        self.schema.get_or_init(|| {
            let parameters = self.tool.parameters();
            Schema::new(match self.owner.is_compiled_in() {
                true => hermes_schema::tidy_schema(parameters),
                false => hermes_schema::tidy_foreign_schema(parameters),
            })
        })
    }

    /// Its definition in the OpenAI format, serialized.
    pub fn definition(&self) -> Arc<str> {
        // A definition with dynamic overrides is not cached.
        if let Some(fields) = self.tool.overrides() {
            return self.render_definition(Some(fields)).into();
        }
        self.definition.get_or_init(|| self.render_definition(None).into()).clone()
    }

    /// Name, description and parameters, as the model sees them.
    pub fn function_json(&self) -> Value {
        self.function_json_with(self.tool.overrides())
    }

    fn function_json_with(&self, overrides: Option<Map<String, Value>>) -> Value {
        let mut function = json!({
            "name": self.name(),
            "description": self.spec().description,
            "parameters": self.schema().raw(),
        });
        if let (Value::Object(function), Some(overrides)) = (&mut function, overrides) {
            for (key, value) in overrides {
                // The name cannot be overridden: calls are resolved by it.
                if key != "name" {
                    function.insert(key, value);
                }
            }
        }
        function
    }

    fn render_definition(&self, overrides: Option<Map<String, Value>>) -> String {
        json!({ "type": "function", "function": self.function_json_with(overrides) }).to_string()
    }

    /// Sets the tool up once. Fails if the tool was retired.
    pub(crate) async fn ensure_ready(&self) -> Result<(), ToolError> {
        if self.has_reached(LIFECYCLE_RETIRED) {
            return Err(self.removed_error());
        }
        self.ready.get_or_try_init(|| self.set_up()).await.copied()
    }

    async fn set_up(&self) -> Result<(), ToolError> {
        if self.has_reached(LIFECYCLE_RETIRING) {
            return Err(self.removed_error());
        }
        self.tool.setup().await?;
        if self.lifecycle.fetch_or(LIFECYCLE_SET_UP, Ordering::SeqCst) & LIFECYCLE_RETIRED != 0 {
            // The retirement timed out before setup finished.
            self.tear_down().await;
            return Err(self.removed_error());
        }
        Ok(())
    }

    /// Marks a call as being in flight until the token is dropped.
    pub(crate) fn acquire(&self) -> TaskTrackerToken {
        self.in_flight.token()
    }

    /// Waits for the calls in flight up to a timeout, then tears the tool down,
    /// once; concurrent callers wait for the same teardown. A tool that panics
    /// or hangs in teardown is abandoned.
    pub async fn retire(&self) {
        self.retired.get_or_init(|| self.drain_and_retire()).await;
    }

    async fn drain_and_retire(&self) {
        let deadline = Instant::now() + RETIRE_TIMEOUT;
        self.lifecycle.fetch_or(LIFECYCLE_RETIRING, Ordering::SeqCst);
        self.in_flight.close();
        // The tool is retired even on timeout.
        let _ = timeout_at(deadline, self.in_flight.wait()).await;
        self.lifecycle.fetch_or(LIFECYCLE_RETIRED, Ordering::SeqCst);
        // A call may have started just before; later ones fail.
        let _ = timeout_at(deadline, self.in_flight.wait()).await;
        if self.has_reached(LIFECYCLE_SET_UP) {
            self.tear_down().await;
        }
    }

    /// Runs the tool's teardown at most once, isolated so neither a panic nor a
    /// hang, asleep or busy, reaches the caller.
    async fn tear_down(&self) {
        if self.lifecycle.fetch_or(LIFECYCLE_TORN_DOWN, Ordering::SeqCst) & LIFECYCLE_TORN_DOWN != 0
        {
            return;
        }
        let tool = Arc::clone(&self.tool);
        let task = tokio::spawn(async move { timeout(RETIRE_TIMEOUT, tool.teardown()).await });
        let _ = timeout(RETIRE_TIMEOUT, task).await;
    }

    fn has_reached(&self, stage: u8) -> bool {
        self.lifecycle.load(Ordering::SeqCst) & stage != 0
    }

    fn removed_error(&self) -> ToolError {
        ToolError::unavailable(format!("{} was removed", self.name()))
    }
}

impl fmt::Debug for ToolEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolEntry({}:{})", self.toolset(), self.name())
    }
}
