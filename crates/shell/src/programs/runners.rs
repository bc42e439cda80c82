//! Programs that can run other commands: a subcommand or an option marks where
//! the other command begins.

use std::sync::LazyLock;

use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::ShellWord;
use crate::static_names::StaticNameMap;
use crate::text::program_name;

/// Subcommands that are followed by another command.
const RUN_VERBS: &[(&str, &str)] = &[
    ("nvm", "exec run"),
    ("volta", "run"),
    ("fnm n", "exec"),
    ("rtx mise", "exec x"),
    ("proto pkgx aqua tfenv juliaup ghcup", "run exec"),
    ("apptainer singularity", "exec"),
    ("buildah", "run"),
    ("lxc incus", "exec"),
    ("machinectl", "shell run"),
    ("flatpak-spawn", ""),
    ("dotenv dotenvx", ""),
    ("ifne", ""),
    ("runcon sandbox-exec vglrun wsl dtach abduco", ""),
    ("i3-msg swaymsg hyprctl", "exec"),
];

static VERBS_BY_NAME: LazyLock<StaticNameMap<&'static str>> = LazyLock::new(|| {
    let entries = RUN_VERBS.iter();
    entries.flat_map(|(names, verbs)| names.split(' ').map(|name| (name, *verbs))).collect()
});

/// Finds the command that such a program runs. These are not a family: their
/// other effects are judged elsewhere.
pub(super) fn describe(act: &mut EffectBuilder<'_>) {
    let program = act.program;
    let own = ["cmake", "pee", "mispipe", "bazel", "bazelisk", "just", "vagrant"];
    if !own.contains(&program) && !VERBS_BY_NAME.contains_key(program) {
        return;
    }
    let words = act.arguments();
    match program {
        "cmake" => cmake(act, words),
        "pee" | "mispipe" => {
            for code in words.iter().filter(|word| !word.text.starts_with('-')) {
                act.inner.push(InnerCommand::Source(code.clone()));
            }
        }
        "bazel" | "bazelisk" => {
            for word in words {
                if let Some(code) = word.text.strip_prefix("--run_under=") {
                    act.program_option(&ShellWord { text: code.to_owned(), ..word.clone() });
                }
            }
        }
        "just" => option_command(act, words, &["--shell", "--command", "-c"]),
        "vagrant" if words.first().is_some_and(|word| word.text == "ssh") => {
            option_command(act, words, &["-c", "--command"]);
        }
        _ => verb_command(act, program, words),
    }
}

fn option_command(act: &mut EffectBuilder<'_>, words: &[ShellWord], options: &[&str]) {
    let at = words.iter().position(|word| options.contains(&word.text.as_str()));
    if let Some(code) = at.and_then(|at| words.get(at + 1)).cloned() {
        act.program_option(&code);
    }
}

fn verb_command(act: &mut EffectBuilder<'_>, program: &str, words: &[ShellWord]) {
    let Some(verbs) = VERBS_BY_NAME.get(program) else { return };
    let mut rest = words;
    if !verbs.is_empty() {
        let Some(at) = words.iter().position(|word| !word.text.starts_with('-')) else { return };
        if !words.get(at).is_some_and(|word| verbs.split(' ').any(|verb| verb == word.text)) {
            return;
        }
        rest = words.get(at + 1..).unwrap_or(&[]);
    }
    let dashes = rest.iter().position(|word| word.text == "--");
    let command = match dashes {
        Some(at) => rest.get(at + 1..).unwrap_or(&[]),
        None => {
            let own = |word: &&ShellWord| word.text.starts_with('-') || is_version(&word.text);
            rest.get(rest.iter().take_while(own).count()..).unwrap_or(&[])
        }
    };
    // An argument of the runner may come first; then the second word is the
    // command.
    let named = command.first().map(|word| program_name(&word.text)).unwrap_or_default();
    let skip = usize::from(
        super::known_programs::program_kind(&named).is_none()
            && !super::is_well_known(&named)
            && dashes.is_none(),
    );
    let inner: Vec<ShellWord> = if command.len() > skip {
        command.get(skip..).unwrap_or(&[]).to_vec()
    } else {
        command.to_vec()
    };
    if !inner.is_empty() {
        act.inner.push(InnerCommand::Words(inner));
    }
}

fn is_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        || text.starts_with("v1")
        || text.starts_with("v2")
        || matches!(text, "node" | "stable" | "default")
        || text.starts_with("lts")
}

/// Translates `cmake -E` commands to the equivalent system commands.
fn cmake(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    if let Some(script) = word_after(words, "-P") {
        act.check_tainted_code(script.taint);
        act.run_file(&script);
    }
    let Some(at) = words.iter().position(|word| word.text == "-E") else { return };
    let verb = words.get(at + 1).map_or("", |word| word.text.as_str());
    let rest = words.get(at + 2..).unwrap_or(&[]);
    let like: &[&str] = match verb {
        "env" => &["env"],
        "time" => &["time"],
        "rm" => &["rm"],
        "remove" => &["rm", "-f"],
        "remove_directory" => &["rm", "-r"],
        "copy" | "copy_if_different" => &["cp"],
        "copy_directory" | "copy_directory_if_different" => &["cp", "-r"],
        "rename" => &["mv"],
        "touch" | "touch_nocreate" => &["touch"],
        "make_directory" => &["mkdir", "-p"],
        "create_symlink" => &["ln", "-s"],
        "create_hardlink" => &["ln"],
        "tar" => &["tar"],
        "cat" => &["cat"],
        "chdir" => {
            if let Some(command) = rest.get(1..).filter(|command| !command.is_empty()) {
                act.inner.push(InnerCommand::Words(command.to_vec()));
            }
            return;
        }
        _ => return,
    };
    let mut command: Vec<ShellWord> = like.iter().map(|word| ShellWord::literal(*word)).collect();
    command.extend(rest.iter().cloned());
    act.inner.push(InnerCommand::Words(command));
}

fn word_after(words: &[ShellWord], option: &str) -> Option<ShellWord> {
    let at = words.iter().position(|word| word.text == option)?;
    words.get(at + 1).cloned()
}

/// Adds files that options of the leaf's wrapper write.
pub(super) fn describe_wrapper_outputs(act: &mut EffectBuilder<'_>) {
    let Some(outer) = act.leaf.unwrapped_words.last().cloned() else { return };
    let name = outer.first().map(|word| program_name(&word.text)).unwrap_or_default();
    let own = act.words.first().and_then(|first| outer.iter().position(|word| word == first));
    let own = outer.get(1..own.unwrap_or(0).max(1)).unwrap_or(&[]);
    super::output_options::describe_wrapper(act, &name, own);
}
