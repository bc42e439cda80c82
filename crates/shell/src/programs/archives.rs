//! Archives and compressed files.

use hermes_core::Scope;

use super::recursive_reads;
use crate::args::CommandArgs;
use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;

/// Describes programs that pack and unpack.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    match act.program {
        "tar" | "gtar" | "bsdtar" => tar(act, words),
        "zip" => zip(act, words),
        "unzip" => {
            let args = CommandArgs::parse(words, &["-d", "-x", "-P"]);
            if let Some(archive) = args.operands.first() {
                act.read(archive);
            }
            if args.has(&["-l", "-t", "-p", "-Z", "-v"]) {
                return true;
            }
            extract_into(act, args.value(&["-d"]));
        }
        "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "zstd" | "unzstd" | "lz4"
        | "compress" | "brotli" | "pigz" => {
            compress(act, words);
        }
        "7z" | "7za" | "7zz" | "rar" | "unrar" => {
            match words.first().map(|word| word.text.as_str()) {
                Some("l" | "t") => act.mark_read_only(),
                Some("a" | "u") => {
                    let files: Vec<&ShellWord> =
                        words.iter().skip(1).filter(|word| !word.text.starts_with('-')).collect();
                    if let Some((archive, rest)) = files.split_first() {
                        act.write(archive);
                        rest.iter().for_each(|word| act.read(word));
                        let roots: Vec<ShellWord> =
                            rest.iter().map(|word| (*word).clone()).collect();
                        recursive_reads::check_recursive_read(act, &roots);
                    }
                }
                _ => {
                    words
                        .iter()
                        .skip(1)
                        .filter(|word| !word.text.starts_with('-'))
                        .take(1)
                        .for_each(|word| act.read(word));
                    let into = words.iter().find_map(|word| {
                        let text = word.text.strip_prefix("-o").filter(|text| !text.is_empty())?;
                        Some(ShellWord { text: text.to_owned(), ..word.clone() })
                    });
                    extract_into(act, into);
                }
            }
        }
        "cpio" => {
            let valued =
                &["-D", "--directory", "-F", "-I", "-O", "-H", "--file", "--rsh-command", "-R"];
            let args = CommandArgs::parse(words, valued);
            args.values(&["--rsh-command"]).iter().for_each(|code| act.program_option(code));
            args.values(&["-I"]).iter().for_each(|word| act.read(word));
            args.values(&["-O"]).iter().for_each(|word| act.write(word));
            if args.has(&["-o", "--create"]) {
                let listed = act.context.input.text.clone();
                read_list(act, listed.as_deref());
            } else if !args.has(&["-t", "--list"]) {
                if args.has(&["--absolute-filenames"]) {
                    act.affect_any(Scope::FILE_WRITE);
                }
                let dir = args.value(&["-D", "--directory"]);
                extract_into(act, dir.or_else(|| args.operands.first().cloned()));
            }
        }
        "pax" => act.affect_cwd(Scope::FILE_WRITE),
        "ar" => {
            let args = CommandArgs::parse(words, &[]);
            args.operands.iter().skip(1).for_each(|word| act.read(word));
            act.affect_cwd(Scope::FILE_WRITE);
            args.operands.iter().skip(1).take(1).for_each(|word| act.write(word));
        }
        _ => return false,
    }
    true
}

/// Describes compressors that replace the input file, always or on request.
fn compress(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, &["-o", "-S", "-T", "-p"]);
    let prints = ["-c", "--stdout", "-l", "--list", "-t", "--test", "--to-stdout"];
    let keeps = match act.program {
        "zstd" | "unzstd" | "lz4" => !args.has(&["--rm"]),
        "brotli" => !args.has(&["-j", "--rm"]),
        _ => args.has(&["-k", "--keep"]),
    };
    for word in args.operands.iter() {
        act.read(word);
        if args.has(&prints) {
            continue;
        }
        match word.known || !args.has(&["-k", "--keep"]) {
            true => act.write(word),
            // The output is next to the input.
            false => act.affect_cwd(Scope::FILE_WRITE),
        }
        if !keeps {
            act.move_away(word);
        }
    }
    args.values(&["-o"]).iter().for_each(|word| act.write(word));
    if args.operands.is_empty() {
        act.mark_read_only();
    }
}

