//! Programs that run code in another language.

use hermes_core::Scope;

use super::code_check::{self, CodeLanguage};
use crate::args::CommandArgs;
use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::ShellWord;

/// Options by which an interpreter gets its code.
struct InterpreterOptions {
    name: &'static str,
    language: CodeLanguage,
    /// Options whose value is code.
    code: &'static [&'static str],
    valued: &'static [&'static str],
    /// Options that print something and run nothing.
    quiet: &'static [&'static str],
}

const INTERPRETER_OPTIONS: &[InterpreterOptions] = &[
    InterpreterOptions {
        name: "python",
        language: CodeLanguage::Python,
        code: &["-c"],
        valued: &["-c", "-W", "-X", "-m", "--check-hash-based-pycs"],
        quiet: &["--version", "-V", "--help", "-h"],
    },
    InterpreterOptions {
        name: "node",
        language: CodeLanguage::JavaScript,
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
    InterpreterOptions {
        name: "bun",
        language: CodeLanguage::JavaScript,
        code: &["-e", "--eval", "-p", "--print"],
        valued: &["-e", "--eval", "-p", "--print", "-r", "--preload"],
        quiet: &["--version", "-v", "--help"],
    },
    InterpreterOptions {
        name: "perl",
        language: CodeLanguage::Perl,
        code: &["-e", "-E"],
        valued: &["-e", "-E", "-I", "-M", "-m", "-x"],
        quiet: &["-v", "--version", "--help", "-V", "-c"],
    },
    InterpreterOptions {
        name: "ruby",
        language: CodeLanguage::Ruby,
        code: &["-e"],
        valued: &["-e", "-r", "-I", "-C", "-E"],
        quiet: &["-v", "--version", "--help", "-h", "-c"],
    },
    InterpreterOptions {
        name: "php",
        language: CodeLanguage::Php,
        code: &["-r", "-B", "-E", "-R"],
        valued: &["-r", "-B", "-E", "-R", "-d", "-c", "-f", "-S", "-t", "-z"],
        quiet: &["-v", "--version", "--help", "-h", "-i", "-m", "-l"],
    },
    InterpreterOptions {
        name: "lua",
        language: CodeLanguage::Lua,
        code: &["-e"],
        valued: &["-e", "-l"],
        quiet: &["-v"],
    },
    InterpreterOptions {
        name: "osascript",
        language: CodeLanguage::Opaque,
        code: &["-e"],
        valued: &["-e", "-l"],
        quiet: &[],
    },
    InterpreterOptions {
        name: "pwsh",
        language: CodeLanguage::Opaque,
        code: &["-c", "-Command", "-EncodedCommand", "-enc"],
        valued: &["-c", "-Command", "-EncodedCommand", "-enc", "-File"],
        quiet: &["--version", "-Version"],
    },
    InterpreterOptions {
        name: "Rscript",
        language: CodeLanguage::R,
        code: &["-e"],
        valued: &["-e"],
        quiet: &["--version"],
    },
    InterpreterOptions {
        name: "julia",
        language: CodeLanguage::Julia,
        code: &["-e", "-E"],
        valued: &["-e", "-E"],
        quiet: &["--version"],
    },
    InterpreterOptions {
        name: "elixir",
        language: CodeLanguage::Elixir,
        code: &["-e"],
        valued: &["-e"],
        quiet: &["--version"],
    },
    InterpreterOptions {
        name: "octave",
        language: CodeLanguage::Octave,
        code: &["--eval"],
        valued: &["--eval", "-p", "--path"],
        quiet: &["--version", "--help", "-h", "-v"],
    },
    InterpreterOptions {
        name: "R",
        language: CodeLanguage::R,
        code: &["-e"],
        valued: &["-e", "-f", "--file"],
        quiet: &["--version", "--help"],
    },
];

/// Python modules run with `-m` that write nothing and use no network.
const HARMLESS_MODULES: &[&str] =
    &["json.tool", "this", "calendar", "platform", "site", "tokenize", "ast", "dis", "sysconfig"];

/// Describes interpreters.
pub(super) fn describe(act: &mut EffectBuilder<'_>, _words: &[ShellWord]) -> bool {
    let program = act.program;
    match program {
        "vim" | "vi" | "nvim" | "ex" | "view" | "ed" | "red" | "emacs" | "emacsclient" | "nano"
        | "gvim" | "vimdiff" | "rvim" => {
            editor(act);
            return true;
        }
        "deno" => {
            deno(act);
            return true;
        }
        _ => {}
    }
    if program == "m4" {
        return false;
    }
    if program == "bun" && !runs_code(act.arguments()) {
        return false;
    }
    let base = base_name(program);
    let Some(interpreter) = INTERPRETER_OPTIONS.iter().find(|known| known.name == base) else {
        return false;
    };
    interpret(act, interpreter);
    true
}

/// Whether bun gets code or a file rather than a subcommand.
fn runs_code(words: &[ShellWord]) -> bool {
    const CODE_OPTIONS: &[&str] = &["-e", "--eval", "-p", "--print"];
    let script = words.iter().find(|word| !word.text.starts_with('-'));
    words.iter().any(|word| CODE_OPTIONS.contains(&word.text.as_str()))
        || script.is_some_and(|word| word.text.contains(['.', '/']))
        || script.is_none()
}

/// Maps `python3.12` to `python` and `powershell` to `pwsh`.
fn base_name(program: &str) -> &str {
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match plain {
        "pypy" | "python" => "python",
        "nodejs" => "node",
        "powershell" | "powershell.exe" => "pwsh",
        "luajit" | "lua" => "lua",
        "octave-cli" => "octave",
        _ => plain,
    }
}

fn interpret(act: &mut EffectBuilder<'_>, interpreter: &InterpreterOptions) {
    let words = act.arguments();
    // Arguments after the script belong to the script.
    let own = own_words(words, interpreter);
    let args = CommandArgs::parse(words.get(..own).unwrap_or(&[]), interpreter.valued);
    let rest = words.get(own..).unwrap_or(&[]);
    if interpreter.name == "python"
        && let Some(module) = args.value(&["-m"])
    {
        return run_module(act, &module, rest);
    }
    if matches!(interpreter.name, "perl" | "ruby") && args.has(&["-i"]) {
        rest.iter().for_each(|word| act.write(word));
    }
    let code = args.values(interpreter.code);
    if !code.is_empty() {
        let mut quiet = true;
        let loaded = load_modules(act, interpreter, &args);
        for word in &code {
            let word = ShellWord { text: format!("{loaded}{}", word.text), ..word.clone() };
            quiet &= code_check::judge_with(act, interpreter.language, &word, rest);
        }
        act.leaf.reads_only = quiet && !args.has(&["-i", "-r", "--require", "--import"]);
        if interpreter.name == "perl" {
            perl_operands(act, &args, &code, rest);
        }
        if matches!(interpreter.name, "perl" | "ruby") {
            rest.iter().for_each(|word| act.read(word));
        }
        return;
    }
    if args.has(interpreter.quiet) {
        return act.mark_read_only();
    }
    match rest.first() {
        Some(script) if script.text != "-" && !crate::shells::is_stdin_path(&script.text) => {
            act.check_tainted_code(script.taint);
            if script.is_list_input() {
                act.ask("dynamic-code", "Runs files from a list only known at run time");
            }
            match &script.content {
                Some(text) => {
                    code_check::judge(act, interpreter.language, &ShellWord::literal(text.clone()));
                }
                None => act.run_file(script),
            }
        }
        _ => check_input_code(act, interpreter.language),
    }
}

/// Returns the modules loaded by perl options as `use` statements. Adds a
/// finding for module directories outside the project.
fn load_modules(
    act: &mut EffectBuilder<'_>,
    interpreter: &InterpreterOptions,
    args: &CommandArgs<'_>,
) -> String {
    if !matches!(interpreter.name, "perl" | "ruby") {
        return String::new();
    }
    for dir in args.values(&["-I"]) {
        let place = act.context.absolute(&dir);
        if place.is_some_and(|place| super::is_outside_code(act.context.at, &place)) {
            let reason = format!("Runs code from outside the project ({})", dir.text);
            act.ask("outside-code", reason);
        }
    }
    let loaded = args.values(if interpreter.name == "perl" { &["-M", "-m"] } else { &[] });
    loaded.iter().map(|module| format!("use {};\n", module.text.trim_start_matches('-'))).collect()
}

/// Checks perl operands. Perl opens a name that begins or ends with `|` as a
/// command, and with `-i` keeps only what is printed.
fn perl_operands(
    act: &mut EffectBuilder<'_>,
    args: &CommandArgs<'_>,
    code: &[ShellWord],
    rest: &[ShellWord],
) {
    for word in rest {
        let text = word.text.trim();
        let command = text.strip_suffix('|').or_else(|| text.strip_prefix('|'));
        if let Some(command) = command {
            act.ask("interpreter-code", "Runs programs from a perl script");
            let text = command.trim().to_owned();
            act.inner.push(InnerCommand::Source(ShellWord { text, ..word.clone() }));
        } else if let Some(file) = text.strip_prefix('>') {
            act.write(&ShellWord {
                text: file.trim_start_matches('>').trim().to_owned(),
                ..word.clone()
            });
        }
    }
    let prints = |word: &ShellWord| ["print", "say"].iter().any(|verb| word.text.contains(verb));
    if args.has(&["-i"]) && !args.has(&["-p"]) && !code.iter().any(prints) {
        act.ask("mass-change", "Empties every file given to it");
    }
}

pub(super) fn check_input_code(act: &mut EffectBuilder<'_>, language: CodeLanguage) {
    let input = act.context.input;
    if !input.connected {
        return;
    }
    let tainted = act.check_tainted_code(input.taint);
    match input.text.clone() {
        Some(text) => {
            act.leaf.reads_only =
                code_check::judge(act, language, &ShellWord::literal(text)) && !tainted;
        }
        None if !tainted => act.ask("interpreter-code", "Runs code that is only known at run time"),
        None => {}
    }
}

/// The number of words that belong to the interpreter itself.
fn own_words(words: &[ShellWord], interpreter: &InterpreterOptions) -> usize {
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
        // After `-c` and `-m`, python leaves all words to the code.
        if interpreter.name == "python" && valued && text.ends_with(['c', 'm']) {
            return at.min(words.len());
        }
    }
    at.min(words.len())
}

