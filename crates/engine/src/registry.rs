//! Which tools there are. Readers take an immutable snapshot; a change makes
//! a new one and swaps it in, so a call that is running never sees it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use hermes_core::{BoxFuture, DynTool, ToolError};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value};

use crate::entry::ToolEntry;
use crate::toolsets::ToolIndex;

/// The toolset of the engine's own tools. It is part of no selection: they
/// appear by themselves when tools are deferred.
pub const BRIDGE_TOOLSET: &str = "bridge";

/// Names that only the engine itself may register or remove.
pub const RESERVED_TOOL_NAMES: [&str; 3] = ["tool_search", "tool_describe", "tool_call"];

/// Who registered a tool. Only an owner can replace or remove its own tools,
/// unless the operator has let it override others'.
#[derive(Debug, Clone)]
pub struct ToolOwner {
    kind: OwnerKind,
    may_override: bool,
}

// Not a mere string: a plug-in may call itself "engine" and still be none.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OwnerKind {
    Engine,
    Builtin,
    Named(Arc<str>),
}

impl ToolOwner {
    /// The tools that are compiled in.
    pub fn builtin() -> Self {
        Self { kind: OwnerKind::Builtin, may_override: false }
    }

    /// A plug-in, a server, a user's file.
    pub fn named(id: impl Into<Arc<str>>) -> Self {
        Self { kind: OwnerKind::Named(id.into()), may_override: false }
    }

    pub(crate) fn engine() -> Self {
        Self { kind: OwnerKind::Engine, may_override: false }
    }

    /// The same owner, allowed by the operator to replace tools of others.
    #[must_use]
    pub fn allowed_to_override(mut self) -> Self {
        self.may_override = true;
        self
    }

    /// Its id, to be shown: owners of different kinds may share one.
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

/// The same owner, whatever it is allowed to do today.
impl PartialEq for ToolOwner {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Eq for ToolOwner {}

/// Why a change to the registry was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// Models refuse such a name, so it could never be called.
    #[error("'{0}' cannot be a tool's name: use 1 to 64 letters, digits, '_' or '-'")]
    InvalidName(String),
    /// The engine's own.
    #[error("'{0}' is reserved for the engine's own tools")]
    Reserved(String),
    /// Somebody else's.
    #[error(
        "'{name}' already belongs to toolset '{existing}'; '{wanted}' cannot take it \
         without an override by an owner that may"
    )]
    Taken {
        /// The name.
        name: String,
        /// The toolset that has it.
        existing: String,
        /// The toolset that wants it.
        wanted: String,
    },
    /// An alias that already leads to a tool, or is one's own name.
    #[error("'{alias}' cannot be an alias: it already names the tool '{tool}'")]
    AliasTaken {
        /// The alias.
        alias: String,
        /// The tool of that name or alias.
        tool: String,
    },
    /// Two aliases of one tool are the same.
    #[error("alias '{0}' is given twice")]
    AliasTwice(String),
    /// Not this owner's.
    #[error("'{name}' belongs to '{owner}' and can only be removed by it")]
    NotOwner {
        /// The name.
        name: String,
        /// Who owns it.
        owner: String,
    },
    /// An alias's fixed arguments are not a JSON object.
    #[error("alias '{0}' fixes arguments that are not a JSON object")]
    BadPreset(String),
}

/// Whoever some tools come from, and who may have more of them by now.
pub trait ToolSource: Send + Sync + std::fmt::Debug {
    /// Asks for what there is, and registers it. An error is why nobody knows.
    fn refresh(&self) -> BoxFuture<'_, Result<(), ToolError>>;
}

/// Where an alias leads.
#[derive(Debug, Clone)]
pub(crate) struct AliasTarget {
    pub(crate) tool: Arc<str>,
    pub(crate) preset: Option<Map<String, Value>>,
}

/// Where another name of a toolset leads, and who gave it.
#[derive(Debug, Clone)]
struct ToolsetAlias {
    toolset: String,
    owner: ToolOwner,
}

/// The registry at one moment.
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
    /// Grows with every change.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The tool of that canonical name.
    pub fn get(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        self.tools.get(name)
    }

    /// The tool of that name, alias or id.
    pub fn find(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        let alias = || self.tools.get(&self.aliases.get(name)?.tool);
        self.get(name).or_else(alias).or_else(|| self.tools.get(self.ids.get(name)?))
    }

    /// Where an alias leads; none for a tool's own name, so that an alias's
    /// fixed arguments never reach a call that did not use it.
    pub(crate) fn alias(&self, name: &str) -> Option<&AliasTarget> {
        self.aliases.get(name).filter(|_| !self.tools.contains_key(name))
    }

    /// Why a tool of that name is not there, if its like could be.
    pub fn absence_reason(&self, name: &str) -> Option<&ToolError> {
        let mut absences = self.absences.iter();
        absences.find(|(prefix, _)| name.starts_with(prefix.as_str())).map(|(_, why)| why)
    }

    /// Who may have a tool of that name, though it is not here.
    pub(crate) fn sources_for(&self, name: &str) -> Vec<Arc<dyn ToolSource>> {
        let own = self.sources.iter().filter(|(prefix, _)| name.starts_with(prefix.as_str()));
        own.map(|(_, origin)| Arc::clone(origin)).collect()
    }

    /// Every tool, by name.
    pub fn entries(&self) -> Vec<Arc<ToolEntry>> {
        let mut all: Vec<_> = self.tools.values().cloned().collect();
        all.sort_by(|a, b| a.name().cmp(b.name()));
        all
    }

    /// Every name that a call may use, aliases included, in no order.
    pub fn callable_names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().chain(self.aliases.keys()).map(|name| &**name)
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are none.
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

