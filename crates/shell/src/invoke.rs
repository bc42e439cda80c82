//! Resolves a command's words to leaves: functions and aliases, shells and
//! wrappers, and finally the program itself.

use std::path::Path;
use std::sync::Arc;

use crate::eval_context::{EffectBuilder, EvalContext, InnerCommand};
use crate::leaf::{CommandFinding, FindingLevel, LeafCommand, ShellWord, TextTaint};
use crate::text::{has_lookalike_letters, program_name};
use crate::text_stream::{self, TextStream};
use crate::walk::ShellWalk;
use crate::{programs, wrappers};

/// Maximum number of inner commands analyzed per command.
const MAX_INNER_COMMANDS: usize = 32;

impl<'a> ShellWalk<'a> {
    /// The context of a leaf in this directory, with this input.
    pub(crate) fn eval_context<'s>(
        &self,
        cwd: Option<&'s Path>,
        input: &'s TextStream,
    ) -> EvalContext<'s>
    where
        'a: 's,
    {
        let (hidden, in_code) = (self.scope.dotglob, self.in_code);
        EvalContext { at: self.at, cwd, input, dotglob: hidden, in_code }
    }
}

impl ShellWalk<'_> {
    /// Runs a command given as words.
    pub(crate) fn invoke(
        &mut self,
        words: Vec<ShellWord>,
        mut leaf: LeafCommand,
        input: &TextStream,
    ) -> TextStream {
        let Some(first) = words.first() else { return TextStream::unknown() };
        if !first.known || first.glob || first.text.is_empty() {
            return self.invoke_dynamic(words, leaf, input);
        }
        if let Some(body) = self.scope.function(&first.text).cloned() {
            let name = first.text.clone();
            self.called.insert(name.clone());
            let arguments = words.get(1..).unwrap_or(&[]).to_vec();
            let or_else = self
                .scope
                .uncertain_function(&name)
                .map(|other| (other, leaf.clone(), words.clone()));
            leaf.program.clone_from(&name);
            leaf.words = words.into();
            leaf.reads_only = true;
            self.push_leaf(leaf);
            let out = self.call_function(&name, &body, Some(arguments.clone()), input);
            return match or_else {
                None => out,
                Some((Some(old), ..)) => {
                    out.concat(self.call_function(&name, &old, Some(arguments), input))
                }
                Some((None, leaf, words)) => out.concat(self.execute(words, leaf, input)),
            };
        }
        if let Some((name, text)) = self.scope.take_alias(&first.text) {
            let rest: Vec<_> = words.iter().skip(1).map(|word| word.text.as_str()).collect();
            let source = format!("{text} {}", rest.join(" "));
            let out = self.walk_source_with(&source, input);
            self.aliased.insert(name.clone());
            self.scope.set_alias(name, text);
            return out;
        }
        self.execute(words, leaf, input)
    }

    /// Runs a program or builtin, bypassing functions and aliases.
    fn execute(
        &mut self,
        mut words: Vec<ShellWord>,
        mut leaf: LeafCommand,
        input: &TextStream,
    ) -> TextStream {
        self.fill_contents(&mut words);
        let Some(first) =
            words.first().filter(|first| first.known && !first.glob && !first.text.is_empty())
        else {
            return self.invoke_dynamic(words, leaf, input);
        };
        self.use_fuel(words.len());
        if self.fuel == 0 || self.wrappers.len() > 12 {
            self.add_finding(CommandFinding::ask(
                "too-complex",
                "The command is nested too deeply",
            ));
            return TextStream::unknown();
        }
        if has_lookalike_letters(&first.text) {
            let reason = format!("The program name “{}” contains look-alike letters", first.text);
            leaf.add_finding(CommandFinding::ask("obfuscation", reason));
        }
        if let Some(place) = self.local_program(first) {
            return self.invoke_local(place, words.into(), leaf, input);
        }
        let (seen, _) = self.checkpoint();
        let out = self.invoke_named(words.into(), leaf, input);
        if self.scope.prefers_project_programs {
            self.leaves_since(seen).for_each(programs::check_shadowing);
        }
        out
    }

    /// The path of a program that is not an installed one.
    fn local_program(&self, first: &ShellWord) -> Option<String> {
        if !first.text.contains('/') {
            return None;
        }
        let cwd = self.scope.cwd.clone();
        let input = TextStream::unknown();
        let site = self.eval_context(cwd.as_deref(), &input);
        programs::is_local(&site, first).then(|| match site.absolute(first) {
            Some(path) => path.to_string_lossy().into_owned(),
            None => first.text.clone(),
        })
    }

    /// Runs a program from an untrusted path that may imitate a known one. It
    /// is analyzed like the known one, since it may be a copy, but its name
    /// earns no trust.
    #[inline(never)]
    fn invoke_local(
        &mut self,
        place: String,
        words: Arc<[ShellWord]>,
        leaf: LeafCommand,
        input: &TextStream,
    ) -> TextStream {
        let (seen, _) = self.checkpoint();
        let out = self.in_subshell(|walk| walk.invoke_named(words, leaf, input));
        self.leaves_since(seen).for_each(|leaf| programs::drop_name_trust(leaf, &place));
        TextStream {
            text: None,
            shape: None,
            connected: true,
            taint: out.taint.with(TextTaint::COMPUTED),
            ..out
        }
    }

    /// Runs the builtin, shell, wrapper or program of this name.
    fn invoke_named(
        &mut self,
        words: Arc<[ShellWord]>,
        mut leaf: LeafCommand,
        input: &TextStream,
    ) -> TextStream {
        let program = words.first().map(|first| program_name(&first.text)).unwrap_or_default();
        leaf.program = program.as_ref().to_owned();
        leaf.words = Arc::clone(&words);
        if let Some(out) = self.builtin(&mut leaf, input) {
            return out;
        }
        let arguments = words.get(1..).unwrap_or(&[]);
        if let Some(finding) = programs::dynamic_options::glob_finding(&program, arguments) {
            leaf.add_finding(finding);
        }
        if crate::shells::is_shell(&leaf.program) {
            return self.run_shell(leaf, input);
        }
        let cwd = self.scope.cwd.clone();
        let site = self.eval_context(cwd.as_deref(), input);
        let peeled =
            wrappers::unwrap_command(&mut EffectBuilder::new(&mut leaf, &site, &program, &words));
        if let Some(inner) = peeled {
            let plain = wrappers::working_dir(&leaf).is_none()
                && wrappers::given_variables(&leaf).is_empty();
            return match plain {
                true => self.run_wrapped(leaf, inner, input),
                false => self.run_wrapped_with_env(leaf, inner, input),
            };
        }
        self.describe_leaf(leaf, &program, &words, input)
    }

    /// Makes the following leaves run under this program.
    pub(crate) fn push_wrapper(&mut self, program: String, words: Arc<[ShellWord]>) {
        self.wrappers.push(program);
        self.unwrapped_words.push(words);
    }

    /// Undoes [`Self::push_wrapper`].
    pub(crate) fn pop_wrapper(&mut self) {
        self.wrappers.pop();
        self.unwrapped_words.pop();
    }

    /// Runs the command of a wrapper in the directory and with the variables
    /// that the wrapper sets.
    #[inline(never)]
    fn run_wrapped_with_env(
        &mut self,
        leaf: LeafCommand,
        inner: InnerCommand,
        input: &TextStream,
    ) -> TextStream {
        let given = wrappers::given_variables(&leaf);
        let given: Vec<_> =
            given.iter().map(|(name, word)| (name.as_str(), word.clone())).collect();
        let own_programs = self.scope.prefers_project_programs;
        for (name, value) in &given {
            self.scope.note_path_variable(name, value, self.at);
        }
        let lent = self.scope.set_temporary(&given);
        let dir = wrappers::working_dir(&leaf);
        let cwd = self.scope.cwd.clone();
        if let Some(dir) = &dir {
            self.scope.change_dir(dir.known_text(), self.at);
        }
        let out = self.run_wrapped(leaf, inner, input);
        if dir.is_some() {
            self.scope.cwd = cwd;
        }
        self.scope.restore(lent);
        self.scope.prefers_project_programs = own_programs;
        out
    }

    /// Runs the command of a wrapper; the wrapper itself is not a leaf.
    fn run_wrapped(
        &mut self,
        leaf: LeafCommand,
        inner: InnerCommand,
        input: &TextStream,
    ) -> TextStream {
        let name = leaf.program.clone();
        let outer = leaf.words.clone();
        self.push_wrapper(name, outer);
        let mut next = self.new_leaf(&leaf.text);
        next.effects = leaf.effects;
        next.findings = leaf.findings;
        let out = match inner {
            InnerCommand::Words(words) if words.is_empty() => {
                next.program = leaf.program;
                next.words = leaf.words;
                next.reads_only = leaf.reads_only;
                self.pop_wrapper();
                next.wrappers.pop();
                next.unwrapped_words.pop();
                let taint = match next.program.as_str() {
                    "env" | "genv" => TextTaint::SECRET.with(TextTaint::COMPUTED),
                    _ => TextTaint::default(),
                };
                self.push_leaf(next);
                return TextStream { taint, ..TextStream::unknown() };
            }
            // Functions and aliases exist only in the shell itself.
            InnerCommand::Words(words) => self.execute(words, next, input),
            InnerCommand::Source(word) => {
                next.program = leaf.program;
                next.words = leaf.words;
                next.wrappers.pop();
                next.unwrapped_words.pop();
                self.check_code(&word, &mut next);
                self.push_leaf(next);
                self.nested_source(&word, input)
            }
        };
        self.pop_wrapper();
        out
    }

    /// Analyzes source that a program is given, in a subshell.
    pub(crate) fn nested_source(&mut self, word: &ShellWord, input: &TextStream) -> TextStream {
        if !word.known && word.text.contains('…') {
            return TextStream::unknown();
        }
        self.in_subshell(|walk| walk.walk_source_with(&word.text, input))
    }

    /// Adds findings about code that is only known at run time.
    pub(crate) fn check_code(&mut self, word: &ShellWord, leaf: &mut LeafCommand) {
        let nothing = TextStream::unknown();
        let site = self.eval_context(None, &nothing);
        let mut act = EffectBuilder::without_program(leaf, &site);
        if !act.check_tainted_code(word.taint) && !word.known {
            act.ask("dynamic-code", "Runs code that is only known at run time");
        }
    }

    fn invoke_dynamic(
        &mut self,
        words: Vec<ShellWord>,
        mut leaf: LeafCommand,
        input: &TextStream,
    ) -> TextStream {
        let first = words.first().cloned().unwrap_or_default();
        if first.known && first.glob && !self.is_guess {
            let blocked = self.blocked_by_glob(&words, input);
            blocked.into_iter().for_each(|finding| leaf.add_finding(finding));
        }
        self.check_code(&ShellWord { known: true, ..first.clone() }, &mut leaf);
        let reason = format!("The program “{}” is only known at run time", first.text);
        leaf.add_finding(CommandFinding::ask("dynamic-program", reason));
        leaf.program = first.text;
        leaf.words = words.into();
        self.push_leaf(leaf);
        TextStream { connected: true, ..TextStream::unknown() }
    }

    /// The blocking findings of any blockable program that the glob may match.
    fn blocked_by_glob(&mut self, words: &[ShellWord], input: &TextStream) -> Vec<CommandFinding> {
        let Some((first, rest)) = words.split_first() else { return Vec::new() };
        let mut found = Vec::new();
        let could_be = |program: &&&str| programs::may_be_named(&first.text, program);
        for program in programs::BLOCKABLE_PROGRAMS.iter().filter(could_be) {
            let words = std::iter::once(ShellWord::literal(*program)).chain(rest.iter().cloned());
            let blank = self.new_leaf("");
            let (words, seen) = (words.collect(), self.checkpoint());
            self.is_guess = true;
            self.in_subshell(|walk| walk.execute(words, blank, input));
            self.is_guess = false;
            found.extend(
                self.roll_back_to(seen).filter(|finding| finding.level == FindingLevel::Block),
            );
        }
        found
    }

    fn describe_leaf(
        &mut self,
        mut leaf: LeafCommand,
        program: &str,
        words: &Arc<[ShellWord]>,
        input: &TextStream,
    ) -> TextStream {
        let cwd = self.scope.cwd.clone();
        let out = text_stream::output(program, words, input, cwd.as_deref());
        let site = self.eval_context(cwd.as_deref(), input);
        let mut act = EffectBuilder::new(&mut leaf, &site, program, words);
        programs::describe(&mut act);
        programs::describe_given(&mut act, self.scope.exported_vars());
        let mut followed = Vec::new();
        let mut weight = 0;
        if !self.added_contents.is_empty() && programs::build_files::uses_build_files(program) {
            weight = self.added_contents.values().flatten().map(String::len).sum();
            for (path, text) in &self.added_contents {
                let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
                if programs::build_files::judge(&mut act, &name, text.as_deref()) {
                    followed.push(path.clone());
                }
            }
        }
        let inner = act.inner;
        self.use_fuel(weight / 4);
        self.record_writes(&leaf, &out);
        if inner.is_empty() {
            self.push_leaf(leaf);
            return out;
        }
        if inner.len() > MAX_INNER_COMMANDS {
            self.add_finding(CommandFinding::ask(
                "too-complex",
                "The command runs too many inner commands to analyze",
            ));
        }
        let text = leaf.text.clone();
        for word in inner.iter().filter_map(|inner| match inner {
            InnerCommand::Source(word) => Some(word),
            InnerCommand::Words(_) => None,
        }) {
            self.check_code(word, &mut leaf);
        }
        self.push_leaf(leaf);
        // A recipe may run itself: hide it meanwhile.
        let followed: Vec<_> = followed
            .into_iter()
            .filter_map(|path| self.added_contents.remove_entry(&path))
            .collect();
        self.push_wrapper(program.to_owned(), Arc::clone(words));
        for next in inner.into_iter().take(MAX_INNER_COMMANDS) {
            match next {
                InnerCommand::Words(words) => {
                    let leaf = self.new_leaf(&text);
                    self.in_subshell(|walk| walk.execute(words, leaf, input));
                }
                InnerCommand::Source(word) => {
                    self.nested_source(&word, input);
                }
            }
        }
        self.pop_wrapper();
        self.added_contents.extend(followed);
        out
    }
}
