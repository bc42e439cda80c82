//! Commands that change or empty many files at once.

use crate::args::CommandArgs;
use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;
use crate::text::program_name;

/// Extensions of files that are usually written by hand.
const SOURCE_EXTENSIONS: &[&str] = &[
    "py", "rs", "js", "jsx", "ts", "tsx", "go", "c", "h", "cc", "cpp", "hpp", "java", "kt", "rb",
    "php", "swift", "scala", "cs", "sh", "md", "rst", "tex", "sql", "lua", "pl", "ex", "exs", "hs",
    "ml", "toml", "vue", "svelte", "tf", "gradle", "cmake", "proto", "nix",
];
const SOURCE_FILE_NAMES: &[&str] =
    &["Makefile", "Dockerfile", "README", "LICENSE", "package.json", "Justfile"];

/// Whether the name of a file indicates that it is written by hand.
pub(crate) fn is_source_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    name != "__init__.py" && (SOURCE_EXTENSIONS.contains(&end) || SOURCE_FILE_NAMES.contains(&name))
}

/// Asks about changes to many files.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let has = |texts: &[&str]| words.iter().any(|word| texts.contains(&word.text.as_str()));
    let short = |letter: char| {
        words.iter().any(|word| {
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(letter)
        })
    };
    match act.program {
        "tee" | "sponge" => {
            let many = act.leaf.wrappers.iter().any(|via| via == "xargs" || via == "parallel")
                && words.iter().any(|word| !word.known);
            if many || words.iter().any(|word| word.glob || word.is_found_path()) {
                act.ask("mass-change", "Overwrites every file that a pattern matches");
            }
            if act.context.input.text.as_deref() == Some("") && !short('a') {
                check_emptied(act, words.iter().filter(|word| !word.text.starts_with('-')));
            }
        }
        "ln" | "gln" if has(&["/dev/null"]) && (short('f') || has(&["--force"])) => {
            check_emptied(act, words.iter().rev().take(1));
        }
        "cp" | "install" | "mv" if words.iter().any(|word| word.text == "/dev/null") => {
            check_emptied(act, words.iter().rev().take(1));
        }
        "sort" if has(&["/dev/null"]) => {
            let args = CommandArgs::parse(words, &["-o", "--output", "-k", "-t", "-S", "-T"]);
            check_emptied(act, args.values(&["-o", "--output"]).iter());
        }
        "dd" if has(&["if=/dev/null"]) || has(&["count=0"]) => {
            let target = words.iter().find_map(|word| word.text.strip_prefix("of="));
            check_emptied(act, target.map(ShellWord::literal).iter());
        }
        "chmod"
            if words.iter().any(ShellWord::is_below_cwd) && words.iter().any(revokes_access) =>
        {
            act.ask("mass-change", "Revokes access to every file found");
        }
        "chown" | "chgrp" if words.iter().any(ShellWord::is_below_cwd) => {
            act.ask("owner-change", "Changes the owner of every file found");
        }
        "truncate" if words.iter().any(ShellWord::is_found_path) => {
            act.ask("mass-change", "Truncates every file found");
        }
        "rename" | "prename" | "perl-rename" => {
            let whole = ["s/.*/", "s/.+/", "s/^.*$/", "s|.*|"];
            if words.iter().any(|word| whole.iter().any(|code| word.text.starts_with(code))) {
                act.ask("mass-change", "Renames many files to the same name");
            }
        }
        "7z" | "7za" | "7zz" if has(&["-sdel"]) => {
            act.ask("mass-change", "Deletes the packed files");
        }
        "gzip" | "bzip2" | "xz" | "zstd" | "lzma"
            if !short('k') && !short('c') && !has(&["--keep"]) =>
        {
            let sources = |word: &&ShellWord| {
                word.is_found_path() && word.hints.iter().all(|hint| is_source_file(hint))
                    || word.glob
                        && (word.text.ends_with("/*")
                            || word.text == "*"
                            || is_source_file(&word.text))
            };
            let deep = words.iter().filter(sources).count() > 0 && !(short('d') || short('t'));
            // zstd keeps the input.
            if deep && (act.program != "zstd" || has(&["--rm"])) {
                act.ask("mass-change", "Compresses many files one by one");
            }
        }
        "pytest" | "py.test" => check_temp_dir(act, words),
        "hugo" if has(&["--cleanDestinationDir"]) => {
            let args = CommandArgs::parse(words, &["-d", "--destination", "-s", "--source"]);
            let near = |word: &ShellWord| word.text.trim_end_matches('/').ends_with('.');
            if args.values(&["-d", "--destination"]).iter().any(near) {
                act.ask(
                    "recursive-delete",
                    "Deletes files that do not belong to the generated site",
                );
            }
        }
        "chattr" => act.ask("mass-change", "Changes file attributes such as immutability"),
        "chown" | "chgrp" if short('R') || has(&["--recursive"]) => {
            let owner = words.iter().find(|word| !word.text.starts_with('-'));
            let strange = ["nobody", "nogroup", "daemon", "65534", "bin"];
            let given =
                |word: &&ShellWord| word.text.split(':').any(|part| strange.contains(&part));
            if owner.filter(given).is_some() {
                act.ask("owner-change", "Gives everything in a directory to another user");
            }
        }
        _ => {}
    }
}

