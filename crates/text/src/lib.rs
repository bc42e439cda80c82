//! Bytes and text: encodings, line endings, exact edits, patches and diffs.
//!
//! Nothing here touches a file. An edit is found in the decoded text, and only
//! its own bytes are encoded anew and put between the old ones.

pub mod codec;
