//! Runs a batch of calls: those without conflicting effects concurrently, the
//! others in sequence. Results are in the order of the calls.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use hermes_core::{AccessMode, Effect, Resource, Scope, SideEffects, ToolCall, ToolResult};

use crate::pipeline::{BatchContext, PreparedCall};

/// Maximum concurrent calls.
const MAX_CONCURRENT_CALLS: usize = 64;

/// Maximum symlinks followed, as in the kernel.
const MAX_SYMLINK_HOPS: usize = 40;

/// Smaller results are never spilled.
const MIN_SPILL_BYTES: usize = 4_000;

/// Runs all calls of a batch; returns one result each, in order.
pub(crate) async fn run_batch(
    batch: Arc<BatchContext>,
    mut calls: Vec<ToolCall>,
) -> Vec<ToolResult> {
    if calls.len() == 1
        && let Some(call) = calls.pop()
    {
        return vec![run_one(batch, call).await];
    }
    let mut answers: Vec<Option<ToolResult>> = Vec::with_capacity(calls.len());
    let mut waiting: VecDeque<(usize, PreparedCall)> = VecDeque::new();
    for (at, call) in calls.into_iter().enumerate() {
        match batch.prepare(call).await {
            Ok(prepared) => {
                waiting.push_back((at, prepared));
                answers.push(None);
            }
            Err(refused) => answers.push(Some(refused)),
        }
    }
    while !waiting.is_empty() {
        // Determined as late as possible: earlier calls may change what a
        // command means, and symlink targets.
        let group = take_independent_group(&mut waiting, conflict_key, |(_, prepared)| {
            let at = batch.working_dir.load();
            batch.engine.analyzer().side_effects(&batch.proposal(&prepared.call, &at))
        });
        run_group(&batch, group, &mut answers).await;
        // A call may have changed the session's working directory; the
        // remaining calls run there.
        if !waiting.is_empty() && batch.update_working_dir() {
            for (at, prepared) in std::mem::take(&mut waiting) {
                match batch.redeclare(prepared).await {
                    Ok(prepared) => waiting.push_back((at, prepared)),
                    Err(refused) => store_result(&mut answers, at, refused),
                }
            }
        }
    }
    let mut results: Vec<ToolResult> = answers.into_iter().flatten().collect();
    spill_over_budget(&batch, &mut results);
    results
}

/// Runs a group of calls that do not conflict.
async fn run_group(
    batch: &Arc<BatchContext>,
    group: Vec<(usize, PreparedCall)>,
    answers: &mut [Option<ToolResult>],
) {
    let mut queue = ordered_chains(group, order_key).into_iter();
    let mut running = FuturesUnordered::new();
    let start = |chain: Vec<(usize, PreparedCall)>| {
        let batch = Arc::clone(batch);
        async move {
            let mut results = Vec::with_capacity(chain.len());
            for (at, prepared) in chain {
                results.push((at, Arc::clone(&batch).execute(prepared).await));
            }
            results
        }
    };
    running.extend(queue.by_ref().take(MAX_CONCURRENT_CALLS).map(start));
    while let Some(results) = running.next().await {
        results.into_iter().for_each(|(at, result)| store_result(answers, at, result));
        running.extend(queue.next().map(start));
    }
}

/// Returns what a call has in common with others that must run in call order:
/// the tool and the real paths.
fn order_key((_, prepared): &(usize, PreparedCall)) -> Option<(String, Vec<PathBuf>)> {
    let spec = prepared.call.entry.spec();
    let paths = prepared.call.effects.iter().filter_map(|effect| effect.resource.as_path());
    spec.in_call_order.then(|| (spec.name.to_string(), paths.map(resolve_links).collect()))
}

/// Splits a group into chains: calls with the same key run one after the other,
/// the others alone.
fn ordered_chains<T, K: Eq + Hash>(group: Vec<T>, key: impl Fn(&T) -> Option<K>) -> Vec<Vec<T>> {
    let mut chains: Vec<Vec<T>> = Vec::with_capacity(group.len());
    let is_single = group.len() < 2;
    let mut known: HashMap<K, usize> = HashMap::new();
    for item in group {
        let key = if is_single { None } else { key(&item) };
        let at = key.map(|key| *known.entry(key).or_insert(chains.len()));
        match at.and_then(|at| chains.get_mut(at)) {
            Some(chain) => chain.push(item),
            None => chains.push(vec![item]),
        }
    }
    chains
}

