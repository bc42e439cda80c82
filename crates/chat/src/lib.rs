//! The terminal of a conversation: what is typed, what is shown, what is asked.
