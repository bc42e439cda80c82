//! What confines a job, and what it blocked.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use hermes_core::{Confinement, WorkingDir};
use hermes_sandbox::host_ports;
use schemars::JsonSchema;
use serde::Serialize;

use crate::network::{RefusedConnection, SessionNetwork};

/// Blocked operations reported per job.
const MAX_REPORTED_STOPS: usize = 5;

/// Bytes at the end of the output that are searched for refusals.
const MAX_SEARCHED_BYTES: usize = 64 * 1024;

/// What programs print when the system refuses an operation.
const REFUSAL_MESSAGES: &[&str] = &[
    "read-only file system",
    "erofs",
    "permission denied",
    "permissiondenied",
    "permissionerror",
    "eacces",
    "operation not permitted",
    "eperm",
];

/// What they print when a connection fails.
const UNREACHABLE_MESSAGES: &[&str] = &[
    "connection refused",
    "econnrefused",
    "connectionrefused",
    "network is unreachable",
    "enetunreach",
];

/// What they print when they hit a limit.
const LIMIT_MESSAGES: &[(&str, &str)] = &[
    ("cannot allocate memory", "memory"),
    ("memoryerror", "memory"),
    ("enomem", "memory"),
    ("out of memory", "memory"),
    ("file size limit exceeded", "file_size"),
    ("file too large", "file_size"),
    ("efbig", "file_size"),
    ("resource temporarily unavailable", "processes"),
];

/// What confines a job.
#[derive(Debug)]
pub struct JobContainment {
    /// The mechanisms, in words.
    pub summary: String,
    /// The sandbox rules; `None` if another backend confines the job.
    pub confinement: Option<Arc<Confinement>>,
    /// The network that it shares with its session.
    pub network: Option<Arc<SessionNetwork>>,
}

/// Something that the sandbox blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SandboxStop {
    /// What was blocked: a path, a host or a limit.
    pub what: String,
    /// The rule that blocked it.
    pub rule: String,
    /// How to allow it.
    pub allow: String,
    /// The path that would have to be opened, if any.
    #[serde(skip)]
    pub path: Option<PathBuf>,
}

impl JobContainment {
    /// Creates a containment of which only the description is known.
    pub fn from_summary(summary: String) -> Self {
        Self { summary, confinement: None, network: None }
    }

    /// Returns what was blocked since `since`.
    pub(crate) fn stops(
        &self,
        since: Instant,
        has_failed: bool,
        output: &str,
        directory: &Path,
    ) -> Vec<SandboxStop> {
        let mut stops: Vec<SandboxStop> = Vec::new();
        let refused = self.network.iter().flat_map(|network| network.refused_since(since));
        stops.extend(refused.map(|refused| network_stop(&refused)));
        if let Some(confinement) = self.confinement.as_ref().filter(|_| has_failed) {
            let start = output.len().saturating_sub(MAX_SEARCHED_BYTES);
            let start = (start..output.len()).find(|at| output.is_char_boundary(*at));
            let output = output.get(start.unwrap_or_default()..).unwrap_or_default();
            for line in output.lines() {
                stops.extend(file_stop(line, confinement, directory));
                stops.extend(limit_stop(line, confinement));
                stops.extend(self.port_stop(line, confinement));
            }
        }
        let mut reported: Vec<SandboxStop> = Vec::new();
        for stop in stops {
            if !reported.iter().any(|known| known.what == stop.what)
                && reported.len() < MAX_REPORTED_STOPS
            {
                reported.push(stop);
            }
        }
        reported
    }

    /// A service of this machine that a program tried to reach on its own loopback.
    fn port_stop(&self, line: &str, confinement: &Confinement) -> Option<SandboxStop> {
        let lower = line.to_lowercase();
        if self.network.is_none() || !UNREACHABLE_MESSAGES.iter().any(|word| lower.contains(word)) {
            return None;
        }
        let numbers = line.split(|sign: char| !sign.is_ascii_digit());
        let ports = numbers.filter_map(|number| number.parse::<u16>().ok()).filter(|it| *it > 0);
        let open = host_ports();
        let is_outside = |port: &u16| open.contains(port) && !confinement.host_ports.contains(port);
        let port = ports.into_iter().find(is_outside)?;
        Some(SandboxStop {
            what: format!("127.0.0.1:{port} of this machine"),
            rule: "sandbox: the session has its own loopback interface".to_owned(),
            allow: format!("sandbox: {{host_ports: [{port}]}} in config.yaml or the profile"),
            path: None,
        })
    }
}

fn network_stop(refused: &RefusedConnection) -> SandboxStop {
    let request = &refused.request;
    let who = request.client.as_ref().map_or("A process", |client| client.name());
    let reason = &refused.refusal.reason;
    let what = match reason.contains(&request.destination.host) {
        true => reason.clone(),
        false => format!("{who} to {}: {reason}", request.destination),
    };
    SandboxStop {
        what,
        rule: refused.refusal.rule.clone(),
        allow: refused.refusal.allow.clone(),
        path: None,
    }
}

