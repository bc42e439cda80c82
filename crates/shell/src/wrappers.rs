//! Programs whose only purpose is to run another one.

use hermes_core::{Effect, Scope as Permission};

use crate::flow::Stream;
use crate::leaf::{Finding, Leaf, Word};
use crate::site::{Act, Inner};
use crate::wrapping::{Wrapper, XARGS, entry};
use crate::xargs::{self, PARALLEL};

/// What a wrapper runs; None if the leaf is no wrapper. Empty words stand for
/// a wrapper that runs nothing.
pub(crate) fn peel(act: &mut Act<'_>) -> Option<Inner> {
    let arguments = act.arguments();
    let listed = match act.program {
        "xargs" | "gxargs" => xargs::listed(act, arguments, XARGS),
        "parallel" | "sem" => xargs::listed(act, arguments, PARALLEL),
        _ => None,
    };
    let input = listed.as_ref().unwrap_or(act.site.input);
    let leaf = &mut *act.leaf;
    match leaf.program.as_str() {
        "watch" | "parallel" | "flock" | "script" | "entr" | "hyperfine" => {
            return joined(leaf, input);
        }
        "su" | "runuser" | "sg" | "newgrp" => return Some(switch_user(leaf)),
        "gdb" | "lldb" | "cgdb" => return debugged(leaf),
        "capsh" => return Some(after_dashes(leaf, Some("bash"))),
        "bwrap" | "start-stop-daemon" | "guix" | "nix-shell" | "nix" => return sandboxed(leaf),
        "yarn" | "bun" | "libtool" => {
            if let Some(inner) = handed_on(&leaf.program, arguments) {
                return Some(inner);
            }
        }
        "nodemon" | "cargo-watch" | "onchange" | "chokidar" => return watched(leaf),
        "screen" if !arguments.iter().any(|word| matches!(word.text.as_str(), "-X" | "-Q")) => {
            const SCREEN: Wrapper = Wrapper {
                names: &["screen"],
                valued: &["-S", "-c", "-e", "-h", "-p", "-s", "-t", "-T", "-L", "-Logfile", "-r"],
                own: 0,
                assigns: false,
                verb: &[],
                source: false,
            };
            let rest = strip(&SCREEN, arguments, leaf);
            return (!rest.is_empty()).then_some(Inner::Words(rest));
        }
        _ => {}
    }
    let wrapper = entry(&leaf.program, arguments)?;
    let arguments = match wrapper.verb {
        [] => arguments,
        _ => {
            let at = arguments.iter().position(|word| !word.text.starts_with('-'))?;
            arguments.get(at + 1..).unwrap_or(&[])
        }
    };
    if let Some(inner) = special(leaf, arguments) {
        return Some(inner);
    }
    let mut rest = strip(wrapper, arguments, leaf);
    let own = arguments.get(..arguments.len().saturating_sub(rest.len())).unwrap_or(&[]);
    if leaf.program == "uv" && own.iter().any(|word| word.text.starts_with("--with")) {
        leaf.effect(Effect::any(Permission::NETWORK_FETCH));
        let reason = "Fetches and runs packages that are not a part of the project";
        leaf.find(Finding::ask("remote-code", reason));
    }
    if wrapper.names.contains(&"xargs") {
        if rest.is_empty() {
            rest.push(Word::literal("echo"));
        }
        xargs::supply(&mut rest, arguments, input);
    }
    if rest.is_empty() {
        alone(leaf);
    }
    if wrapper.source && rest.len() == 1 {
        return rest.pop().map(Inner::Source);
    }
    if wrapper.names.contains(&"concurrently") {
        return Some(Inner::Source(lines(&rest)));
    }
    Some(Inner::Words(rest))
}

/// What programs with many verbs hand on as it is.
fn handed_on(program: &str, arguments: &[Word]) -> Option<Inner> {
    let at = arguments.iter().position(|word| !word.text.starts_with('-'))?;
    let (own, rest) = arguments.split_at(at);
    let (verb, words) = rest.split_first()?;
    match (program, verb.text.as_str()) {
        ("yarn", "node") => Some(Inner::Words(rest.to_vec())),
        ("bun", "exec") => words.first().cloned().map(Inner::Source),
        ("bun", "run") => {
            let named = words.first()?;
            let runs = crate::programs::is_command(&named.text) && words.len() > 1;
            runs.then(|| Inner::Words(words.to_vec()))
        }
        ("libtool", _) => {
            let executes = own.iter().any(|word| word.text == "--mode=execute");
            executes.then(|| Inner::Words(rest.to_vec()))
        }
        _ => None,
    }
}

