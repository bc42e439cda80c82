//! Tool definitions for a model: which are visible, deferred behind the search,
//! or unavailable. Serialized once and shared.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use hermes_core::Availability;
use parking_lot::Mutex;

use crate::availability::AvailabilityCache;
use crate::entry::ToolEntry;
use crate::registry::{RESERVED_TOOL_NAMES, RegistrySnapshot};
use crate::search::ToolSearchIndex;
use crate::toolsets::{CORE_TOOLS, ToolSelection, ToolsetCatalog, ToolsetError};

/// Maximum selections cached.
const MAX_CACHED_SELECTIONS: usize = 16;

/// Size of definitions from which tools are deferred if the context window is
/// unknown.
const UNKNOWN_WINDOW_TOKENS: usize = 20_000;

/// Definitions may fill 1/N of the window before core tools are deferred too: a
/// small window needs room for the conversation.
const MAX_WINDOW_DIVISOR: u64 = 3;

/// Approximate size of the bridge tools.
const BRIDGE_TOKENS: usize = 250;

/// Maximum size of the built-in tools' definitions, with the bridge, unless
/// nothing is deferred. Every request carries them.
const MAX_SHOWN_TOKENS: usize = 6_000;

/// The tools that stay visible longest, by their value in everyday work.
#[rustfmt::skip]
const EVERYDAY_TOOLS: &[&str] = &[
    "terminal", "read_file", "write_file", "patch", "search_files", "directory_list",
    "process", "todo", "web_search", "web_extract", "execute_code", "memory", "clarify",
    "delegate_task", "session_search", "skills_list", "skill_view", "code_test", "code_lint",
    "cronjob", "system_info", "repl", "file_diff", "code_format",
];

/// When tools are deferred behind the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DeferMode {
    /// If their definitions exceed a share of the window.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// Settings for deferring tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeferralSettings {
    /// When.
    pub mode: DeferMode,
    /// The share of the window, in percent.
    pub threshold_pct: u8,
    /// The model's context window, in tokens.
    pub window: Option<u64>,
}

impl Default for DeferralSettings {
    fn default() -> Self {
        Self { mode: DeferMode::Auto, threshold_pct: 10, window: None }
    }
}

/// Tools that a session may call.
#[derive(Debug)]
pub struct ToolScope {
    // Includes unavailable tools: calling one reports why, not that it does not
    // exist.
    names: HashSet<Arc<str>>,
    entries: Vec<Arc<ToolEntry>>,
    /// Names of unavailable tools.
    unavailable: HashSet<Arc<str>>,
    /// Whether the bridge tools are visible to the session.
    has_search: bool,
    index: OnceLock<ToolSearchIndex>,
}

impl ToolScope {
    fn new(
        entries: Vec<Arc<ToolEntry>>,
        unavailable: &[(Arc<str>, Availability)],
        has_search: bool,
    ) -> Self {
        let names = entries.iter().map(|e| Arc::from(e.name()));
        let unavailable: HashSet<Arc<str>> =
            unavailable.iter().map(|(name, _)| Arc::clone(name)).collect();
        let names = names.chain(unavailable.iter().cloned()).collect();
        Self { names, entries, unavailable, has_search, index: OnceLock::new() }
    }

    /// All tools of a snapshot.
    pub fn from_snapshot(snapshot: &RegistrySnapshot) -> Self {
        let own = |e: &Arc<ToolEntry>| !RESERVED_TOOL_NAMES.contains(&e.name());
        Self::new(snapshot.entries().into_iter().filter(own).collect(), &[], true)
    }

    /// Returns the subset with allowed names, such as what a script may call.
    #[must_use]
    pub fn restrict(&self, allowed: impl Fn(&str) -> bool) -> Self {
        let names = self.names.iter().filter(|name| allowed(name)).cloned().collect();
        let entries = self.entries.iter().filter(|e| allowed(e.name())).cloned().collect();
        let (unavailable, has_search) = (self.unavailable.clone(), self.has_search);
        Self { names, entries, unavailable, has_search, index: OnceLock::new() }
    }

    /// Whether the session may call this tool. The bridge is always allowed.
    pub fn contains(&self, name: &str) -> bool {
        self.names.contains(name) || RESERVED_TOOL_NAMES.contains(&name)
    }

    /// Whether the tool is visible or can be found, so it may be suggested.
    pub fn offers(&self, name: &str) -> bool {
        match RESERVED_TOOL_NAMES.contains(&name) {
            true => self.has_search,
            false => self.names.contains(name) && !self.unavailable.contains(name),
        }
    }

