//! Programs that change files.

use super::recursive_reads;
use crate::args::CommandArgs;
use crate::blocked_operations;
use crate::eval_context::EffectBuilder;
use crate::leaf::{ShellWord, TargetMode};

/// Describes the programs that create, change and remove files.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    match act.program {
        "rm" | "grm" | "srm" => remove(act, words),
        "unlink" | "rmdir" | "trash" | "trash-put" | "rip" | "gtrash" | "safe-rm" | "del" => {
            let operands = CommandArgs::parse(words, &[]).operands;
            check_match_all(act, &operands, "Deletes");
            operands.iter().for_each(|word| act.delete(word));
        }
        "trash-empty" | "trash-rm" => act.ask("data-loss", "Deletes files in the trash"),
        "trash-list" => act.mark_read_only(),
        "gio" => desktop(act, words),
        "mv" | "gmv" => relocate(act, words),
        "cp" | "gcp" | "install" | "ginstall" => copy(act, words),
        "ln" | "gln" | "link" => link(act, words),
        "rsync" => synchronise(act, words),
        "tee" | "sponge" => {
            CommandArgs::parse(words, &[]).operands.iter().for_each(|word| act.write(word));
        }
        "touch" => {
            let args = CommandArgs::parse(words, &["-d", "-r", "-t", "--date", "--reference"]);
            args.operands.iter().for_each(|word| act.write(word));
        }
        "mkdir" | "mkfifo" | "mknod" => {
            let args = CommandArgs::parse(words, &["-m", "--mode"]);
            if let Some(mode) = args.value(&["-m", "--mode"]) {
                judge_mode(act, &mode.text, false);
            }
            let count = if act.program == "mknod" { 1 } else { args.operands.len() };
            args.operands.iter().take(count).for_each(|word| act.write(word));
        }
        "truncate" => truncate(act, words),
        "fallocate" => allocate(act, words),
        "shred" => shred(act, words),
        "dd" => copy_blocks(act, words),
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" | "gchmod" | "gchown" => {
            change_mode(act, words);
        }
        "split" | "csplit" | "gsplit" => split_file(act, words),
        "patch" => apply_patch(act, words),
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "rustc" | "ld" | "as" => {
            let args =
                CommandArgs::parse(words, &["-o", "-I", "-L", "-D", "-x", "-include", "-isystem"]);
            args.values(&["-o"]).iter().for_each(|word| act.write(word));
            args.operands.iter().for_each(|word| act.read(word));
        }
        _ => return false,
    }
    true
}

fn remove(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, &[]);
    let recursive = args.has(&["-r", "-R", "--recursive"]);
    if recursive {
        if !blocked_operations::block_if_protected(act, &args.operands, "root-delete", "Deletes")
            && !args.operands.is_empty()
        {
            let reason = match args.operands.iter().find(|word| !word.known) {
                Some(word) => {
                    format!("Deletes a directory that is only known at run time ({})", word.text)
                }
                None => "Deletes directories with all their contents".to_owned(),
            };
            act.ask("recursive-delete", reason);
        }
    } else {
        let everything = args.operands.iter().find(|word| {
            word.glob && blocked_operations::protected_place(act.context, word).is_some()
        });
        if let Some(word) = everything {
            let reason = format!("Deletes all files that match {}", word.text);
            act.ask("delete-with-glob", reason);
        }
    }
    check_match_all(act, &args.operands, "Deletes");
    if act.leaf.wrappers.iter().any(|via| via.ends_with("xargs") || via == "parallel") {
        act.ask("recursive-delete", "Deletes a list of files produced by another command");
    }
    for word in args.operands.iter() {
        act.delete(word);
        if let Some(finding) = word.known_text().filter(|path| blocked_operations::is_disk(path)) {
            let reason = format!("Removes the device {finding}");
            act.ask("disk", reason);
        }
    }
}

