//! Tokens without a prefix of their own, and credentials in cookies and
//! `.netrc` files.

use super::plausibility::{is_filler, is_placeholder, is_random};
use super::{SecretKind, TriggerExaminer, in_token_word};

/// Digits of a Telegram bot's number.
const MIN_BOT_DIGITS: usize = 6;
const MAX_BOT_DIGITS: usize = 12;

/// Characters after the number.
const MIN_BOT_TOKEN_CHARS: usize = 30;

/// Characters of the three parts of a Discord token.
const MIN_DISCORD_ID_CHARS: usize = 23;
const MAX_DISCORD_ID_CHARS: usize = 28;
const DISCORD_TIME_CHARS: usize = 6;
const MIN_DISCORD_KEY_CHARS: usize = 27;

/// Characters of the two parts of an Airtable token.
const AIRTABLE_ID_CHARS: usize = 14;
const AIRTABLE_KEY_CHARS: usize = 64;

/// Characters of the two parts of a secret of Azure.
const AZURE_ID_CHARS: usize = 4;
const MIN_AZURE_KEY_CHARS: usize = 31;
const MAX_AZURE_KEY_CHARS: usize = 34;

/// Characters of the two parts of a Terraform token.
const TERRAFORM_ID_CHARS: usize = 14;
const MIN_TERRAFORM_KEY_CHARS: usize = 40;

/// Characters of a Mailchimp key before its data center.
const MAILCHIMP_KEY_CHARS: usize = 32;

/// The longest line of cookies.
const MAX_COOKIE_CHARS: usize = 8192;

/// Shorter values of cookies are settings.
const MIN_COOKIE_CHARS: usize = 8;

/// How far before its password the host and the user of a `.netrc` entry are.
const NETRC_ENTRY_CHARS: usize = 256;

/// The longest number of a line, and the blanks before it.
const MAX_NUMBER_CHARS: usize = 8;

/// Attributes of a cookie that are no secrets.
const COOKIE_ATTRIBUTES: &[&str] = &["domain", "expires", "max-age", "path", "samesite", "version"];

/// Reports Airtable tokens: `pat`, an identifier, a dot and a key in
/// hexadecimal. The prefix is part of too many words for the automaton.
pub(crate) fn airtable_tokens(text: &str, mut report: impl FnMut(usize, usize)) {
    let bytes = text.as_bytes();
    for start in memchr::memmem::find_iter(bytes, b"pat") {
        let dot = start + 3 + AIRTABLE_ID_CHARS;
        if bytes.get(dot) != Some(&b'.') {
            continue;
        }
        let end = dot + 1 + AIRTABLE_KEY_CHARS;
        let is_all = |range: std::ops::Range<usize>, fits: fn(&u8) -> bool| {
            bytes.get(range).is_some_and(|part| part.iter().all(fits))
        };
        let begins = start
            .checked_sub(1)
            .and_then(|at| bytes.get(at))
            .is_none_or(|byte| !in_token_word(*byte));
        let fits = begins
            && is_all(start..dot, u8::is_ascii_alphanumeric)
            && is_all(dot + 1..end, u8::is_ascii_hexdigit)
            && !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
        if fits {
            report(start, end);
        }
    }
}

