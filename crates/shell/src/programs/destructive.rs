//! Commands that destroy contents without deleting a file, and those that fill
//! a disk.

use hermes_core::{Resource, Scope};

use crate::eval_context::EffectBuilder;
use crate::leaf::{ShellWord, TextTaint};

/// Larger sizes are rarely intended.
const LARGE_SIZE_BYTES: u64 = 10_000_000_000;

/// Whether a device never reaches end of file.
pub(crate) fn is_endless(text: &str) -> bool {
    matches!(text, "/dev/zero" | "/dev/urandom" | "/dev/random" | "/dev/full")
}

/// Whether a program's output never ends.
pub(crate) fn never_ends(program: &str, arguments: &[ShellWord]) -> bool {
    let device = || arguments.iter().any(|word| is_endless(&word.text));
    match program {
        "yes" => true,
        "seq" => arguments.iter().any(|word| matches!(word.text.as_str(), "inf" | "infinity")),
        "cat" | "base64" | "xxd" | "od" | "hexdump" | "strings" | "tr" | "gzip" | "pv" => device(),
        _ => false,
    }
}

/// Whether a program stops after a bounded part of its input.
pub(crate) fn bounds(program: &str, arguments: &[ShellWord]) -> bool {
    let has = |flags: &[&str]| {
        arguments.iter().any(|word| flags.iter().any(|flag| word.text.starts_with(flag)))
    };
    match program {
        "head" | "ghead" => true,
        "dd" => has(&["count="]),
        "grep" | "rg" => has(&["-m", "--max-count"]),
        "sed" => arguments.iter().any(|word| word.text.ends_with('q')),
        "awk" => arguments.iter().any(|word| word.text.contains("exit")),
        // Other programs read answers, not data.
        _ => !is_filter(program),
    }
}

fn is_filter(program: &str) -> bool {
    matches!(
        program,
        "cat"
            | "tr"
            | "gzip"
            | "xz"
            | "bzip2"
            | "zstd"
            | "base64"
            | "tee"
            | "sort"
            | "uniq"
            | "cut"
            | "fold"
            | "od"
            | "xxd"
            | "hexdump"
            | "tac"
            | "tail"
            | "wc"
            | "rev"
            | "nl"
            | "pv"
            | "openssl"
            | "strings"
            | "paste"
            | "shuf"
            | "grep"
            | "rg"
            | "sed"
            | "awk"
            | "dd"
            | "split"
            | "csplit"
    )
}

/// Asks about commands that fill a disk or empty files.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let program = act.program;
    check_disk_fill(act, program, words);
    match program {
        "sed" | "gsed" | "perl" | "awk" | "gawk" => check_emptying(act, program, words),
        "chmod" => check_lockout(act, words),
        "gzip" | "bzip2" | "xz" | "zstd" if has_short_option(words, 'r') => {
            act.ask("mass-change", "Compresses every file below a directory, one by one");
        }
        "git" => check_ref_overwrite(act, words),
        "mv" | "gmv" => check_move_out(act, words),
        "kill" => check_parent_kill(act, words),
        "curl" => {
            let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.text.as_str()));
            let unchecked = has(&["-k", "--insecure"]) || has_short_option(words, 'k');
            if unchecked && has(&["-x", "--proxy", "--preproxy"]) {
                act.ask("tls-off", "Uses a proxy without verifying certificates");
            }
        }
        "wget" | "wget2" => {
            let base =
                words.iter().any(|word| word.text.starts_with("--base") || word.text == "-B");
            if base && words.iter().any(|word| word.text.starts_with("-i")) {
                act.ask("network-send", "Sends the lines of a file to a server as URLs");
            }
        }
        _ => {}
    }
}

fn has_short_option(words: &[ShellWord], letter: char) -> bool {
    words.iter().any(|word| {
        word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(letter)
    })
}