fn store_result(answers: &mut [Option<ToolResult>], at: usize, result: ToolResult) {
    if let Some(slot) = answers.get_mut(at) {
        *slot = Some(result);
    }
}

/// What decides which calls may run concurrently.
#[derive(Clone, Copy)]
pub(crate) struct ConflictKey<'a> {
    effects: &'a [Effect],
    /// Runs alone.
    exclusive: bool,
    /// May be reordered among unordered calls of the same scope.
    unordered: bool,
}

fn conflict_key((_, prepared): &(usize, PreparedCall)) -> ConflictKey<'_> {
    ConflictKey {
        effects: &prepared.call.effects,
        exclusive: prepared.is_barrier(),
        unordered: prepared.call.entry.spec().unordered,
    }
}

/// Runs one call, without planning.
pub(crate) async fn run_one(batch: Arc<BatchContext>, call: ToolCall) -> ToolResult {
    match batch.prepare(call).await {
        Ok(prepared) => batch.execute(prepared).await,
        Err(refused) => refused,
    }
}

/// Spills the largest results until the rest fits the budget.
fn spill_over_budget(batch: &BatchContext, results: &mut [ToolResult]) {
    let budget = batch.limits().per_batch;
    let mut total: usize = results.iter().map(|r| r.content.len()).sum();
    if total <= budget {
        return;
    }
    let mut order: Vec<usize> = (0..results.len()).collect();
    order.sort_by_key(|&at| {
        let result = &results[at];
        // Tools that limit their own output can be read again in pages, so they
        // are spilled last.
        let pinned = batch
            .snapshot
            .get(&result.name)
            .is_some_and(|entry| batch.limits().for_tool(entry.spec().result_limit).is_none());
        (pinned, std::cmp::Reverse(result.content.len()))
    });
    for at in order {
        if total <= budget {
            break;
        }
        let result = &mut results[at];
        let before = result.content.len();
        if before < MIN_SPILL_BYTES || result.spill_path.is_some() {
            continue;
        }
        batch.spill(result, MIN_SPILL_BYTES);
        total = total.saturating_sub(before) + result.content.len();
    }
}

/// Takes as many non-conflicting calls as possible from the front of a batch.
/// `side_effects_of` is queried for calls with arbitrary effects.
pub(crate) fn take_independent_group<T>(
    batch: &mut VecDeque<T>,
    key_of: impl Fn(&T) -> ConflictKey<'_>,
    side_effects_of: impl Fn(&T) -> SideEffects,
) -> Vec<T> {
    if batch.len() < 2 {
        return batch.drain(..).collect();
    }
    let mut paths = CanonicalPaths::new(batch.iter().flat_map(|item| key_of(item).effects));
    let mut occupied = Reservations::default();
    let mut size = 0;
    let mut kind = ExecutionKind::Ordinary;
    for item in batch.iter() {
        let ConflictKey { effects, exclusive, unordered } = key_of(item);
        let own_kind = ExecutionKind::from_effects(effects);
        if size > 0 && own_kind != kind {
            break;
        }
        kind = own_kind;
        let inside = kind != ExecutionKind::Ordinary;
        let is_arbitrary = effects.iter().any(is_arbitrary_execution);
        let side_effects = if is_arbitrary { side_effects_of(item) } else { SideEffects::Unknown };
        let shown = effects
            .iter()
            .filter(|e| is_relevant(e, side_effects) && !(inside && is_arbitrary_execution(e)));
        let own: Vec<Effect> = shown.map(|e| paths.resolve(e)).collect();
        let meets = |effect: &Effect| occupied.conflicts(effect, unordered);
        if size > 0
            && (exclusive || occupied.excludes_command(side_effects) || own.iter().any(meets))
        {
            break;
        }
        size += 1;
        if exclusive {
            break;
        }
        occupied.note_command(side_effects);
        own.iter().for_each(|effect| occupied.reserve(effect, unordered));
    }
    batch.drain(..size).collect()
}