/// Asks about globs that match everything in or above the working directory.
fn check_match_all(act: &mut EffectBuilder<'_>, words: &[ShellWord], does: &str) {
    let found = words.iter().filter(|word| word.glob).find(|word| {
        let Some(path) = act.context.absolute(word) else { return false };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let all = matches!(name.as_deref(), Some("*" | "**" | ".*" | "?*" | "*.*" | "[!.]*"));
        let dir = path.parent().unwrap_or(&path);
        all && (act.context.at.cwd().starts_with(dir) || act.context.cwd == Some(dir))
    });
    if let Some(word) = found {
        let reason = format!("{does} all files that match {}", word.text);
        act.ask("delete-with-glob", reason);
    }
}

/// Describes `gio`, the desktop's file tool.
fn desktop(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, &["-a", "--attributes"]);
    let verb = args.operand(0).to_owned();
    let rest: Vec<ShellWord> = args.operands.iter().skip(1).cloned().collect();
    match verb.as_str() {
        "info" | "list" | "tree" | "cat" | "mime" | "version" | "help" | "monitor" | "" => {
            act.mark_read_only();
            rest.iter().for_each(|word| act.read(word));
        }
        "trash" | "remove" => {
            if !blocked_operations::block_if_protected(act, &rest, "root-delete", "Deletes") {
                act.ask("recursive-delete", "Deletes files or directories");
            }
            rest.iter().for_each(|word| act.delete(word));
        }
        "copy" | "move" | "rename" => {
            if let Some((target, sources)) = rest.split_last() {
                sources.iter().for_each(|word| act.read(word));
                act.write(target);
                sources.iter().for_each(|word| act.transfer(word, target, TargetMode::IntoIfDir));
            }
        }
        "mkdir" | "save" => rest.iter().for_each(|word| act.write(word)),
        _ => act.ask("unknown-subcommand", format!("Runs the unknown subcommand “gio {verb}”")),
    }
}

/// Sources and target of `cp`, `mv` and similar programs.
fn sources_and_target(args: &CommandArgs) -> (Vec<ShellWord>, Option<ShellWord>) {
    if let Some(target) = args.value(&["-t", "--target-directory"]) {
        return (args.operands.to_vec(), Some(target));
    }
    match args.operands.split_last() {
        Some((target, sources)) => (sources.to_vec(), Some(target.clone())),
        None => (Vec::new(), None),
    }
}

/// Records where each source ends up.
fn record_transfers(
    act: &mut EffectBuilder<'_>,
    args: &CommandArgs,
    sources: &[ShellWord],
    target: &ShellWord,
) {
    for source in sources {
        // `src/.` means the contents of the directory.
        let contents = source.text == "." || source.text.ends_with("/.");
        let landing = if contents || args.has(&["-T", "--no-target-directory"]) {
            TargetMode::Replace
        } else if args.has(&["-t", "--target-directory"]) || target.text.ends_with('/') {
            TargetMode::Into
        } else {
            TargetMode::IntoIfDir
        };
        act.transfer(source, target, landing);
    }
}

fn relocate(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, &["-t", "--target-directory", "-S", "--suffix"]);
    let (sources, target) = sources_and_target(&args);
    blocked_operations::block_if_protected(act, &sources, "root-move", "Moves away");
    check_match_all(act, &sources, "Moves");
    // Without the slash, all sources may be renamed to the same path.
    let inside = |target: &ShellWord| {
        let path = act.context.absolute(target).filter(|_| target.text.ends_with('/'));
        target.is_below_cwd() || path.is_some_and(|path| path.starts_with(act.context.at.cwd()))
    };
    let stays = target.as_ref().is_some_and(inside);
    for word in &sources {
        if stays { act.move_away(word) } else { act.delete(word) }
    }
    if let Some(target) = target {
        check_overwrite(act, &sources, &target);
        if target.text == "/dev/null" {
            act.ask("data-loss", "Moves files to /dev/null, where they are lost");
        }
        act.write(&target);
        record_transfers(act, &args, &sources, &target);
    }
}

