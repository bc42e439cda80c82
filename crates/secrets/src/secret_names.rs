//! Detects variables that hold a secret, by name and by value. When in doubt,
//! they do: a masked word is a nuisance, a shown key is a leak.

use crate::patterns::starts_with_token;

/// Substrings of a name that indicate a secret.
const SECRET_SUBSTRINGS: &[&str] = &[
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASSCODE",
    "SECRET",
    "CREDENTIAL",
    "APIKEY",
    "ACCESSKEY",
    "PRIVATEKEY",
    "CONNECTIONSTRING",
    "CONNECTION_STRING",
];

/// Suffixes of a word that indicate a secret: `PGPASS`, `AUTHTOKEN`.
const SECRET_SUFFIXES: &[&str] = &["KEY", "KEYS", "TOKEN", "TOKENS", "PASS", "AUTH"];

/// Words of a name that indicate a secret.
const SECRET_WORDS: &[&str] = &[
    "AUTHORIZATION",
    "BEARER",
    "COOKIE",
    "COOKIES",
    "CRED",
    "CREDS",
    "DSN",
    "JWT",
    "OTP",
    "PAT",
    "PRIVATE",
    "PSK",
    "PW",
    "PWD",
    "TOTP",
    "WEBHOOK",
    "WEBHOOKS",
];

/// Words with such a suffix that do not indicate a secret.
const HARMLESS_WORDS: &[&str] = &[
    "ASKPASS", "BYPASS", "COMPASS", "DONKEY", "HOCKEY", "HOTKEY", "HOTKEYS", "MONKEY", "MONKEYS",
    "SURPASS", "TURKEY", "WHISKEY",
];

/// Last words of names that denote a location, not a secret.
const PATH_SUFFIXES: &[&str] = &["FILE", "PATH", "DIR", "SOCK", "SOCKET"];

/// Token prefixes of well-known services.
const TOKEN_PREFIXES: &[&str] = &[
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "rk_test_",
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
    "xoxr-",
    "xoxs-",
    "xoxe-",
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

/// A token is longer than its prefix.
const MIN_TOKEN_CHARS: usize = 16;

/// The displayable form of a variable's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedVariable {
    /// The value, or its mask.
    pub text: String,
    /// Whether the value is masked.
    pub masked: bool,
}

/// Returns the value of a variable, masked if it looks secret.
pub fn mask_variable(name: &str, value: &str) -> MaskedVariable {
    let masked = !value.is_empty() && is_secret(name, value);
    let text = if masked {
        format!("[masked, {} characters]", value.chars().count())
    } else {
        value.to_owned()
    };
    MaskedVariable { text, masked }
}

/// Whether the variable looks like a secret.
pub fn is_secret(name: &str, value: &str) -> bool {
    is_secret_name(name) || is_secret_value(value)
}

/// Whether a variable of this name holds a secret, whatever its value.
///
/// The name is split into words: `MY_API_KEY`, `apiKey` and `api-key` have the
/// word `KEY`, `KEYBOARD_LAYOUT` does not.
pub fn is_secret_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    // Set by the shell, never secrets.
    if matches!(upper.as_str(), "PWD" | "OLDPWD") {
        return false;
    }
    let words = split_words(name);
    if words.last().is_some_and(|last| PATH_SUFFIXES.contains(&last.as_str())) {
        return false;
    }
    // `apiKey` and `API_KEY` are caught word by word; `APIkey` only as a whole.
    SECRET_SUBSTRINGS.iter().any(|telling| upper.contains(telling))
        || words.iter().any(|word| is_secret_word(word))
        || upper.split(is_word_separator).any(is_secret_word)
}

fn is_secret_word(word: &str) -> bool {
    // `TOKEN2` is a second token.
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    !HARMLESS_WORDS.contains(&word)
        && (SECRET_WORDS.contains(&word) || SECRET_SUFFIXES.iter().any(|end| word.ends_with(end)))
}

fn is_word_separator(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | ' ')
}

/// Splits a name at separators and camel-case boundaries, in upper case.
pub(crate) fn split_words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for c in name.chars() {
        if (is_word_separator(c) || (was_lower && c.is_uppercase())) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if !is_word_separator(c) {
            word.push(c.to_ascii_uppercase());
        }
        was_lower = c.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Whether a value is recognizably secret: a token of a well-known service, a
/// private key, a URL with a password.
pub fn is_secret_value(value: &str) -> bool {
    value.contains("-----BEGIN ")
        || has_password_in_url(value)
        || value.split(is_separator).any(|piece| {
            piece.len() >= MIN_TOKEN_CHARS
                && (TOKEN_PREFIXES.iter().any(|prefix| piece.starts_with(prefix))
                    || starts_with_token(piece))
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
#[path = "secret_names_tests.rs"]
mod tests;
