//! Blocks servers whose packages are known malware, by querying OSV. Without a
//! network they start unchecked.

use std::path::Path;
use std::time::Duration;

use hermes_core::ToolError;
use serde_json::{Value, json};

use super::sanitize::excerpt;
use super::server::SupervisedServer;
use super::settings::ServerTransport;
use super::tls::TlsSettings;
use super::{digest, http};

/// Timeout of a query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a verdict is cached.
const CACHE_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum size of a response.
const MAX_RESPONSE_BYTES: usize = 4 * 1024 * 1024;

/// How many packages of a command are checked.
const MAX_PACKAGES: usize = 20;

/// How deep nested commands are searched.
const MAX_COMMAND_DEPTH: usize = 3;

/// A package that a command would fetch and run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FetchedPackage {
    pub(crate) name: String,
    pub(crate) ecosystem: &'static str,
    pub(crate) version: Option<String>,
}

/// Returns an error if the server fetches a package that is known malware.
pub(crate) async fn check_packages(server: &SupervisedServer) -> Result<(), ToolError> {
    let ServerTransport::Stdio { command, args, .. } = &server.settings().transport else {
        return Ok(());
    };
    let Some(url) = &server.shared().osv else { return Ok(()) };
    let packages = FetchedPackage::from_command(command, args);
    futures_util::future::try_join_all(packages.iter().map(|it| check_package(server, url, it)))
        .await?;
    Ok(())
}

async fn check_package(
    server: &SupervisedServer,
    url: &str,
    package: &FetchedPackage,
) -> Result<(), ToolError> {
    let question = package.osv_query();
    let file = server.shared().verdicts.join(format!("{}.json", digest::json_sha256(&question)));
    let harm = match cached_verdict(&file) {
        Some(harm) => harm,
        None => {
            let asked = tokio::time::timeout(QUERY_TIMEOUT, query_osv(url, &question)).await;
            // Servers must still start offline.
            let Ok(Some(harm)) = asked else {
                server.note(format!(
                    "The package {} could not be checked for malware: {url} does not respond",
                    package.name
                ));
                return Ok(());
            };
            cache_verdict(&file, &harm);
            harm
        }
    };
    if harm.is_empty() {
        return Ok(());
    }
    Err(ToolError::denied(format!(
        "The MCP server '{}' is not started: the package {} is known malware ({})",
        server.name(),
        package.name,
        harm.join("; ")
    ))
    .with_hint("Remove the server; do not try to bypass this check."))
}

