//! Builds example arguments that satisfy a schema and stay close to the given
//! ones.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::explain::MIN_PROPERTY_RATIO;
use super::{CompiledSchema, SchemaNode, applicable, sample};
use crate::type_set::TypeSet;
use hermes_core::similar;
use hermes_core::text::excerpt;

use crate::subschemas;

/// Maximum number of schemas visited for one example; beyond that, it stays
/// incomplete.
const MAX_STEPS: usize = 2_000;

/// Maximum nesting of containers in an example.
const MAX_EXAMPLE_LEVELS: usize = 24;

/// Maximum number of items, properties and characters shown of a value.
const SHOWN_ITEMS: usize = 5;
const SHOWN_PROPERTIES: usize = 64;
const SHOWN_CHARACTERS: usize = 200;

/// Depth up to which an array that may be empty gets an item.
const ITEM_LEVELS: usize = 3;

/// Maximum number of items generated for one array.
const MAX_ITEMS: usize = 1_000;
const MAX_UNIQUE_ITEMS: usize = 50;

pub(super) fn make_example(compiled: &CompiledSchema, args: &Value) -> Value {
    let mut maker = ExampleBuilder { compiled, steps: MAX_STEPS, settled: Vec::new() };
    maker.make_value(&[compiled.root_node()], Some(args), 0)
}

struct ExampleBuilder<'s> {
    compiled: &'s CompiledSchema,
    steps: usize,
    /// Unions with a chosen alternative, by address.
    settled: Vec<usize>,
}

