//! What breaks in a container, and what is left then.