/// Describes `zip`, which may delete what it packs.
fn zip(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, &["-x", "-i", "-P", "-TT", "--unzip-command", "-b"]);
    if let Some((archive, files)) = args.operands.split_first() {
        act.write(archive);
        files.iter().for_each(|word| act.read(word));
        if recursive_reads::is_recursive(words, &['r', 'R'], &["--recurse-paths"]) {
            recursive_reads::check_recursive_read(act, files);
        }
        let moves = words.iter().any(|word| {
            word.text == "--move"
                || (word.text.starts_with('-')
                    && !word.text.starts_with("--")
                    && word.text.contains('m'))
        });
        if moves {
            if !crate::blocked_operations::block_if_protected(act, files, "root-delete", "Deletes")
            {
                act.ask("recursive-delete", "Deletes the packed files");
            }
            files.iter().for_each(|word| act.delete(word));
        }
    }
    if words.iter().any(|word| word.text.starts_with('-') && word.text.contains('@')) {
        let listed = act.context.input.text.clone();
        read_list(act, listed.as_deref());
    }
}

/// Reads the files named in a list, one per line.
fn read_list(act: &mut EffectBuilder<'_>, list: Option<&str>) {
    for line in list.unwrap_or("").lines().take(256).filter(|line| !line.is_empty()) {
        act.read(&ShellWord::literal(line));
    }
}

fn extract_into(act: &mut EffectBuilder<'_>, dir: Option<ShellWord>) {
    super::external_code::check_unpack(act, dir.as_ref());
    act.fill_dir(dir.as_ref());
    match dir {
        Some(dir) => act.write(&dir),
        None => act.affect_cwd(Scope::FILE_WRITE),
    }
}

/// Options of tar that take a value.
const TAR_VALUED: &[&str] = &[
    "-f",
    "-C",
    "-T",
    "-X",
    "-I",
    "-F",
    "-b",
    "-g",
    "--listed-incremental",
    "--file",
    "--directory",
    "--files-from",
    "--exclude",
    "--to-command",
    "--checkpoint-action",
    "--use-compress-program",
    "--exclude-from",
    "--transform",
    "--info-script",
    "--new-volume-script",
    "--rsh-command",
    "--rmt-command",
    "--strip-components",
    "--owner",
    "--group",
    "--mode",
];

fn tar(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    // The first word may be options without a dash: `tar czf a.tgz x`.
    let mut words = words.to_vec();
    if let Some(first) = words.first_mut()
        && !first.text.starts_with('-')
        && !first.text.is_empty()
        && first.text.bytes().all(|b| b.is_ascii_alphabetic())
    {
        first.text.insert(0, '-');
    }
    let args = CommandArgs::parse(&words, TAR_VALUED);
    for code in args.values(&[
        "--to-command",
        "--use-compress-program",
        "-I",
        "--info-script",
        "--new-volume-script",
        "-F",
        "--rsh-command",
        "--rmt-command",
    ]) {
        act.program_option(&code);
    }
    // The snapshot file is written in every mode.
    args.values(&["-g", "--listed-incremental"]).iter().for_each(|file| act.write(file));
    for action in args.values(&["--checkpoint-action"]) {
        if let Some(code) = action.text.strip_prefix("exec=") {
            act.program_option(&ShellWord { text: code.to_owned(), ..action.clone() });
        }
    }
    let archive = args.value(&["-f", "--file"]);
    if args.has(&["-c", "--create", "-r", "--append", "-u", "--update"]) {
        if let Some(archive) = &archive {
            act.write(archive);
        }
        let dir = args.value(&["-C", "--directory"]);
        for list in args.values(&["-T", "--files-from"]) {
            act.read(&list);
            read_list(act, list.content.as_deref());
        }
        let roots: Vec<ShellWord> = args
            .operands
            .iter()
            .map(|word| super::git_losses::in_dir(dir.as_ref(), word))
            .collect();
        recursive_reads::check_recursive_read(act, &roots);
        for word in args.operands.iter() {
            match &dir {
                Some(dir) if !word.text.starts_with('/') => {
                    let text = format!("{}/{}", dir.text, word.text);
                    act.read(&ShellWord { text, known: word.known && dir.known, ..word.clone() });
                }
                _ => act.read(word),
            }
        }
        if args.has(&["--remove-files"]) {
            act.ask("recursive-delete", "Deletes the packed files");
            args.operands.iter().for_each(|word| act.delete(word));
        }
        return;
    }
    if let Some(archive) = &archive {
        act.read(archive);
    }
    if args.has(&["-t", "--list", "-d", "--diff", "--compare"]) {
        return act.mark_read_only();
    }
    if args.has(&["-x", "--extract", "--get"]) && !args.has(&["-O", "--to-stdout"]) {
        if args.has(&["-P", "--absolute-names"]) {
            act.affect_any(Scope::FILE_WRITE);
        }
        if args.has(&["--recursive-unlink"]) {
            act.ask("recursive-delete", "Deletes existing directories before unpacking over them");
        }
        let top = args.value(&["--one-top-level"]);
        let dir = args.value(&["-C", "--directory"]);
        match top {
            Some(top) => extract_into(act, Some(super::git_losses::in_dir(dir.as_ref(), &top))),
            None => extract_into(act, dir),
        }
    }
}
