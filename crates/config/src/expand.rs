//! From the tree to plain values: aliases written out, `<<` carried out, within limits that no alias can blow up.

use serde_json::{Map, Value};

use crate::source::Problem;
use crate::tree::{Entry, Kind, MAX_DEPTH, MAX_NODES, NodeId, Tree, too_deep, too_many};

/// How much text the values may hold with aliases written out.
const MAX_TEXT: usize = 64 * 1024 * 1024;

/// The value of a node.
pub(crate) fn expand(tree: &Tree, node: NodeId) -> Result<Value, Problem> {
    Expander { tree, nodes: 0, text: 0 }.value(node, 0)
}

struct Expander<'t> {
    tree: &'t Tree,
    nodes: usize,
    text: usize,
}

impl Expander<'_> {
    fn value(&mut self, id: NodeId, depth: usize) -> Result<Value, Problem> {
        let node = self.tree.node(id);
        if depth > MAX_DEPTH {
            return Err(too_deep(node.range()));
        }
        let text = match &node.kind {
            Kind::Scalar { value, .. } => value.as_str().map_or(0, str::len),
            _ => 0,
        };
        self.count(id, text)?;
        match &node.kind {
            Kind::Scalar { value, .. } => Ok(value.clone()),
            Kind::Alias(target) => self.value(*target, depth),
            Kind::List { items, .. } => {
                items.iter().map(|item| self.value(*item, depth + 1)).collect()
            }
            Kind::Map { entries, .. } => {
                let mut map = Map::new();
                self.fill(&mut map, entries, depth)?;
                Ok(Value::Object(map))
            }
        }
    }

    /// Adds what is not there yet: the mapping's own entries, then those it takes over.
    fn fill(
        &mut self,
        map: &mut Map<String, Value>,
        entries: &[Entry],
        depth: usize,
    ) -> Result<(), Problem> {
        for entry in entries.iter().filter(|entry| !entry.merge) {
            if !map.contains_key(&entry.name) {
                self.count(entry.key, entry.name.len())?;
                let value = self.value(entry.value, depth + 1)?;
                map.insert(entry.name.clone(), value);
            }
        }
        for source in self.tree.merged(entries) {
            let node = self.tree.node(source);
            let Kind::Map { entries, .. } = &node.kind else {
                return Err(Problem::new(
                    node.range(),
                    "`<<` takes a mapping or a list of mappings",
                )
                .hint("refer to an anchored mapping, as in `<<: *name`, or quote the key"));
            };
            if depth >= MAX_DEPTH {
                return Err(too_deep(node.range()));
            }
            self.count(source, 0)?;
            self.fill(map, entries, depth + 1)?;
        }
        Ok(())
    }

    fn count(&mut self, at: NodeId, text: usize) -> Result<(), Problem> {
        self.nodes += 1;
        self.text += text;
        if self.nodes > 2 * MAX_NODES || self.text > MAX_TEXT {
            return Err(too_many(self.tree.node(at).range()));
        }
        Ok(())
    }
}
