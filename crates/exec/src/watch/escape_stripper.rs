//! Terminal sequences taken out of a stream, whatever pieces it comes in.

/// A sequence without an end must not swallow the rest of the output.
const MAX_SEQUENCE_BYTES: usize = 4096;

/// Leaves the text and the line ends. A carriage return ends a line too, so
/// that each state of a progress bar is a line.
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
    /// After an escape.
    Escape,
    /// An escape with something in between, such as a choice of characters.
    Intermediate,
    /// `ESC [` up to its last letter.
    Control,
    /// A title or the like, up to BEL or `ESC \`.
    StringSequence,
    /// An escape within such words.
    StringEscape,
}

impl EscapeStripper {
    /// Appends what is text in `bytes` to `out`.
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
            // No sequence goes over the end of a line.
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
            // Bells, backspaces and the like.
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
