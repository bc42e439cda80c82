//! Several calls at once: those whose effects cannot meet run side by side,
//! the others one after the other, and the answers come in the calls' order.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use hermes_core::{AccessMode, Effect, Resource, Scope, ToolCall, ToolResult};
use hermes_shell::SideEffects;

use crate::extent;
use crate::pipeline::{Flight, Prepared};

/// How many calls run at the same time.
const SIDE_BY_SIDE: usize = 32;

/// As many links as a kernel follows before it calls them a loop.
const MAX_LINKS: usize = 40;

/// A result below this is not worth a file, however many there are.
const WORTH_SPILLING: usize = 4_000;

/// Makes all calls of a batch. One answer each, in order.
pub(crate) async fn fly(flight: Arc<Flight>, mut calls: Vec<ToolCall>) -> Vec<ToolResult> {
    if calls.len() == 1
        && let Some(call) = calls.pop()
    {
        return vec![fly_alone(flight, call).await];
    }
    let mut answers: Vec<Option<ToolResult>> = Vec::with_capacity(calls.len());
    let mut waiting: VecDeque<(usize, Prepared)> = VecDeque::new();
    for (at, call) in calls.into_iter().enumerate() {
        match flight.prepare(call).await {
            Ok(prepared) => {
                waiting.push_back((at, prepared));
                answers.push(None);
            }
            Err(refused) => answers.push(Some(refused)),
        }
    }
    while !waiting.is_empty() {
        // Not before its turn: earlier calls may change what a command means,
        // and where a link leads.
        let group =
            next_group(&mut waiting, footing, |(_, prepared)| extent::of(&flight, &prepared.call));
        fly_together(&flight, group, &mut answers).await;
        // A call may have moved the session to another folder: what comes
        // after it happens there.
        if !waiting.is_empty() && flight.has_moved() {
            for (at, prepared) in std::mem::take(&mut waiting) {
                match flight.redeclare(prepared).await {
                    Ok(prepared) => waiting.push_back((at, prepared)),
                    Err(refused) => answer(&mut answers, at, refused),
                }
            }
        }
    }
    let mut results: Vec<ToolResult> = answers.into_iter().flatten().collect();
    keep_within_budget(&flight, &mut results);
    results
}

/// Runs a group whose members cannot meet.
async fn fly_together(
    flight: &Arc<Flight>,
    group: Vec<(usize, Prepared)>,
    answers: &mut [Option<ToolResult>],
) {
    let mut queue = group.into_iter();
    let mut running = FuturesUnordered::new();
    let start = |(at, prepared): (usize, Prepared)| {
        let flight = Arc::clone(flight);
        async move { (at, flight.execute(prepared).await) }
    };
    running.extend(queue.by_ref().take(SIDE_BY_SIDE).map(start));
    while let Some((at, result)) = running.next().await {
        answer(answers, at, result);
        running.extend(queue.next().map(start));
    }
}

fn answer(answers: &mut [Option<ToolResult>], at: usize, result: ToolResult) {
    if let Some(slot) = answers.get_mut(at) {
        *slot = Some(result);
    }
}

/// What decides beside which others a call may run.
#[derive(Clone, Copy)]
pub(crate) struct Footing<'a> {
    effects: &'a [Effect],
    /// Nothing may run beside it.
    alone: bool,
    /// It need not keep its place among others of the same scope that need
    /// not, either.
    unordered: bool,
}

fn footing((_, prepared): &(usize, Prepared)) -> Footing<'_> {
    Footing {
        effects: &prepared.call.effects,
        alone: prepared.is_barrier(),
        unordered: prepared.call.entry.spec().unordered,
    }
}

/// Makes one call: there is nothing to plan.
pub(crate) async fn fly_alone(flight: Arc<Flight>, call: ToolCall) -> ToolResult {
    match flight.prepare(call).await {
        Ok(prepared) => flight.execute(prepared).await,
        Err(refused) => refused,
    }
}

