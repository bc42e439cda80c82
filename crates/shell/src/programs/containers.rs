//! Containers.

use hermes_core::Scope;

use crate::args::CommandArgs;
use crate::blocked_operations;
use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::ShellWord;

const READ_ONLY_VERBS: &[&str] = &[
    "ps",
    "images",
    "logs",
    "inspect",
    "version",
    "info",
    "stats",
    "top",
    "port",
    "diff",
    "history",
    "search",
    "events",
    "ls",
    "list",
    "config",
    "df",
    "--version",
    "-v",
    "help",
    "--help",
    "",
];

const VALUED_OPTIONS: &[&str] = &[
    "-e",
    "-v",
    "-p",
    "-w",
    "-u",
    "-f",
    "-t",
    "-c",
    "-l",
    "-m",
    "-h",
    "--env",
    "--volume",
    "--publish",
    "--workdir",
    "--user",
    "--file",
    "--tag",
    "--name",
    "--network",
    "--entrypoint",
    "--mount",
    "--env-file",
    "--project-name",
    "--profile",
    "--context",
    "-H",
    "--host",
    "--platform",
    "--label",
    "--cpus",
    "--memory",
    "--hostname",
    "--add-host",
    "--restart",
    "--gpus",
    "--shm-size",
    "--ipc",
    "--pid",
    "--cap-add",
    "--device",
    "--security-opt",
    "--ulimit",
    "--tmpfs",
    "--link",
    "--index",
    "--build-arg",
    "--target",
    "--cache-from",
];

/// Describes docker and compatible programs.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    let program = act.program;
    if !matches!(program, "docker" | "podman" | "nerdctl" | "docker-compose" | "podman-compose") {
        return false;
    }
    let (global, rest) = split(words, 0);
    if global.iter().any(|word| matches!(word.text.as_str(), "--version" | "--help")) {
        act.affect_any(Scope::DOCKER_READ);
        act.mark_read_only();
        return true;
    }
    let far = CommandArgs::parse(global, VALUED_OPTIONS).values(&[
        "-H",
        "--host",
        "-c",
        "--context",
        "--url",
    ]);
    if far.iter().any(|word| !word.text.starts_with("unix:") && word.text != "default") {
        act.ask("infrastructure-change", "Controls containers on another machine");
    }
    let mut verb = rest.first().map(|word| word.text.clone()).unwrap_or_default();
    let mut arguments = rest.get(1..).unwrap_or(&[]);
    let mut group = String::new();
    let grouped = matches!(
        verb.as_str(),
        "compose"
            | "container"
            | "image"
            | "volume"
            | "network"
            | "system"
            | "builder"
            | "buildx"
            | "context"
            | "stack"
            | "service"
            | "swarm"
            | "node"
            | "secret"
            | "pod"
    );
    if grouped {
        group.clone_from(&verb);
        let (_, inner) = split(arguments, 0);
        verb = inner.first().map(|word| word.text.clone()).unwrap_or_default();
        arguments = inner.get(1..).unwrap_or(&[]);
    } else if program.ends_with("-compose") {
        "compose".clone_into(&mut group);
    }
    if READ_ONLY_VERBS.contains(&verb.as_str()) {
        act.affect_any(Scope::DOCKER_READ);
        act.mark_read_only();
        return true;
    }
    act.affect_any(Scope::DOCKER_RUN);
    describe_verb(act, &group, &verb, arguments);
    true
}

/// Splits off the leading options and `own` words.
fn split(words: &[ShellWord], own: usize) -> (&[ShellWord], &[ShellWord]) {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
        at += 1 + usize::from(VALUED_OPTIONS.contains(&word.text.as_str()));
    }
    words.split_at((at + own).min(words.len()))
}

fn describe_verb(act: &mut EffectBuilder<'_>, group: &str, verb: &str, arguments: &[ShellWord]) {
    match verb {
        "exec" | "run" => {
            let (options, rest) = split(arguments, 0);
            check_mounts(act, options);
            let command = rest.get(1..).unwrap_or(&[]).to_vec();
            if !command.is_empty() {
                // The command sees the container's files, not the host's.
                run_inside(act, command);
            }
        }
        "pull" | "push" | "login" => {
            let scope = if verb == "pull" { Scope::NETWORK_FETCH } else { Scope::NETWORK_SEND };
            act.affect_any(scope);
        }
        "build" => act.affect_any(Scope::NETWORK_FETCH),
        "cp" => copy(act, arguments),
        _ => {}
    }
    let args = CommandArgs::parse(arguments, &["-t", "--time", "-s", "--signal"]);
    let lost = match (group, verb) {
        (_, "rm" | "rmi" | "remove" | "prune") => "Removes containers, images or their data",
        ("compose", "down") if args.has(&["-v", "--volumes", "--rmi"]) => {
            "Removes containers and their data"
        }
        (_, "stop" | "kill" | "restart" | "down" | "pause") => "Stops containers",
        ("swarm", "leave") => "Leaves the swarm",
        _ => return,
    };
    act.ask("container-loss", lost);
}

fn check_mounts(act: &mut EffectBuilder<'_>, options: &[ShellWord]) {
    let args = CommandArgs::parse(options, VALUED_OPTIONS);
    if args.has(&["--privileged"])
        || args.values(&["--pid", "--ipc"]).iter().any(|word| word.text == "host")
    {
        act.ask("privilege", "Starts a container with host privileges");
    }
    for volume in args.values(&["-v", "--volume", "--mount"]) {
        let source =
            match volume.text.split_once("source=").or_else(|| volume.text.split_once("src=")) {
                Some((_, rest)) => rest.split(',').next().unwrap_or(""),
                None => volume.text.split(':').next().unwrap_or(""),
            };
        if !source.starts_with(['/', '.', '~', '$']) {
            continue;
        }
        let word = ShellWord { text: source.to_owned(), ..volume.clone() };
        let read_only = volume.text.ends_with(":ro") || volume.text.contains("readonly");
        if source == "/var/run/docker.sock" || source == "/run/docker.sock" {
            act.ask("privilege", "Gives a container control over all containers");
        } else if read_only {
            act.read(&word);
        } else {
            if blocked_operations::protected_place(act.context, &word)
                .is_some_and(|place| place.contains("system") || place.starts_with("/etc"))
            {
                act.ask("privilege", "Gives a container access to system files");
            }
            act.write(&word);
        }
    }
}

fn run_inside(act: &mut EffectBuilder<'_>, command: Vec<ShellWord>) {
    act.inner.push(InnerCommand::Words(command));
}

fn copy(act: &mut EffectBuilder<'_>, arguments: &[ShellWord]) {
    let args = CommandArgs::parse(arguments, &[]);
    let remote = |word: &ShellWord| super::network::remote_host(&word.text).is_some();
    if let (Some(from), Some(to)) = (args.operands.first(), args.operands.get(1)) {
        if !remote(from) {
            act.read(from);
        }
        if !remote(to) {
            act.write(to);
        }
    }
}
