//! The command line of a process as it may be shown. Command lines are known
//! to carry passwords; what looks like one is hidden.

use std::ffi::OsString;

use hermes_secrets::{is_secret_name, is_secret_value};

/// The most characters of one.
const SHOWN: usize = 160;
/// The most that is looked at.
const LOOKED: usize = 8 * 1024;
const HIDDEN: &str = "[hidden]";

/// Options of one letter that are followed by a password, and of which programs.
const LETTERS: &[(&str, &[&str])] = &[
    ("-p", &["sshpass", "mysql", "mysqldump", "mysqladmin", "mariadb", "docker", "podman", "htpasswd"]),
    ("-u", &["curl", "wget", "http", "https"]),
    ("-a", &["redis-cli"]),
    ("-P", &["zip", "unzip", "7z"]),
    ("-w", &["ldapsearch", "ldapadd", "ldapmodify"]),
];

/// The words of a command line, what looks secret hidden.
pub(super) fn shown(arguments: &[OsString]) -> Option<String> {
    let line: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    let line: String = line.join(" ").chars().take(LOOKED).collect();
    let mut words = Vec::new();
    let mut program = "";
    let mut next = Next::Plain;
    for word in line.split_whitespace() {
        if words.is_empty() || !word.starts_with('-') && is_program(word) {
            program = word.rsplit('/').next().unwrap_or(word);
        }
        let (shown, follows) = match next {
            Next::Plain => judge(word, program),
            Next::Hidden => (HIDDEN.to_owned(), open_quote(word).map_or(Next::Plain, Next::Until)),
            Next::Until(quote) => {
                let ends = word.ends_with(quote);
                (String::new(), if ends { Next::Plain } else { Next::Until(quote) })
            }
        };
        next = follows;
        if !shown.is_empty() {
            words.push(shown);
        }
    }
    let line = words.join(" ");
    let cut = line.char_indices().nth(SHOWN).map(|(at, _)| at);
    let line = cut.map_or_else(|| line.clone(), |at| format!("{}…", line.get(..at).unwrap_or("")));
    (!line.is_empty()).then_some(line)
}

/// What is to be done with the next word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Plain,
    Hidden,
    /// It belongs to what was hidden, until this quote.
    Until(char),
}

fn is_program(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    LETTERS.iter().any(|(_, programs)| programs.contains(&name))
}

fn judge(word: &str, program: &str) -> (String, Next) {
    let bare = word.trim_matches(['"', '\'', '(', ')', ';', ',']);
    // A header, as in `-H "Authorization: Bearer x"`.
    if let Some(name) = bare.strip_suffix(':')
        && is_secret_name(name)
    {
        let quote = word.chars().next().filter(|c| matches!(c, '"' | '\''));
        return (format!("{word} {HIDDEN}"), quote.map_or(Next::Hidden, Next::Until));
    }
    if bare.eq_ignore_ascii_case("bearer") || bare.eq_ignore_ascii_case("basic") {
        return (word.to_owned(), Next::Hidden);
    }
    if let Some((name, value)) = word.split_once(['=', ':'])
        && !value.is_empty()
        && !value.starts_with("//")
        && is_secret_name(&plain_name(name))
    {
        let sign = word.get(name.len()..=name.len()).unwrap_or("=");
        return (
            format!("{name}{sign}{HIDDEN}"),
            open_quote(value).map_or(Next::Plain, Next::Until),
        );
    }
    for (letter, programs) in LETTERS {
        if let Some(rest) = word.strip_prefix(letter)
            && programs.contains(&program)
        {
            let is_alone = rest.is_empty();
            let next = if is_alone { Next::Hidden } else { Next::Plain };
            let shown = if is_alone { word.to_owned() } else { format!("{letter}{HIDDEN}") };
            return (shown, next);
        }
    }
    if word.starts_with('-') && !word.contains('=') && is_secret_name(&plain_name(word)) {
        return (word.to_owned(), Next::Hidden);
    }
    if is_secret_value(bare) || has_login(bare) {
        return (HIDDEN.to_owned(), Next::Plain);
    }
    let value = bare.split_once('=').map_or(bare, |(_, value)| value);
    if is_secret_value(value) || has_login(value) {
        return (HIDDEN.to_owned(), Next::Plain);
    }
    (word.to_owned(), Next::Plain)
}

/// `--db-password` as a variable would be written.
fn plain_name(text: &str) -> String {
    text.trim_start_matches(['-', '"', '\'', '/']).replace(['-', '.'], "_")
}

/// An address with a password in it.
fn has_login(word: &str) -> bool {
    let Some((_, rest)) = word.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    authority.rsplit_once('@').is_some_and(|(login, _)| login.contains(':'))
}

/// The quote that a value begins with and does not end with.
fn open_quote(value: &str) -> Option<char> {
    let quote = value.trim_start_matches('$').chars().next()?;
    let is_open = matches!(quote, '"' | '\'') && (value.len() == 1 || !value.ends_with(quote));
    is_open.then_some(quote)
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
