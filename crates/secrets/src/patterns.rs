//! Shapes of secrets that nobody has told us: tokens of well-known services,
//! private keys, credentials in headers and addresses.
//!
//! One automaton finds the triggers; what stands at one is then read by hand,
//! and no letter is read more than a few times. What people write in place of
//! a secret, in code and in documents, is left alone.

use crate::names::is_secret_name;

mod assigned;
mod judge;
mod table;

pub(crate) use assigned::values as assigned_values;
pub(crate) use judge::is_stand_in;
use judge::{is_filler, is_random};
pub(crate) use table::{Kind, TRIGGERS};
use table::{Shape, Trigger};

/// As far as the secret of an access key id stands behind it.
const AWS_REACH: usize = 160;

/// A private key has at least one run of so many letters.
const KEY_RUN: usize = 32;

/// The longest name of a query parameter or of a header.
const MAX_NAME: usize = 48;

/// Ways to say who one is in an `Authorization` header. `Basic` is not among
/// them: it is judged by what it decodes to.
const SCHEMES: &[&str] = &["apikey", "bearer", "bot", "key", "token"];

const KEY_HEADERS: &[&str] = &[
    "api-key",
    "ocp-apim-subscription-key",
    "private-token",
    "x-api-key",
    "x-auth-token",
    "x-goog-api-key",
];

/// Reads a text at its triggers, from the left.
#[derive(Debug)]
pub(crate) struct Examiner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// What lies before was judged as the value of a header or a parameter.
    judged: usize,
}

