//! OpenAI's strict dialect: closed objects with every property required, which
//! constrains the model's output during generation.

use serde_json::{Map, Value, json};

use super::{MAX_SCHEMA_LEVELS, TranslationReport, merge, root, types};
use crate::pointer;
use crate::subschemas::{self, ANNOTATION_KEYWORDS};

/// Accepted keywords, in output order.
const ACCEPTED_KEYWORDS: [&str; 20] = [
    "$ref",
    "type",
    "title",
    "description",
    "enum",
    "const",
    "anyOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

/// String formats that the provider enforces.
const ENFORCED_FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Maximum number of schemas in the result. Expanding references can grow a
/// document exponentially.
const MAX_SCHEMAS: usize = 5_000;

pub(super) fn translate(
    document: Map<String, Value>,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    let mut document = root::plain_object(document, report);
    let definitions = take_definitions(&mut document);
    let mut whole = document.clone();
    whole.insert("$defs".to_owned(), Value::Object(definitions.clone()));
    let whole = Value::Object(whole);
    let mut strict = StrictTranslator {
        document: &whole,
        report,
        unfolding: Vec::new(),
        schemas_left: MAX_SCHEMAS,
        depth: 0,
    };
    let schema = Value::Object(strict.object_schema(document, ""));
    let mut kept = Map::new();
    for (name, definition) in definitions {
        let path = pointer::join("/$defs", &name);
        kept.insert(name, strict.rewrite(definition, &path));
    }
    keep_referenced(&schema, &mut kept);
    let Value::Object(mut schema) = schema else {
        return super::empty_object_schema();
    };
    if !kept.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(kept));
    }
    schema
}

/// Collects all shared definitions in one map.
fn take_definitions(document: &mut Map<String, Value>) -> Map<String, Value> {
    let mut all = Map::new();
    for keyword in ["$defs", "definitions"] {
        if let Some(Value::Object(named)) = document.shift_remove(keyword) {
            for (name, definition) in named {
                all.entry(name).or_insert(definition);
            }
        }
    }
    all
}

/// Drops definitions that are not referenced.
fn keep_referenced(schema: &Value, definitions: &mut Map<String, Value>) {
    let mut reached: Vec<String> = Vec::new();
    let mut open = vec![schema];
    while let Some(current) = open.pop() {
        let reference = current.get("$ref").and_then(Value::as_str);
        if let Some(name) = reference.and_then(definition_name)
            && !reached.contains(&name)
        {
            open.extend(definitions.get(&name));
            reached.push(name);
        }
        subschemas::for_each_child(current, |_, child| open.push(child));
    }
    definitions.retain(|name, _| reached.contains(name));
}

/// Returns the name of the definition that a reference points to directly.
fn definition_name(reference: &str) -> Option<String> {
    let name =
        reference.strip_prefix("#/$defs/").or_else(|| reference.strip_prefix("#/definitions/"))?;
    (!name.contains(['/', '%'])).then(|| name.replace("~1", "/").replace("~0", "~"))
}

struct StrictTranslator<'d, 'r> {
    document: &'d Value,
    report: &'r mut TranslationReport,
    /// Pointers of the targets being expanded in place of a reference.
    unfolding: Vec<String>,
    schemas_left: usize,
    depth: usize,
}

impl StrictTranslator<'_, '_> {
    fn rewrite(&mut self, schema: Value, path: &str) -> Value {
        if self.schemas_left == 0 || self.depth == MAX_SCHEMA_LEVELS {
            self.report.record_loss(path, "$ref", "cut off, the references unfold into too much");
            return any_scalar();
        }
        self.schemas_left -= 1;
        self.depth += 1;
        let rewritten = self.rewrite_within_limits(schema, path);
        self.depth -= 1;
        rewritten
    }

