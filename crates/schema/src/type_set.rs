//! Sets of JSON types.

use serde_json::{Map, Value};

use crate::subschemas;
use crate::validate::SchemaNode;

/// A set of JSON types.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TypeSet(u8);

impl TypeSet {
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(1 << 1);
    pub(crate) const INTEGER: Self = Self(1 << 2);
    pub(crate) const NUMBER: Self = Self(1 << 3);
    pub(crate) const STRING: Self = Self(1 << 4);
    pub(crate) const ARRAY: Self = Self(1 << 5);
    pub(crate) const OBJECT: Self = Self(1 << 6);
    pub(crate) const ALL: Self = Self(0x7f);

    pub(crate) fn from_name(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::default(),
        }
    }

    /// Returns the type of a value; a number without a fraction counts as an
    /// integer.
    pub(crate) fn for_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.as_f64().is_some_and(|n| n.fract() != 0.0) => {
                Self::NUMBER
            }
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        // Every integer is a number.
        let widened = |kinds: Self| {
            if kinds.intersects(Self::NUMBER) { Self(kinds.0 | Self::INTEGER.0) } else { kinds }
        };
        Self(widened(self).0 & widened(other).0)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn intersects(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }

    /// Returns the types that the schema states, by `type` or by its listed
    /// values.
    fn stated_types(schema: &Map<String, Value>) -> Option<Self> {
        match subschemas::get_keyword(schema, "type") {
            Some(Value::String(name)) => return Some(Self::from_name(name)),
            Some(_) => {
                let names = subschemas::type_names(schema);
                return Some(
                    names.into_iter().map(Self::from_name).fold(Self::default(), Self::or),
                );
            }
            None => {}
        }
        let listed = match (
            subschemas::get_keyword(schema, "const"),
            subschemas::get_keyword(schema, "enum"),
        ) {
            (Some(value), _) => std::slice::from_ref(value),
            (None, Some(Value::Array(values))) => values.as_slice(),
            _ => return None,
        };
        Some(listed.iter().map(Self::for_value).fold(Self::default(), Self::or))
    }

    /// Returns the types that any of the schemas states; empty if none does.
    pub(crate) fn wanted_types(nodes: &[SchemaNode<'_>]) -> Self {
        nodes
            .iter()
            .filter_map(|node| Self::stated_types(node.keywords()?))
            .fold(Self::default(), Self::or)
    }

    /// Returns the types that all of the schemas allow.
    pub(crate) fn allowed_types(nodes: &[SchemaNode<'_>]) -> Self {
        nodes
            .iter()
            .filter_map(|node| Self::stated_types(node.keywords()?))
            .fold(Self::ALL, Self::and)
    }
}
