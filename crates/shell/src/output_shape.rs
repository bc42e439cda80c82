//! Shapes of program output that is known to be numbers, names, or paths of
//! existing files.

use crate::leaf::{
    FOUND_PATH_PLACEHOLDER, NAME_PLACEHOLDER, NEAR_PATH_PLACEHOLDER, NUMBER_PLACEHOLDER, ShellWord,
};

/// The placeholder for the output of a program, if it is known to be numbers,
/// names or paths. `input` is the placeholder for its input.
pub(crate) fn output_shape(
    program: &str,
    arguments: &[ShellWord],
    input: Option<&'static str>,
) -> Option<&'static str> {
    own_shape(program, arguments)
        .or_else(|| listing_shape(program, arguments))
        .or_else(|| filtered_shape(program, arguments, input))
}

/// Shape of programs that print numbers, or one name that leads to no other
/// directory.
fn own_shape(program: &str, arguments: &[ShellWord]) -> Option<&'static str> {
    if program == "basename" || program == "dirname" {
        let paths = arguments.iter().filter(|word| !word.known);
        return match program {
            _ if paths.clone().count() > 0 && paths.clone().all(ShellWord::is_below_cwd) => {
                Some(NEAR_PATH_PLACEHOLDER)
            }
            "basename" => Some(NAME_PLACEHOLDER),
            _ => None,
        };
    }
    if matches!(program, "echo" | "printf") {
        let mut open = arguments.iter().filter(|word| !word.known).peekable();
        open.peek()?;
        let plain = |word: &ShellWord| word.is_below_cwd() || word.known && is_below(word);
        return arguments.iter().all(plain).then_some(NEAR_PATH_PLACEHOLDER);
    }
    if arguments.iter().any(|word| !word.known || word.glob) {
        return None;
    }
    let all = |allowed: &[&str]| {
        let is_one = |word: &ShellWord| {
            allowed.iter().any(|known| match known.strip_suffix('=') {
                Some(_) => word.text.starts_with(known),
                None => word.text == *known,
            })
        };
        arguments.iter().all(is_one)
    };
    let options_only =
        |skip: usize| arguments.iter().skip(skip).all(|word| word.text.starts_with('-'));
    let verb = arguments.first().map_or("", |word| word.text.as_str());
    match program {
        "date" | "gdate" => is_numeric_date(arguments).then_some(NUMBER_PLACEHOLDER),
        "seq" | "nproc" => Some(NUMBER_PLACEHOLDER),
        "id" => (!arguments.is_empty() && all(&["-u", "-g", "-r"])).then_some(NUMBER_PLACEHOLDER),
        "uname" | "arch" | "whoami" | "hostname" if options_only(0) => Some(NAME_PLACEHOLDER),
        "git" => match verb {
            // Branch and tag names contain no `..`.
            "rev-parse" => all(&["rev-parse", "--short", "--short=", "HEAD", "--verify"]),
            "describe" => options_only(1),
            "branch" => all(&["branch", "--show-current"]) && arguments.len() == 2,
            "rev-list" => arguments.iter().any(|word| word.text == "--count"),
            _ => false,
        }
        .then_some(NAME_PLACEHOLDER),
        _ => None,
    }
}

/// Whether a date is printed only as digits and separators.
fn is_numeric_date(arguments: &[ShellWord]) -> bool {
    let formats = arguments.iter().filter_map(|word| word.text.strip_prefix('+'));
    let is_numeric = |format: &str| {
        let mut letters = format.chars();
        while let Some(letter) = letters.next() {
            let is_plain = match letter {
                '%' => letters.next().is_some_and(|c| "YmdHMSsNFTjuVyIgGwz".contains(c)),
                other => "-_.:TZ+".contains(other),
            };
            if !is_plain {
                return false;
            }
        }
        !format.is_empty()
    };
    formats.clone().count() == 1 && formats.clone().all(is_numeric)
}

/// Whether a word, or what a glob in it matches, is below the working
/// directory.
pub(crate) fn is_below(word: &ShellWord) -> bool {
    let text = word.text.as_str();
    word.known
        && !text.is_empty()
        && !text.starts_with(['/', '~', '-'])
        && !text.split('/').any(|part| part == ".." || part.starts_with(".*"))
        && !text.contains(['{', '('])
}

