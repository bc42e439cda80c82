//! Interpreters of languages that are not analyzed: a file of the project needs
//! no finding, but code in the command itself gets one.

use std::sync::LazyLock;

use super::code_check::CodeLanguage;
use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::ShellWord;
use crate::static_names::StaticNameMap;

/// Programs, and their options that take code.
const INTERPRETER_CODE_OPTIONS: &[(&str, &str)] = &[
    (
        "groovy groovysh jruby truffleruby raku perl6 moon janet fennel newlisp factor gforth",
        "-e -E",
    ),
    ("guile gauche gosh csi gsi chez scheme racket gracket picolisp", "-c -e -eval --eval"),
    ("bb babashka clj clojure lein-exec", "-e --eval"),
    ("sage maxima gp matlab wolframscript", "--eval -c -r -batch -code --batch-string"),
    ("gnuplot idl", "-e"),
    ("ghc ghci runghc runhaskell ocaml utop sml poly mosml", "-e"),
    ("erl werl escript iex", "-eval -run -s --eval -e --rpc-eval"),
    ("ipython ipython3 bpython ptpython xonsh hy jython coconut", "-c"),
    ("swipl gprolog yap", "-g -t --query-goal"),
    ("sbcl ccl ecl clisp abcl cmucl", "--eval -eval -x -e"),
    ("scala scala-cli amm kotlin kscript jshell bsh", "-e -c --script-snippet"),
    ("nu elvish osh ysh murex tcsh csh rc es", "-c --commands"),
    ("qjs d8 rhino jjs mujs js txiki graaljs tsx ts-node ts-node-esm", "-e -p --eval --print"),
    ("rust-script evcxr yaegi gore gomacro cling root rdmd", "-e --expr --eval"),
    ("crystal v nim", "eval e"),
    ("csharprepl dotnet-script fsharpi fsi", "-e eval --exec"),
    ("expect autoexpect wish tclsh itclsh", "-c"),
];

static OPTIONS_BY_NAME: LazyLock<StaticNameMap<&'static str>> = LazyLock::new(|| {
    let entries = INTERPRETER_CODE_OPTIONS.iter();
    entries.flat_map(|(names, flags)| names.split(' ').map(|name| (name, *flags))).collect()
});

/// Options that let a typesetter run programs.
const TEX_SHELL_OPTIONS: &[&str] =
    &["shell-escape", "enable-write18", "shell-restricted=no", "pdflatex", "latex", "lualatex"];

/// Describes interpreters of other languages.
pub(super) fn describe(act: &mut EffectBuilder<'_>, _words: &[ShellWord]) -> bool {
    typesetters(act);
    let program = act.program;
    match program {
        "dc" => {
            calculator(act);
            return true;
        }
        "m4" => {
            macros(act);
            return true;
        }
        _ => {}
    }
    let Some(flags) = OPTIONS_BY_NAME.get(program) else { return false };
    interpret(act, flags);
    true
}

fn interpret(act: &mut EffectBuilder<'_>, flags: &str) {
    let words = act.arguments();
    let coded = words.iter().any(|word| {
        flags.split(' ').any(|flag| {
            let glued = word.text.strip_prefix(flag);
            let short = flag.len() == 2 && flag.starts_with('-');
            glued.is_some_and(|rest| rest.is_empty() || rest.starts_with('=') || short)
        })
    });
    if coded && computes_only(act, words) {
        return;
    }
    if coded {
        let reason = format!("Runs code that may have side effects ({})", act.program);
        act.ask("interpreter-code", reason);
        return hidden_commands(act, words);
    }
    if super::verb_tools::asks_about_itself(words) {
        return act.mark_read_only();
    }
    match words.iter().find(|word| !word.text.starts_with('-') || word.text == "-") {
        Some(script) if script.text != "-" && !crate::shells::is_stdin_path(&script.text) => {
            act.check_tainted_code(script.taint);
            act.run_file(script);
        }
        _ => super::interpreters::check_input_code(act, CodeLanguage::Opaque),
    }
}

/// Whether the code of a plotter or a calculator only computes.
fn computes_only(act: &mut EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    let code = words.windows(2).filter(|pair| pair[0].text == "-e").map(|pair| &pair[1]);
    let code: Vec<&ShellWord> = code.filter(|word| word.known).collect();
    if code.is_empty() {
        return false;
    }
    match act.program {
        "gnuplot" if code.iter().all(|word| is_plot_only(&word.text)) => {
            for word in &code {
                for order in word.text.split(';') {
                    let output = order.trim().strip_prefix("set output");
                    if let Some(file) = output.or_else(|| order.trim().strip_prefix("set out ")) {
                        let text = file.trim().trim_matches(['\'', '"']).to_owned();
                        act.write(&ShellWord { text, ..(*word).clone() });
                    }
                }
            }
            true
        }
        "ghci" | "ghc" => code.iter().all(|word| is_pure(&word.text)),
        _ => false,
    }
}

