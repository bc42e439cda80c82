//! Resolves toolset names to tool names.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;

use super::table::{
    self, BUILTIN_TOOLSETS, CORE_TOOLS, LegacyToolset, ToolsetDefinition, ToolsetKind,
};
use super::{CustomToolset, ToolIndex, ToolsetCatalog, ToolsetError, nearest};

pub(super) const ALL_TOOLSETS: &str = "all";
/// Start of the names of toolsets that hold the tools of one MCP server.
pub const SERVER_PREFIX: &str = "mcp-";

/// The toolsets of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ToolSelection {
    /// `None` enables everything, an empty list nothing.
    pub enabled: Option<Vec<String>>,
    /// Removed last; takes precedence over `enabled`.
    pub disabled: Vec<String>,
}

/// A toolset, for display.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolsetSummary {
    pub name: String,
    pub description: String,
    /// All tools, including those of included toolsets; sorted.
    pub tools: Vec<String>,
    /// The toolset's own tools, including registered ones; sorted.
    pub direct: Vec<String>,
    pub includes: Vec<String>,
    pub tool_count: usize,
    pub is_composite: bool,
    pub custom: bool,
    pub kind: ToolsetKind,
}

/// An existing toolset, under its canonical name.
pub(super) struct LocatedToolset<'a> {
    pub(super) name: String,
    source: ToolsetSource<'a>,
}

