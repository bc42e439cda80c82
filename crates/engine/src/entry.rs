//! A registered tool: what it says of itself, with everything derived from
//! that computed once, when first needed.

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

use crate::registry::Owner;

/// How long a tool that is to go waits for its calls in flight, and how long
/// it may then take to clean up.
pub(crate) const RETIRE_PATIENCE: Duration = Duration::from_secs(3);

// What has happened to a tool so far, as bits of `Entry::life`. One atomic, so
// that a set-up and a retirement that meet agree on which of them was first.
const SET_UP: u8 = 1;
const LEAVING: u8 = 2;
const GONE: u8 = 4;
const TAKEN_DOWN: u8 = 8;

/// A tool in the registry.
pub struct Entry {
    id: u64,
    tool: Arc<dyn DynTool>,
    owner: Owner,
    schema: OnceLock<Schema>,
    definition: OnceLock<Arc<str>>,
    ready: OnceCell<()>,
    retired: OnceCell<()>,
    life: AtomicU8,
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
            retired: OnceCell::new(),
            life: AtomicU8::new(0),
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
        self.schema.get_or_init(|| {
            let parameters = self.tool.parameters();
            Schema::new(match self.owner.is_ours() {
                true => hermes_schema::tidy_schema(parameters),
                false => hermes_schema::tidy_foreign_schema(parameters),
            })
        })
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

    /// Sets the tool up, once. Fails once the tool is gone.
    pub(crate) async fn ensure_ready(&self) -> Result<(), ToolError> {
        if self.is(GONE) {
            return Err(self.removed());
        }
        self.ready.get_or_try_init(|| self.set_up()).await.copied()
    }

    async fn set_up(&self) -> Result<(), ToolError> {
        if self.is(LEAVING) {
            return Err(self.removed());
        }
        self.tool.setup().await?;
        if self.life.fetch_or(SET_UP, Ordering::SeqCst) & GONE != 0 {
            // The retirement did not wait so long.
            self.take_down().await;
            return Err(self.removed());
        }
        Ok(())
    }

    /// Marks a call as being in flight until the token is dropped.
    pub(crate) fn board(&self) -> TaskTrackerToken {
        self.flights.token()
    }

    /// Waits a while for the calls in flight, then takes the tool down, once:
    /// whoever else asks only waits until that is done. A tool that panics or
    /// hangs while it is taken down is left to itself.
    pub async fn retire(&self) {
        self.retired.get_or_init(|| self.leave()).await;
    }

    async fn leave(&self) {
        let deadline = Instant::now() + RETIRE_PATIENCE;
        self.life.fetch_or(LEAVING, Ordering::SeqCst);
        self.flights.close();
        // Out of patience or not, the tool goes.
        let _ = timeout_at(deadline, self.flights.wait()).await;
        self.life.fetch_or(GONE, Ordering::SeqCst);
        // A call may have come aboard a moment ago; from now on none gets far.
        let _ = timeout_at(deadline, self.flights.wait()).await;
        if self.is(SET_UP) {
            self.take_down().await;
        }
    }

    /// Runs the tool's own clean-up, at most once, where neither its panic nor
    /// its hanging, be it asleep or busy, reaches the caller.
    async fn take_down(&self) {
        if self.life.fetch_or(TAKEN_DOWN, Ordering::SeqCst) & TAKEN_DOWN != 0 {
            return;
        }
        let tool = Arc::clone(&self.tool);
        let task = tokio::spawn(async move { timeout(RETIRE_PATIENCE, tool.teardown()).await });
        let _ = timeout(RETIRE_PATIENCE, task).await;
    }

    fn is(&self, stage: u8) -> bool {
        self.life.load(Ordering::SeqCst) & stage != 0
    }

    fn removed(&self) -> ToolError {
        ToolError::unavailable(format!("{} was removed", self.name()))
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({}:{})", self.toolset(), self.name())
    }
}
