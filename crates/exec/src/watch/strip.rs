//! Terminal sequences taken out of a stream, whatever pieces it comes in.

/// A sequence without an end must not swallow the rest of the output.
const LONGEST: usize = 4096;

/// Leaves the text and the line ends. A carriage return ends a line too, so
/// that each state of a progress bar is a line.
#[derive(Debug, Clone, Default)]
pub(super) struct Strip {
    state: State,
    /// Bytes of the sequence so far.
    length: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After an escape.
    Escape,
    /// An escape with something in between, such as a choice of characters.
    Middle,
    /// `ESC [` up to its last letter.
    Control,
    /// A title or the like, up to BEL or `ESC \`.
    Words,
    /// An escape within such words.
    WordsEscape,
}

impl Strip {
    /// Appends what is text in `bytes` to `out`.
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            if self.state == State::Text {
                let plain = rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len());
                let (text, special) = rest.split_at(plain);
                out.extend_from_slice(text);
                rest = match special.split_first() {
                    Some((byte, after)) => {
                        self.special(*byte, out);
                        after
                    }
                    None => special,
                };
                continue;
            }
            self.length += 1;
            // No sequence goes over the end of a line.
            if matches!(first, b'\n' | b'\r') || self.length > LONGEST {
                self.state = State::Text;
                continue;
            }
            self.state = next(self.state, *first);
            rest = after;
        }
    }

    fn special(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            0x1b => {
                self.state = State::Escape;
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

fn next(state: State, byte: u8) -> State {
    match (state, byte) {
        (State::Words, 0x07) | (State::WordsEscape, b'\\') => State::Text,
        (State::Words | State::WordsEscape, 0x1b) => State::WordsEscape,
        (State::Words, _) => State::Words,
        (_, 0x1b) => State::Escape,
        (State::Escape | State::WordsEscape, b'[') => State::Control,
        (State::Escape | State::WordsEscape, b']' | b'P' | b'X' | b'^' | b'_') => State::Words,
        (State::Escape | State::WordsEscape | State::Middle, 0x20..=0x2f) => State::Middle,
        (State::Control, 0x20..=0x3f) => State::Control,
        _ => State::Text,
    }
}
