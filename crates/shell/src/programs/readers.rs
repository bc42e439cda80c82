//! Programs that only read, unless an option says otherwise.

use std::sync::LazyLock;

use hermes_core::Scope;

use super::recursive_reads;
use crate::args::CommandArgs;
use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;
use crate::static_names::{StaticNameMap, StaticNameSet, by_name};

/// A program whose operands are files to read.
struct ReaderProgram {
    names: &'static [&'static str],
    valued: &'static [&'static str],
    /// Operands that come before the files, such as a pattern.
    skip: usize,
    /// Options that replace those operands.
    instead: &'static [&'static str],
}

const fn files(names: &'static [&'static str], valued: &'static [&'static str]) -> ReaderProgram {
    ReaderProgram { names, valued, skip: 0, instead: &[] }
}

const READER_PROGRAMS: &[ReaderProgram] = &[
    files(
        &[
            "cat",
            "tac",
            "nl",
            "bat",
            "batcat",
            "wc",
            "od",
            "hexdump",
            "xxd",
            "strings",
            "rev",
            "md5sum",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "b2sum",
            "cksum",
            "sum",
            "md5",
            "shasum",
            "stat",
            "file",
            "readlink",
            "realpath",
            "ls",
            "eza",
            "exa",
            "ll",
            "tree",
            "du",
            "df",
            "zcat",
            "bzcat",
            "xzcat",
            "zstdcat",
            "cmp",
            "comm",
            "join",
            "paste",
            "fold",
            "fmt",
            "expand",
            "unexpand",
            "column",
            "look",
            "tsort",
            "nm",
            "objdump",
            "readelf",
            "ldd",
            "size",
            "otool",
            "lsattr",
            "getfacl",
            "namei",
            "cloc",
            "tokei",
            "scc",
            "identify",
            "exiftool",
            "mediainfo",
            "ffprobe",
            "pdftotext",
            "pdfinfo",
            "xmllint",
            "glow",
            "mdcat",
            "colordiff",
            "diff",
            "diff3",
            "sdiff",
            "vimdiff",
            "delta",
            "base64",
            "base32",
            "basenc",
            "shuf",
            "numfmt",
            "iconv",
            "getcap",
            "lsof",
            "fuser",
            "pygmentize",
            "hexyl",
        ],
        &[
            "-n",
            "-c",
            "-w",
            "-s",
            "-j",
            "-t",
            "-N",
            "-k",
            "-d",
            "-L",
            "-I",
            "-f",
            "-m",
            "-A",
            "-U",
            "-b",
            "-l",
            "-u",
            "-p",
            "-g",
            "-e",
            "--level",
            "--max-depth",
            "--exclude",
            "--color",
            "-F",
        ],
    ),
    files(&["head", "tail"], &["-n", "-c", "--lines", "--bytes", "--pid", "-s"]),
    files(&["cut"], &["-d", "-f", "-c", "-b", "--delimiter", "--fields", "--output-delimiter"]),
    files(&["uniq"], &["-f", "-s", "-w"]),
    ReaderProgram {
        names: &["grep", "egrep", "fgrep", "zgrep", "ggrep", "ag", "ack", "ugrep"],
        valued: &[
            "-e",
            "-f",
            "-A",
            "-B",
            "-C",
            "-m",
            "--regexp",
            "--file",
            "--max-count",
            "-d",
            "-D",
            "--color",
            "-G",
        ],
        skip: 1,
        instead: &["-e", "-f", "--regexp", "--file"],
    },
    ReaderProgram {
        names: &["rg", "ripgrep"],
        valued: &[
            "-e",
            "-f",
            "-A",
            "-B",
            "-C",
            "-m",
            "-g",
            "-t",
            "-T",
            "-r",
            "-j",
            "-M",
            "-d",
            "--regexp",
            "--file",
            "--glob",
            "--iglob",
            "--type",
            "--type-not",
            "--replace",
            "--pre",
            "--pre-glob",
            "--max-count",
            "--max-depth",
            "--sort",
            "--color",
            "-E",
        ],
        skip: 1,
        instead: &["-e", "-f", "--regexp", "--file", "--files"],
    },
    ReaderProgram {
        names: &["jq", "gojq", "yq", "xq", "dasel", "htmlq", "mlr"],
        valued: &["--indent", "-f", "--from-file", "-L"],
        skip: 1,
        instead: &["-f", "--from-file"],
    },
    files(&["less", "more", "most", "zless"], &["-p", "-x", "-k", "-P", "-t"]),
];

