//! Options and operands of a command line.

use std::borrow::Cow;
use std::ops::Range;

use crate::leaf::ShellWord;

/// The parsed arguments of a program.
#[derive(Debug, Default)]
pub(crate) struct CommandArgs<'w> {
    flags: Vec<(OptionName<'w>, Option<Cow<'w, ShellWord>>)>,
    /// Usually contiguous, so nothing needs to be copied.
    pub(crate) operands: Cow<'w, [ShellWord]>,
    /// Their range, while they are contiguous.
    span: Range<usize>,
}

/// The name of an option.
#[derive(Debug, Clone, Copy)]
enum OptionName<'w> {
    /// A single letter, possibly in a cluster.
    Letter(char),
    /// The whole option, with its dashes.
    Full(&'w str),
}

impl OptionName<'_> {
    fn is(self, name: &str) -> bool {
        match self {
            // The names compared with are our own ASCII constants.
            OptionName::Letter(letter) => {
                matches!(name.as_bytes(), [b'-', own] if char::from(*own) == letter)
            }
            OptionName::Full(flag) => flag == name,
        }
    }

    /// Whether this is option `name`. A long one may be abbreviated, as in GNU
    /// programs.
    fn means(self, name: &str) -> bool {
        match self {
            OptionName::Letter(_) => self.is(name),
            OptionName::Full(flag) => {
                flag == name || flag.len() > 3 && flag.starts_with("--") && name.starts_with(flag)
            }
        }
    }
}

impl<'w> CommandArgs<'w> {
    /// Parses `words`. The options in `valued` (`-o`, `--output`) take the next
    /// word, or the rest of their own, as their value.
    pub(crate) fn parse(words: &'w [ShellWord], valued: &[&str]) -> Self {
        Self::parse_with(words, valued, |_| false)
    }

    /// Same as [`CommandArgs::parse`], but long options with a value may be
    /// abbreviated, unless the word is one of the `bare` options.
    pub(crate) fn parse_abbreviated(
        words: &'w [ShellWord],
        valued: &[&str],
        bare: &[&str],
    ) -> Self {
        Self::parse_with(words, valued, |text| {
            text.len() > 3
                && !bare.contains(&text)
                && valued.iter().any(|option| option.starts_with(text))
        })
    }

    fn parse_with(words: &'w [ShellWord], valued: &[&str], is_cut: impl Fn(&str) -> bool) -> Self {
        let mut args = CommandArgs::default();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let text = word.text.as_str();
            at += 1;
            if text == "--" {
                args.add_operands(words, at..words.len());
                break;
            }
            let mut next = || {
                let value = words.get(at).map(Cow::Borrowed);
                at += 1;
                value
            };
            if text == "-" || !text.starts_with('-') {
                args.add_operands(words, at - 1..at);
            } else if let Some((name, value)) =
                text.split_once('=').filter(|_| text.starts_with("--"))
            {
                let value = ShellWord { text: value.to_owned(), ..word.clone() };
                args.flags.push((OptionName::Full(name), Some(Cow::Owned(value))));
            } else if valued.contains(&text) {
                args.flags.push((OptionName::Full(text), next()));
            } else if text.starts_with("--") {
                args.flags.push((OptionName::Full(text), is_cut(text).then(&mut next).flatten()));
            } else {
                args.add_cluster(word, valued, next);
            }
        }
        args
    }

    fn add_operands(&mut self, words: &'w [ShellWord], new: Range<usize>) {
        if self.span.is_empty() {
            self.span = new.start..new.start;
        }
        match &mut self.operands {
            Cow::Borrowed(side_by_side) if self.span.end == new.start => {
                self.span.end = new.end;
                *side_by_side = words.get(self.span.clone()).unwrap_or(&[]);
            }
            apart => apart.to_mut().extend_from_slice(words.get(new).unwrap_or(&[])),
        }
    }

    fn add_cluster(
        &mut self,
        word: &'w ShellWord,
        valued: &[&str],
        mut next: impl FnMut() -> Option<Cow<'w, ShellWord>>,
    ) {
        let letters = word.text.get(1..).unwrap_or("");
        for (at, letter) in letters.char_indices() {
            let flag = OptionName::Letter(letter);
            if !valued.iter().any(|name| flag.is(name)) {
                self.flags.push((flag, None));
                continue;
            }
            let rest = letters.get(at + letter.len_utf8()..).unwrap_or("");
            let value = if rest.is_empty() {
                next()
            } else {
                Some(Cow::Owned(ShellWord { text: rest.to_owned(), ..word.clone() }))
            };
            self.flags.push((flag, value));
            return;
        }
    }

    /// Whether one of these options is given.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.flags.iter().any(|(flag, _)| names.iter().any(|name| flag.means(name)))
    }

    /// Returns the values of these options.
    pub(crate) fn values(&self, names: &[&str]) -> Vec<ShellWord> {
        self.given_values(names).cloned().collect()
    }

    /// Returns the first value of these options.
    pub(crate) fn value(&self, names: &[&str]) -> Option<ShellWord> {
        self.given_values(names).next().cloned()
    }

    fn given_values(&self, names: &[&str]) -> impl Iterator<Item = &ShellWord> {
        let named = move |flag: &OptionName<'_>| names.iter().any(|name| flag.means(name));
        let flags = self.flags.iter().filter(move |(flag, _)| named(flag));
        flags.filter_map(|(_, value)| value.as_deref())
    }

    /// Returns the text of an operand; empty if there is none.
    pub(crate) fn operand(&self, index: usize) -> &str {
        self.operands.get(index).map_or("", |word| word.text.as_str())
    }
}

/// Programs that start their work with what is a help or version option
/// elsewhere.
const WORKING_OPTIONS: &[(&str, &str)] =
    &[("fsck", "-V"), ("http-server", "-V"), ("live-server", "-V"), ("telnetd", "-h")];

/// Whether a program only prints its help or version. The option must be where
/// it cannot be the value of another one. All but `--help` mean something else
/// to some programs (`mkfs -V` is verbose, `mkfs.vfat -h` takes a number), so
/// they must be the only argument.
pub(crate) fn asks_for_help(program: &str, arguments: &[ShellWord]) -> bool {
    let Some((first, rest)) = arguments.split_first() else { return false };
    match first.text.as_str() {
        "--help" => true,
        "--version" | "-help" => rest.is_empty(),
        short @ ("-h" | "-V") => rest.is_empty() && !WORKING_OPTIONS.contains(&(program, short)),
        _ => false,
    }
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