/// Commands one below the other.
pub(crate) fn lines(words: &[Word]) -> Word {
    let mut all = Word::literal("");
    for word in words {
        all.text = format!("{}{}\n", all.text, word.text);
        all.known &= word.known;
        all.taint = all.taint.with(word.taint);
    }
    all
}

/// What comes after two dashes, under a program if one is named.
fn after_dashes(leaf: &mut Leaf, program: Option<&str>) -> Inner {
    let at = leaf.words.iter().position(|word| matches!(word.text.as_str(), "--" | "=="));
    let Some(at) = at else {
        leaf.reads_only = true;
        return Inner::Words(Vec::new());
    };
    let mut words: Vec<Word> = program.map(Word::literal).into_iter().collect();
    words.extend(leaf.words.iter().skip(at + 1).cloned());
    Inner::Words(words)
}

/// A debugger, if it is given a program with arguments.
fn debugged(leaf: &mut Leaf) -> Option<Inner> {
    let marks = ["--args", "-args", "--"];
    let at = leaf.words.iter().position(|word| marks.contains(&word.text.as_str()))?;
    let own = leaf.words.get(..at).unwrap_or(&[]);
    if own.iter().any(|word| word.text.contains(' ')) {
        leaf.find(Finding::ask("interpreter-code", "Runs programs from a debugger"));
    }
    Some(Inner::Words(leaf.words.iter().skip(at + 1).cloned().collect()))
}

/// Programs with options of many words, which end at two dashes.
fn sandboxed(leaf: &mut Leaf) -> Option<Inner> {
    let code = crate::args::Args::parse(
        leaf.words.get(1..).unwrap_or(&[]),
        &["--run", "--command", "-c", "--exec", "--startas"],
    );
    if leaf.program == "nix-shell"
        && let Some(code) = code.value(&["--run", "--command"])
    {
        return Some(Inner::Source(code));
    }
    let at = leaf.words.iter().position(|word| word.text == "--");
    let program = code.value(&["--exec", "--startas"]).filter(|_| leaf.program != "nix");
    match (at, program) {
        (Some(at), program) => {
            let mut words: Vec<Word> = program.into_iter().collect();
            words.extend(leaf.words.iter().skip(at + 1).cloned());
            Some(Inner::Words(words))
        }
        (None, Some(program)) => Some(Inner::Words(vec![program])),
        (None, None) => {
            let marks = ["-c", "--command"];
            let at = leaf.words.iter().position(|word| marks.contains(&word.text.as_str()));
            if let Some(at) = at.filter(|_| leaf.program == "nix") {
                return Some(Inner::Words(leaf.words.iter().skip(at + 1).cloned().collect()));
            }
            if leaf.program == "bwrap" {
                // Where the options end is not told; the first path to a program is.
                let at = leaf.words.iter().skip(1).position(|word| !word.text.starts_with('-'));
                let last = leaf.words.iter().rposition(|word| word.text.starts_with("--"));
                let from = last.map_or(at.unwrap_or(0), |last| last) + 1;
                leaf.find(Finding::ask("privilege", "Runs a program with other bounds"));
                return Some(Inner::Words(leaf.words.iter().skip(from + 1).cloned().collect()));
            }
            None
        }
    }
}

/// Programs that run a command whenever a file changes.
fn watched(leaf: &mut Leaf) -> Option<Inner> {
    let valued =
        ["-x", "--exec", "-s", "--shell", "-c", "--command", "-w", "--watch", "-e", "--ext"];
    let args = crate::args::Args::parse(leaf.words.get(1..).unwrap_or(&[]), &valued);
    match args.value(&["--exec", "--shell", "--command"]) {
        Some(code) => Some(Inner::Source(code)),
        None => {
            let short = if leaf.program == "chokidar" { "-c" } else { "-x" };
            let code = args.value(&[short]).filter(|_| leaf.program != "cargo-watch");
            match code.or_else(|| args.value(&["-s"])) {
                Some(code) => Some(Inner::Source(code)),
                None => match after_dashes(leaf, None) {
                    Inner::Words(words) if !words.is_empty() => Some(Inner::Words(words)),
                    _ => None,
                },
            }
        }
    }
}