enum ToolsetSource<'a> {
    Everything,
    Builtin(&'static ToolsetDefinition),
    Custom(&'a CustomToolset),
    Registered,
    Legacy(&'static LegacyToolset),
}

impl LocatedToolset<'_> {
    fn includes(&self) -> Vec<&str> {
        match self.source {
            ToolsetSource::Builtin(def) => def.includes.to_vec(),
            ToolsetSource::Custom(def) => def.includes.iter().map(String::as_str).collect(),
            ToolsetSource::Everything | ToolsetSource::Registered | ToolsetSource::Legacy(_) => {
                Vec::new()
            }
        }
    }

    fn add_direct(&self, index: &dyn ToolIndex, tools: &mut BTreeSet<String>) {
        match self.source {
            ToolsetSource::Builtin(def) => {
                tools.extend(def.tools.iter().copied().map(String::from))
            }
            ToolsetSource::Custom(def) => tools.extend(def.tools.iter().cloned()),
            ToolsetSource::Legacy(def) => {
                tools.extend(def.tools.iter().copied().map(String::from));
                return;
            }
            ToolsetSource::Everything => return,
            ToolsetSource::Registered => {}
        }
        tools.extend(index.tools_in(&self.name));
    }

    fn kind(&self) -> ToolsetKind {
        match self.source {
            ToolsetSource::Builtin(def) => def.kind,
            ToolsetSource::Everything => ToolsetKind::Composite,
            ToolsetSource::Custom(def) if !def.includes.is_empty() => ToolsetKind::Composite,
            ToolsetSource::Custom(_) | ToolsetSource::Registered | ToolsetSource::Legacy(_) => {
                ToolsetKind::Leaf
            }
        }
    }

    fn description(&self) -> String {
        match self.source {
            ToolsetSource::Everything => "Every tool of every toolset".to_owned(),
            ToolsetSource::Builtin(def) => def.description.to_owned(),
            ToolsetSource::Custom(def) => def.description.clone(),
            ToolsetSource::Legacy(_) => {
                "A former name, kept for existing configurations".to_owned()
            }
            ToolsetSource::Registered => match self.name.strip_prefix(SERVER_PREFIX) {
                Some(server) => format!("Tools of the MCP server {server}"),
                None => format!("Tools registered into {}", self.name),
            },
        }
    }
}

impl ToolsetCatalog {
    /// Returns the tools of one toolset, sorted, without duplicates.
    ///
    /// # Errors
    /// When the toolset, or one that it includes, does not exist.
    pub fn resolve(&self, name: &str, index: &dyn ToolIndex) -> Result<Vec<String>, ToolsetError> {
        let root = self.require(name, index)?;
        Ok(self.collect_tools(vec![root], index)?.into_iter().collect())
    }

    /// Returns the tools of a session, sorted, without duplicates. Disabling a
    /// posture removes only what it adds to the core tools, disabling a platform
    /// only its own tools: turning off a platform must not remove `read_file`.
    ///
    /// # Errors
    /// When a name is not a toolset. That includes `disabled`: ignoring a
    /// misspelt name would leave enabled what was to be turned off.
    pub fn select(
        &self,
        selection: &ToolSelection,
        index: &dyn ToolIndex,
    ) -> Result<Vec<String>, ToolsetError> {
        let enabled = match &selection.enabled {
            None => vec![self.require(ALL_TOOLSETS, index)?],
            Some(names) => {
                names.iter().map(|name| self.require(name, index)).collect::<Result<_, _>>()?
            }
        };
        let mut tools = self.collect_tools(enabled, index)?;

        let (mut whole, mut sparing, mut platforms) = (Vec::new(), Vec::new(), Vec::new());
        for name in &selection.disabled {
            match self.require(name, index) {
                Ok(toolset) => match toolset.kind() {
                    ToolsetKind::Platform => platforms.push(toolset),
                    ToolsetKind::Posture => sparing.push(toolset),
                    ToolsetKind::Leaf | ToolsetKind::Composite => whole.push(toolset),
                },
                Err(ToolsetError::Absent { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        for tool in self.collect_tools(whole, index)? {
            tools.remove(&tool);
        }
        let spared = self.collect_tools(sparing, index)?;
        for tool in spared.into_iter().chain(self.platform_tools(platforms, index)) {
            if !CORE_TOOLS.contains(&tool.as_str()) {
                tools.remove(&tool);
            }
        }
        Ok(tools.into_iter().collect())
    }

    /// Describes a toolset.
    ///
    /// # Errors
    /// As [`ToolsetCatalog::resolve`].
    pub fn summary(
        &self,
        name: &str,
        index: &dyn ToolIndex,
    ) -> Result<ToolsetSummary, ToolsetError> {
        let toolset = self.require(name, index)?;
        let mut direct = BTreeSet::new();
        toolset.add_direct(index, &mut direct);
        let includes: Vec<String> = toolset.includes().into_iter().map(String::from).collect();
        let is_composite =
            !includes.is_empty() || matches!(toolset.source, ToolsetSource::Everything);
        let (kind, description) = (toolset.kind(), toolset.description());
        let custom = matches!(toolset.source, ToolsetSource::Custom(_));
        let name = toolset.name.clone();
        let tools: Vec<String> = self.collect_tools(vec![toolset], index)?.into_iter().collect();
        Ok(ToolsetSummary {
            name,
            description,
            tool_count: tools.len(),
            tools,
            direct: direct.into_iter().collect(),
            includes,
            is_composite,
            custom,
            kind,
        })
    }

    /// Names of all toolsets, sorted: built-in, custom and registered. Former
    /// names, aliases and `all` resolve but are not listed.
    #[must_use]
    pub fn names(&self, index: &dyn ToolIndex) -> Vec<String> {
        let mut names: BTreeSet<String> =
            BUILTIN_TOOLSETS.iter().map(|toolset| toolset.name.to_owned()).collect();
        names.extend(self.custom.iter().map(|toolset| toolset.name.clone()));
        names.extend(index.toolset_names());
        names.into_iter().collect()
    }

    /// Whether `name` can be resolved.
    #[must_use]
    pub fn contains(&self, name: &str, index: &dyn ToolIndex) -> bool {
        self.locate(name, index).is_some()
    }

    /// Checks that `name` is a toolset.
    ///
    /// # Errors
    /// When it is not; the error carries suggestions.
    pub fn check(&self, name: &str, index: &dyn ToolIndex) -> Result<(), ToolsetError> {
        self.require(name, index).map(drop)
    }

    fn require(
        &self,
        name: &str,
        index: &dyn ToolIndex,
    ) -> Result<LocatedToolset<'_>, ToolsetError> {
        if let Some(toolset) = self.locate(name, index) {
            return Ok(toolset);
        }
        let name = name.to_owned();
        if table::is_absent(&name) {
            return Err(ToolsetError::Absent { name });
        }
        let suggestions = self.similar_to(&name, index);
        Err(ToolsetError::Unknown { name, suggestions })
    }

    pub(super) fn locate(&self, name: &str, index: &dyn ToolIndex) -> Option<LocatedToolset<'_>> {
        self.locate_canonical(name, index)
            .or_else(|| self.locate_canonical(&index.alias(name)?, index))
            .or_else(|| {
                let legacy = table::find_legacy(name)?;
                Some(LocatedToolset {
                    name: name.to_owned(),
                    source: ToolsetSource::Legacy(legacy),
                })
            })
    }

    fn locate_canonical(&self, name: &str, index: &dyn ToolIndex) -> Option<LocatedToolset<'_>> {
        let (name, source) = if name == ALL_TOOLSETS || name == "*" {
            (ALL_TOOLSETS, ToolsetSource::Everything)
        } else if let Some(def) = table::find(name) {
            (name, ToolsetSource::Builtin(def))
        } else if let Some(def) = self.custom.get(name) {
            (name, ToolsetSource::Custom(def))
        } else if is_registered(name, index) {
            (name, ToolsetSource::Registered)
        } else {
            return None;
        };
        Some(LocatedToolset { name: name.to_owned(), source })
    }

    /// Collects tools through includes with an explicit stack, visiting each
    /// toolset once: neither cycles nor long chains are a problem.
    fn collect_tools<'a>(
        &'a self,
        mut pending: Vec<LocatedToolset<'a>>,
        index: &dyn ToolIndex,
    ) -> Result<BTreeSet<String>, ToolsetError> {
        let mut tools = BTreeSet::new();
        let mut seen: HashSet<String> = HashSet::new();
        pending.retain(|toolset| seen.insert(toolset.name.clone()));
        while let Some(toolset) = pending.pop() {
            if matches!(toolset.source, ToolsetSource::Everything) {
                return Ok(self.all_tool_names(index));
            }
            toolset.add_direct(index, &mut tools);
            for include in toolset.includes() {
                if seen.contains(include) {
                    continue;
                }
                match self.locate(include, index) {
                    Some(next) => {
                        if seen.insert(next.name.clone()) {
                            pending.push(next);
                        }
                    }
                    // The server is not connected; it adds no tools until it
                    // is.
                    None if include.starts_with(SERVER_PREFIX) => {}
                    None => return Err(self.unknown_include_error(&toolset.name, include, index)),
                }
            }
        }
        Ok(tools)
    }

    /// Collects the platforms' own tools, without those of the families that
    /// they include.
    fn platform_tools<'a>(
        &'a self,
        mut pending: Vec<LocatedToolset<'a>>,
        index: &dyn ToolIndex,
    ) -> BTreeSet<String> {
        let mut tools = BTreeSet::new();
        while let Some(toolset) = pending.pop() {
            toolset.add_direct(index, &mut tools);
            let includes =
                toolset.includes().into_iter().filter_map(|name| self.locate(name, index));
            // Built-in platforms do not include one another in a circle.
            pending.extend(includes.filter(|next| next.kind() == ToolsetKind::Platform));
        }
        tools
    }

    /// Follows no includes: they only lead to toolsets that are listed anyway.
    pub(super) fn all_tool_names(&self, index: &dyn ToolIndex) -> BTreeSet<String> {
        let mut tools: BTreeSet<String> = BUILTIN_TOOLSETS
            .iter()
            .flat_map(|toolset| toolset.tools.iter().copied().map(String::from))
            .collect();
        for toolset in self.custom.iter() {
            tools.extend(toolset.tools.iter().cloned());
        }
        for toolset in index.toolset_names() {
            tools.extend(index.tools_in(&toolset));
        }
        tools
    }

    pub(super) fn unknown_include_error(
        &self,
        toolset: &str,
        include: &str,
        index: &dyn ToolIndex,
    ) -> ToolsetError {
        ToolsetError::UnknownInclude {
            toolset: toolset.to_owned(),
            include: include.to_owned(),
            suggestions: self.similar_to(include, index),
        }
    }

    pub(super) fn similar_to(&self, name: &str, index: &dyn ToolIndex) -> Vec<String> {
        let names = self.names(index);
        nearest(name, names.iter().map(String::as_str).chain([ALL_TOOLSETS]))
    }
}

pub(super) fn is_registered(name: &str, index: &dyn ToolIndex) -> bool {
    !index.tools_in(name).is_empty() || index.toolset_names().iter().any(|known| known == name)
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