/// Asks about handwritten files that are emptied.
fn check_emptied<'w>(act: &mut EffectBuilder<'_>, targets: impl Iterator<Item = &'w ShellWord>) {
    let mut targets = targets.filter(|word| !word.text.starts_with("/dev/"));
    if targets.any(|word| is_source_file(&word.text)) {
        act.ask("data-loss", "Empties a file");
    }
}

/// Asks about `--basetemp`, a directory that pytest empties first.
fn check_temp_dir(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    for (at, word) in words.iter().enumerate() {
        let dir = match word.text.strip_prefix("--basetemp") {
            Some("") => words.get(at + 1).cloned(),
            Some(glued) => {
                Some(ShellWord { text: glued.trim_start_matches('=').to_owned(), ..word.clone() })
            }
            None => None,
        };
        let Some(dir) = dir else { continue };
        let own = act.context.absolute(&dir).is_some_and(|path| {
            let root = act.context.at.cwd();
            let passing = path.starts_with("/tmp/") || path.starts_with("/var/tmp/");
            (path.starts_with(root) && path != root && !path.starts_with(root.join("src")))
                || (passing && !root.starts_with(&path) && !path.starts_with(root))
        });
        if !own {
            act.ask("recursive-delete", format!("Empties the directory {} first", dir.text));
        }
    }
}

/// Whether a mode revokes the owner's access.
fn revokes_access(word: &ShellWord) -> bool {
    matches!(
        word.text.as_str(),
        "0" | "000" | "0000" | "a-rwx" | "a=" | "u-rwx" | "a-r" | "-rwx" | "u-r" | "u-rw" | "u="
    )
}

/// Checks a command that runs for many files, each in place of `{}`.
pub(super) fn for_each_found(act: &mut EffectBuilder<'_>, command: &[ShellWord], narrowed: bool) {
    let program = command.first().map(|word| program_name(&word.text));
    let words = command.get(1..).unwrap_or(&[]);
    let operands: Vec<&ShellWord> =
        words.iter().filter(|word| !word.text.starts_with('-')).collect();
    let found = |word: &&&ShellWord| word.text == "{}";
    let target = operands.last().filter(found).is_some();
    let outside = |word: &&&ShellWord| {
        let inside = |path: std::path::PathBuf| path.starts_with(act.context.at.cwd());
        word.text != "{}" && !act.context.absolute(word).is_some_and(inside)
    };
    let many = match program.as_deref() {
        Some("cp" | "mv" | "install" | "ln") if target && operands.len() > 1 => {
            // With `-t` the directory comes first.
            !words.iter().any(|word| word.text.starts_with("-t"))
        }
        Some("tee" | "sponge" | "truncate") => operands.iter().any(|word| word.text == "{}"),
        Some("chmod") => words.iter().any(revokes_access),
        Some("chattr") => true,
        Some("chown" | "chgrp") => false,
        _ => false,
    };
    let leaves = matches!(program.as_deref(), Some("mv"))
        && !narrowed
        && operands.iter().any(|word| outside(&word));
    if many || leaves {
        act.ask("mass-change", "Overwrites, locks or moves away every file found");
    }
}