    /// The available tools, by name.
    pub fn entries(&self) -> &[Arc<ToolEntry>] {
        &self.entries
    }

    /// Search index over the available tools.
    pub fn index(&self) -> &ToolSearchIndex {
        self.index.get_or_init(|| ToolSearchIndex::new(self.entries.clone()))
    }
}

/// Definitions for one selection.
#[derive(Debug)]
pub struct ToolDefinitions {
    /// The definitions as a JSON array in the OpenAI format, sorted by name.
    pub json: Arc<str>,
    /// The names in `json`, in its order.
    pub visible: Vec<Arc<str>>,
    /// Tools found only through the search.
    pub deferred: Vec<Arc<str>>,
    /// Unavailable tools, and why.
    pub unavailable: Vec<(Arc<str>, Availability)>,
    /// Tools that a session with these definitions may call.
    pub scope: Arc<ToolScope>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct DefinitionsKey {
    selection: ToolSelection,
    generation: u64,
    toolsets: u64,
    deferral: DeferralSettings,
}

#[derive(Debug)]
struct CachedDefinitions {
    definitions: Arc<ToolDefinitions>,
    valid_until: Instant,
    last_used: u64,
}

/// Cache of serialized definitions by selection.
#[derive(Debug, Default)]
pub(crate) struct DefinitionsCache {
    entries: Mutex<(u64, HashMap<DefinitionsKey, CachedDefinitions>)>,
}

/// Inputs of the definitions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DefinitionSources<'a> {
    pub(crate) snapshot: &'a Arc<RegistrySnapshot>,
    pub(crate) toolsets: &'a ToolsetCatalog,
    /// Incremented whenever `toolsets` changes.
    pub(crate) toolsets_generation: u64,
    pub(crate) checks: &'a AvailabilityCache,
}

impl DefinitionsCache {
    /// Drops all cached definitions.
    pub(crate) fn clear(&self) {
        self.entries.lock().1.clear();
    }

    pub(crate) async fn get(
        &self,
        sources: DefinitionSources<'_>,
        selection: &ToolSelection,
        deferral: DeferralSettings,
    ) -> Result<Arc<ToolDefinitions>, ToolsetError> {
        let key = DefinitionsKey {
            selection: selection.clone(),
            generation: sources.snapshot.generation(),
            toolsets: sources.toolsets_generation,
            deferral,
        };
        let now = Instant::now();
        {
            let mut kept = self.entries.lock();
            kept.0 += 1;
            let tick = kept.0;
            if let Some(found) = kept.1.get_mut(&key).filter(|found| now < found.valid_until) {
                found.last_used = tick;
                return Ok(Arc::clone(&found.definitions));
            }
        }
        let (definitions, until) = build_definitions(sources, selection, deferral).await?;
        let definitions = Arc::new(definitions);
        let mut kept = self.entries.lock();
        kept.1.retain(|old, _| old.generation >= key.generation);
        if kept.1.len() >= MAX_CACHED_SELECTIONS {
            let oldest = kept.1.iter().min_by_key(|(_, k)| k.last_used).map(|(k, _)| k.clone());
            oldest.and_then(|oldest| kept.1.remove(&oldest));
        }
        let used = kept.0;
        kept.1.insert(
            key,
            CachedDefinitions {
                definitions: Arc::clone(&definitions),
                valid_until: until,
                last_used: used,
            },
        );
        Ok(definitions)
    }
}

async fn build_definitions(
    sources: DefinitionSources<'_>,
    selection: &ToolSelection,
    deferral: DeferralSettings,
) -> Result<(ToolDefinitions, Instant), ToolsetError> {
    let DefinitionSources { snapshot, toolsets, checks, .. } = sources;
    let selected: Vec<Arc<ToolEntry>> = toolsets
        .select(selection, &**snapshot)?
        .iter()
        .filter_map(|name| snapshot.get(name).cloned())
        .collect();
    let (states, until) = checks.availabilities(&selected).await;
    let mut unavailable = Vec::new();
    let mut usable = Vec::new();
    for (entry, state) in selected.into_iter().zip(states) {
        if state.is_ready() {
            usable.push(entry);
        } else {
            unavailable.push((Arc::from(entry.name()), state));
        }
    }
    let (mut visible, deferred) = split_deferred(&usable, deferral);
    if !deferred.is_empty() {
        visible.extend(RESERVED_TOOL_NAMES.iter().filter_map(|name| snapshot.get(name).cloned()));
        visible.sort_by(|a, b| a.name().cmp(b.name()));
    }
    let names = |entries: &[Arc<ToolEntry>]| entries.iter().map(|e| Arc::from(e.name())).collect();
    let definitions = ToolDefinitions {
        json: definitions_json(&visible).into(),
        visible: names(&visible),
        deferred: names(&deferred),
        scope: Arc::new(ToolScope::new(usable, &unavailable, !deferred.is_empty())),
        unavailable,
    };
    Ok((definitions, until))
}

