//! The compiled schema: a validator for the whole document, and one for any
//! part on demand.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fmt;
use std::sync::{Arc, OnceLock};

use jsonschema::{
    Draft, PatternOptions, Registry, Retrieve, Uri, ValidationError, ValidationOptions, Validator,
};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::{SchemaError, nullable};
use crate::depth::ValueSurvey;
use crate::{pointer, subschemas};

/// URI by which parts refer to the document; it is never fetched.
const DOCUMENT_URI: &str = "urn:hermes:schema";

/// Backtracking limit of patterns with look-around or back-references.
const BACKTRACK_LIMIT: usize = 100_000;

/// Maximum number of union branches visited to explain an invalid value.
const MAX_EXPLAINED_BRANCHES: usize = 10_000;

/// Maximum number of schemas collected for one position.
const MAX_APPLICABLE_SCHEMAS: usize = 256;

pub(crate) struct CompiledSchema {
    document: Arc<Value>,
    draft: Draft,
    root: Validator,
    registry: OnceLock<Option<Registry<'static>>>,
    parts: Mutex<BTreeMap<usize, Option<Arc<Validator>>>>,
    pointers: OnceLock<HashMap<usize, String>>,
    union_width: OnceLock<usize>,
}

impl fmt::Debug for CompiledSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledSchema").field("draft", &self.draft).finish_non_exhaustive()
    }
}

/// A schema inside the document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaNode<'s> {
    pub(crate) schema: &'s Value,
}

impl<'s> SchemaNode<'s> {
    /// Returns the schema's keywords; `None` for `true` and `false`.
    pub(crate) fn keywords(&self) -> Option<&'s Map<String, Value>> {
        self.schema.as_object()
    }

    /// Returns the value of a keyword.
    pub(crate) fn get(&self, keyword: &str) -> Option<&'s Value> {
        subschemas::get_keyword(self.keywords()?, keyword)
    }

    /// Returns the schema in a keyword.
    pub(crate) fn child(&self, keyword: &str) -> Option<Self> {
        Some(Self { schema: self.get(keyword)? })
    }

    /// Returns the list of schemas in a keyword.
    pub(crate) fn list(&self, keyword: &str) -> Vec<Self> {
        let Some(Value::Array(members)) = self.get(keyword) else {
            return Vec::new();
        };
        members.iter().map(|schema| Self { schema }).collect()
    }

    /// Returns the identity of the schema within its document.
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self.schema) as usize
    }
}

impl CompiledSchema {
    pub(super) fn new(raw: &Arc<Value>) -> Result<Self, SchemaError> {
        if ValueSurvey::measure(raw).too_deep {
            return Err(SchemaError::TooDeep);
        }
        let document = nullable::expand_nullable(raw);
        let draft = match Draft::Draft7.detect(&document) {
            Draft::Unknown => Draft::Draft7,
            known => known,
        };
        let root =
            validator_options(draft).build(&document).map_err(|error| invalid_schema(&error))?;
        Ok(Self {
            document,
            draft,
            root,
            registry: OnceLock::new(),
            parts: Mutex::default(),
            pointers: OnceLock::new(),
            union_width: OnceLock::new(),
        })
    }

    pub(crate) fn document(&self) -> &Value {
        &self.document
    }

    pub(crate) fn root(&self) -> &Validator {
        &self.root
    }

