//! The environment of child processes: known harmless variables, never a
//! secret.

use std::env;
use std::ffi::OsString;

use parking_lot::Mutex;

use crate::secret_names::{is_secret, is_secret_value, split_words};

/// Variables passed on by exact name.
#[rustfmt::skip]
const ALLOWED_VARIABLES: &[&str] = &[
    // User and system.
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "SHLVL", "HOSTNAME",
    "TMPDIR", "TMP", "TEMP", "TZ", "MANPATH", "INFOPATH",
    // Language and terminal.
    "LANG", "LANGUAGE", "TERM", "COLORTERM", "TERMINFO", "TERMINFO_DIRS", "COLUMNS", "LINES",
    "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE",
    "EDITOR", "VISUAL", "PAGER", "LESS", "GIT_PAGER", "GIT_EDITOR", "GIT_TERMINAL_PROMPT",
    "CI", "DEBIAN_FRONTEND", "SOURCE_DATE_EPOCH",
    // Network, unless the value contains a password.
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
    // Toolchains.
    "CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_INCREMENTAL", "CARGO_NET_OFFLINE",
    "CARGO_TERM_COLOR", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUSTFLAGS", "RUSTDOCFLAGS",
    "RUSTC_WRAPPER", "RUST_BACKTRACE", "RUST_LOG", "RUST_TEST_THREADS",
    "GOPATH", "GOROOT", "GOBIN", "GOFLAGS", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOPRIVATE",
    "GONOSUMDB", "GOSUMDB", "GOTOOLCHAIN", "GOOS", "GOARCH", "CGO_ENABLED",
    "JAVA_HOME", "JDK_HOME", "JAVA_OPTS", "MAVEN_OPTS", "GRADLE_OPTS", "GRADLE_USER_HOME",
    "NODE_PATH", "NODE_ENV", "NODE_OPTIONS", "NVM_DIR", "NVM_BIN", "PNPM_HOME", "BUN_INSTALL",
    "DENO_DIR", "VOLTA_HOME",
    "PYTHONPATH", "PYTHONHOME", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE",
    "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONHASHSEED", "VIRTUAL_ENV", "PYENV_ROOT",
    "PYENV_VERSION", "PIP_CACHE_DIR", "UV_CACHE_DIR",
    "GEM_HOME", "GEM_PATH", "RBENV_ROOT", "RUBYLIB", "RUBYOPT", "PERL5LIB",
    "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "DYLD_LIBRARY_PATH",
    "CC", "CXX", "CPP", "LD", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS",
    "MAKEFLAGS", "MAKELEVEL", "OMP_NUM_THREADS", "CUDA_HOME", "CUDA_VISIBLE_DEVICES",
];

/// Variables passed on by prefix; each prefix ends at a word boundary.
const ALLOWED_PREFIXES: &[&str] = &[
    "LC_",
    "XDG_",
    "CONDA_",
    "CMAKE_",
    "CARGO_BUILD_",
    "CARGO_PROFILE_",
    "PKG_CONFIG_",
    "npm_config_",
];

/// A name of several words that ends in one of these denotes a path.
const PATH_SUFFIXES: &[&str] = &["HOME", "ROOT", "DIR", "PREFIX", "CACHE"];

/// A name that ends in one of these words is a runtime setting.
const MODE_SUFFIXES: &[&str] = &[
    "ENV", "PORT", "DEBUG", "VERBOSE", "MODE", "LEVEL", "STAGE", "MODULE", "FLAG", "FLAGS",
    "THREADS", "JOBS", "WORKERS",
];

/// First words of names with a special meaning.
const SPECIAL_PREFIXES: &[&str] = &["HERMES", "BASH", "ENV", "LD", "DYLD", "SSH", "SUDO", "KRB5"];

/// Returns the variables that a child process may have, in the given order.
///
/// A variable must be known to be harmless, and neither its name nor its value
/// may look secret. `extra` are names that the user passes through: `NAME`
/// exactly, even if it looks secret, or `FAMILY_*`, except those that look
/// secret.
pub fn child_env(
    vars: impl Iterator<Item = (String, String)>,
    extra: &[String],
) -> Vec<(String, String)> {
    vars.filter(|(name, value)| may_pass(name, value, extra)).collect()
}

/// Returns the variables of this process that a child process may have.
pub fn own_env() -> Vec<(String, String)> {
    static ENV_CACHE: Mutex<FilteredEnvCache> =
        Mutex::new(FilteredEnvCache { all: Vec::new(), passed: Vec::new() });
    ENV_CACHE.lock().filter(env::vars_os().collect())
}

/// Cache of the filtered environment: every command starts a child process, and
/// the environment rarely changes.
#[derive(Debug, Default)]
struct FilteredEnvCache {
    all: Vec<(OsString, OsString)>,
    passed: Vec<(String, String)>,
}

impl FilteredEnvCache {
    /// Returns those that a child process may have.
    fn filter(&mut self, all: Vec<(OsString, OsString)>) -> Vec<(String, String)> {
        if self.all != all {
            let text = |it: &OsString| it.to_str().map(str::to_owned);
            let vars = all.iter().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
            self.passed = child_env(vars, &[]);
            self.all = all;
        }
        self.passed.clone()
    }
}

fn may_pass(name: &str, value: &str, extra: &[String]) -> bool {
    if extra.iter().any(|wanted| wanted == name) {
        return true;
    }
    // The list was reviewed, so only the value is checked.
    if ALLOWED_VARIABLES.contains(&name) {
        return !is_secret_value(value);
    }
    let known = ALLOWED_PREFIXES.iter().any(|family| name.starts_with(family))
        || extra.iter().any(|wanted| matches_prefix(wanted, name))
        || is_path_or_version(name, value);
    known && !is_secret(name, value)
}

/// Whether `wanted` is `FAMILY_*` and matches the name.
fn matches_prefix(wanted: &str, name: &str) -> bool {
    wanted
        .strip_suffix('*')
        .filter(|family| family.len() > 1 && family.ends_with('_'))
        .is_some_and(|family| name.starts_with(family))
}

/// Matches `RAILS_ENV=test`, `PORT=3000`: words and small numbers, unlike any
/// key.
fn is_mode_setting(words: &[String], value: &str) -> bool {
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return false };
    let is_word = |part: &str| {
        let number = part.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let is_number = number.len() <= 5 && number.bytes().all(|b| b.is_ascii_digit());
        part.len() <= 20 && is_number
    };
    MODE_SUFFIXES.contains(&last.as_str())
        && !SPECIAL_PREFIXES.contains(&first.as_str())
        && !value.is_empty()
        && value.len() <= 64
        && value.split(['.', '-', '_', ':', ',', '*', '=']).all(is_word)
}

/// Matches `SOMETHING_HOME=/a/place` and `SOMETHING_VERSION=1.2.3`.
fn is_path_or_version(name: &str, value: &str) -> bool {
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if !name.chars().all(plain) {
        return false;
    }
    let words = split_words(name);
    if is_mode_setting(&words, value) {
        return true;
    }
    let [_, .., last] = words.as_slice() else { return false };
    if PATH_SUFFIXES.contains(&last.as_str()) {
        return value.starts_with('/');
    }
    let in_version = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    last == "VERSION"
        && value.len() <= 24
        && value.starts_with(|c: char| c.is_ascii_digit() || c == 'v')
        && value.chars().all(in_version)
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