/// Programs that report on the system and read no particular file.
const SYSTEM_INFO_PROGRAMS: &[&str] = &[
    "date",
    "cal",
    "whoami",
    "id",
    "groups",
    "users",
    "who",
    "w",
    "last",
    "uptime",
    "uname",
    "hostname",
    "arch",
    "nproc",
    "free",
    "vmstat",
    "iostat",
    "ps",
    "pgrep",
    "pstree",
    "top",
    "htop",
    "which",
    "whereis",
    "type",
    "whatis",
    "apropos",
    "info",
    "tldr",
    "seq",
    "sleep",
    "yes",
    "expr",
    "bc",
    "factor",
    "basename",
    "dirname",
    "tty",
    "stty",
    "tput",
    "clear",
    "reset",
    "true",
    "false",
    "echo",
    "printf",
    "pwd",
    "lscpu",
    "lsblk",
    "lsusb",
    "lspci",
    "lsmod",
    "lsns",
    "blkid",
    "findmnt",
    "getent",
    "locale",
    "logname",
    "printenv",
    "pathchk",
    "sync",
    "tr",
    "cowsay",
    "figlet",
    "fortune",
    "neofetch",
    "fastfetch",
    "getconf",
    "sw_vers",
    "system_profiler",
    "vm_stat",
    "pidof",
    "dmesg",
    "journalctl",
    "lastlog",
    "ulimit",
    "man",
    "logger",
    "notify-send",
    "ss",
    "netstat",
    "test",
    "[",
    "xdpyinfo",
    "mesg",
    "wait",
    "numactl",
    "nvidia-smi",
    "rocm-smi",
    "sensors",
];

static READERS_BY_NAME: LazyLock<StaticNameMap<&'static ReaderProgram>> =
    LazyLock::new(|| by_name(READER_PROGRAMS, |reader| reader.names));
static SYSTEM_INFO_SET: LazyLock<StaticNameSet> =
    LazyLock::new(|| SYSTEM_INFO_PROGRAMS.iter().copied().collect());

/// Describes programs that only read.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    let program = act.program;
    match program {
        "sed" | "gsed" => super::sed_awk::sed(act, words),
        "awk" | "gawk" | "mawk" | "nawk" | "goawk" | "frawk" => super::sed_awk::awk(act, words),
        "sort" | "gsort" => sort(act, words),
        "mktemp" => make_temporary(act, words),
        "hostname" | "date" if changes_system(program, words) => {
            act.ask("system-setting", format!("Sets the {program} of the machine"));
        }
        "dmesg"
            if words.iter().any(|word| matches!(word.text.as_str(), "-c" | "-C" | "--clear")) =>
        {
            act.ask("system-setting", "Clears the kernel log");
        }
        "journalctl" if words.iter().any(|word| word.text.starts_with("--vacuum")) => {
            act.ask("data-loss", "Deletes system logs");
        }
        // Starts new log files and deletes nothing.
        "journalctl" if words.iter().any(|word| word.text == "--rotate") => {}
        "fuser"
            if words.iter().any(|word| word.text.starts_with('-') && word.text.contains('k')) =>
        {
            act.ask("force-kill", "Kills every process that uses a file");
            act.affect_any(Scope::PROCESS_MANAGE);
        }
        "printenv" => {
            act.affect_any(Scope::ENV_READ);
            act.mark_read_only();
        }
        _ if SYSTEM_INFO_SET.contains(program) => act.mark_read_only(),
        _ => {
            let Some(reader) = READERS_BY_NAME.get(program) else { return false };
            read_files(act, reader, words);
        }
    }
    true
}

fn changes_system(program: &str, words: &[ShellWord]) -> bool {
    match program {
        "date" => words.iter().any(|word| word.text == "-s" || word.text.starts_with("--set")),
        _ => words.iter().any(|word| !word.text.starts_with('-')),
    }
}

