//! Shells that a command starts: what they are told to run is walked through.

use crate::flow::Stream;
use crate::leaf::{Leaf, Word};
use crate::scope::Value;
use crate::site::Act;
use crate::walk::Walk;

/// Whether the program is a shell that reads this language, or nearly.
pub(crate) fn is_shell(program: &str) -> bool {
    matches!(program, "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "mksh" | "fish" | "rbash")
}

const VALUED: &[&str] = &["-o", "+o", "-O", "--rcfile", "--init-file", "-C"];

/// Where the words of a shell say that its code comes from.
enum Code {
    /// The text, `$0` and the arguments.
    Text(Word, Option<Word>, Vec<Word>),
    File(Word, Vec<Word>),
    Input,
    /// Nothing runs: the version, say.
    None,
}

impl Walk<'_> {
    /// A shell: `-c` text, a script, or what comes through the pipe.
    pub(crate) fn shell(&mut self, mut leaf: Leaf, input: &Stream) -> Stream {
        let code = code_of(leaf.words.get(1..).unwrap_or(&[]));
        let name = leaf.program.clone();
        let outer = leaf.words.clone();
        self.reads_code |= matches!(code, Code::Input) && is_own(input);
        let cwd = self.scope.cwd.clone();
        let at = self.at;
        let site = self.site(cwd.as_deref(), input);
        let mut act = Act::bare(&mut leaf, &site);
        if is_interactive(&outer) && self.scope.get("ENV").is_some() {
            act.ask("env-override", "Sets ENV, which a shell reads first");
        }
        let mut name_of = None;
        let (text, arguments) = match code {
            Code::None => {
                act.only_reads();
                (None, Vec::new())
            }
            Code::Text(word, name, arguments) => {
                name_of = name;
                // No code at all is what an argument that nobody gave turns into.
                let nothing = word.text.trim().is_empty();
                if !act.tainted_code(word.taint) && (!word.known || nothing) {
                    act.ask("dynamic-code", "Runs shell code that is only known when it runs");
                }
                (Some(word), arguments)
            }
            Code::File(word, arguments) => {
                if is_descriptor(&word) {
                    act.ask("dynamic-code", "Runs shell code that is only known when it runs");
                }
                act.tainted_code(word.taint);
                if word.is_listed() {
                    act.ask("dynamic-code", "Runs what a list says that is only known then");
                }
                act.runs(&word);
                (word.content.map(Word::literal), arguments)
            }
            Code::Input => {
                let word = input.text.clone().map(Word::literal);
                if !act.tainted_code(input.taint) && word.is_none() && input.connected {
                    act.ask("dynamic-code", "Runs shell code that is only known when it runs");
                }
                (word, Vec::new())
            }
        };
        let quiet = leaf.findings.is_empty();
        leaf.reads_only |= quiet && text.is_some();
        self.push(leaf);
        let Some(text) = text else { return Stream { connected: true, ..Stream::unknown() } };
        self.enter_via(name, outer);
        let out = self.apart(|walk| {
            // Another shell sees no functions of this one, and only exported variables.
            let mut scope = walk.scope.started(at);
            if let Some(name) = name_of {
                scope.name = Value::of(&name);
            }
            scope.positional = Some(arguments);
            walk.scope = scope;
            walk.nested_source(&text, input)
        });
        self.leave_via();
        out
    }

    /// `source` and `.`: a file, or what a substitution prints.
    pub(crate) fn source_file(&mut self, mut leaf: Leaf, input: &Stream) -> Stream {
        let cwd = self.scope.cwd.clone();
        let site = self.site(cwd.as_deref(), input);
        let mut act = Act::bare(&mut leaf, &site);
        let word = act.leaf.words.get(1).cloned().unwrap_or_default();
        let mut text = word.content.clone();
        if is_descriptor(&word) {
            act.ask("dynamic-code", "Runs shell code that is only known when it runs");
        }
        if is_input(&word.text) {
            self.reads_code |= is_own(input);
            act.tainted_code(input.taint);
            text.clone_from(&input.text);
        } else {
            act.tainted_code(word.taint);
            act.runs(&word);
        }
        self.push(leaf);
        match text {
            Some(text) => self.source_with(&text, input),
            None => {
                // It may set any of them.
                self.scope.forget_values();
                Stream::unknown()
            }
        }
    }
}

/// Whether a shell is told to be one that somebody talks to.
fn is_interactive(words: &[Word]) -> bool {
    let mut own = words.iter().skip(1).take_while(|word| word.text.starts_with('-'));
    own.any(|word| !word.text.starts_with("--") && word.text.contains('i'))
}

/// Whether it is what the whole command was started with.
fn is_own(input: &Stream) -> bool {
    input.text.is_none() && !input.connected
}

/// The ways to name the standard input.
pub(crate) fn is_input(text: &str) -> bool {
    matches!(text, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" | "/proc/thread-self/fd/0")
}

/// A descriptor of which nothing is known: another one than a substitution's.
pub(crate) fn is_descriptor(word: &Word) -> bool {
    let named = ["/dev/fd/", "/proc/self/fd/"].iter().any(|folder| word.text.starts_with(folder));
    named && word.text != "/dev/fd/63" && !is_input(&word.text)
}

fn code_of(words: &[Word]) -> Code {
    let mut rest = words;
    let mut reads_input = false;
    let mut takes_text = false;
    while let Some((first, others)) = rest.split_first() {
        let text = first.text.as_str();
        if matches!(text, "--version" | "--help") {
            return Code::None;
        }
        if text == "--" || text == "-" {
            rest = others;
            break;
        }
        if VALUED.contains(&text) {
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
        // `-c "$@"` has its code from whoever calls.
        return if takes_text {
            Code::Text(Word::literal(""), None, Vec::new())
        } else {
            Code::Input
        };
    };
    if takes_text {
        // The first of the arguments is the name, not $1.
        let rest = arguments.get(1..).unwrap_or(&[]).to_vec();
        return Code::Text(first.clone(), arguments.first().cloned(), rest);
    }
    if reads_input || is_input(&first.text) {
        return Code::Input;
    }
    Code::File(first.clone(), arguments.to_vec())
}
