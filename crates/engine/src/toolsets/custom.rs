//! Custom toolsets: creates, changes, deletes and loads them.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::resolve::{ALL_TOOLSETS, SERVER_PREFIX, is_registered};
use super::{CustomToolsets, ToolIndex, ToolsetCatalog, ToolsetError, nearest, table};

/// Returns the canonical name of an existing tool, given any of its names.
pub type ToolLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

const MAX_NAME_BYTES: usize = 64;

#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CustomToolset {
    pub name: String,
    pub description: String,
    pub tools: Vec<String>,
    pub includes: Vec<String>,
    /// Unknown fields of the stored document.
    pub(super) extra: Map<String, Value>,
}

impl CustomToolset {
    /// An empty toolset; fill in its other fields.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            tools: Vec::new(),
            includes: Vec::new(),
            extra: Map::new(),
        }
    }
}

/// A missing member is an error at creation. At load it is not: it may return
/// when its server connects or its file is restored.
#[derive(Clone, Copy, PartialEq)]
enum ValidationMode {
    Creation,
    Load,
}

impl ToolsetCatalog {
    /// Loads stored toolsets. A tool that does not exist is kept but adds
    /// nothing; [`ToolsetCatalog::problems`] reports it.
    ///
    /// # Errors
    /// When an include names a toolset that does not exist. An MCP server's
    /// toolset may be missing: the server may connect later.
    pub fn load(
        custom: CustomToolsets,
        index: &dyn ToolIndex,
        tools: ToolLookup<'_>,
    ) -> Result<Self, ToolsetError> {
        let mut loaded = Self { custom };
        let settled = loaded
            .custom
            .iter()
            .map(|toolset| {
                loaded.validate_members(toolset.clone(), index, tools, ValidationMode::Load)
            })
            .collect::<Result<Vec<_>, _>>()?;
        for toolset in settled {
            loaded.custom.insert(toolset);
        }
        Ok(loaded)
    }

    /// Adds a toolset.
    ///
    /// # Errors
    /// When the name is malformed or taken, a tool or an include does not
    /// exist, or the toolset includes itself.
    pub fn create(
        &mut self,
        toolset: CustomToolset,
        index: &dyn ToolIndex,
        tools: ToolLookup<'_>,
    ) -> Result<(), ToolsetError> {
        if self.custom.get(&toolset.name).is_some() {
            return Err(ToolsetError::Exists { name: toolset.name });
        }
        self.replace(toolset, index, tools)
    }

    /// Adds a toolset, or replaces the custom one with that name.
    ///
    /// # Errors
    /// As [`ToolsetCatalog::create`], except that the name of a custom toolset
    /// is allowed.
    pub fn replace(
        &mut self,
        toolset: CustomToolset,
        index: &dyn ToolIndex,
        tools: ToolLookup<'_>,
    ) -> Result<(), ToolsetError> {
        check_name(&toolset.name)?;
        let old = self.custom.get(&toolset.name);
        if old.is_none()
            && (is_registered(&toolset.name, index) || index.alias(&toolset.name).is_some())
        {
            return Err(ToolsetError::Taken {
                name: toolset.name,
                holder: "a toolset of registered tools",
            });
        }
        if toolset.includes.contains(&toolset.name) {
            let path = vec![toolset.name.clone(), toolset.name];
            return Err(ToolsetError::Cycle { path });
        }
        let mut settled = self.validate_members(toolset, index, tools, ValidationMode::Creation)?;
        self.check_cycle(&settled)?;
        if let Some(old) = old {
            for (field, value) in &old.extra {
                settled.extra.entry(field.clone()).or_insert_with(|| value.clone());
            }
        }
        self.custom.insert(settled);
        Ok(())
    }

    /// Removes a custom toolset and returns it.
    ///
    /// # Errors
    /// When it is built in, does not exist, or others include it.
    pub fn delete(
        &mut self,
        name: &str,
        index: &dyn ToolIndex,
    ) -> Result<CustomToolset, ToolsetError> {
        let by: Vec<String> = self
            .custom
            .iter()
            .filter(|other| other.name != name && other.includes.iter().any(|i| i == name))
            .map(|other| other.name.clone())
            .collect();
        if self.custom.get(name).is_some() && !by.is_empty() {
            return Err(ToolsetError::InUse { name: name.to_owned(), by });
        }
        if let Some(removed) = self.custom.remove(name) {
            return Ok(removed);
        }
        let name = name.to_owned();
        if name_holder(&name).is_some() {
            return Err(ToolsetError::BuiltIn { name });
        }
        if is_registered(&name, index) {
            return Err(ToolsetError::Registered { name });
        }
        let suggestions = nearest(&name, self.custom.iter().map(|toolset| &toolset.name));
        Err(ToolsetError::Unknown { name, suggestions })
    }

