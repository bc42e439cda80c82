//! Which tools there are. Readers take an immutable snapshot; a change makes
//! a new one and swaps it in, so a call that is running never sees it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use hermes_core::DynTool;
use serde_json::{Map, Value};

use crate::entry::Entry;
use crate::toolsets::ToolIndex;

/// The toolset of the engine's own tools. It is part of no selection: they
/// appear by themselves when tools are deferred.
pub const BRIDGE: &str = "bridge";

/// Names that only the engine itself may register.
pub const RESERVED: [&str; 3] = ["tool_search", "tool_describe", "tool_call"];

/// Who registered a tool. Only an owner can replace or remove its own tools,
/// unless the operator has let it override others'.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    id: Arc<str>,
    may_override: bool,
}

impl Owner {
    /// The tools that are compiled in.
    pub fn builtin() -> Self {
        Self { id: "builtin".into(), may_override: false }
    }

    /// A plug-in, a server, a user's file.
    pub fn named(id: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), may_override: false }
    }

    /// The same owner, allowed by the operator to replace tools of others.
    #[must_use]
    pub fn allowed_to_override(mut self) -> Self {
        self.may_override = true;
        self
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    fn is_engine(&self) -> bool {
        &*self.id == "engine"
    }

    pub(crate) fn engine() -> Self {
        Self { id: "engine".into(), may_override: false }
    }
}

/// Why a change to the registry was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// Models refuse such a name, so it could never be called.
    #[error("'{0}' cannot be a tool's name: use 1 to 64 letters, digits, '_' or '-'")]
    InvalidName(String),
    /// The engine's own.
    #[error("'{0}' is reserved for the engine's own tools; choose another name")]
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
    /// Not there, or not this owner's.
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

/// Where an alias leads.
#[derive(Debug, Clone)]
pub(crate) struct AliasTarget {
    pub(crate) tool: Arc<str>,
    pub(crate) preset: Option<Map<String, Value>>,
}

/// The registry at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    generation: u64,
    tools: HashMap<Arc<str>, Arc<Entry>>,
    aliases: HashMap<Arc<str>, AliasTarget>,
    toolsets: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    toolset_aliases: BTreeMap<String, String>,
}

