//! The engine: a registry, a policy and a pipeline, put together.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use futures_util::future::join_all;
use hermes_core::{
    Availability, CallProposal, CheckpointHooks, DynTool, Policy, Ports, Ruling, ToolCall,
    ToolResult, Verdict,
};
use serde_json::Value;

use crate::availability::{AvailabilityCache, EnvLookup};
use crate::caller::Caller;
use crate::definitions::{
    DeferralSettings, DefinitionSources, DefinitionsCache, ToolDefinitions, ToolScope,
};
use crate::entry::ToolEntry;
use crate::hooks::{Hook, Hooks};
use crate::loop_guard::{LoopGuard, LoopGuardSettings};
use crate::pipeline::{BatchContext, normalize_call};
use crate::record::CallRecorder;
use crate::registry::{RegistryError, RegistrySnapshot, ToolOwner, ToolRegistry};
use crate::secret_source::{NoSecrets, SecretSource};
use crate::spill::{ResultSizeLimits, SpillStore};
use crate::toolsets::{ToolSelection, ToolsetCatalog, ToolsetError};
use crate::{batch, bridge};

/// How long a tool may take that does not say so itself.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// How long somebody may take to answer a question.
pub const DEFAULT_APPROVAL_TIMEOUT: Duration = Duration::from_secs(60);

/// The policy of an engine that was given none: everything is allowed.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAll;

impl Policy for AllowAll {
    fn judge(&self, proposal: &CallProposal<'_>) -> Ruling {
        Ruling::for_effects(Verdict::Allow, proposal.effects)
    }
}

/// How many matches a tool search gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchLimits {
    /// Unless asked.
    pub default: usize,
    /// However many are asked for.
    pub max: usize,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self { default: 5, max: 20 }
    }
}

/// What an engine is made of.
struct EngineInner {
    registry: ToolRegistry,
    policy: ArcSwap<Arc<dyn Policy>>,
    secrets: Arc<dyn SecretSource>,
    approval_timeout: Duration,
    hooks: Hooks,
    guard: LoopGuard,
    limits: ResultSizeLimits,
    spill: SpillStore,
    recorder: Option<Arc<dyn CallRecorder>>,
    checkpoints: Option<Arc<dyn CheckpointHooks>>,
    ports: Arc<Ports>,
    default_timeout: Duration,
    search_limits: SearchLimits,
    toolsets: ArcSwap<ToolsetCatalog>,
    toolsets_generation: AtomicU64,
    checks: AvailabilityCache,
    definitions: DefinitionsCache,
    full_scope: ArcSwapOption<(u64, Arc<ToolScope>)>,
}

impl EngineInner {
    /// Every tool of the registry, as a scope.
    fn full_scope(&self) -> Arc<ToolScope> {
        let snapshot = self.registry.snapshot();
        if let Some(kept) = self.full_scope.load_full().filter(|k| k.0 == snapshot.generation()) {
            return Arc::clone(&kept.1);
        }
        let scope = Arc::new(ToolScope::from_snapshot(&snapshot));
        self.full_scope.store(Some(Arc::new((snapshot.generation(), Arc::clone(&scope)))));
        scope
    }
}

/// A call that was prepared, but not judged.
#[derive(Debug, Clone)]
pub struct CallPreview {
    /// The tool.
    pub entry: Arc<ToolEntry>,
    /// Its arguments, as they would be used.
    pub arguments: serde_json::Value,
    /// What it would do.
    pub effects: Vec<hermes_core::Effect>,
    /// What was changed in the arguments.
    pub coerced: Vec<String>,
    /// Where it would happen.
    pub workplace: Arc<hermes_core::WorkingDir>,
}

/// Runs tool calls. Cheap to clone; clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<EngineInner>,
}

impl Engine {
    /// An engine in the making.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// Makes one call.
    pub async fn call(&self, call: ToolCall, caller: &Caller) -> ToolResult {
        batch::run_one(self.begin_batch(caller), call).await
    }

    /// Makes several calls: side by side where they cannot meet. Exactly one
    /// answer for each, in the order of the calls.
    pub async fn dispatch(&self, calls: Vec<ToolCall>, caller: &Caller) -> Vec<ToolResult> {
        batch::run_batch(self.begin_batch(caller), calls).await
    }

