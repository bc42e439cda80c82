//! Finds the schemas that apply to a property or an item, given those of the
//! container.

use serde_json::Value;

use super::SchemaNode;

/// Returns the schemas for the property `key`.
///
/// Where `patternProperties` might apply instead of `additionalProperties`,
/// neither is assumed.
pub(crate) fn property_nodes<'s>(facets: &[SchemaNode<'s>], key: &str) -> Vec<SchemaNode<'s>> {
    facets
        .iter()
        .filter_map(|facet| {
            let properties = facet.child("properties");
            properties.and_then(|named| named.child(key)).or_else(|| {
                let open = facet.child("additionalProperties")?;
                let unclear = facet.get("patternProperties").is_some();
                (open.schema.is_object() && !unclear).then_some(open)
            })
        })
        .collect()
}

/// Returns the schemas for the item at `index`.
pub(crate) fn item_nodes<'s>(facets: &[SchemaNode<'s>], index: usize) -> Vec<SchemaNode<'s>> {
    facets
        .iter()
        .filter_map(|facet| {
            let (tuple, rest) = tuple_schemas(facet);
            match tuple.into_iter().nth(index) {
                Some(own) => Some(own),
                None => facet.child(rest),
            }
        })
        .filter(|node| node.schema.is_object() || node.schema.is_boolean())
        .collect()
}

/// Returns the number of leading items with positional schemas.
pub(crate) fn tuple_length(facets: &[SchemaNode<'_>]) -> usize {
    facets.iter().map(|facet| tuple_schemas(facet).0.len()).max().unwrap_or(0)
}

/// Returns the schemas of the leading items, and the keyword for the items
/// after them.
fn tuple_schemas<'s>(facet: &SchemaNode<'s>) -> (Vec<SchemaNode<'s>>, &'static str) {
    if facet.get("prefixItems").is_some_and(Value::is_array) {
        (facet.list("prefixItems"), "items")
    } else if facet.get("items").is_some_and(Value::is_array) {
        (facet.list("items"), "additionalItems")
    } else {
        (Vec::new(), "items")
    }
}

/// Whether any schema rejects undeclared properties.
pub(crate) fn is_closed(facets: &[SchemaNode<'_>]) -> bool {
    facets.iter().any(|facet| {
        ["additionalProperties", "unevaluatedProperties"]
            .iter()
            .any(|keyword| facet.get(keyword) == Some(&Value::Bool(false)))
    })
}

/// Returns the names of all declared properties, in order.
pub(crate) fn known_properties<'s>(facets: &[SchemaNode<'s>]) -> Vec<&'s str> {
    let declared = |facet: &SchemaNode<'s>| facet.get("properties").and_then(Value::as_object);
    let all = facets.iter().filter_map(declared).flat_map(|properties| properties.keys());
    // A single schema has no duplicate properties.
    if facets.len() < 2 {
        return all.map(String::as_str).collect();
    }
    let mut seen = std::collections::HashSet::new();
    all.map(String::as_str).filter(|name| seen.insert(*name)).collect()
}

/// Whether any schema requires the property.
pub(crate) fn is_required(facets: &[SchemaNode<'_>], key: &str) -> bool {
    facets
        .iter()
        .filter_map(SchemaNode::keywords)
        .any(|schema| crate::subschemas::required_names(schema).any(|name| name == key))
}

/// Returns the alternatives of every `anyOf` and `oneOf`, one list per keyword.
pub(crate) fn unions<'s>(facets: &[SchemaNode<'s>]) -> Vec<Vec<SchemaNode<'s>>> {
    facets
        .iter()
        .flat_map(|facet| [facet.list("anyOf"), facet.list("oneOf")])
        .filter(|branches| !branches.is_empty())
        .collect()
}
