//! Calls that are under way.

use std::time::{Duration, Instant};

use crate::clean::one_line;
use crate::row::{Colour, DIM, PLAIN, Row};
use crate::transcript::{brief, call_head};

/// So many have a row of their own.
const MOST_ROWS: usize = 6;
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How long one of them is shown.
pub(super) const FRAME: Duration = Duration::from_millis(100);
const BAR: usize = 10;

/// One call.
#[derive(Debug)]
pub(super) struct Call {
    id: String,
    pub(super) emoji: String,
    pub(super) name: String,
    pub(super) summary: String,
    since: Instant,
    message: String,
    fraction: Option<f64>,
}

/// Calls in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Call>);

impl Calls {
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
        self.0.push(Call {
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

    pub(super) fn end(&mut self, id: &str) -> Option<Call> {
        let at = self.0.iter().position(|call| call.id == id)?;
        Some(self.0.remove(at))
    }

    pub(super) fn rows(&self, columns: usize, now: Instant) -> Vec<Row> {
        let mut rows: Vec<Row> =
            self.0.iter().take(MOST_ROWS).map(|call| call.row(columns, now)).collect();
        let hidden = self.0.len().saturating_sub(MOST_ROWS);
        if hidden > 0 {
            rows.push(Row::new(&format!("  … and {hidden} more"), DIM));
        }
        rows
    }
}

impl Call {
    fn row(&self, columns: usize, now: Instant) -> Row {
        let elapsed = now.saturating_duration_since(self.since);
        let mut tail = Row::default();
        if let Some(fraction) = self.fraction {
            tail.push("  ", PLAIN);
            tail.append(&bar(fraction));
        }
        if elapsed.as_secs() >= 1 {
            tail.push(&format!("  {}", whole_seconds(elapsed)), DIM);
        }
        let mut row = spinner(elapsed);
        row.append(&call_head(&self.emoji, &self.name, &self.summary));
        if !self.message.is_empty() {
            row.push(" · ", DIM);
            row.push(&self.message, PLAIN);
        }
        let mut row = row.clipped(columns.saturating_sub(tail.width()));
        row.append(&tail);
        row
    }
}

/// The turning mark of something that goes on.
pub(super) fn spinner(elapsed: Duration) -> Row {
    let frame = elapsed.as_millis() / FRAME.as_millis();
    let frame = usize::try_from(frame).unwrap_or(0) % FRAMES.len();
    Row::new(FRAMES.get(frame).copied().unwrap_or_default(), Colour::Cyan.style()).with(" ", PLAIN)
}

/// Whole seconds, so that the row changes no more often than need be.
pub(super) fn whole_seconds(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => brief(Duration::from_secs(seconds)),
    }
}

fn bar(fraction: f64) -> Row {
    let fraction = fraction.clamp(0.0, 1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 100"
    )]
    let percent = (fraction * 100.0).round() as usize;
    let full = percent * BAR / 100;
    Row::new(&"▰".repeat(full), Colour::Cyan.style())
        .with(&"▱".repeat(BAR - full), DIM)
        .with(&format!(" {percent} %"), DIM)
}
