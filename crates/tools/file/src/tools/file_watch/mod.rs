//! `file_watch`: waits for file changes, without missing any between two calls.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use hermes_core::{
    Effect, JsonSchema, Scope, Tool, ToolContext, ToolError, ToolExample, ToolSpec, WorkingDir,
};
use hermes_files::FileAccess;
use serde::{Deserialize, Serialize};

use crate::blocking::off_thread;
use crate::path_text;

mod changes;
mod cursors;
mod event_source;
mod parked;
mod snapshot;
mod watcher;

use changes::{WatchChange, WatchEvent};
use cursors::WatchCursors;
use watcher::TreeWatcher;

/// Maximum wait, in seconds.
const MAX_WAIT_SECS: u64 = 3600;
/// Extra time beyond the wait, for the scans before and after.
const TIMEOUT_SLACK: Duration = Duration::from_secs(60);
/// Part of the call's time reserved for the result.
const ANSWER_RESERVE: Duration = Duration::from_millis(500);
/// Maximum number of events in a result.
const MAX_EVENTS: usize = 1000;
/// Maximum number of unreadable directories reported.
const MAX_UNREADABLE_NAMES: usize = 20;
/// Poll interval where the system reports no events.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum number of debounce periods while changes continue.
const MAX_DEBOUNCE_ROUNDS: u32 = 20;

#[derive(Debug, Default)]
pub(crate) struct FileWatch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = crate::schema_trim::omit_empty_defaults)]
pub(crate) struct Args {
    /// Files and directories to watch; may not exist yet.
    #[serde(default = "here")]
    #[schemars(length(min = 1, max = 64))]
    paths: Vec<String>,
    /// Globs on the name, or on the path below `paths` if they have a `/`.
    #[serde(default)]
    patterns: Vec<String>,
    /// Kinds of events to wait for; all by default.
    #[serde(default)]
    events: Vec<WatchEvent>,
    /// Seconds to wait; 0 reports changes since the cursor and returns one.
    #[serde(default = "usual_wait")]
    #[schemars(range(max = 3600))]
    timeout: u64,
    /// Milliseconds without changes before reporting one.
    #[serde(default = "usual_quiet")]
    #[schemars(range(max = 60_000))]
    debounce: u64,
    /// Watch subdirectories too.
    #[serde(default = "yes")]
    recursive: bool,
    /// Skip what git ignores.
    #[serde(default = "yes")]
    gitignore: bool,
    /// Events to return, at most 1000; the rest comes with the next call.
    #[serde(default = "usual_events")]
    #[schemars(range(min = 1))]
    max_events: u64,
    /// Cursor of an earlier result: report changes since then.
    since: Option<String>,
}

fn here() -> Vec<String> {
    vec![".".to_owned()]
}

fn usual_wait() -> u64 {
    30
}

fn usual_quiet() -> u64 {
    200
}

fn usual_events() -> u64 {
    100
}

fn yes() -> bool {
    true
}

