//! Servers of others: their tools in our registry.