    fn rewrite_within_limits(&mut self, schema: Value, path: &str) -> Value {
        let mut map = match schema {
            Value::Object(map) => map,
            Value::Bool(false) => {
                self.report.record_loss(
                    path,
                    "false",
                    "widened to any scalar, a schema that accepts nothing is not supported",
                );
                return any_scalar();
            }
            _ => Map::new(),
        };
        if map.shift_remove("nullable") == Some(Value::Bool(true)) {
            map = types::admit_null(map);
        }
        if let Some(Value::String(reference)) = map.shift_remove("$ref") {
            return self.rewrite_reference(&reference, map, path);
        }
        if let Some(Value::Array(parts)) = map.shift_remove("allOf") {
            return self.merge_all_of(parts, map, path);
        }
        self.rewrite_one_of(&mut map, path);
        if is_object(&map) {
            return Value::Object(self.object_schema(map, path));
        }
        self.rewrite_items(&mut map, path);
        self.rewrite_branches(&mut map, path);
        self.filter_keywords(&mut map, path);
        if !["type", "enum", "const", "anyOf", "$ref"]
            .iter()
            .any(|keyword| map.contains_key(*keyword))
        {
            self.report.record_loss(path, "type", "narrowed to scalars, a type is required");
            let mut typed = any_scalar();
            if let (Some(typed), Some(text)) =
                (typed.as_object_mut(), map.shift_remove("description"))
            {
                typed.insert("description".to_owned(), text);
            }
            return typed;
        }
        Value::Object(map)
    }

    /// Merges the parts of an `allOf` into one schema.
    fn merge_all_of(
        &mut self,
        parts: Vec<Value>,
        mut map: Map<String, Value>,
        path: &str,
    ) -> Value {
        let annotated = map.keys().all(|keyword| ANNOTATION_KEYWORDS.contains(&keyword.as_str()));
        if annotated && let [Value::Object(only)] = parts.as_slice() {
            return self.rewrite(Value::Object(types::adopt_alternative(map, only.clone())), path);
        }
        let outside = self.unfolding.len();
        for part in parts {
            let part = self.inline_target(part, path);
            map = merge::intersect(map, part, path, self.report);
        }
        let written = self.rewrite(Value::Object(map), path);
        self.unfolding.truncate(outside);
        written
    }

    /// Returns a part of `allOf` with its reference replaced by the target.
    fn inline_target(&mut self, part: Value, path: &str) -> Map<String, Value> {
        let Value::Object(mut part) = part else {
            return Map::new();
        };
        let Some(Value::String(reference)) = part.shift_remove("$ref") else {
            return part;
        };
        match pointer::follow_ref(self.document, &to_defs_reference(&reference)) {
            Some((Value::Object(target), pointer)) if !self.unfolding.contains(&pointer) => {
                self.unfolding.push(pointer);
                merge::intersect(part, target.clone(), path, self.report)
            }
            _ => {
                self.report.record_loss(
                    path,
                    "$ref",
                    "cut off, its target does not exist or leads back into itself",
                );
                part
            }
        }
    }

    /// Keeps a reference that has no siblings. Otherwise expands the target in
    /// place, because strict schemas do not allow keywords next to `$ref`.
    fn rewrite_reference(
        &mut self,
        reference: &str,
        siblings: Map<String, Value>,
        path: &str,
    ) -> Value {
        let reference = to_defs_reference(reference);
        let Some((target, pointer)) = pointer::follow_ref(self.document, &reference) else {
            self.report.record_loss(path, "$ref", "narrowed to scalars, its target does not exist");
            return any_scalar();
        };
        let direct = reference == "#" || definition_name(&reference).is_some();
        if direct && (siblings.is_empty() || self.unfolding.contains(&pointer)) {
            for keyword in siblings.keys() {
                self.report.record_loss(path, keyword, "dropped next to a recursive reference");
            }
            return json!({"$ref": reference});
        }
        if self.unfolding.contains(&pointer) || self.unfolding.len() > 32 {
            self.report.record_loss(path, "$ref", "cut off, it leads back into itself");
            return any_scalar();
        }
        let target = target.as_object().cloned().unwrap_or_default();
        self.unfolding.push(pointer);
        let merged = merge::intersect(siblings, target, path, self.report);
        let written = self.rewrite(Value::Object(merged), path);
        self.unfolding.pop();
        written
    }

    fn rewrite_one_of(&mut self, map: &mut Map<String, Value>, path: &str) {
        let Some(branches) = map.shift_remove("oneOf") else { return };
        if map.contains_key("anyOf") {
            self.report.record_loss(path, "oneOf", "dropped in favor of `anyOf`");
            return;
        }
        self.report.record_loss(path, "oneOf", "widened to `anyOf`");
        map.insert("anyOf".to_owned(), branches);
    }

