//! Programs whose only purpose is to run another program.

use hermes_core::{Effect, Scope as Permission};

use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::{CommandFinding, LeafCommand, ShellWord};
use crate::text_stream::TextStream;
use crate::wrapper_table::{
    ENV_VALUED, WrapperSpec, XARGS_VALUED, bwrap_value_count, find_wrapper,
};
use crate::xargs::{self, PARALLEL_VALUED};

/// Returns the command that a wrapper runs; None if the leaf is no wrapper.
/// Empty words mean that the wrapper runs nothing.
pub(crate) fn unwrap_command(act: &mut EffectBuilder<'_>) -> Option<InnerCommand> {
    let arguments = act.arguments();
    let listed = match act.program {
        "xargs" | "gxargs" => xargs::list_source(act, arguments, XARGS_VALUED),
        "parallel" | "sem" => xargs::list_source(act, arguments, PARALLEL_VALUED),
        _ => None,
    };
    let input = listed.as_ref().unwrap_or(act.context.input);
    let leaf = &mut *act.leaf;
    match leaf.program.as_str() {
        "watch" | "parallel" | "flock" | "script" | "entr" | "hyperfine" => {
            return joined_shell_source(leaf, input);
        }
        "su" | "runuser" | "sg" | "newgrp" => return Some(switch_user(leaf)),
        "gdb" | "lldb" | "cgdb" => return debugger_command(leaf),
        "capsh" => return Some(after_dashes(leaf, Some("bash"))),
        "bwrap" => return Some(InnerCommand::Words(bwrap_command(leaf))),
        "start-stop-daemon" | "guix" | "nix-shell" | "nix" => return sandbox_command(leaf),
        "yarn" | "bun" | "libtool" => {
            if let Some(inner) = passthrough_command(&leaf.program, arguments) {
                return Some(inner);
            }
        }
        "nodemon" | "cargo-watch" | "onchange" | "chokidar" => return watcher_command(leaf),
        "screen" if !arguments.iter().any(|word| matches!(word.text.as_str(), "-X" | "-Q")) => {
            const SCREEN_WRAPPER: WrapperSpec = WrapperSpec {
                names: &["screen"],
                valued: &["-S", "-c", "-e", "-h", "-p", "-s", "-t", "-T", "-L", "-Logfile", "-r"],
                own: 0,
                assigns: false,
                verb: &[],
                source: false,
            };
            let rest = strip_wrapper(&SCREEN_WRAPPER, arguments, leaf);
            return (!rest.is_empty()).then_some(InnerCommand::Words(rest));
        }
        _ => {}
    }
    let wrapper = find_wrapper(&leaf.program, arguments)?;
    let arguments = match wrapper.verb {
        [] => arguments,
        _ => {
            let at = arguments.iter().position(|word| !word.text.starts_with('-'))?;
            arguments.get(at + 1..).unwrap_or(&[])
        }
    };
    // Unlike `pnpm exec` and `yarn exec`, it installs what the project lacks.
    if leaf.program == "npm" {
        leaf.add_effect(Effect::any(Permission::NETWORK_FETCH));
    }
    if let Some(inner) = special_wrapper(leaf, arguments) {
        return Some(inner);
    }
    let mut rest = strip_wrapper(wrapper, arguments, leaf);
    let own = arguments.get(..arguments.len().saturating_sub(rest.len())).unwrap_or(&[]);
    if leaf.program == "uv" && own.iter().any(|word| word.text.starts_with("--with")) {
        leaf.add_effect(Effect::any(Permission::NETWORK_FETCH));
        let reason = "Fetches and runs packages that are not part of the project";
        leaf.add_finding(CommandFinding::ask("remote-code", reason));
    }
    if wrapper.names.contains(&"xargs") {
        if rest.is_empty() {
            rest.push(ShellWord::literal("echo"));
        }
        xargs::append_inputs(&mut rest, arguments, input);
    }
    if rest.is_empty() {
        describe_bare_wrapper(leaf);
    }
    if wrapper.source && rest.len() == 1 {
        return rest.pop().map(InnerCommand::Source);
    }
    if wrapper.names.contains(&"concurrently") {
        return Some(InnerCommand::Source(join_lines(&rest)));
    }
    Some(InnerCommand::Words(rest))
}

