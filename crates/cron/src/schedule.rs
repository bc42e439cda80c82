//! Job schedules.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::calendar::CronCalendar;
use crate::error::CronError;
use crate::span;
use crate::stamp::{self, add_seconds, seconds_between, truncate_to_second};

/// Help on the accepted forms.
const SCHEDULE_FORMS_HELP: &str = "Write '30m' or 'in 2h' (once), 'every 30m' (recurring), a \
                     time such as 2030-02-03T14:00 (once), or a cron expression such as '0 9 * \
                     * MON-FRI'";

/// How far in the past the time of a new one-time schedule may be.
const MAX_PAST_SECONDS: u64 = 120;

/// How late a one-time run may be and still be on time.
const ONCE_GRACE_SECONDS: u64 = 600;

/// How many slots of a new cron expression are checked.
const CHECKED_SLOTS: usize = 5;

/// Maximum length of a schedule text.
const MAX_SCHEDULE_CHARS: usize = 200;

/// When a job is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JobSchedule {
    /// At one point in time.
    Once {
        /// The time of the run.
        #[serde(with = "stamp")]
        run_at: Timestamp,
        /// The schedule as text.
        #[serde(default)]
        display: String,
    },
    /// At a fixed interval.
    Interval {
        /// The interval.
        minutes: u64,
        /// The schedule as text.
        #[serde(default)]
        display: String,
    },
    /// At the times of a cron expression.
    Cron {
        /// The cron expression.
        expr: String,
        /// Its time zone; none for the configured default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tz: Option<String>,
        /// The schedule as text.
        #[serde(default)]
        display: String,
    },
}

impl JobSchedule {
    /// Parses a schedule. `tz` names the time zone of a text without one; the
    /// fallback is `zone`.
    pub fn parse(
        text: &str,
        tz: Option<&str>,
        zone: &TimeZone,
        now: Timestamp,
    ) -> Result<Self, CronError> {
        let text = text.trim();
        if text.is_empty() || text.chars().nth(MAX_SCHEDULE_CHARS).is_some() {
            return Err(schedule_error("The schedule is empty or too long"));
        }
        let named = tz.map(str::trim).filter(|name| !name.is_empty());
        if let Some(name) = named {
            find_zone(name)?;
        }
        let lower = text.to_lowercase();
        if let Some(rest) = lower.strip_prefix("every ") {
            return parse_interval(rest.trim());
        }
        let rest = lower.strip_prefix("in ").unwrap_or(&lower).trim();
        if let Some(seconds) = span::parse(rest) {
            let display = format!("once in {}", span::format(seconds));
            return Ok(Self::Once {
                run_at: add_seconds(truncate_to_second(now), seconds),
                display,
            });
        }
        if let Some((name, expr)) = zone_prefix(text) {
            return parse_cron(expr, Some(name));
        }
        if text.starts_with('@') || text.split_whitespace().count() >= 5 {
            return parse_cron(text, named);
        }
        let local = named.map(find_zone).transpose()?.unwrap_or_else(|| zone.clone());
        match stamp::parse_time(text, &local) {
            Some(run_at) if seconds_between(run_at, now) > MAX_PAST_SECONDS => {
                Err(schedule_error(&format!("'{text}' has passed")))
            }
            Some(run_at) => {
                let shown = run_at.to_zoned(local).strftime("once at %Y-%m-%d %H:%M").to_string();
                Ok(Self::Once { run_at, display: shown })
            }
            None => Err(schedule_error(&format!("'{text}' is not a schedule"))),
        }
    }

    /// Returns the schedule as text.
    pub fn display(&self) -> &str {
        match self {
            Self::Once { display, .. }
            | Self::Interval { display, .. }
            | Self::Cron { display, .. } => display,
        }
    }

    /// Whether it is a one-time schedule.
    pub fn is_once(&self) -> bool {
        matches!(self, Self::Once { .. })
    }

    /// Returns its time zone; `usual` is the fallback.
    pub(crate) fn zone(&self, usual: &TimeZone) -> Result<TimeZone, CronError> {
        match self {
            Self::Cron { tz: Some(name), .. } => find_zone(name),
            _ => Ok(usual.clone()),
        }
    }

    /// Returns the first slot after `after`. Intervals count from `base`, which
    /// was a slot.
    pub(crate) fn next(
        &self,
        base: Timestamp,
        after: Timestamp,
        usual: &TimeZone,
    ) -> Result<Option<Timestamp>, CronError> {
        Ok(match self {
            Self::Once { run_at, .. } => Some(*run_at).filter(|at| *at > after),
            Self::Interval { minutes, .. } => {
                let period = period_seconds(*minutes);
                let steps =
                    if after < base { 0 } else { seconds_between(base, after) / period + 1 };
                Some(add_seconds(base, steps.saturating_mul(period)))
            }
            Self::Cron { expr, .. } => {
                open_calendar(expr, self.zone(usual)?)?.next(truncate_to_second(after))
            }
        })
    }

