//! The engine: registry, policy and pipeline.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use futures_util::future::join_all;
use hermes_core::{
    Availability, CallProposal, CheckpointHooks, CommandAnalyzer, DynTool, NoAnalyzer, Policy,
    Ports, Ruling, ToolCall, ToolResult, Verdict,
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
use crate::observer::CallObserver;
use crate::pipeline::{BatchContext, normalize_call};
use crate::registry::{RegistryError, RegistrySnapshot, ToolOwner, ToolRegistry};
use crate::secret_source::{NoSecrets, SecretSource};
use crate::spill::{ResultSizeLimits, SpillStore};
use crate::toolsets::{ToolSelection, ToolsetCatalog, ToolsetError};
use crate::{batch, bridge};

/// Timeout of a tool that does not set its own.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// How long an approver may take to answer.
pub const DEFAULT_APPROVAL_TIMEOUT: Duration = Duration::from_secs(60);

/// The default policy: allows everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAll;

impl Policy for AllowAll {
    fn judge(&self, proposal: &CallProposal<'_>) -> Ruling {
        Ruling::for_effects(Verdict::Allow, proposal.effects)
    }
}

/// A policy that denies everything, for an engine whose rules are not loaded yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenyAll;

impl Policy for DenyAll {
    fn judge(&self, proposal: &CallProposal<'_>) -> Ruling {
        let verdict = Verdict::Deny {
            reason: "no permissions are loaded".to_owned(),
            rule: "deny all".to_owned(),
        };
        Ruling::for_effects(verdict, proposal.effects)
    }
}

/// Limits on the matches of a tool search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchLimits {
    /// Matches returned by default.
    pub default: usize,
    /// Maximum matches that can be requested.
    pub max: usize,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self { default: 5, max: 20 }
    }
}

/// Shared state of an engine.
struct EngineInner {
    registry: ToolRegistry,
    policy: ArcSwap<Arc<dyn Policy>>,
    analyzer: Arc<dyn CommandAnalyzer>,
    secrets: Arc<dyn SecretSource>,
    approval_timeout: Duration,
    hooks: Hooks,
    guard: LoopGuard,
    limits: ResultSizeLimits,
    spill: SpillStore,
    observers: Vec<Arc<dyn CallObserver>>,
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
    /// Returns a scope with every tool of the registry.
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

/// A prepared call that was not judged.
#[derive(Debug, Clone)]
pub struct CallPreview {
    /// The tool.
    pub entry: Arc<ToolEntry>,
    /// Its arguments after coercion.
    pub arguments: serde_json::Value,
    /// Its effects.
    pub effects: Vec<hermes_core::Effect>,
    /// Changes made to the arguments.
    pub coerced: Vec<String>,
    /// Where it would run.
    pub working_dir: Arc<hermes_core::WorkingDir>,
}

/// Runs tool calls. Cheap to clone; clones share the same engine.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<EngineInner>,
}

impl Engine {
    /// Returns a builder with default settings.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// Runs one call.
    pub async fn call(&self, call: ToolCall, caller: &Caller) -> ToolResult {
        batch::run_one(self.begin_batch(caller), call).await
    }

    /// Runs several calls, concurrently where they do not conflict. Returns
    /// exactly one result per call, in order.
    pub async fn dispatch(&self, calls: Vec<ToolCall>, caller: &Caller) -> Vec<ToolResult> {
        batch::run_batch(self.begin_batch(caller), calls).await
    }

    /// Prepares a call without judging or running it. The error is the result
    /// of a call that cannot be prepared.
    pub async fn preview(
        &self,
        call: ToolCall,
        caller: &Caller,
    ) -> Result<CallPreview, ToolResult> {
        let batch = self.begin_batch(caller);
        let prepared = batch.prepare(call).await?;
        let working_dir = batch.working_dir.load_full();
        let call = prepared.call;
        Ok(CallPreview {
            entry: call.entry,
            arguments: call.arguments,
            effects: call.effects,
            coerced: call.coerced,
            working_dir,
        })
    }

    fn begin_batch(&self, caller: &Caller) -> Arc<BatchContext> {
        self.retire_replaced();
        BatchContext::new(self, caller)
    }

