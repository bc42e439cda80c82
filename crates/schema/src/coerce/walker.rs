//! Walks through invalid arguments and coerces them position by position.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::conversions::{self, ConversionCandidate};
use super::{ChangeLog, keys, number};
use crate::depth::{MAX_DEPTH, ValueSurvey};
use crate::pointer;
use crate::type_set::TypeSet;
use crate::validate::{CompiledSchema, SchemaNode, applicable};

/// Maximum nesting of visits: a level of the value may take two, one for a
/// union and one for its branch.
const MAX_VISITS: usize = 2 * MAX_DEPTH;

/// Budget per unit of value weight. A plain walk spends the weight once per
/// level; without a bound, unions in recursive schemas would be tried forever.
const BUDGET_PER_WEIGHT: usize = 32;
const BUDGET_BASE: usize = 2_000;

/// Coerces the value in place. `valid` says whether it is valid before; returns
/// whether it is valid afterwards.
pub(super) fn coerce_value(
    compiled: &CompiledSchema,
    value: &mut Value,
    valid: bool,
    survey: ValueSurvey,
    log: &mut ChangeLog,
) -> bool {
    let mut walk = CoercionWalker::new(compiled, survey, std::mem::take(log));
    let valid = walk.improve_value(value, &[compiled.root_node()], valid);
    *log = walk.log;
    valid
}

/// Renames unknown keys of the arguments themselves; returns whether there were
/// any to rename.
pub(super) fn match_root_keys(
    compiled: &CompiledSchema,
    value: &mut Value,
    survey: ValueSurvey,
    log: &mut ChangeLog,
) -> bool {
    let Value::Object(map) = value else { return false };
    let before = log.len();
    let mut walk = CoercionWalker::new(compiled, survey, std::mem::take(log));
    walk.match_keys(map, &compiled.conjunction(&[compiled.root_node()]));
    *log = walk.log;
    log.len() > before
}

struct CoercionWalker<'s> {
    compiled: &'s CompiledSchema,
    log: ChangeLog,
    path: String,
    /// Whether the value contains integral floats, so valid parts need a visit
    /// too.
    respell: bool,
    /// Whether the walk is inside a valid value, where nothing needs a fix,
    /// even if a keyword of another draft disagrees.
    inside_valid: bool,
    depth: usize,
    /// Remaining work, in units of value weight. A plain walk visits every
    /// level of a value once and stays far below; unions nested in recursive
    /// schemas could continue forever.
    budget: usize,
}

impl<'s> CoercionWalker<'s> {
    fn new(compiled: &'s CompiledSchema, survey: ValueSurvey, log: ChangeLog) -> Self {
        Self {
            compiled,
            log,
            path: String::new(),
            respell: survey.integral_float,
            inside_valid: false,
            depth: 0,
            budget: survey.weight.saturating_mul(BUDGET_PER_WEIGHT).saturating_add(BUDGET_BASE),
        }
    }