    /// Returns the last `most` slots from `first`, itself a slot, to `now`,
    /// earliest first.
    pub(crate) fn passed_slots(
        &self,
        first: Timestamp,
        now: Timestamp,
        most: usize,
        usual: &TimeZone,
    ) -> Result<Vec<Timestamp>, CronError> {
        let mut slots = Vec::new();
        match self {
            Self::Once { .. } => {}
            Self::Interval { minutes, .. } => {
                let count = seconds_between(first, now) / period_seconds(*minutes);
                let from = count.saturating_sub(most.saturating_sub(1) as u64);
                slots.extend(
                    (from..=count).map(|n| add_seconds(first, n * period_seconds(*minutes))),
                );
            }
            Self::Cron { expr, .. } => {
                let calendar = open_calendar(expr, self.zone(usual)?)?;
                let mut slot = calendar.previous(truncate_to_second(now), true);
                while let Some(at) = slot.filter(|at| *at >= first && slots.len() < most) {
                    slots.push(at);
                    slot = calendar.previous(at, false);
                }
                slots.reverse();
            }
        }
        if slots.is_empty() {
            slots.push(first);
        }
        Ok(slots)
    }

    /// Whether the schedule has a slot at `at`. Time zone rules may have
    /// changed since the slot was computed.
    pub(crate) fn has_slot(&self, at: Timestamp, usual: &TimeZone) -> Result<bool, CronError> {
        match self {
            Self::Once { run_at, .. } => Ok(*run_at == at),
            Self::Interval { .. } => Ok(true),
            Self::Cron { .. } => {
                let before = Timestamp::from_second(at.as_second() - 1).unwrap_or(at);
                Ok(self.next(at, before, usual)? == Some(at))
            }
        }
    }

    /// Returns how late the run of a slot may be and still be on time: half the
    /// time to the next slot, within bounds.
    pub(crate) fn grace(&self, slot: Timestamp, usual: &TimeZone) -> Result<u64, CronError> {
        if self.is_once() {
            return Ok(ONCE_GRACE_SECONDS);
        }
        let next = self.next(slot, slot, usual)?;
        Ok(next
            .map_or(ONCE_GRACE_SECONDS, |next| (seconds_between(slot, next) / 2).clamp(120, 7_200)))
    }
}

fn parse_interval(rest: &str) -> Result<JobSchedule, CronError> {
    let seconds = span::unit_seconds(rest).or_else(|| span::parse(rest));
    match seconds {
        Some(seconds) if seconds >= 60 && seconds % 60 == 0 => Ok(JobSchedule::Interval {
            minutes: seconds / 60,
            display: format!("every {}", span::format(seconds)),
        }),
        Some(_) => Err(schedule_error("An interval must be a whole number of minutes, at least 1")),
        None => Err(schedule_error(&format!("'every {rest}' is not an interval"))),
    }
}

/// Converts an interval to seconds, clamped because a jobs file may contain 0.
fn period_seconds(minutes: u64) -> u64 {
    minutes.clamp(1, 10 * 366 * 1_440) * 60
}

fn parse_cron(expr: &str, tz: Option<&str>) -> Result<JobSchedule, CronError> {
    let zone = tz.map(find_zone).transpose()?.unwrap_or(TimeZone::UTC);
    let calendar = open_calendar(expr, zone)?;
    let Some(mut slot) = calendar.next(Timestamp::UNIX_EPOCH) else {
        return Err(schedule_error(&format!("'{expr}' never comes")));
    };
    for _ in 0..CHECKED_SLOTS {
        let Some(next) = calendar.next(slot) else { break };
        if seconds_between(slot, next) < 60 {
            return Err(schedule_error(&format!("'{expr}' occurs more often than once a minute")));
        }
        slot = next;
    }
    let display = match tz {
        Some(name) => format!("{expr} ({name})"),
        None => expr.to_owned(),
    };
    Ok(JobSchedule::Cron { expr: expr.to_owned(), tz: tz.map(str::to_owned), display })
}

/// Splits off a crontab-style `CRON_TZ=` or `TZ=` prefix.
fn zone_prefix(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ="))?;
    let (name, expr) = rest.split_once(char::is_whitespace)?;
    Some((name, expr.trim()))
}

fn open_calendar(expr: &str, zone: TimeZone) -> Result<CronCalendar, CronError> {
    CronCalendar::new(expr, zone)
        .map_err(|reason| schedule_error(&format!("'{expr}' is not a cron expression: {reason}")))
}

pub(crate) fn find_zone(name: &str) -> Result<TimeZone, CronError> {
    TimeZone::get(name).map_err(|_| {
        CronError::Schedule(format!(
            "Unknown time zone '{name}'; use a name such as Europe/Berlin or UTC"
        ))
    })
}

fn schedule_error(what: &str) -> CronError {
    CronError::Schedule(format!("{what}. {SCHEDULE_FORMS_HELP}"))
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
