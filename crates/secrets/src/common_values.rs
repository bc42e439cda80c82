//! Values too common to redact: words, numbers and paths that also occur for
//! other reasons.

/// Shorter values occur in too many texts by chance.
const MIN_VALUE_CHARS: usize = 6;

/// Shorter numbers may be dates or amounts.
const MIN_NUMBER_CHARS: usize = 9;

#[rustfmt::skip]
const COMMON_WORDS: &[&str] = &[
    "abcdef", "access", "account", "address", "admin123", "administrator", "api-key", "api_key",
    "apikey", "authorization", "basic auth", "bearer", "changeit", "changeme", "config", "console",
    "debugging", "default", "develop", "development", "disable", "disabled", "docker", "enable",
    "enabled", "example", "foobar", "gateway", "github", "google", "internal", "letmein",
    "localhost", "manager", "master", "minioadmin", "network", "nobody", "normal", "notset",
    "optional", "password", "passwd", "placeholder", "postgres", "postgresql", "private",
    "process", "prod-eu", "prod-us", "production", "public", "qwerty", "rabbitmq", "redacted",
    "required", "secret", "service", "session", "staging", "standard", "string", "system",
    "testing", "undefined", "unknown", "username", "verbose", "warning", "welcome",
];

/// Top-level directories of absolute paths.
#[rustfmt::skip]
const ROOT_DIRS: &[&str] = &[
    "Applications", "Library", "System", "Users", "Volumes", "bin", "boot", "data", "dev", "etc",
    "home", "lib", "lib64", "media", "mnt", "nix", "opt", "private", "proc", "root", "run", "sbin",
    "srv", "sys", "tmp", "usr", "var", "work", "workspace",
];

/// Whether a value is indistinguishable from ordinary text.
pub(crate) fn is_common_value(value: &str) -> bool {
    let length = value.chars().count();
    length < MIN_VALUE_CHARS
        || (length < MIN_NUMBER_CHARS && value.chars().all(is_numeric))
        || is_repeated_char(value)
        || COMMON_WORDS.iter().any(|word| word.eq_ignore_ascii_case(value))
        || is_path(value)
        || is_bare_url(value)
}

fn is_numeric(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+' | '_' | ':' | ' ')
}

/// Matches `******`, `xxxxxxxx`.
fn is_repeated_char(value: &str) -> bool {
    value.chars().next().is_some_and(|first| value.chars().all(|c| c == first))
}

fn is_path(value: &str) -> bool {
    if value.contains(char::is_whitespace) {
        return false;
    }
    if ["~/", "./", "../"].iter().any(|start| value.starts_with(start)) {
        return true;
    }
    value.strip_prefix('/').is_some_and(|rest| {
        let first = rest.split('/').next().unwrap_or_default();
        rest.contains('/') && ROOT_DIRS.contains(&first)
    })
}

/// Matches `https://api.example.com`, without a path.
fn is_bare_url(value: &str) -> bool {
    let Some((scheme, rest)) = value.split_once("://") else { return false };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let in_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
    scheme.chars().all(|c| c.is_ascii_alphanumeric()) && rest.chars().all(in_host)
}

#[cfg(test)]
#[path = "common_values_tests.rs"]
mod tests;
