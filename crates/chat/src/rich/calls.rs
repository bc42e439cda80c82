//! Live rows of running calls.

use std::time::{Duration, Instant};

use crate::row::{AnsiColour, DIM_STYLE, PLAIN_STYLE, StyledRow};
use crate::sanitize::one_line;
use crate::transcript::{call_head, format_duration};

/// Maximum number of calls with a row.
const MAX_CALL_ROWS: usize = 6;
const SPINNER_FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How long each spinner frame is shown.
pub(super) const SPINNER_INTERVAL: Duration = Duration::from_millis(100);
const PROGRESS_BAR_WIDTH: usize = 10;

/// A running call.
#[derive(Debug)]
pub(super) struct LiveCall {
    id: String,
    pub(super) emoji: String,
    pub(super) name: String,
    pub(super) summary: String,
    since: Instant,
    message: String,
    fraction: Option<f64>,
}

/// Running calls in the order they started.
#[derive(Debug, Default)]
pub(super) struct LiveCalls(Vec<LiveCall>);

impl LiveCalls {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn begin(
        &mut self,
        id: String,
        emoji: String,
        name: String,
        summary: String,
        now: Instant,
    ) {
        self.0.retain(|call| call.id != id);
        self.0.push(LiveCall {
            id,
            emoji,
            name,
            summary,
            since: now,
            message: String::new(),
            fraction: None,
        });
    }

    pub(super) fn progress(&mut self, id: &str, message: &str, fraction: Option<f64>) {
        if let Some(call) = self.0.iter_mut().find(|call| call.id == id) {
            call.message = one_line(message);
            call.fraction = fraction.filter(|fraction| fraction.is_finite());
        }
    }

    pub(super) fn end(&mut self, id: &str) -> Option<LiveCall> {
        let at = self.0.iter().position(|call| call.id == id)?;
        Some(self.0.remove(at))
    }

    pub(super) fn rows(&self, columns: usize, now: Instant) -> Vec<StyledRow> {
        let mut rows: Vec<StyledRow> =
            self.0.iter().take(MAX_CALL_ROWS).map(|call| call.row(columns, now)).collect();
        let hidden = self.0.len().saturating_sub(MAX_CALL_ROWS);
        if hidden > 0 {
            rows.push(StyledRow::new(&format!("  … and {hidden} more"), DIM_STYLE));
        }
        rows
    }
}

impl LiveCall {
    fn row(&self, columns: usize, now: Instant) -> StyledRow {
        let elapsed = now.saturating_duration_since(self.since);
        let mut tail = StyledRow::default();
        if let Some(fraction) = self.fraction {
            tail.push("  ", PLAIN_STYLE);
            tail.append(&progress_bar(fraction));
        }
        if elapsed.as_secs() >= 1 {
            tail.push(&format!("  {}", whole_seconds(elapsed)), DIM_STYLE);
        }
        let mut row = spinner(elapsed);
        row.append(&call_head(&self.emoji, &self.name, &self.summary));
        if !self.message.is_empty() {
            row.push(" · ", DIM_STYLE);
            row.push(&self.message, PLAIN_STYLE);
        }
        let mut row = row.clipped(columns.saturating_sub(tail.width()));
        row.append(&tail);
        row
    }
}

/// Returns the spinner frame for an elapsed time.
pub(super) fn spinner(elapsed: Duration) -> StyledRow {
    let frame = elapsed.as_millis() / SPINNER_INTERVAL.as_millis();
    let frame = usize::try_from(frame).unwrap_or(0) % SPINNER_FRAMES.len();
    StyledRow::new(SPINNER_FRAMES.get(frame).copied().unwrap_or_default(), AnsiColour::Cyan.style())
        .with(" ", PLAIN_STYLE)
}

/// Formats whole seconds, so the row changes at most once per second.
pub(super) fn whole_seconds(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format_duration(Duration::from_secs(seconds)),
    }
}

fn progress_bar(fraction: f64) -> StyledRow {
    let fraction = fraction.clamp(0.0, 1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 100"
    )]
    let percent = (fraction * 100.0).round() as usize;
    let full = percent * PROGRESS_BAR_WIDTH / 100;
    StyledRow::new(&"▰".repeat(full), AnsiColour::Cyan.style())
        .with(&"▱".repeat(PROGRESS_BAR_WIDTH - full), DIM_STYLE)
        .with(&format!(" {percent} %"), DIM_STYLE)
}
