//! The command line of a process as it may be shown. Command lines are known
//! to carry passwords; what looks like one is hidden.

use std::ffi::OsString;

use hermes_secrets::{is_secret_name, is_secret_value};

/// The most characters of one.
const SHOWN: usize = 160;
/// The most characters of an argument, and arguments, that are looked at.
const LOOKED: usize = 2_000;
const ARGUMENTS: usize = 200;
const HIDDEN: &str = "[hidden]";

/// Options of one letter that have a password, and of which programs.
const LETTERS: &[(&str, &[&str])] = &[
    ("-p", &["sshpass", "mysql", "mysqldump", "mysqladmin", "mariadb", "docker", "podman"]),
    ("-u", &["curl", "wget", "http", "https"]),
    ("-a", &["redis-cli"]),
    ("-P", &["zip", "unzip", "7z"]),
    ("-w", &["ldapsearch", "ldapadd", "ldapmodify"]),
];

/// The command line, what looks secret hidden.
pub(super) fn shown(arguments: &[OsString]) -> Option<String> {
    let mut reader = Reader::default();
    for argument in arguments.iter().take(ARGUMENTS) {
        let text: String = argument.to_string_lossy().chars().take(LOOKED).collect();
        reader.take(&text);
    }
    let line = reader.words.join(" ");
    let line = match line.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    };
    (!line.is_empty()).then_some(line)
}

#[derive(Debug, Default)]
struct Reader {
    words: Vec<String>,
    program: String,
    next: Next,
}

/// What is to be done with the next word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Next {
    #[default]
    Plain,
    Hidden,
    /// It belongs to what was hidden, up to this quote.
    Until(char),
    /// It belongs to what was hidden, up to the end of the argument.
    Rest,
}

impl Reader {
    /// An argument may be a whole script, so its words are looked at.
    fn take(&mut self, argument: &str) {
        if self.next == Next::Hidden || argument.contains("-----BEGIN ") {
            self.next = Next::Plain;
            self.words.push(HIDDEN.to_owned());
            return;
        }
        self.next = Next::Plain;
        for word in argument.split_whitespace() {
            match self.next {
                Next::Plain => self.judge(word),
                Next::Hidden => self.hide("", word),
                Next::Until(quote) if word.contains(quote) => self.next = Next::Plain,
                Next::Until(_) | Next::Rest => {}
            }
        }
        if self.next != Next::Hidden {
            self.next = Next::Plain;
        }
    }

    /// Hides a value, also one of several words.
    fn hide(&mut self, before: &str, value: &str) {
        self.words.push(format!("{before}{HIDDEN}"));
        let value = value.trim_start_matches('$');
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let open = quote.filter(|quote| value.matches(*quote).count() == 1);
        self.next = open.map_or(Next::Plain, Next::Until);
    }

    fn judge(&mut self, word: &str) {
        let bare = word.trim_matches(['"', '\'', '(', ')', ';', ',']);
        let name = bare.rsplit('/').next().unwrap_or(bare);
        let is_known = || LETTERS.iter().any(|(_, programs)| programs.contains(&name));
        if self.words.is_empty() || is_known() {
            name.clone_into(&mut self.program);
        }
        if is_secret_value(bare) {
            return self.hide("", word);
        }
        // A header, such as `Authorization: Bearer x`.
        if let Some(name) = bare.strip_suffix(':').filter(|name| is_secret_name(name)) {
            self.words.push(format!("{name}: {HIDDEN}"));
            let quote = word.chars().next().filter(|c| matches!(c, '"' | '\''));
            self.next = quote.map_or(Next::Rest, Next::Until);
            return;
        }
        if let Some(at) = word.find(['=', ':'])
            && let Some((name, value)) = word.split_at_checked(at + 1)
            && !value.is_empty()
            && !value.starts_with("//")
            && is_secret_name(plain(name))
        {
            return self.hide(name, value);
        }
        let letter = LETTERS.iter().find(|(letter, programs)| {
            word.starts_with(letter) && programs.contains(&self.program.as_str())
        });
        match letter {
            Some((letter, _)) if word.len() > letter.len() => {
                return self.hide(letter, word.get(letter.len()..).unwrap_or_default());
            }
            Some(_) => self.next = Next::Hidden,
            None if word.starts_with('-') && is_secret_name(plain(word)) => {
                self.next = Next::Hidden;
            }
            None => {}
        }
        self.words.push(word.to_owned());
    }
}

/// The name in `--db-password=`.
fn plain(text: &str) -> &str {
    text.trim_matches(['-', '"', '\'', '/', '=', ':'])
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