fn run_module(act: &mut EffectBuilder<'_>, module: &ShellWord, rest: &[ShellWord]) {
    if super::verb_tools::asks_about_itself(rest) {
        return act.mark_read_only();
    }
    match module.text.as_str() {
        "pip" | "pip3" => {
            let mut words = vec![ShellWord::literal("pip")];
            words.extend(rest.iter().cloned());
            act.inner.push(InnerCommand::Words(words));
        }
        "timeit" => {
            let args = CommandArgs::parse(rest, &["-s", "--setup", "-n", "-r", "-u"]);
            let mut quiet = true;
            for code in args.values(&["-s", "--setup"]).iter().chain(args.operands.iter()) {
                quiet &= code_check::judge(act, CodeLanguage::Python, code);
            }
            act.leaf.reads_only = quiet;
        }
        "pdb" | "code" | "asyncio" | "cProfile" | "profile" | "trace" | "runpy" => {
            let script = rest.iter().find(|word| !word.text.starts_with('-'));
            match script {
                Some(script) if script.text.contains(['(', ' ', ';']) => {
                    act.ask("interpreter-code", "Runs code that may have side effects");
                }
                Some(script) => act.run_file(script),
                None => check_input_code(act, CodeLanguage::Python),
            }
        }
        "smtpd" | "aiosmtpd" | "pyftpdlib" | "xmlrpc.server" | "pydoc" | "uploadserver"
            if module.text != "pydoc"
                || rest.iter().any(|word| word.text == "-p" || word.text == "-n") =>
        {
            act.ask("network-listen", "Listens for network connections");
            act.affect_any(Scope::NETWORK_SEND);
        }
        "http.server" | "SimpleHTTPServer" => {
            act.ask("network-listen", "Serves the directory's files to the network");
            act.affect_any(Scope::NETWORK_SEND);
        }
        "venv" | "virtualenv" => super::install_sources::create_venv(act, rest),
        name if HARMLESS_MODULES.contains(&name) => {
            act.mark_read_only();
            rest.iter().filter(|word| !word.text.starts_with('-')).for_each(|word| act.read(word));
        }
        _ => {}
    }
}

