//! Patterns of unregistered secrets: tokens of well-known services, private
//! keys, credentials in headers and URLs.
//!
//! One automaton finds the triggers; each is then examined by hand-written code
//! that reads no byte more than a few times. Placeholders in code and documents
//! are left unchanged.

use crate::secret_names::is_secret_name;

mod assignments;
mod named_values;
mod nearby_values;
mod options;
mod plausibility;
mod shapes;
mod special_tokens;
mod table;

pub(crate) use assignments::assigned_values;
pub(crate) use named_values::{ValueStyle, is_named_secret};
pub(crate) use plausibility::is_placeholder;
use plausibility::{is_documented, is_filler, is_opaque, is_random, is_sample_host};
use shapes::TokenShape;
pub(crate) use shapes::starts_with_token;
pub(crate) use special_tokens::airtable_tokens;
use table::PatternTrigger;
pub(crate) use table::{PATTERN_TRIGGERS, SecretKind, may_span_lines};

/// Distance within which a secret follows its access key id.
const AWS_SECRET_DISTANCE: usize = 160;

/// A private key has at least one run of this many characters.
const MIN_KEY_RUN_CHARS: usize = 32;

/// The longest terminal sequence before a token.
const MAX_SEQUENCE_BYTES: usize = 24;

/// The minimum payload of a JWT without a signature.
const MIN_UNSIGNED_PAYLOAD: usize = 16;

/// A shorter user name in a URL may be one.
const MIN_USER_TOKEN_CHARS: usize = 16;

/// The longest value of the first parameter of a form.
const MAX_FIRST_PARAMETER_CHARS: usize = 1024;

/// How far the `@` after a user name is searched for.
const MAX_USER_INFO_CHARS: usize = 256;

/// The longest name of a query parameter.
const MAX_NAME_CHARS: usize = 48;

/// The longest scheme in an `Authorization` header.
const MAX_SCHEME_CHARS: usize = 24;

/// Schemes whose parameters are no secrets, or are judged elsewhere: `Basic` by
/// its decoded value.
const OTHER_SCHEMES: &[&str] = &["basic", "digest", "hawk", "signature"];

const KEY_HEADERS: &[&str] = &[
    "api-key",
    "ocp-apim-subscription-key",
    "private-token",
    "x-api-key",
    "x-auth-token",
    "x-goog-api-key",
];

/// Examines a text at its triggers, from left to right.
#[derive(Debug)]
pub(crate) struct TriggerExaminer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// Everything before was examined as the value of a header or parameter.
    examined_to: usize,
    /// Every name before was examined.
    named_to: usize,
}

