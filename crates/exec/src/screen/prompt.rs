//! Detects whether the last line of a program's output is a prompt.
//!
//! It is one of two signs; the other is that the program reads its terminal. A
//! miss costs a wait, but a false positive interrupts a working job, so only
//! well-known forms of prompts count.

use super::prompt_words::{
    ANY_KEY_WORDS, CONFIRMATION_STARTS, CONTINUATION_PROMPTS, FIELD_LABELS, INTERPRETER_PROMPTS,
    QUESTION_STARTS, SECRET_WORDS, USER_WORDS,
};

/// A longer line is not a prompt.
const MAX_PROMPT_BYTES: usize = 240;

/// Maximum bytes examined at the end of the output.
const MAX_TAIL_BYTES: usize = 8192;

/// A prompt that waits for user input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalPrompt {
    /// What the prompt asks for.
    pub kind: PromptKind,
    /// The trimmed prompt line.
    pub line: String,
}

/// What a prompt asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PromptKind {
    /// A secret. Input is most likely not echoed.
    Password,
    /// Yes or no, or one of a few letters.
    Confirmation,
    /// A line of text: a name, a number, a choice.
    Question,
    /// Any key, or Enter, to continue.
    AnyKey,
    /// A statement: for a shell, a debugger, a database.
    Interpreter,
    /// A key that navigates in a pager.
    Pager,
    /// Keys that edit a text.
    Editor,
}

/// Detects a prompt at the end of a text.
///
/// The text is plain, without escape sequences: the end of a log, or the
/// contents of a screen. Trailing blanks matter, since `> ` is a prompt and `>`
/// is not always; [`super::TerminalScreen::detect_prompt`] derives them from
/// the cursor. After a line break only unambiguous prompts count.
pub fn detect_prompt(tail: &str) -> Option<TerminalPrompt> {
    let mut start = tail.len().saturating_sub(MAX_TAIL_BYTES);
    while !tail.is_char_boundary(start) {
        start += 1;
    }
    let tail = tail.get(start..)?;
    if let Some(prompt) = detect_editor(tail) {
        return Some(prompt);
    }
    let (text, ended) = match tail.strip_suffix('\n') {
        Some(text) => (text.strip_suffix('\r').unwrap_or(text), true),
        None => (tail, false),
    };
    let mut lines = text.rsplit('\n');
    let line = lines.next()?;
    // Text before a carriage return has been overwritten.
    let line = line.rsplit('\r').next().unwrap_or(line);
    let before = lines.next().unwrap_or_default();
    let kind = if ended { unambiguous_kind(line) } else { classify_line(line, before) }?;
    Some(TerminalPrompt { kind, line: line.trim().to_owned() })
}

/// Detects an editor by its last lines, since its cursor is in the text.
pub(super) fn detect_editor(text: &str) -> Option<TerminalPrompt> {
    let mut lines = text.trim_end().rsplit('\n').map(str::trim);
    let last = lines.next()?;
    let nano = |line: &str| line.starts_with('^') && line.contains("^X ");
    let vim_mode = ["-- INSERT --", "-- REPLACE --", "-- VISUAL", "-- SELECT"];
    let vim = vim_mode.iter().any(|mode| last.starts_with(mode)) || is_vim_file(last);
    let emacs =
        |line: &str| line.starts_with("-UU") || line.starts_with("-:-") || line.starts_with("-:*");
    let above = lines.next().unwrap_or_default();
    let line = if nano(last) || vim || emacs(last) {
        last
    } else if (nano(above) && last.starts_with('^')) || emacs(above) {
        above
    } else {
        return None;
    };
    Some(TerminalPrompt { kind: PromptKind::Editor, line: line.to_owned() })
}

