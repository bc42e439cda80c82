//! Bytes and text: encodings, line endings, exact edits, patches and diffs.
//!
//! Nothing here touches a file. An edit is found in the decoded text, and only
//! its own bytes are encoded anew and put between the old ones.

pub mod binary;
pub mod codec;
pub mod diff;
mod document;
pub mod editorconfig;
mod line_endings;
mod error;
pub mod patch_formats;
pub mod matching;
mod decode_map;
mod iso2022jp;
mod utf16;

pub use document::{TextDocument, TextEdit};
pub use line_endings::{LineEnding, LineEndings, count_lines, line_at, lines};
pub use error::{NotTextReason, NotTextError, SpliceError};
