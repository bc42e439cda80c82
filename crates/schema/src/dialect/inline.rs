//! References replaced by what they refer to.

use serde_json::{Map, Value, json};

use super::{MAX_LEVELS, Report, merge};
use crate::{pointer, positions};

/// Schemas in the result at most. References can multiply a small document without end.
const MAX_SCHEMAS: usize = 5_000;

/// The document without references. A reference that leads back into itself ends there.
pub(super) fn inline(document: Map<String, Value>, report: &mut Report) -> Map<String, Value> {
    let whole = Value::Object(document);
    let mut inliner =
        Inliner { document: &whole, report, active: vec![String::new()], left: MAX_SCHEMAS };
    match inliner.expand(&whole, "", 0) {
        Value::Object(expanded) => expanded,
        _ => super::no_parameters(),
    }
}

struct Inliner<'d, 'r> {
    document: &'d Value,
    report: &'r mut Report,
    /// Pointers of the targets that are being expanded.
    active: Vec<String>,
    left: usize,
}

impl Inliner<'_, '_> {
    fn expand(&mut self, schema: &Value, path: &str, depth: usize) -> Value {
        let Value::Object(map) = schema else {
            return schema.clone();
        };
        if self.left == 0 || depth == MAX_LEVELS {
            return self.cut(path, "cut off, the references unfold into too much");
        }
        self.left -= 1;
        let mut map = map.clone();
        let reference = map.shift_remove("$ref");
        map.shift_remove("$defs");
        map.shift_remove("definitions");
        let siblings =
            positions::map_children(map, path, |child, path| self.expand(&child, path, depth + 1));
        match reference.as_ref().and_then(Value::as_str) {
            None => Value::Object(siblings),
            Some(reference) => self.follow(reference, siblings, path, depth),
        }
    }

    fn follow(
        &mut self,
        reference: &str,
        siblings: Map<String, Value>,
        path: &str,
        depth: usize,
    ) -> Value {
        let Some((target, pointer)) = pointer::follow(self.document, reference) else {
            return self.cut(path, "removed, it leads nowhere");
        };
        if self.active.contains(&pointer) {
            return self.cut(path, "cut off, it leads back into itself");
        }
        self.active.push(pointer);
        let expanded = self.expand(target, path, depth + 1);
        self.active.pop();
        match expanded {
            Value::Object(expanded) => {
                Value::Object(merge::both(siblings, expanded, path, self.report))
            }
            other => other,
        }
    }

    fn cut(&mut self, path: &str, action: &str) -> Value {
        self.report.lose(path, "$ref", action);
        json!({"type": "object"})
    }
}