    /// Coerces the value at a position with these schemas. Returns whether it
    /// satisfies them afterwards, or `None` if it was not visited.
    fn visit(&mut self, value: &mut Value, nodes: &[SchemaNode<'s>]) -> Option<bool> {
        if self.depth == MAX_VISITS || !self.spend(value) {
            return None;
        }
        let valid = self.compiled.accepts(value, nodes);
        let is_done = if valid { !self.respell } else { self.inside_valid };
        Some(if is_done { valid } else { self.improve_value(value, nodes, valid) })
    }

    /// Coerces the value and returns whether it satisfies the schemas
    /// afterwards.
    fn improve_value(&mut self, value: &mut Value, nodes: &[SchemaNode<'s>], valid: bool) -> bool {
        self.depth += 1;
        let outside = self.inside_valid;
        let valid = if valid {
            self.inside_valid = true;
            self.respell_integers(value, nodes);
            self.compiled.accepts(value, nodes)
        } else {
            self.fix_invalid(value, nodes)
        };
        self.inside_valid = outside;
        self.depth -= 1;
        valid
    }

    fn spend(&mut self, value: &Value) -> bool {
        let weight = ValueSurvey::measure(value).weight;
        let enough = self.budget >= weight;
        self.budget = self.budget.saturating_sub(weight);
        enough
    }

    /// Coerces an invalid value: first its contents, then the value itself.
    /// Returns whether it is valid afterwards.
    fn fix_invalid(&mut self, value: &mut Value, nodes: &[SchemaNode<'s>]) -> bool {
        if value.is_object() || value.is_array() {
            let facets = self.compiled.conjunction(nodes);
            if let Value::Object(map) = value {
                self.match_keys(map, &facets);
            }
            self.descend(value, &facets, true);
            if self.compiled.accepts(value, nodes) {
                return true;
            }
            for branches in applicable::unions(&facets) {
                self.fix_in_branch(value, nodes, branches);
            }
            if self.compiled.accepts(value, nodes) {
                return true;
            }
        }
        self.convert(value, nodes)
    }

    /// Rewrites integral floats in a valid value as integers, and changes
    /// nothing else.
    fn respell_integers(&mut self, value: &mut Value, nodes: &[SchemaNode<'s>]) {
        match value {
            Value::Number(number) if number.is_f64() => {
                let wanted = TypeSet::wanted_types(&self.compiled.alternatives(nodes));
                if !wanted.intersects(TypeSet::INTEGER) || wanted.intersects(TypeSet::NUMBER) {
                    return;
                }
                let integer = number.as_f64().and_then(number::integer_from_float);
                if let Some(integer) =
                    integer.filter(|integer| self.compiled.accepts(integer, nodes))
                {
                    self.log.push(&self.path, value, Some(&integer), "integral");
                    *value = integer;
                }
            }
            Value::Array(_) | Value::Object(_) => {
                let facets = self.compiled.conjunction(nodes);
                self.descend(value, &facets, false);
                for branches in applicable::unions(&facets) {
                    let mut fitting = branches.into_iter().filter(|branch| {
                        self.compiled.accepts(value, std::slice::from_ref(branch))
                    });
                    if let (Some(only), None) = (fitting.next(), fitting.next()) {
                        self.visit(value, &[only]);
                    }
                }
            }
            _ => {}
        }
    }

    /// Visits properties or items. With `omit`, drops optional nulls that the
    /// schema does not allow.
    fn descend(&mut self, value: &mut Value, facets: &[SchemaNode<'s>], omit: bool) {
        match value {
            Value::Object(map) => {
                let mut dropped = HashSet::new();
                for (key, child) in map.iter_mut() {
                    let nodes = applicable::property_nodes(facets, key);
                    if nodes.is_empty() {
                        continue;
                    }
                    let length = self.path.len();
                    pointer::push_key(&mut self.path, key);
                    self.visit(child, &nodes);
                    let unwanted = omit && child.is_null() && !self.compiled.accepts(child, &nodes);
                    if unwanted && !applicable::is_required(facets, key) {
                        self.log.push(&self.path, &Value::Null, None, "omit-null");
                        dropped.insert(key.clone());
                    }
                    self.path.truncate(length);
                }
                if !dropped.is_empty() {
                    map.retain(|key, _| !dropped.contains(key));
                }
            }
            Value::Array(items) => {
                let tuple = applicable::tuple_length(facets);
                let common = applicable::item_nodes(facets, tuple);
                for (index, item) in items.iter_mut().enumerate() {
                    let length = self.path.len();
                    pointer::push_index(&mut self.path, index);
                    if index < tuple {
                        self.visit(item, &applicable::item_nodes(facets, index));
                    } else if !common.is_empty() {
                        self.visit(item, &common);
                    }
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// Renames unknown keys that spell an absent property and whose value fits
    /// it.
    fn match_keys(&mut self, map: &mut Map<String, Value>, facets: &[SchemaNode<'s>]) {
        let mut renames = HashMap::new();
        for (key, property) in keys::match_unknown_keys(map, facets, self.path.is_empty()) {
            let nodes = applicable::property_nodes(facets, &property);
            if map.get(&key).is_some_and(|value| self.is_acceptable(value, &nodes)) {
                self.log.push_rename(&self.path, &key, &property, "key");
                renames.insert(key, property);
            }
        }
        keys::rename_keys(map, renames);
    }

    /// Whether these schemas accept the value, after coercion if necessary.
    fn is_acceptable(&mut self, value: &Value, nodes: &[SchemaNode<'s>]) -> bool {
        if self.compiled.accepts(value, nodes) {
            return true;
        }
        if !self.spend(value) {
            return false;
        }
        let mut trial = value.clone();
        let log = std::mem::take(&mut self.log);
        self.visit(&mut trial, nodes);
        self.log = log;
        self.compiled.accepts(&trial, nodes)
    }

    /// Coerces a container by the branch of a union that it fits.
    fn fix_in_branch(
        &mut self,
        value: &mut Value,
        nodes: &[SchemaNode<'s>],
        branches: Vec<SchemaNode<'s>>,
    ) {
        let kind = TypeSet::for_value(value);
        let fitting: Vec<SchemaNode<'s>> = branches
            .into_iter()
            .filter(|branch| {
                let facets = self.compiled.conjunction(std::slice::from_ref(branch));
                TypeSet::allowed_types(&facets).intersects(kind)
            })
            .collect();
        if fitting.len() == 1 {
            self.visit(value, &fitting);
            return;
        }
        let mut outcome = TrialOutcome::Nothing;
        for branch in fitting {
            if !self.spend(value) {
                return;
            }
            let copy = value.clone();
            outcome.add(self.try_candidate(value, copy, None, Some(&[branch]), nodes));
        }
        self.apply_candidate(value, outcome);
    }

    /// Converts the value to another type if exactly one conversion fits;
    /// returns whether one did.
    fn convert(&mut self, value: &mut Value, nodes: &[SchemaNode<'s>]) -> bool {
        let schemas = self.compiled.alternatives(nodes);
        let wanted = TypeSet::wanted_types(&schemas);
        let mut outcome = TrialOutcome::Nothing;
        for group in conversions::candidates(value, wanted, &schemas) {
            outcome.add(group.into_iter().find_map(|reading: ConversionCandidate| {
                let inside = reading.coerce_inside.then_some(nodes);
                self.try_candidate(value, reading.value, Some(reading.rule), inside, nodes)
            }));
        }
        self.apply_candidate(value, outcome)
    }

    /// Tries a candidate, coerced by the schemas of `inside`. Returns it with
    /// its changes if it satisfies `nodes`.
    fn try_candidate(
        &mut self,
        original: &Value,
        mut candidate: Value,
        rule: Option<&'static str>,
        inside: Option<&[SchemaNode<'s>]>,
        nodes: &[SchemaNode<'s>],
    ) -> Option<(Value, ChangeLog)> {
        let outer = std::mem::take(&mut self.log);
        if let Some(rule) = rule {
            self.log.push(&self.path, original, Some(&candidate), rule);
        }
        let mut valid = None;
        if let Some(schemas) = inside {
            // Parsed text may contain more integral floats.
            let respell = self.respell;
            self.respell |= ValueSurvey::measure(&candidate).integral_float;
            valid = self.visit(&mut candidate, schemas).filter(|_| std::ptr::eq(schemas, nodes));
            self.respell = respell;
        }
        let log = std::mem::replace(&mut self.log, outer);
        let fits = || valid.unwrap_or_else(|| self.compiled.accepts(&candidate, nodes));
        (log.len() > 0 && fits()).then_some((candidate, log))
    }

    fn apply_candidate(&mut self, value: &mut Value, outcome: TrialOutcome) -> bool {
        let TrialOutcome::One(found, log) = outcome else { return false };
        *value = found;
        self.log.append(log);
        true
    }
}

/// Result of all trials for one value.
enum TrialOutcome {
    Nothing,
    One(Value, ChangeLog),
    Several,
}

impl TrialOutcome {
    fn add(&mut self, found: Option<(Value, ChangeLog)>) {
        let Some((value, log)) = found else { return };
        match self {
            Self::Nothing => *self = Self::One(value, log),
            Self::One(first, _) if *first == value => {}
            Self::One(..) | Self::Several => *self = Self::Several,
        }
    }
}
