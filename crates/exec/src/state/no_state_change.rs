//! Detects commands that cannot change the shell: most calls of programs, alone
//! or in sequence.

use super::ShellState;
use super::bytes::ShellBytes;
use super::script::GONE_PREFIX;

/// Builtins and keywords that may change the shell, or hide what is called.
/// Excludes builtins that cannot.
const STATE_CHANGING_WORDS: &str = "\
    ! . [ [[ alias bg bind break builtin caller case cd command compgen complete compopt \
    continue coproc declare dirs disown do done elif else enable esac eval exec exit export \
    fc fg fi for function getopts hash help history if in jobs let local logout mapfile popd \
    printf pushd read readarray readonly return select set shift shopt source suspend test \
    then time trap typeset ulimit umask unalias unset until wait while";

/// The other builtins.
const HARMLESS_BUILTINS: &str = ": echo false kill pwd times true type";

/// Whether the word is a bash builtin or keyword.
pub(crate) fn is_builtin(program: &str) -> bool {
    STATE_CHANGING_WORDS.split(' ').chain(HARMLESS_BUILTINS.split(' ')).any(|word| word == program)
}

/// Returns the state after a command that changes nothing and writes no report.
/// None if its report must be read.
pub fn unchanged_state(state: &ShellState, command: &str) -> Option<ShellState> {
    leaves_state_unchanged(state, command).then(|| {
        let last = last_word(command).map(|word| ShellBytes::from(word.as_bytes()));
        ShellState { last, dropped: Vec::new(), ..state.clone() }
    })
}

/// Returns the same state if the report says that the directory was removed.
pub fn state_after_cwd_loss(
    state: &ShellState,
    command: &str,
    report: &[u8],
) -> Option<ShellState> {
    let left = report.strip_prefix(GONE_PREFIX.as_bytes())?;
    let left = left.strip_suffix(b"\n\n").unwrap_or(left);
    let state = unchanged_state(state, command)?;
    Some(ShellState { cwd: Some(left.into()), is_adrift: true, ..state })
}

/// Returns the value of `$_` after a command of one program and plain words.
pub(super) fn last_word(command: &str) -> Option<&str> {
    let plain = |letter: char| {
        letter.is_alphanumeric() || matches!(letter, ' ' | '_' | '.' | '/' | '-' | ':' | ',' | '+')
    };
    command.chars().all(plain).then(|| command.split(' ').rfind(|word| !word.is_empty()))?
}

/// Whether every part of the command calls something that cannot change the
/// shell. Returns false for anything it does not understand.
pub(super) fn leaves_state_unchanged(state: &ShellState, command: &str) -> bool {
    let mut rest = command;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n']);
        if rest.is_empty() {
            return true;
        }
        let end = rest.find(|letter| !is_program_char(letter)).unwrap_or(rest.len());
        let (program, after) = rest.split_at(end);
        let ends_there = after.is_empty() || after.starts_with([' ', '\t', '\n', ';', '|', '&']);
        if program.is_empty()
            || !ends_there
            || STATE_CHANGING_WORDS.split(' ').any(|word| word == program)
            || state.defines_command(program)
        {
            return false;
        }
        match skip_words(after) {
            Some(after) => rest = after,
            None => return false,
        }
    }
}

fn is_program_char(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '/' | '-' | '+')
}

/// Skips the words after a program, and returns the text after the operator
/// that ends them. None if it meets more than words.
fn skip_words(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let mut letters = rest.chars();
        let Some(letter) = letters.next() else { return Some("") };
        let after = letters.as_str();
        rest = match letter {
            '\n' | ';' => return Some(after),
            '|' => return Some(after.strip_prefix('|').unwrap_or(after)),
            '&' => return after.strip_prefix('&'),
            '\'' => after.split_once('\'')?.1,
            '"' => skip_quoted(after)?,
            '$' => skip_name(after)?,
            '\\' => {
                let mut letters = after.chars();
                letters.next().filter(|letter| *letter != '\n')?;
                letters.as_str()
            }
            '>' => {
                let after = after.strip_prefix('>').unwrap_or(after);
                after.strip_prefix('&').unwrap_or(after)
            }
            '<' if !after.starts_with('<') => after,
            // `{name}>file` sets a variable.
            '}' if after.starts_with(['<', '>']) => return None,
            '<' | '#' | '(' | ')' | '`' => return None,
            _ if letter.is_control() && letter != '\t' => return None,
            _ => after,
        };
    }
}

/// Skips a double-quoted string in which only a plain `$NAME` expands.
fn skip_quoted(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let at = rest.find(['"', '$', '`', '\\'])?;
        let (_, special) = rest.split_at(at);
        match special.split_at(1) {
            ("\"", after) => return Some(after),
            ("$", after) => rest = skip_name(after)?,
            _ => return None,
        }
    }
}

fn skip_name(text: &str) -> Option<&str> {
    let end = text
        .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .unwrap_or(text.len());
    let (name, after) = text.split_at(end);
    (super::variable::is_variable_name(name)).then_some(after)
}

#[cfg(test)]
#[path = "no_state_change_tests.rs"]
mod tests;