/// Matches vim's status after it opens or writes a file: `"a.txt" 3L, 20B`.
fn is_vim_file(line: &str) -> bool {
    let Some((_, rest)) = line.strip_prefix('"').and_then(|rest| rest.split_once('"')) else {
        return false;
    };
    let rest = rest.trim_start();
    if rest.starts_with("[New]") || rest.starts_with("[New File]") {
        return true;
    }
    let rest = rest.rsplit(']').next().unwrap_or(rest).trim_start();
    let (lines, bytes) = rest.split_once("L, ").unwrap_or_default();
    let bytes = bytes.split([' ', 'B', 'C']).next().unwrap_or_default();
    is_number(lines) && is_number(bytes)
}

/// Detects prompts that are clear even when a line break follows.
fn unambiguous_kind(line: &str) -> Option<PromptKind> {
    let lower = lowercase_prompt(line)?;
    if is_any_key(&lower) {
        Some(PromptKind::AnyKey)
    } else if has_choice(&lower) {
        Some(PromptKind::Confirmation)
    } else {
        None
    }
}

fn classify_line(line: &str, before: &str) -> Option<PromptKind> {
    let trimmed = line.trim();
    if is_pager(line) {
        return Some(PromptKind::Pager);
    }
    if is_interpreter(line, before) || is_shell(line) {
        return Some(PromptKind::Interpreter);
    }
    let lower = lowercase_prompt(line)?;
    if is_any_key(&lower) {
        return Some(PromptKind::AnyKey);
    }
    if has_choice(&lower) {
        return Some(PromptKind::Confirmation);
    }
    if is_password(&lower) {
        return Some(PromptKind::Password);
    }
    if let Some(asked) = lower.strip_suffix('?') {
        return question_kind(asked);
    }
    is_question(&lower, trimmed).then_some(PromptKind::Question)
}

/// Returns the line in lower case, if it has the length of a prompt.
fn lowercase_prompt(line: &str) -> Option<String> {
    let line = line.trim();
    (2..=MAX_PROMPT_BYTES).contains(&line.len()).then(|| line.to_lowercase())
}

/// Matches "Press any key", "hit return", "press <enter> to continue".
fn is_any_key(line: &str) -> bool {
    ["press ", "hit ", "strike "].iter().any(|verb| {
        line.match_indices(verb).any(|(at, _)| {
            let starts = !line[..at].ends_with(char::is_alphanumeric);
            let rest = line[at + verb.len()..].trim_start_matches(['<', '[', '\'', '"', '`']);
            let rest = rest.strip_prefix("the ").unwrap_or(rest);
            let key = ANY_KEY_WORDS.iter().find_map(|key| rest.strip_prefix(key));
            starts && key.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric()))
        })
    })
}

/// Matches a choice in brackets at the end: `[Y/n]`, `(yes/no)?`, `[y,n,q,?]`,
/// `(y)`.
fn has_choice(line: &str) -> bool {
    let line = line.trim_end_matches(['?', ':', '>', ' ', '.']);
    if ["y/n", "yes/no", "y or n", "yes or no"]
        .iter()
        .any(|end| line.strip_suffix(end).is_some_and(|rest| rest.ends_with([' ', '?'])))
    {
        return true;
    }
    // unzip: [y]es, [n]o, [A]ll.
    if line.contains("[y]es") && line.contains("[n]o") {
        return true;
    }
    let (open, inner) = if let Some(inner) = line.strip_suffix(')') {
        ('(', inner)
    } else if let Some(inner) = line.strip_suffix(']') {
        ('[', inner)
    } else {
        return false;
    };
    // ssh puts its fingerprint choice in nested brackets.
    let Some((asked, inner)) =
        inner.strip_suffix("/[fingerprint]").unwrap_or(inner).rsplit_once(open)
    else {
        return false;
    };
    if inner == "y or n" || inner == "yes or no" {
        return true;
    }
    let choices: Vec<&str> = inner.split(['/', ',', '|']).map(str::trim).collect();
    if let [default] = choices.as_slice() {
        // A default alone counts only after a question.
        return matches!(*default, "y" | "n" | "yes" | "no") && asked.trim_end().ends_with('?');
    }
    let has = |short, long| choices.iter().any(|choice| *choice == short || *choice == long);
    has("y", "yes") && has("n", "no") && choices.iter().all(|choice| choice.len() <= 12)
}