    /// What a call would do, as far as that is known before it is judged.
    /// A call that cannot be made is answered.
    pub async fn preview(
        &self,
        call: ToolCall,
        caller: &Caller,
    ) -> Result<CallPreview, ToolResult> {
        let flight = self.begin_batch(caller);
        let prepared = flight.prepare(call).await?;
        let workplace = flight.workplace.load_full();
        let call = prepared.call;
        Ok(CallPreview {
            entry: call.entry,
            arguments: call.arguments,
            effects: call.effects,
            coerced: call.coerced,
            workplace,
        })
    }

    fn begin_batch(&self, caller: &Caller) -> Arc<BatchContext> {
        self.retire_replaced();
        BatchContext::new(self, caller)
    }

    /// Takes down, in the background, what a change of the registry replaced.
    fn retire_replaced(&self) {
        for entry in self.inner.registry.take_retired() {
            tokio::spawn(async move { entry.retire().await });
        }
    }

    /// The registry as it is now.
    pub fn snapshot(&self) -> Arc<RegistrySnapshot> {
        self.inner.registry.snapshot()
    }

    /// The registry, to be changed.
    pub fn registry(&self) -> &ToolRegistry {
        &self.inner.registry
    }

    /// Removes a tool and takes it down once its running calls are through.
    pub async fn remove(&self, name: &str, owner: &ToolOwner) -> Result<bool, RegistryError> {
        let removed = self.inner.registry.deregister(name, owner)?;
        if let Some(entry) = &removed {
            entry.retire().await;
        }
        Ok(removed.is_some())
    }

    /// The toolsets as they are now.
    pub fn toolsets(&self) -> Arc<ToolsetCatalog> {
        self.inner.toolsets.load_full()
    }

    /// Replaces the toolsets.
    pub fn set_toolsets(&self, toolsets: ToolsetCatalog) {
        self.inner.toolsets.store(Arc::new(toolsets));
        self.inner.toolsets_generation.fetch_add(1, Ordering::Release);
    }

    /// What a model is told of the selected tools. Kept until something
    /// changes, so asking again costs next to nothing.
    pub async fn definitions(
        &self,
        selection: &ToolSelection,
        deferral: DeferralSettings,
    ) -> Result<Arc<ToolDefinitions>, ToolsetError> {
        let sources = DefinitionSources {
            snapshot: &self.snapshot(),
            toolsets_generation: self.inner.toolsets_generation.load(Ordering::Acquire),
            toolsets: &self.toolsets(),
            checks: &self.inner.checks,
        };
        self.inner.definitions.get(sources, selection, deferral).await
    }

    /// Whether these tools can work here and now, in their order.
    pub async fn availability(&self, entries: &[Arc<ToolEntry>]) -> Vec<Availability> {
        self.inner.checks.availabilities(entries).await.0
    }

    /// Forgets what the availability checks said.
    pub fn clear_availability(&self) {
        self.inner.checks.clear();
        self.inner.definitions.clear();
    }

    /// Every tool, as a scope.
    pub fn full_scope(&self) -> Arc<ToolScope> {
        self.inner.full_scope()
    }

    pub(crate) fn search_limits(&self) -> SearchLimits {
        self.inner.search_limits
    }

    /// A call as it will be taken: its name and, where their text has to be
    /// mended, its arguments. None if there is no such tool for this caller.
    pub fn normalize_call(
        &self,
        name: &str,
        arguments: &str,
        caller: &Caller,
    ) -> Option<(String, Option<Value>)> {
        let snapshot = caller.snapshot.clone().unwrap_or_else(|| self.snapshot());
        normalize_call(&snapshot, caller.scope.as_deref(), name, arguments)
    }

    /// What the policy says to something that is not a call: what the program
    /// does by itself is judged by the same rules.
    pub fn judge(&self, proposal: &CallProposal<'_>) -> Ruling {
        self.policy().judge(proposal)
    }

    pub(crate) fn policy(&self) -> Arc<dyn Policy> {
        Arc::clone(&self.inner.policy.load())
    }

    /// Replaces the policy. Calls that were already judged are not judged again.
    pub fn set_policy(&self, policy: Arc<dyn Policy>) {
        self.inner.policy.store(Arc::new(policy));
    }