impl<'s> ExampleBuilder<'s> {
    /// Builds a value for a position with these schemas, as close to the given
    /// one as possible.
    fn make_value(
        &mut self,
        nodes: &[SchemaNode<'s>],
        given: Option<&Value>,
        level: usize,
    ) -> Value {
        if let Some(given) = given
            && self.compiled.accepts(given, nodes)
        {
            return self.shorten_if_valid(given, nodes);
        }
        if self.steps == 0 || level > MAX_EXAMPLE_LEVELS {
            return Value::Null;
        }
        self.steps -= 1;
        let facets = self.compiled.conjunction(nodes);
        let mut fallback = None;
        let mut accepted = |maker: &Self, candidate: Value| {
            if maker.compiled.accepts(&candidate, nodes) {
                return Some(candidate);
            }
            fallback.get_or_insert(candidate);
            None
        };
        if let Some(container @ (Value::Array(_) | Value::Object(_))) = given {
            let repaired =
                self.candidates_of_type(TypeSet::for_value(container), &facets, given, level);
            for candidate in repaired {
                if let Some(found) = accepted(self, candidate) {
                    return found;
                }
            }
        }
        for candidate in stated_values(&facets, given) {
            if self.compiled.accepts(candidate, nodes) {
                return candidate.clone();
            }
        }
        if let Some(found) = self.value_by_union(nodes, &facets, given, level) {
            return found;
        }
        let kinds = TypeSet::allowed_types(&facets);
        for kind in likely_kinds(&facets).into_iter().filter(|kind| kinds.intersects(*kind)) {
            for candidate in self.candidates_of_type(kind, &facets, given, level) {
                if let Some(found) = accepted(self, candidate) {
                    return found;
                }
            }
        }
        fallback.unwrap_or_default()
    }

    /// Builds a value from an alternative of any union.
    fn value_by_union(
        &mut self,
        nodes: &[SchemaNode<'s>],
        facets: &[SchemaNode<'s>],
        given: Option<&Value>,
        level: usize,
    ) -> Option<Value> {
        for mut branches in applicable::unions(facets) {
            let union = branches.first()?.address();
            if self.settled.contains(&union) {
                continue;
            }
            // `null` is an alternative, but rarely a helpful example.
            branches.sort_by_key(|branch| subschemas::is_null_schema(branch.schema));
            self.settled.push(union);
            let found = branches.into_iter().find_map(|branch| {
                let narrowed: Vec<SchemaNode<'s>> = nodes.iter().cloned().chain([branch]).collect();
                let candidate = self.make_value(&narrowed, given, level + 1);
                self.compiled.accepts(&candidate, nodes).then_some(candidate)
            });
            self.settled.pop();
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Returns candidates of one type.
    fn candidates_of_type(
        &mut self,
        kind: TypeSet,
        facets: &[SchemaNode<'s>],
        given: Option<&Value>,
        level: usize,
    ) -> Vec<Value> {
        // Inside a container, the same union may need another choice.
        let settled = std::mem::take(&mut self.settled);
        let candidates = match kind {
            TypeSet::OBJECT => {
                vec![self.make_object(facets, given.and_then(Value::as_object), level)]
            }
            TypeSet::ARRAY => {
                let given = given.and_then(Value::as_array).map(Vec::as_slice);
                vec![self.make_array(facets, given, level)]
            }
            TypeSet::STRING => {
                sample::sample_strings(facets).into_iter().map(Value::String).collect()
            }
            TypeSet::INTEGER => sample::sample_numbers(facets, true),
            TypeSet::NUMBER => sample::sample_numbers(facets, false),
            TypeSet::BOOLEAN => vec![Value::Bool(true), Value::Bool(false)],
            _ => vec![Value::Null],
        };
        self.settled = settled;
        candidates
    }

    fn make_object(
        &mut self,
        facets: &[SchemaNode<'s>],
        given: Option<&Map<String, Value>>,
        level: usize,
    ) -> Value {
        let known = applicable::known_properties(facets);
        let closed = applicable::is_closed(facets);
        let mut map = Map::new();
        for (key, value) in given.into_iter().flatten().take(SHOWN_PROPERTIES) {
            let name = if known.contains(&key.as_str()) || !closed {
                key.as_str()
            } else {
                let absent = known.iter().copied();
                let absent = absent.filter(|name| given.is_none_or(|map| !map.contains_key(*name)));
                let Some(near) = similar::nearest(key, absent, MIN_PROPERTY_RATIO) else {
                    continue;
                };
                // A value that does not fit says that another parameter is meant.
                let fits = self.compiled.accepts(value, &applicable::property_nodes(facets, near));
                if !fits && !applicable::is_required(facets, near) {
                    continue;
                }
                near
            };
            let nodes = applicable::property_nodes(facets, name);
            map.insert(name.to_owned(), self.make_value(&nodes, Some(value), level + 1));
        }
        for facet in facets.iter().filter_map(SchemaNode::keywords) {
            for name in subschemas::required_names(facet) {
                self.add_property(&mut map, facets, name, level);
            }
        }
        self.add_dependents(&mut map, facets, level);
        let least = sample::size_limits(facets, "minProperties").max().unwrap_or(0);
        let spare = (1..=least.min(MAX_ITEMS)).map(|number| format!("key{number}"));
        for name in known.into_iter().map(str::to_owned).chain(spare) {
            if map.len() >= least {
                break;
            }
            self.add_property(&mut map, facets, &name, level);
        }
        Value::Object(map)
    }

    /// Adds properties that other properties require.
    fn add_dependents(
        &mut self,
        map: &mut Map<String, Value>,
        facets: &[SchemaNode<'s>],
        level: usize,
    ) {
        let rules = facets.iter().flat_map(|facet| {
            ["dependentRequired", "dependencies"]
                .into_iter()
                .filter_map(|keyword| facet.schema.get(keyword)?.as_object())
                .flatten()
        });
        for (trigger, names) in rules.collect::<Vec<_>>() {
            if map.contains_key(trigger) {
                for name in names.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    self.add_property(map, facets, name, level);
                }
            }
        }
    }

    fn add_property(
        &mut self,
        map: &mut Map<String, Value>,
        facets: &[SchemaNode<'s>],
        name: &str,
        level: usize,
    ) {
        if !map.contains_key(name) {
            let nodes = applicable::property_nodes(facets, name);
            map.insert(name.to_owned(), self.make_value(&nodes, None, level + 1));
        }
    }

    fn make_array(
        &mut self,
        facets: &[SchemaNode<'s>],
        given: Option<&[Value]>,
        level: usize,
    ) -> Value {
        let least = sample::size_limits(facets, "minItems").max().unwrap_or(0);
        let most = sample::size_limits(facets, "maxItems").min().unwrap_or(usize::MAX);
        let contained: Vec<SchemaNode<'s>> =
            facets.iter().filter_map(|facet| facet.child("contains")).collect();
        let unique =
            facets.iter().any(|facet| facet.schema.get("uniqueItems") == Some(&Value::Bool(true)));
        // One item shows the form; deeper down it would only make the example
        // long.
        let wanted =
            given.map_or(usize::from(level <= ITEM_LEVELS), |items| items.len().min(SHOWN_ITEMS));
        // Each item is compared with all previous ones, so unique arrays are
        // kept short.
        let bound = if unique { MAX_UNIQUE_ITEMS } else { MAX_ITEMS };
        let count = wanted.max(least).min(most).min(bound);
        let mut items: Vec<Value> = Vec::with_capacity(count);
        for index in 0..count {
            let mut nodes = applicable::item_nodes(facets, index);
            if index == 0 {
                nodes.extend(contained.iter().cloned());
            }
            let item = self.make_value(&nodes, given.and_then(|items| items.get(index)), level + 1);
            if unique && items.contains(&item) {
                items.extend(self.vary(&item, &nodes, &items));
            } else {
                items.push(item);
            }
        }
        Value::Array(items)
    }

    /// Returns a value similar to this one that is not among the others.
    fn vary(&self, value: &Value, nodes: &[SchemaNode<'s>], others: &[Value]) -> Option<Value> {
        let fresh = |candidate: &Value| {
            !others.contains(candidate) && self.compiled.accepts(candidate, nodes)
        };
        let listed = stated_values(&self.compiled.alternatives(nodes), None);
        if let Some(found) = listed.into_iter().find(|candidate| fresh(candidate)) {
            return Some(found.clone());
        }
        (2..=others.len() + 2).find_map(|number| {
            let candidate = match value {
                Value::String(text) => Value::String(format!("{text}{number}")),
                Value::Number(base) => {
                    Value::from(base.as_i64()?.checked_add(i64::try_from(number).ok()?)?)
                }
                Value::Bool(flag) => Value::Bool(!flag),
                _ => return None,
            };
            fresh(&candidate).then_some(candidate)
        })
    }

    /// Truncates a valid value if it stays valid.
    fn shorten_if_valid(&self, value: &Value, nodes: &[SchemaNode<'s>]) -> Value {
        match shorten(value) {
            Cow::Owned(short) if self.compiled.accepts(&short, nodes) => short,
            _ => value.clone(),
        }
    }
}

/// Returns the values that the schemas name, closest to the given one first.
fn stated_values<'s>(facets: &[SchemaNode<'s>], given: Option<&Value>) -> Vec<&'s Value> {
    let mut found: Vec<&Value> = Vec::new();
    for facet in facets {
        let keyword = |name| facet.schema.get(name);
        let listed = |name| keyword(name).and_then(Value::as_array).into_iter().flatten();
        if let Some(text) = given.and_then(Value::as_str).filter(|text| text.len() < 256) {
            let choices = listed("enum").filter_map(Value::as_str);
            let near = similar::nearest(text, choices, 0.5);
            found.extend(listed("enum").filter(|choice| near.is_some() && choice.as_str() == near));
        }
        found.extend(keyword("const"));
        found.extend(keyword("default"));
        found.extend(listed("examples"));
        found.extend(keyword("example"));
        found.extend(listed("enum"));
    }
    found
}

/// Returns the types to try, those that the keywords suggest first.
fn likely_kinds(facets: &[SchemaNode<'_>]) -> Vec<TypeSet> {
    let mentions = |keywords: &[&str]| {
        facets
            .iter()
            .filter_map(SchemaNode::keywords)
            .any(|schema| keywords.iter().any(|keyword| schema.contains_key(*keyword)))
    };
    let mut order = vec![
        (TypeSet::STRING, mentions(&["pattern", "format", "minLength", "maxLength"])),
        (
            TypeSet::OBJECT,
            mentions(&["properties", "required", "additionalProperties", "minProperties"]),
        ),
        (TypeSet::ARRAY, mentions(&["items", "prefixItems", "contains", "minItems"])),
        (TypeSet::INTEGER, mentions(&["minimum", "maximum", "multipleOf"])),
        (TypeSet::NUMBER, false),
        (TypeSet::BOOLEAN, false),
        (TypeSet::NULL, false),
    ];
    order.sort_by_key(|(_, likely)| !likely);
    order.into_iter().map(|(kind, _)| kind).collect()
}

fn shorten(value: &Value) -> Cow<'_, Value> {
    match value {
        Value::String(text) => match excerpt(text, SHOWN_CHARACTERS) {
            Cow::Owned(short) => Cow::Owned(Value::String(short)),
            Cow::Borrowed(_) => Cow::Borrowed(value),
        },
        Value::Array(items) => {
            let shown: Vec<Cow<'_, Value>> = items.iter().take(SHOWN_ITEMS).map(shorten).collect();
            if shown.len() == items.len()
                && shown.iter().all(|item| matches!(item, Cow::Borrowed(_)))
            {
                return Cow::Borrowed(value);
            }
            Cow::Owned(shown.into_iter().map(Cow::into_owned).collect())
        }
        Value::Object(map) => {
            let shown: Vec<(&String, Cow<'_, Value>)> =
                map.iter().map(|(key, child)| (key, shorten(child))).collect();
            if shown.iter().all(|(_, child)| matches!(child, Cow::Borrowed(_))) {
                return Cow::Borrowed(value);
            }
            let owned = shown.into_iter().map(|(key, child)| (key.clone(), child.into_owned()));
            Cow::Owned(Value::Object(owned.collect()))
        }
        _ => Cow::Borrowed(value),
    }
}
