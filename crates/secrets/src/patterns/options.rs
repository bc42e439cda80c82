//! Credentials in the options of well-known commands: `curl -u user:password`,
//! `sshpass -p password`, `mysql -ppassword`.

use super::named_values::{ValueStyle, is_named_secret};
use super::plausibility::is_placeholder;
use super::{SecretKind, TriggerExaminer};

/// The longest value of an option.
const MAX_VALUE_CHARS: usize = 1024;

/// How far before an option its command is.
const MAX_COMMAND_CHARS: usize = 256;

/// Blanks between the parts of a list.
const MAX_BLANKS: usize = 64;

/// Commands whose `-p` is followed by a password.
const PASSWORD_COMMANDS: &[&str] = &["sshpass", "login"];

/// Commands with the password directly after `-p`.
const ATTACHED_COMMANDS: &[&str] =
    &["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlcheck", "mariadb", "mariadb-dump"];

impl TriggerExaminer<'_> {
    /// Matches the password of `-u user:password`.
    pub(super) fn match_user_option(
        &self,
        start: usize,
        end: usize,
    ) -> Option<(usize, usize, SecretKind)> {
        let (from, to) = self.option_value(end)?;
        let (user, password) = self.text.get(from..to)?.split_once(':')?;
        let is_http = self.command_words(start).any(|word| word.ends_with("curl"));
        let is_number = password.bytes().all(|byte| byte.is_ascii_digit());
        let fits = if is_http {
            !is_placeholder(password) && !password.starts_with('%')
        } else {
            // `docker run -u user:group`
            !is_number && user != password && is_chosen_password(password, ValueStyle::Quoted)
        };
        let from = from + user.len() + 1;
        let is_user = !user.is_empty() && !user.contains('/') && !password.starts_with("//");
        (fits && is_user).then_some((from, to, SecretKind::Named))
    }

    /// Reports the cookies of `-b "name=value; …"`.
    pub(super) fn cookie_option(&self, end: usize, mut report: impl FnMut(usize, usize)) {
        if let Some((from, to)) = self.option_value(end) {
            self.cookie_pairs(from, to, &mut report);
        }
    }

    /// Matches the password after `-p`, for commands with such an option.
    pub(super) fn match_password_option(
        &self,
        start: usize,
        end: usize,
    ) -> Option<(usize, usize, SecretKind)> {
        let is_attached = !matches!(self.bytes.get(end)?, b' ' | b'\t');
        let has_command = |known: &[&str]| {
            self.command_words(start)
                .any(|word| known.contains(&word.rsplit('/').next().unwrap_or(word)))
        };
        let takes_password = has_command(PASSWORD_COMMANDS);
        let has_attached = is_attached && has_command(ATTACHED_COMMANDS);
        if !takes_password && !has_attached {
            return None;
        }
        let (from, to) = self.option_value(end)?;
        let value = self.text.get(from..to)?;
        // A port follows directly: `ssh login -p2222`.
        let is_port = is_attached && value.bytes().all(|byte| byte.is_ascii_digit());
        let fits = !is_port && !is_placeholder(value) && !value.starts_with(['-', '%', '\\']);
        fits.then_some((from, to, SecretKind::Named))
    }

    /// Matches the password of `auth=("user", "password")`, where the bracket
    /// ends at `at`.
    pub(super) fn match_auth_pair(&self, at: usize) -> Option<(usize, usize, SecretKind)> {
        let (user_start, user_end) = self.quoted_text(self.skip_space(at))?;
        let user_quote = self.skip_quote(user_end);
        let comma = self.skip_space(user_quote);
        if user_start == user_end || self.bytes.get(comma) != Some(&b',') {
            return None;
        }
        let (from, to) = self.quoted_text(self.skip_space(comma + 1))?;
        let fits = is_chosen_password(self.text.get(from..to)?, ValueStyle::Environment);
        fits.then_some((from, to, SecretKind::Named))
    }

    /// Returns the words of the command before `at`, the last one first.
    fn command_words(&self, at: usize) -> impl Iterator<Item = &str> {
        let mut from = at.saturating_sub(MAX_COMMAND_CHARS);
        while !self.text.is_char_boundary(from) {
            from += 1;
        }
        let before = self.text.get(from..at).unwrap_or_default();
        let command = before.rsplit(['\n', ';', '|', '&']).next().unwrap_or_default();
        command.rsplit(|c: char| c.is_whitespace() || "\"'`(:".contains(c))
    }

    /// Returns the range of the value of an option: after blanks or `=`,
    /// between quotes or up to a blank.
    fn option_value(&self, end: usize) -> Option<(usize, usize)> {
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
        let rest = self.bytes.get(end..)?;
        let blanks = rest.iter().take(8).take_while(is_blank).count();
        let at = end + blanks + usize::from(rest.get(blanks) == Some(&b'='));
        if let Some(quoted) = self.quoted_text(at) {
            return Some(quoted);
        }
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`;|&<>)".contains(byte);
        let rest = self.bytes.get(at..)?.iter().take(MAX_VALUE_CHARS);
        let to = at + rest.take_while(|byte| !ends(byte)).count();
        (to > at).then_some((at, to))
    }

    /// Returns the range between quotes, if a quote is at `at`.
    fn quoted_text(&self, at: usize) -> Option<(usize, usize)> {
        let from = self.skip_quote(at);
        if from == at {
            return None;
        }
        let quote = self.byte_before(from)?;
        let rest = self.bytes.get(from..)?.iter().take(MAX_VALUE_CHARS);
        let ends = |byte: &u8| *byte == quote || matches!(byte, b'\n' | b'\\');
        Some((from, from + rest.take_while(|byte| !ends(byte)).count()))
    }

    /// Returns the position after a few blanks and line ends.
    pub(super) fn skip_space(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default().iter().take(MAX_BLANKS);
        at + rest.take_while(|byte| byte.is_ascii_whitespace()).count()
    }
}

fn is_chosen_password(value: &str, style: ValueStyle) -> bool {
    is_named_secret("password", value, style)
}
