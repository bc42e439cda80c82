//! Contract tests and fixtures for tools and engines; for tests only.
