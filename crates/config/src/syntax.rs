//! Syntax errors of the parser, with hints for the common ones.

use granit_parser::{ErrorKind, ScanError};

use crate::source::SpannedProblem;
use crate::tree::MAX_DEPTH;

pub(crate) fn explain_scan_error(error: &ScanError, text: &str) -> SpannedProblem {
    let mut offset = error.marker().byte_offset().unwrap_or(text.len());
    // The parser reports a tab at the position after it.
    if is_tab(error.kind()) && text.get(..offset).is_some_and(|before| before.ends_with('\t')) {
        offset -= 1;
    }
    let message = match error.kind() {
        ErrorKind::RecursionLimitExceeded => {
            format!("this is nested more than {MAX_DEPTH} levels deep")
        }
        _ => error.info(),
    };
    SpannedProblem::new(offset..offset, message).hint(hint(error.kind()))
}

fn is_tab(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInPlainScalar
    )
}

fn hint(kind: &ErrorKind) -> &'static str {
    match kind {
        kind if is_tab(kind) => "indent with spaces; YAML does not allow tabs here",
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            "put quotes around a value that contains a colon, and check that the line is indented like its neighbours and that brackets above it are closed"
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            "write `key: value`, with a space after the colon"
        }
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => {
            "a quote was opened here or above and never closed"
        }
        ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            "put the whole value inside the quotes, or remove what follows them"
        }
        ErrorKind::UnknownQuotedScalarEscape
        | ErrorKind::InvalidQuotedScalarHexEscape
        | ErrorKind::InvalidUnicodeEscape => {
            "use single quotes, or write a backslash as two backslashes"
        }
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::MismatchedFlowCollectionEnd { .. }
        | ErrorKind::MisplacedFlowCollectionEnd
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping => "every [ needs its ] and every { its }",
        ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::ExpectedFlowSequenceSeparator => {
            "separate the items with commas and close the bracket"
        }
        ErrorKind::UnexpectedCharacter { .. } => "put the value in quotes",
        ErrorKind::UnknownAnchor => {
            "define the anchor with &name above this line, or put the value in quotes"
        }
        ErrorKind::BlockSequenceEntryNotAllowed => {
            "start the list on a line of its own below the key"
        }
        ErrorKind::RecursionLimitExceeded => {
            "no setting is nested that deeply; is this the right file?"
        }
        _ => "check the indentation and quotes of this line and the one above it",
    }
}
