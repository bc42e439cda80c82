//! Bytes and text: encodings, line endings, exact edits, patches and diffs.
//!
//! Nothing here touches a file. An edit is found in the decoded text, and only
//! its own bytes are encoded anew and put between the old ones.

pub mod binary;
pub mod codec;
pub mod diff;
mod document;
pub mod editorconfig;
mod endings;
mod error;
pub mod formats;
pub mod matching;
mod places;
mod shifted;
mod wide;

pub use document::{Document, Edit};
pub use endings::{Ending, Endings, count_lines, line_at, lines};
pub use error::{NotText, Rejected, SpliceError};
