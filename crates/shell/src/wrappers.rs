//! Programs whose only purpose is to run another one.

use hermes_core::{Effect, Scope as Permission};

use crate::flow::Stream;
use crate::leaf::{Finding, Leaf, Word};
use crate::site::Inner;

/// How a wrapper's own words are told from those of the command it runs.
struct Wrapper {
    name: &'static str,
    /// Options that take the next word.
    valued: &'static [&'static str],
    /// Words of its own before the command.
    own: usize,
    /// Whether `NAME=value` may come before the command.
    assigns: bool,
    /// The word that must come first, such as `run`.
    verb: &'static [&'static str],
}

const fn plain(name: &'static str) -> Wrapper {
    Wrapper { name, valued: &[], own: 0, assigns: false, verb: &[] }
}

const fn valued(name: &'static str, valued: &'static [&'static str]) -> Wrapper {
    Wrapper { name, valued, own: 0, assigns: false, verb: &[] }
}

const fn own(name: &'static str, valued: &'static [&'static str], own: usize) -> Wrapper {
    Wrapper { name, valued, own, assigns: false, verb: &[] }
}

const fn verb(
    name: &'static str,
    verb: &'static [&'static str],
    valued: &'static [&'static str],
    own: usize,
) -> Wrapper {
    Wrapper { name, valued, own, assigns: false, verb }
}

