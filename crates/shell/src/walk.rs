//! Walks a script in execution order, without running anything, and collects a
//! leaf for every simple command.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use hermes_core::{Effect, Resource, Scope as Permission, WorkingDir};

use crate::leaf::{
    CommandAnalysis, CommandFinding, FOUND_PATH_PLACEHOLDER, LeafCommand, ShellWord, TextTaint,
};
use crate::output_shape::is_below;
use crate::parse::{MAX_DEPTH, parse};
use crate::programs;
use crate::shell_scope::{ShellScope, ShellValue};
use crate::syntax::{ParseProblem, RawWord, ShellCommand, SimpleCommand, WordPart};
use crate::text_stream::TextStream;
use crate::{SYNTAX_ERROR, blocked_operations, second_parse, secret_paths};

/// Maximum number of leaves that are analyzed.
const MAX_LEAVES: usize = 3000;
/// Approximate length of the source of one leaf.
const LEAF_SOURCE_BYTES: usize = 20;
/// Limit of the total work.
const INITIAL_FUEL: usize = 1_500_000;
/// Maximum nesting depth of the walk.
const MAX_WALK_DEPTH: u32 = 2 * MAX_DEPTH;
/// Maximum number of words of one command.
const MAX_WORDS: usize = 5000;
/// Maximum depth of function calls.
const MAX_CALL_DEPTH: usize = 8;
/// A loop over more values is walked only once.
const MAX_LOOP_ROUNDS: usize = 8;

/// The state of the walk.
#[derive(Debug)]
pub(crate) struct ShellWalk<'a> {
    pub(crate) at: &'a WorkingDir,
    pub(crate) scope: ShellScope,
    pub(crate) findings: Vec<CommandFinding>,
    pub(crate) wrappers: Vec<String>,
    pub(crate) unwrapped_words: Vec<Arc<[ShellWord]>>,
    leaves: Vec<LeafCommand>,
    defined: Vec<(String, Rc<ShellCommand>)>,
    pub(crate) called: HashSet<String>,
    calls: Vec<String>,
    depth: u32,
    loops: u32,
    /// Number of enclosing loops with an unknown number of iterations.
    pub(crate) repeats: u32,
    /// Number of enclosing subshells.
    subshell_depth: u32,
    /// Code that runs when the shell exits.
    pub(crate) traps: Vec<ShellWord>,
    pub(crate) fuel: usize,
    /// Whether this analyzes a program that a glob may expand to.
    pub(crate) is_guess: bool,
    /// Whether the source is a text in a program, which may be a command.
    pub(crate) in_code: bool,
    /// The default field separators.
    pub(crate) blanks: Rc<str>,
    /// Aliases that were expanded.
    pub(crate) aliased: HashSet<String>,
    /// Files that were written, with their contents.
    pub(crate) files: HashMap<PathBuf, TextStream>,
    /// Text that was added to files, where known.
    pub(crate) added_contents: BTreeMap<PathBuf, Option<String>>,
    /// Whether a shell runs the stdin of the whole command.
    pub(crate) runs_stdin: bool,
}

impl<'a> ShellWalk<'a> {
    pub(crate) fn new(at: &'a WorkingDir) -> Self {
        ShellWalk {
            at,
            scope: ShellScope::new(at),
            findings: Vec::new(),
            wrappers: Vec::new(),
            unwrapped_words: Vec::new(),
            leaves: Vec::new(),
            defined: Vec::new(),
            called: HashSet::new(),
            calls: Vec::new(),
            depth: 0,
            loops: 0,
            repeats: 0,
            subshell_depth: 0,
            traps: Vec::new(),
            fuel: INITIAL_FUEL,
            is_guess: false,
            in_code: false,
            blanks: " \t\n".into(),
            aliased: HashSet::new(),
            files: HashMap::new(),
            added_contents: BTreeMap::new(),
            runs_stdin: false,
        }
    }

    /// Consumes fuel, and adds a finding when none is left.
    pub(crate) fn use_fuel(&mut self, amount: usize) {
        self.fuel = self.fuel.saturating_sub(amount);
        if self.fuel == 0 {
            self.add_finding(CommandFinding::ask(
                "too-complex",
                "The command is too complex to analyze",
            ));
        }
    }