/// The registry: the current snapshot, and the one way to change it.
#[derive(Debug, Default)]
pub struct ToolRegistry {
    current: ArcSwap<RegistrySnapshot>,
    // Held while a change is made, so that two changes cannot lose each other.
    changing: Mutex<()>,
    retired: Mutex<Vec<Arc<ToolEntry>>>,
}

impl ToolRegistry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// The registry as it is now.
    pub fn snapshot(&self) -> Arc<RegistrySnapshot> {
        self.current.load_full()
    }

    /// Makes several changes that become visible together, or none at all.
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

    /// The tools that were replaced or removed since this was last asked.
    /// They are still set up: whoever takes them must [retire](Entry::retire)
    /// them.
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

    /// Removes a tool; none if there is no such tool.
    pub fn deregister(
        &self,
        name: &str,
        owner: &ToolOwner,
    ) -> Result<Option<Arc<ToolEntry>>, RegistryError> {
        self.edit(|edit| edit.deregister(name, owner))
    }
}

/// A change in the making.
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

    /// Adds a tool, in place of an older one of the same owner, or of anybody
    /// if the owner may override. A tool that was replaced is gone: removing
    /// its replacement does not bring it back.
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
        // The new tool's name was another's alias, which an override takes.
        self.next.aliases.remove(&name);
        self.next.aliases.extend(aliases);
        self.next.toolsets.entry(toolset).or_default().insert(name.clone());
        self.next.tools.insert(name.clone(), entry);
        if let Some(replaced) = replaced {
            // Only now, so that refreshing a toolset's only tool does not
            // cost the toolset its other names.
            self.prune_toolset(replaced.toolset());
        }
        self.added.insert(name);
        self.changed = true;
        Ok(())
    }

    /// Removes a tool; none if there is no such tool. If it had replaced
    /// another, that one does not come back.
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

    /// Another name for a toolset, such as a server's for its `mcp-` toolset.
    /// Without an override it can be neither a toolset's own name nor one
    /// that somebody else has given.
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

    /// From now on, calls of tools that are not there and whose names begin
    /// like this fail with that error, and no other tool is taken for them; or
    /// no longer so.
    pub fn explain_absence(&mut self, prefix: &str, why: Option<ToolError>) {
        self.changed |= self.next.absences.get(prefix) != why.as_ref();
        match why {
            Some(why) => self.next.absences.insert(prefix.to_owned(), why),
            None => self.next.absences.remove(prefix),
        };
    }

    /// Gives a tool of this owner an id: a name of any form, by which it can be
    /// called and which is read as it stands.
    pub fn assign_id(&mut self, id: &str, tool: &str, owner: &ToolOwner) {
        let is_own = self.next.get(tool).is_some_and(|entry| entry.owner() == owner);
        let is_free = self.next.find(id).is_none_or(|entry| entry.owner() == owner);
        if is_own && is_free && self.next.ids.get(id).is_none_or(|known| **known != *tool) {
            self.next.ids.insert(id.into(), tool.into());
            self.changed = true;
        }
    }

    /// From now on this one is asked before a tool whose name begins like this
    /// is said not to exist; or no longer so.
    pub fn set_source(&mut self, prefix: &str, origin: Option<Arc<dyn ToolSource>>) {
        match origin {
            Some(origin) => {
                let known = self.next.sources.insert(prefix.to_owned(), origin);
                self.changed |= known.is_none();
            }
            None => self.changed |= self.next.sources.remove(prefix).is_some(),
        }
    }

    /// Takes a tool and its other names out, and remembers that it must be retired.
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

    /// A toolset's last tool takes the toolset and its other names along.
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
        // Whoever has the name may replace its tool and move it to another
        // toolset; but two toolsets that want one name in the same change are
        // a clash and no move.
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

    /// No override helps here: who wants another tool's name must replace it.
    fn check_alias(&self, alias: &str, entry: &ToolEntry) -> Result<(), RegistryError> {
        check_tool_name(alias, entry.owner())?;
        let taken_by = if alias == entry.name() {
            Some(alias)
        } else {
            // A tool that is registered again claims its aliases again.
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

/// Whether every model accepts this as a tool's name.
pub fn is_valid_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
