//! Ports: the services that the composition root hands to tools, by type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A set of ports, at most one per type. The type is usually a trait object,
/// such as `dyn Clipboard`.
#[derive(Clone, Default)]
pub struct Ports {
    by_type: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

impl Ports {
    /// Returns an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a port, replacing one of the same type.
    #[must_use]
    pub fn with<T: ?Sized + Send + Sync + 'static>(mut self, port: Arc<T>) -> Self {
        self.by_type.insert(TypeId::of::<T>(), Arc::new(port));
        self
    }

    /// Returns the port of type `T`.
    pub fn get<T: ?Sized + Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.by_type.get(&TypeId::of::<T>())?.downcast_ref::<Arc<T>>().cloned()
    }
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ports({})", self.by_type.len())
    }
}
