//! The linters, formatters and test runners of a project: which ones it has,
//! how they are called, and what they say.
