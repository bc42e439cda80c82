//! How much a tool shows at once, where the user has a say.

/// Bounds on what tools show; a port, so that tools need not know where the
/// numbers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimits {
    /// Bytes of a command's output.
    pub command_bytes: u64,
    /// Lines of one read.
    pub read_lines: u64,
    /// Characters of one line.
    pub line_chars: u64,
    /// Characters of one read.
    pub read_chars: u64,
    /// Characters of one answer, as JSON; a longer one is cut by whoever
    /// passes it on, who does not know what in it matters.
    pub answer_chars: u64,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self {
            command_bytes: 50_000,
            read_lines: 2_000,
            line_chars: 2_000,
            read_chars: 100_000,
            answer_chars: 100_000,
        }
    }
}
