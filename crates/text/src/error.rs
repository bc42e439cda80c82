//! Why bytes are no text, and why edits were not made.

use std::fmt;

use crate::codec::Unencodable;

/// Why bytes cannot be treated as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotText {
    /// They are something else.
    Binary {
        /// What gives it away, such as "it has zero bytes".
        reason: &'static str,
    },
    /// There is no decoder for the encoding that was named.
    Unsupported {
        /// Its name.
        encoding: &'static str,
    },
}

/// Bytes that were taken for a text file, and are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Why not.
    pub reason: NotText,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Why edits were not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpliceError {
    /// An edit begins before the one in front of it ends.
    Disorder {
        /// Which one, from 0.
        edit: usize,
    },
    /// An edit goes beyond the text, or begins or ends inside of a character.
    Misplaced {
        /// Which one, from 0.
        edit: usize,
    },
    /// An edit covers bytes that mean nothing in the file's encoding.
    Damaged {
        /// Which one, from 0.
        edit: usize,
        /// Where in the file they are.
        offset: usize,
        /// The encoding.
        encoding: &'static str,
    },
    /// The new text has a character that the file's encoding lacks.
    Unencodable {
        /// Which edit, from 0.
        edit: usize,
        /// The character, and where in the new text it is.
        what: Unencodable,
    },
    /// The new bytes would not mean what they should, because of the bytes
    /// that stand next to them.
    Inexact {
        /// Where in the new text of the file the difference begins.
        offset: usize,
        /// The encoding.
        encoding: &'static str,
    },
}

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binary { reason } => write!(f, "This is not text: {reason}"),
            Self::Unsupported { encoding } => {
                write!(f, "Text in the encoding '{encoding}' cannot be read")
            }
        }
    }
}

impl std::error::Error for NotText {}

impl fmt::Display for SpliceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disorder { edit } => {
                write!(f, "Edit {} begins before the one in front of it ends", edit + 1)
            }
            Self::Misplaced { edit } => {
                write!(f, "Edit {} is not between two characters of the text", edit + 1)
            }
            Self::Damaged { offset, encoding, .. } => write!(
                f,
                "The bytes at offset {offset} of the file mean nothing in {encoding}; an edit that \
                 covers them would lose them"
            ),
            Self::Unencodable { what, .. } => write!(f, "In the new text, {what}"),
            Self::Inexact { offset, encoding } => write!(
                f,
                "Written in {encoding}, the new text would read differently from byte {offset} on"
            ),
        }
    }
}

impl std::error::Error for SpliceError {}