/// Shape of programs that list files by their paths below the working
/// directory.
fn listing_shape(program: &str, arguments: &[ShellWord]) -> Option<&'static str> {
    let has = |texts: &[&str]| arguments.iter().any(|word| texts.contains(&word.text.as_str()));
    let short = |letters: &[char]| {
        arguments.iter().any(|word| {
            word.text.starts_with('-')
                && !word.text.starts_with("--")
                && word.text.contains(letters)
        })
    };
    let operands = || arguments.iter().filter(|word| !word.text.starts_with('-'));
    let below = |word: &ShellWord| is_below(word) || word.is_below_cwd();
    let lists = match program {
        "ls" => {
            !short(&['l', 'g', 'o', 'n', 's', 'i', 'Z', 'm', 'x', 'C']) && operands().all(below)
        }
        "find" | "gfind" | "bfs" => {
            let ends = |word: &&ShellWord| {
                !word.text.starts_with('-') && !matches!(word.text.as_str(), "(" | "!" | ")")
            };
            let acts = ["-printf", "-exec", "-execdir", "-ok", "-okdir", "-ls", "-files0-from"];
            let strange = |word: &ShellWord| !word.known && !word.named;
            arguments.iter().take_while(ends).all(below)
                && !has(&acts)
                && !arguments.iter().any(strange)
        }
        "fd" | "fdfind" => {
            let far =
                |word: &ShellWord| word.text.starts_with(['/', '~']) || word.text.contains("..");
            let acts = ["-x", "-X", "--exec", "--exec-batch", "-a", "--absolute-path", "-l"];
            !has(&acts) && !arguments.iter().any(far)
        }
        "grep" | "egrep" | "fgrep" | "ggrep" | "rg" | "ag" | "ack" => {
            let names = has(&["--files-with-matches", "--files-without-match", "--files"]);
            let files = operands().skip(usize::from(!has(&["--files", "-e"])));
            (names || short(&['l', 'L'])) && files.clone().all(below)
        }
        "git" => match arguments.first().map_or("", |word| word.text.as_str()) {
            "ls-files" => operands().all(below),
            "log" if !has(&["--name-only"]) => return log_shape(arguments),
            "diff" | "show" | "diff-tree" | "diff-index" | "log" => has(&["--name-only"]),
            "grep" => short(&['l', 'L']),
            "status" => has(&["-s", "--short", "--porcelain", "--porcelain=v1"]),
            "merge-base" | "rev-list" => return Some(NAME_PLACEHOLDER),
            "rev-parse" => {
                return (!has(&["--show-toplevel", "--git-dir"])).then_some(NAME_PLACEHOLDER);
            }
            "branch" => {
                let plain = arguments.iter().skip(1).all(|word| word.text.starts_with('-'));
                return (plain && !has(&["-v", "-vv"])).then_some(NAME_PLACEHOLDER);
            }
            _ => false,
        },
        "pgrep" | "pidof" => return Some(NUMBER_PLACEHOLDER).filter(|_| !short(&['a', 'l'])),
        "lsof" if short(&['t']) => return Some(NUMBER_PLACEHOLDER),
        _ => false,
    };
    lists.then_some(FOUND_PATH_PLACEHOLDER)
}

/// Shape of `git log`: `--format=%H` prints only commits.
fn log_shape(arguments: &[ShellWord]) -> Option<&'static str> {
    let formats =
        ["--format=%H", "--format=%h", "--pretty=%H", "--pretty=%h", "--pretty=format:%H"];
    let plain = arguments.iter().any(|word| formats.contains(&word.text.as_str()));
    plain.then_some(NAME_PLACEHOLDER)
}

/// Shape of programs that select from their input, or change it slightly.
fn filtered_shape(
    program: &str,
    arguments: &[ShellWord],
    input: Option<&'static str>,
) -> Option<&'static str> {
    let input = input?;
    let changed = if input == FOUND_PATH_PLACEHOLDER { NEAR_PATH_PLACEHOLDER } else { input };
    let operands = || arguments.iter().filter(|word| !word.text.starts_with('-'));
    let known = arguments.iter().all(|word| word.known);
    match program {
        "head" | "tail" | "sort" | "uniq" | "shuf" | "tac" => Some(input),
        "cat" | "tee" if arguments.is_empty() => Some(input),
        "grep" | "egrep" | "fgrep" | "rg" if operands().count() < 2 => Some(input),
        "awk" | "gawk" | "mawk" => {
            let script = operands().next_back()?.text.replace(' ', "");
            let field = script.strip_prefix("{print$").and_then(|rest| rest.strip_suffix('}'));
            let plain = |field: &str| {
                field == "NF" || !field.is_empty() && field.bytes().all(|b| b.is_ascii_digit())
            };
            field.is_some_and(plain).then_some(input)
        }
        "cut" if known => Some(changed),
        "tr" if known && !arguments.iter().any(|word| word.text.contains(['/', '.', '\\'])) => {
            Some(changed)
        }
        "sed" if known => {
            let script = operands().next()?;
            let plain = !script.text.contains("..")
                && !script.text.contains("\\/")
                && operands().count() == 1
                && (script.text.starts_with("s/") || script.text.ends_with(['p', 'd', 'q']));
            plain.then_some(changed)
        }
        _ => None,
    }
}