    pub(crate) fn secrets(&self) -> &dyn SecretSource {
        &*self.inner.secrets
    }

    pub(crate) fn approval_timeout(&self) -> Duration {
        self.inner.approval_timeout
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.inner.hooks
    }

    pub(crate) fn guard(&self) -> &LoopGuard {
        &self.inner.guard
    }

    pub(crate) fn limits(&self) -> ResultSizeLimits {
        self.inner.limits
    }

    pub(crate) fn spill(&self) -> &SpillStore {
        &self.inner.spill
    }

    pub(crate) fn recorder(&self) -> Option<&Arc<dyn CallRecorder>> {
        self.inner.recorder.as_ref()
    }

    pub(crate) fn checkpoints(&self) -> Option<&Arc<dyn CheckpointHooks>> {
        self.inner.checkpoints.as_ref()
    }

    /// What tools may reach, unless their caller says otherwise.
    pub fn ports(&self) -> &Arc<Ports> {
        &self.inner.ports
    }

    pub(crate) fn default_timeout(&self) -> Duration {
        self.inner.default_timeout
    }

    pub(crate) async fn tool_availability(&self, entry: &Arc<ToolEntry>) -> Availability {
        self.inner.checks.availability(entry).await
    }

    /// A new turn begins: the loop guard forgets what the caller did. Whoever
    /// drives a model calls this for each message of the user; a session of
    /// single requests never does, since a loop goes on from one to the next.
    pub fn new_turn(&self, caller: &Caller) {
        self.inner.guard.reset((caller.session.id(), &caller.task_id));
    }

    /// What the caller was shown before has left its context: to look again is no
    /// circle.
    pub fn forget_shown_results(&self, caller: &Caller) {
        self.inner.guard.forget_answers((caller.session.id(), &caller.task_id));
    }

    /// Why the caller's turn must end, in words: it goes in circles, and the
    /// settings say that it is to be stopped.
    pub fn halt_reason(&self, caller: &Caller) -> Option<String> {
        self.inner.guard.halt_reason((caller.session.id(), &caller.task_id))
    }

    /// Puts a text that is too large for a model into a file that it can read.
    pub fn save_oversized_text(&self, id: &str, text: &str) -> std::io::Result<std::path::PathBuf> {
        self.inner.spill.save(id, "txt", text)
    }

    /// Takes every tool down that was set up.
    pub async fn shutdown(&self) {
        let replaced = self.inner.registry.take_retired();
        let all = self.snapshot().entries();
        join_all(all.iter().chain(&replaced).map(|entry| entry.retire())).await;
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = self.snapshot();
        write!(f, "Engine({} tools, generation {})", snapshot.len(), snapshot.generation())
    }
}

/// An engine in the making.
pub struct EngineBuilder {
    tools: Vec<(ToolOwner, Vec<Arc<dyn DynTool>>)>,
    policy: Arc<dyn Policy>,
    secrets: Arc<dyn SecretSource>,
    approval_timeout: Duration,
    hooks: Hooks,
    guard: LoopGuardSettings,
    limits: ResultSizeLimits,
    spill: PathBuf,
    recorder: Option<Arc<dyn CallRecorder>>,
    checkpoints: Option<Arc<dyn CheckpointHooks>>,
    ports: Ports,
    toolsets: ToolsetCatalog,
    env_lookup: EnvLookup,
    default_timeout: Duration,
    search_limits: SearchLimits,
}

impl Default for EngineBuilder {
    fn default() -> Self {
        Self {
            tools: Vec::new(),
            policy: Arc::new(AllowAll),
            secrets: Arc::new(NoSecrets::default()),
            approval_timeout: DEFAULT_APPROVAL_TIMEOUT,
            hooks: Hooks::default(),
            guard: LoopGuardSettings::default(),
            limits: ResultSizeLimits::default(),
            spill: std::env::temp_dir().join("hermes-results"),
            recorder: None,
            checkpoints: None,
            ports: Ports::new(),
            toolsets: ToolsetCatalog::default(),
            env_lookup: Arc::new(|name| std::env::var(name).ok()),
            default_timeout: DEFAULT_TIMEOUT,
            search_limits: SearchLimits::default(),
        }
    }
}

