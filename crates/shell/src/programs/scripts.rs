//! The small languages of `sed` and `awk`, which read and write files of their
//! own.

use crate::args::Args;
use crate::leaf::Word;
use crate::site::Act;

/// `sed`: its script may read, write and run.
pub(super) fn sed(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(words, &["-e", "-f", "-l", "--expression", "--file", "--line-length"]);
    let mut scripts = args.values(&["-e", "--expression"]);
    let mut operands = args.operands.to_vec();
    if scripts.is_empty() && !args.has(&["-f", "--file"]) && !operands.is_empty() {
        scripts.push(operands.remove(0));
    }
    script_files(act, &args.values(&["-f", "--file"]));
    for script in &scripts {
        if let Some(command) = sed_runs(&script.text) {
            act.ask("interpreter-code", format!("Runs programs from a sed script ({command})"));
        }
        for file in sed_writes(&script.text) {
            act.write(&Word { text: file.to_owned(), ..script.clone() });
        }
        for file in sed_reads(&script.text) {
            act.read(&Word { text: file.to_owned(), ..script.clone() });
        }
    }
    // A backup suffix may be glued to the option; the old BSD form has it as a word of its own.
    let in_place = words.iter().any(|word| {
        word.text.starts_with("--in-place")
            || (word.text.starts_with("-i") && !word.text.starts_with("--"))
            || (word.text.starts_with('-')
                && !word.text.starts_with("--")
                && word.text.len() < 5
                && word.text.contains('i')
                && !word.text.contains('e'))
    });
    if in_place {
        operands.iter().filter(|word| !word.text.is_empty()).for_each(|word| act.write(word));
    } else {
        act.only_reads();
    }
    operands.iter().for_each(|word| act.read(word));
}

/// Files with orders for sed or awk, which may also come through a pipe.
fn script_files(act: &mut Act<'_>, files: &[Word]) {
    for file in files {
        let piped = file.text == "-" || crate::shells::is_input(&file.text);
        let taint = if piped { act.site.input.taint } else { file.taint };
        let text = if piped { act.site.input.text.clone() } else { file.content.clone() };
        act.tainted_code(taint);
        match text {
            Some(text) if act.program.contains("awk") => {
                super::code::awk(act, &Word::literal(text));
            }
            Some(text) if sed_runs(&text).is_some() => {
                act.ask("interpreter-code", "Runs programs from a sed script");
            }
            _ => {}
        }
        act.read(file);
    }
}

/// The commands of a sed script, without the addresses before them.
fn sed_commands(script: &str) -> impl Iterator<Item = &str> {
    script.split(['\n', ';']).map(|part| {
        let mut rest = part;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || " \t$,!{~+".contains(c));
            let regex = rest.strip_prefix('/').and_then(|inside| {
                let end = inside.char_indices().find(|(at, c)| {
                    *c == '/' && !inside.get(..*at).is_some_and(|before| before.ends_with('\\'))
                });
                end.and_then(|(at, _)| inside.get(at + 1..))
            });
            match regex {
                Some(after) => rest = after.trim_start_matches(['I', 'M']),
                None => return rest.trim_end(),
            }
        }
    })
}

/// The part of a sed script that runs a program: the `e` command or the `e`
/// flag of a substitution.
fn sed_runs(script: &str) -> Option<&str> {
    sed_commands(script).find(|command| {
        if *command == "e" || command.starts_with("e ") {
            return true;
        }
        flags_of(command).is_some_and(|flags| {
            let flags = flags.split(['w', ' ']).next().unwrap_or("");
            flags.contains('e') && !flags.contains('/')
        })
    })
}

/// The files that commands and substitutions write to.
fn sed_writes(script: &str) -> impl Iterator<Item = &str> {
    sed_commands(script).filter_map(|command| {
        if let Some(file) = command.strip_prefix(['w', 'W']).filter(|rest| rest.starts_with(' ')) {
            return Some(file.trim());
        }
        flags_of(command)?.split_once("w ").map(|(_, file)| file.trim())
    })
}

/// The files that are put in.
fn sed_reads(script: &str) -> impl Iterator<Item = &str> {
    sed_commands(script).filter_map(|command| {
        let rest = command.strip_prefix(['r', 'R'])?;
        rest.starts_with([' ', '/', '~', '.']).then(|| rest.trim().trim_end_matches('}').trim())
    })
}

/// What comes after the last separator of `s/a/b/flags`.
fn flags_of(command: &str) -> Option<&str> {
    let mut letters = command.strip_prefix('s')?.char_indices();
    let (_, separator) = letters.next()?;
    if separator.is_alphanumeric() || separator.is_whitespace() {
        return None;
    }
    let mut seen = 0;
    let mut escaped = false;
    for (at, c) in letters {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == separator {
            seen += 1;
            if seen == 2 {
                return command.get(1 + at + c.len_utf8()..);
            }
        }
    }
    None
}

/// `awk`, the same.
pub(super) fn awk(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(
        words,
        &[
            "-F",
            "-v",
            "-f",
            "-i",
            "--file",
            "--assign",
            "--field-separator",
            "--include",
            "-e",
            "--source",
            "-l",
        ],
    );
    let mut operands = args.operands.to_vec();
    let mut scripts = args.values(&["-e", "--source"]);
    let files = args.values(&["-f", "--file"]);
    if scripts.is_empty() && files.is_empty() && !operands.is_empty() {
        scripts.push(operands.remove(0));
    }
    script_files(act, &files);
    act.only_reads();
    for script in &scripts {
        super::code::awk(act, script);
    }
    if args.values(&["-i", "--include"]).iter().any(|word| word.text == "inplace") {
        operands.iter().for_each(|word| act.write(word));
    }
    operands.iter().filter(|word| !word.text.contains('=')).for_each(|word| act.read(word));
}
