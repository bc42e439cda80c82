//! Removes terminal escape sequences from a stream, however it is chunked.

/// An unterminated sequence must not swallow the rest of the output.
const MAX_SEQUENCE_BYTES: usize = 4096;

/// Keeps the text and the line ends. A carriage return also ends a line, so
/// each state of a progress bar becomes a line.
#[derive(Debug, Clone, Default)]
pub(super) struct EscapeStripper {
    state: StripperState,
    /// Bytes of the sequence so far.
    length: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum StripperState {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// ESC with intermediate bytes, such as a character set selection.
    Intermediate,
    /// `ESC [` up to its final byte.
    Control,
    /// A title or similar string, up to BEL or `ESC \`.
    StringSequence,
    /// ESC within such a string.
    StringEscape,
}

impl EscapeStripper {
    /// Appends the text in `bytes` to `out`.
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            if self.state == StripperState::Text {
                let plain = rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len());
                let (text, special) = rest.split_at(plain);
                out.extend_from_slice(text);
                rest = match special.split_first() {
                    Some((byte, after)) => {
                        self.handle_special(*byte, out);
                        after
                    }
                    None => special,
                };
                continue;
            }
            self.length += 1;
            // No sequence spans a line end.
            if matches!(first, b'\n' | b'\r') || self.length > MAX_SEQUENCE_BYTES {
                self.state = StripperState::Text;
                continue;
            }
            self.state = next_state(self.state, *first);
            rest = after;
        }
    }

    fn handle_special(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            0x1b => {
                self.state = StripperState::Escape;
                self.length = 0;
            }
            b'\r' => out.push(b'\n'),
            // Drop bells, backspaces and similar.
            _ => {}
        }
    }
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 && byte != b'\n' && byte != b'\t' || byte == 0x7f
}

fn next_state(state: StripperState, byte: u8) -> StripperState {
    match (state, byte) {
        (StripperState::StringSequence, 0x07) | (StripperState::StringEscape, b'\\') => {
            StripperState::Text
        }
        (StripperState::StringSequence | StripperState::StringEscape, 0x1b) => {
            StripperState::StringEscape
        }
        (StripperState::StringSequence, _) => StripperState::StringSequence,
        (_, 0x1b) => StripperState::Escape,
        (StripperState::Escape | StripperState::StringEscape, b'[') => StripperState::Control,
        (StripperState::Escape | StripperState::StringEscape, b']' | b'P' | b'X' | b'^' | b'_') => {
            StripperState::StringSequence
        }
        (
            StripperState::Escape | StripperState::StringEscape | StripperState::Intermediate,
            0x20..=0x2f,
        ) => StripperState::Intermediate,
        (StripperState::Control, 0x20..=0x3f) => StripperState::Control,
        _ => StripperState::Text,
    }
}
