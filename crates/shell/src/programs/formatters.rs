//! Formatters and fixers, which write all files and directories that they are
//! given.

use std::sync::LazyLock;

use crate::args::CommandArgs;
use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;
use crate::static_names::StaticNameMap;

/// Programs, and the words of which one makes them write; none if they always
/// write. A word after `!` makes them read-only.
const FIXER_RULES: &[(&str, &str)] = &[
    ("black isort yapf-fix docformatter-fix", "!--check !--diff !-c !--check-only"),
    ("ruff", "format --fix --unsafe-fixes !--check !--diff"),
    ("prettier", "--write -w"),
    ("eslint stylelint rubocop biome oxlint", "--fix -a -A --write --autocorrect"),
    ("markdownlint markdownlint-cli2 textlint standard xo", "--fix -f"),
    ("gofmt goimports gofumpt shfmt", "-w --write"),
    ("rustfmt stylua", "!--check"),
    ("clang-format autopep8 yapf autoflake cmake-format ormolu ocamlformat", "-i --in-place"),
    ("pyupgrade black-primer terraform-fmt indent mdformat buildifier", "!--check"),
    ("tidy", "-m -modify --modify"),
    ("codespell typos misspell", "-w --write-changes"),
    ("tomlq xq", "-i --in-place"),
    ("perltidy", "-b"),
    ("latexindent", "-w --overwrite"),
    ("comby", "-i -in-place"),
    ("ast-grep sg", "-U --update-all"),
    ("uncrustify astyle", "--replace --no-backup -n"),
    ("xmlstarlet xml", "-L --inplace"),
    ("qpdf", "--replace-input"),
    ("taplo dprint buf sqlfluff", "fmt format fix -w"),
    ("sd", "!-p !--preview"),
];

static FIXERS_BY_NAME: LazyLock<StaticNameMap<&'static str>> = LazyLock::new(|| {
    let entries = FIXER_RULES.iter();
    entries.flat_map(|(names, words)| names.split(' ').map(|name| (name, *words))).collect()
});

/// Adds the files that such a program writes.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    if act.program == "dasel" {
        return describe_dasel(act, words);
    }
    let Some(rules) = FIXERS_BY_NAME.get(act.program) else { return };
    let has = |rule: &str| words.iter().any(|word| matches_mark(&word.text, rule));
    let mut writing = rules.split_whitespace().filter(|rule| !rule.starts_with('!')).peekable();
    let always = writing.peek().is_none();
    let looks = rules.split_whitespace().filter_map(|rule| rule.strip_prefix('!')).any(has);
    if looks || !(always || writing.any(has)) {
        return;
    }
    const FIXER_VERBS: &[&str] = &["format", "check", "lint", "fmt", "fix", "ed", "run"];
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let operands = words.iter().filter(|word| {
        let text = word.text.as_str();
        !text.starts_with('-') && !FIXER_VERBS.contains(&text) && !is_number(text)
    });
    // The pattern and the replacement come first.
    let files = operands.skip(if act.program == "sd" { 2 } else { 0 });
    files.cloned().collect::<Vec<_>>().iter().for_each(|word| act.write(word));
}

/// Whether a word is the mark, or a flag cluster that contains its letter.
fn matches_mark(text: &str, mark: &str) -> bool {
    let letters = || text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let among =
        |letter: &str| letters().is_some_and(|rest| rest.len() < 5 && rest.contains(letter));
    match mark.strip_prefix('-') {
        Some(letter) if letter.len() == 1 => among(letter),
        _ => text == mark,
    }
}

/// Describes subcommands of dasel that write the file named by an option.
fn describe_dasel(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(
        words,
        &["-f", "--file", "-o", "--out", "-v", "--value", "-t", "-r", "-w"],
    );
    if matches!(args.operand(0), "put" | "delete") {
        let places = args.values(&["-o", "--out"]);
        let files = if places.is_empty() { args.values(&["-f", "--file"]) } else { places };
        files.iter().for_each(|word| act.write(word));
    }
}

#[cfg(test)]
#[path = "formatters_tests.rs"]
mod tests;