/// Whether an effect matters beyond what is known about the command.
fn is_relevant(effect: &Effect, side_effects: SideEffects) -> bool {
    match side_effects {
        SideEffects::Unknown => true,
        SideEffects::ReadOnly => !is_arbitrary_execution(effect),
        SideEffects::None => {
            !is_arbitrary_execution(effect) && effect.scope.access() == AccessMode::Exclusive
        }
    }
}

/// Whether the effect is a shell command or script, which may touch any file,
/// process or peer.
pub(crate) fn is_arbitrary_execution(effect: &Effect) -> bool {
    matches!(effect.scope.as_str(), "terminal:execute" | "code:execute")
}

/// Whether a call only starts commands, so several may run concurrently.
pub(crate) fn is_background_start(effects: &[Effect]) -> bool {
    ExecutionKind::from_effects(effects) == ExecutionKind::BackgroundStart
}

/// How calls that may do anything are ordered among each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExecutionKind {
    /// Such calls run alone.
    Ordinary,
    /// Code in a named process, such as an interpreter session, which queues
    /// it. Such calls run only beside each other.
    InterpreterSession,
    /// A command that is only started, and runs beside later calls anyway.
    /// Such calls run only beside each other.
    BackgroundStart,
}

impl ExecutionKind {
    fn from_effects(effects: &[Effect]) -> Self {
        let arbitrary = || effects.iter().filter(|effect| is_arbitrary_execution(effect));
        if arbitrary().next().is_none() {
            return Self::Ordinary;
        }
        let starts = |effect: &Effect| matches!(&effect.resource, Resource::Script(script) if script.background);
        let is_named = |effect: &Effect| {
            effect.scope == Scope::PROCESS_MANAGE && matches!(effect.resource, Resource::Name(_))
        };
        if arbitrary().all(starts) {
            Self::BackgroundStart
        } else if arbitrary().all(|effect| effect.scope == Scope::CODE_EXECUTE)
            && effects.iter().any(is_named)
        {
            Self::InterpreterSession
        } else {
            Self::Ordinary
        }
    }
}

/// Resolves different names of one file to the same path. Paths are resolved
/// only if an effect writes.
struct CanonicalPaths {
    needed: bool,
    resolved: HashMap<PathBuf, PathBuf>,
}

impl CanonicalPaths {
    fn new<'a>(mut effects: impl Iterator<Item = &'a Effect>) -> Self {
        let needed = effects
            .any(|e| e.resource.as_path().is_some() && e.scope.access() == AccessMode::Exclusive);
        Self { needed, resolved: HashMap::new() }
    }

    fn resolve(&mut self, effect: &Effect) -> Effect {
        match &effect.resource {
            Resource::Path(path) if self.needed => {
                let real = self
                    .resolved
                    .entry(path.clone())
                    .or_insert_with(|| resolve_links(path))
                    .clone();
                Effect::path(effect.scope.clone(), real)
            }
            _ => effect.clone(),
        }
    }
}

/// Returns the canonical path as far as it exists. A dangling symlink resolves
/// to its target.
fn resolve_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_SYMLINK_HOPS {
        let mut missing = Vec::new();
        let mut existing = path.as_path();
        let (base, link) = loop {
            if let Ok(real) = existing.canonicalize() {
                break (real, None);
            }
            if let (Ok(target), Some(parent)) = (existing.read_link(), existing.parent()) {
                break (parent.to_owned(), Some(target));
            }
            match (existing.parent(), existing.file_name()) {
                (Some(parent), Some(name)) => {
                    missing.push(name.to_owned());
                    existing = parent;
                }
                _ => return path,
            }
        };
        let mut whole = base;
        let followed = link.is_some();
        whole.extend(link);
        whole.extend(missing.iter().rev());
        if !followed {
            return whole;
        }
        path = whole;
    }
    path
}