/// Puts the largest results into files until the rest fits.
fn keep_within_budget(flight: &Flight, results: &mut [ToolResult]) {
    let budget = flight.limits().per_batch;
    let mut total: usize = results.iter().map(|r| r.content.len()).sum();
    if total <= budget {
        return;
    }
    let mut order: Vec<usize> = (0..results.len()).collect();
    order.sort_by_key(|&at| {
        let result = &results[at];
        // What bounds itself can be read again in pages, so it goes last.
        let pinned = flight
            .snapshot
            .get(&result.name)
            .is_some_and(|entry| flight.limits().for_tool(entry.spec().result_limit).is_none());
        (pinned, std::cmp::Reverse(result.content.len()))
    });
    for at in order {
        if total <= budget {
            break;
        }
        let result = &mut results[at];
        let before = result.content.len();
        if before < WORTH_SPILLING || result.spill_path.is_some() {
            continue;
        }
        flight.spill(result, WORTH_SPILLING);
        total = total.saturating_sub(before) + result.content.len();
    }
}

/// Takes from the front of a batch as many calls as cannot meet. `extent` is
/// asked about calls that could do anything.
pub(crate) fn next_group<T>(
    batch: &mut VecDeque<T>,
    footing: impl Fn(&T) -> Footing<'_>,
    extent: impl Fn(&T) -> SideEffects,
) -> Vec<T> {
    if batch.len() < 2 {
        return batch.drain(..).collect();
    }
    let mut paths = RealPaths::new(batch.iter().flat_map(|item| footing(item).effects));
    let mut occupied = Occupied::default();
    let mut size = 0;
    let mut inside = false;
    for item in batch.iter() {
        let Footing { effects, alone, unordered } = footing(item);
        // Interpreters are beside each other, and beside nothing else.
        let is_inside = is_inside(effects);
        if size > 0 && is_inside != inside {
            break;
        }
        inside = is_inside;
        let far = effects.iter().any(reaches_anything);
        let extent = if far { extent(item) } else { SideEffects::Unknown };
        let told = effects.iter().filter(|e| counts(e, extent) && !(inside && reaches_anything(e)));
        let own: Vec<Effect> = told.map(|e| paths.resolve(e)).collect();
        let meets = |effect: &Effect| occupied.meets(effect, unordered);
        if size > 0 && (alone || occupied.excludes(extent) || own.iter().any(meets)) {
            break;
        }
        size += 1;
        if alone {
            break;
        }
        occupied.note(extent);
        own.iter().for_each(|effect| occupied.take(effect, unordered));
    }
    batch.drain(..size).collect()
}

/// Whether an effect still says something beside what is certain of a command.
fn counts(effect: &Effect, extent: SideEffects) -> bool {
    match extent {
        SideEffects::Unknown => true,
        SideEffects::ReadOnly => !reaches_anything(effect),
        SideEffects::None => !reaches_anything(effect) && effect.scope.access() == AccessMode::Exclusive,
    }
}

/// A shell command or a script may touch any file, process or peer.
pub(crate) fn reaches_anything(effect: &Effect) -> bool {
    matches!(effect.scope.as_str(), "terminal:execute" | "code:execute")
}

/// Code that runs in a process with a name, such as a session of an
/// interpreter, and takes its turn there.
fn is_inside(effects: &[Effect]) -> bool {
    let mut far = effects.iter().filter(|effect| reaches_anything(effect)).peekable();
    far.peek().is_some()
        && far.all(|effect| effect.scope == Scope::CODE_EXECUTE)
        && effects.iter().any(|effect| {
            effect.scope == Scope::PROCESS_MANAGE && matches!(effect.resource, Resource::Name(_))
        })
}

/// Two names of one file are one file. Nothing is looked up unless something
/// is going to be changed.
struct RealPaths {
    needed: bool,
    known: HashMap<PathBuf, PathBuf>,
}

impl RealPaths {
    fn new<'a>(mut effects: impl Iterator<Item = &'a Effect>) -> Self {
        let needed = effects
            .any(|e| e.resource.as_path().is_some() && e.scope.access() == AccessMode::Exclusive);
        Self { needed, known: HashMap::new() }
    }

    fn resolve(&mut self, effect: &Effect) -> Effect {
        match &effect.resource {
            Resource::Path(path) if self.needed => {
                let real = self.known.entry(path.clone()).or_insert_with(|| real(path)).clone();
                Effect::path(effect.scope.clone(), real)
            }
            _ => effect.clone(),
        }
    }
}

