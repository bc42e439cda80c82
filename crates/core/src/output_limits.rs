//! Configurable limits on the output of tools.

/// Limits on what tools return; a port, so tools do not depend on the
/// configuration.
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
    /// Characters of one result, as JSON. The engine truncates a longer one
    /// without knowing which part matters.
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