#[derive(Debug, Serialize)]
pub(crate) struct Output {
    events: Vec<ReportedEvent>,
    /// Number of events, returned or not.
    total: u64,
    truncated: bool,
    /// Whether the wait ended without events.
    timed_out: bool,
    /// Where to continue: pass it as `since`.
    cursor: String,
    /// `inotify` or `polling`.
    watching: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// The first directories that cannot be watched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// One event of a result.
#[derive(Debug, Serialize)]
struct ReportedEvent {
    event: WatchEvent,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Whether it happened between two calls.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    while_away: bool,
}

/// A parsed request with resolved paths.
#[derive(Debug)]
pub(crate) struct WatchRequest {
    roots: Vec<PathBuf>,
    recursive: bool,
    gitignore: bool,
    names: GlobSet,
    paths: GlobSet,
    events: Vec<WatchEvent>,
    max_events: usize,
}

impl Tool for FileWatch {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        ToolSpec::new("file_watch", "file")
            .emoji("👀")
            .description(
                "Wait until files are created, modified, deleted or renamed. Pass the returned \
                 cursor as since to miss nothing between calls.",
            )
            .alias("watch_files")
            .parameter_alias("path", "paths")
            .parameter_alias("directory", "paths")
            .parameter_alias("dir", "paths")
            .parameter_alias("folder", "paths")
            .parameter_alias("files", "paths")
            .parameter_alias("pattern", "patterns")
            .parameter_alias("glob", "patterns")
            .parameter_alias("globs", "patterns")
            .parameter_alias("include", "patterns")
            .parameter_alias("event_types", "events")
            .parameter_alias("kinds", "events")
            .parameter_alias("timeout_seconds", "timeout")
            .parameter_alias("wait", "timeout")
            .parameter_alias("debounce_ms", "debounce")
            .parameter_alias("respect_gitignore", "gitignore")
            .parameter_alias("limit", "max_events")
            .parameter_alias("cursor", "since")
            .read_only()
            .timeout(Duration::from_secs(MAX_WAIT_SECS) + TIMEOUT_SLACK)
            .keyword("monitor")
            .keyword("inotify")
            .keyword("changes")
            .keyword("wait")
            .keyword("reload")
            .keyword("tail")
            .example(
                ToolExample::new("Take a cursor now", r#"{"paths":["src"],"timeout":0}"#)
                    .file("src/main.rs", "fn main() {}\n")
                    .expects(r#"{"events":[],"total":0,"truncated":false}"#),
            )
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        args.paths
            .iter()
            .map(|path| Effect::path(Scope::FILE_READ, path_text::resolve(at, path)))
            .collect()
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        for path in &args.paths {
            FileAccess::new(cx)
                .check_trailing_slash(path, &path_text::resolve(&cx.working_dir, path))?;
        }
        let request = Arc::new(WatchRequest::new(&args, &cx.working_dir)?);
        let mut wait = Duration::from_secs(args.timeout.min(MAX_WAIT_SECS));
        if let Some(left) = cx.remaining() {
            wait = wait.min(left.saturating_sub(ANSWER_RESERVE));
        }
        let end = Instant::now() + wait;
        let quiet = Duration::from_millis(args.debounce);
        let asked = Arc::clone(&request);
        let since = args.since.clone();
        let (mut lookout, mut found) =
            off_thread(cx, move |cx| start_watch(asked, since.as_deref(), cx)).await?;
        let while_away = !found.is_empty();
        while found.is_empty() && Instant::now() < end {
            if !cx.run_until_cancelled(lookout.wait(end)).await? {
                break;
            }
            debounce(&lookout, quiet, end, cx).await?;
            (lookout, found) = off_thread(cx, move |cx| {
                let found = lookout.poll(cx)?;
                Ok((lookout, found))
            })
            .await?;
        }
        let mut shown =
            off_thread(cx, move |cx| answer(&request, lookout, found, while_away, cx)).await?;
        shown.timed_out = shown.total == 0 && args.timeout > 0;
        parked::drop_expired_later();
        Ok(shown)
    }
}

/// Scans the tree and returns the changes since the cursor.
fn start_watch(
    request: Arc<WatchRequest>,
    since: Option<&str>,
    cx: &ToolContext,
) -> Result<(TreeWatcher, Vec<WatchChange>), ToolError> {
    parked::drop_expired();
    let Some(cursor) = since else { return Ok((TreeWatcher::start(request, cx)?, Vec::new())) };
    let before = WatchCursors::find(cx, cursor, &request)?;
    if let Some(lookout) = parked::take(cx, cursor) {
        let mut lookout = lookout.resume(request);
        let found = lookout.poll(cx)?;
        return Ok((lookout, found));
    }
    let lookout = TreeWatcher::start(request, cx)?;
    let found = lookout.compare(&before);
    Ok((lookout, found))
}

/// Waits until no event has arrived for `quiet`.
async fn debounce(
    lookout: &TreeWatcher,
    quiet: Duration,
    end: Instant,
    cx: &ToolContext,
) -> Result<(), ToolError> {
    let timeout = (Instant::now() + quiet * MAX_DEBOUNCE_ROUNDS).min(end);
    loop {
        let still = Instant::now() + quiet;
        let until = still.min(timeout);
        let stirred = cx.run_until_cancelled(lookout.wait_for_event(until)).await?;
        if !stirred || Instant::now() >= timeout {
            return Ok(());
        }
    }
}

fn answer(
    request: &WatchRequest,
    mut lookout: TreeWatcher,
    mut found: Vec<WatchChange>,
    while_away: bool,
    cx: &ToolContext,
) -> Result<Output, ToolError> {
    let total = found.len();
    let later = found.split_off(total.min(request.max_events));
    let truncated = !later.is_empty();
    lookout.defer(&later);
    let (watching, missing) = (lookout.backend_name(), lookout.missing().to_vec());
    let closed = lookout.unreadable().to_vec();
    let cursor = WatchCursors::save(cx, request, lookout.state())?;
    parked::park(cx, &cursor, lookout);
    let mut hints = Vec::new();
    if truncated {
        hints.push(format!(
            "{} of {total} events; call again with since to get the rest.",
            found.len()
        ));
    } else if !missing.is_empty() {
        hints.push("Some paths do not exist; they are reported when they appear.".to_owned());
    }
    match closed.len() {
        0 => {}
        1 => hints.push("Changes in an unreadable directory are not detected.".to_owned()),
        many => hints.push(format!("Changes in {many} unreadable directories are not detected.")),
    }
    let word = |path: &PathBuf| path_text::display_relative(path, &cx.working_dir);
    Ok(Output {
        events: found
            .iter()
            .map(|change| ReportedEvent::from_change(change, while_away, &cx.working_dir))
            .collect(),
        total: total as u64,
        truncated,
        timed_out: false,
        cursor,
        watching,
        missing: missing.iter().map(word).collect(),
        unreadable: closed.iter().take(MAX_UNREADABLE_NAMES).map(word).collect(),
        hint: (!hints.is_empty()).then(|| hints.join(" ")),
    })
}

impl WatchRequest {
    fn new(args: &Args, at: &WorkingDir) -> Result<Self, ToolError> {
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let wrong = |glob: &str, error: &globset::Error| {
            ToolError::invalid(format!("{glob:?} is not a valid glob: {error}"))
                .with_hint("For example: *.rs, src/**, {a,b}*.txt")
        };
        for glob in &args.patterns {
            let written = glob.strip_prefix("./").unwrap_or(glob);
            let built = GlobBuilder::new(written).literal_separator(true).build();
            let built = built.map_err(|error| wrong(glob, &error))?;
            if written.contains('/') {
                paths.add(built)
            } else {
                names.add(built)
            };
        }
        let all = || args.patterns.join(", ");
        let mut roots: Vec<PathBuf> =
            args.paths.iter().map(|path| path_text::resolve(at, path)).collect();
        roots.sort();
        roots.dedup();
        Ok(Self {
            roots,
            recursive: args.recursive,
            gitignore: args.gitignore,
            names: names.build().map_err(|error| wrong(&all(), &error))?,
            paths: paths.build().map_err(|error| wrong(&all(), &error))?,
            events: args.events.clone(),
            max_events: usize::try_from(args.max_events).unwrap_or(MAX_EVENTS).clamp(1, MAX_EVENTS),
        })
    }

    /// Whether the event kind is requested.
    fn wants(&self, event: WatchEvent) -> bool {
        self.events.is_empty() || self.events.contains(&event)
    }

    /// Whether the path matches the patterns.
    fn matches(&self, path: &std::path::Path) -> bool {
        if self.names.is_empty() && self.paths.is_empty() {
            return true;
        }
        let by_name = || path.file_name().is_some_and(|name| self.names.is_match(name));
        let by_path = || {
            let below = self.roots.iter().filter_map(|root| path.strip_prefix(root).ok());
            below.into_iter().any(|below| self.paths.is_match(below))
        };
        by_name() || by_path()
    }
}

impl ReportedEvent {
    fn from_change(change: &WatchChange, while_away: bool, at: &WorkingDir) -> Self {
        let path = path_text::display_relative(&change.path, at);
        let from = change.from.as_ref().map(|from| path_text::display_relative(from, at));
        let is_rename = change.event == WatchEvent::Rename;
        Self {
            event: change.event,
            to: is_rename.then(|| path.clone()),
            path: (!is_rename).then_some(path),
            from,
            kind: change.stamp().kind.name(),
            size: change.size(),
            while_away,
        }
    }
}