fn read_files(act: &mut EffectBuilder<'_>, reader: &ReaderProgram, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, reader.valued);
    act.mark_read_only();
    let skip = if args.has(reader.instead) { 0 } else { reader.skip };
    let given = args.operands.get(skip..).unwrap_or(&[]);
    args.values(&["--file", "--from-file", "--to-file", "--files0-from", "--exclude-from"])
        .iter()
        .for_each(|word| act.read(word));
    if reader.instead.contains(&"-f") {
        args.values(&["-f"]).iter().for_each(|word| act.read(word));
    }
    let hidden = match act.program {
        "grep" | "egrep" | "fgrep" | "zgrep" | "ggrep" | "ugrep" => recursive_reads::is_recursive(
            words,
            &['r', 'R'],
            &["--recursive", "--dereference-recursive"],
        ),
        "rg" | "ripgrep" | "ag" | "ack" => {
            let all = ["--hidden", "--no-ignore", "--unrestricted", "--all-types", "-."];
            recursive_reads::is_recursive(words, &['u', '.'], &all)
        }
        _ => false,
    };
    if hidden {
        recursive_reads::check_recursive_read(act, given);
    }
    read_query_files(act, words);
    let mut operands: Vec<&ShellWord> = match reader.skip {
        // Which options take the next word differs too much between these
        // programs.
        0 => words.iter().filter(|word| !word.text.starts_with('-')).collect(),
        _ => given.iter().collect(),
    };
    match act.program {
        "yq" if args.has(&["-i", "--inplace"]) => operands.iter().for_each(|word| act.write(word)),
        "uniq" | "xxd" | "shuf" if operands.len() > 1 => {
            if let Some(target) = operands.pop() {
                act.write(target);
            }
        }
        "less" | "more" => {
            for word in words.iter().filter(|word| word.text.starts_with("+!")) {
                let text = word.text.get(2..).unwrap_or("").to_owned();
                act.program_option(&ShellWord { text, ..word.clone() });
            }
        }
        "ls" | "tree" | "du" | "df" | "eza" | "lsof" => {
            args.values(&["-o"]).iter().for_each(|word| act.write(word));
        }
        _ => {}
    }
    operands.retain(|word| !word.text.starts_with('+'));
    operands.iter().for_each(|word| act.read(word));
}

/// `mktemp`: creates files with names that no other process knows.
fn make_temporary(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, &["-p", "--suffix"]);
    act.mark_read_only();
    let placed = args.has(&["-t", "-p", "--tmpdir", "-u", "--dry-run"]);
    if let Some(template) = args.operands.first().filter(|_| !placed) {
        act.write(template);
    }
}

fn sort(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(
        words,
        &[
            "-o",
            "-k",
            "-t",
            "-S",
            "-T",
            "--output",
            "--key",
            "--field-separator",
            "--compress-program",
            "--parallel",
        ],
    );
    act.mark_read_only();
    args.values(&["-o", "--output"]).iter().for_each(|word| act.write(word));
    args.operands.iter().for_each(|word| act.read(word));
}

/// Adds files named by a query: `load("x")`, `--rawfile x FILE`.
fn read_query_files(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    if !matches!(act.program, "jq" | "gojq" | "jaq" | "yq" | "dasel") {
        return;
    }
    for (at, word) in words.iter().enumerate() {
        if matches!(word.text.as_str(), "--rawfile" | "--slurpfile" | "--argfile")
            && let Some(file) = words.get(at + 2)
        {
            act.read(file);
        }
        for call in word.text.split("load").skip(1) {
            let inside = call.split_once('(').map_or("", |(_, rest)| rest);
            if let Some(path) = inside.split(['"', '\'']).nth(1) {
                act.read(&ShellWord { text: path.to_owned(), ..word.clone() });
            }
        }
    }
    if words.iter().any(|word| word.text.contains("env") || word.text.contains("$ENV")) {
        act.affect_any(Scope::ENV_READ);
    }
}

#[cfg(test)]
#[path = "readers_tests.rs"]
mod tests;