    pub(crate) fn add_finding(&mut self, finding: CommandFinding) {
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Walks shell source in the current scope.
    pub(crate) fn walk_source(&mut self, source: &str) -> TextStream {
        self.walk_source_with(source, &TextStream::unknown())
    }

    /// Walks shell source with the given input.
    pub(crate) fn walk_source_with(&mut self, source: &str, input: &TextStream) -> TextStream {
        self.use_fuel(source.len() / 2 + 1);
        if self.fuel == 0 {
            return TextStream::unknown();
        }
        let script = parse(source, self.depth / 2);
        if self.leaves.is_empty() {
            // Leaves are large, and a growing vector copies them repeatedly.
            self.leaves.reserve((source.len() / LEAF_SOURCE_BYTES + 1).min(64));
        }
        match script.problem {
            Some(ParseProblem::Syntax) if second_parse::is_refused(source) => {
                self.add_finding(CommandFinding::ask(
                    SYNTAX_ERROR,
                    "The command has a syntax error or is incomplete; the shell rejects it",
                ))
            }
            Some(ParseProblem::Syntax) => self.add_finding(CommandFinding::ask(
                "unparsable",
                "The command is not valid shell syntax, so its effects are unknown",
            )),
            Some(ParseProblem::TooComplex) => {
                self.add_finding(CommandFinding::ask(
                    "too-complex",
                    "The command is too complex to analyze",
                ));
            }
            None => {}
        }
        self.run(&script.body, input)
    }

    /// Returns the current number of leaves and findings.
    pub(crate) fn checkpoint(&self) -> (usize, usize) {
        (self.leaves.len(), self.findings.len())
    }

    /// Returns the leaves added since `seen`.
    pub(crate) fn leaves_since(&mut self, seen: usize) -> impl Iterator<Item = &mut LeafCommand> {
        self.leaves.iter_mut().skip(seen)
    }

    /// Removes all leaves and findings added since `mark`, and returns the
    /// findings.
    pub(crate) fn roll_back_to(
        &mut self,
        mark: (usize, usize),
    ) -> impl Iterator<Item = CommandFinding> + use<> {
        let leaves = self.leaves.split_off(mark.0.min(self.leaves.len()));
        let own = self.findings.split_off(mark.1.min(self.findings.len()));
        own.into_iter().chain(leaves.into_iter().flat_map(|leaf| leaf.findings))
    }

    /// Discards the results so far, but keeps the shell state.
    pub(crate) fn discard_results(&mut self) {
        self.leaves.clear();
        self.findings.clear();
        self.defined.clear();
        self.called.clear();
        self.aliased.clear();
        self.traps.clear();
        self.runs_stdin = false;
        self.fuel = INITIAL_FUEL;
    }

    /// Finishes the walk: analyzes traps, functions that were never called, and
    /// the data flow between leaves.
    pub(crate) fn finish(mut self, source: &str) -> (CommandAnalysis, HashSet<String>) {
        for code in std::mem::take(&mut self.traps) {
            self.push_wrapper("trap".to_owned(), [code.clone()].into());
            self.nested_source(&code, &TextStream::unknown());
            self.pop_wrapper();
        }
        for (name, body) in std::mem::take(&mut self.defined) {
            if self.called.insert(name.clone()) {
                self.call_function(&name, &body, None, &TextStream::unknown());
            }
        }
        programs::analyze_dataflow(&mut self.leaves, self.at.cwd());
        let blind = self.leaves.iter_mut().filter(|leaf| leaf.reads_unknown_file);
        let mut blind = blind.peekable();
        if blind.peek().is_some() && secret_paths::mentions_secret(source) {
            blind.for_each(|leaf| {
                leaf.add_finding(CommandFinding::ask(
                    "secret-path",
                    "Reads a file only known at run time, and the command names a secret",
                ));
            });
        }
        self.aliased.extend(self.called);
        let Self { leaves, findings, runs_stdin: reads_code, aliased, .. } = self;
        (CommandAnalysis { leaves, findings, runs_stdin: reads_code }, aliased)
    }

    /// Walks in a copy of the shell state, which is discarded afterwards.
    pub(crate) fn in_subshell<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.use_fuel(self.scope.copy_cost());
        let saved = self.scope.clone();
        self.subshell_depth += 1;
        let result = work(self);
        self.subshell_depth -= 1;
        self.scope = saved;
        result
    }

