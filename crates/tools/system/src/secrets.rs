//! Whether an environment variable looks as if it held a secret, and what is
//! shown in its place. In doubt it does: a masked word is a nuisance, a shown
//! key is a leak.

/// Anywhere in a name, these mean a secret.
const TELLING: &[&str] = &["PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "CREDENTIAL", "APIKEY"];

/// At the end of a word of a name, these mean a secret: `PGPASS`, `AUTHTOKEN`.
const ENDINGS: &[&str] = &["KEY", "KEYS", "TOKEN", "TOKENS", "PASS", "AUTH"];

/// As a word of a name, these mean a secret.
const WORDS: &[&str] =
    &["CRED", "CREDS", "COOKIE", "PAT", "PRIVATE", "PWD", "BEARER", "JWT", "DSN"];

/// A name that ends so says where something is, not what it is.
const PLACES: &[&str] = &["FILE", "PATH", "DIR", "SOCK"];

/// How tokens of well-known services begin.
const PREFIXES: &[&str] = &[
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "pk_live_",
    "whsec_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxs-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "GOCSPX-",
    "hf_",
    "gsk_",
    "xai-",
    "tvly-",
    "npm_",
    "pypi-",
    "dop_v1_",
    "shpat_",
    "SG.",
    "eyJ",
    "r8_",
];

/// A prefix alone is a word; a token is longer.
const SHORTEST_TOKEN: usize = 16;

/// A value as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The value, or what stands for it.
    pub(crate) text: String,
    /// Whether something stands for it.
    pub(crate) masked: bool,
}

/// The value of a variable, masked if it looks secret.
pub(crate) fn shown(name: &str, value: &str) -> Shown {
    let masked = !value.is_empty() && is_secret(name, value);
    let text = if masked {
        format!("[masked, {} characters]", value.chars().count())
    } else {
        value.to_owned()
    };
    Shown { text, masked }
}

/// Whether the variable looks as if it held a secret.
pub(crate) fn is_secret(name: &str, value: &str) -> bool {
    has_secret_name(name) || has_secret_value(value)
}

fn has_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // The shell's own, and no secrets.
    if matches!(name.as_str(), "PWD" | "OLDPWD") {
        return false;
    }
    let mut words = name.split('_').filter(|word| !word.is_empty());
    if words.clone().next_back().is_some_and(|last| PLACES.contains(&last)) {
        return false;
    }
    TELLING.iter().any(|telling| name.contains(telling))
        || words.any(|word| WORDS.contains(&word) || ENDINGS.iter().any(|end| word.ends_with(end)))
}

fn has_secret_value(value: &str) -> bool {
    value.contains("-----BEGIN ")
        || has_password_in_url(value)
        || value.split(is_separator).any(|piece| {
            piece.len() >= SHORTEST_TOKEN && PREFIXES.iter().any(|prefix| piece.starts_with(prefix))
        })
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, '=' | ',' | ';' | '"' | '\'' | ':' | '&' | '?' | '/' | '@')
}

/// `scheme://user:password@host`.
fn has_password_in_url(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ', '\n']).next().unwrap_or_default();
        authority
            .rsplit_once('@')
            .and_then(|(user, _host)| user.split_once(':'))
            .is_some_and(|(_user, password)| !password.is_empty())
    })
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
