//! Programs that only look, unless an option says otherwise.

use hermes_core::Scope;

use crate::args::Args;
use crate::leaf::Word;
use crate::site::Act;

/// A program whose operands are files that it reads.
struct Reader {
    names: &'static [&'static str],
    valued: &'static [&'static str],
    /// Operands that come before the files, such as a pattern.
    skip: usize,
    /// Options that stand in for those operands.
    instead: &'static [&'static str],
}

const fn files(names: &'static [&'static str], valued: &'static [&'static str]) -> Reader {
    Reader { names, valued, skip: 0, instead: &[] }
}

const READERS: &[Reader] = &[
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
    Reader {
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
    Reader {
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
    Reader {
        names: &["jq", "gojq", "yq", "xq", "dasel", "htmlq", "mlr"],
        valued: &["--indent", "-f", "--from-file", "-L"],
        skip: 1,
        instead: &["-f", "--from-file"],
    },
    files(&["less", "more", "most", "zless"], &["-p", "-x", "-k", "-P", "-t"]),
];

/// Programs that look at the system and at no file in particular.
const LOOKERS: &[&str] = &[
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
    "dc",
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
    "mktemp",
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

/// Describes the programs that look.
pub(super) fn describe(act: &mut Act<'_>) -> bool {
    let program = act.leaf.program.clone();
    let words = act.arguments();
    match program.as_str() {
        "sed" | "gsed" => sed(act, &words),
        "awk" | "gawk" | "mawk" | "nawk" => awk(act, &words),
        "sort" | "gsort" => sort(act, &words),
        "hostname" | "date" if sets(&program, &words) => {
            act.ask("system-setting", format!("Sets the {program} of the machine"));
        }
        "dmesg"
            if words.iter().any(|word| matches!(word.text.as_str(), "-c" | "-C" | "--clear")) =>
        {
            act.ask("system-setting", "Clears the kernel's log");
        }
        "journalctl"
            if words.iter().any(|word| {
                word.text.starts_with("--vacuum") || word.text.starts_with("--rotate")
            }) =>
        {
            act.ask("data-loss", "Deletes system logs");
        }
        "fuser"
            if words.iter().any(|word| word.text.starts_with('-') && word.text.contains('k')) =>
        {
            act.ask("force-kill", "Kills every process that uses a file");
            act.any(Scope::PROCESS_MANAGE);
        }
        "printenv" => {
            act.any(Scope::ENV_READ);
            act.only_reads();
        }
        _ if LOOKERS.contains(&program.as_str()) => act.only_reads(),
        _ => {
            let Some(reader) =
                READERS.iter().find(|reader| reader.names.contains(&program.as_str()))
            else {
                return false;
            };
            read_files(act, reader, &words);
        }
    }
    true
}

fn sets(program: &str, words: &[Word]) -> bool {
    match program {
        "date" => words.iter().any(|word| word.text == "-s" || word.text.starts_with("--set")),
        _ => words.iter().any(|word| !word.text.starts_with('-')),
    }
}

fn read_files(act: &mut Act<'_>, reader: &Reader, words: &[Word]) {
    let args = Args::parse(words, reader.valued);
    act.only_reads();
    let skip = if args.has(reader.instead) { 0 } else { reader.skip };
    let mut operands: Vec<Word> = args.operands.iter().skip(skip).cloned().collect();
    args.values(&["--file", "--from-file"]).iter().for_each(|word| act.read(word));
    match act.leaf.program.as_str() {
        "yq" if args.has(&["-i", "--inplace"]) => operands.iter().for_each(|word| act.write(word)),
        "uniq" | "xxd" | "shuf" if operands.len() > 1 => {
            if let Some(target) = operands.pop() {
                act.write(&target);
            }
        }
        "less" | "more" => {
            for word in words.iter().filter(|word| word.text.starts_with("+!")) {
                let text = word.text.get(2..).unwrap_or("").to_owned();
                act.program_option(&Word { text, ..word.clone() });
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

fn sort(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(
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
    act.only_reads();
    args.values(&["-o", "--output"]).iter().for_each(|word| act.write(word));
    args.operands.iter().for_each(|word| act.read(word));
}

fn sed(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(words, &["-e", "-f", "-l", "--expression", "--file", "--line-length"]);
    let mut scripts = args.values(&["-e", "--expression"]);
    let mut operands = args.operands.clone();
    if scripts.is_empty() && !args.has(&["-f", "--file"]) && !operands.is_empty() {
        scripts.push(operands.remove(0));
    }
    args.values(&["-f", "--file"]).iter().for_each(|word| act.read(word));
    for script in &scripts {
        if let Some(command) = sed_runs(&script.text) {
            act.ask("interpreter-code", format!("Runs programs from a sed script ({command})"));
        }
        if let Some(file) = sed_writes(&script.text) {
            act.write(&Word::literal(file));
        }
    }
    // A backup suffix may be glued to the option; the old BSD form has it as a word of its own.
    let in_place = words.iter().any(|word| {
        word.text.starts_with("--in-place")
            || (word.text.starts_with("-i") && !word.text.starts_with("--"))
            || (word.text.starts_with('-')
                && !word.text.starts_with("--")
                && word.text.len() < 5
                && word.text.contains('i')
                && !word.text.contains('e'))
    });
    if in_place {
        operands.iter().filter(|word| !word.text.is_empty()).for_each(|word| act.write(word));
    } else {
        act.only_reads();
    }
    operands.iter().for_each(|word| act.read(word));
}

/// The part of a sed script that runs a program: the `e` command or the `e`
/// flag of a substitution.
fn sed_runs(script: &str) -> Option<&str> {
    script.split(['\n', ';']).map(str::trim).find(|part| {
        let command = part.trim_start_matches(|c: char| c.is_ascii_digit() || "$,! {".contains(c));
        if command == "e" || command.starts_with("e ") {
            return true;
        }
        flags_of(command).is_some_and(|flags| flags.contains('e') && !flags.contains([' ', '/']))
    })
}

/// The file that a substitution writes to.
fn sed_writes(script: &str) -> Option<&str> {
    script.split(['\n', ';']).map(str::trim).find_map(|part| {
        let command = part.trim_start_matches(|c: char| c.is_ascii_digit() || "$,! {".contains(c));
        if let Some(file) = command.strip_prefix("w ") {
            return Some(file.trim());
        }
        let flags = flags_of(command)?;
        flags.split_once("w ").map(|(_, file)| file.trim())
    })
}

/// What comes after the last separator of `s/a/b/flags`.
fn flags_of(command: &str) -> Option<&str> {
    let mut letters = command.strip_prefix('s')?.char_indices();
    let (_, separator) = letters.next()?;
    if separator.is_alphanumeric() || separator.is_whitespace() {
        return None;
    }
    let mut seen = 0;
    let mut escaped = false;
    for (at, c) in letters {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == separator {
            seen += 1;
            if seen == 2 {
                return command.get(1 + at + c.len_utf8()..);
            }
        }
    }
    None
}

fn awk(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(
        words,
        &[
            "-F",
            "-v",
            "-f",
            "-i",
            "--file",
            "--assign",
            "--field-separator",
            "--include",
            "-e",
            "--source",
            "-l",
        ],
    );
    let mut operands = args.operands.clone();
    let mut scripts = args.values(&["-e", "--source"]);
    let files = args.values(&["-f", "--file"]);
    if scripts.is_empty() && files.is_empty() && !operands.is_empty() {
        scripts.push(operands.remove(0));
    }
    files.iter().for_each(|word| act.read(word));
    act.only_reads();
    for script in &scripts {
        super::code::awk(act, script);
    }
    if args.values(&["-i", "--include"]).iter().any(|word| word.text == "inplace") {
        operands.iter().for_each(|word| act.write(word));
    }
    operands.iter().filter(|word| !word.text.contains('=')).for_each(|word| act.read(word));
}