fn cached_verdict(file: &Path) -> Option<Vec<String>> {
    let age = file.metadata().ok()?.modified().ok()?.elapsed().ok()?;
    if age > CACHE_MAX_AGE {
        return None;
    }
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

fn cache_verdict(file: &Path, harm: &[String]) {
    let Some(dir) = file.parent() else { return };
    let Ok(bytes) = serde_json::to_vec(harm) else { return };
    let _ = std::fs::create_dir_all(dir)
        .and_then(|()| hermes_store::atomic::write_atomic(file, &bytes, 0o600));
}

/// Returns the malware reports for a package; `None` without a response.
async fn query_osv(url: &str, question: &Value) -> Option<Vec<String>> {
    let client = http::build_client(&TlsSettings::default()).ok()?;
    let mut answer = client.post(url).json(question).send().await.ok()?;
    if !answer.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.ok()? {
        if body.len() + piece.len() > MAX_RESPONSE_BYTES {
            return None;
        }
        body.extend_from_slice(&piece);
    }
    let answer: Value = serde_json::from_slice(&body).ok()?;
    let known = answer.get("vulns").and_then(Value::as_array).cloned().unwrap_or_default();
    let shown = known.iter().filter_map(|it| {
        // Other ids are vulnerabilities, which do not block a package.
        let id = it.get("id")?.as_str()?.strip_prefix("MAL-")?;
        let summary = it.get("summary").and_then(Value::as_str).unwrap_or_default();
        Some(excerpt(&format!("MAL-{id} {summary}"), 120))
    });
    Some(shown.take(3).collect())
}

impl FetchedPackage {
    /// Returns the packages that a command fetches and runs.
    pub(crate) fn from_command(command: &str, args: &[String]) -> Vec<Self> {
        let words = std::iter::once(command).chain(args.iter().map(String::as_str)).collect();
        let mut found = Vec::new();
        find_packages(words, MAX_COMMAND_DEPTH, &mut found);
        found.dedup();
        found.truncate(MAX_PACKAGES);
        found
    }

    fn osv_query(&self) -> Value {
        let package = json!({"name": self.name, "ecosystem": self.ecosystem});
        match &self.version {
            Some(version) => json!({"package": package, "version": version}),
            None => json!({"package": package}),
        }
    }
}

/// Finds packages in the words of a command.
fn find_packages(words: Vec<&str>, levels: usize, into: &mut Vec<FetchedPackage>) {
    let Some((first, args)) = words.split_first() else { return };
    let program = first.rsplit(['/', '\\']).next().unwrap_or(first);
    let program = program.strip_suffix(".cmd").or(program.strip_suffix(".exe")).unwrap_or(program);
    // Programs with subcommands accept options before them.
    let args = match program {
        "npm" | "pnpm" | "yarn" | "bun" => skip_options(args, &NPM_OPTIONS),
        "uv" => skip_options(args, &UV_OPTIONS),
        "pipx" => skip_options(args, &PIPX_OPTIONS),
        _ => args,
    };
    match (program, args) {
        ("npx" | "bunx", rest)
        | ("npm", ["exec" | "x", rest @ ..])
        | ("pnpm" | "yarn", ["dlx", rest @ ..])
        | ("bun", ["x", rest @ ..]) => {
            into.extend(fetched_specs(rest, &NPM_OPTIONS).filter_map(parse_npm_spec))
        }
        ("uvx", rest) | ("uv", ["tool", "run", rest @ ..] | ["x", rest @ ..]) => {
            into.extend(fetched_specs(rest, &UV_OPTIONS).filter_map(parse_pypi_spec));
        }
        // The program itself is local; its `--with` packages may not be.
        ("uv", ["run", rest @ ..]) => {
            into.extend(extra_specs(rest, &UV_OPTIONS).filter_map(parse_pypi_spec))
        }
        ("pipx", ["run", rest @ ..]) => {
            into.extend(fetched_specs(rest, &PIPX_OPTIONS).filter_map(parse_pypi_spec))
        }
        // These run the command that follows.
        ("env" | "nohup" | "nice" | "setsid" | "stdbuf" | "timeout" | "time" | "exec", rest)
            if levels > 0 =>
        {
            let rest = if program == "env" { split_strings(rest) } else { rest.to_vec() };
            let fetcher = rest.iter().position(|word| is_fetcher(word) || is_shell(word));
            let rest = fetcher.and_then(|at| rest.get(at..)).unwrap_or_default();
            find_packages(rest.to_vec(), levels - 1, into);
        }
        (_, rest) if levels > 0 && is_shell(program) => {
            let script = rest.iter().position(|word| is_script_option(word));
            let Some(script) = script.and_then(|at| rest.get(at + 1)) else { return };
            for command in script.split(['\n', ';', '&', '|', '(', ')']) {
                let words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
                // Skip variable assignments before the command.
                let words = words.skip_while(|word| word.contains('=') && !word.starts_with('-'));
                find_packages(words.collect(), levels - 1, into);
            }
        }
        _ => {}
    }
}

/// Returns the arguments of `env`, with `--split-string` values split.
fn split_strings<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let mut all = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let text = match arg.strip_prefix("--split-string") {
            Some("") => args.next().copied(),
            Some(rest) => rest.strip_prefix('='),
            // Other flags may precede it.
            None if arg.starts_with('-') && !arg.starts_with("--") => match arg.split_once('S') {
                Some((_, "")) => args.next().copied(),
                Some((_, text)) => Some(text),
                None => None,
            },
            None => None,
        };
        match text {
            Some(text) => {
                all.extend(text.split_whitespace().map(|word| word.trim_matches(['"', '\''])));
            }
            None => all.push(*arg),
        }
    }
    all
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn is_fetcher(word: &str) -> bool {
    matches!(
        base_name(word),
        "npx" | "bunx" | "npm" | "pnpm" | "yarn" | "bun" | "uvx" | "uv" | "pipx" | "env"
    )
}

fn is_shell(word: &str) -> bool {
    matches!(base_name(word), "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish")
}

/// Whether an option is `-c`, possibly combined with other flags.
fn is_script_option(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|flags| !flags.starts_with('-') && flags.contains('c'))
}

/// Options of a package runner.
struct FetcherOptions {
    /// Options that name the package, instead of the first argument.
    package_options: &'static [&'static str],
    /// Options that name additional packages.
    extra_options: &'static [&'static str],
    /// Other options with a value.
    valued_options: &'static [&'static str],
}

