//! Walks through a script as a shell would, without running anything, and
//! collects a leaf for every simple command.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use hermes_core::{Effect, Resource, Scope as Permission, Workplace};

use crate::flow::{self, Stream};
use crate::leaf::{Analysis, Finding, Leaf, Taint, Word};
use crate::parse::{MAX_DEPTH, parse};
use crate::programs;
use crate::scope::{Scope, Value};
use crate::site::{Act, Inner, Site};
use crate::syntax::{Command, Part, Problem, Raw, Simple};
use crate::text::{looks_alike, program_name};
use crate::{blocks, wrappers};

/// More leaves than this are not looked at one by one.
const MAX_LEAVES: usize = 3000;
/// The bound of all work together.
const FUEL: usize = 1_500_000;
/// How far walking may nest.
const MAX_WALK: u32 = 2 * MAX_DEPTH;
/// More words of one command are not looked at.
const MAX_WORDS: usize = 5000;
/// More commands inside one other are not looked at.
const MAX_INNER: usize = 32;
/// How many functions may call one another.
const MAX_CALLS: usize = 8;
/// A loop over more values is walked once.
const MAX_ROUNDS: usize = 8;

/// The state of the walk.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    pub(crate) at: &'a Workplace,
    pub(crate) scope: Scope,
    pub(crate) findings: Vec<Finding>,
    pub(crate) via: Vec<String>,
    outer: Vec<Arc<[Word]>>,
    leaves: Vec<Leaf>,
    defined: Vec<(String, Rc<Command>)>,
    called: HashSet<String>,
    calls: Vec<String>,
    depth: u32,
    loops: u32,
    fuel: usize,
    /// Aliases that were used.
    aliased: HashSet<String>,
    /// Files that were written, with what is in them.
    pub(crate) files: HashMap<PathBuf, Stream>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(at: &'a Workplace) -> Self {
        Walk {
            at,
            scope: Scope::new(at),
            findings: Vec::new(),
            via: Vec::new(),
            outer: Vec::new(),
            leaves: Vec::new(),
            defined: Vec::new(),
            called: HashSet::new(),
            calls: Vec::new(),
            depth: 0,
            loops: 0,
            fuel: FUEL,
            aliased: HashSet::new(),
            files: HashMap::new(),
        }
    }

    /// Uses up some of the work that is allowed.
    pub(crate) fn spend(&mut self, amount: usize) {
        self.fuel = self.fuel.saturating_sub(amount);
        if self.fuel == 0 {
            self.note(Finding::ask("too-complex", "The command is too complex to analyse"));
        }
    }

    pub(crate) fn note(&mut self, finding: Finding) {
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Walks through shell source in the present scope.
    pub(crate) fn source(&mut self, source: &str) -> Stream {
        self.source_with(source, &Stream::unknown())
    }

    /// The same with something on its input.
    pub(crate) fn source_with(&mut self, source: &str, input: &Stream) -> Stream {
        self.spend(source.len() / 2 + 1);
        if self.fuel == 0 {
            return Stream::unknown();
        }
        let script = parse(source, self.depth / 2);
        match script.problem {
            Some(Problem::Syntax) => self.note(Finding::ask(
                "unparsable",
                "The command is not valid shell, so it cannot be told what it does",
            )),
            Some(Problem::TooComplex) => {
                self.note(Finding::ask("too-complex", "The command is too complex to analyse"));
            }
            None => {}
        }
        self.run(&script.body, input)
    }

    /// The end: functions that nobody called, and what only shows over several
    /// leaves.
    pub(crate) fn finish(mut self) -> (Analysis, HashSet<String>) {
        for (name, body) in std::mem::take(&mut self.defined) {
            if self.called.insert(name.clone()) {
                self.call(&name, &body, None, &Stream::unknown());
            }
        }
        programs::over_several(&mut self.leaves);
        (Analysis { leaves: self.leaves, findings: self.findings }, self.aliased)
    }

    /// Walks in a copy of the shell, which is forgotten afterwards.
    pub(crate) fn apart<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.spend(self.scope.weight());
        let saved = self.scope.clone();
        let result = work(self);
        self.scope = saved;
        result
    }

    /// What a substitution prints.
    pub(crate) fn capture(&mut self, body: &Command, input: &Stream) -> Stream {
        if self.fuel == 0 {
            return Stream::unknown();
        }
        self.apart(|walk| walk.run(body, input))
    }

    /// Walks through one command; the result is what it prints.
    pub(crate) fn run(&mut self, command: &Command, input: &Stream) -> Stream {
        if self.depth >= MAX_WALK {
            self.note(Finding::ask("too-complex", "The command is nested too deeply"));
            return Stream::unknown();
        }
        if self.fuel == 0 {
            return Stream::unknown();
        }
        self.depth += 1;
        self.spend(1);
        let output = self.step(command, input);
        self.depth -= 1;
        output
    }

    fn step(&mut self, command: &Command, input: &Stream) -> Stream {
        match command {
            Command::Simple(simple) => self.simple(simple, input),
            Command::Sequence(all) => {
                all.iter().fold(Stream::text(""), |out, next| out.and(self.run(next, input)))
            }
            Command::Pipeline(stages) => {
                let mut stream = input.clone();
                for stage in stages {
                    let taint = stream.taint;
                    stream = self.apart(|walk| walk.run(stage, &stream));
                    stream.taint = stream.taint.with(taint);
                    stream.connected = true;
                }
                stream
            }
            Command::Background(inner) => self.apart(|walk| walk.run(inner, input)),
            Command::Maybe(inner) => {
                self.spend(self.scope.weight());
                let before = self.scope.clone();
                let out = self.run(inner, input);
                self.scope.blur(&before);
                Stream { text: None, ..out }
            }
            Command::Subshell(inner, redirects) => {
                let stdin = self.group_redirects(redirects);
                self.apart(|walk| walk.run(inner, stdin.as_ref().unwrap_or(input)))
            }
            Command::Compound { words, body, redirects } => {
                for word in words {
                    let word = self.expand_whole(word);
                    self.evaluated_index(&word);
                }
                let stdin = self.group_redirects(redirects);
                self.run(body, stdin.as_ref().unwrap_or(input))
            }
            Command::For { name, words, body, redirects } => {
                let stdin = self.group_redirects(redirects);
                self.loop_over(name, words, body, stdin.as_ref().unwrap_or(input))
            }
            Command::Function { name, body } => {
                self.define(name, body);
                Stream::text("")
            }
        }
    }

    fn loop_over(&mut self, name: &str, words: &[Raw], body: &Command, input: &Stream) -> Stream {
        let mut values = Vec::new();
        for word in words.iter().take(MAX_WORDS) {
            values.extend(self.expand(word));
        }
        let certain = values.iter().all(|word| word.known && !word.glob);
        let mut out = Stream::text("");
        // What seems to be nothing may still be something.
        if certain && !values.is_empty() && values.len() <= MAX_ROUNDS && self.loops < 2 {
            self.loops += 1;
            for value in &values {
                self.scope.set(name, Value::of(value));
                out = out.and(self.run(body, input));
            }
            self.loops -= 1;
        } else {
            let taint = values.iter().fold(Taint::default(), |all, word| all.with(word.taint));
            let hints = values.into_iter().flat_map(|word| {
                if word.glob && word.known { vec![word.text] } else { word.hints }
            });
            let hints = hints.take(16).collect();
            self.scope.set(name, Value { text: None, taint, hints });
            self.spend(self.scope.weight());
            let before = self.scope.clone();
            out = self.run(body, input);
            self.scope.blur(&before);
            out.text = None;
        }
        out
    }

    fn define(&mut self, name: &str, body: &Rc<Command>) {
        if blocks::is_fork_bomb(name, body) {
            let reason = format!("The function {name} starts itself again and again");
            self.note(Finding::block("fork-bomb", reason));
        }
        if programs::is_well_known(name) {
            let reason = format!("Gives the command {name} another meaning");
            self.note(Finding::ask("shadowing", reason));
        }
        self.scope.functions.insert(name.to_owned(), Rc::clone(body));
        self.defined.push((name.to_owned(), Rc::clone(body)));
    }

    /// Calls a function; with None for arguments that nobody knows.
    fn call(
        &mut self,
        name: &str,
        body: &Rc<Command>,
        arguments: Option<Vec<Word>>,
        input: &Stream,
    ) -> Stream {
        if self.calls.iter().any(|running| running == name) {
            return Stream::unknown();
        }
        if self.calls.len() >= MAX_CALLS {
            self.note(Finding::ask("too-complex", "The command calls too many functions"));
            return Stream::unknown();
        }
        self.calls.push(name.to_owned());
        let saved = std::mem::replace(&mut self.scope.positional, arguments);
        let out = self.run(body, input);
        self.scope.positional = saved;
        self.calls.pop();
        out
    }

    pub(crate) fn new_leaf(&self, text: &str) -> Leaf {
        Leaf {
            text: text.to_owned(),
            via: self.via.clone(),
            outer: self.outer.clone(),
            ..Leaf::default()
        }
    }

    fn simple(&mut self, simple: &Simple, input: &Stream) -> Stream {
        let mut leaf = self.new_leaf(&simple.text);
        let stdin = self.redirects(&simple.redirects, &mut leaf);
        let input = stdin.as_ref().unwrap_or(input);
        let words = self.words(simple);
        let mut assigned = Vec::new();
        for assignment in &simple.assignments {
            if let [Part::Array(elements)] = assignment.value.parts.as_slice() {
                let words = self.elements(elements);
                self.scope.set_array(&assignment.name, words, assignment.append);
                continue;
            }
            let mut value = self.expand_whole(&assignment.value);
            if assignment.append {
                let old = self.scope.parameter(&assignment.name, self.at);
                let old = old.unwrap_or_else(Value::unknown);
                value.known &= old.text.is_some();
                value.text.insert_str(0, old.text.as_deref().unwrap_or(""));
            }
            if let Some(finding) = programs::environment_override(&assignment.name, &value) {
                leaf.find(finding);
            }
            leaf.effects.extend(programs::proxy_effect(&assignment.name, &value));
            assigned.push((assignment.name.as_str(), value));
        }
        if words.is_empty() {
            for (name, value) in &assigned {
                self.scope.set(name, Value::of(value));
            }
            let substitutes = !simple.words.is_empty();
            if !simple.text.trim().is_empty() && !substitutes {
                leaf.reads_only = true;
                self.push(leaf);
            }
            return Stream::text("");
        }
        let out = self.invoke(words, leaf, input);
        self.remember(&simple.redirects, &out);
        out
    }

    fn elements(&mut self, elements: &[Raw]) -> Vec<Word> {
        let mut words = Vec::new();
        for element in elements.iter().take(MAX_WORDS) {
            words.extend(self.expand(element));
        }
        words.truncate(MAX_WORDS);
        words
    }

    /// An index in brackets is computed, and so run, wherever it is written.
    pub(crate) fn evaluated_index(&mut self, word: &Word) {
        if word.text.contains("[$(") || word.text.contains("[`") {
            let text = word.text.clone();
            self.evaluated(&text);
        }
    }

    fn words(&mut self, simple: &Simple) -> Vec<Word> {
        const DECLARING: &[&str] = &["export", "declare", "typeset", "local", "readonly", "alias"];
        let first = simple.words.first().and_then(Raw::bare);
        let declares = first.is_some_and(|word| DECLARING.contains(&word));
        let mut words = Vec::new();
        for raw in &simple.words {
            let assigns =
                matches!(raw.parts.first(), Some(Part::Text { text, .. }) if text.contains('='));
            if let ([Part::Text { text, .. }, Part::Array(elements)], true) =
                (raw.parts.as_slice(), declares)
            {
                let elements = self.elements(elements);
                let name = text.trim_end_matches('=');
                self.scope.set_array(name.trim_end_matches('+'), elements, name.ends_with('+'));
                words.push(Word::literal(name.trim_end_matches('+')));
            } else if declares && assigns {
                words.push(self.expand_whole(raw));
            } else {
                words.extend(self.expand(raw));
            }
            if words.len() > MAX_WORDS || self.fuel == 0 {
                self.note(Finding::ask("too-complex", "The command has too many words to analyse"));
                words.truncate(MAX_WORDS);
                break;
            }
        }
        words
    }

    /// Runs a command by its words.
    pub(crate) fn invoke(&mut self, words: Vec<Word>, mut leaf: Leaf, input: &Stream) -> Stream {
        let Some(first) = words.first() else { return Stream::unknown() };
        if !first.known || first.glob || first.text.is_empty() {
            return self.dynamic(words, leaf);
        }
        let name = first.text.clone();
        if let Some(body) = self.scope.functions.get(&name).cloned() {
            self.called.insert(name.clone());
            let arguments = words.get(1..).unwrap_or(&[]).to_vec();
            leaf.program.clone_from(&name);
            leaf.words = words;
            leaf.reads_only = true;
            self.push(leaf);
            return self.call(&name, &body, Some(arguments), input);
        }
        if let Some(text) = self.scope.aliases.remove(&name) {
            let rest: Vec<_> = words.iter().skip(1).map(|word| word.text.as_str()).collect();
            let source = format!("{text} {}", rest.join(" "));
            let out = self.source_with(&source, input);
            self.aliased.insert(name.clone());
            self.scope.aliases.insert(name, text);
            return out;
        }
        self.execute(words, leaf, input)
    }

    /// Runs a program or a builtin, whatever functions and aliases there are.
    fn execute(&mut self, mut words: Vec<Word>, mut leaf: Leaf, input: &Stream) -> Stream {
        self.recall(&mut words);
        let Some(first) =
            words.first().filter(|first| first.known && !first.glob && !first.text.is_empty())
        else {
            return self.dynamic(words, leaf);
        };
        self.spend(words.len());
        if self.fuel == 0 || self.via.len() > 12 {
            self.note(Finding::ask("too-complex", "The command is nested too deeply"));
            return Stream::unknown();
        }
        leaf.program = program_name(&first.text);
        if looks_alike(&first.text) {
            let reason =
                format!("The program name “{}” is written with look-alike letters", first.text);
            leaf.find(Finding::ask("obfuscation", reason));
        }
        leaf.words = words;
        if let Some(out) = self.builtin(&mut leaf, input) {
            return out;
        }
        if crate::shells::is_shell(&leaf.program) {
            return self.shell(leaf, input);
        }
        let cwd = self.scope.cwd.clone();
        let site = Site { at: self.at, cwd: cwd.as_deref(), input };
        let peeled = wrappers::peel(&mut Act { leaf: &mut leaf, site: &site, inner: Vec::new() });
        if let Some(inner) = peeled {
            return self.under(leaf, inner, input);
        }
        self.describe(leaf, input)
    }

    /// What runs next runs under this program.
    pub(crate) fn enter_via(&mut self, program: String, words: Vec<Word>) {
        self.via.push(program);
        self.outer.push(words.into());
    }

    /// The end of that.
    pub(crate) fn leave_via(&mut self) {
        self.via.pop();
        self.outer.pop();
    }

    /// Goes on with what a wrapper runs; the wrapper itself is no leaf.
    fn under(&mut self, leaf: Leaf, inner: Inner, input: &Stream) -> Stream {
        let name = leaf.program.clone();
        let outer = leaf.words.clone();
        self.enter_via(name, outer);
        let mut next = self.new_leaf(&leaf.text);
        next.effects = leaf.effects;
        next.findings = leaf.findings;
        let out = match inner {
            Inner::Words(words) if words.is_empty() => {
                next.program = leaf.program;
                next.words = leaf.words;
                next.reads_only = leaf.reads_only;
                self.leave_via();
                next.via.pop();
                next.outer.pop();
                self.push(next);
                return Stream::unknown();
            }
            // Only the shell itself knows functions and aliases.
            Inner::Words(words) => self.execute(words, next, input),
            Inner::Source(word) => {
                next.program = leaf.program;
                next.words = leaf.words;
                next.via.pop();
                next.outer.pop();
                self.code(&word, &mut next);
                self.push(next);
                self.nested_source(&word, input)
            }
        };
        self.leave_via();
        out
    }

    /// Walks through source that a program is given, in a shell of its own.
    pub(crate) fn nested_source(&mut self, word: &Word, input: &Stream) -> Stream {
        if !word.known && word.text.contains('…') {
            return Stream::unknown();
        }
        self.apart(|walk| walk.source_with(&word.text, input))
    }

    /// Findings about code that is not known before it runs.
    pub(crate) fn code(&mut self, word: &Word, leaf: &mut Leaf) {
        let nothing = Stream::unknown();
        let site = Site { at: self.at, cwd: None, input: &nothing };
        let mut act = Act { leaf, site: &site, inner: Vec::new() };
        if !act.tainted_code(word.taint) && !word.known {
            act.ask("dynamic-code", "Runs code that is only known when it runs");
        }
    }

    fn dynamic(&mut self, words: Vec<Word>, mut leaf: Leaf) -> Stream {
        let first = words.first().cloned().unwrap_or_default();
        self.code(&Word { known: true, ..first.clone() }, &mut leaf);
        let reason = format!("Which program “{}” is can only be known when it runs", first.text);
        leaf.find(Finding::ask("dynamic-program", reason));
        leaf.program = first.text;
        leaf.words = words;
        self.push(leaf);
        Stream { connected: true, ..Stream::unknown() }
    }

    fn describe(&mut self, mut leaf: Leaf, input: &Stream) -> Stream {
        let cwd = self.scope.cwd.clone();
        let out = flow::output(&leaf.program, &leaf.words, input, cwd.as_deref());
        let site = Site { at: self.at, cwd: cwd.as_deref(), input };
        let mut act = Act { leaf: &mut leaf, site: &site, inner: Vec::new() };
        programs::describe(&mut act);
        let inner = act.inner;
        if inner.is_empty() {
            self.push(leaf);
            return out;
        }
        if inner.len() > MAX_INNER {
            self.note(Finding::ask("too-complex", "The command runs too many others to analyse"));
        }
        let name = leaf.program.clone();
        let words = leaf.words.clone();
        let text = leaf.text.clone();
        for word in inner.iter().filter_map(|inner| match inner {
            Inner::Source(word) => Some(word),
            Inner::Words(_) => None,
        }) {
            self.code(word, &mut leaf);
        }
        self.push(leaf);
        self.enter_via(name, words);
        for next in inner.into_iter().take(MAX_INNER) {
            match next {
                Inner::Words(words) => {
                    let leaf = self.new_leaf(&text);
                    self.apart(|walk| walk.execute(words, leaf, input));
                }
                Inner::Source(word) => {
                    self.nested_source(&word, input);
                }
            }
        }
        self.leave_via();
        out
    }

    /// Adds a leaf.
    pub(crate) fn push(&mut self, mut leaf: Leaf) {
        if self.leaves.len() >= MAX_LEAVES {
            self.note(Finding::ask("too-complex", "The command runs too many others to analyse"));
            self.fuel = 0;
            return;
        }
        let execute = Effect {
            scope: Permission::TERMINAL_EXECUTE,
            resource: Resource::Command(leaf.text.clone()),
        };
        leaf.effects.insert(0, execute);
        if !leaf.program.is_empty()
            && !leaf.is_read_only()
            && leaf.via.iter().any(|via| raises(via))
        {
            let reason = format!("Runs {} as another user", leaf.program);
            leaf.find(Finding::ask("privilege", reason));
        }
        self.leaves.push(leaf);
    }
}

fn raises(via: &str) -> bool {
    matches!(via, "sudo" | "doas" | "su" | "pkexec" | "runuser" | "run0")
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
