//! Options and operands of a command line.

use crate::leaf::Word;

/// The arguments of a program, sorted.
#[derive(Debug, Default)]
pub(crate) struct Args {
    flags: Vec<(String, Option<Word>)>,
    pub(crate) operands: Vec<Word>,
}

impl Args {
    /// Sorts `words`. The options in `valued` (`-o`, `--output`) take the next
    /// word, or the rest of their own, as their value.
    pub(crate) fn parse(words: &[Word], valued: &[&str]) -> Self {
        let mut args = Args::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if text == "--" {
                args.operands.extend(words.cloned());
                break;
            }
            if text == "-" || !text.starts_with('-') {
                args.operands.push(word.clone());
            } else if text.starts_with("--") {
                match text.split_once('=') {
                    Some((name, value)) => {
                        let value = Word { text: value.to_owned(), ..word.clone() };
                        args.flags.push((name.to_owned(), Some(value)));
                    }
                    None if valued.contains(&text) => {
                        args.flags.push((text.to_owned(), words.next().cloned()));
                    }
                    None => args.flags.push((text.to_owned(), None)),
                }
            } else if valued.contains(&text) {
                args.flags.push((text.to_owned(), words.next().cloned()));
            } else {
                args.cluster(word, valued, &mut words);
            }
        }
        args
    }

    fn cluster(&mut self, word: &Word, valued: &[&str], words: &mut std::slice::Iter<'_, Word>) {
        let letters = word.text.get(1..).unwrap_or("");
        for (at, letter) in letters.char_indices() {
            let name = format!("-{letter}");
            if !valued.contains(&name.as_str()) {
                self.flags.push((name, None));
                continue;
            }
            let rest = letters.get(at + letter.len_utf8()..).unwrap_or("");
            let value = if rest.is_empty() {
                words.next().cloned()
            } else {
                Some(Word { text: rest.to_owned(), ..word.clone() })
            };
            self.flags.push((name, value));
            return;
        }
    }

    /// Whether one of these options is given. A long one may be cut short, as
    /// GNU programs allow.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.flags.iter().any(|(flag, _)| names.iter().any(|name| same(flag, name)))
    }

    /// The values of these options.
    pub(crate) fn values(&self, names: &[&str]) -> Vec<Word> {
        self.flags
            .iter()
            .filter(|(flag, _)| names.iter().any(|name| same(flag, name)))
            .filter_map(|(_, value)| value.clone())
            .collect()
    }

    /// The first value of these options.
    pub(crate) fn value(&self, names: &[&str]) -> Option<Word> {
        self.values(names).into_iter().next()
    }

    /// The text of an operand.
    pub(crate) fn operand(&self, index: usize) -> &str {
        self.operands.get(index).map_or("", |word| word.text.as_str())
    }
}

fn same(flag: &str, name: &str) -> bool {
    flag == name || (flag.len() > 3 && flag.starts_with("--") && name.starts_with(flag))
}

/// Whether help or the version is asked for, and nothing else.
pub(crate) fn asks_for_help(words: &[Word]) -> bool {
    words.get(1..).unwrap_or(&[]).iter().any(|word| {
        matches!(word.text.as_str(), "--help" | "--version" | "-help" | "-h" | "-V" | "--usage")
    })
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
