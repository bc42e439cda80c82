//! Options of git subcommands that run programs or write files.

use super::git::is_path_of_tool;
use super::{git_losses, git_settings};
use crate::args::CommandArgs;
use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::ShellWord;

/// Handles options of subcommands that run programs or write files.
pub(super) fn options(
    act: &mut EffectBuilder<'_>,
    verb: &str,
    arguments: &[ShellWord],
    dir: Option<&ShellWord>,
) {
    let valued: &[&str] = match verb {
        "grep" => &["-e", "-f", "-A", "-B", "-C", "-m"],
        "difftool" | "mergetool" => &["-x", "--extcmd", "-t", "--tool"],
        "rebase" => &["-x", "--exec", "-s", "-X", "--onto"],
        _ => &[
            "-x",
            "--exec",
            "-o",
            "--output",
            "--upload-pack",
            "--receive-pack",
            "-u",
            "--template",
            "--remote",
            "--sendmail-cmd",
            "--smtp-server",
        ],
    };
    let args = CommandArgs::parse(arguments, valued);
    let glued = |start: &str| {
        let found = arguments.iter().find(|word| word.text.starts_with(start));
        found.map(|word| ShellWord {
            text: word.text.get(start.len()..).unwrap_or("").to_owned(),
            ..word.clone()
        })
    };
    match verb {
        "rebase" => {
            for code in args.values(&["-x", "--exec"]) {
                act.inner.push(InnerCommand::Source(code));
            }
        }
        "bisect" if args.operand(0) == "run" => {
            let words =
                arguments.iter().skip_while(|word| word.text != "run").skip(1).cloned().collect();
            act.inner.push(InnerCommand::Words(words));
        }
        "submodule" if args.operand(0) == "foreach" => {
            let code = arguments.iter().skip_while(|word| word.text != "foreach").skip(1);
            let code: Vec<ShellWord> =
                code.filter(|word| word.text != "--recursive").cloned().collect();
            match code.as_slice() {
                [only] => act.inner.push(InnerCommand::Source(only.clone())),
                _ => act.inner.push(InnerCommand::Words(code)),
            }
        }
        "config" => git_settings::describe(act, arguments),
        "grep" => {
            if let Some(code) = glued("-O").or_else(|| glued("--open-files-in-pager")) {
                act.program_option(&ShellWord {
                    text: code.text.trim_start_matches('=').to_owned(),
                    ..code
                });
            }
            if args.has(&["--no-index"]) {
                args.operands.iter().skip(1).for_each(|word| act.read(word));
            }
        }
        "difftool" | "mergetool" => {
            args.values(&["-x", "--extcmd"]).iter().for_each(|code| act.program_option(code));
            if args.values(&["-t", "--tool"]).iter().any(is_path_of_tool) {
                act.ask("env-override", "Makes git run another program");
            }
        }
        "send-email" => {
            args.values(&["--sendmail-cmd", "--smtp-server"])
                .iter()
                .filter(|word| word.text.contains(['/', ' ']))
                .for_each(|code| act.program_option(code));
        }
        "maintenance" if args.operand(0) == "start" => {
            act.ask("persistence", "Makes something run automatically later");
        }
        "hash-object" => {
            args.operands.iter().for_each(|word| act.read(&git_losses::in_dir(dir, word)));
        }
        _ => transfer_options(act, verb, arguments, &args, dir),
    }
}

/// Handles options of subcommands that transfer or compare something.
fn transfer_options(
    act: &mut EffectBuilder<'_>,
    verb: &str,
    arguments: &[ShellWord],
    args: &CommandArgs,
    dir: Option<&ShellWord>,
) {
    match verb {
        "diff" | "log" | "show" | "archive" | "format-patch" => {
            let targets = args.values(&["-o", "--output"]);
            targets.iter().for_each(|word| act.write(&git_losses::in_dir(dir, word)));
            let outside = arguments.iter().any(|word| word.text == "--no-index");
            let read = args
                .operands
                .iter()
                .filter(|word| verb == "diff" && (outside || word.text.starts_with(['/', '~'])));
            read.for_each(|word| act.read(&git_losses::in_dir(dir, word)));
        }
        _ => {}
    }
    if matches!(verb, "clone" | "fetch" | "pull" | "ls-remote" | "push" | "archive" | "fetch-pack")
    {
        let mut programs = args.values(&["--upload-pack", "--receive-pack", "--exec"]);
        if verb == "clone" {
            programs.extend(args.values(&["-u"]));
        }
        if let Some(program) = programs.first() {
            act.ask("env-override", format!("Makes git run another program ({})", program.text));
            act.inner.push(InnerCommand::Source(program.clone()));
        }
        let is_program = |text: &str| text.split('=').any(|part| part.starts_with("ext::"));
        if arguments.iter().any(|word| is_program(&word.text)) {
            act.ask("env-override", "Makes git run a program instead of connecting");
        }
    }
    let template = args.values(&["--template"]);
    if matches!(verb, "clone" | "init") && template.iter().any(|word| !word.text.is_empty()) {
        act.ask("env-override", "Installs hooks that git runs later");
    }
}
