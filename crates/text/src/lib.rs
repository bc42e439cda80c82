//! Bytes and text: encodings, line endings, exact edits, patches and diffs.
//!
//! Nothing here touches a file. Edits are located in the decoded text, and only
//! their replacements are encoded and spliced into the original bytes.

pub mod binary;
pub mod codec;
mod decode_map;
pub mod diff;
mod document;
pub mod editorconfig;
mod error;
mod iso2022jp;
mod line_endings;
pub mod matching;
pub mod patch_formats;
mod utf16;

pub use document::{TextDocument, TextEdit};
pub use error::{NotTextError, NotTextReason, SpliceError};
pub use line_endings::{LineEnding, LineEndings, count_lines, line_at, lines};
