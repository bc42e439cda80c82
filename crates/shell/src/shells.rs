//! Shells started by a command, whose code is analyzed too.

use crate::eval_context::EffectBuilder;
use crate::leaf::{LeafCommand, ShellWord};
use crate::shell_scope::ShellValue;
use crate::text_stream::TextStream;
use crate::walk::ShellWalk;

/// Whether the program is a shell with this syntax, or nearly.
pub(crate) fn is_shell(program: &str) -> bool {
    matches!(program, "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "mksh" | "fish" | "rbash")
}

const SHELL_VALUED_OPTIONS: &[&str] = &["-o", "+o", "-O", "--rcfile", "--init-file", "-C"];

/// Where a shell invocation takes its code from.
enum ShellCode {
    /// The text, `$0` and the arguments.
    Text(ShellWord, Option<ShellWord>, Vec<ShellWord>),
    File(ShellWord, Vec<ShellWord>),
    Input,
    /// Nothing runs, as with `--version`.
    Nothing,
}

impl ShellWalk<'_> {
    /// Analyzes a shell invocation: `-c` text, a script, or piped input.
    pub(crate) fn run_shell(&mut self, mut leaf: LeafCommand, input: &TextStream) -> TextStream {
        let code = shell_code(leaf.words.get(1..).unwrap_or(&[]));
        let name = leaf.program.clone();
        let outer = leaf.words.clone();
        self.runs_stdin |= matches!(code, ShellCode::Input) && is_outer_stdin(input);
        let cwd = self.scope.cwd.clone();
        let at = self.at;
        let site = self.eval_context(cwd.as_deref(), input);
        let mut act = EffectBuilder::without_program(&mut leaf, &site);
        if is_interactive(&outer) && self.scope.get("ENV").is_some() {
            act.ask("env-override", "Sets ENV, a file that the shell runs at startup");
        }
        let mut name_of = None;
        let (text, arguments) = match code {
            ShellCode::Nothing => {
                act.mark_read_only();
                (None, Vec::new())
            }
            ShellCode::Text(word, name, arguments) => {
                name_of = name;
                // Empty code comes from an argument that was not passed.
                let nothing = word.text.trim().is_empty();
                if !act.check_tainted_code(word.taint) && (!word.known || nothing) {
                    act.ask("dynamic-code", "Runs shell code only known at run time");
                }
                (Some(word), arguments)
            }
            ShellCode::File(word, arguments) => {
                if is_descriptor(&word) {
                    act.ask("dynamic-code", "Runs shell code only known at run time");
                }
                act.check_tainted_code(word.taint);
                if word.is_list_input() {
                    act.ask("dynamic-code", "Runs files from a list only known at run time");
                }
                act.run_file(&word);
                (word.content.map(ShellWord::literal), arguments)
            }
            ShellCode::Input => {
                let word = input.text.clone().map(ShellWord::literal);
                if !act.check_tainted_code(input.taint) && word.is_none() && input.connected {
                    act.ask("dynamic-code", "Runs shell code only known at run time");
                }
                (word, Vec::new())
            }
        };
        let quiet = leaf.findings.is_empty();
        leaf.reads_only |= quiet && text.is_some();
        self.push_leaf(leaf);
        let Some(text) = text else {
            return TextStream { connected: true, ..TextStream::unknown() };
        };
        self.push_wrapper(name, outer);
        let out = self.in_subshell(|walk| {
            // A child shell inherits no functions, and only exported variables.
            let mut scope = walk.scope.for_child_shell(at);
            if let Some(name) = name_of {
                scope.name = ShellValue::from_word(&name);
            }
            scope.positional = Some(arguments);
            walk.scope = scope;
            walk.nested_source(&text, input)
        });
        self.pop_wrapper();
        out
    }

    /// Analyzes `source` and `.`: a file, or the output of a substitution.
    pub(crate) fn source_file(&mut self, mut leaf: LeafCommand, input: &TextStream) -> TextStream {
        let cwd = self.scope.cwd.clone();
        let site = self.eval_context(cwd.as_deref(), input);
        let mut act = EffectBuilder::without_program(&mut leaf, &site);
        let word = act.leaf.words.get(1).cloned().unwrap_or_default();
        let mut text = word.content.clone();
        if is_descriptor(&word) {
            act.ask("dynamic-code", "Runs shell code only known at run time");
        }
        if is_stdin_path(&word.text) {
            self.runs_stdin |= is_outer_stdin(input);
            act.check_tainted_code(input.taint);
            text.clone_from(&input.text);
        } else {
            act.check_tainted_code(word.taint);
            act.run_file(&word);
        }
        self.push_leaf(leaf);
        match text {
            Some(text) => self.walk_source_with(&text, input),
            None => {
                // The file may set any variable.
                self.scope.forget_values();
                TextStream::unknown()
            }
        }
    }
}

/// Whether the options make a shell interactive.
fn is_interactive(words: &[ShellWord]) -> bool {
    let mut own = words.iter().skip(1).take_while(|word| word.text.starts_with('-'));
    own.any(|word| !word.text.starts_with("--") && word.text.contains('i'))
}

/// Whether the input is the stdin of the whole command.
fn is_outer_stdin(input: &TextStream) -> bool {
    input.text.is_none() && !input.connected
}

/// Whether a path names the standard input.
pub(crate) fn is_stdin_path(text: &str) -> bool {
    matches!(text, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" | "/proc/thread-self/fd/0")
}

/// Whether a word is a descriptor of unknown content: not that of a
/// substitution.
pub(crate) fn is_descriptor(word: &ShellWord) -> bool {
    let named = ["/dev/fd/", "/proc/self/fd/"].iter().any(|dir| word.text.starts_with(dir));
    named && word.text != "/dev/fd/63" && !is_stdin_path(&word.text)
}

fn shell_code(words: &[ShellWord]) -> ShellCode {
    let mut rest = words;
    let mut reads_input = false;
    let mut takes_text = false;
    while let Some((first, others)) = rest.split_first() {
        let text = first.text.as_str();
        if matches!(text, "--version" | "--help") {
            return ShellCode::Nothing;
        }
        if text == "--" || text == "-" {
            rest = others;
            break;
        }
        if SHELL_VALUED_OPTIONS.contains(&text) {
            rest = others.get(1..).unwrap_or(&[]);
            continue;
        }
        if !(text.starts_with('-') || text.starts_with('+')) {
            break;
        }
        if text.starts_with('-') && !text.starts_with("--") {
            takes_text |= text.contains('c');
            reads_input |= text.contains('s');
        }
        takes_text |= text == "--command";
        // Options such as -euo take the next word.
        let takes_next = !text.starts_with("--") && text.ends_with('o');
        rest = others.get(usize::from(takes_next)..).unwrap_or(&[]);
    }
    let Some((first, arguments)) = rest.split_first() else {
        // The code of `-c "$@"` comes from the caller.
        return if takes_text {
            ShellCode::Text(ShellWord::literal(""), None, Vec::new())
        } else {
            ShellCode::Input
        };
    };
    if takes_text {
        // The first argument is `$0`, not `$1`.
        let rest = arguments.get(1..).unwrap_or(&[]).to_vec();
        return ShellCode::Text(first.clone(), arguments.first().cloned(), rest);
    }
    if reads_input || is_stdin_path(&first.text) {
        return ShellCode::Input;
    }
    ShellCode::File(first.clone(), arguments.to_vec())
}
