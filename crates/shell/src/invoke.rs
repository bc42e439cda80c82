//! How a command by its words becomes leaves: functions and aliases, shells and
//! wrappers, and at last the program itself.

use std::path::Path;
use std::sync::Arc;

use crate::flow::{self, Stream};
use crate::leaf::{Finding, Leaf, Level, Taint, Word};
use crate::site::{Act, Inner, Site};
use crate::text::{looks_alike, program_name};
use crate::walk::Walk;
use crate::{programs, wrappers};

/// More commands inside one other are not looked at.
const MAX_INNER: usize = 32;

impl<'a> Walk<'a> {
    /// The surroundings of a leaf in this directory, with this input.
    pub(crate) fn site<'s>(&self, cwd: Option<&'s Path>, input: &'s Stream) -> Site<'s>
    where
        'a: 's,
    {
        let (hidden, in_code) = (self.scope.hidden, self.in_code);
        Site { at: self.at, cwd, input, hidden, in_code }
    }
}

impl Walk<'_> {
    /// Runs a command by its words.
    pub(crate) fn invoke(&mut self, words: Vec<Word>, mut leaf: Leaf, input: &Stream) -> Stream {
        let Some(first) = words.first() else { return Stream::unknown() };
        if !first.known || first.glob || first.text.is_empty() {
            return self.dynamic(words, leaf, input);
        }
        if let Some(body) = self.scope.function(&first.text).cloned() {
            let name = first.text.clone();
            self.called.insert(name.clone());
            let arguments = words.get(1..).unwrap_or(&[]).to_vec();
            let or_else = self.scope.doubt(&name).map(|other| (other, leaf.clone(), words.clone()));
            leaf.program.clone_from(&name);
            leaf.words = words.into();
            leaf.reads_only = true;
            self.push(leaf);
            let out = self.call(&name, &body, Some(arguments.clone()), input);
            return match or_else {
                None => out,
                Some((Some(old), ..)) => out.and(self.call(&name, &old, Some(arguments), input)),
                Some((None, leaf, words)) => out.and(self.execute(words, leaf, input)),
            };
        }
        if let Some((name, text)) = self.scope.take_alias(&first.text) {
            let rest: Vec<_> = words.iter().skip(1).map(|word| word.text.as_str()).collect();
            let source = format!("{text} {}", rest.join(" "));
            let out = self.source_with(&source, input);
            self.aliased.insert(name.clone());
            self.scope.alias(name, text);
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
            return self.dynamic(words, leaf, input);
        };
        self.spend(words.len());
        if self.fuel == 0 || self.via.len() > 12 {
            self.note(Finding::ask("too-complex", "The command is nested too deeply"));
            return Stream::unknown();
        }
        if looks_alike(&first.text) {
            let reason =
                format!("The program name “{}” is written with look-alike letters", first.text);
            leaf.find(Finding::ask("obfuscation", reason));
        }
        if let Some(place) = self.local_program(first) {
            return self.as_local(place, words.into(), leaf, input);
        }
        let (seen, _) = self.mark();
        let out = self.as_named(words.into(), leaf, input);
        if self.scope.own_programs {
            self.leaves_since(seen).for_each(programs::doubt_name);
        }
        out
    }

    /// Where a program is that is not installed.
    fn local_program(&self, first: &Word) -> Option<String> {
        if !first.text.contains('/') {
            return None;
        }
        let cwd = self.scope.cwd.clone();
        let input = Stream::unknown();
        let site = self.site(cwd.as_deref(), &input);
        programs::is_local(&site, first).then(|| match site.absolute(first) {
            Some(path) => path.to_string_lossy().into_owned(),
            None => first.text.clone(),
        })
    }

    /// Runs a program that anybody may have written and named like a known one.
    /// What the known one does is still looked at, since it may be a copy of it,
    /// but it is given nothing for its name.
    #[inline(never)]
    fn as_local(
        &mut self,
        place: String,
        words: Arc<[Word]>,
        leaf: Leaf,
        input: &Stream,
    ) -> Stream {
        let (seen, _) = self.mark();
        let out = self.apart(|walk| walk.as_named(words, leaf, input));
        self.leaves_since(seen).for_each(|leaf| programs::without_name(leaf, &place));
        Stream {
            text: None,
            shape: None,
            connected: true,
            taint: out.taint.with(Taint::COMPUTED),
            ..out
        }
    }

    /// Runs what is known by this name.
    fn as_named(&mut self, words: Arc<[Word]>, mut leaf: Leaf, input: &Stream) -> Stream {
        let program = words.first().map(|first| program_name(&first.text)).unwrap_or_default();
        leaf.program = program.as_ref().to_owned();
        leaf.words = Arc::clone(&words);
        if let Some(out) = self.builtin(&mut leaf, input) {
            return out;
        }
        if crate::shells::is_shell(&leaf.program) {
            return self.shell(leaf, input);
        }
        let cwd = self.scope.cwd.clone();
        let site = self.site(cwd.as_deref(), input);
        let peeled = wrappers::peel(&mut Act::of(&mut leaf, &site, &program, &words));
        if let Some(inner) = peeled {
            let plain = wrappers::folder(&leaf).is_none() && wrappers::given(&leaf).is_empty();
            return match plain {
                true => self.under(leaf, inner, input),
                false => self.under_given(leaf, inner, input),
            };
        }
        self.describe(leaf, &program, &words, input)
    }

    /// What runs next runs under this program.
    pub(crate) fn enter_via(&mut self, program: String, words: Arc<[Word]>) {
        self.via.push(program);
        self.outer.push(words);
    }

    /// The end of that.
    pub(crate) fn leave_via(&mut self) {
        self.via.pop();
        self.outer.pop();
    }

    /// Goes on with what a wrapper runs, in the folder and with the variables
    /// that it is given.
    #[inline(never)]
    fn under_given(&mut self, leaf: Leaf, inner: Inner, input: &Stream) -> Stream {
        let given = wrappers::given(&leaf);
        let given: Vec<_> =
            given.iter().map(|(name, word)| (name.as_str(), word.clone())).collect();
        let own_programs = self.scope.own_programs;
        for (name, value) in &given {
            self.scope.lead(name, value, self.at);
        }
        let lent = self.scope.lend(&given);
        let folder = wrappers::folder(&leaf);
        let cwd = self.scope.cwd.clone();
        if let Some(folder) = &folder {
            self.scope.enter(folder.known(), self.at);
        }
        let out = self.under(leaf, inner, input);
        if folder.is_some() {
            self.scope.cwd = cwd;
        }
        self.scope.take_back(lent);
        self.scope.own_programs = own_programs;
        out
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
                let taint = match next.program.as_str() {
                    "env" | "genv" => Taint::SECRET.with(Taint::COMPUTED),
                    _ => Taint::default(),
                };
                self.push(next);
                return Stream { taint, ..Stream::unknown() };
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
        let site = self.site(None, &nothing);
        let mut act = Act::bare(leaf, &site);
        if !act.tainted_code(word.taint) && !word.known {
            act.ask("dynamic-code", "Runs code that is only known when it runs");
        }
    }

    fn dynamic(&mut self, words: Vec<Word>, mut leaf: Leaf, input: &Stream) -> Stream {
        let first = words.first().cloned().unwrap_or_default();
        if first.known && first.glob && !self.guesses {
            let blocked = self.blocked_under_a_glob(&words, input);
            blocked.into_iter().for_each(|finding| leaf.find(finding));
        }
        self.code(&Word { known: true, ..first.clone() }, &mut leaf);
        let reason = format!("Which program “{}” is can only be known when it runs", first.text);
        leaf.find(Finding::ask("dynamic-program", reason));
        leaf.program = first.text;
        leaf.words = words.into();
        self.push(leaf);
        Stream { connected: true, ..Stream::unknown() }
    }

    /// What must not be, whichever of the programs that can do such things the
    /// glob names.
    fn blocked_under_a_glob(&mut self, words: &[Word], input: &Stream) -> Vec<Finding> {
        let Some((first, rest)) = words.split_first() else { return Vec::new() };
        let mut found = Vec::new();
        let could_be = |program: &&&str| programs::may_be_named(&first.text, program);
        for program in programs::CAN_BE_BLOCKED.iter().filter(could_be) {
            let words = std::iter::once(Word::literal(*program)).chain(rest.iter().cloned());
            let blank = self.new_leaf("");
            let (words, seen) = (words.collect(), self.mark());
            self.guesses = true;
            self.apart(|walk| walk.execute(words, blank, input));
            self.guesses = false;
            found.extend(self.undo_to(seen).filter(|finding| finding.level == Level::Block));
        }
        found
    }

    fn describe(
        &mut self,
        mut leaf: Leaf,
        program: &str,
        words: &Arc<[Word]>,
        input: &Stream,
    ) -> Stream {
        let cwd = self.scope.cwd.clone();
        let out = flow::output(program, words, input, cwd.as_deref());
        let site = self.site(cwd.as_deref(), input);
        let mut act = Act::of(&mut leaf, &site, program, words);
        programs::describe(&mut act);
        programs::describe_given(&mut act, self.scope.given());
        let mut followed = Vec::new();
        let mut weight = 0;
        if !self.added.is_empty() && programs::recipes::follows(program) {
            weight = self.added.values().flatten().map(String::len).sum();
            for (path, text) in &self.added {
                let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
                if programs::recipes::judge(&mut act, &name, text.as_deref()) {
                    followed.push(path.clone());
                }
            }
        }
        let inner = act.inner;
        self.spend(weight / 4);
        self.rewritten(&leaf, &out);
        if inner.is_empty() {
            self.push(leaf);
            return out;
        }
        if inner.len() > MAX_INNER {
            self.note(Finding::ask("too-complex", "The command runs too many others to analyse"));
        }
        let text = leaf.text.clone();
        for word in inner.iter().filter_map(|inner| match inner {
            Inner::Source(word) => Some(word),
            Inner::Words(_) => None,
        }) {
            self.code(word, &mut leaf);
        }
        self.push(leaf);
        // What a recipe runs may follow the same recipe again.
        let followed: Vec<_> =
            followed.into_iter().filter_map(|path| self.added.remove_entry(&path)).collect();
        self.enter_via(program.to_owned(), Arc::clone(words));
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
        self.added.extend(followed);
        out
    }
}
