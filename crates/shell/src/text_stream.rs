//! Data in pipes and substitutions, as far as it is known without running
//! anything.

use std::path::Path;

use crate::leaf::{ShellWord, TextTaint};
use crate::output_shape;
use crate::programs;
use crate::text::unescape;

/// The output or input of a command.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextStream {
    /// None if only known at run time.
    pub(crate) text: Option<String>,
    pub(crate) taint: TextTaint,
    /// Whether the stream is connected to a source.
    pub(crate) connected: bool,
    /// Globs of the paths that it lists.
    pub(crate) names: Vec<String>,
    /// The placeholder for the text, if it is known to be one name or numbers.
    pub(crate) shape: Option<&'static str>,
}

impl TextStream {
    /// A stream only known at run time.
    pub(crate) fn unknown() -> Self {
        TextStream::default()
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        TextStream { text: Some(text.into()), connected: true, ..TextStream::default() }
    }

    /// Concatenates the output of two commands.
    pub(crate) fn concat(self, next: TextStream) -> TextStream {
        let text = match (self.text, next.text) {
            (Some(mut a), Some(b)) if a.len() + b.len() <= 1 << 18 => {
                a.push_str(&b);
                Some(a)
            }
            _ => None,
        };
        let connected = self.connected || next.connected;
        let mut names = self.names;
        names.extend(next.names);
        names.truncate(MAX_PATHS);
        TextStream { text, taint: self.taint.with(next.taint), connected, names, shape: None }
    }
}

/// Stands for all files of a directory, including hidden ones; real commands do
/// not use it.
pub(crate) const ALL_FILES_GLOB: &str = ".**";

/// Further paths are dropped.
const MAX_PATHS: usize = 16;

/// Programs whose output reveals neither file contents nor the user; if words
/// are listed, only with one of them.
const UNINFORMATIVE_PROGRAMS: &[(&[&str], &[&str])] = &[
    (
        &[
            "uname",
            "date",
            "arch",
            "nproc",
            "seq",
            "lsb_release",
            "getconf",
            "basename",
            "dirname",
            "mktemp",
            "which",
            "uuidgen",
            "sw_vers",
            "expr",
        ],
        &[],
    ),
    (
        &["git"],
        &[
            "rev-parse",
            "describe",
            "branch",
            "symbolic-ref",
            "tag",
            "rev-list",
            "name-rev",
            "--version",
        ],
    ),
    (
        &["rustc", "cargo", "node", "python3", "python", "go", "brew", "npm", "rustup", "dpkg"],
        &["--version", "-V", "-v", "-vV", "version", "--prefix", "--print-architecture", "env"],
    ),
    (&["kubectl", "docker", "minikube"], &["version", "--version", "ip"]),
];

fn is_uninformative(program: &str, arguments: &[ShellWord]) -> bool {
    let entry = UNINFORMATIVE_PROGRAMS.iter().find(|(names, _)| names.contains(&program));
    entry.is_some_and(|(_, words)| {
        words.is_empty() || arguments.iter().any(|word| words.contains(&word.text.as_str()))
    })
}

const DOWNLOAD_PROGRAMS: &[&str] =
    &["curl", "wget", "fetch", "http", "https", "xh", "aria2c", "lynx", "w3m", "nc", "ncat", "gh"];

/// Returns the output of a program with these words.
pub(crate) fn output(
    program: &str,
    words: &[ShellWord],
    input: &TextStream,
    cwd: Option<&Path>,
) -> TextStream {
    let mut out = printed_stream(program, words, input, cwd);
    let arguments = words.get(1..).unwrap_or(&[]);
    if out.text.is_none() {
        out.shape = output_shape::output_shape(program, arguments, input.shape);
    }
    if programs::never_ends(program, arguments) {
        out.taint = out.taint.with(TextTaint::ENDLESS);
    } else if out.taint.has(TextTaint::ENDLESS) && programs::bounds_output(program, arguments) {
        out.taint = out.taint.without(TextTaint::ENDLESS);
    }
    if matches!(program, "printenv" | "set" | "export" | "declare" | "typeset")
        && arguments.iter().all(|word| matches!(word.text.as_str(), "-p" | "-x" | "-px" | "-xp"))
    {
        out.text = None;
        out.taint = out.taint.with(TextTaint::SECRET).with(TextTaint::COMPUTED);
    }
    out
}