    /// Lists missing members of custom toolsets: tools, and toolsets of MCP
    /// servers that are not connected.
    #[must_use]
    pub fn problems(&self, index: &dyn ToolIndex, tools: ToolLookup<'_>) -> Vec<ToolsetError> {
        let mut problems = Vec::new();
        for toolset in self.custom.iter() {
            for include in &toolset.includes {
                if self.locate(include, index).is_none() {
                    problems.push(self.unknown_include_error(&toolset.name, include, index));
                }
            }
            for tool in &toolset.tools {
                if tools(tool).is_none() && !table::has_tool(tool) {
                    problems.push(self.unknown_tool_error(&toolset.name, tool, index));
                }
            }
        }
        problems
    }

    /// Checks the members, replaces names by canonical ones and removes
    /// duplicates.
    fn validate_members(
        &self,
        mut toolset: CustomToolset,
        index: &dyn ToolIndex,
        lookup: ToolLookup<'_>,
        moment: ValidationMode,
    ) -> Result<CustomToolset, ToolsetError> {
        let mut seen = HashSet::new();
        let mut tools = Vec::with_capacity(toolset.tools.len());
        for tool in std::mem::take(&mut toolset.tools) {
            let canonical = match lookup(&tool) {
                Some(canonical) => canonical,
                // In the table but not in the registry: not part of this build.
                None if moment == ValidationMode::Load || table::has_tool(&tool) => tool,
                None => return Err(self.unknown_tool_error(&toolset.name, &tool, index)),
            };
            if seen.insert(canonical.clone()) {
                tools.push(canonical);
            }
        }
        toolset.tools = tools;

        let mut seen = HashSet::new();
        let mut includes = Vec::with_capacity(toolset.includes.len());
        for include in std::mem::take(&mut toolset.includes) {
            let canonical = match self.locate(&include, index) {
                Some(found) => found.name,
                None if moment == ValidationMode::Load && include.starts_with(SERVER_PREFIX) => {
                    include
                }
                None => return Err(self.unknown_include_error(&toolset.name, &include, index)),
            };
            if seen.insert(canonical.clone()) {
                includes.push(canonical);
            }
        }
        toolset.includes = includes;
        Ok(toolset)
    }

    /// Returns an error if the includes of `changed` lead back to it. Only
    /// custom toolsets can form a cycle, since built-in ones do not include
    /// them.
    fn check_cycle(&self, changed: &CustomToolset) -> Result<(), ToolsetError> {
        let mut reached_from: HashMap<&str, &str> = HashMap::new();
        let mut pending = vec![changed];
        while let Some(toolset) = pending.pop() {
            for include in &toolset.includes {
                if *include == changed.name {
                    let mut path = vec![changed.name.clone(), toolset.name.clone()];
                    let mut at = toolset.name.as_str();
                    while let Some(previous) = reached_from.get(at) {
                        path.push((*previous).to_owned());
                        at = previous;
                    }
                    path.reverse();
                    return Err(ToolsetError::Cycle { path });
                }
                if let Some(next) = self.custom.get(include)
                    && !reached_from.contains_key(include.as_str())
                {
                    reached_from.insert(include, &toolset.name);
                    pending.push(next);
                }
            }
        }
        Ok(())
    }

    fn unknown_tool_error(&self, toolset: &str, tool: &str, index: &dyn ToolIndex) -> ToolsetError {
        ToolsetError::UnknownTool {
            toolset: toolset.to_owned(),
            tool: tool.to_owned(),
            suggestions: nearest(tool, self.all_tool_names(index)),
        }
    }
}

/// Checks a name, as far as that does not depend on registered tools.
pub(super) fn check_name(name: &str) -> Result<(), ToolsetError> {
    let invalid = |rule| Err(ToolsetError::InvalidName { name: name.to_owned(), rule });
    let mut bytes = name.bytes();
    if !bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
        return invalid("it must start with a lower-case letter or a digit");
    }
    if !bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-') {
        return invalid("only lower-case letters, digits, `_` and `-` are allowed");
    }
    if name.len() > MAX_NAME_BYTES {
        return invalid("it must not be longer than 64 characters");
    }
    if name.starts_with(SERVER_PREFIX) {
        return invalid("`mcp-` is reserved for MCP servers");
    }
    match name_holder(name) {
        Some(holder) => Err(ToolsetError::Taken { name: name.to_owned(), holder }),
        None => Ok(()),
    }
}

fn name_holder(name: &str) -> Option<&'static str> {
    if name == ALL_TOOLSETS || name == "*" {
        Some("the union of all toolsets")
    } else if table::find(name).is_some() {
        Some("a built-in toolset")
    } else if table::find_legacy(name).is_some() {
        Some("an old name of a built-in toolset")
    } else {
        None
    }
}

#[cfg(test)]
#[path = "custom_tests.rs"]
mod tests;
