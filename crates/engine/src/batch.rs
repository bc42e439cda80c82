//! Several calls at once: those whose effects cannot meet run side by side,
//! the others one after the other, and the answers come in the calls' order.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use hermes_core::{Access, Effect, Resource, ToolCall, ToolResult};

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
    let mut waiting: Vec<(usize, Prepared)> = Vec::new();
    for (at, call) in calls.into_iter().enumerate() {
        match flight.prepare(call).await {
            Ok(prepared) => {
                waiting.push((at, prepared));
                answers.push(None);
            }
            Err(refused) => answers.push(Some(refused)),
        }
    }
    let mut groups: VecDeque<_> = plan(waiting, footing).into();
    while let Some(group) = groups.pop_front() {
        fly_together(&flight, group, &mut answers).await;
        // A call may have moved the session to another folder: what comes
        // after it happens there, and is planned anew.
        if !groups.is_empty() && flight.has_moved() {
            let mut moved = Vec::new();
            for (at, prepared) in groups.drain(..).flatten() {
                match flight.redeclare(prepared).await {
                    Ok(prepared) => moved.push((at, prepared)),
                    Err(refused) => answer(&mut answers, at, refused),
                }
            }
            groups = plan(moved, footing).into();
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

fn footing((_, prepared): &(usize, Prepared)) -> (&[Effect], bool) {
    (&prepared.call.effects, prepared.is_barrier())
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
    let budget = flight.engine.limits().per_batch;
    let mut total: usize = results.iter().map(|r| r.content.len()).sum();
    if total <= budget {
        return;
    }
    let mut order: Vec<usize> = (0..results.len()).collect();
    order.sort_by_key(|&at| {
        let result = &results[at];
        // What bounds itself can be read again in pages, so it goes last.
        let pinned = flight.snapshot.get(&result.name).is_some_and(|entry| {
            flight.engine.limits().for_tool(entry.spec().result_limit).is_none()
        });
        (pinned, std::cmp::Reverse(result.content.len()))
    });
    for at in order {
        if total <= budget {
            break;
        }
        let result = &mut results[at];
        let before = result.content.len();
        if before < WORTH_SPILLING || result.spilled.is_some() {
            continue;
        }
        flight.spill(result, WORTH_SPILLING);
        total = total.saturating_sub(before) + result.content.len();
    }
}

/// Cuts a batch into groups whose members cannot meet, in order. `footing`
/// gives an item's effects, and whether nothing may run beside it.
pub(crate) fn plan<T>(batch: Vec<T>, footing: impl Fn(&T) -> (&[Effect], bool)) -> Vec<Vec<T>> {
    if batch.len() < 2 {
        return if batch.is_empty() { Vec::new() } else { vec![batch] };
    }
    let mut paths = RealPaths::new(batch.iter().flat_map(|item| footing(item).0));
    let mut groups: Vec<Vec<T>> = Vec::new();
    let mut occupied = Occupied::default();
    for item in batch {
        let (effects, alone) = footing(&item);
        let own: Vec<Effect> = effects.iter().map(|e| paths.resolve(e)).collect();
        let meets = alone || occupied.alone || own.iter().any(|e| occupied.meets(e));
        match groups.last_mut().filter(|_| !meets) {
            Some(group) => group.push(item),
            None => {
                occupied = Occupied::default();
                groups.push(vec![item]);
            }
        }
        occupied.alone = alone;
        own.iter().for_each(|effect| occupied.take(effect));
    }
    groups
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
            .any(|e| e.resource.as_path().is_some() && e.scope.access() == Access::Exclusive);
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
/// at every member. Agrees with [`Effect::conflicts`].
#[derive(Default)]
struct Occupied {
    families: HashMap<String, Grounds>,
    // A path is the same path, whichever family touches it.
    paths: Grounds,
    used: bool,
    everything: bool,
    alone: bool,
}

#[derive(Default)]
struct Grounds {
    shared: Ground,
    exclusive: Ground,
}

impl Grounds {
    fn meets(&self, effect: &Effect) -> bool {
        self.exclusive.meets(&effect.resource)
            || (effect.scope.access() == Access::Exclusive && self.shared.meets(&effect.resource))
    }

    fn take(&mut self, effect: &Effect) {
        match effect.scope.access() {
            Access::Shared => self.shared.take(&effect.resource),
            Access::Exclusive => self.exclusive.take(&effect.resource),
        }
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
    fn reaches_anything(effect: &Effect) -> bool {
        matches!(effect.scope.as_str(), "terminal:execute" | "code:execute")
    }

    fn meets(&self, effect: &Effect) -> bool {
        if self.everything || (self.used && Self::reaches_anything(effect)) {
            return true;
        }
        let family = self.families.get(effect.scope.family());
        family.is_some_and(|grounds| grounds.meets(effect))
            || (effect.resource.as_path().is_some() && self.paths.meets(effect))
    }

    fn take(&mut self, effect: &Effect) {
        self.used = true;
        self.everything |= Self::reaches_anything(effect);
        self.families.entry(effect.scope.family().to_owned()).or_default().take(effect);
        if effect.resource.as_path().is_some() {
            self.paths.take(effect);
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
