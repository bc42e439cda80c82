//! Values that a configuration, a program or a message gives to names of
//! secrets: `DB_PASSWORD=…`, `"access_token": "…"`, `api_key = "…"`.
//!
//! In source code the same syntax mostly names a variable, a type or a
//! placeholder, so a value must be a literal and look like a secret.

use super::plausibility::{
    is_basic_credential, is_code_name, is_filler, is_opaque, is_placeholder, is_random,
};
use super::{SecretKind, TriggerExaminer};
use crate::common_values::is_common_value;
use crate::secret_names::{is_secret_name, split_words};

/// The longest name.
const MAX_NAME_CHARS: usize = 64;

/// Blanks around the operator.
const MAX_BLANKS: usize = 24;

/// The longest value that is read.
const MAX_VALUE_CHARS: usize = 1024;

/// Longer values are not read again for names inside them.
const MAX_REREAD_CHARS: usize = 128;

/// The longest type between a name and its value: `key: Option<&str> = "…"`.
const MAX_TYPE_CHARS: usize = 40;

/// Shorter passwords may be words of a program.
const MIN_PASSWORD_CHARS: usize = 6;

/// Shorter values of other names may be identifiers.
const MIN_TOKEN_CHARS: usize = 16;

/// The minimum in an assignment of a shell or a `.env` file, which is a literal
/// by its syntax.
const MIN_ENV_TOKEN_CHARS: usize = 10;

/// Last words of names that describe a secret and do not hold it.
const DESCRIPTIVE_WORDS: &[&str] = &[
    "ALGORITHM",
    "ATTEMPTS",
    "COUNT",
    "ENDPOINT",
    "ERROR",
    "EXPIRES",
    "EXPIRY",
    "FIELD",
    "FORMAT",
    "HEADER",
    "HINT",
    "ID",
    "IDS",
    "ISSUER",
    "LABEL",
    "LENGTH",
    "LIMIT",
    "MESSAGE",
    "NAME",
    "NAMES",
    "PATTERN",
    "PLACEHOLDER",
    "POLICY",
    "PREFIX",
    "PROMPT",
    "REGEX",
    "SIZE",
    "STATUS",
    "TITLE",
    "TTL",
    "TYPE",
    "URI",
    "URL",
    "USAGE",
    "VERSION",
];

/// Words of names whose keys and tokens are no secrets.
const HARMLESS_WORDS: &[&str] = &[
    "CACHE",
    "COMPOSITE",
    "CONTINUATION",
    "CURSOR",
    "DEDUP",
    "DEDUPLICATION",
    "FOREIGN",
    "FINGERPRINT",
    "GROUP",
    "HASH",
    "IDEMPOTENCY",
    "INDEX",
    "LOOKUP",
    "MAX",
    "MIN",
    "NEXT",
    "OBJECT",
    "PAGE",
    "PARTITION",
    "PRIMARY",
    "PROGRESS",
    "PUBLIC",
    "ROUTING",
    "ROW",
    "SITE",
    "SORT",
    "SYNC",
    "TOTAL",
    "TRANSLATION",
    "UNIQUE",
];

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueStyle {
    /// Between quotes.
    Quoted,
    /// `NAME=value`, as in a shell or a `.env` file.
    Environment,
    /// Without quotes, up to the end of the line or a separator.
    Bare,
    /// Without quotes, before a comma or a bracket: probably an expression.
    Expression,
}

/// Whether this value of this name is a secret.
pub(crate) fn is_named_secret(name: &str, value: &str, style: ValueStyle) -> bool {
    if !may_be_secret(value) {
        return false;
    }
    let words = split_words(name);
    let has_word = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let describes = words.last().is_some_and(|last| DESCRIPTIVE_WORDS.contains(&last.as_str()));
    if describes || !is_secret_name(name) {
        return false;
    }
    if is_password_name(name) {
        return is_password(value, style);
    }
    // The login of a registry: `"auth": "…"`.
    if words.last().is_some_and(|last| last == "AUTH") && is_basic_credential(value) {
        return true;
    }
    // A key alone is one of a map.
    let is_bare_key = matches!(words.as_slice(), [word] if word == "KEY");
    !is_bare_key && !has_word(HARMLESS_WORDS) && is_token(value, style)
}