impl TriggerExaminer<'_> {
    /// Matches `123456789:A…`, also after `bot` as in a URL.
    pub(super) fn match_telegram(
        &self,
        start: usize,
        end: usize,
    ) -> Option<(usize, usize, SecretKind)> {
        // The trigger has the last digit.
        let start = start + 1;
        let before = self.bytes.get(start.saturating_sub(MAX_BOT_DIGITS + 1)..start)?;
        let digits = before.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        if !(MIN_BOT_DIGITS..=MAX_BOT_DIGITS).contains(&digits) {
            return None;
        }
        let begin = start - digits;
        let follows_bot = self.bytes.get(..begin)?.ends_with(b"bot");
        if !follows_bot && !self.begins_word(begin, in_token_word) {
            return None;
        }
        let stop = self.run_end(end, in_token_word);
        let body = self.text.get(start + 1..stop)?;
        let fits = body.len() >= MIN_BOT_TOKEN_CHARS && is_random(body, 14);
        fits.then_some((begin, stop, SecretKind::Telegram))
    }

    /// Matches a number in base64, a time, which begins at the trigger, and a
    /// key.
    pub(super) fn match_discord(
        &self,
        start: usize,
        end: usize,
    ) -> Option<(usize, usize, SecretKind)> {
        let before = self.bytes.get(start.saturating_sub(MAX_DISCORD_ID_CHARS + 1)..start)?;
        let length = before.iter().rev().take_while(|byte| in_token_word(**byte)).count();
        let begin = start - length;
        let has_id = (MIN_DISCORD_ID_CHARS..=MAX_DISCORD_ID_CHARS).contains(&length)
            && matches!(self.bytes.get(begin), Some(b'M' | b'N' | b'O'));
        let time_end = start + 1 + DISCORD_TIME_CHARS;
        let is_time = |byte: &u8| in_token_word(*byte);
        let has_time = self.bytes.get(end..time_end)?.iter().all(is_time)
            && self.bytes.get(time_end) == Some(&b'.');
        if !has_id || !has_time {
            return None;
        }
        let stop = self.run_end(time_end + 1, in_token_word);
        let fits =
            stop > time_end + MIN_DISCORD_KEY_CHARS && !is_filler(self.text.get(begin..stop)?);
        fits.then_some((begin, stop, SecretKind::Discord))
    }

    /// Reports the values of a `Cookie` or `Set-Cookie` header.
    pub(super) fn cookie_values(&mut self, end: usize, mut report: impl FnMut(usize, usize)) {
        if end < self.examined_to {
            return;
        }
        let ends = |byte: u8| byte == b'\n' || byte == b'"' || byte == b'\'';
        let rest = self.bytes.get(end..).unwrap_or_default().iter().take(MAX_COOKIE_CHARS);
        let stop = end + rest.take_while(|byte| !ends(**byte)).count();
        self.examined_to = stop;
        self.cookie_pairs(end, stop, &mut report);
    }

    /// Reports the values in `name=value; …`.
    pub(super) fn cookie_pairs(
        &self,
        from: usize,
        to: usize,
        report: &mut impl FnMut(usize, usize),
    ) {
        let mut at = from;
        for pair in self.text.get(from..to).unwrap_or_default().split_inclusive(';') {
            let text = pair.trim_end_matches(';').trim_end();
            if let Some((name, value)) = text.split_once('=') {
                let is_attribute =
                    COOKIE_ATTRIBUTES.iter().any(|known| known.eq_ignore_ascii_case(name.trim()));
                let fits = value.len() >= MIN_COOKIE_CHARS
                    && !is_attribute
                    && !value.contains(char::is_whitespace)
                    && !is_placeholder(value)
                    && is_random(value, 30);
                if fits {
                    report(at + name.len() + 1, at + text.len());
                }
            }
            at += pair.len();
        }
    }

    /// Matches three characters, a digit, `Q~` and a key.
    pub(super) fn match_azure_secret(
        &self,
        start: usize,
        end: usize,
    ) -> Option<(usize, usize, SecretKind)> {
        let in_key = |byte: u8| byte.is_ascii_alphanumeric() || b"_~.-".contains(&byte);
        let begin = start.checked_sub(AZURE_ID_CHARS)?;
        let id = self.bytes.get(begin..start)?;
        let has_id = id.iter().all(|byte| in_key(*byte)) && id.last()?.is_ascii_digit();
        if !has_id || !self.begins_word(begin, in_key) {
            return None;
        }
        let stop = self.run_end(end, in_key);
        let key = self.text.get(end..stop)?.trim_end_matches('.');
        let fits = (MIN_AZURE_KEY_CHARS..=MAX_AZURE_KEY_CHARS).contains(&key.len());
        (fits && !is_filler(key)).then_some((begin, end + key.len(), SecretKind::Key))
    }

    /// Matches an identifier, `.atlasv1.` and a key.
    pub(super) fn match_terraform(
        &self,
        start: usize,
        end: usize,
    ) -> Option<(usize, usize, SecretKind)> {
        let before = self.bytes.get(start.saturating_sub(TERRAFORM_ID_CHARS)..start)?;
        let length = before.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let stop = self.run_end(end, in_token_word);
        let key = self.text.get(end..stop)?;
        let fits = length == TERRAFORM_ID_CHARS && key.len() >= MIN_TERRAFORM_KEY_CHARS;
        (fits && !is_filler(key)).then_some((start - length, stop, SecretKind::Key))
    }

    /// Matches 32 hexadecimal digits before the name of a data center: `-us12`.
    pub(super) fn match_mailchimp(
        &self,
        start: usize,
        end: usize,
    ) -> Option<(usize, usize, SecretKind)> {
        let begin = start.checked_sub(MAILCHIMP_KEY_CHARS)?;
        let key = self.text.get(begin..start)?;
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let stop = end + usize::from(self.bytes.get(end).is_some_and(u8::is_ascii_digit));
        let fits = key.bytes().all(is_hex)
            && self.begins_word(begin, in_token_word)
            && !self.bytes.get(stop).is_some_and(|byte| in_token_word(*byte))
            && !is_filler(key);
        fits.then_some((begin, stop, SecretKind::Key))
    }

    /// Matches the password of a `.netrc` entry, also after line numbers.
    pub(super) fn match_netrc_password(
        &self,
        start: usize,
        end: usize,
    ) -> Option<(usize, usize, SecretKind)> {
        let begins = |byte: u8| byte.is_ascii_whitespace() || b"|:+-".contains(&byte);
        if !self.byte_before(start).is_none_or(begins) {
            return None;
        }
        let from = self.run_end(end, |byte| byte == b' ' || byte == b'\t');
        let to = self.run_end(from, |byte| byte.is_ascii_graphic());
        let before = self.bytes.get(start.saturating_sub(NETRC_ENTRY_CHARS)..start)?;
        let is_space = u8::is_ascii_whitespace;
        let words = || before.split(is_space).filter(|word| !is_line_prefix(word));
        // The password follows the user's name; a number alone may be one, or
        // that of the line.
        let is_number = |word: &&[u8]| word.iter().all(u8::is_ascii_digit);
        let is_key = |word| is_netrc_word(word, b"login") || is_netrc_word(word, b"account");
        let follows_login = words().rev().nth(1).is_some_and(is_key)
            || words().rev().skip_while(is_number).nth(1).is_some_and(is_key);
        let is_host = |word| is_netrc_word(word, b"machine") || is_netrc_word(word, b"default");
        let value = self.text.get(from..to)?;
        let fits = follows_login && words().any(is_host) && !value.is_empty();
        (fits && !is_placeholder(value)).then_some((from, to, SecretKind::Named))
    }
}

