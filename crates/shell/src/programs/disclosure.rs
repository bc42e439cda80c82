//! Commands that show file contents other than by naming the files: languages
//! that include files, searches for everything, other processes.

use hermes_core::{Effect, Resource, Scope};

use crate::args::CommandArgs;
use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;
use crate::secret_paths;

/// Programs whose input may include files by name.
const INCLUDING_PROGRAMS: &[&str] = &[
    "asciidoctor",
    "asciidoctor-pdf",
    "asciidoc",
    "rst2html",
    "rst2html5",
    "rst2latex",
    "rst2man",
    "pandoc",
    "xmllint",
    "xsltproc",
    "jsonnet",
    "nix",
    "nix-instantiate",
    "dhall",
    "dhall-to-json",
    "dhall-to-yaml",
    "terraform",
    "tofu",
    "m4",
    "cpp",
    "nickel",
    "cue",
    "pkl",
    "typst",
    "groff",
    "soelim",
];

/// Maximum length of a text that is searched.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Finds files that are shown in such a way.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    match act.program {
        "rg" | "ripgrep" | "ag" | "ack" | "grep" | "egrep" | "ugrep" => whole_search(act, words),
        "ffmpeg" | "ffprobe" | "ffplay" => describe_media(act, words),
        "ps" => {
            let bsd = words.first().filter(|word| !word.text.starts_with('-'));
            if bsd.is_some_and(|word| {
                word.text.contains('e') && word.text.bytes().all(|b| b.is_ascii_alphabetic())
            }) {
                act.ask("secret-exposure", "Shows the environment variables of other processes");
            }
        }
        "wl-paste" | "pbpaste" => shows_clipboard(act),
        "xclip" | "xsel" if prints_clipboard(act, words) => shows_clipboard(act),
        "git" => ignored_files(act, words),
        "docker" | "podman" => check_container_env(act, words),
        "dd" | "cat" | "strings" | "xxd" | "head" | "tail" => check_process_memory(act, words),
        program if INCLUDING_PROGRAMS.contains(&program) => read_included_files(act, words),
        _ => {}
    }
}

fn shows_clipboard(act: &mut EffectBuilder<'_>) {
    act.affect_any(Scope::CLIPBOARD_READ);
    act.ask("secret-exposure", "Shows the clipboard");
}

/// Whether a clipboard tool prints the clipboard. `xsel` also does so without
/// options and input.
fn prints_clipboard(act: &EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    if act.program == "xclip" {
        return words.iter().any(|word| matches!(&*word.text, "-o" | "-ou" | "-out"));
    }
    const CLIPBOARD_INPUT_OPTIONS: &[&str] = &[
        "-i",
        "--input",
        "-a",
        "--append",
        "-f",
        "--follow",
        "-c",
        "--clear",
        "-d",
        "--delete",
        "-k",
        "--keep",
        "-x",
        "--exchange",
        "-h",
        "--help",
    ];
    let args =
        CommandArgs::parse(words, &["-t", "--selectionTimeout", "-l", "--logfile", "--display"]);
    args.has(&["-o", "--output"])
        || !act.context.input.connected && !args.has(CLIPBOARD_INPUT_OPTIONS)
}

/// Reads the files that a text names.
fn read_included_files(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let piped = act.context.input.text.clone();
    let contents = words.iter().filter_map(|word| word.content.clone());
    // Only texts: file operands are read anyway.
    let given = words.iter().filter(|word| word.text.contains(['"', '{', '(', ' ']));
    let texts: Vec<String> =
        piped.into_iter().chain(contents).chain(given.map(|word| word.text.clone())).collect();
    for text in texts.iter().filter(|text| text.len() <= MAX_TEXT_BYTES) {
        let cuts = |c: char| c.is_whitespace() || "\"'`()[]{}<>;,|".contains(c);
        for piece in text.split(cuts).filter(|piece| !piece.is_empty()).take(512) {
            let name = piece.rsplit("::").next().unwrap_or(piece);
            let name = name.strip_prefix("file://").unwrap_or(name);
            let home = act.context.at.home().map(|home| home.to_string_lossy().into_owned());
            let path = match (name.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => format!("{home}/{rest}"),
                _ => name.to_owned(),
            };
            let far = path.starts_with('/') && path.len() > 1 && !path.starts_with("//");
            if far || path.starts_with("../") || secret_paths::names_secret(&path) {
                read_as_file(act, &path);
            }
        }
    }
}

fn read_as_file(act: &mut EffectBuilder<'_>, path: &str) {
    let resource = act.context.resource(&ShellWord::literal(path));
    if resource != Resource::Any {
        act.leaf.add_effect(Effect { scope: Scope::FILE_READ, resource });
    }
}

