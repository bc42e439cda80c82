//! A minimal tool index for tests of toolset resolution.

use std::collections::BTreeMap;

use super::ToolIndex;

#[derive(Debug, Default)]
pub(crate) struct FakeIndex {
    toolsets: BTreeMap<String, Vec<String>>,
    aliases: BTreeMap<String, String>,
}

impl FakeIndex {
    pub(crate) fn with(mut self, toolset: &str, tools: &[&str]) -> Self {
        let tools = tools.iter().map(|tool| (*tool).to_owned());
        self.toolsets.entry(toolset.to_owned()).or_default().extend(tools);
        self
    }

    pub(crate) fn alias(mut self, name: &str, toolset: &str) -> Self {
        self.aliases.insert(name.to_owned(), toolset.to_owned());
        self
    }
}

impl ToolIndex for FakeIndex {
    fn tools_in(&self, toolset: &str) -> Vec<String> {
        self.toolsets.get(toolset).cloned().unwrap_or_default()
    }

    fn toolset_names(&self) -> Vec<String> {
        self.toolsets.keys().cloned().collect()
    }

    fn alias(&self, name: &str) -> Option<String> {
        self.aliases.get(name).cloned()
    }
}
