//! Errors of decoding and editing text.

use std::fmt;

use crate::codec::UnencodableChar;

/// Why bytes cannot be treated as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotTextReason {
    /// The bytes are binary data.
    Binary {
        /// The evidence, such as "it has zero bytes".
        reason: &'static str,
    },
    /// No decoder exists for the given encoding.
    Unsupported {
        /// The encoding.
        encoding: &'static str,
    },
}

/// Bytes that are not a text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotTextError {
    /// Why they are not text.
    pub reason: NotTextReason,
    /// The bytes, returned to the caller.
    pub bytes: Vec<u8>,
}

/// Why edits were not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpliceError {
    /// An edit begins before the previous one ends.
    OutOfOrder {
        /// Index of the edit.
        edit: usize,
    },
    /// An edit reaches beyond the text, or begins or ends inside a character.
    OutOfBounds {
        /// Index of the edit.
        edit: usize,
    },
    /// An edit covers bytes that are invalid in the file's encoding.
    Damaged {
        /// Index of the edit.
        edit: usize,
        /// Offset of the bytes in the file.
        offset: usize,
        /// The encoding.
        encoding: &'static str,
    },
    /// The new text has a character that the file's encoding lacks.
    Unencodable {
        /// Index of the edit.
        edit: usize,
        /// The character and its position in the new text.
        what: UnencodableChar,
    },
    /// The new bytes would decode differently because of the bytes next to
    /// them.
    Inexact {
        /// Offset in the new text where the difference begins.
        offset: usize,
        /// The encoding.
        encoding: &'static str,
    },
}

impl fmt::Display for NotTextReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binary { reason } => write!(f, "Not a text file: {reason}"),
            Self::Unsupported { encoding } => {
                write!(f, "Unsupported text encoding '{encoding}'")
            }
        }
    }
}

impl std::error::Error for NotTextReason {}

impl fmt::Display for SpliceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfOrder { edit } => {
                write!(f, "Edit {} begins before the previous edit ends", edit + 1)
            }
            Self::OutOfBounds { edit } => {
                write!(f, "Edit {} is out of bounds or splits a character", edit + 1)
            }
            Self::Damaged { offset, encoding, .. } => write!(
                f,
                "The bytes at offset {offset} of the file are invalid in {encoding}; an edit \
                 that covers them would lose them"
            ),
            Self::Unencodable { what, .. } => write!(f, "In the new text, {what}"),
            Self::Inexact { offset, encoding } => write!(
                f,
                "Encoded in {encoding}, the new text would read differently from byte {offset} on"
            ),
        }
    }
}

impl std::error::Error for SpliceError {}
