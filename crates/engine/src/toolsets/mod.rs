//! Toolsets: named groups of tools that can include one another. They are built
//! in, defined by the user, or made of registered tools.

mod custom;
mod document;
mod error;
#[cfg(test)]
mod fake_index;
mod resolve;
mod suggest;
mod table;

pub use custom::{CustomToolset, ToolLookup};
pub use document::CustomToolsets;
pub use error::ToolsetError;
pub(crate) use error::{did_you_mean, quote};
pub use resolve::{SERVER_PREFIX, ToolSelection, ToolsetSummary};
pub(crate) use suggest::nearest;
pub use table::{
    BUILTIN_TOOLSETS, CORE_TOOLS, LEGACY_TOOLSETS, LegacyToolset, ToolsetDefinition, ToolsetKind,
};

/// What resolution needs from the registry: tools registered into a toolset
/// extend it, and a toolset may exist by registration alone.
pub trait ToolIndex {
    /// Canonical names of the tools registered into `toolset`, in any order.
    fn tools_in(&self, toolset: &str) -> Vec<String>;
    /// Every toolset into which tools are, or may become, registered.
    fn toolset_names(&self) -> Vec<String>;
    /// The toolset that `name` is an alias of (an MCP server's name for
    /// `mcp-<server>`).
    fn alias(&self, name: &str) -> Option<String>;
}

/// An index with nothing registered.
impl ToolIndex for () {
    fn tools_in(&self, _toolset: &str) -> Vec<String> {
        Vec::new()
    }

    fn toolset_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn alias(&self, _name: &str) -> Option<String> {
        None
    }
}

/// The built-in and custom toolsets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolsetCatalog {
    custom: CustomToolsets,
}

impl ToolsetCatalog {
    /// The custom toolsets, as they are to be stored.
    #[must_use]
    pub fn custom(&self) -> &CustomToolsets {
        &self.custom
    }
}
