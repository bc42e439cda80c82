//! Expands a tree to plain values: resolves aliases and `<<`, with limits
//! against exponential expansion.

use serde_json::{Map, Value};

use crate::source::SpannedProblem;
use crate::tree::{
    MAX_DEPTH, MAX_NODES, MapEntry, NodeId, YamlNodeKind, YamlTree, too_deep, too_many,
};

/// Maximum size of all text with aliases expanded.
const MAX_EXPANDED_BYTES: usize = 64 * 1024 * 1024;

/// Returns the expanded value of a node.
pub(crate) fn expand(tree: &YamlTree, node: NodeId) -> Result<Value, SpannedProblem> {
    AliasExpander { tree, nodes: 0, text: 0 }.value(node, 0)
}

struct AliasExpander<'t> {
    tree: &'t YamlTree,
    nodes: usize,
    text: usize,
}

impl AliasExpander<'_> {
    fn value(&mut self, id: NodeId, depth: usize) -> Result<Value, SpannedProblem> {
        let node = self.tree.node(id);
        if depth > MAX_DEPTH {
            return Err(too_deep(node.range()));
        }
        let text = match &node.kind {
            YamlNodeKind::Scalar { value, .. } => value.as_str().map_or(0, str::len),
            _ => 0,
        };
        self.check_limits(id, text)?;
        match &node.kind {
            YamlNodeKind::Scalar { value, .. } => Ok(value.clone()),
            YamlNodeKind::Alias(target) => self.value(*target, depth),
            YamlNodeKind::List { items, .. } => {
                items.iter().map(|item| self.value(*item, depth + 1)).collect()
            }
            YamlNodeKind::Map { entries, .. } => {
                let mut map = Map::new();
                self.merge_entries(&mut map, entries, depth)?;
                Ok(Value::Object(map))
            }
        }
    }

    /// Adds entries that are not set yet: the mapping's own, then merged ones.
    fn merge_entries(
        &mut self,
        map: &mut Map<String, Value>,
        entries: &[MapEntry],
        depth: usize,
    ) -> Result<(), SpannedProblem> {
        for entry in entries.iter().filter(|entry| !entry.merge) {
            if !map.contains_key(&entry.name) {
                self.check_limits(entry.key, entry.name.len())?;
                let value = self.value(entry.value, depth + 1)?;
                map.insert(entry.name.clone(), value);
            }
        }
        for source in self.tree.merge_sources(entries) {
            let node = self.tree.node(source);
            let YamlNodeKind::Map { entries, .. } = &node.kind else {
                return Err(SpannedProblem::new(
                    node.range(),
                    "`<<` requires a mapping or a list of mappings",
                )
                .hint("refer to an anchored mapping, as in `<<: *name`, or quote the key"));
            };
            if depth >= MAX_DEPTH {
                return Err(too_deep(node.range()));
            }
            self.check_limits(source, 0)?;
            self.merge_entries(map, entries, depth + 1)?;
        }
        Ok(())
    }

    fn check_limits(&mut self, at: NodeId, text: usize) -> Result<(), SpannedProblem> {
        self.nodes += 1;
        self.text += text;
        if self.nodes > 2 * MAX_NODES || self.text > MAX_EXPANDED_BYTES {
            return Err(too_many(self.tree.node(at).range()));
        }
        Ok(())
    }
}
