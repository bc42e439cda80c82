//! `find` and `fd`, which search for files and may act on them.

use crate::args::CommandArgs;
use crate::blocked_operations;
use crate::eval_context::{EffectBuilder, InnerCommand, SHOWS_ALL_REASON, shows_contents};
use crate::leaf::ShellWord;

use super::find_expression::{self, FindAction};

/// Describes programs that search for files.
pub(super) fn describe(act: &mut EffectBuilder<'_>, _words: &[ShellWord]) -> bool {
    match act.program {
        "find" | "gfind" | "bfs" => find(act),
        "fd" | "fdfind" => fd(act),
        "locate" | "mlocate" | "plocate" | "mdfind" => act.mark_read_only(),
        _ => return false,
    }
    true
}

fn find(act: &mut EffectBuilder<'_>) {
    let (options, rest) = split_options(act.arguments());
    // Symlinks may lead out of the directory.
    let follows = options.iter().any(|word| word.text.contains('L'));
    let end = rest
        .iter()
        .position(|word| {
            word.text.starts_with('-') || matches!(word.text.as_str(), "(" | "!" | ")")
        })
        .unwrap_or(rest.len());
    let mut roots = rest.get(..end).unwrap_or(&[]).to_vec();
    let named = options.windows(2).filter(|pair| pair[0].text == "-f");
    roots.extend(named.map(|pair| pair[1].clone()));
    let expression = rest.get(end..).unwrap_or(&[]);
    let has = |name: &str| expression.iter().any(|word| word.text == name);
    let listing = expression.iter().skip_while(|word| word.text != "-files0-from").nth(1);
    if let Some(list) = listing {
        act.read(list);
        roots.push(ShellWord { text: "-files0-from".to_owned(), ..ShellWord::default() });
    }
    if roots.is_empty() {
        roots.push(ShellWord::literal("."));
    }
    roots.iter().for_each(|root| act.read(root));
    let near = !follows && !has("-follow") && roots.iter().all(|root| in_project(act, root));
    let actions = find_expression::actions(expression);
    for FindAction { name, words, passed } in &actions {
        match *name {
            "-delete" if passed.generated && near => roots.iter().for_each(|root| act.delete(root)),
            "-delete" => describe_delete(act, &roots, passed.narrowed),
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                describe_exec(act, words, &roots, passed.narrowed);
                if words.iter().any(|word| word.text.contains("{}")) {
                    read_matching_secrets(act, &roots, expression);
                }
            }
            _ => words.first().into_iter().for_each(|file| act.write(file)),
        }
    }
    if actions.is_empty() {
        act.mark_read_only();
    }
}

/// Splits off the options before the starting directories.
fn split_options(words: &[ShellWord]) -> (&[ShellWord], &[ShellWord]) {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let letters = word.text.strip_prefix('-').unwrap_or("");
        at += match letters {
            "" => break,
            "D" | "f" => 2,
            "-" => 1,
            _ if letters.starts_with('O') || letters.starts_with('D') => 1,
            _ if letters.chars().all(|letter| "HLPEXsx".contains(letter)) => 1,
            _ => break,
        };
    }
    words.split_at(at.min(words.len()))
}

/// Reads the well-known secrets that the name tests match, for programs run on
/// them.
fn read_matching_secrets(act: &mut EffectBuilder<'_>, roots: &[ShellWord], tests: &[ShellWord]) {
    let by_name = ["-name", "-iname", "-path", "-ipath", "-wholename"];
    for pair in tests.windows(2).filter(|pair| by_name.contains(&pair[0].text.as_str())) {
        let name = pair[1].text.rsplit('/').next().unwrap_or("");
        for root in roots {
            act.read_found(root, name);
        }
    }
}

fn in_project(act: &EffectBuilder<'_>, root: &ShellWord) -> bool {
    act.context.absolute(root).is_some_and(|path| path.starts_with(act.context.at.cwd()))
}

fn describe_delete(act: &mut EffectBuilder<'_>, roots: &[ShellWord], narrowed: bool) {
    let blocked =
        !narrowed && blocked_operations::block_if_protected(act, roots, "root-delete", "Deletes");
    if !blocked {
        act.ask("recursive-delete", "Deletes everything found");
    }
    roots.iter().for_each(|root| act.delete(root));
}

fn describe_exec(
    act: &mut EffectBuilder<'_>,
    command: &[ShellWord],
    roots: &[ShellWord],
    narrowed: bool,
) {
    let program = command.first().map(|word| crate::text::program_name(&word.text));
    let removes = matches!(program.as_deref(), Some("rm" | "unlink" | "shred" | "rmdir"));
    if removes {
        describe_delete(act, roots, narrowed);
    }
    let lists = matches!(
        program.as_deref(),
        Some("ls" | "echo" | "printf" | "stat" | "file" | "du" | "basename" | "dirname" | "test")
    );
    if !removes && !lists {
        super::recursive_reads::check_recursive_read(act, roots);
    }
    let whole = |root: &ShellWord| {
        act.context.absolute(root).is_some_and(|path| path == act.context.at.cwd())
    };
    if !narrowed && program.as_deref().is_some_and(shows_contents) && roots.iter().any(whole) {
        act.ask("secret-path", SHOWS_ALL_REASON);
    }
    super::bulk_delete::for_each_found(act, command, narrowed);
    let words = command.iter().map(|word| substitute_found(word, roots)).collect();
    act.inner.push(InnerCommand::Words(words));
}

/// The word with a found path in place of `{}`.
fn substitute_found(word: &ShellWord, roots: &[ShellWord]) -> ShellWord {
    if !word.text.contains("{}") {
        return word.clone();
    }
    match roots {
        [root] if root.known && !root.glob => {
            let found = format!("{}/{{}}", root.text.trim_end_matches('/'));
            ShellWord { text: word.text.replace("{}", &found), ..word.clone() }
        }
        _ => ShellWord { known: false, named: false, ..word.clone() },
    }
}

fn fd(act: &mut EffectBuilder<'_>) {
    let words = act.arguments();
    let at = words
        .iter()
        .position(|word| matches!(word.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"));
    let own = words.get(..at.unwrap_or(words.len())).unwrap_or(&[]);
    let args = CommandArgs::parse(
        own,
        &["-e", "-t", "-d", "-E", "--extension", "--type", "--exclude", "--max-depth"],
    );
    args.operands.iter().skip(1).for_each(|word| act.read(word));
    match at {
        None => act.mark_read_only(),
        Some(at) => {
            let mut command: Vec<ShellWord> = words.iter().skip(at + 1).cloned().collect();
            let placed = command.iter().any(|word| word.text.contains('{'));
            for word in command.iter_mut().filter(|word| word.text.contains('{')) {
                word.known = false;
                word.named = false;
            }
            if !placed {
                command.push(ShellWord { text: "{}".to_owned(), ..ShellWord::default() });
            }
            let program = command.first().map(|word| crate::text::program_name(&word.text));
            if matches!(program.as_deref(), Some("rm" | "unlink" | "shred")) {
                act.ask("recursive-delete", "Deletes everything found");
            }
            act.inner.push(InnerCommand::Words(command));
        }
    }
}
