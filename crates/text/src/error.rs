//! Why bytes are no text, and why edits were not made.

use std::fmt;

use crate::codec::UnencodableChar;

/// Why bytes cannot be treated as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotTextReason {
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
pub struct NotTextError {
    /// Why not.
    pub reason: NotTextReason,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Why edits were not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpliceError {
    /// An edit begins before the one in front of it ends.
    OutOfOrder {
        /// Which one, from 0.
        edit: usize,
    },
    /// An edit goes beyond the text, or begins or ends inside of a character.
    OutOfBounds {
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
        what: UnencodableChar,
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

impl fmt::Display for NotTextReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binary { reason } => write!(f, "This is not text: {reason}"),
            Self::Unsupported { encoding } => {
                write!(f, "Text in the encoding '{encoding}' cannot be read")
            }
        }
    }
}

impl std::error::Error for NotTextReason {}

impl fmt::Display for SpliceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfOrder { edit } => {
                write!(f, "Edit {} begins before the one in front of it ends", edit + 1)
            }
            Self::OutOfBounds { edit } => {
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
