//! `sed` and `awk`, whose scripts can read and write files.

use super::sed_script;
use crate::args::CommandArgs;
use crate::eval_context::EffectBuilder;
use crate::leaf::{RuntimeExtent, ShellWord};

/// Describes `sed`, whose script may read, write and run.
pub(super) fn sed(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args =
        CommandArgs::parse(words, &["-e", "-f", "-l", "--expression", "--file", "--line-length"]);
    let mut scripts = args.values(&["-e", "--expression"]);
    let mut operands = args.operands.to_vec();
    if scripts.is_empty() && !args.has(&["-f", "--file"]) && !operands.is_empty() {
        scripts.push(operands.remove(0));
    }
    script_files(act, &args.values(&["-f", "--file"]));
    for script in &scripts {
        judge_sed(act, script);
    }
    // A backup suffix may be attached to the option; the old BSD form passes it
    // as a separate word.
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
        act.mark_read_only();
    }
    operands.iter().for_each(|word| act.read(word));
}

/// Adds the effects of one sed script.
fn judge_sed(act: &mut EffectBuilder<'_>, script: &ShellWord) {
    if is_hidden(act, script) {
        return;
    }
    let doings = sed_script::script_effects(&script.text);
    if let Some(command) = doings.runs {
        act.ask("interpreter-code", format!("Runs programs from a sed script ({command})"));
    }
    let file = |text: &&str| ShellWord { text: (*text).to_owned(), glob: false, ..script.clone() };
    doings.writes.iter().map(file).for_each(|word| act.write(&word));
    doings.reads.iter().map(file).for_each(|word| act.read(&word));
}

/// Whether a script is only known at run time. Adds a finding for it, or for
/// downloaded or decoded content in it.
fn is_hidden(act: &mut EffectBuilder<'_>, script: &ShellWord) -> bool {
    let tainted = !script.known && act.check_tainted_code(script.taint);
    // A script attached to its option begins after the option.
    let glued = !script.known
        && script.runtime_extent == RuntimeExtent::NotAtStart
        && script.text.starts_with('$');
    let whole =
        script.runtime_extent == RuntimeExtent::Whole || glued || (script.glob && script.known);
    if whole && !tainted {
        let reason = format!("Runs a script of {} that is only known at run time", act.program);
        act.ask("interpreter-code", reason);
    }
    whole
}

/// Handles script files of sed or awk, which may also come through a pipe.
fn script_files(act: &mut EffectBuilder<'_>, files: &[ShellWord]) {
    for file in files {
        let piped = file.text == "-" || crate::shells::is_stdin_path(&file.text);
        let taint = if piped { act.context.input.taint } else { file.taint };
        let text = if piped { act.context.input.text.clone() } else { file.content.clone() };
        act.check_tainted_code(taint);
        match text {
            Some(text) if act.program.contains("awk") => {
                super::code_check::awk(act, &ShellWord::literal(text));
            }
            Some(text) => judge_sed(act, &ShellWord::literal(text)),
            None => {}
        }
        match piped {
            true => act.read(file),
            false => act.run_file(file),
        }
    }
}

/// Describes `awk` in the same way.
pub(super) fn awk(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(
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
    act.mark_read_only();
    for script in &scripts {
        if !is_hidden(act, script) {
            super::code_check::awk(act, script);
        }
    }
    if args.values(&["-i", "--include"]).iter().any(|word| word.text == "inplace") {
        operands.iter().for_each(|word| act.write(word));
    }
    operands.iter().filter(|word| !word.text.contains('=')).for_each(|word| act.read(word));
}