fn limit_stop(line: &str, confinement: &Confinement) -> Option<SandboxStop> {
    let lower = line.to_lowercase();
    let (_, limit) = LIMIT_MESSAGES.iter().find(|(word, _)| lower.contains(word))?;
    let limits = &confinement.limits;
    let value = match *limit {
        "memory" => limits.memory.or(limits.private_memory),
        "file_size" => limits.file_size,
        _ => limits.processes,
    }?;
    Some(SandboxStop {
        what: format!("the limit {limit} = {value}"),
        rule: format!("sandbox: {limit}"),
        allow: format!("sandbox: {{{limit}: …}} in the profile, with a larger value"),
        path: None,
    })
}

/// The path in an error line, if the sandbox refused access to it.
fn file_stop(line: &str, confinement: &Confinement, directory: &Path) -> Option<SandboxStop> {
    let lower = line.to_lowercase();
    if !REFUSAL_MESSAGES.iter().any(|word| lower.contains(word)) {
        return None;
    }
    mentioned_paths(line, directory).into_iter().find_map(|path| refused_path(&path, confinement))
}

fn refused_path(path: &Path, confinement: &Confinement) -> Option<SandboxStop> {
    let shown = path.display();
    let is_below = |trees: &[PathBuf]| trees.iter().any(|tree| path.starts_with(tree));
    let stop = |what: String, rule: &str, allow: String, path: Option<PathBuf>| {
        Some(SandboxStop { what, rule: rule.to_owned(), allow, path })
    };
    let is_closed = confinement.partial_dirs.iter().any(|view| {
        path.starts_with(&view.dir)
            && path != view.dir
            && !view.open.iter().any(|open| path.starts_with(open))
    });
    if is_below(&confinement.hidden) || is_closed && path.exists() {
        let allow = format!("sensitive_paths: [\"{shown}\"] in the profile");
        return stop(format!("reading {shown}"), "protected path", allow, None);
    }
    let protected =
        [&confinement.read_only, &confinement.frozen_nested, &confinement.masked_missing];
    if protected.into_iter().any(|trees| is_below(trees)) {
        let allow = format!("sensitive_paths: [\"{shown}\"] in the profile");
        return stop(format!("writing {shown}"), "protected path", allow, None);
    }
    let overlaid = confinement.overlays.iter().any(|it| path.starts_with(&it.target));
    if is_below(&confinement.write) || overlaid || is_system_path(path) {
        return None;
    }
    let parent = path.parent().unwrap_or(path);
    let allow = format!(
        "file:write and file:delete with allowed_paths: [\"{}/**\"] in the profile, or approve when \
         asked",
        parent.display()
    );
    let rule = "sandbox: commands write only in the workspace and the temporary directories";
    stop(format!("writing {shown}"), rule, allow, Some(path.to_owned()))
}

/// Whether the user could not write there even without the sandbox, or no part
/// of the path exists.
fn is_system_path(path: &Path) -> bool {
    const SYSTEM_DIRS: &[&str] =
        &["/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr"];
    if SYSTEM_DIRS.iter().any(|place| path.starts_with(place)) {
        return true;
    }
    let above = path.ancestors().find(|path| path.exists());
    let above = above.filter(|path| path.parent().is_some());
    let can_write = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    above.is_none_or(|path| !can_write(path))
}

/// The paths that a line may mention, quoted ones first.
fn mentioned_paths(line: &str, directory: &Path) -> Vec<PathBuf> {
    let mut words: Vec<&str> = Vec::new();
    for quote in ['\'', '"', '`', '‘', '“'] {
        let end = match quote {
            '‘' => '’',
            '“' => '”',
            other => other,
        };
        let mut rest = line;
        while let Some((_, after)) = rest.split_once(quote) {
            let Some((inner, behind)) = after.split_once(end) else { break };
            words.push(inner);
            rest = behind;
        }
    }
    let is_edge = |sign: char| sign.is_whitespace() || matches!(sign, '(' | ')' | ',' | ';');
    let is_mark = |sign| matches!(sign, ':' | '\'' | '"' | '`' | '‘' | '’');
    words.extend(line.split(is_edge).map(|word| word.trim_end_matches('.').trim_matches(is_mark)));
    let at = WorkingDir::new(directory, None);
    let home = std::env::home_dir();
    let path = |word: &str| {
        let word = word.strip_prefix("file://").unwrap_or(word);
        if let (Some(rest), Some(home)) = (word.strip_prefix("~/"), &home) {
            return Some(home.join(rest));
        }
        let is_path = word.len() > 1 && (word.starts_with('/') || word.contains('/'));
        is_path.then(|| at.normalize(Path::new(word)))
    };
    words.into_iter().filter_map(path).collect()
}

#[cfg(test)]
#[path = "containment_tests.rs"]
mod tests;