/// Takes off the wrapper's own words.
fn strip(wrapper: &Wrapper, arguments: &[Word], leaf: &mut Leaf) -> Vec<Word> {
    let mut rest = arguments;
    let mut own = wrapper.own;
    while let Some((first, others)) = rest.split_first() {
        let text = first.text.as_str();
        if text == "--" {
            rest = others;
            break;
        }
        if text.starts_with('-') && text.len() > 1 {
            let skip = usize::from(takes_next(text, wrapper.valued));
            rest = others.get(skip..).unwrap_or(&[]);
            continue;
        }
        if wrapper.assigns
            && let Some((name, value)) = text.split_once('=')
        {
            let value = Word { text: value.to_owned(), ..first.clone() };
            if let Some(finding) = crate::programs::environment_override(name, &value) {
                leaf.find(finding);
            }
            leaf.effects.extend(crate::programs::proxy_effect(name, &value));
            rest = others;
            continue;
        }
        if own == 0 {
            break;
        }
        own -= 1;
        rest = others;
    }
    // The words of its own may come after the dashes.
    rest.get(if rest.len() > own { own } else { 0 }..).unwrap_or(&[]).to_vec()
}

/// The folder that a wrapper goes to first.
pub(crate) fn folder(leaf: &Leaf) -> Option<Word> {
    let (short, long) = match leaf.program.as_str() {
        "env" | "genv" => ("-C", "--chdir"),
        "sudo" | "run0" => ("-D", "--chdir"),
        "systemd-run" => ("-d", "--working-directory"),
        "npm" | "pnpm" | "yarn" => ("-C", "--prefix"),
        "uv" | "poetry" | "hatch" | "pixi" => ("-C", "--directory"),
        "direnv" => return leaf.words.get(2).cloned(),
        _ => return None,
    };
    let arguments = leaf.words.get(1..).unwrap_or(&[]);
    let own = arguments.get(..leading(arguments, &[short, long])).unwrap_or(&[]);
    own.iter().enumerate().find_map(|(index, word)| {
        let text = word.text.as_str();
        if text == short || text == long {
            return own.get(index + 1).or_else(|| arguments.get(index + 1)).cloned();
        }
        let value = text
            .strip_prefix(long)
            .and_then(|rest| rest.strip_prefix('='))
            .or_else(|| text.strip_prefix(short).filter(|rest| !rest.is_empty()))?;
        Some(Word { text: value.to_owned(), ..word.clone() })
    })
}

/// The variables that a wrapper sets for what it runs.
pub(crate) fn given(leaf: &Leaf) -> Vec<(String, Word)> {
    if !matches!(leaf.program.as_str(), "env" | "genv" | "sudo" | "doas") {
        return Vec::new();
    }
    let arguments = leaf.words.get(1..).unwrap_or(&[]);
    let assigns = |word: &&Word| {
        word.text.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
    };
    let assignments = arguments.iter().take(64).filter(assigns);
    let pair = |word: &Word| {
        let (name, value) = word.text.split_once('=')?;
        Some((name.to_owned(), Word { text: value.to_owned(), ..word.clone() }))
    };
    assignments.filter_map(pair).collect()
}

/// Whether an option, or the last one of several in one word, takes the next word.
fn takes_next(text: &str, valued: &[&str]) -> bool {
    // The name of a long one may be cut short.
    let long = text.len() > 3 && text.starts_with("--");
    if valued.iter().any(|name| *name == text || long && name.starts_with(text)) {
        return true;
    }
    let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or("");
    let takes = |c: char| valued.iter().any(|flag| flag.len() == 2 && flag.ends_with(c));
    // The first one that takes something takes the rest of the word, if there is any.
    letters.find(takes).is_some_and(|at| at + 1 == letters.len())
}

