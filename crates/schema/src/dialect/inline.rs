//! Replaces references with their targets.

use serde_json::{Map, Value, json};

use super::{MAX_SCHEMA_LEVELS, TranslationReport, merge};
use crate::{pointer, subschemas};

/// Maximum number of schemas in the result. References can expand a small
/// document exponentially.
const MAX_SCHEMAS: usize = 5_000;

/// Returns the document without references. Recursive references are cut off.
pub(super) fn inline_references(
    document: Map<String, Value>,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    let whole = Value::Object(document);
    let mut inliner = RefInliner {
        document: &whole,
        report,
        active: vec![String::new()],
        schemas_left: MAX_SCHEMAS,
    };
    match inliner.expand(&whole, "", 0) {
        Value::Object(expanded) => expanded,
        _ => super::empty_object_schema(),
    }
}

struct RefInliner<'d, 'r> {
    document: &'d Value,
    report: &'r mut TranslationReport,
    /// Pointers of the targets being expanded.
    active: Vec<String>,
    schemas_left: usize,
}

impl RefInliner<'_, '_> {
    fn expand(&mut self, schema: &Value, path: &str, depth: usize) -> Value {
        let Value::Object(map) = schema else {
            return schema.clone();
        };
        if self.schemas_left == 0 || depth == MAX_SCHEMA_LEVELS {
            return self.cut_reference(path, "cut off, the references unfold into too much");
        }
        self.schemas_left -= 1;
        let mut map = map.clone();
        let reference = map.shift_remove("$ref");
        map.shift_remove("$defs");
        map.shift_remove("definitions");
        let siblings =
            subschemas::map_children(map, path, |child, path| self.expand(&child, path, depth + 1));
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
        let Some((target, pointer)) = pointer::follow_ref(self.document, reference) else {
            return self.cut_reference(path, "removed, its target does not exist");
        };
        if self.active.contains(&pointer) {
            return self.cut_reference(path, "cut off, it leads back into itself");
        }
        self.active.push(pointer);
        let expanded = self.expand(target, path, depth + 1);
        self.active.pop();
        match expanded {
            Value::Object(expanded) => {
                Value::Object(merge::intersect(siblings, expanded, path, self.report))
            }
            other => other,
        }
    }

    fn cut_reference(&mut self, path: &str, action: &str) -> Value {
        self.report.record_loss(path, "$ref", action);
        json!({"type": "object"})
    }
}