fn printed_stream(
    program: &str,
    words: &[ShellWord],
    input: &TextStream,
    cwd: Option<&Path>,
) -> TextStream {
    let arguments = words.get(1..).unwrap_or(&[]);
    let taint = arguments.iter().fold(input.taint, |taint, word| taint.with(word.taint));
    let unknown = |taint: TextTaint| TextStream { taint, connected: true, ..TextStream::default() };
    let silent = || TextStream::text("");
    match program {
        "echo" => TextStream { taint, ..echo(arguments) },
        "printf" => TextStream { taint, ..printf(arguments) },
        "cat" | "tee" => cat(program, arguments, input, taint),
        "pwd" => TextStream {
            text: cwd.map(|cwd| format!("{}\n", cwd.display())),
            connected: true,
            ..TextStream::default()
        },
        "mktemp"
            if arguments.iter().all(|word| matches!(word.text.as_str(), "-d" | "-t" | "-q")) =>
        {
            TextStream::text("/tmp/tmp.XXXXXXXXXX\n")
        }
        "cd" | ":" | "true" | "false" | "set" | "export" | "unset" | "test" | "[" | "sleep"
        | "" | "mkdir" | "rm" | "touch" | "cp" | "mv" | "exit" | "return" | "local" | "declare"
        | "readonly" | "chmod" | "shift" | "wait"
            if program.is_empty() || !arguments.iter().any(makes_verbose) =>
        {
            silent()
        }
        "which" => match arguments {
            [only] if only.known && !only.text.starts_with('-') => {
                TextStream::text(format!("{}\n", only.text))
            }
            _ => unknown(taint),
        },
        _ if DOWNLOAD_PROGRAMS.contains(&program) => unknown(taint.with(TextTaint::REMOTE)),
        _ if decodes(program, arguments) => {
            let own = if input.connected { TextTaint::default() } else { TextTaint::COMPUTED };
            unknown(taint.with(TextTaint::DECODED).with(own))
        }
        "rg" if !arguments.iter().any(|word| matches!(word.text.as_str(), "-l" | "--files")) => {
            TextStream {
                names: listed_globs(program, arguments),
                ..unknown(taint.with(TextTaint::COMPUTED))
            }
        }
        "find" | "gfind" | "fd" | "fdfind" | "ls" | "locate" | "rg" => {
            TextStream { names: listed_globs(program, arguments), ..unknown(taint) }
        }
        "git" if lists_untracked(arguments) => {
            TextStream { names: vec![ALL_FILES_GLOB.to_owned()], ..unknown(taint) }
        }
        // Filters pass on their input.
        _ if input.connected => {
            let mut names = input.names.clone();
            // A search among names drops most of them.
            if matches!(program, "grep" | "egrep" | "rg" | "awk" | "sed" | "fzf") {
                names.retain(|name| name.rsplit('/').next() != Some(ALL_FILES_GLOB));
            }
            TextStream { names, ..unknown(taint) }
        }
        _ if is_uninformative(program, arguments) => unknown(taint),
        _ => unknown(taint.with(TextTaint::COMPUTED)),
    }
}

/// Whether git lists untracked files, including ignored ones.
fn lists_untracked(arguments: &[ShellWord]) -> bool {
    let has = |texts: &[&str]| arguments.iter().any(|word| texts.contains(&word.text.as_str()));
    has(&["ls-files"]) && has(&["-o", "--others"]) && !has(&["--exclude-standard"])
}

/// Whether an option makes a quiet program print something.
fn makes_verbose(word: &ShellWord) -> bool {
    word.text.starts_with('-') && word.text.contains(['v', 'p', 'c'])
}

/// Returns globs of the paths that a program lists.
fn listed_globs(program: &str, arguments: &[ShellWord]) -> Vec<String> {
    let known = arguments.iter().filter(|word| word.known).map(|word| word.text.as_str());
    let operands = known.clone().filter(|text| !text.starts_with('-'));
    let names: Vec<String> = match program {
        "find" | "gfind" => {
            let root = operands.clone().next().filter(|root| !root.contains(['*', '(']));
            let root = root.unwrap_or(".").trim_end_matches('/');
            let tests = ["-name", "-iname", "-path", "-ipath", "-wholename"];
            let pairs = arguments.windows(2).filter(|pair| tests.contains(&pair[0].text.as_str()));
            let last = |text: &str| text.rsplit('/').next().unwrap_or(text).to_owned();
            let named: Vec<String> =
                pairs.map(|pair| format!("{root}/{}", last(&pair[1].text))).collect();
            match named.is_empty() {
                true => vec![format!("{root}/{ALL_FILES_GLOB}")],
                false => named,
            }
        }
        "ls" => {
            let named: Vec<String> = operands.map(str::to_owned).collect();
            let hidden = known.clone().any(|text| {
                text.starts_with('-') && !text.starts_with("--") && text.contains(['a', 'A'])
            });
            match named.is_empty() && hidden {
                true => vec![ALL_FILES_GLOB.to_owned()],
                false => named,
            }
        }
        // The pattern may match anywhere in the name.
        _ => operands
            .take(1)
            .map(|text| format!("*{text}*").replace("*^", "").replace("*.", "."))
            .collect(),
    };
    names.into_iter().take(MAX_PATHS).collect()
}

