//! The tool registry. Readers take an immutable snapshot; a change swaps in a
//! new one, so a running call never sees it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use hermes_core::{BoxFuture, DynTool, ToolError};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value};

use crate::entry::ToolEntry;
use crate::toolsets::ToolIndex;

/// The toolset of the engine's own tools. No selection includes it: they are
/// added automatically when tools are deferred.
pub const BRIDGE_TOOLSET: &str = "bridge";

/// Names that only the engine may register or remove.
pub const RESERVED_TOOL_NAMES: [&str; 3] = ["tool_search", "tool_describe", "tool_call"];

/// The owner of a tool. Only the owner can replace or remove its tools, unless
/// the operator allows another to override them.
#[derive(Debug, Clone)]
pub struct ToolOwner {
    kind: OwnerKind,
    may_override: bool,
}

// An enum, not a string: a plug-in named "engine" must not pass for the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OwnerKind {
    Engine,
    Builtin,
    Named(Arc<str>),
}

impl ToolOwner {
    /// The owner of the compiled-in tools.
    pub fn builtin() -> Self {
        Self { kind: OwnerKind::Builtin, may_override: false }
    }

    /// A plug-in, a server or a user's file.
    pub fn named(id: impl Into<Arc<str>>) -> Self {
        Self { kind: OwnerKind::Named(id.into()), may_override: false }
    }

    pub(crate) fn engine() -> Self {
        Self { kind: OwnerKind::Engine, may_override: false }
    }

    /// The same owner, with the operator's permission to replace tools of
    /// others.
    #[must_use]
    pub fn allowed_to_override(mut self) -> Self {
        self.may_override = true;
        self
    }

    /// Its id for display; owners of different kinds may share one.
    pub fn id(&self) -> &str {
        match &self.kind {
            OwnerKind::Engine => "engine",
            OwnerKind::Builtin => "builtin",
            OwnerKind::Named(id) => id,
        }
    }

    /// Whether its tools are compiled in.
    pub(crate) fn is_compiled_in(&self) -> bool {
        !matches!(self.kind, OwnerKind::Named(_))
    }

    fn is_engine(&self) -> bool {
        self.kind == OwnerKind::Engine
    }
}

/// Compares identity only, not the permission to override.
impl PartialEq for ToolOwner {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Eq for ToolOwner {}

/// Why a change to the registry was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The name is invalid: models would refuse it.
    #[error("'{0}' is not a valid tool name: use 1 to 64 letters, digits, '_' or '-'")]
    InvalidName(String),
    /// The name is reserved for the engine.
    #[error("'{0}' is reserved for the engine's own tools")]
    Reserved(String),
    /// The name belongs to another owner or toolset.
    #[error(
        "'{name}' already belongs to toolset '{existing}'; '{wanted}' can take it only if its \
         owner is allowed to override"
    )]
    Taken {
        /// The name.
        name: String,
        /// The toolset that has it.
        existing: String,
        /// The toolset that wants it.
        wanted: String,
    },
    /// The alias already refers to a tool, or is the tool's own name.
    #[error("'{alias}' cannot be an alias: it already refers to the tool '{tool}'")]
    AliasTaken {
        /// The alias.
        alias: String,
        /// The tool with that name or alias.
        tool: String,
    },
    /// A tool lists an alias twice.
    #[error("alias '{0}' is listed twice")]
    AliasTwice(String),
    /// The tool belongs to another owner.
    #[error("'{name}' belongs to '{owner}' and can only be removed by that owner")]
    NotOwner {
        /// The name.
        name: String,
        /// Its owner.
        owner: String,
    },
    /// An alias's preset arguments are not a JSON object.
    #[error("the preset arguments of alias '{0}' are not a JSON object")]
    BadPreset(String),
}

/// A source of tools whose set may have changed, such as a server.
pub trait ToolSource: Send + Sync + std::fmt::Debug {
    /// Fetches the current tools and registers them.
    fn refresh(&self) -> BoxFuture<'_, Result<(), ToolError>>;
}

/// The target of an alias.
#[derive(Debug, Clone)]
pub(crate) struct AliasTarget {
    pub(crate) tool: Arc<str>,
    pub(crate) preset: Option<Map<String, Value>>,
}

/// The target of a toolset alias, and its owner.
#[derive(Debug, Clone)]
struct ToolsetAlias {
    toolset: String,
    owner: ToolOwner,
}

