//! The string of `env -S`, which env splits into arguments of its own.

use crate::eval_context::InnerCommand;
use crate::leaf::ShellWord;

/// Returns the command of `env -S`: env again, with the words of the string in
/// place of the option. `None` if none of env's own options is `-S`.
pub(crate) fn split_command(arguments: &[ShellWord], valued: &[&str]) -> Option<InnerCommand> {
    let (string, rest) = split_string(arguments, valued)?;
    let env = ShellWord::literal("env");
    let words = string.known_text().and_then(split_words);
    Some(match words {
        Some(words) => {
            let words = words.into_iter().map(|text| ShellWord { text, ..string.clone() });
            let all = std::iter::once(env).chain(words).chain(rest.iter().cloned());
            InnerCommand::Words(all.collect())
        }
        None => {
            let texts = std::iter::once(&string).chain(rest).map(|word| word.text.as_str());
            let text = texts.collect::<Vec<_>>().join(" ");
            InnerCommand::Source(ShellWord { text, known: false, ..string })
        }
    })
}

/// Returns the value of `-S` among the options of env, and the words after it.
fn split_string<'w>(
    arguments: &'w [ShellWord],
    valued: &[&str],
) -> Option<(ShellWord, &'w [ShellWord])> {
    let mut rest = arguments;
    loop {
        let (word, after) = rest.split_first()?;
        let text = word.text.as_str();
        let letters = text.strip_prefix('-').filter(|letters| !letters.is_empty())?;
        let glued = |value: &str| ShellWord { text: value.to_owned(), ..word.clone() };
        if let Some(long) = letters.strip_prefix('-') {
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
            if name.is_empty() {
                return None;
            }
            // Long options may be abbreviated.
            if "split-string".starts_with(name) {
                return match value {
                    Some(value) => Some((glued(value), after)),
                    None => after.split_first().map(|(value, after)| (value.clone(), after)),
                };
            }
        } else {
            let takes = |c: char| {
                c == 'S' || valued.iter().any(|name| name.len() == 2 && name.ends_with(c))
            };
            let found = letters.char_indices().find(|(_, c)| takes(*c));
            if let Some((at, 'S')) = found {
                return match letters.get(at + 1..).filter(|value| !value.is_empty()) {
                    Some(value) => Some((glued(value), after)),
                    None => after.split_first().map(|(value, after)| (value.clone(), after)),
                };
            }
        }
        let skip = usize::from(crate::wrappers::takes_next(text, valued));
        rest = after.get(skip..)?;
    }
}

/// Splits a string as GNU env does. `None` if it refers to a variable or is
/// invalid.
fn split_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(open)) if c == open => quote = None,
            ('$', None | Some('"')) => return None,
            ('\\', Some('\'')) => match chars.next()? {
                c @ ('\\' | '\'') => word.get_or_insert_default().push(c),
                c => word.get_or_insert_default().extend(['\\', c]),
            },
            ('\\', _) => match chars.next()? {
                c @ ('"' | '#' | '$' | '\'' | '\\') => word.get_or_insert_default().push(c),
                '_' if quote.is_none() => words.extend(word.take()),
                '_' => word.get_or_insert_default().push(' '),
                'c' if quote.is_none() => break,
                'f' => word.get_or_insert_default().push('\u{c}'),
                'n' => word.get_or_insert_default().push('\n'),
                'r' => word.get_or_insert_default().push('\r'),
                't' => word.get_or_insert_default().push('\t'),
                'v' => word.get_or_insert_default().push('\u{b}'),
                _ => return None,
            },
            (' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r', None) => words.extend(word.take()),
            ('#', None) if word.is_none() => break,
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return None;
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
#[path = "env_split_tests.rs"]
mod tests;