/// Whether this is a keyword, perhaps after the number of its line: `3|login`.
fn is_netrc_word(word: &[u8], keyword: &[u8]) -> bool {
    word.strip_suffix(keyword)
        .is_some_and(|before| before.last().is_none_or(|byte| b"|:+-\"'".contains(byte)))
}

/// Whether a word is empty or only the number of a line, a path with one, or
/// the sign of a diff: `3|`, `3:`, `path:3:`, `+`.
fn is_line_prefix(word: &[u8]) -> bool {
    let Some((last, number)) = word.split_last() else { return true };
    let first = number.split(|byte| b"|:+-".contains(byte)).next_back().unwrap_or_default();
    b"|:+-".contains(last) && first.iter().all(u8::is_ascii_digit)
}

/// Returns the length of the number of a line at the start, with its separator.
pub(super) fn line_prefix_length(line: &[u8]) -> usize {
    let blanks = line.iter().take(MAX_NUMBER_CHARS).take_while(|byte| **byte == b' ').count();
    let rest = line.get(blanks..).unwrap_or_default();
    let digits = rest.iter().take(MAX_NUMBER_CHARS).take_while(|byte| byte.is_ascii_digit());
    let digits = digits.count();
    match rest.get(digits) {
        Some(b'|' | b':' | b'-' | b'\t') if digits > 0 => blanks + digits + 1,
        Some(b'+' | b'-') if digits == 0 && blanks == 0 => 1,
        _ => 0,
    }
}