/// Asks about a match-all search that includes hidden files, since it shows all
/// contents.
fn whole_search(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let flag = |letters: &[char], long: &[&str]| {
        super::recursive_reads::is_recursive(words, letters, long)
    };
    let deep = match act.program {
        "grep" | "egrep" | "ugrep" => {
            flag(&['r', 'R'], &["--recursive", "--dereference-recursive"])
        }
        _ => {
            let twice = words.iter().any(|word| word.text.starts_with("-uu"));
            twice || flag(&['.'], &["--hidden", "--unrestricted"])
        }
    };
    let names =
        flag(&['l', 'L', 'c', 'q'], &["--files-with-matches", "--count", "--files", "--quiet"]);
    let pattern = words.iter().find(|word| !word.text.starts_with('-'));
    let all = pattern
        .is_some_and(|word| matches!(word.text.as_str(), "." | "" | ".*" | "^" | "$" | ".+"));
    if deep && all && !names {
        act.ask("secret-path", "Shows all file contents in a directory, including hidden files");
    }
}

/// Describes operands with a protocol prefix, from which ffmpeg takes a path.
fn describe_media(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    // A trailing operand is the output file.
    if let Some(made) = words.last().filter(|_| act.program == "ffmpeg")
        && !made.text.starts_with('-')
        && !made.text.contains("://")
        && words.iter().rev().nth(1).is_some_and(|before| before.text != "-i")
    {
        act.write(made);
    }
    const SENDING_PROTOCOLS: &[&str] =
        &["tcp", "udp", "rtmp", "rtp", "srt", "ftp", "sftp", "icecast", "tls", "rtsp"];
    let last = words.len().saturating_sub(1);
    for (at, word) in words.iter().enumerate().filter(|(_, word)| word.known) {
        let input = at > 0 && words.get(at - 1).is_some_and(|before| before.text == "-i");
        let text = word.text.as_str();
        let listed =
            at > 0 && words.get(at - 1).is_some_and(|before| before.text.ends_with("_list"));
        let scheme = text.split([':', ',']).next().unwrap_or("");
        if let (Some(host), true) =
            (text.split("://").nth(1), SENDING_PROTOCOLS.contains(&scheme) && !input)
        {
            let host = host.split(['/', ':']).next().unwrap_or("").to_owned();
            act.affect_host(Scope::NETWORK_SEND, Some(&host));
            act.ask("network-send", "Sends a recording to another machine");
            continue;
        }
        let behind = match scheme {
            "file" | "concat" | "subfile" | "crypto" | "cache" | "async" => text.rsplit(':').next(),
            _ if text.starts_with('[') && at == last => text.rsplit(']').next(),
            _ if listed && !text.starts_with('-') => Some(text),
            _ if text.contains("textfile=") => {
                text.split("textfile=").nth(1).and_then(|rest| rest.split(':').next())
            }
            _ => None,
        };
        let Some(path) = behind.filter(|path| !path.is_empty()) else { continue };
        let reads = input || text.contains("textfile=") || act.program != "ffmpeg";
        let paths: Vec<ShellWord> = path
            .split('|')
            .map(|path| ShellWord { text: path.to_owned(), ..word.clone() })
            .collect();
        for path in &paths {
            match reads {
                true => read_as_file(act, &path.text),
                false => act.write(path),
            }
        }
    }
}

/// Whether a program inspects another process.
pub(super) fn attaches_to_process(program: &str, words: &[ShellWord]) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let names_one = || {
        words.iter().any(|word| {
            matches!(word.text.as_str(), "-p" | "--pid" | "attach")
                || word.text.starts_with("--pid=")
                || word.text.strip_prefix("-p").is_some_and(number)
                || (matches!(word.text.len(), 3 | 4)
                    && word.text.starts_with('-')
                    && word.text.ends_with('p'))
        })
    };
    match program {
        "reptyr" | "gcore" => true,
        "strace" | "ltrace" | "gdb" | "lldb" | "perf" | "py-spy" | "bpftrace" => names_one(),
        _ => false,
    }
}

fn check_process_memory(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let inside = |word: &ShellWord| {
        let text = word.text.strip_prefix("if=").unwrap_or(&word.text);
        text.starts_with("/proc/") && (text.ends_with("/mem") || text.ends_with("/environ"))
    };
    if words.iter().any(inside) {
        act.ask("secret-exposure", "Inspects another process");
    }
}

/// Asks about adding ignored files, which are mostly secret or large.
fn ignored_files(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let verb =
        words.iter().find(|word| !word.text.starts_with('-')).map_or("", |w| w.text.as_str());
    let short = |letter: char| {
        words.iter().any(|word| {
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(letter)
        })
    };
    let has = |text: &str| words.iter().any(|word| word.text == text);
    let forced = verb == "add" && (short('f') || has("--force"));
    let all = short('A') || ["--all", ".", "*"].iter().any(|text| has(text));
    let secret = words.iter().any(|word| secret_paths::names_secret(&word.text));
    let stashed = verb == "stash" && (has("-a") || has("--all"));
    if (forced && (all || secret)) || stashed {
        act.ask("secret-path", "Adds ignored files to the repository");
    }
}

fn check_container_env(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let verb =
        words.iter().find(|word| !word.text.starts_with('-')).map_or("", |w| w.text.as_str());
    let shows = verb == "inspect"
        && words
            .iter()
            .any(|word| word.text.contains(".Env") || word.text.contains("json .Config"));
    if shows {
        act.ask("secret-exposure", "Shows the environment variables of a container");
    }
}
