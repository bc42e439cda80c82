//! Tools for the machine: environment, information, waiting.