const NPM_OPTIONS: FetcherOptions = FetcherOptions {
    package_options: &["--package", "-p"],
    extra_options: &[],
    valued_options: &[
        "-c",
        "--call",
        "-w",
        "--workspace",
        "-C",
        "--prefix",
        "--dir",
        "--cwd",
        "--cache",
        "--registry",
        "--scope",
        "--tag",
        "--otp",
        "--before",
        "--omit",
        "--include",
        "--loglevel",
        "--logs-dir",
        "--logs-max",
        "--reporter",
        "--userconfig",
        "--globalconfig",
        "--location",
        "--config",
        "--shell",
        "--script-shell",
        "--node-options",
        "-n",
        "--node-arg",
        "--user-agent",
        "--proxy",
        "--https-proxy",
        "--noproxy",
        "--local-address",
        "--ca",
        "--cafile",
        "--cert",
        "--key",
        "--install-strategy",
        "--maxsockets",
        "--fetch-retries",
        "--fetch-timeout",
        "--cpu",
        "--os",
        "--libc",
        "--allow-build",
    ],
};
const UV_OPTIONS: FetcherOptions = FetcherOptions {
    package_options: &["--from"],
    extra_options: &["--with", "-w"],
    valued_options: &[
        "--python",
        "-p",
        "--python-platform",
        "--with-editable",
        "--with-requirements",
        "--index",
        "--default-index",
        "--index-url",
        "-i",
        "--extra-index-url",
        "--index-strategy",
        "--keyring-provider",
        "--find-links",
        "-f",
        "--directory",
        "--project",
        "--cache-dir",
        "--config-file",
        "--env-file",
        "--color",
        "--allow-insecure-host",
        "--refresh-package",
        "--upgrade-package",
        "-P",
        "--reinstall-package",
        "--no-build-package",
        "--no-binary-package",
        "--no-build-isolation-package",
        "--resolution",
        "--prerelease",
        "--fork-strategy",
        "--exclude-newer",
        "--link-mode",
        "--config-setting",
        "-C",
        "--constraints",
        "-c",
        "--build-constraints",
        "-b",
        "--overrides",
        "--torch-backend",
    ],
};
const PIPX_OPTIONS: FetcherOptions = FetcherOptions {
    package_options: &["--spec"],
    extra_options: &["--with"],
    valued_options: &[
        "--python",
        "--pip-args",
        "--index-url",
        "-i",
        "--fetch-missing-python",
        "--backend",
    ],
};

impl FetcherOptions {
    /// Whether an option is followed by a value, unless it contains one. Options
    /// for one registry or scope always are.
    fn takes_value(&self, option: &str) -> bool {
        self.package_options.contains(&option)
            || self.extra_options.contains(&option)
            || self.valued_options.contains(&option)
            || (option.contains(':') && !option.contains('='))
    }
}

/// Returns the arguments after the leading options.
fn skip_options<'a, 'b>(args: &'b [&'a str], options: &FetcherOptions) -> &'b [&'a str] {
    let mut rest = args;
    while let [option, after @ ..] = rest
        && option.starts_with('-')
        && *option != "--"
    {
        rest = match after {
            [_, after @ ..] if options.takes_value(option) => after,
            after => after,
        };
    }
    rest
}

/// Parsed arguments of a package runner.
#[derive(Default)]
struct FetcherArgs<'a> {
    named: Vec<&'a str>,
    extra: Vec<&'a str>,
    first: Option<&'a str>,
}

fn parse_fetcher_args<'a>(args: &[&'a str], options: &FetcherOptions) -> FetcherArgs<'a> {
    let mut it = FetcherArgs::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if *arg == "--" {
            it.first = args.next().copied();
            break;
        }
        if !arg.starts_with('-') {
            // The rest are arguments of the program.
            it.first = Some(*arg);
            break;
        }
        let (option, value) = arg.split_once('=').map_or((*arg, None), |(o, v)| (o, Some(v)));
        let (naming, besides) =
            (options.package_options.contains(&option), options.extra_options.contains(&option));
        if !options.takes_value(option) {
            continue;
        }
        let Some(value) = value.or_else(|| args.next().copied()) else { break };
        match (naming, besides) {
            (true, _) => it.named.push(value),
            (_, true) => it.extra.extend(value.split(',').map(str::trim)),
            _ => {}
        }
    }
    it
}

/// Returns all packages that are fetched.
fn fetched_specs<'a>(args: &[&'a str], options: &FetcherOptions) -> impl Iterator<Item = &'a str> {
    let it = parse_fetcher_args(args, options);
    let first = it.first.filter(|_| it.named.is_empty());
    it.named.into_iter().chain(first).chain(it.extra)
}

/// Returns the additional packages that are fetched for a local program.
fn extra_specs<'a>(args: &[&'a str], options: &FetcherOptions) -> impl Iterator<Item = &'a str> {
    parse_fetcher_args(args, options).extra.into_iter()
}

fn parse_npm_spec(spec: &str) -> Option<FetchedPackage> {
    if spec.contains("://")
        || spec.starts_with(['.', '/'])
        || spec.starts_with("git") && spec.contains(':')
    {
        return None;
    }
    // A scope also begins with `@`.
    let at = spec.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
    let (name, version) = match at {
        Some(at) => (&spec[..at], Some(&spec[at + 1..])),
        None => (spec, None),
    };
    // An alias; the actual package follows `npm:`.
    if let Some(meant) = version.and_then(|version| version.strip_prefix("npm:")) {
        return parse_npm_spec(meant);
    }
    let is_exact = |it: &&str| it.starts_with(|c: char| c.is_ascii_digit());
    let version = version.filter(is_exact).map(str::to_owned);
    Some(FetchedPackage { name: name.to_owned(), ecosystem: "npm", version })
}

fn parse_pypi_spec(spec: &str) -> Option<FetchedPackage> {
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
    // Normalize as the index does: `A__b.c` is `a-b-c`.
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    let name = parts.collect::<Vec<_>>().join("-").to_lowercase();
    (!name.is_empty()).then_some(FetchedPackage { name, ecosystem: "PyPI", version })
}

#[cfg(test)]
#[path = "osv_tests.rs"]
mod tests;