fn deno(act: &mut EffectBuilder<'_>) {
    let words = act.arguments();
    match words.first().map(|word| word.text.as_str()) {
        Some("eval") => {
            if let Some(code) = words.iter().skip(1).find(|word| !word.text.starts_with('-')) {
                act.leaf.reads_only = code_check::judge(act, CodeLanguage::JavaScript, code);
            }
        }
        Some("run") => {
            if let Some(script) =
                words.iter().skip(1).find(|word| !word.text.starts_with('-') || word.text == "-")
            {
                if let Some(host) = super::network::url_host(&script.text) {
                    act.affect_host(Scope::NETWORK_FETCH, Some(&host));
                    act.ask("remote-to-shell", "Runs code downloaded by the same command");
                } else if script.text == "-" {
                    check_input_code(act, CodeLanguage::JavaScript);
                } else {
                    act.run_file(script);
                }
            } else {
                check_input_code(act, CodeLanguage::JavaScript);
            }
        }
        Some("--version" | "info" | "lint" | "check") => act.mark_read_only(),
        Some("publish" | "deploy") => {
            act.affect_any(Scope::NETWORK_SEND);
            act.ask("publish", "Publishes something to everyone");
        }
        Some("install" | "x" | "jupyter" | "compile")
            if words.iter().any(|word| {
                matches!(word.text.as_str(), "-g" | "--global") || word.text.contains("://")
            }) =>
        {
            act.affect_any(Scope::NETWORK_FETCH);
            act.ask("remote-code", "Installs or runs code from a remote source");
        }
        Some(first) if first.contains("://") => {
            act.ask("remote-to-shell", "Runs code downloaded by the same command");
        }
        _ => {}
    }
}

