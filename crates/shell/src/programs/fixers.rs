//! Formatters and fixers: they write the files and folders that they are
//! given, all of them.

use std::sync::LazyLock;

use crate::leaf::Word;
use crate::site::Act;
use crate::table::Table;

/// Programs, and the words of which one makes them write; none for those that
/// always do. What comes after `!` makes them only look.
const FIXERS: &[(&str, &str)] = &[
    ("black isort yapf-fix docformatter-fix", "!--check !--diff !-c"),
    ("ruff", "format --fix --unsafe-fixes !--check !--diff"),
    ("prettier", "--write -w"),
    ("eslint stylelint rubocop biome oxlint", "--fix -a -A --write --autocorrect"),
    ("gofmt goimports gofumpt shfmt", "-w"),
    ("rustfmt stylua", "!--check"),
    ("clang-format autopep8 yapf autoflake", "-i --in-place"),
    ("pyupgrade black-primer terraform-fmt", ""),
];

static BY_NAME: LazyLock<Table<&'static str>> = LazyLock::new(|| {
    let entries = FIXERS.iter();
    entries.flat_map(|(names, words)| names.split(' ').map(|name| (name, *words))).collect()
});

/// Adds what such a program writes.
pub(super) fn describe(act: &mut Act<'_>, words: &[Word]) {
    let Some(rules) = BY_NAME.get(act.program) else { return };
    let has = |text: &str| words.iter().any(|word| word.text == text);
    let mut writing = rules.split_whitespace().filter(|rule| !rule.starts_with('!')).peekable();
    let always = writing.peek().is_none();
    let looks = rules.split_whitespace().filter_map(|rule| rule.strip_prefix('!')).any(has);
    if looks || !(always || writing.any(has)) {
        return;
    }
    let verb = ["format", "check", "lint"];
    let operands: Vec<Word> = words
        .iter()
        .filter(|word| !word.text.starts_with('-') && !verb.contains(&word.text.as_str()))
        .filter(|word| word.text.contains(['/', '.', '*', '~']))
        .cloned()
        .collect();
    operands.iter().for_each(|word| act.write(word));
}