fn check_disk_fill(act: &mut EffectBuilder<'_>, program: &str, words: &[ShellWord]) {
    let value = |names: &[&str]| {
        words.iter().enumerate().find_map(|(at, word)| {
            names.iter().find_map(|name| {
                let rest = word.text.strip_prefix(name)?;
                match rest.trim_start_matches('=') {
                    "" => words.get(at + 1).map(|word| word.text.clone()),
                    rest => Some(rest.to_owned()),
                }
            })
        })
    };
    let size = match program {
        "fallocate" => value(&["--length", "-l"]).and_then(|text| parse_size(&text)),
        "truncate" => value(&["--size", "-s"]).and_then(|text| parse_size(&text)),
        "head" | "ghead" => value(&["--bytes", "-c"]).and_then(|text| parse_size(&text)),
        "mkfile" | "xfs_mkfile" => words.first().and_then(|word| parse_size(&word.text)),
        "dd" => {
            let named = |name: &str| {
                words.iter().find_map(|word| word.text.strip_prefix(name)).and_then(parse_size)
            };
            let endless =
                words.iter().any(|word| word.text.strip_prefix("if=").is_some_and(is_endless));
            match (named("bs=").unwrap_or(512), named("count=")) {
                (block, Some(count)) => block.checked_mul(count).or(Some(u64::MAX)),
                (_, None) if endless => Some(u64::MAX),
                _ => None,
            }
        }
        "seq" => words.last().and_then(|word| parse_size(&word.text)),
        "openssl" if words.first().is_some_and(|word| word.text == "rand") => {
            words.iter().filter_map(|word| parse_size(&word.text)).max()
        }
        _ => None,
    };
    let stored = writes_file(act) || matches!(program, "split" | "gsplit" | "csplit" | "gcsplit");
    let heavy = matches!(program, "sort" | "tac" | "tail" | "wc" | "cp" | "shuf");
    let device = words.iter().any(|word| is_endless(&word.text));
    // These programs also read such a device for random data, or with a limit.
    let taken_in = device && stored && !matches!(program, "openssl" | "dd" | "head" | "ghead");
    let input = act.context.input.taint.has(TextTaint::ENDLESS) && !bounds(program, words);
    let endless = (never_ends(program, words) && !reads_a_part(program, words) || input) && stored
        || (heavy && (device || input))
        || (taken_in && !reads_a_part(program, words))
        || (input && matches!(program, "split" | "gsplit" | "csplit" | "gcsplit"))
        || (program == "tee" && input)
        || (matches!(program, "grep" | "rg") && device && !bounds(program, words));
    if endless || size.is_some_and(|size| size > LARGE_SIZE_BYTES && (stored || program != "seq")) {
        act.ask("disk-filling", "May fill the disk with data");
    }
}

/// Whether an option limits how much input a program reads.
fn reads_a_part(program: &str, words: &[ShellWord]) -> bool {
    let options: &[&str] = match program {
        "od" | "hexdump" | "hd" => &["-N", "-n", "--read-bytes"],
        "xxd" => &["-l", "-len"],
        "shred" | "shuf" | "sort" => &["-n", "--head-count"],
        "split" | "gsplit" => &["-n", "--number"],
        _ => &["-N", "--count", "--bytes"],
    };
    words.iter().any(|word| options.iter().any(|option| word.text.starts_with(option)))
}

/// Whether the leaf writes to a file.
fn writes_file(act: &EffectBuilder<'_>) -> bool {
    act.leaf.effects.iter().any(|effect| {
        effect.scope == Scope::FILE_WRITE
            && matches!(effect.resource, Resource::Path(_) | Resource::Any)
    })
}

/// Parses a size such as `900G`, `10T` or `1e12`.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim_start_matches(['+', '<', '>', '%', '/']);
    if let Some((digits, power)) = text.split_once(['e', 'E'])
        && let (Ok(digits), Ok(power)) = (digits.parse::<u64>(), power.parse::<u32>())
    {
        return Some(digits.saturating_mul(10u64.saturating_pow(power)));
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text.get(..end)?.parse().ok()?;
    let unit: u64 = match text.get(end..)?.chars().next() {
        None | Some('c' | 'B') => 1,
        Some('b') => 512,
        Some('k' | 'K') => 1 << 10,
        Some('m' | 'M') => 1 << 20,
        Some('g' | 'G') => 1 << 30,
        Some('t' | 'T') => 1 << 40,
        Some('p' | 'P' | 'e' | 'E') => 1 << 50,
        Some(_) => return None,
    };
    Some(number.saturating_mul(unit))
}

/// Asks about scripts that empty many files.
fn check_emptying(act: &mut EffectBuilder<'_>, program: &str, words: &[ShellWord]) {
    let in_place = words.iter().any(|word| {
        word.text.starts_with("-i")
            || word.text.starts_with("--in-place")
            || (program == "perl" && word.text.starts_with('-') && word.text.contains('i'))
    });
    let many =
        words.iter().skip(1).any(|word| word.glob || !word.known || word.text.contains("{}"));
    if !in_place || !many {
        return;
    }
    let nothing = words.iter().any(|word| {
        let text = word.text.trim();
        let text = text.trim_end_matches(['g', 's']);
        match program {
            "perl" => text.is_empty() && words.iter().any(|w| w.text.contains('n')),
            "awk" | "gawk" => matches!(text, "0" | "" | "{}"),
            _ => matches!(
                text,
                "d" | "1,$d"
                    | "s/.*//"
                    | "s|.*||"
                    | "s#.*##"
                    | "s/.//"
                    | "s/^.*$//"
                    | "Q"
                    | "0q"
                    | "1d;d"
            ),
        }
    });
    if nothing {
        act.ask("mass-change", "Empties every file it is given");
    }
}