fn cat(program: &str, arguments: &[ShellWord], input: &TextStream, taint: TextTaint) -> TextStream {
    let operands: Vec<_> =
        arguments.iter().filter(|word| word.text == "-" || !word.text.starts_with('-')).collect();
    let text = match operands.as_slice() {
        [] => input.text.clone(),
        _ if program == "tee" => input.text.clone(),
        [only] if only.text == "-" => input.text.clone(),
        [only] if only.text == "/dev/null" => Some(String::new()),
        [only] => only.content.clone(),
        _ => None,
    };
    let taint = if operands.is_empty() || text.is_some() || program == "tee" {
        taint
    } else {
        taint.with(TextTaint::COMPUTED)
    };
    TextStream { text, taint, connected: true, ..TextStream::default() }
}

fn echo(arguments: &[ShellWord]) -> TextStream {
    let mut escapes = false;
    let mut newline = true;
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first() {
        let flag = first.text.strip_prefix('-').filter(|flags| {
            !flags.is_empty() && flags.chars().all(|c| matches!(c, 'n' | 'e' | 'E'))
        });
        let Some(flag) = flag else { break };
        escapes |= flag.contains('e');
        newline &= !flag.contains('n');
        rest = others;
    }
    if rest.iter().any(|word| !word.known || word.glob) {
        return TextStream { connected: true, ..TextStream::unknown() };
    }
    let mut text = rest.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    if escapes {
        text = unescape(&text);
    }
    if newline {
        text.push('\n');
    }
    TextStream::text(text)
}

fn printf(arguments: &[ShellWord]) -> TextStream {
    let unknown = TextStream { connected: true, ..TextStream::unknown() };
    let arguments = match arguments.first().map(|word| word.text.as_str()) {
        Some("--") => arguments.get(1..).unwrap_or(&[]),
        _ => arguments,
    };
    let Some((format, values)) = arguments.split_first() else { return unknown };
    if arguments.iter().any(|word| !word.known) || format.text == "-v" {
        return unknown;
    }
    let mut values = values.iter();
    let mut out = String::new();
    let format = unescape(&format.text);
    loop {
        let left = values.len();
        let mut letters = format.chars();
        while let Some(c) = letters.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            match letters.next() {
                Some('%') => out.push('%'),
                Some('s' | 'd' | 'i') => out.push_str(values.next().map_or("", |v| &v.text)),
                Some('b') => {
                    out.push_str(&values.next().map_or(String::new(), |v| unescape(&v.text)))
                }
                _ => return unknown,
            }
        }
        // printf repeats the format until all values are used.
        if values.len() == 0 || values.len() == left || out.len() > 1 << 16 {
            return if values.len() == 0 { TextStream::text(out) } else { unknown };
        }
    }
}

/// Whether the program turns its input into text that the command line does not
/// show.
fn decodes(program: &str, arguments: &[ShellWord]) -> bool {
    let has = |flags: &[&str]| arguments.iter().any(|word| flags.contains(&word.text.as_str()));
    match program {
        "base64" | "base32" | "basenc" | "gbase64" => {
            has(&["-d", "-D", "--decode", "-di", "-id"])
                || arguments.iter().any(|word| word.text.starts_with("--d"))
        }
        "xxd" => arguments.iter().any(|word| word.text.starts_with("-r")),
        "rev" | "tr" | "uudecode" | "gunzip" | "zcat" | "bunzip2" | "bzcat" | "unxz" | "xzcat"
        | "zstdcat" | "unzstd" | "tac" | "rot13" | "ascii2uni" => true,
        "gzip" | "bzip2" | "xz" | "zstd" => {
            arguments.iter().any(|word| word.text.starts_with('-') && word.text.contains('d'))
        }
        "openssl" => has(&["-d", "-D"]),
        _ => false,
    }
}