impl Snapshot {
    /// Grows with every change.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The tool of that canonical name.
    pub fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        self.tools.get(name)
    }

    /// The tool of that name or alias.
    pub fn find(&self, name: &str) -> Option<&Arc<Entry>> {
        self.get(name).or_else(|| self.tools.get(&self.aliases.get(name)?.tool))
    }

    pub(crate) fn alias(&self, name: &str) -> Option<&AliasTarget> {
        self.aliases.get(name)
    }

    /// Every tool, by name.
    pub fn entries(&self) -> Vec<Arc<Entry>> {
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

impl ToolIndex for Snapshot {
    fn tools_in(&self, toolset: &str) -> Vec<String> {
        self.toolsets
            .get(toolset)
            .map(|tools| tools.iter().map(|name| name.to_string()).collect())
            .unwrap_or_default()
    }

    fn toolset_names(&self) -> Vec<String> {
        self.toolsets
            .keys()
            .filter(|name| &***name != BRIDGE)
            .map(|name| name.to_string())
            .collect()
    }

    fn alias(&self, name: &str) -> Option<String> {
        self.toolset_aliases.get(name).cloned()
    }
}

/// The registry: the current snapshot, and the one way to change it.
#[derive(Debug, Default)]
pub struct Registry {
    current: ArcSwap<Snapshot>,
    // Held while a change is made, so that two changes cannot lose each other.
    changing: Mutex<()>,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// The registry as it is now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Makes several changes that become visible together, or none at all.
    pub fn edit<T, E>(&self, change: impl FnOnce(&mut Edit) -> Result<T, E>) -> Result<T, E> {
        let _guard = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut edit = Edit { next: Snapshot::clone(&self.current.load()), changed: false };
        let answer = change(&mut edit)?;
        if edit.changed {
            edit.next.generation += 1;
            self.current.store(Arc::new(edit.next));
        }
        Ok(answer)
    }

    /// Adds a tool.
    pub fn register(&self, tool: Arc<dyn DynTool>, owner: &Owner) -> Result<(), RegistryError> {
        self.edit(|edit| edit.register(tool, owner))
    }

    /// Removes a tool; none if there is no such tool.
    pub fn deregister(
        &self,
        name: &str,
        owner: &Owner,
    ) -> Result<Option<Arc<Entry>>, RegistryError> {
        self.edit(|edit| edit.deregister(name, owner))
    }
}

/// A change in the making.
#[derive(Debug)]
pub struct Edit {
    next: Snapshot,
    changed: bool,
}

impl Edit {
    /// Adds a tool, in place of an older one of the same owner or toolset.
    pub fn register(&mut self, tool: Arc<dyn DynTool>, owner: &Owner) -> Result<(), RegistryError> {
        let entry = Arc::new(Entry::new(tool, owner.clone()));
        let name: Arc<str> = entry.name().into();
        let mut aliases = Vec::new();
        self.check_name(&name, &entry)?;
        for alias in &entry.spec().aliases {
            self.check_name(&alias.name, &entry)?;
            let preset = alias.preset.as_deref().map(serde_json::from_str).transpose();
            let preset = preset.map_err(|_| RegistryError::BadPreset(alias.name.to_string()))?;
            aliases.push((Arc::from(&*alias.name), AliasTarget { tool: name.clone(), preset }));
        }
        self.remove(&name);
        self.next.aliases.remove(&name);
        self.next.aliases.extend(aliases);
        self.next.toolsets.entry(entry.toolset().into()).or_default().insert(name.clone());
        self.next.tools.insert(name, entry);
        self.changed = true;
        Ok(())
    }

    /// Removes a tool; none if there is no such tool.
    pub fn deregister(
        &mut self,
        name: &str,
        owner: &Owner,
    ) -> Result<Option<Arc<Entry>>, RegistryError> {
        let Some(entry) = self.next.tools.get(name) else { return Ok(None) };
        if entry.owner() != owner && !owner.may_override && entry.owner().id != owner.id {
            return Err(RegistryError::NotOwner {
                name: name.to_owned(),
                owner: entry.owner().id.to_string(),
            });
        }
        self.changed = true;
        Ok(self.remove(name))
    }

    /// Another name for a toolset, such as a server's for its `mcp-` toolset.
    pub fn alias_toolset(&mut self, alias: impl Into<String>, toolset: impl Into<String>) {
        self.next.toolset_aliases.insert(alias.into(), toolset.into());
        self.changed = true;
    }

    fn remove(&mut self, name: &str) -> Option<Arc<Entry>> {
        let entry = self.next.tools.remove(name)?;
        self.next.aliases.retain(|_, target| &*target.tool != name);
        if let Some(tools) = self.next.toolsets.get_mut(entry.toolset()) {
            tools.remove(name);
            if tools.is_empty() {
                // The last tool takes the toolset's other names with it.
                self.next.toolsets.remove(entry.toolset());
                self.next.toolset_aliases.retain(|_, target| target != entry.toolset());
            }
        }
        Some(entry)
    }

    fn check_name(&self, name: &str, entry: &Entry) -> Result<(), RegistryError> {
        if !is_callable(name) {
            return Err(RegistryError::InvalidName(name.to_owned()));
        }
        let owner = entry.owner();
        if RESERVED.contains(&name) && !owner.is_engine() {
            return Err(RegistryError::Reserved(name.to_owned()));
        }
        let Some(existing) = self.next.find(name) else { return Ok(()) };
        // An alias may be claimed again by its own tool, a name by its own toolset.
        let own = existing.toolset() == entry.toolset()
            && (existing.name() == name || existing.name() == entry.name());
        let refresh = existing.toolset().starts_with("mcp-") && entry.toolset().starts_with("mcp-");
        if own || refresh || owner.may_override {
            return Ok(());
        }
        Err(RegistryError::Taken {
            name: name.to_owned(),
            existing: existing.toolset().to_owned(),
            wanted: entry.toolset().to_owned(),
        })
    }
}

/// Whether every model accepts this as a tool's name.
pub fn is_callable(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