    /// Whether this is the shell that runs the command itself.
    pub(crate) fn is_outermost(&self) -> bool {
        self.subshell_depth == 0 && self.calls.is_empty()
    }

    /// Returns the output of a substitution.
    pub(crate) fn capture(&mut self, body: &ShellCommand, input: &TextStream) -> TextStream {
        if self.fuel == 0 {
            return TextStream::unknown();
        }
        self.in_subshell(|walk| walk.run(body, input))
    }

    /// Walks one command and returns its output.
    pub(crate) fn run(&mut self, command: &ShellCommand, input: &TextStream) -> TextStream {
        if self.depth >= MAX_WALK_DEPTH {
            self.add_finding(CommandFinding::ask(
                "too-complex",
                "The command is nested too deeply",
            ));
            return TextStream::unknown();
        }
        if self.fuel == 0 {
            return TextStream::unknown();
        }
        self.depth += 1;
        self.use_fuel(1);
        let output = self.run_kind(command, input);
        self.depth -= 1;
        output
    }

    fn run_kind(&mut self, command: &ShellCommand, input: &TextStream) -> TextStream {
        match command {
            ShellCommand::Simple(simple) => self.run_simple(simple, input),
            ShellCommand::Sequence(all) => {
                all.iter().fold(TextStream::text(""), |out, next| out.concat(self.run(next, input)))
            }
            ShellCommand::Pipeline(stages) => {
                let mut stream = input.clone();
                for stage in stages {
                    let taint = stream.taint;
                    stream = self.in_subshell(|walk| walk.run(stage, &stream));
                    stream.taint = stream.taint.with(taint);
                    stream.connected = true;
                }
                stream
            }
            ShellCommand::Background(inner) => self.in_subshell(|walk| walk.run(inner, input)),
            ShellCommand::Coproc(inner) => {
                let later = TextStream { connected: true, ..TextStream::unknown() };
                self.in_subshell(|walk| walk.run(inner, &later))
            }
            ShellCommand::Conditional(inner) => {
                self.use_fuel(self.scope.copy_cost());
                let before = self.scope.clone();
                let out = self.run(inner, input);
                self.scope.merge_uncertain(&before);
                TextStream { text: None, ..out }
            }
            ShellCommand::AndThen(inner) => {
                let before = self.scope.clone();
                let out = self.run(inner, input);
                let cwd = self.scope.cwd.clone();
                self.scope.merge_uncertain(&before);
                // Few scripts continue in another directory after a failure.
                self.scope.cwd = cwd;
                out
            }
            ShellCommand::Loop { condition, body } => self.run_loop(condition, body, input),
            ShellCommand::Subshell(inner, redirects) => {
                let stdin = self.group_redirects(redirects);
                self.in_subshell(|walk| walk.run(inner, stdin.as_ref().unwrap_or(input)))
            }
            ShellCommand::Compound { words, body, redirects } => {
                let words: Vec<ShellWord> =
                    words.iter().map(|word| self.expand_whole(word)).collect();
                self.evaluate_words(&words);
                let stdin = self.group_redirects(redirects);
                self.run(body, stdin.as_ref().unwrap_or(input))
            }
            ShellCommand::For { name, words, body, redirects } => {
                let stdin = self.group_redirects(redirects);
                self.run_for(name, words, body, stdin.as_ref().unwrap_or(input))
            }
            ShellCommand::Function { name, body } => {
                self.define_function(name, body);
                TextStream::text("")
            }
        }
    }

    #[inline(never)]
    fn run_loop(
        &mut self,
        condition: &ShellCommand,
        body: &ShellCommand,
        input: &TextStream,
    ) -> TextStream {
        if blocked_operations::spawns_endlessly(condition, body) {
            self.add_finding(CommandFinding::ask(
                "fork-bomb",
                "Starts processes in an endless loop",
            ));
        }
        if blocked_operations::writes_endlessly(condition, body) {
            self.add_finding(CommandFinding::ask(
                "disk-filling",
                "Writes to a file in an endless loop",
            ));
        }
        self.use_fuel(self.scope.copy_cost());
        let before = self.scope.clone();
        self.repeats += 1;
        let out = self.run(condition, input);
        let out = out.concat(self.run(body, input));
        self.repeats -= 1;
        self.scope.merge_uncertain(&before);
        TextStream { text: None, ..out }
    }