/// An immutable state of the registry.
#[derive(Debug, Clone, Default)]
pub struct RegistrySnapshot {
    generation: u64,
    tools: HashMap<Arc<str>, Arc<ToolEntry>>,
    aliases: HashMap<Arc<str>, AliasTarget>,
    ids: HashMap<Arc<str>, Arc<str>>,
    toolsets: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    toolset_aliases: BTreeMap<String, ToolsetAlias>,
    absences: BTreeMap<String, ToolError>,
    sources: BTreeMap<String, Arc<dyn ToolSource>>,
}

impl RegistrySnapshot {
    /// Increases with every change.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The tool with that canonical name.
    pub fn get(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        self.tools.get(name)
    }

    /// The tool with that name, alias or id.
    pub fn find(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        let alias = || self.tools.get(&self.aliases.get(name)?.tool);
        self.get(name).or_else(alias).or_else(|| self.tools.get(self.ids.get(name)?))
    }

    /// The target of an alias; `None` for a tool's own name, so preset
    /// arguments never reach a call that did not use the alias.
    pub(crate) fn alias(&self, name: &str) -> Option<&AliasTarget> {
        self.aliases.get(name).filter(|_| !self.tools.contains_key(name))
    }

    /// Why no tool with that name exists, if its prefix has an explanation.
    pub fn absence_reason(&self, name: &str) -> Option<&ToolError> {
        let mut absences = self.absences.iter();
        absences.find(|(prefix, _)| name.starts_with(prefix.as_str())).map(|(_, why)| why)
    }

    /// The sources that may have a tool with that name.
    pub(crate) fn sources_for(&self, name: &str) -> Vec<Arc<dyn ToolSource>> {
        let own = self.sources.iter().filter(|(prefix, _)| name.starts_with(prefix.as_str()));
        own.map(|(_, origin)| Arc::clone(origin)).collect()
    }

    /// All tools, sorted by name.
    pub fn entries(&self) -> Vec<Arc<ToolEntry>> {
        let mut all: Vec<_> = self.tools.values().cloned().collect();
        all.sort_by(|a, b| a.name().cmp(b.name()));
        all
    }

    /// All names that a call may use, including aliases, unordered.
    pub fn callable_names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().chain(self.aliases.keys()).map(|name| &**name)
    }

    /// Number of tools.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

impl ToolIndex for RegistrySnapshot {
    fn tools_in(&self, toolset: &str) -> Vec<String> {
        self.toolsets
            .get(toolset)
            .map(|tools| tools.iter().map(|name| name.to_string()).collect())
            .unwrap_or_default()
    }

    fn toolset_names(&self) -> Vec<String> {
        self.toolsets
            .keys()
            .filter(|name| &***name != BRIDGE_TOOLSET)
            .map(|name| name.to_string())
            .collect()
    }

    fn alias(&self, name: &str) -> Option<String> {
        self.toolset_aliases.get(name).map(|alias| alias.toolset.clone())
    }
}

/// The registry: the current snapshot, and the only way to change it.
#[derive(Debug, Default)]
pub struct ToolRegistry {
    current: ArcSwap<RegistrySnapshot>,
    // Held during a change, so concurrent changes are not lost.
    changing: Mutex<()>,
    retired: Mutex<Vec<Arc<ToolEntry>>>,
}

impl ToolRegistry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// The current snapshot.
    pub fn snapshot(&self) -> Arc<RegistrySnapshot> {
        self.current.load_full()
    }

    /// Makes several changes that become visible together, or not at all.
    pub fn edit<T, E>(
        &self,
        change: impl FnOnce(&mut RegistryEdit) -> Result<T, E>,
    ) -> Result<T, E> {
        let _guard = self.changing.lock();
        let mut edit = RegistryEdit::from_snapshot(&self.current.load());
        let answer = change(&mut edit)?;
        if edit.changed {
            edit.next.generation += 1;
            self.current.store(Arc::new(edit.next));
            self.retired().append(&mut edit.retired);
        }
        Ok(answer)
    }

    /// Takes the tools that were replaced or removed since the last call. They
    /// are still set up: the caller must [retire](ToolEntry::retire) them.
    pub fn take_retired(&self) -> Vec<Arc<ToolEntry>> {
        std::mem::take(&mut self.retired())
    }

    fn retired(&self) -> MutexGuard<'_, Vec<Arc<ToolEntry>>> {
        self.retired.lock()
    }

    /// Adds a tool.
    pub fn register(&self, tool: Arc<dyn DynTool>, owner: &ToolOwner) -> Result<(), RegistryError> {
        self.edit(|edit| edit.register(tool, owner))
    }

    /// Removes a tool; `None` if it does not exist.
    pub fn deregister(
        &self,
        name: &str,
        owner: &ToolOwner,
    ) -> Result<Option<Arc<ToolEntry>>, RegistryError> {
        self.edit(|edit| edit.deregister(name, owner))
    }
}