    /// Closes an object and makes all of its properties required.
    fn object_schema(&mut self, mut map: Map<String, Value>, path: &str) -> Map<String, Value> {
        let required: Vec<String> = subschemas::required_names(&map).map(str::to_owned).collect();
        let properties = match map.shift_remove("properties") {
            Some(Value::Object(properties)) => properties,
            _ => Map::new(),
        };
        let free = match map.get("additionalProperties") {
            Some(Value::Bool(false)) => false,
            Some(_) => true,
            None => properties.is_empty() && !path.is_empty(),
        };
        if free {
            self.report.record_loss(
                path,
                "additionalProperties",
                "closed, properties of any name are not supported",
            );
        }
        let base = pointer::join(path, "properties");
        let mut strict = Map::new();
        for (name, property) in properties {
            let optional = !required.contains(&name);
            let mut rewritten = self.rewrite(property, &pointer::join(&base, &name));
            if optional && let Value::Object(schema) = rewritten {
                rewritten = Value::Object(types::admit_null(schema));
            }
            strict.insert(name, rewritten);
        }
        let names: Vec<Value> = strict.keys().map(|name| Value::from(name.as_str())).collect();
        map.insert("type".to_owned(), object_type(&map));
        map.insert("properties".to_owned(), Value::Object(strict));
        map.insert("required".to_owned(), Value::Array(names));
        map.insert("additionalProperties".to_owned(), Value::Bool(false));
        self.rewrite_items(&mut map, path);
        self.rewrite_branches(&mut map, path);
        self.filter_keywords(&mut map, path);
        map
    }

    fn rewrite_items(&mut self, map: &mut Map<String, Value>, path: &str) {
        let tuple = match (map.shift_remove("prefixItems"), map.get("items")) {
            (Some(Value::Array(tuple)), _) => Some(tuple),
            (_, Some(Value::Array(tuple))) => Some(tuple.clone()),
            _ => None,
        };
        if let Some(tuple) = tuple {
            self.report.record_loss(path, "items", "widened, items by position are not supported");
            let joined = tuple.into_iter().reduce(merge::union);
            map.insert("items".to_owned(), joined.unwrap_or(Value::Bool(true)));
        }
        if subschemas::type_names(map).contains(&"array") || map.contains_key("items") {
            let items = map.shift_remove("items").unwrap_or(Value::Bool(true));
            let items = self.rewrite(items, &pointer::join(path, "items"));
            map.insert("items".to_owned(), items);
        }
    }

    fn rewrite_branches(&mut self, map: &mut Map<String, Value>, path: &str) {
        if let Some(Value::Array(branches)) = map.shift_remove("anyOf") {
            let base = pointer::join(path, "anyOf");
            let branches: Vec<Value> = branches
                .into_iter()
                .enumerate()
                .map(|(index, branch)| self.rewrite(branch, &format!("{base}/{index}")))
                .collect();
            map.insert("anyOf".to_owned(), Value::Array(branches));
        }
    }

    fn filter_keywords(&mut self, map: &mut Map<String, Value>, path: &str) {
        if let Some(format) = map.get("format").and_then(Value::as_str)
            && !ENFORCED_FORMATS.contains(&format)
        {
            self.report.record_loss(
                path,
                "format",
                format!("dropped, `{format}` is not supported"),
            );
            map.shift_remove("format");
        }
        let mut rest = std::mem::take(map);
        for keyword in ACCEPTED_KEYWORDS {
            if let Some(value) = rest.shift_remove(keyword) {
                map.insert(keyword.to_owned(), value);
            }
        }
        for keyword in rest.keys() {
            let silent = keyword.starts_with("x-")
                || matches!(
                    keyword.as_str(),
                    "$schema"
                        | "$id"
                        | "id"
                        | "$anchor"
                        | "$comment"
                        | "examples"
                        | "example"
                        | "deprecated"
                        | "readOnly"
                        | "writeOnly"
                        | "then"
                        | "else"
                        | "$defs"
                        | "definitions"
                );
            if !silent {
                self.report.record_loss(path, keyword, "dropped");
            }
        }
    }
}

fn to_defs_reference(reference: &str) -> String {
    reference.replacen("#/definitions/", "#/$defs/", 1)
}

fn is_object(map: &Map<String, Value>) -> bool {
    let names = subschemas::type_names(map);
    names.contains(&"object") || (names.is_empty() && map.contains_key("properties"))
}

/// Returns the type of an object schema, which may allow other types as well.
fn object_type(map: &Map<String, Value>) -> Value {
    match map.get("type") {
        Some(kind @ Value::Array(_)) => kind.clone(),
        _ => json!("object"),
    }
}

fn any_scalar() -> Value {
    json!({"type": ["string", "number", "boolean", "null"]})
}