    fn run_for(
        &mut self,
        name: &str,
        words: &[RawWord],
        body: &ShellCommand,
        input: &TextStream,
    ) -> TextStream {
        let mut values = Vec::new();
        for word in words.iter().take(MAX_WORDS) {
            self.expand_into(word, &mut values);
        }
        let certain = values.iter().all(|word| word.known && !word.glob);
        let mut out = TextStream::text("");
        // A list that looks empty may not be.
        if certain && !values.is_empty() && values.len() <= MAX_LOOP_ROUNDS && self.loops < 2 {
            self.loops += 1;
            for value in &values {
                self.assign(name, ShellValue::from_word(value));
                out = out.concat(self.run(body, input));
            }
            self.loops -= 1;
        } else {
            let taint = values.iter().fold(TextTaint::default(), |all, word| all.with(word.taint));
            // Kept only if all values have the same shape.
            let shape_of = |word: &ShellWord| match word.known && is_below(word) {
                true => Some(FOUND_PATH_PLACEHOLDER.to_owned()),
                false => ShellValue::from_word(word).shape,
            };
            let mut shapes = values.iter().map(shape_of);
            let first = shapes.next().flatten();
            let shape = first.filter(|first| shapes.all(|s| s.as_ref() == Some(first)));
            let hints = values.into_iter().flat_map(|word| {
                if word.glob && word.known { vec![word.text] } else { word.hints }
            });
            let hints = hints.take(16).collect();
            self.assign(name, ShellValue { text: None, taint, hints, shape });
            self.use_fuel(self.scope.copy_cost());
            let before = self.scope.clone();
            out = self.run(body, input);
            self.scope.merge_uncertain(&before);
            out.text = None;
        }
        out
    }

    fn define_function(&mut self, name: &str, body: &Rc<ShellCommand>) {
        if blocked_operations::is_fork_bomb(name, body) {
            let reason = format!("The function {name} calls itself endlessly");
            self.add_finding(CommandFinding::block("fork-bomb", reason));
        }
        if programs::is_well_known(name) {
            let reason = format!("Redefines the command {name}");
            self.add_finding(CommandFinding::ask("shadowing", reason));
        }
        self.scope.define(name, body);
        self.defined.push((name.to_owned(), Rc::clone(body)));
    }

    /// Walks a function call; None for unknown arguments.
    pub(crate) fn call_function(
        &mut self,
        name: &str,
        body: &Rc<ShellCommand>,
        arguments: Option<Vec<ShellWord>>,
        input: &TextStream,
    ) -> TextStream {
        if self.calls.iter().any(|running| running == name) {
            return TextStream::unknown();
        }
        if self.calls.len() >= MAX_CALL_DEPTH {
            self.add_finding(CommandFinding::ask(
                "too-complex",
                "The command nests too many function calls",
            ));
            return TextStream::unknown();
        }
        self.calls.push(name.to_owned());
        let saved = std::mem::replace(&mut self.scope.positional, arguments);
        let out = self.run(body, input);
        self.scope.positional = saved;
        self.calls.pop();
        out
    }

    pub(crate) fn new_leaf(&self, text: &str) -> LeafCommand {
        LeafCommand {
            text: text.to_owned(),
            wrappers: self.wrappers.clone(),
            unwrapped_words: self.unwrapped_words.clone(),
            ..LeafCommand::default()
        }
    }

