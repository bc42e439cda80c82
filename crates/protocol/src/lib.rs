//! The wire dialects in which models and programs ask for tool calls and read the answers.