fn copy(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(
        words,
        &[
            "-t",
            "--target-directory",
            "-S",
            "--suffix",
            "-m",
            "--mode",
            "-o",
            "-g",
            "--owner",
            "--group",
        ],
    );
    if act.program.ends_with("install") && args.has(&["-d", "--directory"]) {
        return args.operands.iter().for_each(|word| act.write(word));
    }
    let (sources, target) = sources_and_target(&args);
    sources.iter().for_each(|word| act.read(word));
    if recursive_reads::is_recursive(words, &['r', 'R', 'a'], &["--recursive", "--archive"]) {
        recursive_reads::check_recursive_read(act, &sources);
    }
    if let Some(mode) = args.value(&["-m", "--mode"]) {
        judge_mode(act, &mode.text, args.operands.len() > 2);
    }
    if let Some(target) = target {
        check_overwrite(act, &sources, &target);
        act.write(&target);
        record_transfers(act, &args, &sources, &target);
    }
}

/// Asks about one source that replaces every file found.
fn check_overwrite(act: &mut EffectBuilder<'_>, sources: &[ShellWord], target: &ShellWord) {
    if target.is_found_path() && !sources.iter().any(ShellWord::is_below_cwd) {
        act.ask("mass-change", "Overwrites every file found");
    }
}

fn link(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, &["-t", "--target-directory", "-S", "--suffix"]);
    let (sources, target) = sources_and_target(&args);
    match (sources.is_empty(), target) {
        (true, Some(source)) => {
            // The link takes the name of its target.
            act.affect_cwd(hermes_core::Scope::FILE_WRITE);
            act.read(&source);
            let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or("");
            record_link(act, &ShellWord::literal(name), &source);
        }
        (false, Some(target)) => {
            sources.iter().for_each(|word| act.read(word));
            check_overwrite(act, &sources, &target);
            act.write(&target);
            record_transfers(act, &args, &sources, &target);
            for source in &sources {
                record_link(act, &target, source);
            }
        }
        _ => {}
    }
}

/// Records the target of a link, for resolving later paths.
fn record_link(act: &mut EffectBuilder<'_>, target: &ShellWord, source: &ShellWord) {
    let Some(link) = act.context.absolute(target) else { return };
    // A symlink's target is relative to the link's directory.
    let from = link.parent().map_or_else(|| link.clone(), std::path::Path::to_path_buf);
    let Some(to) = source.known_text().map(|text| act.context.at.normalize(&from.join(text)))
    else {
        return;
    };
    let inside = to.file_name().map(|name| link.join(name));
    act.leaf.links.extend(inside.map(|inside| (inside, to.clone())));
    act.leaf.links.push((link, to));
}

fn split_file(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(
        words,
        &[
            "-b",
            "-l",
            "-n",
            "-a",
            "-C",
            "-f",
            "--prefix",
            "--lines",
            "--bytes",
            "--number",
            "--suffix-length",
            "--filter",
            "--additional-suffix",
            "--suffix-format",
        ],
    );
    if let Some(file) = args.operands.first() {
        act.read(file);
    }
    let prefix = if act.program == "csplit" {
        args.value(&["-f", "--prefix"])
    } else {
        args.operands.get(1).cloned()
    };
    match prefix {
        Some(prefix) => act.write(&prefix),
        None => act.affect_cwd(hermes_core::Scope::FILE_WRITE),
    }
}