/// Returns the command that a program with many verbs passes on unchanged.
fn passthrough_command(program: &str, arguments: &[ShellWord]) -> Option<InnerCommand> {
    let at = arguments.iter().position(|word| !word.text.starts_with('-'))?;
    let (own, rest) = arguments.split_at(at);
    let (verb, words) = rest.split_first()?;
    match (program, verb.text.as_str()) {
        ("yarn", "node") => Some(InnerCommand::Words(rest.to_vec())),
        ("bun", "exec") => words.first().cloned().map(InnerCommand::Source),
        ("bun", "run") => {
            let named = words.first()?;
            let runs = crate::programs::is_command(&named.text) && words.len() > 1;
            runs.then(|| InnerCommand::Words(words.to_vec()))
        }
        ("libtool", _) => {
            let executes = own.iter().any(|word| word.text == "--mode=execute");
            executes.then(|| InnerCommand::Words(rest.to_vec()))
        }
        _ => None,
    }
}

/// Joins commands with newlines.
pub(crate) fn join_lines(words: &[ShellWord]) -> ShellWord {
    let mut all = ShellWord::literal("");
    for word in words {
        all.text = format!("{}{}\n", all.text, word.text);
        all.known &= word.known;
        all.taint = all.taint.with(word.taint);
    }
    all
}

/// Returns the words after two dashes, prefixed with `program` if given.
fn after_dashes(leaf: &mut LeafCommand, program: Option<&str>) -> InnerCommand {
    let at = leaf.words.iter().position(|word| matches!(word.text.as_str(), "--" | "=="));
    let Some(at) = at else {
        leaf.reads_only = true;
        return InnerCommand::Words(Vec::new());
    };
    let mut words: Vec<ShellWord> = program.map(ShellWord::literal).into_iter().collect();
    words.extend(leaf.words.iter().skip(at + 1).cloned());
    InnerCommand::Words(words)
}

/// Returns the command of a debugger invocation with a program and arguments.
fn debugger_command(leaf: &mut LeafCommand) -> Option<InnerCommand> {
    let marks = ["--args", "-args", "--"];
    let at = leaf.words.iter().position(|word| marks.contains(&word.text.as_str()))?;
    let own = leaf.words.get(..at).unwrap_or(&[]);
    if own.iter().any(|word| word.text.contains(' ')) {
        leaf.add_finding(CommandFinding::ask("interpreter-code", "Runs programs from a debugger"));
    }
    Some(InnerCommand::Words(leaf.words.iter().skip(at + 1).cloned().collect()))
}

/// Returns the command of bwrap, whose options take up to three words each.
fn bwrap_command(leaf: &mut LeafCommand) -> Vec<ShellWord> {
    let mut at = 1;
    let mut is_marked = false;
    while let Some(word) = leaf.words.get(at) {
        let text = word.text.as_str();
        at += 1;
        if text == "--" {
            is_marked = true;
            break;
        }
        if word.known && !text.starts_with("--") {
            at -= 1;
            break;
        }
        match bwrap_value_count(text).filter(|_| word.known) {
            Some(count) => at += count,
            None => {
                // How many words belong to it is unknown.
                let rest = leaf.words.get(at..).unwrap_or(&[]);
                at += rest.iter().position(|word| word.text == "--").map_or(0, |end| end + 1);
                break;
            }
        }
    }
    let words: Vec<ShellWord> = leaf.words.iter().skip(at).cloned().collect();
    if !is_marked && !words.is_empty() {
        let reason = "Runs a program in a different confinement";
        leaf.add_finding(CommandFinding::ask("privilege", reason));
    }
    words
}

