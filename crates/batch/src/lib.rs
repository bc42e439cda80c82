//! Many prompts, each a conversation of its own, written down for training.