    fn run_simple(&mut self, simple: &SimpleCommand, input: &TextStream) -> TextStream {
        let mut leaf = self.new_leaf(&simple.text);
        let stdin = self.redirects(&simple.redirects, &mut leaf);
        let input = stdin.as_ref().unwrap_or(input);
        let words = self.expand_words(simple);
        let mut assigned = Vec::new();
        for assignment in &simple.assignments {
            if let [WordPart::Array(elements)] = &*assignment.value.parts {
                let words = self.expand_elements(elements);
                self.scope.set_array(&assignment.name, words, assignment.append);
                let name = self.scope.resolve_reference(&assignment.name);
                if let Some(finding) = programs::environment_override(name, &ShellWord::default()) {
                    leaf.add_finding(finding);
                }
                continue;
            }
            let mut value = self.expand_whole(&assignment.value);
            if assignment.append {
                let old = self.scope.parameter(&assignment.name, self.at);
                let old = old.unwrap_or_else(ShellValue::unknown);
                value.known &= old.text.is_some();
                value.named &= old.text.is_some();
                value.text.insert_str(0, old.text.as_deref().unwrap_or(""));
            }
            let plain = assignment.name.split('[').next().unwrap_or("");
            let name = self.scope.resolve_reference(plain);
            if let Some(finding) = programs::environment_override(name, &value) {
                leaf.add_finding(finding);
            }
            leaf.effects.extend(programs::proxy_effect(name, &value));
            assigned.push((assignment.name.as_str(), value));
        }
        let own_programs = self.scope.prefers_project_programs;
        for (name, value) in &assigned {
            self.scope.note_path_variable(name, value, self.at);
        }
        if words.is_empty() {
            for (name, value) in &assigned {
                let value = ShellValue::from_word(value);
                self.evaluate_assignment(name, &value);
                self.scope.set(name, value);
            }
            let substitutes = !simple.words.is_empty();
            if !substitutes {
                self.check_emptied(&simple.redirects);
            }
            if !simple.text.trim().is_empty() && !substitutes {
                leaf.reads_only = true;
                self.push_leaf(leaf);
            }
            // `$(<file)` expands to the content of the file.
            let shows = assigned.is_empty() && !substitutes;
            return stdin.filter(|_| shows).unwrap_or_else(|| TextStream::text(""));
        }
        let lent = self.scope.set_temporary(&assigned);
        let out = self.invoke(words, leaf, input);
        self.scope.restore(lent);
        if assigned.iter().any(|(name, _)| *name == "PATH") {
            self.scope.prefers_project_programs = own_programs;
        }
        self.remember(&simple.redirects, &out);
        if out.text.as_deref() == Some("") {
            self.check_emptied(&simple.redirects);
        }
        out
    }

    fn expand_elements(&mut self, elements: &[RawWord]) -> Vec<ShellWord> {
        let mut words = Vec::new();
        for element in elements.iter().take(MAX_WORDS) {
            self.evaluate_element(element);
            self.expand_into(element, &mut words);
        }
        words.truncate(MAX_WORDS);
        words
    }

    fn expand_words(&mut self, simple: &SimpleCommand) -> Vec<ShellWord> {
        const DECLARING_BUILTINS: &[&str] =
            &["export", "declare", "typeset", "local", "readonly", "alias"];
        let first = simple.words.first().and_then(RawWord::unquoted_text);
        let declares = first.is_some_and(|word| DECLARING_BUILTINS.contains(&word));
        let mut words = Vec::with_capacity(simple.words.len());
        for raw in &simple.words {
            let assigns = || matches!(raw.parts.first(), Some(WordPart::Text { text, .. }) if text.contains('='));
            if let ([WordPart::Text { text, .. }, WordPart::Array(elements)], true) =
                (&*raw.parts, declares)
            {
                let elements = self.expand_elements(elements);
                let name = text.trim_end_matches('=');
                self.scope.set_array(name.trim_end_matches('+'), elements, name.ends_with('+'));
                words.push(ShellWord::literal(name.trim_end_matches('+')));
            } else if declares && assigns() {
                words.push(self.expand_whole(raw));
            } else {
                self.expand_into(raw, &mut words);
            }
            if words.len() > MAX_WORDS || self.fuel == 0 {
                self.add_finding(CommandFinding::ask(
                    "too-complex",
                    "The command has too many words to analyze",
                ));
                words.truncate(MAX_WORDS);
                break;
            }
        }
        words
    }

    /// Adds a leaf.
    pub(crate) fn push_leaf(&mut self, mut leaf: LeafCommand) {
        if self.leaves.len() >= MAX_LEAVES {
            self.add_finding(CommandFinding::ask(
                "too-complex",
                "The command runs too many other commands to analyze",
            ));
            self.fuel = 0;
            return;
        }
        let execute = Effect {
            scope: Permission::TERMINAL_EXECUTE,
            resource: Resource::Command(leaf.text.clone()),
        };
        leaf.effects.insert(0, execute);
        if !leaf.program.is_empty() && leaf.wrappers.iter().any(|via| raises_privileges(via)) {
            let reason = format!("Runs {} as another user", leaf.program);
            leaf.add_finding(CommandFinding::ask("privilege", reason));
        }
        self.leaves.push(leaf);
    }
}

fn raises_privileges(via: &str) -> bool {
    matches!(via, "sudo" | "doas" | "su" | "pkexec" | "runuser" | "run0")
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