/// Handles programs whose options take several words and end at two dashes.
fn sandbox_command(leaf: &mut LeafCommand) -> Option<InnerCommand> {
    let is_daemon = leaf.program == "start-stop-daemon";
    let code = crate::args::CommandArgs::parse(
        leaf.words.get(1..).unwrap_or(&[]),
        match is_daemon {
            true => &["-x", "--exec", "-a", "--startas"],
            false => &["--run", "--command", "-c"],
        },
    );
    if leaf.program == "nix-shell"
        && let Some(code) = code.value(&["--run", "--command"])
    {
        return Some(InnerCommand::Source(code));
    }
    let at = leaf.words.iter().position(|word| word.text == "--");
    let named = || code.value(&["-a", "--startas"]).or_else(|| code.value(&["-x", "--exec"]));
    let program = is_daemon.then(named).flatten();
    match (at, program) {
        (Some(at), program) => {
            let mut words: Vec<ShellWord> = program.into_iter().collect();
            words.extend(leaf.words.iter().skip(at + 1).cloned());
            Some(InnerCommand::Words(words))
        }
        (None, Some(program)) => Some(InnerCommand::Words(vec![program])),
        (None, None) => {
            let marks = ["-c", "--command"];
            let at = leaf.words.iter().position(|word| marks.contains(&word.text.as_str()));
            if let Some(at) = at.filter(|_| leaf.program == "nix") {
                return Some(InnerCommand::Words(
                    leaf.words.iter().skip(at + 1).cloned().collect(),
                ));
            }
            None
        }
    }
}

/// Returns the command that a file watcher runs on changes.
fn watcher_command(leaf: &mut LeafCommand) -> Option<InnerCommand> {
    let valued =
        ["-x", "--exec", "-s", "--shell", "-c", "--command", "-w", "--watch", "-e", "--ext"];
    let args = crate::args::CommandArgs::parse(leaf.words.get(1..).unwrap_or(&[]), &valued);
    match args.value(&["--exec", "--shell", "--command"]) {
        Some(code) => Some(InnerCommand::Source(code)),
        None => {
            let short = if leaf.program == "chokidar" { "-c" } else { "-x" };
            let code = args.value(&[short]).filter(|_| leaf.program != "cargo-watch");
            match code.or_else(|| args.value(&["-s"])) {
                Some(code) => Some(InnerCommand::Source(code)),
                None => match after_dashes(leaf, None) {
                    InnerCommand::Words(words) if !words.is_empty() => {
                        Some(InnerCommand::Words(words))
                    }
                    _ => None,
                },
            }
        }
    }
}