const fn assigns(name: &'static str, valued: &'static [&'static str]) -> Wrapper {
    Wrapper { name, valued, own: 0, assigns: true, verb: &[] }
}

const XARGS: &[&str] = &[
    "-I",
    "-n",
    "-P",
    "-L",
    "-d",
    "-a",
    "-s",
    "-E",
    "--max-args",
    "--max-procs",
    "--delimiter",
    "--arg-file",
    "--replace",
    "--max-lines",
    "--max-chars",
    "--process-slot-var",
];
const SUDO: &[&str] = &[
    "-u",
    "-g",
    "-h",
    "-p",
    "-C",
    "-D",
    "-R",
    "-T",
    "-U",
    "-r",
    "-t",
    "--user",
    "--group",
    "--host",
    "--prompt",
    "--chdir",
    "--chroot",
    "--close-from",
    "--other-user",
    "--role",
    "--type",
    "--command-timeout",
];

const WRAPPERS: &[Wrapper] = &[
    assigns("env", &["-u", "-C", "--unset", "--chdir", "-P"]),
    plain("command"),
    plain("builtin"),
    valued("exec", &["-a"]),
    plain("nohup"),
    plain("setsid"),
    valued("nice", &["-n", "--adjustment"]),
    valued("ionice", &["-c", "-n", "-p", "-P", "-u", "--class", "--classdata"]),
    valued("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"]),
    own("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    own("gtimeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    valued("time", &["-f", "-o", "--format", "--output"]),
    valued("gtime", &["-f", "-o", "--format", "--output"]),
    valued("xargs", XARGS),
    valued("gxargs", XARGS),
    assigns("sudo", SUDO),
    assigns("doas", &["-u", "-C", "-a"]),
    valued("pkexec", &["--user"]),
    valued("run0", &["-u", "--user", "-g", "--group"]),
    own("chroot", &["--userspec", "--groups"], 1),
    valued("unshare", &["-S", "-G", "-w", "-R", "--wd", "--root", "--setuid", "--setgid"]),
    valued("nsenter", &["-t", "--target", "-S", "-G", "--setuid", "--setgid"]),
    own("taskset", &["-c", "--cpu-list", "-p"], 1),
    own("chrt", &[], 1),
    plain("busybox"),
    plain("toybox"),
    plain("unbuffer"),
    plain("rlwrap"),
    plain("caffeinate"),
    valued("xvfb-run", &["-s", "-n", "--server-args", "-w", "-e"]),
    plain("dbus-run-session"),
    plain("fakeroot"),
    plain("proxychains"),
    plain("proxychains4"),
    plain("torsocks"),
    valued("strace", &["-e", "-o", "-p", "-s", "-P", "-u", "-E"]),
    valued("ltrace", &["-e", "-o", "-p", "-s"]),
    valued("setarch", &[]),
    plain("catchsegv"),
    plain("chronic"),
    plain("ts-node-dev"),
    valued("systemd-run", &["-p", "--property", "-u", "--unit", "--slice", "-M"]),
    verb("poetry", &["run"], &["-C", "--directory"], 0),
    verb("pipenv", &["run"], &[], 0),
    verb("pdm", &["run"], &["-p"], 0),
    verb("hatch", &["run"], &["-e"], 0),
    verb(
        "uv",
        &["run"],
        &[
            "--with",
            "--python",
            "-p",
            "--extra",
            "--group",
            "--project",
            "--env-file",
            "--package",
            "--directory",
        ],
        0,
    ),
    verb("conda", &["run"], &["-n", "-p", "--name", "--prefix", "--cwd"], 0),
    verb("bundle", &["exec"], &[], 0),
    verb("rustup", &["run"], &[], 1),
    verb("direnv", &["exec"], &[], 1),
    verb("npm", &["exec"], &["-p", "--package", "-w"], 0),
    verb("pnpm", &["exec"], &["-C", "--filter", "-F"], 0),
    verb("yarn", &["exec"], &[], 0),
    verb("mise", &["exec", "x"], &[], 0),
    verb("dotenv", &["run"], &["-f"], 0),
    verb("op", &["run"], &["--env-file"], 0),
];

/// What a wrapper runs; None if the leaf is no wrapper. Empty words stand for
/// a wrapper that runs nothing.
pub(crate) fn peel(leaf: &mut Leaf, input: &Stream) -> Option<Inner> {
    match leaf.program.as_str() {
        "watch" | "parallel" | "flock" | "script" | "entr" | "hyperfine" | "chpst" => {
            return joined(leaf);
        }
        "su" | "runuser" => return Some(switch_user(leaf)),
        _ => {}
    }
    let arguments = leaf.words.get(1..).unwrap_or(&[]).to_vec();
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == leaf.program)?;
    let arguments = match wrapper.verb {
        [] => arguments,
        verbs => {
            let at = arguments.iter().position(|word| !word.text.starts_with('-'))?;
            if !verbs.contains(&arguments.get(at)?.text.as_str()) {
                return None;
            }
            arguments.get(at + 1..).unwrap_or(&[]).to_vec()
        }
    };
    if let Some(inner) = special(leaf, &arguments) {
        return Some(inner);
    }
    let mut rest = strip(wrapper, &arguments, leaf);
    if wrapper.name.ends_with("xargs") {
        if rest.is_empty() {
            rest.push(Word::literal("echo"));
        }
        supply(&mut rest, &arguments, input);
    }
    if rest.is_empty() {
        alone(leaf);
    }
    Some(Inner::Words(rest))
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
            let skip = usize::from(wrapper.valued.contains(&text));
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

/// Wrappers that do not always run something, or run text.
fn special(leaf: &mut Leaf, arguments: &[Word]) -> Option<Inner> {
    let has = |names: &[&str]| {
        arguments
            .iter()
            .take_while(|word| word.text.starts_with('-'))
            .any(|word| names.contains(&word.text.as_str()))
    };
    match leaf.program.as_str() {
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

/// The words that xargs adds, if they can be told; an unknown one otherwise.
fn supply(rest: &mut Vec<Word>, arguments: &[Word], input: &Stream) {
    let replaced = arguments.iter().position(|word| word.text.starts_with("-I")).map(|at| {
        let flag = arguments.get(at).map_or("", |word| word.text.as_str());
        match flag.strip_prefix("-I") {
            Some("") | None => {
                arguments.get(at + 1).map_or_else(|| "{}".to_owned(), |word| word.text.clone())
            }
            Some(mark) => mark.to_owned(),
        }
    });
    let unknown = Word { text: "$input".to_owned(), taint: input.taint, ..Word::default() };
    let known: Option<Vec<Word>> = input
        .text
        .as_ref()
        .filter(|text| text.len() < 4096)
        .map(|text| text.split_whitespace().map(Word::literal).collect());
    match replaced {
        None => rest.extend(known.unwrap_or_else(|| vec![unknown])),
        Some(mark) => {
            let value = match known.as_deref() {
                Some([only]) => only.clone(),
                _ => unknown,
            };
            for word in rest.iter_mut().filter(|word| word.text.contains(&mark)) {
                word.text = word.text.replace(&mark, &value.text);
                word.known &= value.known;
            }
        }
    }
}

/// Wrappers that hand their words to a shell.
fn joined(leaf: &mut Leaf) -> Option<Inner> {
    let valued: &[&str] = match leaf.program.as_str() {
        "watch" => &["-n", "--interval"],
        "parallel" => &[
            "-j",
            "--jobs",
            "-a",
            "-I",
            "-n",
            "-N",
            "-d",
            "--delay",
            "--joblog",
            "-S",
            "--colsep",
            "--timeout",
        ],
        "script" => &["-c", "--command", "-O", "-I", "-T"],
        "hyperfine" => &[
            "-w",
            "-r",
            "-N",
            "--warmup",
            "--runs",
            "--export-json",
            "--export-markdown",
            "-m",
            "-M",
        ],
        _ => &["-w", "-E", "-c", "-u"],
    };
    let arguments = leaf.words.get(1..).unwrap_or(&[]);
    let args = crate::args::Args::parse(
        arguments.get(..leading(arguments, valued)).unwrap_or(&[]),
        valued,
    );
    let mut rest: Vec<Word> = arguments.get(leading(arguments, valued)..).unwrap_or(&[]).to_vec();
    if let Some(code) = args.value(&["-c", "--command"]) {
        return Some(Inner::Source(code));
    }
    if leaf.program == "flock" || leaf.program == "chpst" {
        if !rest.is_empty() {
            rest.remove(0);
        }
        if rest.first().is_some_and(|word| word.text == "-c") {
            return rest.get(1).cloned().map(Inner::Source);
        }
        return Some(Inner::Words(rest));
    }
    if let Some(at) = rest.iter().position(|word| word.text.starts_with(":::")) {
        let mut given = rest.split_off(at);
        given.retain(|word| !word.text.starts_with(":::"));
        rest.retain(|word| !word.text.contains("{}"));
        rest.extend(given);
        return Some(Inner::Words(rest));
    }
    match leaf.program.as_str() {
        "entr" => Some(Inner::Words(rest)),
        "script" => {
            leaf.reads_only = rest.is_empty();
            Some(Inner::Words(Vec::new()))
        }
        _ if rest.len() == 1 => rest.into_iter().next().map(Inner::Source),
        "parallel" => {
            rest.push(Word { text: "$input".to_owned(), ..Word::default() });
            Some(Inner::Words(rest))
        }
        _ => Some(Inner::Words(rest)),
    }
}

/// How many words are options, with their values.
fn leading(arguments: &[Word], valued: &[&str]) -> usize {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        if !word.text.starts_with('-') || word.text.len() == 1 {
            break;
        }
        at += 1 + usize::from(valued.contains(&word.text.as_str()));
        if word.text == "--" {
            break;
        }
    }
    at.min(arguments.len())
}

fn switch_user(leaf: &mut Leaf) -> Inner {
    leaf.find(Finding::ask("privilege", "Acts as another user"));
    let arguments = leaf.words.get(1..).unwrap_or(&[]);
    let args = crate::args::Args::parse(arguments, &["-c", "--command", "-s", "-g", "-G", "-u"]);
    match args.value(&["-c", "--command"]) {
        Some(code) => Inner::Source(code),
        None => match arguments.iter().position(|word| word.text == "--") {
            Some(at) => Inner::Words(arguments.get(at + 1..).unwrap_or(&[]).to_vec()),
            None => Inner::Words(Vec::new()),
        },
    }
}