    /// Retires replaced tools in the background.
    fn retire_replaced(&self) {
        for entry in self.inner.registry.take_retired() {
            tokio::spawn(async move { entry.retire().await });
        }
    }

    /// Returns the current registry.
    pub fn snapshot(&self) -> Arc<RegistrySnapshot> {
        self.inner.registry.snapshot()
    }

    /// Returns the registry for modification.
    pub fn registry(&self) -> &ToolRegistry {
        &self.inner.registry
    }

    /// Removes a tool and tears it down once its running calls have ended.
    pub async fn remove(&self, name: &str, owner: &ToolOwner) -> Result<bool, RegistryError> {
        let removed = self.inner.registry.deregister(name, owner)?;
        if let Some(entry) = &removed {
            entry.retire().await;
        }
        Ok(removed.is_some())
    }

    /// Returns the current toolsets.
    pub fn toolsets(&self) -> Arc<ToolsetCatalog> {
        self.inner.toolsets.load_full()
    }

    /// Replaces the toolsets.
    pub fn set_toolsets(&self, toolsets: ToolsetCatalog) {
        self.inner.toolsets.store(Arc::new(toolsets));
        self.inner.toolsets_generation.fetch_add(1, Ordering::Release);
    }

    /// Returns the definitions of the selected tools. Cached until something
    /// changes.
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

    /// Returns the availability of these tools, in order.
    pub async fn availability(&self, entries: &[Arc<ToolEntry>]) -> Vec<Availability> {
        self.inner.checks.availabilities(entries).await.0
    }

    /// Drops the cached availability checks.
    pub fn clear_availability(&self) {
        self.inner.checks.clear();
        self.inner.definitions.clear();
    }

    /// Returns a scope with every tool.
    pub fn full_scope(&self) -> Arc<ToolScope> {
        self.inner.full_scope()
    }

    pub(crate) fn search_limits(&self) -> SearchLimits {
        self.inner.search_limits
    }

    /// Returns the resolved name of a call, and its arguments if their text
    /// needs repair. `None` if the tool does not exist for this caller.
    pub fn normalize_call(
        &self,
        name: &str,
        arguments: &str,
        caller: &Caller,
    ) -> Option<(String, Option<Value>)> {
        let snapshot = caller.snapshot.clone().unwrap_or_else(|| self.snapshot());
        normalize_call(&snapshot, caller.scope.as_deref(), name, arguments)
    }

    /// Asks the policy about something other than a call, such as an action of
    /// the program.
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

    pub(crate) fn analyzer(&self) -> &dyn CommandAnalyzer {
        &*self.inner.analyzer
    }