/// Removes the wrapper's own words.
fn strip_wrapper(
    wrapper: &WrapperSpec,
    arguments: &[ShellWord],
    leaf: &mut LeafCommand,
) -> Vec<ShellWord> {
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
            let value = ShellWord { text: value.to_owned(), ..first.clone() };
            if let Some(finding) = crate::programs::environment_override(name, &value) {
                leaf.add_finding(finding);
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
    // Its own operands may come after the dashes.
    rest.get(if rest.len() > own { own } else { 0 }..).unwrap_or(&[]).to_vec()
}

/// Returns the directory that a wrapper changes to first.
pub(crate) fn working_dir(leaf: &LeafCommand) -> Option<ShellWord> {
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
    let own = arguments.get(..leading_option_count(arguments, &[short, long])).unwrap_or(&[]);
    own.iter().enumerate().find_map(|(index, word)| {
        let text = word.text.as_str();
        if text == short || text == long {
            return own.get(index + 1).or_else(|| arguments.get(index + 1)).cloned();
        }
        let value = text
            .strip_prefix(long)
            .and_then(|rest| rest.strip_prefix('='))
            .or_else(|| text.strip_prefix(short).filter(|rest| !rest.is_empty()))?;
        Some(ShellWord { text: value.to_owned(), ..word.clone() })
    })
}

/// Returns the variables that a wrapper sets for its command.
pub(crate) fn given_variables(leaf: &LeafCommand) -> Vec<(String, ShellWord)> {
    if !matches!(leaf.program.as_str(), "env" | "genv" | "sudo" | "doas") {
        return Vec::new();
    }
    let arguments = leaf.words.get(1..).unwrap_or(&[]);
    let assigns = |word: &&ShellWord| {
        word.text.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
    };
    let assignments = arguments.iter().take(64).filter(assigns);
    let pair = |word: &ShellWord| {
        let (name, value) = word.text.split_once('=')?;
        Some((name.to_owned(), ShellWord { text: value.to_owned(), ..word.clone() }))
    };
    assignments.filter_map(pair).collect()
}

/// Whether an option, or the last of several in one word, takes the next word.
pub(crate) fn takes_next(text: &str, valued: &[&str]) -> bool {
    // Long options may be abbreviated.
    let long = text.len() > 3 && text.starts_with("--");
    if valued.iter().any(|name| *name == text || long && name.starts_with(text)) {
        return true;
    }
    let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or("");
    let takes = |c: char| valued.iter().any(|flag| flag.len() == 2 && flag.ends_with(c));
    // The first option with a value takes the rest of the word, if any.
    letters.find(takes).is_some_and(|at| at + 1 == letters.len())
}

/// Handles wrappers that do not always run a command, or that run text.
fn special_wrapper(leaf: &mut LeafCommand, arguments: &[ShellWord]) -> Option<InnerCommand> {
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
            leaf.add_effect(Effect::any(Permission::PROCESS_MANAGE));
            Some(InnerCommand::Words(Vec::new()))
        }
        "setarch" => {
            let named = arguments.iter().find(|word| !word.text.starts_with('-'))?;
            let arch =
                ["x86", "i3", "i4", "i5", "i6", "linux", "arm", "aarch", "ppc", "s390", "mips"];
            let is_arch = arch.iter().any(|start| named.text.starts_with(start));
            // Without an architecture name the command comes first.
            (!is_arch).then(|| {
                let words = arguments.iter().skip_while(|word| word.text.starts_with('-'));
                InnerCommand::Words(words.cloned().collect())
            })
        }
        "ip" if arguments.first().is_none_or(|word| word.text != "exec") => {
            if arguments.first().is_some_and(|word| !matches!(word.text.as_str(), "list" | "show"))
            {
                leaf.add_finding(CommandFinding::ask(
                    "network-setting",
                    "Changes the network settings of the machine",
                ));
            }
            Some(InnerCommand::Words(Vec::new()))
        }
        "npm" | "pnpm" | "yarn" => {
            let valued = ["-c", "--call", "-p", "--package", "-w"];
            let args = crate::args::CommandArgs::parse(arguments, &valued);
            args.value(&["-c", "--call"]).map(InnerCommand::Source)
        }
        "sudo" if has(&["-e", "--edit"]) => {
            leaf.add_finding(CommandFinding::ask("privilege", "Edits files as another user"));
            Some(InnerCommand::Words(Vec::new()))
        }
        "command" if has(&["-v", "-V", "-pv"]) => {
            leaf.reads_only = true;
            Some(InnerCommand::Words(Vec::new()))
        }
        "env" | "genv" => crate::env_split::split_command(arguments, ENV_VALUED),
        "sudo" | "doas" if has(&["-s", "-i", "--shell", "--login", "-si", "-is"]) => {
            leaf.add_finding(CommandFinding::ask("privilege", "Opens a shell as another user"));
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
            Some(InnerCommand::Words(Vec::new()))
        }
        _ => None,
    }
}

/// Describes a wrapper without a command.
fn describe_bare_wrapper(leaf: &mut LeafCommand) {
    match leaf.program.as_str() {
        "env" => {
            leaf.add_effect(Effect::any(Permission::ENV_READ));
            leaf.reads_only = true;
        }
        "sudo" | "doas" | "pkexec" | "run0" => {
            leaf.add_finding(CommandFinding::ask("privilege", "Runs commands as another user"));
        }
        "chroot" | "unshare" | "nsenter" => {
            leaf.add_finding(CommandFinding::ask(
                "privilege",
                "Opens a shell in a different confinement",
            ));
        }
        _ => leaf.reads_only = true,
    }
}

