//! Toolsets: named groups of tools that include one another, built in, made by
//! the user, or filled by whatever is registered.

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
pub use resolve::{ToolSelection, ToolsetSummary};
pub(crate) use suggest::nearest;
pub use table::{
    BUILTIN_TOOLSETS, CORE_TOOLS, LEGACY_TOOLSETS, LegacyToolset, ToolsetDefinition, ToolsetKind,
};

/// What resolution needs to know of the registry: tools registered into a
/// toolset extend it, and a toolset may exist by registration alone.
pub trait ToolIndex {
    /// Canonical names of the tools registered into `toolset`, in any order.
    fn tools_in(&self, toolset: &str) -> Vec<String>;
    /// Every toolset that something is, or may become, registered into.
    fn toolset_names(&self) -> Vec<String>;
    /// The toolset that `name` is another name of (an MCP server's name for `mcp-<server>`).
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

/// The built-in toolsets together with the user's own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolsetCatalog {
    custom: CustomToolsets,
}

impl ToolsetCatalog {
    /// The user's own toolsets, as they are to be written back.
    #[must_use]
    pub fn custom(&self) -> &CustomToolsets {
        &self.custom
    }
}