impl<'a> TriggerExaminer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, bytes: text.as_bytes(), examined_to: 0, named_to: 0 }
    }

    /// Reports the secret at the trigger from `start` to `end`, if any.
    pub(crate) fn examine(
        &mut self,
        trigger: PatternTrigger,
        start: usize,
        end: usize,
        mut report: impl FnMut(usize, usize, SecretKind),
    ) {
        let found = match trigger {
            PatternTrigger::Shape(at) => {
                shapes::TOKEN_SHAPES.get(at).and_then(|shape| self.match_shape(shape, start, end))
            }
            PatternTrigger::Jwt => self.match_jwt(start),
            PatternTrigger::Dotted => self.match_dotted(start, end),
            PatternTrigger::PrivateKey => self.match_private_key(start, end),
            PatternTrigger::AwsId => {
                let found = self.match_aws_id(start, end);
                if let Some((_, id_end, _)) = found
                    && let Some((start, end)) = self.aws_secret_after(id_end)
                {
                    report(start, end, SecretKind::AwsSecret);
                }
                found
            }
            PatternTrigger::AwsSecret => self.match_aws_secret(end),
            PatternTrigger::Bearer => self.match_bearer(start, end),
            PatternTrigger::Basic => self.match_basic(start, end),
            PatternTrigger::Authorization => self.match_header(end, "authorization"),
            PatternTrigger::KeyHeader => self.match_header(end, "x-api-key"),
            PatternTrigger::Url => {
                if let Some((start, end)) = self.url_user_token(start, end) {
                    report(start, end, SecretKind::UrlPassword);
                }
                self.match_url_password(start, end)
            }
            PatternTrigger::Query => self.match_query(end),
            PatternTrigger::Named => self.match_named(start, end),
            PatternTrigger::Cookie => {
                self.cookie_values(end, |start, end| report(start, end, SecretKind::Cookie));
                None
            }
            PatternTrigger::NetrcPassword => self.match_netrc_password(start, end),
            PatternTrigger::UserOption => self.match_user_option(start, end),
            PatternTrigger::CookieOption => {
                self.cookie_option(end, |start, end| report(start, end, SecretKind::Cookie));
                None
            }
            PatternTrigger::PasswordOption => self.match_password_option(start, end),
            PatternTrigger::AuthPair => self.match_auth_pair(end),
            PatternTrigger::AzureSecret => self.match_azure_secret(start, end),
            PatternTrigger::Terraform => self.match_terraform(start, end),
            PatternTrigger::Mailchimp => self.match_mailchimp(start, end),
            PatternTrigger::Telegram => self.match_telegram(start, end),
            PatternTrigger::Discord => self.match_discord(start, end),
        };
        if let Some((start, end, kind)) = found {
            report(start, end, kind);
        }
    }

    fn match_shape(
        &self,
        shape: &TokenShape,
        start: usize,
        end: usize,
    ) -> Option<(usize, usize, SecretKind)> {
        // A token never begins inside a run of its own characters, so no run is
        // read twice. An address begins after a slash.
        let in_word = |byte: u8| byte != b'=' && !shape.keeps_prefix && (shape.body)(byte);
        if !self.begins_word(start, in_word) {
            return None;
        }
        let stop = self.run_end(end, shape.body);
        let body = self.text.get(end..stop)?.trim_end_matches('.');
        let is_cut = self.bytes.get(stop).is_some_and(u8::is_ascii_alphanumeric);
        let fits = !is_cut && shape.is_token(body);
        let from = if shape.keeps_prefix { end } else { start };
        fits.then_some((from, end + body.len(), shape.kind))
    }

    /// Matches two JSON objects, and a signature if there is one.
    fn match_jwt(&self, start: usize) -> Option<(usize, usize, SecretKind)> {
        if !self.begins_word(start, in_token_word) {
            return None;
        }
        let mut at = self.run_end(start, in_token_word);
        if at < start + 10 || self.bytes.get(at) != Some(&b'.') {
            return None;
        }
        if !self.bytes.get(at + 1..)?.starts_with(b"eyJ") {
            return None;
        }
        let payload = at + 1;
        at = self.run_end(payload, in_token_word);
        let end = self.run_end(at + 1, in_token_word);
        let is_signed = self.bytes.get(at) == Some(&b'.') && end >= at + 5;
        // Without a signature it may be a name in a text about tokens.
        let is_long = at >= payload + MIN_UNSIGNED_PAYLOAD;
        (is_signed || is_long).then_some((start, if is_signed { end } else { at }, SecretKind::Jwt))
    }

    /// Matches `SG.` and two parts.
    fn match_dotted(&self, start: usize, end: usize) -> Option<(usize, usize, SecretKind)> {
        if !self.begins_word(start, in_token_word) {
            return None;
        }
        let first = self.run_end(end, in_token_word);
        let second = self.run_end(first + 1, in_token_word);
        let fits = self.bytes.get(first) == Some(&b'.')
            && first >= end + 16
            && second > first + 16
            && !is_filler(self.text.get(end..first)?);
        fits.then_some((start, second, SecretKind::SendGrid))
    }

    /// Matches a private key with its PEM markers, or as much of it as is
    /// present.
    fn match_private_key(&self, start: usize, end: usize) -> Option<(usize, usize, SecretKind)> {
        let title =
            self.run_end(end, |b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' ');
        let is_key = self.text.get(end..title)?.contains("PRIVATE KEY");
        let body = title + 5;
        if !is_key || !self.bytes.get(title..)?.starts_with(b"-----") {
            return None;
        }
        let rest = self.text.get(body..)?;
        // Also stops at the next key, so no text is read twice.
        let frame = rest.find("-----").unwrap_or(rest.len());
        let inside = rest.get(..frame)?;
        if !plausibility::has_run(inside, MIN_KEY_RUN_CHARS) {
            return None;
        }
        let closing = rest.get(frame..).unwrap_or_default();
        let stop = if closing.starts_with("-----END ") {
            let title = self.run_end(body + frame + 9, |b| b.is_ascii_alphanumeric() || b == b' ');
            self.run_end(title, |b| b == b'-').min(title + 5)
        } else {
            body + key_lines_length(inside)
        };
        Some((start, stop, SecretKind::PrivateKey))
    }

    fn match_aws_id(&self, start: usize, end: usize) -> Option<(usize, usize, SecretKind)> {
        if !self.begins_word(start, in_token_word) {
            return None;
        }
        let stop = self.run_end(end, |b| b.is_ascii_uppercase() || b.is_ascii_digit());
        let ends = !self.bytes.get(stop).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        let body = self.text.get(end..stop)?;
        let fits = stop == end + 16 && ends && !is_filler(body) && !is_documented(body);
        fits.then_some((start, stop, SecretKind::AwsId))
    }

    /// Returns the 40 characters that follow an access key id, if any.
    fn aws_secret_after(&self, at: usize) -> Option<(usize, usize)> {
        let limit = self.bytes.len().min(at + AWS_SECRET_DISTANCE);
        let mut at = at;
        while at < limit {
            if !in_aws_secret(*self.bytes.get(at)?) {
                at += 1;
                continue;
            }
            // A longer run is not a secret, so counting can stop.
            let length = self
                .bytes
                .iter()
                .skip(at)
                .take(AWS_SECRET_DISTANCE)
                .take_while(|b| in_aws_secret(**b));
            let end = at + length.count();
            if self.is_aws_secret(at, end) {
                return Some((at, end));
            }
            at = end;
        }
        None
    }

    /// Matches `aws_secret_access_key = …`.
    fn match_aws_secret(&mut self, end: usize) -> Option<(usize, usize, SecretKind)> {
        let start = self.value_after(end)?;
        if start < self.examined_to {
            return None;
        }
        let stop = self.run_end(start, in_aws_secret);
        self.examined_to = stop;
        self.is_aws_secret(start, stop).then_some((start, stop, SecretKind::AwsSecret))
    }

    fn is_aws_secret(&self, start: usize, end: usize) -> bool {
        let body = self.text.get(start..end).unwrap_or_default();
        body.len() == 40
            && body.contains(|c: char| c.is_ascii_uppercase())
            && body.contains(|c: char| c.is_ascii_lowercase())
            && body.contains(|c: char| c.is_ascii_digit())
            && !is_filler(body)
            && !is_documented(body)
    }

    /// Matches `Bearer …` in any context.
    fn match_bearer(&self, start: usize, end: usize) -> Option<(usize, usize, SecretKind)> {
        if !self.byte_before(start).is_some_and(|b| b.eq_ignore_ascii_case(&b'b')) {
            return None;
        }
        let from = self.run_end(end, |b| b == b' ');
        let stop = self.run_end(from, in_credential);
        let fits = is_random(self.text.get(from..stop)?, 30) && stop >= from + 16;
        fits.then_some((from, stop, SecretKind::Authorization))
    }

    /// Matches `Basic …`, if it decodes to `user:password`.
    fn match_basic(&self, start: usize, end: usize) -> Option<(usize, usize, SecretKind)> {
        if !self.byte_before(start).is_some_and(|b| b.eq_ignore_ascii_case(&b'b')) {
            return None;
        }
        let from = self.run_end(end, |b| b == b' ');
        let stop = self.run_end(from, |b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
        let fits = plausibility::is_basic_credential(self.text.get(from..stop)?);
        fits.then_some((from, stop, SecretKind::Authorization))
    }

    /// Matches the value of a header whose name ends at `end`.
    fn match_header(&mut self, end: usize, name: &str) -> Option<(usize, usize, SecretKind)> {
        let start = self.value_after(end)?;
        if start < self.examined_to {
            return None;
        }
        let (found, read) = header_credential(self.text.get(start..)?, name);
        self.examined_to = start + read;
        found.map(|(from, to, kind)| (start + from, start + to, kind))
    }

    /// Matches the password of `scheme://user:password@host`.
    fn match_url_password(&self, start: usize, end: usize) -> Option<(usize, usize, SecretKind)> {
        if !self.byte_before(start).is_some_and(|b| b.is_ascii_alphanumeric()) {
            return None;
        }
        let ends = |c: char| c.is_whitespace() || "/?#\"'`<>\\".contains(c);
        let authority = self.text.get(end..)?.split(ends).next()?;
        let (user_info, host) = authority.rsplit_once('@')?;
        let (user, password) = user_info.split_once(':')?;
        let from = end + user.len() + 1;
        // The login of a database on the developer's machine.
        let is_sample = user == password && is_sample_host(host);
        let fits = !is_sample && !is_placeholder(password);
        fits.then_some((from, from + password.len(), SecretKind::UrlPassword))
    }

    /// Returns the token in the place of the user: `https://TOKEN@host`.
    fn url_user_token(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        if !self.byte_before(start).is_some_and(|b| b.is_ascii_alphanumeric()) {
            return None;
        }
        let stop = self.run_end(end, |b| b.is_ascii_alphanumeric() || b"_-.~".contains(&b));
        let user = self.text.get(end..stop)?;
        let is_user = matches!(self.bytes.get(stop), Some(b'@' | b':'))
            && user.len() >= MIN_USER_TOKEN_CHARS
            && self.has_user_info(stop);
        (is_user && is_opaque(user)).then_some((end, stop))
    }

    /// Whether an `@` follows before the host ends.
    fn has_user_info(&self, at: usize) -> bool {
        let rest = self.bytes.get(at..).unwrap_or_default().iter().take(MAX_USER_INFO_CHARS);
        let mut rest = rest.skip_while(|b| b.is_ascii_graphic() && !b"@/?#\"'`<>\\".contains(b));
        rest.next() == Some(&b'@')
    }

    /// Matches `?name=value`, `&name=value` and `name=value&…`, where `end` is
    /// after the `=`.
    fn match_query(&self, end: usize) -> Option<(usize, usize, SecretKind)> {
        let equals = end.checked_sub(1)?;
        let in_name = |b: &u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
        let head = self.bytes.get(equals.saturating_sub(MAX_NAME_CHARS)..equals)?;
        let length = head.iter().rev().take_while(|b| in_name(b)).count();
        let begin = equals - length;
        let is_parameter = self.byte_before(begin).is_some_and(|b| b"?&#".contains(&b));
        // Without a separator before it, the run may contain other names.
        let most = if is_parameter { usize::MAX } else { MAX_FIRST_PARAMETER_CHARS };
        let rest = self.bytes.get(end..)?.iter().take(most);
        let in_value = |b: &&u8| in_credential(**b) || b"%!*@:$,{".contains(b);
        let stop = end + rest.take_while(in_value).count();
        if !is_parameter && !self.is_parameter_at(stop) {
            return None;
        }
        let name = self.text.get(begin..equals)?;
        let is_session = matches!(name, "code" | "session");
        let signed = name.to_ascii_lowercase().ends_with("sig")
            || name.to_ascii_lowercase().ends_with("signature");
        if !signed && !is_session && !is_secret_name(name) {
            return None;
        }
        let value = self.text.get(end..stop)?;
        let lower = name.to_ascii_lowercase();
        let fits = if lower.contains("pass") || lower.contains("pwd") {
            value.len() >= 3 && !is_placeholder(value)
        } else if is_session {
            value.len() >= 16 && is_opaque(value)
        } else {
            value.len() >= 8 && !is_placeholder(value) && is_random(value, 30)
        };
        fits.then_some((end, stop, SecretKind::Query))
    }

    /// Whether `&name=` follows.
    fn is_parameter_at(&self, at: usize) -> bool {
        let in_name = |b: &&u8| b.is_ascii_alphanumeric() || b"_-.[]".contains(b);
        let Some((b'&', rest)) = self.bytes.get(at..).and_then(<[u8]>::split_first) else {
            return false;
        };
        let length = rest.iter().take(MAX_NAME_CHARS).take_while(in_name).count();
        length > 0 && rest.get(length) == Some(&b'=')
    }

    /// Returns the start of the value after a name that ends at `at`: after `:`
    /// or `=`, optional quotes and blanks.
    fn value_after(&self, at: usize) -> Option<usize> {
        let is_blank = |b: u8| b == b' ' || b == b'\t';
        let mut at = self.skip_quote(at);
        at = self.run_end(at, is_blank).min(at + 8);
        if !matches!(self.bytes.get(at), Some(b':' | b'=')) {
            return None;
        }
        at += 1;
        at = self.run_end(at, is_blank).min(at + 8);
        Some(self.skip_quote(at))
    }

    /// Skips a quote, escaped or not, if there is one.
    fn skip_quote(&self, at: usize) -> usize {
        let escape = usize::from(self.bytes.get(at) == Some(&b'\\'));
        match self.bytes.get(at + escape) {
            Some(b'"' | b'\'' | b'`') => at + escape + 1,
            _ => at,
        }
    }

    fn byte_before(&self, at: usize) -> Option<u8> {
        self.bytes.get(at.checked_sub(1)?).copied()
    }

    /// Whether a word begins at `at`, rather than continues. An escape is not
    /// part of a word: `\n`, `%3D`.
    fn begins_word(&self, at: usize, in_word: impl Fn(u8) -> bool) -> bool {
        let Some(last) = self.byte_before(at) else { return true };
        if !last.is_ascii_alphanumeric() && last != b'_' && !in_word(last) {
            return true;
        }
        if last == b'm' && self.ends_terminal_sequence(at) {
            return true;
        }
        match self.bytes.get(at.saturating_sub(3)..at) {
            Some([b'%', high, low]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
            Some([.., b'\\', b'b' | b'f' | b'n' | b'r' | b't']) => true,
            _ => false,
        }
    }

    /// Whether a sequence that sets a color ends at `at`.
    fn ends_terminal_sequence(&self, at: usize) -> bool {
        let before = self.bytes.get(at.saturating_sub(MAX_SEQUENCE_BYTES)..at).unwrap_or_default();
        let mut rest = before.iter().rev().skip(1);
        let mut rest = rest.by_ref().skip_while(|b| b.is_ascii_digit() || b"[;:".contains(b));
        rest.next() == Some(&0x1b)
    }

    /// Returns the end of the run that begins at `at`.
    fn run_end(&self, at: usize, in_run: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        at + rest.iter().take_while(|byte| in_run(**byte)).count()
    }
}

/// Returns the secret in a header's value, and how much of the value was read.
pub(crate) fn header_credential(
    value: &str,
    header: &str,
) -> (Option<(usize, usize, SecretKind)>, usize) {
    let examiner = TriggerExaminer::new(value);
    let mut from = 0;
    let mut stop = examiner.run_end(0, in_credential);
    let mut least = 16;
    let kind = if header.eq_ignore_ascii_case("x-api-key") {
        SecretKind::Key
    } else {
        SecretKind::Authorization
    };
    let first = value.get(..stop).unwrap_or_default();
    if is_auth_scheme(first) {
        from = examiner.run_end(stop, |b| b == b' ');
        stop = examiner.run_end(from, in_credential);
        least = 8;
    }
    if kind == SecretKind::Key {
        least = 8;
    }
    let body = value.get(from..stop).unwrap_or_default();
    let fits = body.len() >= least && is_random(body, 30);
    (fits.then_some((from, stop, kind)), stop)
}

/// Whether this may be the scheme before a credential: `Bearer`, `SSWS`,
/// `Klaviyo-API-Key`.
fn is_auth_scheme(word: &str) -> bool {
    (1..=MAX_SCHEME_CHARS).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_alphabetic() || b"-_".contains(&byte))
        && !OTHER_SCHEMES.iter().any(|other| other.eq_ignore_ascii_case(word))
}

