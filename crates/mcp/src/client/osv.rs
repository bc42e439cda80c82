//! Packages that are known to be harmful are not started. Who cannot ask,
//! because there is no network, starts them as ever.

use std::path::Path;
use std::time::Duration;

use hermes_core::ToolError;
use serde_json::{Value, json};

use super::plain::excerpt;
use super::server::Server;
use super::settings::Link;
use super::tls::TlsSettings;
use super::{digest, http};

/// How long the question may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long an answer holds.
const AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest answer.
const LONGEST: usize = 4 * 1024 * 1024;

/// A package that a command would fetch and run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) ecosystem: &'static str,
    pub(crate) version: Option<String>,
}

/// An error if the server is a package that is known to be harmful.
pub(crate) async fn check(server: &Server) -> Result<(), ToolError> {
    let Link::Program { command, args, .. } = &server.settings().link else { return Ok(()) };
    let (Some(package), Some(url)) = (Package::of(command, args), &server.shared().osv) else {
        return Ok(());
    };
    let question = package.question();
    let file = server.shared().verdicts.join(format!("{}.json", digest::of_json(&question)));
    let harm = match remembered(&file) {
        Some(harm) => harm,
        None => {
            let asked = tokio::time::timeout(PATIENCE, ask(url, &question)).await;
            // Offline is no reason to do without a server.
            let Ok(Some(harm)) = asked else {
                server.note(format!(
                    "Whether the package {} is known to be harmful could not be looked up: {url} \
                     does not answer",
                    package.name
                ));
                return Ok(());
            };
            remember(&file, &harm);
            harm
        }
    };
    if harm.is_empty() {
        return Ok(());
    }
    Err(ToolError::denied(format!(
        "The MCP server '{}' is not started: the package {} is known to be harmful ({})",
        server.name(),
        package.name,
        harm.join("; ")
    ))
    .with_hint("Remove the server; do not try to get around this."))
}

fn remembered(file: &Path) -> Option<Vec<String>> {
    let age = file.metadata().ok()?.modified().ok()?.elapsed().ok()?;
    if age > AGE {
        return None;
    }
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

fn remember(file: &Path, harm: &[String]) {
    let Some(folder) = file.parent() else { return };
    let Ok(bytes) = serde_json::to_vec(harm) else { return };
    let _ = std::fs::create_dir_all(folder)
        .and_then(|()| hermes_store::atomic::write_atomic(file, &bytes, 0o600));
}

/// What is known against it; none if nobody answers.
async fn ask(url: &str, question: &Value) -> Option<Vec<String>> {
    let client = http::client(&TlsSettings::default()).ok()?;
    let mut answer = client.post(url).json(question).send().await.ok()?;
    if !answer.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.ok()? {
        if body.len() + piece.len() > LONGEST {
            return None;
        }
        body.extend_from_slice(&piece);
    }
    let answer: Value = serde_json::from_slice(&body).ok()?;
    let known = answer.get("vulns").and_then(Value::as_array).cloned().unwrap_or_default();
    let told = known.iter().filter_map(|it| {
        // Others are flaws, and everything has flaws.
        let id = it.get("id")?.as_str()?.strip_prefix("MAL-")?;
        let summary = it.get("summary").and_then(Value::as_str).unwrap_or_default();
        Some(excerpt(&format!("MAL-{id} {summary}"), 120))
    });
    Some(told.take(3).collect())
}

impl Package {
    /// The package that a command fetches and runs, if it is such a command.
    pub(crate) fn of(command: &str, args: &[String]) -> Option<Self> {
        let program = command.rsplit(['/', '\\']).next().unwrap_or(command);
        let program = program.strip_suffix(".cmd").or_else(|| program.strip_suffix(".exe"));
        let program =
            program.unwrap_or_else(|| command.rsplit(['/', '\\']).next().unwrap_or(command));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        match (program, args.as_slice()) {
            ("npx" | "bunx", rest) => npm(rest),
            ("npm", ["exec" | "x", rest @ ..]) => npm(rest),
            ("pnpm" | "yarn", ["dlx", rest @ ..]) => npm(rest),
            ("bun", ["x", rest @ ..]) => npm(rest),
            ("uvx", rest) => pypi(rest, &["--from"], &UV),
            ("uv", ["tool", "run", rest @ ..]) => pypi(rest, &["--from"], &UV),
            ("pipx", ["run", rest @ ..]) => pypi(rest, &["--spec"], &PIPX),
            _ => None,
        }
    }

    fn question(&self) -> Value {
        let package = json!({"name": self.name, "ecosystem": self.ecosystem});
        match &self.version {
            Some(version) => json!({"package": package, "version": version}),
            None => json!({"package": package}),
        }
    }
}

/// Options that are followed by a value.
const NPM: [&str; 6] = ["-c", "--call", "--cache", "--registry", "--userconfig", "-w"];
const UV: [&str; 16] = [
    "--python",
    "-p",
    "--with",
    "--with-editable",
    "--with-requirements",
    "--index",
    "--index-url",
    "-i",
    "--extra-index-url",
    "--find-links",
    "-f",
    "--directory",
    "--project",
    "--cache-dir",
    "--config-file",
    "--env-file",
];
const PIPX: [&str; 4] = ["--python", "--pip-args", "--index-url", "--fetch-missing-python"];

/// The value of one of these options, or the first argument that is none.
fn wanted<'a>(args: &[&'a str], naming: &[&str], valued: &[&str]) -> Option<&'a str> {
    let mut first = None;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let (option, value) = arg.split_once('=').map_or((*arg, None), |(o, v)| (o, Some(v)));
        if naming.contains(&option) {
            return value.or_else(|| args.next().copied());
        }
        if *arg == "--" {
            return first.or_else(|| args.next().copied());
        }
        if !arg.starts_with('-') {
            // What comes after it is for the program.
            first = Some(*arg);
            break;
        }
        if value.is_none() && valued.contains(&option) {
            args.next();
        }
    }
    first
}

fn npm(args: &[&str]) -> Option<Package> {
    let spec = wanted(args, &["--package", "-p"], &NPM)?;
    if spec.contains("://")
        || spec.starts_with(['.', '/'])
        || spec.starts_with("git") && spec.contains(':')
    {
        return None;
    }
    // A scope begins with the sign that also begins a version.
    let at = spec.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
    let (name, version) = match at {
        Some(at) => (&spec[..at], Some(&spec[at + 1..])),
        None => (spec, None),
    };
    let is_exact = |it: &&str| it.starts_with(|c: char| c.is_ascii_digit());
    let version = version.filter(is_exact).map(str::to_owned);
    Some(Package { name: name.to_owned(), ecosystem: "npm", version })
}

fn pypi(args: &[&str], naming: &[&str], valued: &[&str]) -> Option<Package> {
    let spec = wanted(args, naming, valued)?;
    if spec.contains("://") || spec.starts_with(['.', '/']) {
        return None;
    }
    let name = spec.split(['[', '=', '<', '>', '!', '~', '@', ';', ' ']).next().unwrap_or_default();
    let version = spec
        .split_once("==")
        .map(|(_, version)| version.trim())
        .or_else(|| spec.split_once('@').map(|(_, version)| version.trim()));
    let is_exact = |it: &&str| it.starts_with(|c: char| c.is_ascii_digit()) && !it.contains('*');
    let version = version.filter(is_exact).map(str::to_owned);
    (!name.is_empty()).then(|| Package { name: name.to_lowercase(), ecosystem: "PyPI", version })
}

#[cfg(test)]
#[path = "osv_tests.rs"]
mod tests;