/// Whether a name is one of a password, which people choose and which may be
/// short.
pub(super) fn is_password_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    ["PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE"].iter().any(|word| upper.contains(word))
        || split_words(name).iter().any(|word| {
            matches!(word.as_str(), "PASS" | "PW" | "PWD" | "DBPASS" | "PGPASS" | "SSHPASS")
        })
}

/// Rules out variables, templates, paths, addresses, rules and prose.
fn may_be_secret(value: &str) -> bool {
    if is_symbol_key(value) {
        return true;
    }
    const SYNTAX: &[&str] = &["://", "{{", "${", "$(", ")s", "(?", ".*", "[a-", "|", "\\", "…"];
    let is_base64 = |value: &str| {
        value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
    };
    let is_path = ["./", "../", "~/", "#/"].iter().any(|start| value.starts_with(start))
        || value.starts_with('/') && !(is_base64(value) && is_opaque(value));
    !value.contains(|c: char| c.is_whitespace() || c.is_control())
        && !value.starts_with(['%', '@', '&', ':', '=', ')', ']', ',', ';'])
        && !SYNTAX.iter().any(|syntax| value.contains(syntax))
        && !is_path
        && !is_filler(value)
        && !is_placeholder(value)
        && !is_common_value(value)
        && !has_placeholder_word(value)
}

/// Matches keys such as those of Django, which may begin like a template.
fn is_symbol_key(value: &str) -> bool {
    let is_sign = |byte: &u8| b"!@#$%^&*(-_=+)".contains(byte);
    value.len() >= 32
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_sign(&byte))
        && value.bytes().filter(u8::is_ascii_digit).count() >= 3
        && value.bytes().filter(is_sign).count() >= 5
        && value.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Matches `your-key-here`, `example-token`, `test123`.
fn has_placeholder_word(value: &str) -> bool {
    const PLACEHOLDER_STARTS: &[&str] = &[
        "your",
        "my-",
        "my_",
        "example",
        "sample",
        "dummy",
        "fake",
        "test-",
        "test_",
        "change",
        "replace",
        "insert",
        "enter",
        "todo",
        "fixme",
        "placeholder",
        "redacted",
        "env.",
        "env:",
        "env[",
        "process.env",
        "os.environ",
        "vault:",
        "arn:",
        "ref+",
        "xxx",
    ];
    let lower = value.to_ascii_lowercase();
    let stem = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_numbered_sample = lower.len() - stem.len() <= 6
        && ["test", "pass", "passwd", "password", "passw0rd", "qwerty", "secret"].contains(&stem);
    is_numbered_sample
        || PLACEHOLDER_STARTS.iter().any(|start| lower.starts_with(start))
        || ["-here", "_here", "example", "placeholder", "changeme"]
            .iter()
            .any(|end| lower.ends_with(end))
}

fn is_password(value: &str, style: ValueStyle) -> bool {
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_sign =
        value.bytes().any(|byte| byte.is_ascii_punctuation() && !b"_-./:,'\"".contains(&byte));
    let is_mixed = (has_letter && has_digit) || (has_sign && (has_letter || has_digit));
    let is_long_enough = value.len() >= MIN_PASSWORD_CHARS;
    is_long_enough
        && match style {
            ValueStyle::Quoted => is_mixed,
            ValueStyle::Environment => is_mixed || value.len() >= 8,
            // `!vault` is a tag of YAML.
            ValueStyle::Bare => {
                is_mixed && (has_digit || !value.starts_with('!')) && !is_code_name(value)
            }
            ValueStyle::Expression => is_mixed && is_opaque(value),
        }
}