fn check_lockout(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let deep = has_short_option(words, 'R')
        || words.iter().any(|word| word.text == "--recursive" || word.glob);
    let shut = words.iter().any(|word| {
        matches!(
            word.text.as_str(),
            "000"
                | "0000"
                | "0"
                | "a-rwx"
                | "-rwx"
                | "ugo-rwx"
                | "a="
                | "ugo="
                | "a-r"
                | "u-r"
                | "u-rwx"
        )
    });
    if deep && shut {
        act.ask("mass-change", "Revokes all access to many files");
    }
}

fn check_ref_overwrite(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let fetches = words.iter().any(|word| matches!(word.text.as_str(), "fetch" | "pull"));
    let over = words.iter().any(|word| {
        (word.text.starts_with('+')
            || has_short_option(words, 'f')
            || words.iter().any(|w| w.text == "--force"))
            && word
                .text
                .split_once(':')
                .is_some_and(|(_, to)| to.starts_with("refs/heads") || to.starts_with("refs/*"))
    });
    if fetches && over {
        act.ask("git-loss", "Overwrites local branches with those of a remote");
    }
    let applies = words.iter().any(|word| matches!(word.text.as_str(), "apply" | "am"));
    if applies {
        if words.iter().any(|word| word.text == "--unsafe-paths") {
            act.ask("outside-write", "Changes files outside the repository");
        }
        let dirs: Vec<ShellWord> = words
            .iter()
            .filter_map(|word| {
                let text = word.text.strip_prefix("--directory=")?.to_owned();
                Some(ShellWord { text, ..word.clone() })
            })
            .collect();
        dirs.iter().for_each(|dir| act.write(dir));
    }
}

/// Asks about a directory that is moved out of the project, and so lost to it.
fn check_move_out(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let operands: Vec<&ShellWord> =
        words.iter().filter(|word| !word.text.starts_with('-')).collect();
    let Some((target, sources)) = operands.split_last() else { return };
    let root = act.context.at.cwd();
    let inside =
        |word: &ShellWord| act.context.absolute(word).is_some_and(|path| path.starts_with(root));
    let dir = |word: &&&ShellWord| {
        let name = word.text.trim_end_matches('/').rsplit('/').next().unwrap_or("");
        let made = matches!(
            name,
            "build"
                | "dist"
                | "target"
                | "out"
                | "node_modules"
                | "coverage"
                | "logs"
                | "tmp"
                | "bin"
        );
        word.known && inside(word) && !made && !name.contains('.')
    };
    if target.known && !inside(target) && sources.iter().any(|word| dir(&word)) {
        act.ask("mass-change", "Moves a directory out of the project");
    }
}

fn check_parent_kill(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let looks = |word: &ShellWord| {
        word.text.contains("PPID") || word.text.contains("ppid") || word.text.contains("hermes")
    };
    let group = words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        word.text == "0" && before.is_none_or(|word| !matches!(word.text.as_str(), "-s" | "-n"))
    });
    if group || words.iter().any(looks) {
        act.ask("force-kill", "Stops the program that runs this command");
    }
}

/// Whether this is the name of a file that a build regenerates.
pub(super) fn is_generated(name: &str) -> bool {
    const GENERATED_NAMES: &[&str] = &[
        "__pycache__",
        "*.pyc",
        "*.pyo",
        "*.o",
        "*.obj",
        "*.orig",
        "*.rej",
        ".DS_Store",
        "Thumbs.db",
        "*.swp",
        "*.swo",
        "*~",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        "*.class",
        "*.gcda",
        "*.gcno",
        "*.tmp",
        "*.bak",
        "*.aux",
        "*.toc",
        "*.d",
        "*.a",
        "*.egg-info",
        ".ipynb_checkpoints",
        "*.rlib",
        "*.profraw",
        "*.tsbuildinfo",
        "*.py[co]",
        ".coverage",
        "*.lo",
        "*.la",
    ];
    GENERATED_NAMES.contains(&name)
}
