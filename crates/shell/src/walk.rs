//! Walks through a script as a shell would, without running anything, and
//! collects a leaf for every simple command.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use hermes_core::{Effect, Resource, Scope as Permission, WorkingDir};

use crate::flow::Stream;
use crate::leaf::{Analysis, FOUND, Finding, Leaf, Taint, Word};
use crate::listing::is_below;
use crate::parse::{MAX_DEPTH, parse};
use crate::programs;
use crate::scope::{Scope, Value};
use crate::syntax::{Command, Part, Problem, Raw, Simple};
use crate::{SYNTAX_ERROR, blocks, second, sensitive};

/// More leaves than this are not looked at one by one.
const MAX_LEAVES: usize = 3000;
/// How long the source of one leaf is, more or less.
const LEAF_LENGTH: usize = 20;
/// The bound of all work together.
const FUEL: usize = 1_500_000;
/// How far walking may nest.
const MAX_WALK: u32 = 2 * MAX_DEPTH;
/// More words of one command are not looked at.
const MAX_WORDS: usize = 5000;
/// How many functions may call one another.
const MAX_CALLS: usize = 8;
/// A loop over more values is walked once.
const MAX_ROUNDS: usize = 8;

/// The state of the walk.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    pub(crate) at: &'a WorkingDir,
    pub(crate) scope: Scope,
    pub(crate) findings: Vec<Finding>,
    pub(crate) via: Vec<String>,
    pub(crate) outer: Vec<Arc<[Word]>>,
    leaves: Vec<Leaf>,
    defined: Vec<(String, Rc<Command>)>,
    pub(crate) called: HashSet<String>,
    calls: Vec<String>,
    depth: u32,
    loops: u32,
    /// How many loops are around that run nobody knows how often.
    pub(crate) repeats: u32,
    /// How many copies of the shell are around.
    copies: u32,
    /// What runs when the shell ends.
    pub(crate) traps: Vec<Word>,
    pub(crate) fuel: usize,
    /// Whether this is what a program would do that a glob may name.
    pub(crate) guesses: bool,
    /// Whether this is a text in a program, which may be a command.
    pub(crate) in_code: bool,
    /// What separates words where nothing else is said.
    pub(crate) blanks: Rc<str>,
    /// Aliases that were used.
    pub(crate) aliased: HashSet<String>,
    /// Files that were written, with what is in them.
    pub(crate) files: HashMap<PathBuf, Stream>,
    /// What was put into files, where that is known.
    pub(crate) added: BTreeMap<PathBuf, Option<String>>,
    /// Whether a shell runs what comes on the input of the whole.
    pub(crate) reads_code: bool,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(at: &'a WorkingDir) -> Self {
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
            repeats: 0,
            copies: 0,
            traps: Vec::new(),
            fuel: FUEL,
            guesses: false,
            in_code: false,
            blanks: " \t\n".into(),
            aliased: HashSet::new(),
            files: HashMap::new(),
            added: BTreeMap::new(),
            reads_code: false,
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
        if self.leaves.is_empty() {
            // They are large, and a vector that grows is copied again and again.
            self.leaves.reserve((source.len() / LEAF_LENGTH + 1).min(64));
        }
        match script.problem {
            Some(Problem::Syntax) if second::is_refused(source) => self.note(Finding::ask(
                SYNTAX_ERROR,
                "The command is not complete or not valid, and the shell refuses it",
            )),
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

    /// How much was found so far.
    pub(crate) fn mark(&self) -> (usize, usize) {
        (self.leaves.len(), self.findings.len())
    }

    /// The leaves that were added since.
    pub(crate) fn leaves_since(&mut self, seen: usize) -> impl Iterator<Item = &mut Leaf> {
        self.leaves.iter_mut().skip(seen)
    }

    /// Takes back all that was added since; its findings come back.
    pub(crate) fn undo_to(
        &mut self,
        mark: (usize, usize),
    ) -> impl Iterator<Item = Finding> + use<> {
        let leaves = self.leaves.split_off(mark.0.min(self.leaves.len()));
        let own = self.findings.split_off(mark.1.min(self.findings.len()));
        own.into_iter().chain(leaves.into_iter().flat_map(|leaf| leaf.findings))
    }

    /// What was done so far is done; what it left in the shell stays.
    pub(crate) fn settle(&mut self) {
        self.leaves.clear();
        self.findings.clear();
        self.defined.clear();
        self.called.clear();
        self.aliased.clear();
        self.traps.clear();
        self.reads_code = false;
        self.fuel = FUEL;
    }

    /// The end: functions that nobody called, and what only shows over several
    /// leaves.
    pub(crate) fn finish(mut self, source: &str) -> (Analysis, HashSet<String>) {
        for code in std::mem::take(&mut self.traps) {
            self.enter_via("trap".to_owned(), [code.clone()].into());
            self.nested_source(&code, &Stream::unknown());
            self.leave_via();
        }
        for (name, body) in std::mem::take(&mut self.defined) {
            if self.called.insert(name.clone()) {
                self.call(&name, &body, None, &Stream::unknown());
            }
        }
        programs::over_several(&mut self.leaves, self.at.cwd());
        let blind = self.leaves.iter_mut().filter(|leaf| leaf.reads_blindly);
        let mut blind = blind.peekable();
        if blind.peek().is_some() && sensitive::mentioned(source) {
            blind.for_each(|leaf| {
                leaf.find(Finding::ask(
                    "secret-path",
                    "Reads a file that is only known when it runs, and the command names a secret",
                ));
            });
        }
        self.aliased.extend(self.called);
        let Self { leaves, findings, reads_code, aliased, .. } = self;
        (Analysis { leaves, findings, reads_code }, aliased)
    }

    /// Walks in a copy of the shell, which is forgotten afterwards.
    pub(crate) fn apart<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.spend(self.scope.weight());
        let saved = self.scope.clone();
        self.copies += 1;
        let result = work(self);
        self.copies -= 1;
        self.scope = saved;
        result
    }

    /// Whether this is the shell that the command itself runs in.
    pub(crate) fn is_outermost(&self) -> bool {
        self.copies == 0 && self.calls.is_empty()
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
            Command::Coproc(inner) => {
                let later = Stream { connected: true, ..Stream::unknown() };
                self.apart(|walk| walk.run(inner, &later))
            }
            Command::Maybe(inner) => {
                self.spend(self.scope.weight());
                let before = self.scope.clone();
                let out = self.run(inner, input);
                self.scope.blur(&before);
                Stream { text: None, ..out }
            }
            Command::Then(inner) => {
                let before = self.scope.clone();
                let out = self.run(inner, input);
                let cwd = self.scope.cwd.clone();
                self.scope.blur(&before);
                // Hardly anybody goes on elsewhere if it has not.
                self.scope.cwd = cwd;
                out
            }
            Command::Loop { condition, body } => self.repeat(condition, body, input),
            Command::Subshell(inner, redirects) => {
                let stdin = self.group_redirects(redirects);
                self.apart(|walk| walk.run(inner, stdin.as_ref().unwrap_or(input)))
            }
            Command::Compound { words, body, redirects } => {
                let words: Vec<Word> = words.iter().map(|word| self.expand_whole(word)).collect();
                self.computed_words(&words);
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

    #[inline(never)]
    fn repeat(&mut self, condition: &Command, body: &Command, input: &Stream) -> Stream {
        if blocks::multiplies(condition, body) {
            self.note(Finding::ask("fork-bomb", "Starts processes without end"));
        }
        if blocks::piles_up(condition, body) {
            self.note(Finding::ask("disk-filling", "Writes to a file without end"));
        }
        self.spend(self.scope.weight());
        let before = self.scope.clone();
        self.repeats += 1;
        let out = self.run(condition, input);
        let out = out.and(self.run(body, input));
        self.repeats -= 1;
        self.scope.blur(&before);
        Stream { text: None, ..out }
    }

    fn loop_over(&mut self, name: &str, words: &[Raw], body: &Command, input: &Stream) -> Stream {
        let mut values = Vec::new();
        for word in words.iter().take(MAX_WORDS) {
            self.expand_into(word, &mut values);
        }
        let certain = values.iter().all(|word| word.known && !word.glob);
        let mut out = Stream::text("");
        // What seems to be nothing may still be something.
        if certain && !values.is_empty() && values.len() <= MAX_ROUNDS && self.loops < 2 {
            self.loops += 1;
            for value in &values {
                self.assign(name, Value::of(value));
                out = out.and(self.run(body, input));
            }
            self.loops -= 1;
        } else {
            let taint = values.iter().fold(Taint::default(), |all, word| all.with(word.taint));
            // Each of them is the same in this respect, or nothing is known.
            let shape_of = |word: &Word| match word.known && is_below(word) {
                true => Some(FOUND.to_owned()),
                false => Value::of(word).shape,
            };
            let mut shapes = values.iter().map(shape_of);
            let first = shapes.next().flatten();
            let shape = first.filter(|first| shapes.all(|s| s.as_ref() == Some(first)));
            let hints = values.into_iter().flat_map(|word| {
                if word.glob && word.known { vec![word.text] } else { word.hints }
            });
            let hints = hints.take(16).collect();
            self.assign(name, Value { text: None, taint, hints, shape });
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
        self.scope.define(name, body);
        self.defined.push((name.to_owned(), Rc::clone(body)));
    }

    /// Calls a function; with None for arguments that nobody knows.
    pub(crate) fn call(
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
            if let [Part::Array(elements)] = &*assignment.value.parts {
                let words = self.elements(elements);
                self.scope.set_array(&assignment.name, words, assignment.append);
                let name = self.scope.referred(&assignment.name);
                if let Some(finding) = programs::environment_override(name, &Word::default()) {
                    leaf.find(finding);
                }
                continue;
            }
            let mut value = self.expand_whole(&assignment.value);
            if assignment.append {
                let old = self.scope.parameter(&assignment.name, self.at);
                let old = old.unwrap_or_else(Value::unknown);
                value.known &= old.text.is_some();
                value.named &= old.text.is_some();
                value.text.insert_str(0, old.text.as_deref().unwrap_or(""));
            }
            let plain = assignment.name.split('[').next().unwrap_or("");
            let name = self.scope.referred(plain);
            if let Some(finding) = programs::environment_override(name, &value) {
                leaf.find(finding);
            }
            leaf.effects.extend(programs::proxy_effect(name, &value));
            assigned.push((assignment.name.as_str(), value));
        }
        let own_programs = self.scope.own_programs;
        for (name, value) in &assigned {
            self.scope.lead(name, value, self.at);
        }
        if words.is_empty() {
            for (name, value) in &assigned {
                let value = Value::of(value);
                self.computed_for(name, &value);
                self.scope.set(name, value);
            }
            let substitutes = !simple.words.is_empty();
            if !substitutes {
                self.emptied(&simple.redirects);
            }
            if !simple.text.trim().is_empty() && !substitutes {
                leaf.reads_only = true;
                self.push(leaf);
            }
            // `$(<file)` is what is in the file.
            let shows = assigned.is_empty() && !substitutes;
            return stdin.filter(|_| shows).unwrap_or_else(|| Stream::text(""));
        }
        let lent = self.scope.lend(&assigned);
        let out = self.invoke(words, leaf, input);
        self.scope.take_back(lent);
        if assigned.iter().any(|(name, _)| *name == "PATH") {
            self.scope.own_programs = own_programs;
        }
        self.remember(&simple.redirects, &out);
        if out.text.as_deref() == Some("") {
            self.emptied(&simple.redirects);
        }
        out
    }

    fn elements(&mut self, elements: &[Raw]) -> Vec<Word> {
        let mut words = Vec::new();
        for element in elements.iter().take(MAX_WORDS) {
            self.computed_element(element);
            self.expand_into(element, &mut words);
        }
        words.truncate(MAX_WORDS);
        words
    }

    fn words(&mut self, simple: &Simple) -> Vec<Word> {
        const DECLARING: &[&str] = &["export", "declare", "typeset", "local", "readonly", "alias"];
        let first = simple.words.first().and_then(Raw::bare);
        let declares = first.is_some_and(|word| DECLARING.contains(&word));
        let mut words = Vec::with_capacity(simple.words.len());
        for raw in &simple.words {
            let assigns =
                || matches!(raw.parts.first(), Some(Part::Text { text, .. }) if text.contains('='));
            if let ([Part::Text { text, .. }, Part::Array(elements)], true) =
                (&*raw.parts, declares)
            {
                let elements = self.elements(elements);
                let name = text.trim_end_matches('=');
                self.scope.set_array(name.trim_end_matches('+'), elements, name.ends_with('+'));
                words.push(Word::literal(name.trim_end_matches('+')));
            } else if declares && assigns() {
                words.push(self.expand_whole(raw));
            } else {
                self.expand_into(raw, &mut words);
            }
            if words.len() > MAX_WORDS || self.fuel == 0 {
                self.note(Finding::ask("too-complex", "The command has too many words to analyse"));
                words.truncate(MAX_WORDS);
                break;
            }
        }
        words
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
        if !leaf.program.is_empty() && leaf.via.iter().any(|via| raises(via)) {
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