fn synchronise(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(
        words,
        &[
            "-e",
            "--rsh",
            "-f",
            "--filter",
            "--exclude",
            "--include",
            "-T",
            "--files-from",
            "-B",
            "--rsync-path",
        ],
    );
    let Some((target, sources)) = args.operands.split_last() else { return };
    let machine = |word: &ShellWord| {
        let daemon = word.text.strip_prefix("rsync://").and_then(super::network::authority_host);
        daemon.or_else(|| super::network::remote_host(&word.text))
    };
    for source in sources {
        match machine(source) {
            Some(host) => act.affect_host(hermes_core::Scope::NETWORK_FETCH, Some(&host)),
            None => act.read(source),
        }
    }
    let near: Vec<ShellWord> =
        sources.iter().filter(|word| machine(word).is_none()).cloned().collect();
    recursive_reads::check_recursive_read(act, &near);
    args.values(&["--files-from", "--exclude-from", "--password-file"])
        .iter()
        .for_each(|word| act.read(word));
    let dry = words.iter().any(|word| word.text == "--dry-run" || word.text == "-n");
    let deletes = words.iter().any(|word| word.text.starts_with("--del"));
    if args.has(&["--remove-source-files"]) && !dry {
        act.ask("recursive-delete", "Deletes the copied files");
    }
    if deletes && !dry {
        blocked_operations::block_if_protected(
            act,
            std::slice::from_ref(target),
            "root-delete",
            "Deletes",
        );
        act.ask("recursive-delete", "Deletes files that are not in the source");
    }
    match machine(target) {
        Some(host) => act.affect_host(hermes_core::Scope::NETWORK_SEND, Some(&host)),
        None => {
            act.write(target);
            if deletes || near.len() < sources.len() {
                act.fill_dir(Some(target));
            }
            for source in &near {
                let contents =
                    source.text == "." || source.text.ends_with('/') || source.text.ends_with("/.");
                act.transfer(
                    source,
                    target,
                    if contents { TargetMode::Replace } else { TargetMode::IntoIfDir },
                );
            }
        }
    }
}

fn truncate(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, &["-s", "--size", "-r", "--reference"]);
    let log =
        |word: &ShellWord| [".log", ".out", ".tmp"].iter().any(|end| word.text.ends_with(end));
    let logs = args.operands.iter().all(|word| word.known && !word.glob && log(word));
    if !logs && args.value(&["-s", "--size"]).is_some_and(|size| size.text == "0") {
        act.ask("data-loss", "Empties files");
    }
    args.operands.iter().for_each(|word| act.write(word));
}

/// Describes `fallocate`, which allocates or deallocates space in files.
fn allocate(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, &["-o", "--offset", "-l", "--length"]);
    let takes = ["-p", "--punch-hole", "-z", "--zero-range", "-c", "--collapse-range"];
    if args.has(&takes) {
        act.ask("data-loss", "Erases part of a file");
    }
    args.operands.iter().for_each(|word| act.write(word));
}

fn shred(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args =
        CommandArgs::parse(words, &["-n", "-s", "--iterations", "--size", "--random-source"]);
    if args.has(&["--help", "--version"]) {
        return act.mark_read_only();
    }
    act.ask("data-loss", "Overwrites files irrecoverably");
    args.operands.iter().for_each(|word| act.write(word));
}

fn copy_blocks(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    for word in words {
        if let Some(path) = word.text.strip_prefix("of=") {
            act.write(&ShellWord { text: path.to_owned(), ..word.clone() });
        } else if let Some(path) = word.text.strip_prefix("if=") {
            act.read(&ShellWord { text: path.to_owned(), ..word.clone() });
            if blocked_operations::is_disk(path) {
                act.ask("disk", format!("Reads the raw disk {path}"));
            }
        }
    }
}