fn editor(act: &mut EffectBuilder<'_>) {
    let words = act.arguments();
    let valued =
        ["-c", "--cmd", "-S", "-u", "--eval", "-l", "--load", "-s", "-f", "--funcall", "--script"];
    let valued = match act.program {
        "ed" | "red" => &["-p", "--prompt"][..],
        program if is_emacs(program) => &valued[4..],
        _ => &valued[..6],
    };
    let args = CommandArgs::parse(words, valued);
    let mut commands = args.values(&["-c", "--cmd"]);
    commands.extend(args.operands.iter().filter(|word| word.text.starts_with('+')).cloned());
    for command in commands {
        editor_command(act, &command);
    }
    if is_emacs(act.program)
        && (args.has(&["--eval", "-l", "--load", "-f", "--funcall", "--script", "--execute"])
            || words.iter().any(|word| word.text == "-e"))
    {
        act.ask("interpreter-code", "Runs code inside an editor");
    }
    for script in args.values(&["-S", "-u"]).iter().filter(|word| word.text != "NONE") {
        act.run_file(script);
        if script.text.starts_with(['/', '~']) {
            act.ask("interpreter-code", "Runs a script inside an editor");
        }
    }
    let input = act.context.input;
    let batch = matches!(act.program, "ed" | "ex" | "red") || args.has(&["-e", "-E"]);
    if input.connected && batch {
        match &input.text {
            Some(text) => {
                for line in text.lines().take(256).filter(|line| line.contains('!')) {
                    editor_command(act, &ShellWord::literal(line));
                }
                editor_files(act, text);
            }
            None => act.ask("interpreter-code", "Passes unknown commands to an editor"),
        }
    }
    let files: Vec<_> =
        args.operands.iter().filter(|word| !word.text.starts_with('+')).cloned().collect();
    files.iter().for_each(|word| act.write(word));
}

/// Adds files named in editor commands.
fn editor_files(act: &mut EffectBuilder<'_>, orders: &str) {
    for line in orders.lines().take(256) {
        let order = line.trim_start_matches(|c: char| c.is_ascii_digit() || ":%,$.+- ".contains(c));
        let Some((verb, file)) = order.split_once(' ') else { continue };
        let file = file.trim();
        let path = match (file.strip_prefix("~/"), act.context.at.home()) {
            (Some(below), Some(home)) => home.join(below).to_string_lossy().into_owned(),
            _ => file.to_owned(),
        };
        let word = ShellWord::literal(path);
        match verb {
            "r" | "e" | "E" | "read" | "edit" | "so" | "source" => act.read(&word),
            "w" | "W" | "wq" | "write" | "saveas" => act.write(&word),
            _ => {}
        }
    }
}

fn is_emacs(program: &str) -> bool {
    program.starts_with("emacs")
}

/// Checks one editor command. Moving, saving and replacing are harmless; others
/// may run anything.
fn editor_command(act: &mut EffectBuilder<'_>, command: &ShellWord) {
    let text = command.text.trim_start_matches(['+', ':', ' ']);
    if let Some((left, code)) = text.split_once('!') {
        let before = left.trim_end();
        let runs = before.is_empty()
            || before.ends_with(['r', 'w', '%', 'd', 'e', 't'])
            || before.bytes().all(|b| b.is_ascii_digit() || b",.$%".contains(&b));
        if runs && !code.trim().is_empty() && !is_harmless_editor_command(text) {
            act.ask("interpreter-code", "Runs programs from an editor");
            let text = code.to_owned();
            act.inner.push(InnerCommand::Source(ShellWord { text, ..command.clone() }));
            return;
        }
    }
    if !is_harmless_editor_command(text) {
        act.ask("interpreter-code", "Runs code inside an editor");
    }
}

fn is_harmless_editor_command(text: &str) -> bool {
    const HARMLESS_EDITOR_COMMANDS: &[&str] = &[
        "q",
        "qa",
        "qall",
        "wq",
        "wqa",
        "x",
        "xa",
        "w",
        "wa",
        "wall",
        "q!",
        "qa!",
        "qall!",
        "wq!",
        "w!",
        "e",
        "bd",
        "noh",
        "syntax on",
        "syntax off",
        "startinsert",
        "vsplit",
        "split",
        "only",
        "",
    ];
    let text = text.trim();
    let number = text.bytes().all(|b| b.is_ascii_digit() || b == b'$');
    let starts = ["set ", "setlocal ", "/", "colorscheme ", "filetype "];
    let replaces = text.trim_start_matches(|c: char| c.is_ascii_digit() || "%,$.'".contains(c));
    let harmless = !text.contains(['!', '`', '|']) && !text.contains("\\=");
    HARMLESS_EDITOR_COMMANDS.contains(&text)
        || number
        || (harmless && starts.iter().any(|start| text.starts_with(start)))
        || (harmless && replaces.starts_with("s/"))
        || (harmless && matches!(replaces, "d" | "p" | "j" | "y"))
}
