//! Programs that change files.

use crate::args::Args;
use crate::blocks;
use crate::leaf::Word;
use crate::site::Act;

/// Describes the programs that make, change and remove files.
pub(super) fn describe(act: &mut Act<'_>) -> bool {
    let words = act.arguments();
    match act.leaf.program.clone().as_str() {
        "rm" | "grm" | "srm" => remove(act, &words),
        "unlink" | "rmdir" | "trash" | "trash-put" => {
            Args::parse(&words, &[]).operands.iter().for_each(|word| act.delete(word));
        }
        "mv" | "gmv" => relocate(act, &words),
        "cp" | "gcp" | "install" | "ginstall" => copy(act, &words),
        "ln" | "gln" | "link" => link(act, &words),
        "rsync" => synchronise(act, &words),
        "tee" | "sponge" => {
            Args::parse(&words, &[]).operands.iter().for_each(|word| act.write(word));
        }
        "touch" => {
            let args = Args::parse(&words, &["-d", "-r", "-t", "--date", "--reference"]);
            args.operands.iter().for_each(|word| act.write(word));
        }
        "mkdir" | "mkfifo" | "mknod" => {
            let args = Args::parse(&words, &["-m", "--mode"]);
            let count = if act.leaf.program == "mknod" { 1 } else { args.operands.len() };
            args.operands.iter().take(count).for_each(|word| act.write(word));
        }
        "truncate" => truncate(act, &words),
        "shred" => shred(act, &words),
        "dd" => copy_blocks(act, &words),
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" | "gchmod" | "gchown" => {
            change_mode(act, &words);
        }
        "split" | "csplit" | "gsplit" => cut_up(act, &words),
        "patch" => apply_patch(act, &words),
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "rustc" | "ld" | "as" => {
            let args = Args::parse(&words, &["-o", "-I", "-L", "-D", "-x", "-include", "-isystem"]);
            args.values(&["-o"]).iter().for_each(|word| act.write(word));
            args.operands.iter().for_each(|word| act.read(word));
        }
        _ => return false,
    }
    true
}

fn remove(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(words, &[]);
    let recursive = args.has(&["-r", "-R", "--recursive"]);
    if recursive {
        if !blocks::guard(act, &args.operands, "root-delete", "Deletes")
            && !args.operands.is_empty()
        {
            let reason = match args.operands.iter().find(|word| !word.known) {
                Some(word) => {
                    format!("Deletes a folder that is only known when it runs ({})", word.text)
                }
                None => "Deletes folders with all that is in them".to_owned(),
            };
            act.ask("recursive-delete", reason);
        }
    } else {
        let everything = args
            .operands
            .iter()
            .find(|word| word.glob && blocks::protected(act.site, word).is_some());
        if let Some(word) = everything {
            let reason = format!("Deletes all files that match {}", word.text);
            act.ask("delete-with-glob", reason);
        }
    }
    if act.leaf.via.iter().any(|via| via.ends_with("xargs") || via == "parallel") {
        act.ask("recursive-delete", "Deletes a list of files that another command makes");
    }
    for word in &args.operands {
        act.delete(word);
        if let Some(finding) = word.known().filter(|path| blocks::is_disk(path)) {
            let reason = format!("Removes the device {finding}");
            act.ask("disk", reason);
        }
    }
}

/// Sources and target of `cp`, `mv` and the like.
fn ends(args: &Args) -> (Vec<Word>, Option<Word>) {
    if let Some(target) = args.value(&["-t", "--target-directory"]) {
        return (args.operands.clone(), Some(target));
    }
    match args.operands.split_last() {
        Some((target, sources)) => (sources.to_vec(), Some(target.clone())),
        None => (Vec::new(), None),
    }
}

fn relocate(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(words, &["-t", "--target-directory", "-S", "--suffix"]);
    let (sources, target) = ends(&args);
    blocks::guard(act, &sources, "root-move", "Moves away");
    sources.iter().for_each(|word| act.delete(word));
    if let Some(target) = target {
        if target.text == "/dev/null" {
            act.ask("data-loss", "Moves files to where they are lost");
        }
        act.write(&target);
    }
}