/// Matches a line that ends with a colon and names a secret.
fn is_password(line: &str) -> bool {
    let Some(asked) = line.strip_suffix([':', '：']) else { return false };
    let words = || asked.split(|c: char| !c.is_alphanumeric() && c != '-');
    SECRET_WORDS.iter().any(|secret| {
        // Not every writing system separates words with blanks.
        if secret.contains(' ') || !secret.is_ascii() {
            asked.contains(secret)
        } else {
            words().any(|word| word == *secret)
        }
    }) && !is_status_line(asked)
}

/// Matches status messages such as `error: wrong password:` and `[12:03:01]
/// checking password:`.
fn is_status_line(line: &str) -> bool {
    let first = line.split([':', ' ']).next().unwrap_or_default();
    matches!(first, "error" | "warning" | "warn" | "info" | "debug" | "fatal" | "note")
        || (first.ends_with("ing") && !matches!(first, "existing" | "signing" | "keyring"))
        || first.trim_start_matches('[').starts_with(|c: char| c.is_ascii_digit())
}

/// Classifies a line that ends with a question mark.
fn question_kind(asked: &str) -> Option<PromptKind> {
    if is_status_line(asked) {
        return None;
    }
    if asked == "#" {
        // Prompt of the shell's `select`.
        return Some(PromptKind::Question);
    }
    let confirms = CONFIRMATION_STARTS
        .iter()
        .any(|start| asked.starts_with(start) || asked.contains(&format!(" {start}")))
        || ["rm: ", "mv: ", "cp: ", "ln: "].iter().any(|tool| asked.starts_with(tool));
    if confirms {
        return Some(PromptKind::Confirmation);
    }
    // A URL may end with a question mark too.
    let worded = asked
        .ends_with(|c: char| c.is_alphanumeric() || matches!(c, '\'' | '"' | ')' | ']' | ' '))
        && asked.starts_with(|c: char| c.is_alphabetic() || matches!(c, '?' | '[' | '('))
        && !asked.contains("://");
    worded.then_some(PromptKind::Question)
}

/// Matches a line that ends with a colon and asks for input, optionally with a
/// default in brackets: `Enter a value:`, `login:`, `version: (1.0.0)`.
fn is_question(lower: &str, line: &str) -> bool {
    let lower = lower.strip_prefix("? ").unwrap_or(lower);
    let asked = match lower.strip_suffix(':') {
        Some(asked) => without_default(asked.trim_end()),
        None => match lower.rsplit_once(": ") {
            Some((asked, default)) if is_default(default) && line.ends_with(')') => asked,
            _ => return false,
        },
    };
    if is_status_line(asked) && !FIELD_LABELS.contains(&asked) {
        return false;
    }
    let first = asked.split(' ').next().unwrap_or_default();
    FIELD_LABELS.contains(&asked)
        || (QUESTION_STARTS.contains(&first) && asked.contains(' '))
        || USER_WORDS.iter().any(|user| {
            asked == *user
                || asked.strip_prefix(user).is_some_and(|rest| rest.starts_with(" for "))
                || asked.strip_suffix(user).is_some_and(|rest| {
                    rest.strip_suffix(' ')
                        .is_some_and(|host| !host.is_empty() && !host.contains(' '))
                })
        })
}

fn is_default(text: &str) -> bool {
    text.len() > 2 && text.starts_with('(') && text.ends_with(')') && !text.contains([' ', '%'])
}

/// Strips the default: `selection [1]` becomes `selection`.
fn without_default(asked: &str) -> &str {
    let open = match asked.chars().last() {
        Some(')') => " (",
        Some(']') => " [",
        _ => return asked,
    };
    asked.rsplit_once(open).map_or(asked, |(asked, _)| asked)
}

fn is_pager(line: &str) -> bool {
    let line = line.trim();
    line == ":"
        || line == "(END)"
        || line.starts_with("--More--")
        || line.starts_with("-- More --")
        || line.starts_with("HELP -- Press RETURN")
        || (line.starts_with("Manual page ") && line.contains(" line "))
        || is_line_range(line)
}