/// Whether gnuplot code only configures or draws.
fn is_plot_only(code: &str) -> bool {
    const GNUPLOT_COMMANDS: &[&str] =
        &["set", "unset", "plot", "splot", "replot", "print", "reset", "pause"];
    let acts = ['`', '!', '|', '<', '@', '$'];
    let plain = |order: &str| {
        let verb = order.split_whitespace().next().unwrap_or("");
        verb.is_empty() || GNUPLOT_COMMANDS.contains(&verb)
    };
    !code.contains(acts)
        && !["system", "load", "call", "eval", "import"].iter().any(|name| code.contains(name))
        && code.split([';', '\n']).all(|order| plain(order.trim()))
}

/// Whether Haskell code names nothing with side effects.
fn is_pure(code: &str) -> bool {
    const ACTING_NAMES: &[&str] = &[
        "import",
        "do",
        "readFile",
        "writeFile",
        "appendFile",
        "interact",
        "getContents",
        "getLine",
        "readIO",
        "readLn",
        "unsafePerformIO",
        "foreign",
        "withFile",
        "openFile",
    ];
    let mut names = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
    let modules = ["System", "Foreign", "Network", "Control", "GHC", "Language", "Data.IORef"];
    !code.trim_start().starts_with(':')
        && !code.contains('\n')
        && names.all(|name| {
            !ACTING_NAMES.contains(&name) && !modules.iter().any(|module| name.starts_with(module))
        })
}

/// Finds shell commands in string literals of code, only to detect blocked
/// operations.
fn hidden_commands(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    for word in words.iter().filter(|word| word.text.contains("rm ") || word.text.contains("mkfs"))
    {
        let inner = word.text.split(['"', '\'', '`', '!']).find(|part| {
            let part = part.trim_start();
            part.starts_with("rm ") || part.starts_with("mkfs")
        });
        if let Some(code) = inner {
            let text = code.trim().trim_end_matches(['(', ')', ';']).to_owned();
            act.inner.push(InnerCommand::Source(ShellWord { text, ..word.clone() }));
        }
    }
}

/// Checks `dc`, which runs what follows an exclamation mark.
fn calculator(act: &mut EffectBuilder<'_>) {
    let words = act.arguments();
    let input = act.context.input.clone();
    let runs = |text: &str| {
        text.split('!')
            .skip(1)
            .any(|rest| !rest.trim().is_empty() && !rest.starts_with(['<', '>', '=']))
    };
    let unknown = input.connected && input.text.is_none();
    let given = input.text.as_deref().is_some_and(runs);
    if given || words.iter().any(|word| runs(&word.text)) {
        act.ask("interpreter-code", "Runs programs from a calculator");
    } else if unknown && words.iter().all(|word| !word.text.starts_with("-e")) {
        act.check_tainted_code(input.taint);
    } else {
        act.mark_read_only();
    }
    for file in words.iter().filter(|word| !word.text.starts_with('-') && !runs(&word.text)) {
        act.read(file);
    }
}

/// Checks `m4`, whose macros can run programs and read files.
fn macros(act: &mut EffectBuilder<'_>) {
    let words = act.arguments();
    let input = act.context.input.clone();
    let marks = ["syscmd", "include", "undivert", "mkstemp", "debugfile"];
    let acts = |text: &str| marks.iter().any(|mark| text.contains(mark));
    if words.iter().any(|word| acts(&word.text)) || input.text.as_deref().is_some_and(acts) {
        act.ask("interpreter-code", "Runs programs or reads files through macros");
    } else if input.connected && input.text.is_none() {
        act.check_tainted_code(input.taint);
    }
    for file in words.iter().filter(|word| !word.text.starts_with('-')) {
        act.check_tainted_code(file.taint);
        act.read(file);
    }
}

fn typesetters(act: &mut EffectBuilder<'_>) {
    let words = act.words.get(1..).unwrap_or(&[]);
    let unbound = match act.program {
        "latex" | "pdflatex" | "xelatex" | "lualatex" | "tex" | "pdftex" | "xetex" | "luatex"
        | "latexmk" | "context" | "mpost" | "tectonic" | "etex" | "platex" | "uplatex" => {
            words.iter().any(|word| {
                let name = word.text.trim_start_matches('-');
                let dashed = word.text.starts_with('-');
                (dashed
                    && TEX_SHELL_OPTIONS.iter().any(|mark| {
                        name == *mark
                            || name.starts_with("shell-escape")
                            || name.strip_prefix(mark).is_some_and(|rest| rest.starts_with('='))
                    }))
                    || word.text.starts_with('\\')
            })
        }
        "gs" | "ghostscript" | "ps2pdf" => {
            words.iter().any(|word| word.text.contains("NOSAFER") || word.text == "-c")
        }
        "groff" | "troff" | "nroff" | "pic" => words.iter().any(|word| {
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('U')
        }),
        _ => false,
    };
    if unbound {
        act.ask("interpreter-code", "Lets a document run programs");
    }
}
