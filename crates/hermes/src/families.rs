//! The tool families that are compiled in, one Cargo feature each.

use std::sync::Arc;

use hermes_core::DynTool;

/// A crate with tools of one subject.
#[derive(Debug, Clone, Copy)]
pub struct ToolFamily {
    /// The name of the crate below `crates/tools`, and of the Cargo feature.
    pub name: &'static str,
    /// Creates the tools.
    pub tools: fn() -> Vec<Arc<dyn DynTool>>,
    /// Whether the tools work on the files of the host where commands run. On a
    /// remote backend they are served from there.
    pub follows_backend: bool,
}

/// Every family of this build. A new family adds one line.
pub const FAMILIES: &[ToolFamily] = &[
    #[cfg(feature = "agent")]
    ToolFamily { name: "agent", tools: hermes_tools_agent::tools, follows_backend: false },
    #[cfg(feature = "code")]
    ToolFamily { name: "code", tools: hermes_tools_code::tools, follows_backend: false },
    #[cfg(feature = "file")]
    ToolFamily { name: "file", tools: hermes_tools_file::tools, follows_backend: true },
    #[cfg(feature = "system")]
    ToolFamily { name: "system", tools: hermes_tools_system::tools, follows_backend: false },
];

/// The tools of all families.
pub fn all_tools() -> Vec<Arc<dyn DynTool>> {
    FAMILIES.iter().flat_map(|family| (family.tools)()).collect()
}
