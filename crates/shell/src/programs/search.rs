//! `find` and `fd`, which look for files and may do something to them.

use crate::args::Args;
use crate::blocks;
use crate::leaf::Word;
use crate::site::{Act, Inner, SHOWN_WHOLE, shows_whole};

/// Tests that leave out most of what is there.
const NARROWING: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-user",
    "-group",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-newer",
    "-size",
    "-empty",
    "-perm",
    "-samefile",
    "-inum",
    "-links",
    "-nouser",
    "-nogroup",
    "-lname",
];

/// Describes programs that look for files.
pub(super) fn describe(act: &mut Act<'_>, _words: &[Word]) -> bool {
    match act.program {
        "find" | "gfind" | "bfs" => find(act),
        "fd" | "fdfind" => fd(act),
        "locate" | "mlocate" | "plocate" | "mdfind" => act.only_reads(),
        _ => return false,
    }
    true
}

fn find(act: &mut Act<'_>) {
    let words = act.arguments();
    let start = words
        .iter()
        .position(|word| !matches!(word.text.as_str(), "-H" | "-L" | "-P"))
        .unwrap_or(words.len());
    let rest = words.get(start..).unwrap_or(&[]);
    let end = rest
        .iter()
        .position(|word| {
            word.text.starts_with('-') || matches!(word.text.as_str(), "(" | "!" | ")")
        })
        .unwrap_or(rest.len());
    let mut roots = rest.get(..end).unwrap_or(&[]).to_vec();
    if roots.is_empty() {
        roots.push(Word::literal("."));
    }
    let tests = rest.get(end..).unwrap_or(&[]);
    roots.iter().for_each(|root| act.read(root));
    let narrowed = tests.windows(2).any(|pair| {
        matches!(pair, [test, value] if NARROWING.contains(&test.text.as_str())
            && !matches!(value.text.as_str(), "*" | "**" | ".*" | "*.*"))
    });
    let mut looks_only = true;
    let mut at = 0;
    while let Some(test) = tests.get(at) {
        at += 1;
        match test.text.as_str() {
            "-delete" => {
                looks_only = false;
                if only_generated(tests) && roots.iter().all(|root| in_project(act, root)) {
                    roots.iter().for_each(|root| act.delete(root));
                } else {
                    deletes(act, &roots, narrowed);
                }
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                looks_only = false;
                let rest = tests.get(at..).unwrap_or(&[]);
                let len = rest
                    .iter()
                    .enumerate()
                    .position(|(index, word)| {
                        word.text == ";"
                            || (word.text == "+" && index > 0 && rest[index - 1].text == "{}")
                    })
                    .unwrap_or(rest.len());
                let command = rest.get(..len).unwrap_or(&[]);
                executes(act, command, &roots, narrowed);
                if command.iter().any(|word| word.text.contains("{}")) {
                    finds_private(act, &roots, tests);
                }
                at += len;
            }
            "-fprint" | "-fprintf" | "-fprint0" | "-fls" => {
                looks_only = false;
                if let Some(file) = tests.get(at) {
                    act.write(file);
                }
            }
            _ => {}
        }
    }
    if looks_only {
        act.only_reads();
    }
}

/// Programs that are started for what is found see files with these names.
fn finds_private(act: &mut Act<'_>, roots: &[Word], tests: &[Word]) {
    let by_name = ["-name", "-iname", "-path", "-ipath", "-wholename"];
    for pair in tests.windows(2).filter(|pair| by_name.contains(&pair[0].text.as_str())) {
        let name = pair[1].text.rsplit('/').next().unwrap_or("");
        for root in roots {
            act.read_found(root, name);
        }
    }
}

/// Whether all that is found by these tests is made again by a build.
fn only_generated(tests: &[Word]) -> bool {
    let named = tests.windows(2).filter(|pair| matches!(pair[0].text.as_str(), "-name" | "-iname"));
    let mut names = named.map(|pair| pair[1].text.as_str()).peekable();
    let plain = tests.iter().all(|word| {
        !word.text.starts_with('-')
            || matches!(
                word.text.as_str(),
                "-name"
                    | "-iname"
                    | "-type"
                    | "-o"
                    | "-or"
                    | "-delete"
                    | "-maxdepth"
                    | "-mindepth"
                    | "-depth"
                    | "-print"
                    | "-mtime"
                    | "-empty"
            )
    });
    // `a -o b -delete` deletes only what is b, and what is named is not empty.
    plain && names.peek().is_some() && names.all(super::loss::is_generated)
}

fn in_project(act: &Act<'_>, root: &Word) -> bool {
    act.site.absolute(root).is_some_and(|path| path.starts_with(act.site.at.cwd()))
}

fn deletes(act: &mut Act<'_>, roots: &[Word], narrowed: bool) {
    let blocked = !narrowed && blocks::guard(act, roots, "root-delete", "Deletes");
    if !blocked {
        act.ask("recursive-delete", "Deletes everything that is found");
    }
    roots.iter().for_each(|root| act.delete(root));
}

fn executes(act: &mut Act<'_>, command: &[Word], roots: &[Word], narrowed: bool) {
    let program = command.first().map(|word| crate::text::program_name(&word.text));
    let removes = matches!(program.as_deref(), Some("rm" | "unlink" | "shred" | "rmdir"));
    if removes {
        deletes(act, roots, narrowed);
    }
    let lists = matches!(
        program.as_deref(),
        Some("ls" | "echo" | "printf" | "stat" | "file" | "du" | "basename" | "dirname" | "test")
    );
    if !removes && !lists {
        super::trees::read_whole(act, roots);
    }
    let whole = |root: &Word| act.site.absolute(root).is_some_and(|path| path == act.site.at.cwd());
    if !narrowed && program.as_deref().is_some_and(shows_whole) && roots.iter().any(whole) {
        act.ask("secret-path", SHOWN_WHOLE);
    }
    super::wholesale::for_each_found(act, command, narrowed);
    let words = command.iter().map(|word| placed(word, roots)).collect();
    act.inner.push(Inner::Words(words));
}

/// The word with something found in place of `{}`.
fn placed(word: &Word, roots: &[Word]) -> Word {
    if !word.text.contains("{}") {
        return word.clone();
    }
    match roots {
        [root] if root.known && !root.glob => {
            let found = format!("{}/{{}}", root.text.trim_end_matches('/'));
            Word { text: word.text.replace("{}", &found), ..word.clone() }
        }
        _ => Word { known: false, ..word.clone() },
    }
}

fn fd(act: &mut Act<'_>) {
    let words = act.arguments();
    let at = words
        .iter()
        .position(|word| matches!(word.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"));
    let own = words.get(..at.unwrap_or(words.len())).unwrap_or(&[]);
    let args = Args::parse(
        own,
        &["-e", "-t", "-d", "-E", "--extension", "--type", "--exclude", "--max-depth"],
    );
    args.operands.iter().skip(1).for_each(|word| act.read(word));
    match at {
        None => act.only_reads(),
        Some(at) => {
            let mut command: Vec<Word> = words.iter().skip(at + 1).cloned().collect();
            let placed = command.iter().any(|word| word.text.contains('{'));
            for word in command.iter_mut().filter(|word| word.text.contains('{')) {
                word.known = false;
            }
            if !placed {
                command.push(Word { text: "{}".to_owned(), ..Word::default() });
            }
            let program = command.first().map(|word| crate::text::program_name(&word.text));
            if matches!(program.as_deref(), Some("rm" | "unlink" | "shred")) {
                act.ask("recursive-delete", "Deletes everything that is found");
            }
            act.inner.push(Inner::Words(command));
        }
    }
}