impl EngineBuilder {
    /// Adds tools that are compiled in.
    #[must_use]
    pub fn tools(self, tools: Vec<Arc<dyn DynTool>>) -> Self {
        self.tools_from(ToolOwner::builtin(), tools)
    }

    /// Adds tools of that owner.
    #[must_use]
    pub fn tools_from(mut self, owner: ToolOwner, tools: Vec<Arc<dyn DynTool>>) -> Self {
        self.tools.push((owner, tools));
        self
    }

    /// Who rules on calls.
    #[must_use]
    pub fn policy(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policy = policy;
        self
    }

    /// Who keeps the secrets.
    #[must_use]
    pub fn secrets(mut self, secrets: Arc<dyn SecretSource>) -> Self {
        self.secrets = secrets;
        self
    }

    /// How long somebody may take to answer a question.
    #[must_use]
    pub fn approval_timeout(mut self, timeout: Duration) -> Self {
        self.approval_timeout = timeout;
        self
    }

    /// Adds a hook, after those already there.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.0.push(hook);
        self
    }

    /// When the loop guard speaks up.
    #[must_use]
    pub fn guard(mut self, settings: LoopGuardSettings) -> Self {
        self.guard = settings;
        self
    }

    /// How much reaches the model.
    #[must_use]
    pub fn limits(mut self, limits: ResultSizeLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Where large results go.
    #[must_use]
    pub fn spill_to(mut self, folder: impl Into<PathBuf>) -> Self {
        self.spill = folder.into();
        self
    }

    /// Who keeps records.
    #[must_use]
    pub fn recorder(mut self, recorder: Arc<dyn CallRecorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Who keeps what calls are about to change.
    #[must_use]
    pub fn checkpoints(mut self, keeper: Arc<dyn CheckpointHooks>) -> Self {
        self.checkpoints = Some(keeper);
        self
    }

    /// What tools may reach.
    #[must_use]
    pub fn ports(mut self, ports: Ports) -> Self {
        self.ports = ports;
        self
    }

    /// The toolsets, with the user's own.
    #[must_use]
    pub fn toolsets(mut self, toolsets: ToolsetCatalog) -> Self {
        self.toolsets = toolsets;
        self
    }

    /// How required environment variables are looked up.
    #[must_use]
    pub fn env_lookup(mut self, lookup: EnvLookup) -> Self {
        self.env_lookup = lookup;
        self
    }

    /// How long a tool may take that does not say so itself.
    #[must_use]
    pub fn default_timeout(mut self, timeout: Duration) -> Self {
        self.default_timeout = timeout;
        self
    }

    /// How many matches a tool search gives.
    #[must_use]
    pub fn search_limits(mut self, limits: SearchLimits) -> Self {
        self.search_limits = limits;
        self
    }

    /// The engine. Fails if two tools want the same name.
    pub fn build(self) -> Result<Engine, RegistryError> {
        let registry = ToolRegistry::new();
        registry.edit(|edit| {
            for tool in bridge::tools() {
                edit.register(tool, &ToolOwner::engine())?;
            }
            for (owner, tools) in self.tools {
                for tool in tools {
                    edit.register(tool, &owner)?;
                }
            }
            Ok(())
        })?;
        let inner = EngineInner {
            registry,
            policy: ArcSwap::from_pointee(self.policy),
            secrets: self.secrets,
            approval_timeout: self.approval_timeout,
            hooks: self.hooks,
            guard: LoopGuard::new(self.guard),
            limits: self.limits,
            spill: SpillStore::new(self.spill),
            recorder: self.recorder,
            checkpoints: self.checkpoints,
            ports: Arc::new(self.ports),
            default_timeout: self.default_timeout,
            search_limits: self.search_limits,
            toolsets: ArcSwap::from_pointee(self.toolsets),
            toolsets_generation: AtomicU64::new(0),
            checks: AvailabilityCache::new(self.env_lookup),
            definitions: DefinitionsCache::default(),
            full_scope: ArcSwapOption::empty(),
        };
        Ok(Engine { inner: Arc::new(inner) })
    }
}

impl fmt::Debug for EngineBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: usize = self.tools.iter().map(|(_, tools)| tools.len()).sum();
        write!(f, "EngineBuilder({tools} tools)")
    }
}
