//! Waiting: for a while, until a time, or until a file changes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use hermes_core::{
    Effect, ErrorKind, Example, JsonSchema, Scope, Tool, ToolContext, ToolError, ToolSpec,
    Workplace,
};
use hermes_files::Files;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::blocking::blocking;
use crate::moment;

const LONGEST: Duration = Duration::from_secs(3_600);
/// Leaves the longest wait room to end by itself.
const TIMEOUT: Duration = Duration::from_secs(3_700);
const TICK: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(200);

#[derive(Debug, Default)]
pub(crate) struct Sleep;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// How long; with until_file, at most how long.
    #[schemars(range(max = 3600), extend("exclusiveMinimum" = 0))]
    seconds: Option<f64>,
    /// Instead: until this time, RFC 3339 or HH:MM local, at most an hour away.
    until: Option<String>,
    /// Wake early when this path appears, changes or goes away.
    until_file: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Awake {
    slept_seconds: f64,
    woke: Cause,
    /// What became of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Cause {
    Elapsed,
    File,
}

impl Tool for Sleep {
    type Args = Args;
    type Output = Awake;

    fn spec() -> ToolSpec {
        ToolSpec::new("sleep", "system")
            .emoji("😴")
            .description("Wait for some seconds, until a time, or until a file changes.")
            .alias("wait")
            .parameter_alias("duration", "seconds")
            .parameter_alias("duration_seconds", "seconds")
            .parameter_alias("time", "seconds")
            .parameter_alias("path", "until_file")
            .read_only()
            .timeout(TIMEOUT)
            .keyword("delay")
            .keyword("pause")
            .keyword("poll")
            .keyword("watch file")
            .example(
                Example::new("Wait a moment", r#"{"seconds":0.05}"#).gives(r#"{"woke":"elapsed"}"#),
            )
            .example(
                Example::new(
                    "Wait for a file, but not for long",
                    r#"{"until_file":"done","seconds":0.05}"#,
                )
                .gives(r#"{"woke":"elapsed","reason":"missing"}"#),
            )
    }

    fn effects(&self, args: &Args, at: &Workplace) -> Vec<Effect> {
        let watched = args.until_file.as_deref();
        watched.map(|path| Effect::path(Scope::FILE_READ, at.resolve(path))).into_iter().collect()
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Awake, ToolError> {
        let end = End::of(&args, cx)?;
        let mut watch = match &args.until_file {
            Some(path) => Some(Watch::start(cx.workplace.resolve(path), cx).await?),
            None => None,
        };
        let pace = if watch.is_some() { POLL } else { TICK };
        let mut reported: Option<Instant> = None;
        loop {
            let left = end.left();
            if left.is_zero() {
                let reason = watch.as_ref().map(Watch::idle);
                return Ok(end.awake(Cause::Elapsed, reason));
            }
            if reported.is_none_or(|at| at.elapsed() >= TICK) {
                reported = Some(Instant::now());
                end.report(left, cx);
            }
            cx.race(tokio::time::sleep(left.min(pace))).await?;
            if let Some(watch) = &mut watch
                && let Some(reason) = watch.look(cx).await?
            {
                return Ok(end.awake(Cause::File, Some(reason)));
            }
        }
    }
}

/// When the wait is over.
#[derive(Debug)]
struct End {
    begin: Instant,
    length: Duration,
    /// A time on the wall is looked up anew at each tick, since the clock may
    /// be set and the machine may sleep too.
    at: Option<Timestamp>,
}

impl End {
    fn of(args: &Args, cx: &ToolContext) -> Result<Self, ToolError> {
        let begin = Instant::now();
        let at = args.until.as_deref().map(moment::parse).transpose()?;
        let length = match (args.seconds, at) {
            (Some(_), Some(_)) => {
                return Err(ToolError::invalid(
                    "'seconds' and 'until' exclude each other; give one",
                ));
            }
            (Some(seconds), None) => length(seconds)?,
            (None, Some(at)) => until(at),
            (None, None) if args.until_file.is_some() => {
                let patience = cx.remaining().map(|left| left.saturating_sub(TICK));
                patience.map_or(LONGEST, |patience| patience.min(LONGEST))
            }
            (None, None) => {
                return Err(ToolError::invalid("Nothing to wait for")
                    .with_hint("Give 'seconds', 'until' or 'until_file'."));
            }
        };
        if length > LONGEST {
            return Err(ToolError::limit(format!(
                "That is {} s away; the longest wait is {} s",
                length.as_secs(),
                LONGEST.as_secs()
            ))
            .with_hint("Wait in several steps, or schedule a job for that time."));
        }
        if let Some(left) = cx.remaining().filter(|left| *left < length) {
            return Err(ToolError::limit(format!(
                "The wait of {:.1} s does not fit into the {:.1} s that this call may take",
                length.as_secs_f64(),
                left.as_secs_f64()
            ))
            .with_hint("Wait for less, or allow the call more time."));
        }
        Ok(Self { begin, length, at })
    }

    fn left(&self) -> Duration {
        match self.at {
            Some(at) => until(at),
            None => self.length.saturating_sub(self.begin.elapsed()),
        }
    }

    fn report(&self, left: Duration, cx: &ToolContext) {
        let whole = self.length.as_secs_f64();
        let fraction = (1.0 - left.as_secs_f64() / whole).clamp(0.0, 1.0);
        cx.report(Some(fraction), format!("{} s left", left.as_secs_f64().ceil()));
    }

    fn awake(&self, woke: Cause, reason: Option<&'static str>) -> Awake {
        let slept = self.begin.elapsed().as_secs_f64();
        Awake { slept_seconds: (slept * 1_000.0).round() / 1_000.0, woke, reason }
    }
}

fn length(seconds: f64) -> Result<Duration, ToolError> {
    if seconds > 0.0 && seconds <= LONGEST.as_secs_f64() {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(ToolError::invalid(format!(
        "'seconds' must be more than 0 and at most {}, not {seconds}",
        LONGEST.as_secs()
    )))
}

/// Nothing for a time that has passed.
fn until(at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(Timestamp::now())).unwrap_or_default()
}

/// A file that is looked at from time to time.
#[derive(Debug)]
struct Watch {
    path: PathBuf,
    seen: Option<Stamp>,
}

/// What tells one state of a file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
}

impl Watch {
    async fn start(path: PathBuf, cx: &ToolContext) -> Result<Self, ToolError> {
        let seen = stamp(&path, cx).await?;
        Ok(Self { path, seen })
    }

    /// What has become of the file since the last look, if anything.
    async fn look(&mut self, cx: &ToolContext) -> Result<Option<&'static str>, ToolError> {
        let now = stamp(&self.path, cx).await?;
        let reason = match (&self.seen, &now) {
            (None, Some(_)) => Some("appeared"),
            (Some(_), None) => Some("removed"),
            (before, after) if before != after => Some("changed"),
            _ => None,
        };
        self.seen = now;
        Ok(reason)
    }

    /// What the file is when nothing has become of it.
    fn idle(&self) -> &'static str {
        if self.seen.is_some() { "unchanged" } else { "missing" }
    }
}

async fn stamp(path: &Path, cx: &ToolContext) -> Result<Option<Stamp>, ToolError> {
    let (owned, own) = (path.to_owned(), cx.clone());
    let found = blocking(cx, move || {
        let files = Files::new(&own);
        if files.exists(&owned)? { files.metadata(&owned).map(Some) } else { Ok(None) }
    });
    match found.await? {
        Ok(found) => Ok(found.map(|f| Stamp { modified: f.modified, bytes: f.len })),
        // It went away between the two looks.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[path = "sleep_tests.rs"]
mod tests;
