//! Programs that run code of another language.

use hermes_core::Scope;

use super::code::{self, Language};
use crate::args::Args;
use crate::leaf::Word;
use crate::site::{Act, Inner};

/// How an interpreter is told what to run.
struct Interpreter {
    name: &'static str,
    language: Language,
    /// Options whose value is code.
    code: &'static [&'static str],
    valued: &'static [&'static str],
    /// Options that print something and run nothing.
    quiet: &'static [&'static str],
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        name: "python",
        language: Language::Python,
        code: &["-c"],
        valued: &["-c", "-W", "-X", "-m", "--check-hash-based-pycs"],
        quiet: &["--version", "-V", "--help", "-h"],
    },
    Interpreter {
        name: "node",
        language: Language::JavaScript,
        code: &["-e", "-p", "--eval", "--print", "-pe"],
        valued: &[
            "-e",
            "-p",
            "-pe",
            "--eval",
            "--print",
            "-r",
            "--require",
            "--import",
            "-C",
            "--input-type",
        ],
        quiet: &["--version", "-v", "--help", "-h", "--check", "-c"],
    },
    Interpreter {
        name: "bun",
        language: Language::JavaScript,
        code: &["-e", "--eval", "-p", "--print"],
        valued: &["-e", "--eval", "-p", "--print", "-r", "--preload"],
        quiet: &["--version", "-v", "--help"],
    },
    Interpreter {
        name: "perl",
        language: Language::Perl,
        code: &["-e", "-E"],
        valued: &["-e", "-E", "-I", "-M", "-m", "-x"],
        quiet: &["-v", "--version", "--help", "-V", "-c"],
    },
    Interpreter {
        name: "ruby",
        language: Language::Ruby,
        code: &["-e"],
        valued: &["-e", "-r", "-I", "-C", "-E"],
        quiet: &["-v", "--version", "--help", "-h", "-c"],
    },
    Interpreter {
        name: "php",
        language: Language::Php,
        code: &["-r", "-B", "-E", "-R"],
        valued: &["-r", "-B", "-E", "-R", "-d", "-c", "-f", "-S", "-t", "-z"],
        quiet: &["-v", "--version", "--help", "-h", "-i", "-m", "-l"],
    },
    Interpreter {
        name: "lua",
        language: Language::Other,
        code: &["-e"],
        valued: &["-e", "-l"],
        quiet: &["-v"],
    },
    Interpreter {
        name: "osascript",
        language: Language::Opaque,
        code: &["-e"],
        valued: &["-e", "-l"],
        quiet: &[],
    },
    Interpreter {
        name: "pwsh",
        language: Language::Opaque,
        code: &["-c", "-Command", "-EncodedCommand", "-enc"],
        valued: &["-c", "-Command", "-EncodedCommand", "-enc", "-File"],
        quiet: &["--version", "-Version"],
    },
    Interpreter {
        name: "Rscript",
        language: Language::Other,
        code: &["-e"],
        valued: &["-e"],
        quiet: &["--version"],
    },
    Interpreter {
        name: "julia",
        language: Language::Other,
        code: &["-e", "-E"],
        valued: &["-e", "-E"],
        quiet: &["--version"],
    },
    Interpreter {
        name: "elixir",
        language: Language::Other,
        code: &["-e"],
        valued: &["-e"],
        quiet: &["--version"],
    },
    Interpreter { name: "tclsh", language: Language::Opaque, code: &[], valued: &[], quiet: &[] },
];

/// Python modules that are run with `-m` and write or reach nothing of note.
const HARMLESS_MODULES: &[&str] = &[
    "json.tool",
    "timeit",
    "this",
    "calendar",
    "platform",
    "site",
    "tokenize",
    "ast",
    "dis",
    "sysconfig",
];

/// Describes interpreters.
pub(super) fn describe(act: &mut Act<'_>) -> bool {
    let program = act.leaf.program.clone();
    match program.as_str() {
        "vim" | "vi" | "nvim" | "ex" | "view" | "ed" | "emacs" | "nano" => {
            editor(act);
            return true;
        }
        "deno" => {
            deno(act);
            return true;
        }
        _ => {}
    }
    let base = base_name(&program);
    let Some(interpreter) = INTERPRETERS.iter().find(|known| known.name == base) else {
        return false;
    };
    interpret(act, interpreter);
    true
}

/// `python3.12` is python, `powershell` is pwsh.
fn base_name(program: &str) -> &str {
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match plain {
        "pypy" | "python" | "ipython" => "python",
        "nodejs" => "node",
        "powershell" | "powershell.exe" => "pwsh",
        "luajit" | "lua" => "lua",
        _ => plain,
    }
}