/// Splits the tools into visible and deferred. Core tools stay visible unless
/// they would fill the window.
fn split_deferred(
    usable: &[Arc<ToolEntry>],
    deferral: DeferralSettings,
) -> (Vec<Arc<ToolEntry>>, Vec<Arc<ToolEntry>>) {
    let (core, others): (Vec<_>, Vec<_>) =
        usable.iter().cloned().partition(|e| CORE_TOOLS.contains(&e.name()));
    let defer = match deferral.mode {
        DeferMode::On => true,
        DeferMode::Off => false,
        DeferMode::Auto => {
            let cost: usize = others.iter().map(estimate_tokens).sum();
            let bound = match deferral.window {
                Some(window) => {
                    let bound = window.saturating_mul(u64::from(deferral.threshold_pct)) / 100;
                    usize::try_from(bound).unwrap_or(usize::MAX)
                }
                None => UNKNOWN_WINDOW_TOKENS,
            };
            cost >= bound.max(1)
        }
    };
    let (mut shown, mut deferred) = match defer && !others.is_empty() {
        true => (core, others),
        false => (usable.to_vec(), Vec::new()),
    };
    if deferral.mode != DeferMode::Off {
        defer_over_budget(&mut shown, &mut deferred);
    }
    let window = deferral.window.filter(|_| deferral.mode != DeferMode::Off);
    if let Some(window) = window {
        let most = usize::try_from(window / MAX_WINDOW_DIVISOR).unwrap_or(usize::MAX);
        if shown.iter().map(estimate_tokens).sum::<usize>() > most {
            let (kept, rest) = split_essential(shown, most.saturating_sub(BRIDGE_TOKENS));
            shown = kept;
            deferred.extend(rest);
            deferred.sort_by(|a, b| a.name().cmp(b.name()));
        }
    }
    (shown, deferred)
}

/// Defers built-in tools that do not fit [`MAX_SHOWN_TOKENS`]. The share of the
/// window bounds the tools of others.
fn defer_over_budget(shown: &mut Vec<Arc<ToolEntry>>, deferred: &mut Vec<Arc<ToolEntry>>) {
    let bound = match deferred.is_empty() {
        true => MAX_SHOWN_TOKENS,
        false => MAX_SHOWN_TOKENS - BRIDGE_TOKENS,
    };
    let (built_in, others): (Vec<_>, Vec<_>) =
        shown.iter().cloned().partition(|entry| entry.owner().is_compiled_in());
    if built_in.iter().map(estimate_tokens).sum::<usize>() <= bound {
        return;
    }
    let (kept, rest) = split_essential(built_in, MAX_SHOWN_TOKENS - BRIDGE_TOKENS);
    *shown = kept.into_iter().chain(others).collect();
    shown.sort_by(|a, b| a.name().cmp(b.name()));
    deferred.extend(rest);
    deferred.sort_by(|a, b| a.name().cmp(b.name()));
}

/// Splits off the most important tools that fit in `most` tokens.
fn split_essential(
    tools: Vec<Arc<ToolEntry>>,
    most: usize,
) -> (Vec<Arc<ToolEntry>>, Vec<Arc<ToolEntry>>) {
    let place = |name: &str| {
        let order = EVERYDAY_TOOLS.iter().chain(CORE_TOOLS);
        order.copied().position(|known| known == name).unwrap_or(usize::MAX)
    };
    let mut by_rank = tools;
    by_rank.sort_by_key(|entry| place(entry.name()));
    let mut left = most;
    let (mut kept, rest): (Vec<_>, Vec<_>) = by_rank.into_iter().partition(|entry| {
        let fits = estimate_tokens(entry) <= left;
        left -= if fits { estimate_tokens(entry) } else { 0 };
        fits
    });
    kept.sort_by(|a, b| a.name().cmp(b.name()));
    (kept, rest)
}

/// Estimates the tokens of a definition.
fn estimate_tokens(entry: &Arc<ToolEntry>) -> usize {
    entry.definition().chars().count().div_ceil(4)
}

fn definitions_json(entries: &[Arc<ToolEntry>]) -> String {
    let mut json = String::from("[");
    for (at, entry) in entries.iter().enumerate() {
        if at > 0 {
            json.push(',');
        }
        json.push_str(&entry.definition());
    }
    json.push(']');
    json
}