    /// Redacts secrets in a text that becomes part of a prompt.
    pub fn redact_prompt(&self, text: &str) -> String {
        self.secrets().redactor().redact_prompt(text).into_owned()
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

    pub(crate) fn observers(&self) -> &[Arc<dyn CallObserver>] {
        &self.inner.observers
    }

    pub(crate) fn checkpoints(&self) -> Option<&Arc<dyn CheckpointHooks>> {
        self.inner.checkpoints.as_ref()
    }

    /// The ports for tools, unless the caller has its own.
    pub fn ports(&self) -> &Arc<Ports> {
        &self.inner.ports
    }

    pub(crate) fn default_timeout(&self) -> Duration {
        self.inner.default_timeout
    }

    pub(crate) async fn tool_availability(&self, entry: &Arc<ToolEntry>) -> Availability {
        self.inner.checks.availability(entry).await
    }

    /// Starts a new turn, which resets the loop guard for the caller. An agent
    /// loop calls this for each user message; a session of single requests
    /// never does, since a loop may span several of them.
    pub fn new_turn(&self, caller: &Caller) {
        self.inner.guard.reset((caller.session.id(), &caller.task_id));
    }

    /// Drops remembered results of the caller. Call it when they have left the
    /// model's context, so reading them again is not a loop.
    pub fn forget_shown_results(&self, caller: &Caller) {
        self.inner.guard.forget_answers((caller.session.id(), &caller.task_id));
    }

    /// Returns why the caller's turn must end: it repeats calls without
    /// progress, and the settings stop such turns.
    pub fn halt_reason(&self, caller: &Caller) -> Option<String> {
        self.inner.guard.halt_reason((caller.session.id(), &caller.task_id))
    }

    /// Saves a text that is too large for a model to a file that the model can
    /// read.
    pub fn save_oversized_text(&self, id: &str, text: &str) -> std::io::Result<std::path::PathBuf> {
        self.inner.spill.save(id, "txt", text)
    }

    /// Tears down every tool that was set up.
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

/// Builds an [`Engine`].
pub struct EngineBuilder {
    tools: Vec<(ToolOwner, Vec<Arc<dyn DynTool>>)>,
    policy: Arc<dyn Policy>,
    analyzer: Arc<dyn CommandAnalyzer>,
    secrets: Arc<dyn SecretSource>,
    approval_timeout: Duration,
    hooks: Hooks,
    guard: LoopGuardSettings,
    limits: ResultSizeLimits,
    spill: PathBuf,
    observers: Vec<Arc<dyn CallObserver>>,
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
            analyzer: Arc::new(NoAnalyzer),
            secrets: Arc::new(NoSecrets::default()),
            approval_timeout: DEFAULT_APPROVAL_TIMEOUT,
            hooks: Hooks::default(),
            guard: LoopGuardSettings::default(),
            limits: ResultSizeLimits::default(),
            spill: std::env::temp_dir().join("hermes-results"),
            observers: Vec::new(),
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
    /// Adds compiled-in tools.
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

    /// Sets the policy.
    #[must_use]
    pub fn policy(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the analysis of commands, which orders calls and saves checkpoints.
    #[must_use]
    pub fn analyzer(mut self, analyzer: Arc<dyn CommandAnalyzer>) -> Self {
        self.analyzer = analyzer;
        self
    }

    /// Sets the source of secrets.
    #[must_use]
    pub fn secrets(mut self, secrets: Arc<dyn SecretSource>) -> Self {
        self.secrets = secrets;
        self
    }

    /// Sets how long an approver may take to answer.
    #[must_use]
    pub fn approval_timeout(mut self, timeout: Duration) -> Self {
        self.approval_timeout = timeout;
        self
    }

    /// Adds a hook after the existing ones.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.0.push(hook);
        self
    }

    /// Sets the thresholds of the loop guard.
    #[must_use]
    pub fn guard(mut self, settings: LoopGuardSettings) -> Self {
        self.guard = settings;
        self
    }

    /// Sets the limits on result sizes.
    #[must_use]
    pub fn limits(mut self, limits: ResultSizeLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the directory for spilled results.
    #[must_use]
    pub fn spill_to(mut self, dir: impl Into<PathBuf>) -> Self {
        self.spill = dir.into();
        self
    }

    /// Adds an observer of all calls, such as the audit log.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn CallObserver>) -> Self {
        self.observers.push(observer);
        self
    }

    /// Sets the hooks that checkpoint files before calls change them.
    #[must_use]
    pub fn checkpoints(mut self, keeper: Arc<dyn CheckpointHooks>) -> Self {
        self.checkpoints = Some(keeper);
        self
    }

    /// Sets the ports for tools.
    #[must_use]
    pub fn ports(mut self, ports: Ports) -> Self {
        self.ports = ports;
        self
    }

    /// Sets the toolsets, including the user's.
    #[must_use]
    pub fn toolsets(mut self, toolsets: ToolsetCatalog) -> Self {
        self.toolsets = toolsets;
        self
    }

    /// Sets how required environment variables are looked up.
    #[must_use]
    pub fn env_lookup(mut self, lookup: EnvLookup) -> Self {
        self.env_lookup = lookup;
        self
    }

    /// Sets the timeout of tools that do not set their own.
    #[must_use]
    pub fn default_timeout(mut self, timeout: Duration) -> Self {
        self.default_timeout = timeout;
        self
    }

    /// Sets the limits on the matches of a tool search.
    #[must_use]
    pub fn search_limits(mut self, limits: SearchLimits) -> Self {
        self.search_limits = limits;
        self
    }

    /// Builds the engine. Fails if two tools have the same name.
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
            analyzer: self.analyzer,
            secrets: self.secrets,
            approval_timeout: self.approval_timeout,
            hooks: self.hooks,
            guard: LoopGuard::new(self.guard),
            limits: self.limits,
            spill: SpillStore::new(self.spill),
            observers: self.observers,
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