fn interpret(act: &mut Act<'_>, interpreter: &Interpreter) {
    let words = act.arguments();
    // What comes after the script belongs to the script.
    let own = own_words(&words, interpreter);
    let args = Args::parse(words.get(..own).unwrap_or(&[]), interpreter.valued);
    let rest = words.get(own..).unwrap_or(&[]);
    if interpreter.name == "python"
        && let Some(module) = args.value(&["-m"])
    {
        return module_run(act, &module, rest);
    }
    if interpreter.name == "perl" && args.has(&["-i"]) {
        rest.iter().for_each(|word| act.write(word));
    }
    let code = args.values(interpreter.code);
    if interpreter.name == "perl" && !code.is_empty() {
        let modules = args.values(&["-M", "-m"]);
        let safe = |word: &Word| code::is_safe_perl_module(&word.text);
        if !modules.iter().all(safe) {
            act.ask("interpreter-code", "The code loads a module that may do anything");
        }
    }
    if !code.is_empty() {
        let mut quiet = true;
        for word in &code {
            quiet &= code::judge(act, interpreter.language, word);
        }
        act.leaf.reads_only = quiet && !args.has(&["-i", "-r", "--require", "--import"]);
        if matches!(interpreter.name, "perl" | "ruby") {
            rest.iter().for_each(|word| act.read(word));
        }
        return;
    }
    if args.has(interpreter.quiet) {
        return act.only_reads();
    }
    match rest.first() {
        Some(script) if script.text != "-" && script.text != "/dev/stdin" => {
            act.tainted_code(script.taint);
            match &script.content {
                Some(text) => {
                    code::judge(act, interpreter.language, &Word::literal(text.clone()));
                }
                None => act.runs(script),
            }
        }
        _ => from_input(act, interpreter.language),
    }
}

fn from_input(act: &mut Act<'_>, language: Language) {
    let input = act.site.input;
    if !input.connected {
        return;
    }
    let tainted = act.tainted_code(input.taint);
    match input.text.clone() {
        Some(text) => {
            act.leaf.reads_only = code::judge(act, language, &Word::literal(text)) && !tainted;
        }
        None if !tainted => {
            act.ask("interpreter-code", "Runs code that is only known when it runs")
        }
        None => {}
    }
}

/// How many words are the interpreter's own.
fn own_words(words: &[Word], interpreter: &Interpreter) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        if !text.starts_with('-') || text == "-" {
            return at;
        }
        if text == "--" {
            return at + 1;
        }
        let ends = |flag: &&&str| {
            flag.len() == 2
                && !text.starts_with("--")
                && text.ends_with(flag.get(1..).unwrap_or("?"))
        };
        let valued =
            interpreter.valued.contains(&text) || interpreter.valued.iter().find(ends).is_some();
        at += 1 + usize::from(valued);
        // Python stops at its code.
        if interpreter.name == "python" && valued && text.ends_with(['c', 'm']) {
            return at.min(words.len());
        }
    }
    at.min(words.len())
}

fn module_run(act: &mut Act<'_>, module: &Word, rest: &[Word]) {
    match module.text.as_str() {
        "pip" | "pip3" => {
            let mut words = vec![Word::literal("pip")];
            words.extend(rest.iter().cloned());
            act.inner.push(Inner::Words(words));
        }
        "http.server" | "SimpleHTTPServer" => {
            act.ask("network-listen", "Offers the folder's files to the network");
            act.any(Scope::NETWORK_SEND);
        }
        "venv" | "virtualenv" => {
            let args = Args::parse(rest, &["--prompt"]);
            args.operands.iter().for_each(|word| act.write(word));
        }
        name if HARMLESS_MODULES.contains(&name) => {
            act.only_reads();
            rest.iter().filter(|word| !word.text.starts_with('-')).for_each(|word| act.read(word));
        }
        _ => {}
    }
}

fn deno(act: &mut Act<'_>) {
    let words = act.arguments();
    match words.first().map(|word| word.text.as_str()) {
        Some("eval") => {
            if let Some(code) = words.iter().skip(1).find(|word| !word.text.starts_with('-')) {
                act.leaf.reads_only = code::judge(act, Language::JavaScript, code);
            }
        }
        Some("run") => {
            if let Some(script) = words.iter().skip(1).find(|word| !word.text.starts_with('-')) {
                if let Some(host) = super::network::url_host(&script.text) {
                    act.reach(Scope::NETWORK_FETCH, Some(&host));
                    act.ask("remote-to-shell", "Runs code that is downloaded by the same command");
                } else {
                    act.runs(script);
                }
            }
        }
        Some("--version" | "info" | "lint" | "check") => act.only_reads(),
        _ => {}
    }
}

fn editor(act: &mut Act<'_>) {
    let words = act.arguments();
    let args = Args::parse(&words, &["-c", "--cmd", "-S", "-u", "--eval", "-l", "--load", "-s"]);
    let mut commands = args.values(&["-c", "--cmd"]);
    commands.extend(args.operands.iter().filter(|word| word.text.starts_with('+')).cloned());
    for command in commands {
        let text = command.text.trim_start_matches(['+', ':', ' ']);
        let runs = text.strip_prefix('!').or_else(|| {
            text.split_once('!')
                .filter(|(left, _)| {
                    matches!(left.trim(), "%" | "r" | "w " | "r " | "sil" | "silent" | "silent ")
                })
                .map(|(_, right)| right)
        });
        match runs {
            Some(code) => {
                act.inner.push(Inner::Source(Word { text: code.to_owned(), ..command.clone() }));
            }
            None if [
                "system(", "luaeval", "python", "py3", "perl ", "lua ", "execute", "call ",
            ]
            .iter()
            .any(|mark| text.contains(mark)) =>
            {
                act.ask("interpreter-code", "Runs code inside an editor");
            }
            None => {}
        }
    }
    if act.leaf.program == "emacs" && args.has(&["--eval", "-l", "--load"]) {
        act.ask("interpreter-code", "Runs code inside an editor");
    }
    args.values(&["-S"]).iter().for_each(|word| act.runs(word));
    let files: Vec<_> =
        args.operands.iter().filter(|word| !word.text.starts_with('+')).cloned().collect();
    files.iter().for_each(|word| act.write(word));
}
