//! The slots of a cron expression in a time zone.
//!
//! The expression is matched against the clock on the wall, stretch by stretch
//! between the moments at which that clock is put forward or back. A time that
//! is named (`30 2 * * *`) comes once a day: right after the change if the
//! clock leaps over it, the first time if the clock shows it twice. What is
//! counted (`*/30 * * * *`) follows the clock: left out in the leap, made in
//! both passes. (The search through zones of croner itself goes wrong where a
//! leap follows within the hour after a slot.)

use croner::Cron;
use croner::parser::CronParser;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

/// How many changes of the clock are looked through for a slot.
const MAX_CLOCK_CHANGES: usize = 1_000;

/// A cron expression in a time zone.
#[derive(Debug)]
pub(crate) struct CronCalendar {
    cron: Cron,
    /// Whether times are named and not counted.
    fixed_times: bool,
    zone: TimeZone,
}

/// The clock is put forward or back.
#[derive(Debug, Clone, Copy)]
struct ClockChange {
    at: Timestamp,
    /// What the clock would have shown.
    old: DateTime,
    /// What it shows.
    new: DateTime,
    before: Offset,
    after: Offset,
}

impl CronCalendar {
    /// Reads an expression; what is wrong with it otherwise.
    pub(crate) fn new(expr: &str, zone: TimeZone) -> Result<Self, String> {
        let cron = CronParser::new().parse(expr).map_err(|e| {
            let text = e.to_string();
            let reason = text.split_once(": ").map_or(text.as_str(), |(_, reason)| reason);
            reason.trim_end_matches('.').to_owned()
        })?;
        Ok(Self { cron, fixed_times: has_fixed_times(expr), zone })
    }

    /// The first slot after a point in time.
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

    /// The last slot before a point in time, or at it.
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

    /// What the clock shows at the end of its second pass, if it is in one and
    /// named times are past for today.
    fn second_pass_until(&self, at: Timestamp) -> Option<DateTime> {
        let change =
            self.change_until(at).filter(|change| self.fixed_times && change.new < change.old);
        change.map(|change| change.old)
    }

    /// The next change of the clock.
    fn change_after(&self, at: Timestamp) -> Option<ClockChange> {
        let before = self.zone.to_offset(at);
        let next = self.zone.following(at).find(|next| next.offset() != before)?;
        Some(clock_change(next.timestamp(), before, next.offset()))
    }

    /// The last change of the clock up to a point in time.
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

/// Whether hours, minutes and seconds are named and not counted.
fn has_fixed_times(expr: &str) -> bool {
    let expr = expr.trim();
    if expr.starts_with('@') {
        return !expr.eq_ignore_ascii_case("@hourly");
    }
    let count = expr.split_whitespace().count();
    let clock = if count > 5 { 3 } else { 2 };
    !expr.split_whitespace().take(clock).any(|field| field.contains(['*', '/', '?']))
}