fn copy(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(
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
    if act.leaf.program.ends_with("install") && args.has(&["-d", "--directory"]) {
        return args.operands.iter().for_each(|word| act.write(word));
    }
    let (sources, target) = ends(&args);
    sources.iter().for_each(|word| act.read(word));
    if let Some(mode) = args.value(&["-m", "--mode"]) {
        judge_mode(act, &mode.text, args.operands.len() > 2);
    }
    if let Some(target) = target {
        act.write(&target);
    }
}

fn link(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(words, &["-t", "--target-directory", "-S", "--suffix"]);
    let (sources, target) = ends(&args);
    match (sources.is_empty(), target) {
        (true, Some(_)) => act.here(hermes_core::Scope::FILE_WRITE),
        (false, Some(target)) => {
            sources.iter().for_each(|word| act.read(word));
            act.write(&target);
            for source in &sources {
                leads(act, &target, source);
            }
        }
        _ => {}
    }
}

/// Notes where a link leads, so that later paths can be followed.
fn leads(act: &mut Act<'_>, target: &Word, source: &Word) {
    let Some(link) = act.site.absolute(target) else { return };
    // What a symbolic link says counts from the folder that it is in.
    let from = link.parent().map_or_else(|| link.clone(), std::path::Path::to_path_buf);
    let Some(to) = source.known().map(|text| act.site.at.fold(&from.join(text))) else { return };
    let inside = to.file_name().map(|name| link.join(name));
    act.leaf.links.extend(inside.map(|inside| (inside, to.clone())));
    act.leaf.links.push((link, to));
}

fn cut_up(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(
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
    let prefix = if act.leaf.program == "csplit" {
        args.value(&["-f", "--prefix"])
    } else {
        args.operands.get(1).cloned()
    };
    match prefix {
        Some(prefix) => act.write(&prefix),
        None => act.here(hermes_core::Scope::FILE_WRITE),
    }
}

fn synchronise(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(
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
    for source in sources {
        match super::network::remote_host(&source.text) {
            Some(host) => act.reach(hermes_core::Scope::NETWORK_FETCH, Some(&host)),
            None => act.read(source),
        }
    }
    match super::network::remote_host(&target.text) {
        Some(host) => act.reach(hermes_core::Scope::NETWORK_SEND, Some(&host)),
        None => {
            if args.has(&["--delete", "--delete-after", "--delete-before", "--delete-excluded"]) {
                blocks::guard(act, std::slice::from_ref(target), "root-delete", "Deletes");
                act.ask("recursive-delete", "Deletes what is not in the source");
            }
            act.write(target);
        }
    }
}

fn truncate(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(words, &["-s", "--size", "-r", "--reference"]);
    if args.value(&["-s", "--size"]).is_some_and(|size| size.text == "0") {
        act.ask("data-loss", "Empties files");
    }
    args.operands.iter().for_each(|word| act.write(word));
}

fn shred(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(words, &["-n", "-s", "--iterations", "--size", "--random-source"]);
    if args.has(&["--help", "--version"]) {
        return act.only_reads();
    }
    act.ask("data-loss", "Overwrites files so that they cannot be restored");
    args.operands.iter().for_each(|word| act.write(word));
}

fn copy_blocks(act: &mut Act<'_>, words: &[Word]) {
    for word in words {
        if let Some(path) = word.text.strip_prefix("of=") {
            act.write(&Word { text: path.to_owned(), ..word.clone() });
        } else if let Some(path) = word.text.strip_prefix("if=") {
            act.read(&Word { text: path.to_owned(), ..word.clone() });
            if blocks::is_disk(path) {
                act.ask("disk", format!("Reads the raw disk {path}"));
            }
        }
    }
}

fn change_mode(act: &mut Act<'_>, words: &[Word]) {
    let program = act.leaf.program.clone();
    let recursive = words.iter().any(|word| {
        let long = word.text.len() > 4 && "--recursive".starts_with(word.text.as_str());
        let short =
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('R');
        long || short
    });
    let mut operands: Vec<Word> = words
        .iter()
        .filter(|word| !word.text.starts_with('-') || is_symbolic_mode(&program, &word.text))
        .cloned()
        .collect();
    let referenced = words.iter().any(|word| word.text.starts_with("--reference"));
    let mode = if referenced || operands.is_empty() { Word::default() } else { operands.remove(0) };
    if recursive {
        blocks::guard(act, &operands, "root-mode", "Changes the rights of everything in");
    }
    if program.ends_with("chmod") {
        judge_mode(act, &mode.text, recursive);
        if mode.text.contains('x') || mode.text.bytes().any(|b| matches!(b, b'7' | b'5' | b'1')) {
            let made: Vec<_> = operands.iter().filter_map(|word| act.site.absolute(word)).collect();
            act.leaf.enables.extend(made);
        }
    } else if recursive
        && (mode.text == "root"
            || mode.text.starts_with("root:")
            || mode.text == "0"
            || mode.text.starts_with("0:"))
    {
        act.ask("owner-change", "Gives everything in a folder to root");
    }
    operands.iter().for_each(|word| act.write(word));
}

/// `chmod -x file` takes a mode that looks like an option.
fn is_symbolic_mode(program: &str, text: &str) -> bool {
    program.ends_with("chmod")
        && text.len() > 1
        && text.bytes().skip(1).all(|b| b"rwxXst".contains(&b))
}

fn judge_mode(act: &mut Act<'_>, mode: &str, recursive: bool) {
    let digits = mode.len() >= 3 && mode.bytes().all(|b| b.is_ascii_digit());
    let (mut world, mut set) = (false, false);
    if digits {
        world = mode.bytes().last().is_some_and(|last| (last - b'0') & 2 != 0);
        set = mode.len() >= 4
            && mode.bytes().rev().nth(3).is_some_and(|special| (special - b'0') & 6 != 0);
    } else {
        for clause in mode.split(',') {
            let Some(at) = clause.find(['+', '=']) else { continue };
            let (who, what) = clause.split_at(at);
            let everybody = who.contains(['a', 'o']);
            world |= everybody && what.contains('w');
            set |= what.contains('s') && !who.contains('o');
        }
    }
    if world {
        let reason = if recursive {
            "Lets everybody write to a whole folder"
        } else {
            "Lets everybody write"
        };
        act.ask("world-writable", reason);
    }
    if set {
        act.ask("setuid", "Makes a program run with the rights of its owner");
    }
}

fn apply_patch(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(words, &["-i", "--input", "-d", "--directory", "-o", "-p", "-D", "-B"]);
    args.values(&["-i", "--input"]).iter().for_each(|word| act.read(word));
    if args.has(&["--dry-run"]) {
        return act.only_reads();
    }
    match args.operands.first() {
        Some(file) => act.write(file),
        None => match args.value(&["-d", "--directory"]) {
            Some(folder) => act.write(&folder),
            None => act.here(hermes_core::Scope::FILE_WRITE),
        },
    }
    if let Some(patch) = args.operands.get(1) {
        act.read(patch);
    }
}