/// A change in progress.
#[derive(Debug)]
pub struct RegistryEdit {
    next: RegistrySnapshot,
    changed: bool,
    added: HashSet<Arc<str>>,
    retired: Vec<Arc<ToolEntry>>,
}

impl RegistryEdit {
    fn from_snapshot(current: &RegistrySnapshot) -> Self {
        Self { next: current.clone(), changed: false, added: HashSet::new(), retired: Vec::new() }
    }

    /// Adds a tool. It replaces one of the same owner, or of any owner if this
    /// one may override. Removing it later does not restore the replaced tool.
    pub fn register(
        &mut self,
        tool: Arc<dyn DynTool>,
        owner: &ToolOwner,
    ) -> Result<(), RegistryError> {
        let entry = Arc::new(ToolEntry::new(tool, owner.clone()));
        let name: Arc<str> = entry.name().into();
        let toolset: Arc<str> = entry.toolset().into();
        self.check_name(&entry)?;
        let aliases = self.read_aliases(&entry, &name)?;
        let replaced = self.detach(&name);
        // An override takes over a name that was another tool's alias.
        self.next.aliases.remove(&name);
        self.next.aliases.extend(aliases);
        self.next.toolsets.entry(toolset).or_default().insert(name.clone());
        self.next.tools.insert(name.clone(), entry);
        if let Some(replaced) = replaced {
            // Only now, so re-registering a toolset's only tool does not drop
            // the toolset's aliases.
            self.prune_toolset(replaced.toolset());
        }
        self.added.insert(name);
        self.changed = true;
        Ok(())
    }

    /// Removes a tool; `None` if it does not exist. A tool that it had replaced
    /// is not restored.
    pub fn deregister(
        &mut self,
        name: &str,
        owner: &ToolOwner,
    ) -> Result<Option<Arc<ToolEntry>>, RegistryError> {
        check_reserved(name, owner)?;
        let Some(entry) = self.next.get(name) else { return Ok(None) };
        if entry.owner().is_engine() && !owner.is_engine() {
            return Err(RegistryError::Reserved(name.to_owned()));
        }
        if entry.owner() != owner && !owner.may_override {
            return Err(RegistryError::NotOwner {
                name: name.to_owned(),
                owner: entry.owner().id().to_owned(),
            });
        }
        let removed = self.detach(name);
        if let Some(entry) = &removed {
            self.prune_toolset(entry.toolset());
        }
        self.changed = true;
        Ok(removed)
    }

    /// Adds an alias for a toolset, such as a server's name for its `mcp-`
    /// toolset. Without an override, it must not be a toolset's name or another
    /// owner's alias.
    pub fn alias_toolset(
        &mut self,
        alias: impl Into<String>,
        toolset: impl Into<String>,
        owner: &ToolOwner,
    ) -> Result<(), RegistryError> {
        let (alias, toolset) = (alias.into(), toolset.into());
        if !owner.is_engine() && (alias == BRIDGE_TOOLSET || toolset == BRIDGE_TOOLSET) {
            return Err(RegistryError::Reserved(BRIDGE_TOOLSET.to_owned()));
        }
        let existing = if self.next.toolsets.contains_key(alias.as_str()) {
            Some(&alias)
        } else {
            let given = self.next.toolset_aliases.get(&alias);
            given.filter(|given| given.owner != *owner).map(|given| &given.toolset)
        };
        if let Some(existing) = existing.filter(|_| !owner.may_override) {
            return Err(RegistryError::Taken {
                existing: existing.clone(),
                name: alias,
                wanted: toolset,
            });
        }
        self.next.toolset_aliases.insert(alias, ToolsetAlias { toolset, owner: owner.clone() });
        self.changed = true;
        Ok(())
    }

    /// Sets the error for calls of missing tools with this prefix; no similar
    /// tool is called instead. `None` removes it.
    pub fn explain_absence(&mut self, prefix: &str, why: Option<ToolError>) {
        self.changed |= self.next.absences.get(prefix) != why.as_ref();
        match why {
            Some(why) => self.next.absences.insert(prefix.to_owned(), why),
            None => self.next.absences.remove(prefix),
        };
    }

    /// Gives a tool of this owner an id: a name of any form that calls can use,
    /// matched exactly.
    pub fn assign_id(&mut self, id: &str, tool: &str, owner: &ToolOwner) {
        let is_own = self.next.get(tool).is_some_and(|entry| entry.owner() == owner);
        let is_free = self.next.find(id).is_none_or(|entry| entry.owner() == owner);
        if is_own && is_free && self.next.ids.get(id).is_none_or(|known| **known != *tool) {
            self.next.ids.insert(id.into(), tool.into());
            self.changed = true;
        }
    }

