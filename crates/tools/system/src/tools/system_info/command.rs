//! Command lines of processes for display. They often contain passwords, so
//! anything that looks like one is redacted.

use std::ffi::OsString;

use hermes_secrets::{is_secret_name, is_secret_value};

/// Maximum characters of a command line.
const MAX_COMMAND_CHARS: usize = 160;
/// Maximum characters of an argument, and arguments, that are scanned.
const MAX_ARGUMENT_CHARS: usize = 2_000;
const MAX_ARGUMENTS: usize = 200;
const HIDDEN_MARK: &str = "[hidden]";

/// Single-letter options that take a password, and the programs that have them.
const PASSWORD_OPTIONS: &[(&str, &[&str])] = &[
    ("-p", &["sshpass", "mysql", "mysqldump", "mysqladmin", "mariadb", "docker", "podman"]),
    ("-u", &["curl", "wget", "http", "https"]),
    ("-a", &["redis-cli"]),
    ("-P", &["zip", "unzip", "7z"]),
    ("-w", &["ldapsearch", "ldapadd", "ldapmodify"]),
];

/// Returns the command line with apparent secrets redacted.
pub(super) fn redacted_command(arguments: &[OsString]) -> Option<String> {
    let mut reader = CommandRedactor::default();
    for argument in arguments.iter().take(MAX_ARGUMENTS) {
        let text: String = argument.to_string_lossy().chars().take(MAX_ARGUMENT_CHARS).collect();
        reader.push_argument(&text);
    }
    let line = reader.words.join(" ");
    let line = match line.char_indices().nth(MAX_COMMAND_CHARS) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    };
    (!line.is_empty()).then_some(line)
}

#[derive(Debug, Default)]
struct CommandRedactor {
    words: Vec<String>,
    program: String,
    next: NextWord,
}

/// How to treat the next word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum NextWord {
    #[default]
    Plain,
    Hidden,
    /// Part of a redacted value, up to this quote.
    Until(char),
    /// Part of a redacted value, up to the end of the argument.
    Rest,
}

impl CommandRedactor {
    /// Adds an argument word by word, since it may be a whole script.
    fn push_argument(&mut self, argument: &str) {
        if self.next == NextWord::Hidden || argument.contains("-----BEGIN ") {
            self.next = NextWord::Plain;
            self.words.push(HIDDEN_MARK.to_owned());
            return;
        }
        self.next = NextWord::Plain;
        for word in argument.split_whitespace() {
            match self.next {
                NextWord::Plain => self.push_word(word),
                NextWord::Hidden => self.hide("", word),
                NextWord::Until(quote) if word.contains(quote) => self.next = NextWord::Plain,
                NextWord::Until(_) | NextWord::Rest => {}
            }
        }
        if self.next != NextWord::Hidden {
            self.next = NextWord::Plain;
        }
    }

    /// Redacts a value, which may span several words.
    fn hide(&mut self, before: &str, value: &str) {
        self.words.push(format!("{before}{HIDDEN_MARK}"));
        let value = value.trim_start_matches('$');
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let open = quote.filter(|quote| value.matches(*quote).count() == 1);
        self.next = open.map_or(NextWord::Plain, NextWord::Until);
    }

    fn push_word(&mut self, word: &str) {
        let bare = word.trim_matches(['"', '\'', '(', ')', ';', ',']);
        let name = bare.rsplit('/').next().unwrap_or(bare);
        let is_known = || PASSWORD_OPTIONS.iter().any(|(_, programs)| programs.contains(&name));
        if self.words.is_empty() || is_known() {
            name.clone_into(&mut self.program);
        }
        if is_secret_value(bare) {
            return self.hide("", word);
        }
        // A header, such as `Authorization: Bearer x`.
        if let Some(name) = bare.strip_suffix(':').filter(|name| is_secret_name(name)) {
            self.words.push(format!("{name}: {HIDDEN_MARK}"));
            let quote = word.chars().next().filter(|c| matches!(c, '"' | '\''));
            self.next = quote.map_or(NextWord::Rest, NextWord::Until);
            return;
        }
        if let Some(at) = word.find(['=', ':'])
            && let Some((name, value)) = word.split_at_checked(at + 1)
            && !value.is_empty()
            && !value.starts_with("//")
            && is_secret_name(option_name(name))
        {
            return self.hide(name, value);
        }
        let letter = PASSWORD_OPTIONS.iter().find(|(letter, programs)| {
            word.starts_with(letter) && programs.contains(&self.program.as_str())
        });
        match letter {
            Some((letter, _)) if word.len() > letter.len() => {
                return self.hide(letter, word.get(letter.len()..).unwrap_or_default());
            }
            Some(_) => self.next = NextWord::Hidden,
            None if word.starts_with('-') && is_secret_name(option_name(word)) => {
                self.next = NextWord::Hidden;
            }
            None => {}
        }
        self.words.push(word.to_owned());
    }
}

/// Returns the name in `--db-password=`.
fn option_name(text: &str) -> &str {
    text.trim_matches(['-', '"', '\'', '/', '=', ':'])
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
