//! Keeps the end of a program's stderr for error messages, in bounded memory.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How many bytes are kept.
const MAX_KEPT_BYTES: usize = 8 * 1024;

/// How many bytes are shown.
const MAX_SHOWN_BYTES: usize = 2_000;

/// The end of a program's stderr.
#[derive(Debug, Default)]
pub(crate) struct StderrTail {
    kept: Mutex<VecDeque<u8>>,
}

impl StderrTail {
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut kept = self.lock();
        let bytes = &bytes[bytes.len().saturating_sub(MAX_KEPT_BYTES)..];
        let over = (kept.len() + bytes.len()).saturating_sub(MAX_KEPT_BYTES);
        kept.drain(..over);
        kept.extend(bytes);
    }

    /// Returns the last lines, without control characters.
    pub(crate) fn text(&self) -> String {
        let kept = self.lock();
        let bytes: Vec<u8> = kept.iter().copied().collect();
        drop(kept);
        let text = String::from_utf8_lossy(&bytes);
        let text = super::sanitize::strip_controls(text.trim());
        let from = text.ceil_char_boundary(text.len().saturating_sub(MAX_SHOWN_BYTES));
        let shown = &text[from..];
        // Drop a partial first line.
        let whole = if from > 0 { shown.split_once('\n').map_or(shown, |it| it.1) } else { shown };
        whole.to_owned()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.kept.lock()
    }

    /// Reads the stream to its end.
    pub(crate) async fn read_to_end(self: Arc<Self>, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read) = stream.read(&mut buffer).await {
            if read == 0 {
                break;
            }
            self.push(&buffer[..read]);
        }
    }
}

#[cfg(test)]
#[path = "stderr_tail_tests.rs"]
mod tests;