fn is_token(value: &str, style: ValueStyle) -> bool {
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let runs = || value.split(|c: char| !c.is_ascii_alphanumeric());
    let has_random_run = || runs().any(|run| run.len() >= MIN_TOKEN_CHARS && is_random(run, 14));
    let signs = value.bytes().filter(|byte| b"!@#$%^&*()+=".contains(byte)).count();
    has_letter
        && has_digit
        && match style {
            ValueStyle::Environment => value.len() >= MIN_ENV_TOKEN_CHARS && is_random(value, 30),
            ValueStyle::Quoted => {
                value.len() >= MIN_TOKEN_CHARS
                    && (is_opaque(value) || has_random_run() || signs >= 3)
            }
            ValueStyle::Bare | ValueStyle::Expression => {
                value.len() >= MIN_TOKEN_CHARS && (is_opaque(value) || has_random_run())
            }
        }
}

impl TriggerExaminer<'_> {
    /// Matches the value of a name whose telling part ends at `end`, or at an
    /// operator before `end`.
    pub(super) fn match_named(
        &mut self,
        start: usize,
        end: usize,
    ) -> Option<(usize, usize, SecretKind)> {
        let stem = self.text.get(start..end)?;
        let end = start + stem.trim_end_matches([':', '=', '"', '\'', ' ', '\\', '\n']).len();
        let (begin, name_end) = self.name_around(start, end)?;
        if name_end <= self.named_to {
            return None;
        }
        self.named_to = name_end;
        if self.bytes.get(name_end) == Some(&b'=')
            && let Some(found) = self.match_query(name_end + 1)
        {
            return Some(found);
        }
        let name = self.text.get(begin..name_end)?.trim_start_matches(['-', '.']);
        if self.bytes.get(name_end) == Some(&b'>') {
            return self.match_element(begin, name_end, name);
        }
        let Some((value, is_direct)) = self.named_value_start(name_end) else {
            return self.match_nearby(begin, name_end, name);
        };
        if value < self.examined_to {
            return None;
        }
        if matches!(self.bytes.get(value), Some(b'|' | b'>')) {
            return self.match_block(begin, value, name);
        }
        let name = if self.is_connection_password(begin, name) { "password" } else { name };
        let is_literal =
            self.is_option(begin) || name.bytes().all(|byte| !byte.is_ascii_lowercase());
        let is_env = is_direct && is_literal;
        let (from, to, style) = self.read_value(value, is_env, is_direct)?;
        // A long run is read once, whatever names are in it.
        self.examined_to = if to - from > MAX_REREAD_CHARS { to } else { from };
        is_named_secret(name, self.text.get(from..to)?, style).then_some((
            from,
            to,
            SecretKind::Named,
        ))
    }

    /// Whether `pwd` is that of a connection string, and not the directory of a
    /// shell.
    fn is_connection_password(&self, begin: usize, name: &str) -> bool {
        let before = self.bytes.get(begin.saturating_sub(2)..begin).unwrap_or_default();
        let follows_field = before.trim_ascii_end().ends_with(b";");
        matches!(name, "pwd" | "Pwd") || name == "PWD" && follows_field
    }

    /// Returns the name that contains this part; `None` if another word
    /// continues: `tokenizer`, `secretary`.
    fn name_around(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        let next = self.bytes.get(end).copied().unwrap_or(b' ');
        let last_is_lower = self.byte_before(end)?.is_ascii_lowercase();
        let goes_on = next.is_ascii_lowercase() || (!last_is_lower && next.is_ascii_uppercase());
        if goes_on {
            return None;
        }
        let in_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let rest = self.bytes.get(end..)?.iter().take(MAX_NAME_CHARS);
        let name_end = end + rest.take_while(|byte| in_name(**byte)).count();
        let before = self.bytes.get(start.saturating_sub(MAX_NAME_CHARS)..start)?;
        let in_path = |byte: &&u8| in_name(**byte) || **byte == b'.';
        let begin = start - before.iter().rev().take_while(in_path).count();
        Some((begin, name_end))
    }

    /// Returns where the value of a name begins, and whether only an equals
    /// sign is between them.
    fn named_value_start(&self, name_end: usize) -> Option<(usize, bool)> {
        let next = self.bytes.get(name_end)?;
        if !b"=:\"'`\\ \t?".contains(next) {
            return None;
        }
        let mut at = self.skip_quote(name_end);
        // `environ["API_KEY"] = …`
        at += usize::from(at > name_end && self.bytes.get(at) == Some(&b']'));
        at = self.skip_blanks(at)?;
        let operator = self.bytes.get(at..)?;
        let length = match operator {
            [b'=', b'=', ..] | [b':', b':', ..] => return None,
            [b'=', b'>', ..] | [b':', b'=', ..] | [b'?', b'=', ..] => 2,
            [b'=' | b':', ..] => 1,
            _ => return None,
        };
        let is_direct = at == name_end && operator.first() == Some(&b'=');
        let value = self.skip_blanks(at + length)?;
        let is_annotated = operator.first() == Some(&b':') && length == 1;
        let typed = is_annotated.then(|| self.skip_type(value)).flatten();
        Some((typed.unwrap_or(value), is_direct && value == at + 1))
    }

    /// Returns the position after a type annotation: `&str = "…"`.
    fn skip_type(&self, at: usize) -> Option<usize> {
        let in_type = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_&<>[]., ?|".contains(byte);
        let rest = self.bytes.get(at..)?;
        let length = rest.iter().take(MAX_TYPE_CHARS).take_while(in_type).count();
        let value = self.skip_blanks(at + length + 1)?;
        let is_typed =
            rest.get(length) == Some(&b'=') && matches!(self.bytes.get(value), Some(b'"' | b'\''));
        (length > 0 && is_typed).then_some(value)
    }

    pub(super) fn skip_blanks(&self, at: usize) -> Option<usize> {
        let rest = self.bytes.get(at..)?.iter().take(MAX_BLANKS);
        Some(at + rest.take_while(|byte| matches!(byte, b' ' | b'\t')).count())
    }

    /// Reads the value at `at`. Returns its range and style.
    pub(super) fn read_value(
        &self,
        at: usize,
        is_env: bool,
        is_direct: bool,
    ) -> Option<(usize, usize, ValueStyle)> {
        let is_prefix = |byte: u8| b"bBrRuU@".contains(&byte);
        let is_quote = |byte: Option<&u8>| matches!(byte, Some(b'"' | b'\'' | b'`'));
        let first = *self.bytes.get(at)?;
        let quote_at = at + usize::from(is_prefix(first) && is_quote(self.bytes.get(at + 1)));
        let from = self.skip_quote(quote_at);
        let rest = self.bytes.get(from..)?.iter().take(MAX_VALUE_CHARS);
        if from > quote_at {
            let quote = self.byte_before(from)?;
            let is_escaped = from - quote_at == 2;
            let ends = |byte: &u8| *byte == quote || *byte == b'\n' || is_escaped && *byte == b'\\';
            let to = from + rest.take_while(|byte| !ends(byte)).count();
            let style = if is_env { ValueStyle::Environment } else { ValueStyle::Quoted };
            return Some((from, to, style));
        }
        let ends = |byte: &u8| {
            byte.is_ascii_whitespace()
                || b"\"'`,;<>()[]{}|\\".contains(byte)
                || is_direct && *byte == b'&'
        };
        let to = from + rest.take_while(|byte| !ends(byte)).count();
        let next = self.bytes.get(to).copied();
        let style = match next {
            Some(b'(' | b'[' | b'{' | b'<' | b'|') => return None,
            Some(b',' | b')' | b'}' | b']') if !is_env => ValueStyle::Expression,
            // More words follow: prose, or a command.
            Some(b' ' | b'\t') => ValueStyle::Bare,
            _ if is_env => ValueStyle::Environment,
            _ => ValueStyle::Bare,
        };
        Some((from, to, style))
    }

    /// Matches `<password>…</password>`.
    fn match_element(
        &self,
        begin: usize,
        name_end: usize,
        name: &str,
    ) -> Option<(usize, usize, SecretKind)> {
        let from = name_end + 1;
        let rest = self.bytes.get(from..)?.iter().take(MAX_VALUE_CHARS);
        let to = from + rest.take_while(|byte| !b"<>\n".contains(byte)).count();
        let is_element =
            self.byte_before(begin) == Some(b'<') && self.bytes.get(to..)?.starts_with(b"</");
        let value = self.text.get(from..to)?;
        let fits = is_element && is_named_secret(name, value, ValueStyle::Quoted);
        fits.then_some((from, to, SecretKind::Named))
    }
}