impl<'a> Examiner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, bytes: text.as_bytes(), judged: 0 }
    }

    /// Reports what stands at a trigger that lies from `start` to `end`.
    pub(crate) fn examine(
        &mut self,
        trigger: Trigger,
        start: usize,
        end: usize,
        mut report: impl FnMut(usize, usize, Kind),
    ) {
        let found = match trigger {
            Trigger::Shape(at) => {
                table::SHAPES.get(at).and_then(|shape| self.shape(shape, start, end))
            }
            Trigger::Jwt => self.jwt(start),
            Trigger::Dotted => self.dotted(start, end),
            Trigger::PrivateKey => self.private_key(start, end),
            Trigger::AwsId => {
                let found = self.aws_id(start, end);
                if let Some((_, id_end, _)) = found
                    && let Some((start, end)) = self.aws_secret_after(id_end)
                {
                    report(start, end, Kind::AwsSecret);
                }
                found
            }
            Trigger::AwsSecret => self.aws_secret(end),
            Trigger::Bearer => self.bearer(start, end),
            Trigger::Basic => self.basic(start, end),
            Trigger::Authorization => self.header(end, "authorization"),
            Trigger::KeyHeader => self.header(end, "x-api-key"),
            Trigger::Url => self.url_password(start, end),
            Trigger::Query => self.query(end),
        };
        if let Some((start, end, kind)) = found {
            report(start, end, kind);
        }
    }

    fn shape(&self, shape: &Shape, start: usize, end: usize) -> Option<(usize, usize, Kind)> {
        // A token never begins inside a run of its own letters, so that no
        // run is read twice.
        if !self.begins_word(start, shape.body) {
            return None;
        }
        let stop = self.run(end, shape.body);
        let body = self.text.get(end..stop)?;
        let fits = body.len() >= shape.least
            && if shape.wordy { is_random(body, 14) } else { !is_filler(body) };
        fits.then_some((start, stop, shape.kind))
    }

    /// Three parts, of which two are JSON objects.
    fn jwt(&self, start: usize) -> Option<(usize, usize, Kind)> {
        if !self.begins_word(start, in_token_word) {
            return None;
        }
        let mut at = self.run(start, in_token_word);
        if at < start + 10 || self.bytes.get(at) != Some(&b'.') {
            return None;
        }
        if !self.bytes.get(at + 1..)?.starts_with(b"eyJ") {
            return None;
        }
        at = self.run(at + 1, in_token_word);
        let signature = at + 1;
        let end = self.run(signature, in_token_word);
        let signed = self.bytes.get(at) == Some(&b'.') && end >= signature + 4;
        signed.then_some((start, end, Kind::Jwt))
    }

    /// `SG.` and two parts.
    fn dotted(&self, start: usize, end: usize) -> Option<(usize, usize, Kind)> {
        if !self.begins_word(start, in_token_word) {
            return None;
        }
        let first = self.run(end, in_token_word);
        let second = self.run(first + 1, in_token_word);
        let fits = self.bytes.get(first) == Some(&b'.')
            && first >= end + 16
            && second > first + 16
            && !is_filler(self.text.get(end..first)?);
        fits.then_some((start, second, Kind::SendGrid))
    }

    /// A private key with its frame, or as much of it as there is.
    fn private_key(&self, start: usize, end: usize) -> Option<(usize, usize, Kind)> {
        let title = self.run(end, |b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' ');
        let is_key = self.text.get(end..title)?.contains("PRIVATE KEY");
        let body = title + 5;
        if !is_key || !self.bytes.get(title..)?.starts_with(b"-----") {
            return None;
        }
        let rest = self.text.get(body..)?;
        // Stops at the next key, too, so that no text is gone over twice.
        let frame = rest.find("-----").unwrap_or(rest.len());
        let inside = rest.get(..frame)?;
        if !judge::has_run(inside, KEY_RUN) {
            return None;
        }
        let closing = rest.get(frame..).unwrap_or_default();
        let stop = if closing.starts_with("-----END ") {
            let title = self.run(body + frame + 9, |b| b.is_ascii_alphanumeric() || b == b' ');
            self.run(title, |b| b == b'-').min(title + 5)
        } else {
            let in_key = |c: char| c.is_ascii_alphanumeric() || "+/=\\".contains(c);
            let key = inside.split(|c: char| !in_key(c) && !c.is_whitespace()).next();
            body + key.unwrap_or_default().trim_end().len()
        };
        Some((start, stop, Kind::PrivateKey))
    }

    fn aws_id(&self, start: usize, end: usize) -> Option<(usize, usize, Kind)> {
        if !self.begins_word(start, in_token_word) {
            return None;
        }
        let stop = self.run(end, |b| b.is_ascii_uppercase() || b.is_ascii_digit());
        let ends = !self.bytes.get(stop).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        let fits = stop == end + 16 && ends && !is_filler(self.text.get(end..stop)?);
        fits.then_some((start, stop, Kind::AwsId))
    }

    /// The 40 letters that follow an access key id, if they do.
    fn aws_secret_after(&self, at: usize) -> Option<(usize, usize)> {
        let limit = self.bytes.len().min(at + AWS_REACH);
        let mut at = at;
        while at < limit {
            if !in_aws_secret(*self.bytes.get(at)?) {
                at += 1;
                continue;
            }
            // A longer run is something else, however long it is.
            let length =
                self.bytes.iter().skip(at).take(AWS_REACH).take_while(|b| in_aws_secret(**b));
            let end = at + length.count();
            if self.is_aws_secret(at, end) {
                return Some((at, end));
            }
            at = end;
        }
        None
    }

    /// `aws_secret_access_key = …`.
    fn aws_secret(&mut self, end: usize) -> Option<(usize, usize, Kind)> {
        let start = self.value_after(end)?;
        if start < self.judged {
            return None;
        }
        let stop = self.run(start, in_aws_secret);
        self.judged = stop;
        self.is_aws_secret(start, stop).then_some((start, stop, Kind::AwsSecret))
    }

    fn is_aws_secret(&self, start: usize, end: usize) -> bool {
        let body = self.text.get(start..end).unwrap_or_default();
        body.len() == 40
            && body.contains(|c: char| c.is_ascii_uppercase())
            && body.contains(|c: char| c.is_ascii_lowercase())
            && body.contains(|c: char| c.is_ascii_digit())
            && !is_filler(body)
    }

    /// `Bearer …`, whatever stands before it.
    fn bearer(&self, start: usize, end: usize) -> Option<(usize, usize, Kind)> {
        if !self.before(start).is_some_and(|b| b.eq_ignore_ascii_case(&b'b')) {
            return None;
        }
        let from = self.run(end, |b| b == b' ');
        let stop = self.run(from, in_credential);
        let fits = is_random(self.text.get(from..stop)?, 30) && stop >= from + 16;
        fits.then_some((from, stop, Kind::Authorization))
    }

    /// `Basic …`, if it decodes to `user:password`.
    fn basic(&self, start: usize, end: usize) -> Option<(usize, usize, Kind)> {
        if !self.before(start).is_some_and(|b| b.eq_ignore_ascii_case(&b'b')) {
            return None;
        }
        let from = self.run(end, |b| b == b' ');
        let stop = self.run(from, |b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
        let fits = judge::is_basic_credential(self.text.get(from..stop)?);
        fits.then_some((from, stop, Kind::Authorization))
    }

    /// A header that ends at `end`, with its value.
    fn header(&mut self, end: usize, name: &str) -> Option<(usize, usize, Kind)> {
        let start = self.value_after(end)?;
        if start < self.judged {
            return None;
        }
        let (found, read) = credential(self.text.get(start..)?, name);
        self.judged = start + read;
        found.map(|(from, to, kind)| (start + from, start + to, kind))
    }

    /// `scheme://user:password@host`; only the password goes.
    fn url_password(&self, start: usize, end: usize) -> Option<(usize, usize, Kind)> {
        if !self.before(start).is_some_and(|b| b.is_ascii_alphanumeric()) {
            return None;
        }
        let ends = |c: char| c.is_whitespace() || "/?#\"'`<>\\".contains(c);
        let authority = self.text.get(end..)?.split(ends).next()?;
        let (user_info, _host) = authority.rsplit_once('@')?;
        let (user, password) = user_info.split_once(':')?;
        let from = end + user.len() + 1;
        let fits = !is_stand_in(password);
        fits.then_some((from, from + password.len(), Kind::UrlPassword))
    }

    /// `?name=value` and `&name=value`, where `=` lies before `end`.
    fn query(&self, end: usize) -> Option<(usize, usize, Kind)> {
        let equals = end.checked_sub(1)?;
        let in_name = |b: &u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
        let head = self.bytes.get(equals.saturating_sub(MAX_NAME)..equals)?;
        let length = head.iter().rev().take_while(|b| in_name(b)).count();
        let begin = equals - length;
        if !self.before(begin).is_some_and(|b| b"?&#".contains(&b)) {
            return None;
        }
        let name = self.text.get(begin..equals)?;
        let signed = name.to_ascii_lowercase().ends_with("sig")
            || name.to_ascii_lowercase().ends_with("signature");
        if !signed && !is_secret_name(name) {
            return None;
        }
        let stop = self.run(end, |b| in_credential(b) || b"%!*@:$,{".contains(&b));
        let value = self.text.get(end..stop)?;
        let lower = name.to_ascii_lowercase();
        let fits = if lower.contains("pass") || lower.contains("pwd") {
            value.len() >= 3 && !is_stand_in(value)
        } else {
            value.len() >= 8 && !is_stand_in(value) && is_random(value, 30)
        };
        fits.then_some((end, stop, Kind::Query))
    }

    /// Where the value begins after a name that ends at `at`: behind `:` or
    /// `=`, with quotes and blanks as they come.
    fn value_after(&self, at: usize) -> Option<usize> {
        let is_blank = |b: u8| b == b' ' || b == b'\t';
        let mut at = self.quote(at);
        at = self.run(at, is_blank).min(at + 8);
        if !matches!(self.bytes.get(at), Some(b':' | b'=')) {
            return None;
        }
        at += 1;
        at = self.run(at, is_blank).min(at + 8);
        Some(self.quote(at))
    }

    /// Behind a quote, escaped or not, if there is one.
    fn quote(&self, at: usize) -> usize {
        let escape = usize::from(self.bytes.get(at) == Some(&b'\\'));
        match self.bytes.get(at + escape) {
            Some(b'"' | b'\'' | b'`') => at + escape + 1,
            _ => at,
        }
    }

    fn before(&self, at: usize) -> Option<u8> {
        self.bytes.get(at.checked_sub(1)?).copied()
    }

    /// Whether what begins at `at` is not the rest of a longer word. An
    /// escape is no part of a word: `\n`, `%3D`.
    fn begins_word(&self, at: usize, in_word: impl Fn(u8) -> bool) -> bool {
        let Some(last) = self.before(at) else { return true };
        if !last.is_ascii_alphanumeric() && last != b'_' && !in_word(last) {
            return true;
        }
        match self.bytes.get(at.saturating_sub(3)..at) {
            Some([b'%', high, low]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
            Some([.., b'\\', b'b' | b'f' | b'n' | b'r' | b't']) => true,
            _ => false,
        }
    }

    /// The end of the run that begins at `at`.
    fn run(&self, at: usize, in_run: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        at + rest.iter().take_while(|byte| in_run(**byte)).count()
    }
}

/// The secret in the value of a header, and how much of the value was read.
pub(crate) fn credential(value: &str, header: &str) -> (Option<(usize, usize, Kind)>, usize) {
    let examiner = Examiner::new(value);
    let mut from = 0;
    let mut stop = examiner.run(0, in_credential);
    let mut least = 16;
    let kind =
        if header.eq_ignore_ascii_case("x-api-key") { Kind::Key } else { Kind::Authorization };
    let first = value.get(..stop).unwrap_or_default();
    if SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(first)) {
        from = examiner.run(stop, |b| b == b' ');
        stop = examiner.run(from, in_credential);
        least = 8;
    }
    if kind == Kind::Key {
        least = 8;
    }
    let body = value.get(from..stop).unwrap_or_default();
    let fits = body.len() >= least && is_random(body, 30);
    (fits.then_some((from, stop, kind)), stop)
}

/// The header whose value is a secret, under the name that [`credential`]
/// knows it by.
pub(crate) fn secret_header(name: &str) -> Option<&'static str> {
    let is_one_of = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    if is_one_of(&["authorization", "proxy-authorization"]) {
        Some("authorization")
    } else {
        is_one_of(KEY_HEADERS).then_some("x-api-key")
    }
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