/// Wrappers that do not always run something, or run text.
fn special(leaf: &mut Leaf, arguments: &[Word]) -> Option<Inner> {
    let has = |names: &[&str]| {
        arguments
            .iter()
            .take_while(|word| word.text.starts_with('-'))
            .any(|word| names.contains(&word.text.as_str()))
    };
    match leaf.program.as_str() {
        "taskset" | "chrt" | "ionice" | "choom" | "prlimit" | "cpulimit"
            if has(&["-p", "--pid", "-pc", "-cp"])
                || arguments.iter().any(|word| word.text.starts_with("--pid=")) =>
        {
            leaf.effect(Effect::any(Permission::PROCESS_MANAGE));
            Some(Inner::Words(Vec::new()))
        }
        "setarch" => {
            let named = arguments.iter().find(|word| !word.text.starts_with('-'))?;
            let arch =
                ["x86", "i3", "i4", "i5", "i6", "linux", "arm", "aarch", "ppc", "s390", "mips"];
            let is_arch = arch.iter().any(|start| named.text.starts_with(start));
            // Without the name of an architecture the command comes at once.
            (!is_arch).then(|| {
                let words = arguments.iter().skip_while(|word| word.text.starts_with('-'));
                Inner::Words(words.cloned().collect())
            })
        }
        "ip" if arguments.first().is_none_or(|word| word.text != "exec") => {
            if arguments.first().is_some_and(|word| !matches!(word.text.as_str(), "list" | "show"))
            {
                leaf.find(Finding::ask("network-setting", "Changes the network of the machine"));
            }
            Some(Inner::Words(Vec::new()))
        }
        "npm" | "pnpm" | "yarn" => {
            let valued = ["-c", "--call", "-p", "--package", "-w"];
            let args = crate::args::Args::parse(arguments, &valued);
            args.value(&["-c", "--call"]).map(Inner::Source)
        }
        "sudo" if has(&["-e", "--edit"]) => {
            leaf.find(Finding::ask("privilege", "Edits files as another user"));
            Some(Inner::Words(Vec::new()))
        }
        "command" if has(&["-v", "-V", "-pv"]) => {
            leaf.reads_only = true;
            Some(Inner::Words(Vec::new()))
        }
        "env" => {
            let at = arguments.iter().position(|word| {
                word.text.starts_with("-S") || word.text.starts_with("--split-string")
            })?;
            let flag = arguments.get(at)?;
            let inline =
                flag.text.strip_prefix("-S").or_else(|| flag.text.strip_prefix("--split-string="));
            let mut text = match inline.filter(|text| !text.is_empty()) {
                Some(text) => Word { text: text.to_owned(), ..flag.clone() },
                None => arguments.get(at + 1)?.clone(),
            };
            for word in arguments.iter().skip(at + 2) {
                text.text = format!("{} {}", text.text, word.text);
            }
            Some(Inner::Source(text))
        }
        "sudo" | "doas" if has(&["-s", "-i", "--shell", "--login", "-si", "-is"]) => {
            leaf.find(Finding::ask("privilege", "Opens a shell as another user"));
            None
        }
        "sudo"
            if has(&[
                "-l",
                "-v",
                "-k",
                "-K",
                "-V",
                "--list",
                "--validate",
                "--version",
                "-h",
                "--help",
            ]) && !arguments.iter().any(|word| !word.text.starts_with('-')) =>
        {
            leaf.reads_only = true;
            Some(Inner::Words(Vec::new()))
        }
        _ => None,
    }
}

/// A wrapper that was given no command.
fn alone(leaf: &mut Leaf) {
    match leaf.program.as_str() {
        "env" => {
            leaf.effect(Effect::any(Permission::ENV_READ));
            leaf.reads_only = true;
        }
        "sudo" | "doas" | "pkexec" | "run0" => {
            leaf.find(Finding::ask("privilege", "Acts as another user"));
        }
        "chroot" | "unshare" | "nsenter" => {
            leaf.find(Finding::ask("privilege", "Opens a shell with other bounds"));
        }
        _ => leaf.reads_only = true,
    }
}