/// Handles wrappers that pass their words to a shell.
fn joined_shell_source(leaf: &mut LeafCommand, input: &TextStream) -> Option<InnerCommand> {
    let valued: &[&str] = match leaf.program.as_str() {
        "watch" => &["-n", "--interval"],
        "parallel" => PARALLEL_VALUED,
        "script" => &["-c", "--command", "-O", "-I", "-T", "-E", "-o", "-B", "-m"],
        "hyperfine" => HYPERFINE_VALUED,
        "entr" => &[],
        _ => &["-w", "-E", "--timeout", "--conflict-exit-code"],
    };
    let arguments = leaf.words.get(1..).unwrap_or(&[]);
    let end = leading_option_count(arguments, valued);
    let args = crate::args::CommandArgs::parse(arguments.get(..end).unwrap_or(&[]), valued);
    let mut rest: Vec<ShellWord> = arguments.get(end..).unwrap_or(&[]).to_vec();
    if let Some(code) = args.value(&["-c", "--command"]) {
        return Some(InnerCommand::Source(code));
    }
    match leaf.program.as_str() {
        "flock" => {
            if !rest.is_empty() {
                rest.remove(0);
            }
            let code =
                rest.first().is_some_and(|word| matches!(word.text.as_str(), "-c" | "--command"));
            if code {
                return rest.get(1).cloned().map(InnerCommand::Source);
            }
            Some(InnerCommand::Words(rest))
        }
        "script" => {
            // The code may also follow the file.
            let late = rest.iter().position(|word| takes_next(&word.text, &["-c", "--command"]));
            if let Some(code) = late.and_then(|at| rest.get(at + 1)) {
                return Some(InnerCommand::Source(code.clone()));
            }
            let dashes = arguments.iter().take(end).any(|word| word.text == "--");
            leaf.reads_only = rest.is_empty();
            Some(InnerCommand::Words(rest.get(usize::from(!dashes)..).unwrap_or(&[]).to_vec()))
        }
        "entr" if args.has(&["-s"]) => rest.into_iter().next().map(InnerCommand::Source),
        "entr" => Some(InnerCommand::Words(rest)),
        "parallel" => Some(xargs::parallel_commands(leaf, rest, input)),
        "hyperfine" => {
            rest.extend(args.values(&["-p", "--prepare", "-c", "--cleanup", "-s", "--setup"]));
            Some(InnerCommand::Source(join_lines(&rest)))
        }
        _ if rest.len() == 1 => rest.into_iter().next().map(InnerCommand::Source),
        _ => Some(InnerCommand::Words(rest)),
    }
}

const HYPERFINE_VALUED: &[&str] = &[
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

/// Returns the number of leading words that are options and their values.
pub(crate) fn leading_option_count(arguments: &[ShellWord], valued: &[&str]) -> usize {
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

fn switch_user(leaf: &mut LeafCommand) -> InnerCommand {
    leaf.add_finding(CommandFinding::ask("privilege", "Runs commands as another user"));
    let arguments = leaf.words.get(1..).unwrap_or(&[]);
    let code = ["-c", "--command", "--session-command"];
    let valued = [&code[..], &["-s", "-g", "-G", "-u"]].concat();
    let args = crate::args::CommandArgs::parse(arguments, &valued);
    if let Some(code) = args.value(&code) {
        return InnerCommand::Source(code);
    }
    // The group comes first; a shell parses the rest.
    if leaf.program == "sg" {
        let named = args.operands.iter().filter(|word| word.text != "-");
        let words: Vec<ShellWord> = named.skip(1).cloned().collect();
        if words.is_empty() {
            return InnerCommand::Words(words);
        }
        let mut line = join_lines(&words);
        line.text = line.text.trim_end().replace('\n', " ");
        return InnerCommand::Source(line);
    }
    let Some(at) = arguments.iter().position(|word| word.text == "--") else {
        return InnerCommand::Words(Vec::new());
    };
    // The words after the dashes go to the other user's shell.
    let shell = (leaf.program == "su").then(|| ShellWord::literal("sh"));
    InnerCommand::Words(shell.into_iter().chain(arguments.iter().skip(at + 1).cloned()).collect())
}

#[cfg(test)]
#[path = "wrappers_tests.rs"]
mod tests;
