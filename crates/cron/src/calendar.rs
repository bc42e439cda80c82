//! The slots of a cron expression in a time zone.
//!
//! The expression is matched against local time, one interval between UTC
//! offset changes at a time. Fixed times (`30 2 * * *`) fire once a day: right
//! after the change if the clock skips them, the first time if the clock shows
//! them twice. Recurring times (`*/30 * * * *`) follow the clock: they are
//! skipped in a gap and fire in both passes of a fold. (croner's own time zone
//! search fails if a gap follows within an hour after a slot.)

use croner::Cron;
use croner::parser::CronParser;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

/// Maximum number of offset changes searched for a slot.
const MAX_CLOCK_CHANGES: usize = 1_000;

/// A cron expression in a time zone.
#[derive(Debug)]
pub(crate) struct CronCalendar {
    cron: Cron,
    /// Whether the expression has fixed times, not recurring ones.
    fixed_times: bool,
    zone: TimeZone,
}

/// A change of the UTC offset.
#[derive(Debug, Clone, Copy)]
struct ClockChange {
    at: Timestamp,
    /// Local time at the change, with the old offset.
    old: DateTime,
    /// Local time at the change, with the new offset.
    new: DateTime,
    before: Offset,
    after: Offset,
}

impl CronCalendar {
    /// Parses an expression; the error is the reason why it is invalid.
    pub(crate) fn new(expr: &str, zone: TimeZone) -> Result<Self, String> {
        let cron = CronParser::new().parse(expr).map_err(|e| {
            let text = e.to_string();
            let reason = text.split_once(": ").map_or(text.as_str(), |(_, reason)| reason);
            reason.trim_end_matches('.').to_owned()
        })?;
        Ok(Self { cron, fixed_times: has_fixed_times(expr), zone })
    }

    /// Returns the first slot after `after`.
    pub(crate) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let mut offset = self.zone.to_offset(after);
        let (mut from, mut inclusive) = (offset.to_datetime(after), false);
        if let Some(floor) = self.second_pass_until(after).filter(|floor| from < *floor) {
            (from, inclusive) = (floor, true);
        }
        let mut wall = self.cron.find_next_occurrence(&from, inclusive).ok()?;
        let mut passed = after;
        for _ in 0..MAX_CLOCK_CHANGES {
            let slot = offset.to_timestamp(wall).ok()?;
            let Some(change) = self.change_after(passed).filter(|change| change.at <= slot) else {
                return Some(slot);
            };
            (offset, passed) = (change.after, change.at);
            let leapt = change.new > change.old && wall < change.new;
            if leapt && self.fixed_times {
                return Some(change.at);
            }
            if leapt || (change.new < change.old && !self.fixed_times) {
                wall = self.cron.find_next_occurrence(&change.new, true).ok()?;
            }
        }
        None
    }

    /// Returns the last slot before `at`, or at it if `inclusive`.
    pub(crate) fn previous(&self, at: Timestamp, inclusive: bool) -> Option<Timestamp> {
        let (mut inclusive, mut bound) = (inclusive, at);
        let mut offset = self.zone.to_offset(at);
        let mut upper = offset.to_datetime(at);
        for _ in 0..MAX_CLOCK_CHANGES {
            let wall = self.cron.find_previous_occurrence(&upper, inclusive).ok()?;
            let Some(change) = self.change_until(bound) else {
                return offset.to_timestamp(wall).ok();
            };
            let back = change.new < change.old;
            let floor = if back && self.fixed_times { change.old } else { change.new };
            if wall >= floor {
                return offset.to_timestamp(wall).ok();
            }
            let leapt = !back && self.fixed_times && wall >= change.old;
            if leapt && (inclusive || change.at < bound) {
                return Some(change.at);
            }
            (offset, upper, inclusive) = (change.before, change.old, false);
            bound = Timestamp::from_second(change.at.as_second() - 1).ok()?;
        }
        None
    }

    /// Returns the local time at which the second pass of a fold ends. None
    /// unless the last change is a fold and the times are fixed, so they have
    /// already fired.
    fn second_pass_until(&self, at: Timestamp) -> Option<DateTime> {
        let change =
            self.change_until(at).filter(|change| self.fixed_times && change.new < change.old);
        change.map(|change| change.old)
    }

    /// Returns the next offset change.
    fn change_after(&self, at: Timestamp) -> Option<ClockChange> {
        let before = self.zone.to_offset(at);
        let next = self.zone.following(at).find(|next| next.offset() != before)?;
        Some(clock_change(next.timestamp(), before, next.offset()))
    }

    /// Returns the last offset change up to `at`.
    fn change_until(&self, at: Timestamp) -> Option<ClockChange> {
        let after = self.zone.to_offset(at);
        let mut found = None;
        let end = Timestamp::from_second(at.as_second().saturating_add(1)).ok()?;
        for past in self.zone.preceding(end) {
            if past.offset() != after {
                return found.map(|at| clock_change(at, past.offset(), after));
            }
            found = Some(past.timestamp());
        }
        let before = self.zone.to_offset(Timestamp::from_second(found?.as_second() - 1).ok()?);
        (before != after).then(|| clock_change(found.unwrap_or(at), before, after))
    }
}

fn clock_change(at: Timestamp, before: Offset, after: Offset) -> ClockChange {
    ClockChange { at, old: before.to_datetime(at), new: after.to_datetime(at), before, after }
}

/// Whether hours, minutes and seconds are fixed, not recurring.
fn has_fixed_times(expr: &str) -> bool {
    let expr = expr.trim();
    if expr.starts_with('@') {
        return !expr.eq_ignore_ascii_case("@hourly");
    }
    let count = expr.split_whitespace().count();
    let clock = if count > 5 { 3 } else { 2 };
    !expr.split_whitespace().take(clock).any(|field| field.contains(['*', '/', '?']))
}