/// Returns the canonical name, as [`header_credential`] expects it, of a header
/// whose value is a secret.
pub(crate) fn secret_header(name: &str) -> Option<&'static str> {
    let is_one_of = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    if is_one_of(&["authorization", "proxy-authorization"]) {
        Some("authorization")
    } else {
        is_one_of(KEY_HEADERS).then_some("x-api-key")
    }
}

/// Returns the length of the lines that are part of a key, which may have
/// numbers.
fn key_lines_length(text: &str) -> usize {
    let in_key = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\\ \t\r".contains(byte);
    let (mut at, mut length) = (0, 0);
    for line in text.split_inclusive('\n') {
        let prefix = special_tokens::line_prefix_length(line.as_bytes());
        let content = line.get(prefix..).unwrap_or_default().trim_end();
        let key = content.bytes().take_while(in_key).count();
        // What follows a blank line or another character is not the key.
        let is_end = key < content.len() || key == 0 && length > 0;
        if key > 0 {
            length = at + prefix + key;
        }
        if is_end {
            break;
        }
        at += line.len();
    }
    length
}

fn in_token_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn in_credential(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte)
}

fn in_aws_secret(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'/' || byte == b'+'
}

#[cfg(test)]
#[path = "patterns_tests.rs"]
pub(crate) mod tests;