/// Matches `lines 1-23` and `lines 1-23/100 (END)`.
fn is_line_range(line: &str) -> bool {
    let Some(range) = line.strip_prefix("lines ") else { return false };
    let range = range.strip_suffix("(END)").unwrap_or(range).trim();
    let range =
        range.rsplit_once(' ').filter(|(_, end)| end.ends_with('%')).map_or(range, |(r, _)| r);
    let (from, to) = range.split_once('-').unwrap_or_default();
    let (to, of) = to.split_once('/').unwrap_or((to, "0"));
    [from, to, of].into_iter().all(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_interpreter(line: &str, before: &str) -> bool {
    let prompt = line.trim_end();
    if INTERPRETER_PROMPTS.contains(&prompt) {
        return true;
    }
    // Ambiguous on their own; a trailing blank or the statement being continued
    // decides.
    let bare = prompt.trim_start();
    if CONTINUATION_PROMPTS.contains(&bare) {
        let started = before.contains("> ") || before.trim_start().starts_with(bare);
        return started || (prompt == ">" && line.ends_with(' '));
    }
    let is_python = |rest: &str| rest.strip_suffix("]:").is_some_and(is_number);
    if prompt.strip_prefix("In [").is_some_and(is_python) {
        return true;
    }
    // PostgreSQL: the database, the state of the statement, the kind of user.
    if let Some(rest) = prompt.strip_suffix(['#', '>'])
        && let Some(database) = rest.strip_suffix(['=', '-', '('])
        && line.ends_with(' ')
        && is_name(database)
    {
        return true;
    }
    let Some(rest) = prompt.strip_suffix('>') else { return false };
    if let Some(place) = prompt.strip_prefix("PS ") {
        return place.starts_with(['/', '~']) || place.get(1..3) == Some(":\\");
    }
    let rest = rest.trim_end();
    // Names with a position: irb(main):001, MariaDB [(none)], iex(1).
    let rest = rest.rsplit_once(':').filter(|(_, n)| is_number(n)).map_or(rest, |(name, _)| name);
    let rest = rest.rsplit_once(':').filter(|(_, n)| is_number(n)).map_or(rest, |(name, _)| name);
    let rest = match rest.chars().last() {
        Some(')') => rest.split_once('(').map_or(rest, |(name, _)| name),
        Some(']') => rest.split_once('[').map_or(rest, |(name, _)| name),
        _ => rest,
    };
    // Pry puts a counter first: [1] pry(main).
    let rest = match rest.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((count, name)) if is_number(count) => name,
        _ => rest,
    };
    is_name(rest.trim_end())
}

/// Matches a short name of a program or database, or a server address.
fn is_name(text: &str) -> bool {
    let (text, _) = text.rsplit_once(':').filter(|(_, port)| is_number(port)).unwrap_or((text, ""));
    (1..=40).contains(&text.len())
        && text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// Matches `user@host:~$`, `[user@host dir]#`, `bash-5.2$`, and `$` with a
/// blank.
fn is_shell(line: &str) -> bool {
    let prompt = line.trim_end();
    let Some(rest) = prompt.strip_suffix(['$', '#', '%']) else { return false };
    if prompt.len() == 1 {
        return line.ends_with(' ');
    }
    let rest = rest.trim();
    // An active virtual environment comes first: (venv) user@host.
    let rest = match rest.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((_, rest)) => rest,
        None => rest,
    };
    let version =
        ["bash-", "sh-", "dash-", "zsh-"].iter().find_map(|shell| rest.strip_prefix(shell));
    if version.is_some_and(|version| version.bytes().all(|b| b.is_ascii_digit() || b == b'.')) {
        return true;
    }
    let rest = rest.strip_prefix('[').unwrap_or(rest);
    let (user, place) = rest.split_once('@').unwrap_or_default();
    is_name(user)
        && place.starts_with(|c: char| c.is_alphanumeric())
        && (place.contains([':', ']', ' ', '~', '/']) || is_name(place))
        && place.len() <= 120
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