/// The real path, as far as it exists. A link that leads nowhere yet counts
/// as the place that it leads to.
fn real(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
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

/// What a group touches; answers "does this meet any of it?" without looking
/// at every member. Agrees with [`Effect::conflicts`], but for calls that need
/// not keep their order.
#[derive(Default)]
struct Occupied {
    families: HashMap<String, Grounds>,
    // A path is the same path, whichever family touches it.
    paths: Grounds,
    used: bool,
    everything: bool,
    changed: bool,
    looked: bool,
    waited: bool,
}

#[derive(Default)]
struct Grounds {
    shared: Ground,
    exclusive: Ground,
    /// Changed by those that need not keep their order among themselves.
    unordered: Ground,
}

impl Grounds {
    fn meets(&self, effect: &Effect, unordered: bool) -> bool {
        let (ground, changes) = (effect.touched_resource(), effect.scope.access() == AccessMode::Exclusive);
        self.exclusive.meets(ground)
            || (changes && self.shared.meets(ground))
            || (!(unordered && changes) && self.unordered.meets(ground))
    }

    fn take(&mut self, effect: &Effect, unordered: bool) {
        let ground = match effect.scope.access() {
            AccessMode::Shared => &mut self.shared,
            AccessMode::Exclusive if unordered => &mut self.unordered,
            AccessMode::Exclusive => &mut self.exclusive,
        };
        ground.take(effect.touched_resource());
    }
}

#[derive(Default)]
struct Ground {
    used: bool,
    any: bool,
    names: HashSet<Resource>,
    paths: HashSet<PathBuf>,
    above: HashSet<PathBuf>,
}

impl Occupied {
    /// Whether a command of this extent cannot be among them. Whoever only
    /// waits does so for what comes after it, so the order is kept.
    fn excludes(&self, extent: SideEffects) -> bool {
        match extent {
            SideEffects::Unknown => false,
            SideEffects::ReadOnly => self.everything || self.changed || self.waited,
            SideEffects::None => self.used || self.looked,
        }
    }

    fn note(&mut self, extent: SideEffects) {
        self.looked |= extent == SideEffects::ReadOnly;
        self.waited |= extent == SideEffects::None;
    }

    fn meets(&self, effect: &Effect, unordered: bool) -> bool {
        let is_used = self.used || self.looked;
        let changes = effect.scope.access() == AccessMode::Exclusive;
        if self.everything
            || self.waited
            || (self.looked && changes)
            || (is_used && reaches_anything(effect))
        {
            return true;
        }
        let family = self.families.get(effect.scope.family());
        family.is_some_and(|grounds| grounds.meets(effect, unordered))
            || (effect.resource.as_path().is_some() && self.paths.meets(effect, unordered))
    }

    fn take(&mut self, effect: &Effect, unordered: bool) {
        self.used = true;
        self.everything |= reaches_anything(effect);
        self.changed |= effect.scope.access() == AccessMode::Exclusive;
        let family = self.families.entry(effect.scope.family().to_owned()).or_default();
        family.take(effect, unordered);
        if effect.resource.as_path().is_some() {
            self.paths.take(effect, unordered);
        }
    }
}

impl Ground {
    fn meets(&self, resource: &Resource) -> bool {
        if self.any {
            return true;
        }
        match resource {
            Resource::Any => self.used,
            Resource::Path(path) => {
                self.above.contains(path) || path.ancestors().any(|a| self.paths.contains(a))
            }
            other => self.names.contains(other),
        }
    }

    fn take(&mut self, resource: &Resource) {
        self.used = true;
        match resource {
            Resource::Any => self.any = true,
            Resource::Path(path) => {
                self.paths.insert(path.clone());
                for ancestor in path.ancestors() {
                    if !self.above.insert(ancestor.to_owned()) {
                        break;
                    }
                }
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