    /// Sets the source to refresh before a tool with this prefix is reported as
    /// missing; `None` removes it.
    pub fn set_source(&mut self, prefix: &str, origin: Option<Arc<dyn ToolSource>>) {
        match origin {
            Some(origin) => {
                let known = self.next.sources.insert(prefix.to_owned(), origin);
                self.changed |= known.is_none();
            }
            None => self.changed |= self.next.sources.remove(prefix).is_some(),
        }
    }

    /// Removes a tool with its aliases and ids, and marks it for retirement.
    fn detach(&mut self, name: &str) -> Option<Arc<ToolEntry>> {
        let entry = self.next.tools.remove(name)?;
        self.next.aliases.retain(|_, target| &*target.tool != name);
        self.next.ids.retain(|_, tool| &**tool != name);
        if let Some(tools) = self.next.toolsets.get_mut(entry.toolset()) {
            tools.remove(name);
        }
        self.retired.push(Arc::clone(&entry));
        Some(entry)
    }

    /// Removes a toolset and its aliases if it has no tools left.
    fn prune_toolset(&mut self, toolset: &str) {
        if self.next.toolsets.get(toolset).is_some_and(BTreeSet::is_empty) {
            self.next.toolsets.remove(toolset);
            self.next.toolset_aliases.retain(|_, alias| alias.toolset != toolset);
        }
    }

    fn check_name(&self, entry: &ToolEntry) -> Result<(), RegistryError> {
        let (name, owner) = (entry.name(), entry.owner());
        check_tool_name(name, owner)?;
        if entry.toolset() == BRIDGE_TOOLSET && !owner.is_engine() {
            return Err(RegistryError::Reserved(BRIDGE_TOOLSET.to_owned()));
        }
        let Some(existing) = self.next.find(name) else { return Ok(()) };
        if existing.owner().is_engine() && !owner.is_engine() {
            return Err(RegistryError::Reserved(name.to_owned()));
        }
        // An owner may replace its tool and move it to another toolset; but two
        // toolsets that claim one name in the same change are a conflict.
        let own = existing.name() == name
            && existing.owner() == owner
            && (existing.toolset() == entry.toolset() || !self.added.contains(name));
        if own || owner.may_override {
            return Ok(());
        }
        Err(RegistryError::Taken {
            name: name.to_owned(),
            existing: existing.toolset().to_owned(),
            wanted: entry.toolset().to_owned(),
        })
    }

    fn read_aliases(
        &self,
        entry: &ToolEntry,
        name: &Arc<str>,
    ) -> Result<HashMap<Arc<str>, AliasTarget>, RegistryError> {
        let mut aliases = HashMap::new();
        for alias in &entry.spec().aliases {
            self.check_alias(&alias.name, entry)?;
            let preset = alias.preset_arguments.as_deref().map(serde_json::from_str).transpose();
            let preset = preset.map_err(|_| RegistryError::BadPreset(alias.name.to_string()))?;
            let target = AliasTarget { tool: Arc::clone(name), preset };
            if aliases.insert(Arc::from(&*alias.name), target).is_some() {
                return Err(RegistryError::AliasTwice(alias.name.to_string()));
            }
        }
        Ok(aliases)
    }

    /// An override does not apply to aliases: to take a tool's name, replace
    /// the tool.
    fn check_alias(&self, alias: &str, entry: &ToolEntry) -> Result<(), RegistryError> {
        check_tool_name(alias, entry.owner())?;
        let taken_by = if alias == entry.name() {
            Some(alias)
        } else {
            // A re-registered tool may claim its own aliases again.
            let existing = self.next.find(alias).map(|existing| existing.name());
            existing.filter(|&existing| existing == alias || existing != entry.name())
        };
        match taken_by {
            None => Ok(()),
            Some(tool) => {
                Err(RegistryError::AliasTaken { alias: alias.to_owned(), tool: tool.to_owned() })
            }
        }
    }
}

fn check_tool_name(name: &str, owner: &ToolOwner) -> Result<(), RegistryError> {
    if !is_valid_tool_name(name) {
        return Err(RegistryError::InvalidName(name.to_owned()));
    }
    check_reserved(name, owner)
}

fn check_reserved(name: &str, owner: &ToolOwner) -> Result<(), RegistryError> {
    if RESERVED_TOOL_NAMES.contains(&name) && !owner.is_engine() {
        return Err(RegistryError::Reserved(name.to_owned()));
    }
    Ok(())
}

/// Whether every model accepts this tool name.
pub fn is_valid_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