    pub(crate) fn root_node(&self) -> SchemaNode<'_> {
        SchemaNode { schema: &self.document }
    }

    /// Whether the value satisfies all of the schemas.
    pub(crate) fn accepts(&self, value: &Value, nodes: &[SchemaNode<'_>]) -> bool {
        nodes.iter().all(|node| {
            if std::ptr::eq(node.schema, &raw const *self.document) {
                return self.root.is_valid(value);
            }
            // A part that does not compile alone decides nothing; the whole
            // document does.
            self.part_validator(node).is_none_or(|validator| validator.is_valid(value))
        })
    }

    fn part_validator(&self, node: &SchemaNode<'_>) -> Option<Arc<Validator>> {
        let key = node.address();
        let mut parts = self.parts.lock();
        if let Some(known) = parts.get(&key) {
            return known.clone();
        }
        let built = self.pointers().get(&key).and_then(|at| self.build_part(at)).map(Arc::new);
        parts.insert(key, built.clone());
        built
    }

    /// Whether explaining an invalid value of this many levels would visit too
    /// many branches: a union in a recursive schema multiplies them with every
    /// level.
    pub(crate) fn has_too_many_branches(&self, levels: usize) -> bool {
        let width = *self.union_width.get_or_init(|| union_width(&self.document));
        let levels = u32::try_from(levels).unwrap_or(u32::MAX);
        width > 1 && width.checked_pow(levels).is_none_or(|ways| ways > MAX_EXPLAINED_BRANCHES)
    }

    /// Returns the pointers of all parts of the document, by address.
    fn pointers(&self) -> &HashMap<usize, String> {
        self.pointers.get_or_init(|| {
            let mut found = HashMap::new();
            let mut open = vec![(&*self.document, String::new())];
            while let Some((value, pointer)) = open.pop() {
                match value {
                    Value::Object(map) => open.extend(
                        map.iter().map(|(key, child)| (child, pointer::join(&pointer, key))),
                    ),
                    Value::Array(items) => open.extend(
                        items.iter().enumerate().map(|(i, item)| (item, format!("{pointer}/{i}"))),
                    ),
                    _ => {}
                }
                found.insert(std::ptr::from_ref(value) as usize, pointer);
            }
            found
        })
    }

    fn build_part(&self, pointer: &str) -> Option<Validator> {
        let registry = self
            .registry
            .get_or_init(|| {
                Registry::new()
                    .draft(self.draft)
                    .retriever(OfflineRetriever)
                    .add(DOCUMENT_URI, Arc::clone(&self.document))
                    .and_then(jsonschema::RegistryBuilder::prepare)
                    .ok()
            })
            .as_ref()?;
        let reference = format!("{DOCUMENT_URI}#{}", pointer::percent_encode(pointer));
        validator_options(self.draft)
            .with_registry(registry)
            .build(&json!({"$ref": reference}))
            .ok()
    }

    /// Returns all schemas that apply together with these, following references
    /// and `allOf`.
    pub(crate) fn conjunction<'s, 'n>(
        &'s self,
        nodes: &'n [SchemaNode<'s>],
    ) -> Cow<'n, [SchemaNode<'s>]> {
        self.expand_schemas(nodes, &["allOf"])
    }

    /// Returns all schemas that apply or may apply, following `anyOf` and
    /// `oneOf` as well.
    pub(crate) fn alternatives<'s, 'n>(
        &'s self,
        nodes: &'n [SchemaNode<'s>],
    ) -> Cow<'n, [SchemaNode<'s>]> {
        self.expand_schemas(nodes, &["allOf", "anyOf", "oneOf"])
    }

    fn expand_schemas<'s, 'n>(
        &'s self,
        nodes: &'n [SchemaNode<'s>],
        through: &[&str],
    ) -> Cow<'n, [SchemaNode<'s>]> {
        let leads_on = |node: &SchemaNode<'_>| {
            ["$ref"].iter().chain(through).any(|keyword| node.get(keyword).is_some())
        };
        if nodes.len() < 2 && !nodes.iter().any(leads_on) {
            return nodes.into();
        }
        let mut found: Vec<SchemaNode<'s>> = Vec::new();
        let mut seen: Vec<usize> = Vec::new();
        let mut open: Vec<SchemaNode<'s>> = nodes.iter().rev().copied().collect();
        while let Some(node) = open.pop() {
            if seen.contains(&node.address()) || seen.len() >= MAX_APPLICABLE_SCHEMAS {
                continue;
            }
            seen.push(node.address());
            if let Some(reference) = node.get("$ref").and_then(Value::as_str) {
                if let Some((schema, _)) = pointer::follow_ref(&self.document, reference) {
                    open.push(SchemaNode { schema });
                }
                if self.reference_hides_siblings() {
                    continue;
                }
            }
            for keyword in through.iter().rev() {
                open.extend(node.list(keyword).into_iter().rev());
            }
            found.push(node);
        }
        found.into()
    }

    /// Whether keywords next to `$ref` are ignored, as in drafts up to 7.
    fn reference_hides_siblings(&self) -> bool {
        matches!(self.draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7)
    }
}

/// Returns the width of the widest union, or 0 for a schema without references,
/// whose depth is bounded by its text.
fn union_width(document: &Value) -> usize {
    let mut widest = 0;
    let mut refers = false;
    let mut open = vec![document];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                refers |= map.keys().any(|key| key.ends_with("Ref") || key == "$ref");
                for keyword in ["anyOf", "oneOf"] {
                    let width = map.get(keyword).and_then(Value::as_array).map_or(0, Vec::len);
                    widest = widest.max(width);
                }
                open.extend(map.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    if refers { widest } else { 0 }
}

/// Refuses to fetch any other document.
struct OfflineRetriever;

impl Retrieve for OfflineRetriever {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        Err(format!("refusing to fetch {uri}").into())
    }
}

fn validator_options<'i>(draft: Draft) -> ValidationOptions<'i> {
    jsonschema::options()
        .with_draft(draft)
        .with_retriever(OfflineRetriever)
        .should_validate_formats(false)
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT))
}

fn invalid_schema(error: &ValidationError<'_>) -> SchemaError {
    SchemaError::Invalid {
        path: error.instance_path().as_str().to_owned(),
        message: hermes_core::text::excerpt(&error.to_string(), 200).into_owned(),
    }
}
