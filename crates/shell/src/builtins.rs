//! Builtins: commands that change the shell itself.

use hermes_core::Scope as Permission;

use crate::eval_context::EffectBuilder;
use crate::leaf::{CommandFinding, LeafCommand, ShellWord, TextTaint};
use crate::programs;
use crate::shell_scope::ShellValue;
use crate::text_stream::{self, TextStream};
use crate::walk::ShellWalk;

/// Builtins that evaluate an index in brackets.
const EVALUATING_BUILTINS: &[&str] = &[
    "let",
    "test",
    "[",
    "read",
    "unset",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "mapfile",
    "readarray",
    "wait",
    "getopts",
];

impl ShellWalk<'_> {
    /// Runs a builtin; `None` if the leaf is not a builtin.
    pub(crate) fn builtin(
        &mut self,
        leaf: &mut LeafCommand,
        input: &TextStream,
    ) -> Option<TextStream> {
        // A path names a program, never a builtin.
        if leaf.words.first().is_some_and(|word| word.text.contains('/')) {
            return None;
        }
        if EVALUATING_BUILTINS.contains(&leaf.program.as_str()) {
            for word in leaf.words.clone().iter().skip(1) {
                self.evaluate_index(word);
                if leaf.program == "let" {
                    self.evaluate_names(&word.text);
                }
            }
        }
        match leaf.program.as_str() {
            "cd" | "pushd" | "popd" => self.change_dir(leaf),
            "eval" => return Some(self.evaluate(leaf, input)),
            "source" | "." => {
                let leaf = std::mem::take(leaf);
                return Some(self.source_file(leaf, input));
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => self.declare(leaf),
            "unset" => self.unset(leaf),
            "read" | "mapfile" | "readarray" | "getopts" => self.read_into(leaf, input),
            "printf" if leaf.words.get(1).is_some_and(|word| word.text == "-v") => {
                let name = leaf.words.get(2).cloned().unwrap_or_default();
                self.evaluate_index(&name);
                let words = leaf.words.get(2..).unwrap_or(&[]);
                let printed = text_stream::output("printf", words, input, None);
                let value = ShellValue {
                    text: printed.text,
                    taint: printed.taint,
                    ..ShellValue::default()
                };
                self.assign(&name.text, value);
            }
            "alias" => self.alias(leaf),
            "trap" => return Some(self.trap(leaf)),
            "set" => self.set_options(leaf),
            "shift" => self.scope.positional = None,
            "fc" if leaf.words.iter().any(|word| matches!(word.text.as_str(), "-s" | "-e")) => {
                leaf.add_finding(CommandFinding::ask(
                    "dynamic-code",
                    "Runs an earlier command again",
                ));
            }
            "shopt" => {
                let on = leaf.words.iter().any(|word| word.text == "-s");
                if leaf.words.iter().any(|word| word.text == "dotglob") {
                    self.scope.dotglob = on;
                }
            }
            "history" => {
                let files = leaf.words.windows(2).filter(|pair| {
                    let flag = pair[0].text.strip_prefix('-').unwrap_or("");
                    !pair[1].text.starts_with('-') && flag.contains(['a', 'r', 'w', 'n'])
                });
                let files: Vec<ShellWord> = files.map(|pair| pair[1].clone()).collect();
                let cwd = self.scope.cwd.clone();
                let site = self.eval_context(cwd.as_deref(), input);
                let mut act = EffectBuilder::without_program(leaf, &site);
                for file in &files {
                    act.read(file);
                    act.write(file);
                }
                let wipes = leaf
                    .words
                    .iter()
                    .any(|word| word.text.starts_with('-') && word.text.contains(['c', 'd', 'w']));
                if wipes {
                    leaf.add_finding(CommandFinding::ask(
                        "history-tampering",
                        "Changes the shell history",
                    ));
                }
            }
            "enable" | "hash" | "complete" | "compgen" | "bind" => {
                let flags = ["-f", "-p", "-C", "-F", "-x"];
                if leaf.words.iter().any(|word| flags.contains(&word.text.as_str())) {
                    let reason = "Redefines a command";
                    leaf.add_finding(CommandFinding::ask("shadowing", reason));
                }
                let at = leaf.words.iter().position(|word| word.text == "-W");
                if let Some(words) = at.and_then(|at| leaf.words.get(at + 1)).cloned() {
                    self.evaluate_text(&words.text);
                }
            }
            "umask" => {
                let mask = leaf.words.get(1).map_or("", |word| word.text.as_str());
                let number = u32::from_str_radix(mask, 8);
                if number.is_ok_and(|mask| mask & 0o2 == 0) {
                    let reason = "Makes new files world-writable";
                    leaf.add_finding(CommandFinding::ask("world-writable", reason));
                }
            }
            "unalias" | "ulimit" | "wait" | "jobs" | "fg" | "bg" | "disown" | "exit" | "return"
            | "break" | "continue" | "logout" | ":" | "true" | "false" | "test" | "[" | "let"
            | "type" | "pwd" | "dirs" | "times" | "help" | "caller" | "suspend" | "echo" => {}
            _ => return None,
        }
        let out = text_stream::output(&leaf.program, &leaf.words, input, self.scope.cwd.as_deref());
        let mut leaf = std::mem::take(leaf);
        leaf.reads_only = true;
        self.push_leaf(leaf);
        Some(out)
    }

    fn change_dir(&mut self, leaf: &LeafCommand) {
        let target =
            leaf.words.iter().skip(1).find(|word| word.text == "-" || !word.text.starts_with('-'));
        let home = self.at.home().map(|home| home.to_string_lossy().into_owned());
        match (leaf.program.as_str(), target) {
            ("cd", None) => self.scope.change_dir(home.as_deref(), self.at),
            // `CDPATH` may redirect the lookup.
            ("cd", Some(word))
                if self.scope.get("CDPATH").is_some()
                    && !word.text.starts_with('/')
                    && !matches!(word.text.split('/').next(), Some("." | "..")) =>
            {
                self.scope.change_dir(None, self.at);
            }
            ("cd" | "pushd", Some(word)) if word.text != "-" && !word.glob => {
                let dir = word.known_text().map(str::to_owned);
                self.scope.change_dir(dir.as_deref(), self.at);
            }
            _ => self.scope.change_dir(None, self.at),
        }
    }

    fn evaluate(&mut self, leaf: &mut LeafCommand, input: &TextStream) -> TextStream {
        let mut joined = ShellWord::literal("");
        for word in leaf.words.iter().skip(1) {
            if !joined.text.is_empty() {
                joined.text.push(' ');
            }
            joined.text.push_str(&word.text);
            joined.known &= word.known;
            joined.taint = joined.taint.with(word.taint);
        }
        let mut leaf = std::mem::take(leaf);
        self.check_code(&joined, &mut leaf);
        leaf.reads_only = true;
        let outer = leaf.words.clone();
        self.push_leaf(leaf);
        if !joined.known && joined.text.contains('…') {
            return TextStream::unknown();
        }
        self.push_wrapper("eval".to_owned(), outer);
        let out = self.walk_source_with(&joined.text, input);
        self.pop_wrapper();
        out
    }

    fn declare(&mut self, leaf: &mut LeafCommand) {
        let mut assigns = false;
        let refers = leaf.words.iter().skip(1).any(|word| {
            word.text.starts_with('-') && word.text.contains('n') && leaf.program != "export"
        });
        let exports = leaf.program == "export"
            || leaf
                .words
                .iter()
                .skip(1)
                .any(|word| word.text.starts_with('-') && word.text.contains('x'));
        let flagged =
            |word: &ShellWord, flag: char| word.text.starts_with('-') && word.text.contains(flag);
        let computes = leaf.program != "export" && leaf.words.iter().any(|word| flagged(word, 'i'));
        for word in leaf.words.clone().iter().skip(1) {
            if computes && !word.text.starts_with('-') {
                self.scope.make_integer(word.text.split('=').next().unwrap_or(""));
            }
            if exports {
                self.scope.export(word.text.split('=').next().unwrap_or(""));
            }
            if let Some((name, value)) = word.text.split_once('=') {
                let mut value = ShellWord { text: value.to_owned(), ..word.clone() };
                if let (Some(rest), Some(home)) = (value.text.strip_prefix("~/"), self.at.home()) {
                    value.text = home.join(rest).to_string_lossy().into_owned();
                }
                if let Some(finding) = programs::environment_override(name, &value) {
                    leaf.add_finding(finding);
                }
                leaf.effects.extend(programs::proxy_effect(name, &value));
                assigns = true;
                if refers {
                    self.scope.set_reference(name, &value.text);
                    continue;
                }
                self.scope.note_path_variable(name, &value, self.at);
                let value = ShellValue::from_word(&value);
                self.evaluate_assignment(name, &value);
                self.scope.set(name, value);
            }
        }
        let prints = leaf.words.len() == 1 || leaf.words.iter().any(|word| word.text == "-p");
        if prints && !assigns {
            leaf.add_effect(hermes_core::Effect::any(Permission::ENV_READ));
        }
    }

    fn unset(&mut self, leaf: &mut LeafCommand) {
        for word in leaf.words.clone().iter().skip(1) {
            if word.text.starts_with("HIST") {
                leaf.add_finding(CommandFinding::ask(
                    "history-tampering",
                    "Disables the shell history",
                ));
            }
            self.scope.unset(&word.text);
        }
    }

    fn read_into(&mut self, leaf: &mut LeafCommand, input: &TextStream) {
        let at = leaf.words.iter().position(|word| word.text == "-C");
        if let Some(callback) = at.and_then(|at| leaf.words.get(at + 1)).cloned() {
            leaf.add_finding(CommandFinding::ask(
                "program-option",
                "Runs a command for each line read",
            ));
            self.nested_source(&callback, input);
        }
        let own = if leaf.program == "getopts" { 2 } else { 1 };
        let names: Vec<&str> = read_names(&leaf.program, leaf.words.get(own..).unwrap_or(&[]));
        let lines: Vec<String> =
            input.text.iter().flat_map(|text| text.lines()).take(16).map(str::to_owned).collect();
        let certain = self.repeats == 0 && input.text.is_some();
        if leaf.program != "read" {
            let all = |text: &String| ShellWord {
                taint: input.taint,
                ..ShellWord::literal(text.as_str())
            };
            let name = names.first().copied().unwrap_or("MAPFILE");
            if certain && leaf.words.len() <= 3 {
                self.assign(name, ShellValue::unknown());
                self.scope.set_array(name, lines.iter().map(all).collect(), false);
                return;
            }
        }
        let mut hints = input.names.clone();
        hints.extend(lines.iter().cloned());
        let separators = self.scope.parameter("IFS", self.at).and_then(|ifs| ifs.text);
        let separators = separators.unwrap_or_else(|| " \t\n".to_owned());
        let line = lines.first().map_or("", String::as_str);
        let mut rest = line.trim_matches(|c| c == ' ' || c == '\t');
        let plain = !leaf.words.iter().any(|word| word.text.starts_with("-") && word.text != "-r");
        for (index, name) in names.iter().enumerate() {
            let last = index + 1 == names.len();
            let (field, next) = match rest.find(|c| separators.contains(c)).filter(|_| !last) {
                Some(at) => (
                    rest.get(..at).unwrap_or(""),
                    rest.get(at..).unwrap_or("").trim_start_matches(|c| separators.contains(c)),
                ),
                None => (rest, ""),
            };
            let text = (certain && plain).then(|| field.to_owned());
            rest = next;
            let once = text.is_none() && self.repeats == 0 && input.connected;
            let taint = if once { input.taint.with(TextTaint::FOREIGN) } else { input.taint };
            let shape = input.shape.filter(|_| text.is_none()).map(str::to_owned);
            self.assign(name, ShellValue { text, hints: hints.clone(), taint, shape });
        }
    }

    fn alias(&mut self, leaf: &mut LeafCommand) {
        for word in leaf.words.clone().iter().skip(1) {
            let Some((name, body)) = word.text.split_once('=') else { continue };
            if programs::is_well_known(name) {
                let reason = format!("Redefines the command {name}");
                leaf.add_finding(CommandFinding::ask("shadowing", reason));
            }
            self.scope.set_alias(name.to_owned(), body.to_owned());
        }
    }

    fn trap(&mut self, leaf: &mut LeafCommand) -> TextStream {
        let mut leaf = std::mem::take(leaf);
        let action = leaf.words.iter().skip(1).find(|word| word.text != "--").cloned();
        let signals = leaf.words.len() > 2;
        let code =
            action.filter(|word| signals && !word.text.is_empty() && !word.text.starts_with('-'));
        let outer = leaf.words.clone();
        leaf.reads_only = true;
        if let Some(word) = &code {
            self.check_code(word, &mut leaf);
        }
        self.push_leaf(leaf);
        let at_the_end =
            outer.iter().skip(2).all(|word| matches!(word.text.as_str(), "EXIT" | "0"));
        if let Some(word) = code {
            // The effect depends on the state at exit.
            if at_the_end && self.is_outermost() && self.traps.len() < 16 {
                self.traps.push(word);
                return TextStream::text("");
            }
            self.push_wrapper("trap".to_owned(), outer);
            self.nested_source(&word, &TextStream::unknown());
            self.pop_wrapper();
        }
        TextStream::text("")
    }

    fn set_options(&mut self, leaf: &mut LeafCommand) {
        let texts: Vec<&str> = leaf.words.iter().skip(1).map(|word| word.text.as_str()).collect();
        if texts.contains(&"history") && texts.contains(&"+o") {
            leaf.add_finding(CommandFinding::ask(
                "history-tampering",
                "Disables the shell history",
            ));
            return;
        }
        self.scope.exports_all |= texts.contains(&"allexport")
            || texts.iter().any(|text| text.starts_with('-') && text.contains('a'));
        if let Some(at) = texts.iter().position(|text| *text == "--") {
            self.scope.positional = Some(leaf.words.iter().skip(at + 2).cloned().collect());
        } else if texts.first().is_some_and(|text| !text.starts_with(['-', '+'])) {
            self.scope.positional = Some(leaf.words.iter().skip(1).cloned().collect());
        }
        if leaf.words.len() == 1 {
            leaf.add_effect(hermes_core::Effect::any(Permission::ENV_READ));
        }
    }
}

/// The variables that `read` and similar builtins set.
fn read_names<'w>(program: &str, words: &'w [ShellWord]) -> Vec<&'w str> {
    // The option letters of `read` and `mapfile` differ.
    let valued: &[&str] = match program {
        "read" => &["-p", "-d", "-n", "-N", "-t", "-u", "-i"],
        "getopts" => &[],
        _ => &["-d", "-n", "-O", "-s", "-u", "-c", "-C"],
    };
    let mut names = Vec::new();
    let mut skip = false;
    for word in words {
        let text = word.text.as_str();
        if std::mem::take(&mut skip) {
            continue;
        }
        if text == "-a" {
            continue;
        }
        if text.starts_with('-') && text.len() > 1 {
            skip = valued.contains(&text);
            continue;
        }
        names.push(text);
    }
    if names.is_empty() { vec!["REPLY"] } else { names }
}