/// Resources used by a group, indexed for conflict checks without a scan of
/// every member. Agrees with [`Effect::conflicts`], except for unordered calls.
#[derive(Default)]
struct Reservations {
    families: HashMap<String, AccessReservations>,
    // Paths conflict across families.
    paths: AccessReservations,
    has_effects: bool,
    has_arbitrary_execution: bool,
    has_writers: bool,
    has_readers: bool,
    has_waiters: bool,
}

#[derive(Default)]
struct AccessReservations {
    shared: ResourceSet,
    exclusive: ResourceSet,
    /// Resources changed by unordered calls.
    unordered: ResourceSet,
}

impl AccessReservations {
    fn conflicts(&self, effect: &Effect, unordered: bool) -> bool {
        let (target, changes) =
            (effect.touched_resource(), effect.scope.access() == AccessMode::Exclusive);
        self.exclusive.overlaps(target)
            || (changes && self.shared.overlaps(target))
            || (!(unordered && changes) && self.unordered.overlaps(target))
    }

    fn reserve(&mut self, effect: &Effect, unordered: bool) {
        let target = match effect.scope.access() {
            AccessMode::Shared => &mut self.shared,
            AccessMode::Exclusive if unordered => &mut self.unordered,
            AccessMode::Exclusive => &mut self.exclusive,
        };
        target.insert(effect.touched_resource());
    }
}

#[derive(Default)]
struct ResourceSet {
    used: bool,
    any: bool,
    names: HashSet<Resource>,
    paths: HashSet<PathBuf>,
    ancestors: HashSet<PathBuf>,
}

impl Reservations {
    /// Whether a command with these side effects conflicts with the group. A
    /// command that only waits delays what comes after it, so the order is kept.
    fn excludes_command(&self, side_effects: SideEffects) -> bool {
        match side_effects {
            SideEffects::Unknown => false,
            SideEffects::ReadOnly => {
                self.has_arbitrary_execution || self.has_writers || self.has_waiters
            }
            SideEffects::None => self.has_effects || self.has_readers,
        }
    }

    fn note_command(&mut self, side_effects: SideEffects) {
        self.has_readers |= side_effects == SideEffects::ReadOnly;
        self.has_waiters |= side_effects == SideEffects::None;
    }

    fn conflicts(&self, effect: &Effect, unordered: bool) -> bool {
        let is_used = self.has_effects || self.has_readers;
        let changes = effect.scope.access() == AccessMode::Exclusive;
        if self.has_arbitrary_execution
            || self.has_waiters
            || (self.has_readers && changes)
            || (is_used && is_arbitrary_execution(effect))
        {
            return true;
        }
        let family = self.families.get(effect.scope.family());
        family.is_some_and(|grounds| grounds.conflicts(effect, unordered))
            || (effect.resource.as_path().is_some() && self.paths.conflicts(effect, unordered))
    }

    fn reserve(&mut self, effect: &Effect, unordered: bool) {
        self.has_effects = true;
        self.has_arbitrary_execution |= is_arbitrary_execution(effect);
        self.has_writers |= effect.scope.access() == AccessMode::Exclusive;
        let family = self.families.entry(effect.scope.family().to_owned()).or_default();
        family.reserve(effect, unordered);
        if effect.resource.as_path().is_some() {
            self.paths.reserve(effect, unordered);
        }
    }
}

impl ResourceSet {
    fn overlaps(&self, resource: &Resource) -> bool {
        if self.any {
            return true;
        }
        match resource {
            Resource::Any => self.used,
            Resource::Path(path) => {
                self.ancestors.contains(path) || path.ancestors().any(|a| self.paths.contains(a))
            }
            Resource::Variable(variable) => {
                self.names.contains(&Resource::Name(variable.name.clone()))
            }
            other => self.names.contains(other),
        }
    }

    fn insert(&mut self, resource: &Resource) {
        self.used = true;
        match resource {
            Resource::Any => self.any = true,
            Resource::Path(path) => {
                self.paths.insert(path.clone());
                for ancestor in path.ancestors() {
                    if !self.ancestors.insert(ancestor.to_owned()) {
                        break;
                    }
                }
            }
            // A variable is read by its name.
            Resource::Variable(variable) => {
                self.names.insert(Resource::Name(variable.name.clone()));
            }
            other => {
                self.names.insert(other.clone());
            }
        }
    }
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