fn change_mode(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let program = act.program;
    let recursive = words.iter().any(|word| {
        let long = word.text.len() > 4 && "--recursive".starts_with(word.text.as_str());
        let short =
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('R');
        long || short
    });
    let mut operands: Vec<ShellWord> = words
        .iter()
        .filter(|word| !word.text.starts_with('-') || is_symbolic_mode(program, &word.text))
        .cloned()
        .collect();
    let referenced = words.iter().any(|word| word.text.starts_with("--reference"));
    let mode =
        if referenced || operands.is_empty() { ShellWord::default() } else { operands.remove(0) };
    if recursive {
        blocked_operations::block_if_protected(
            act,
            &operands,
            "root-mode",
            "Changes the permissions of everything in",
        );
    }
    if program.ends_with("chmod") {
        if judge_mode(act, &mode.text, recursive) {
            blocked_operations::block_if_protected(
                act,
                &operands,
                "root-mode",
                "Gives everyone write access to",
            );
        }
        if mode.text.contains('x') || mode.text.bytes().any(|b| matches!(b, b'7' | b'5' | b'1')) {
            let made: Vec<_> =
                operands.iter().filter_map(|word| act.context.absolute(word)).collect();
            act.leaf.made_executable.extend(made);
        }
    } else if recursive
        && (mode.text == "root"
            || mode.text.starts_with("root:")
            || mode.text == "0"
            || mode.text.starts_with("0:"))
    {
        act.ask("owner-change", "Gives everything in a directory to root");
    } else if recursive && program == "setfacl" {
        act.ask("mass-change", "Changes the access rights of many files");
    }
    operands.iter().for_each(|word| act.write(word));
    operands.iter().filter(|_| recursive).for_each(|word| act.fill_dir(Some(word)));
}

/// Whether this is a mode that looks like an option, as in `chmod -x file`.
fn is_symbolic_mode(program: &str, text: &str) -> bool {
    program.ends_with("chmod")
        && text.len() > 1
        && text.bytes().skip(1).all(|b| b"rwxXst".contains(&b))
}

/// Asks about a mode that widens access; true if it makes files world-writable.
fn judge_mode(act: &mut EffectBuilder<'_>, mode: &str, recursive: bool) -> bool {
    let number = mode.trim_start_matches(['=', '+']);
    let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let (mut world, mut set) = (false, false);
    if digits {
        let mode = number;
        world = mode.bytes().last().is_some_and(|last| (last - b'0') & 2 != 0);
        set = mode.len() >= 4
            && mode.bytes().rev().nth(3).is_some_and(|special| (special - b'0') & 6 != 0);
    } else {
        for clause in mode.split(',') {
            let Some(at) = clause.find(['+', '=']) else { continue };
            let (who, what) = clause.split_at(at);
            let everybody = who.contains(['a', 'o']);
            // `o=u` copies the owner's permissions.
            world |= everybody && what.contains(['w', 'u']);
            set |= what.contains('s') && !who.contains('o');
        }
    }
    if world {
        let reason = if recursive {
            "Makes a whole directory world-writable"
        } else {
            "Makes a file world-writable"
        };
        act.ask("world-writable", reason);
    }
    if set {
        act.ask("setuid", "Makes a program run with its owner's privileges");
    }
    world
}

fn apply_patch(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(
        words,
        &[
            "-i",
            "--input",
            "-d",
            "--directory",
            "-o",
            "--output",
            "-r",
            "--reject-file",
            "-p",
            "-D",
            "-B",
        ],
    );
    args.values(&["-i", "--input"]).iter().for_each(|word| act.read(word));
    if args.has(&["--dry-run"]) {
        return act.mark_read_only();
    }
    args.values(&["-o", "--output", "-r", "--reject-file"]).iter().for_each(|word| act.write(word));
    let tainted = act.context.input.taint.has(crate::leaf::TextTaint::REMOTE)
        || args.operands.iter().any(|word| word.taint.has(crate::leaf::TextTaint::REMOTE));
    if tainted {
        act.ask("remote-to-shell", "Applies a downloaded patch");
    }
    match args.operands.first() {
        Some(file) => act.write(file),
        None => match args.value(&["-d", "--directory"]) {
            Some(dir) => act.write(&dir),
            None => act.affect_cwd(hermes_core::Scope::FILE_WRITE),
        },
    }
    if let Some(patch) = args.operands.get(1) {
        act.read(patch);
    }
}