/// Wrappers that hand their words to a shell.
fn joined(leaf: &mut Leaf, input: &Stream) -> Option<Inner> {
    let valued: &[&str] = match leaf.program.as_str() {
        "watch" => &["-n", "--interval"],
        "parallel" => PARALLEL,
        "script" => &["-c", "--command", "-O", "-I", "-T", "-E", "-o", "-B", "-m"],
        "hyperfine" => HYPERFINE,
        "entr" => &[],
        _ => &["-w", "-E", "--timeout", "--conflict-exit-code"],
    };
    let arguments = leaf.words.get(1..).unwrap_or(&[]);
    let end = leading(arguments, valued);
    let args = crate::args::Args::parse(arguments.get(..end).unwrap_or(&[]), valued);
    let mut rest: Vec<Word> = arguments.get(end..).unwrap_or(&[]).to_vec();
    if let Some(code) = args.value(&["-c", "--command"]) {
        return Some(Inner::Source(code));
    }
    match leaf.program.as_str() {
        "flock" => {
            if !rest.is_empty() {
                rest.remove(0);
            }
            let code =
                rest.first().is_some_and(|word| matches!(word.text.as_str(), "-c" | "--command"));
            if code {
                return rest.get(1).cloned().map(Inner::Source);
            }
            Some(Inner::Words(rest))
        }
        "script" => {
            // The code may come after the file as well.
            let late = rest.iter().position(|word| takes_next(&word.text, &["-c", "--command"]));
            if let Some(code) = late.and_then(|at| rest.get(at + 1)) {
                return Some(Inner::Source(code.clone()));
            }
            let dashes = arguments.iter().take(end).any(|word| word.text == "--");
            leaf.reads_only = rest.is_empty();
            Some(Inner::Words(rest.get(usize::from(!dashes)..).unwrap_or(&[]).to_vec()))
        }
        "entr" if args.has(&["-s"]) => rest.into_iter().next().map(Inner::Source),
        "entr" => Some(Inner::Words(rest)),
        "parallel" => Some(xargs::parallel(rest, input)),
        "hyperfine" => {
            rest.extend(args.values(&["-p", "--prepare", "-c", "--cleanup", "-s", "--setup"]));
            Some(Inner::Source(lines(&rest)))
        }
        _ if rest.len() == 1 => rest.into_iter().next().map(Inner::Source),
        _ => Some(Inner::Words(rest)),
    }
}

const HYPERFINE: &[&str] = &[
    "-w",
    "-r",
    "-N",
    "--warmup",
    "--runs",
    "--export-json",
    "--export-markdown",
    "-m",
    "-M",
    "-p",
    "--prepare",
    "--cleanup",
    "-s",
    "--setup",
    "-L",
    "-n",
    "--parameter-list",
    "--command-name",
    "--export-csv",
    "--min-runs",
    "--max-runs",
];

/// How many words are options, with their values.
pub(crate) fn leading(arguments: &[Word], valued: &[&str]) -> usize {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        if !word.text.starts_with('-') || word.text.len() == 1 {
            break;
        }
        at += 1 + usize::from(takes_next(&word.text, valued));
        if word.text == "--" {
            break;
        }
    }
    at.min(arguments.len())
}

fn switch_user(leaf: &mut Leaf) -> Inner {
    leaf.find(Finding::ask("privilege", "Acts as another user"));
    let arguments = leaf.words.get(1..).unwrap_or(&[]);
    let code = ["-c", "--command", "--session-command"];
    let valued = [&code[..], &["-s", "-g", "-G", "-u"]].concat();
    let args = crate::args::Args::parse(arguments, &valued);
    if let Some(code) = args.value(&code) {
        return Inner::Source(code);
    }
    // The group comes first, and a shell reads what follows.
    if leaf.program == "sg" {
        let named = args.operands.iter().filter(|word| word.text != "-");
        let words: Vec<Word> = named.skip(1).cloned().collect();
        if words.is_empty() {
            return Inner::Words(words);
        }
        let mut line = lines(&words);
        line.text = line.text.trim_end().replace('\n', " ");
        return Inner::Source(line);
    }
    let Some(at) = arguments.iter().position(|word| word.text == "--") else {
        return Inner::Words(Vec::new());
    };
    // The words after the dashes are for the shell of the other user.
    let shell = (leaf.program == "su").then(|| Word::literal("sh"));
    Inner::Words(shell.into_iter().chain(arguments.iter().skip(at + 1).cloned()).collect())
}
