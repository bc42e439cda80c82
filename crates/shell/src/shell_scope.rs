//! State of a shell while a script runs: variables, functions, working
//! directory.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

use hermes_core::WorkingDir;

use crate::leaf::{NAME_PLACEHOLDER, NUMBER_PLACEHOLDER, ShellWord, TextTaint};
use crate::syntax::ShellCommand;

/// Longer values are not tracked.
const MAX_VALUE_BYTES: usize = 16 * 1024;

/// The value of a variable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ShellValue {
    /// None if only known at run time.
    pub(crate) text: Option<String>,
    pub(crate) taint: TextTaint,
    /// Globs of the paths that the value may hold.
    pub(crate) hints: Vec<String>,
    /// The text with [`NUMBER_PLACEHOLDER`] and [`NAME_PLACEHOLDER`] in it, if
    /// no other part is unknown.
    pub(crate) shape: Option<String>,
}

impl ShellValue {
    pub(crate) fn unknown() -> Self {
        ShellValue::default()
    }

    pub(crate) fn from_word(word: &ShellWord) -> Self {
        let text =
            word.known_text().filter(|text| text.len() <= MAX_VALUE_BYTES).map(str::to_owned);
        let is_shaped = !word.known && word.named && word.text.len() <= MAX_VALUE_BYTES;
        let shape = is_shaped.then(|| word.text.clone());
        ShellValue { text, taint: word.taint, hints: word.hints.clone(), shape }
    }
}

/// A variable set for one command, with its previous value.
#[derive(Debug)]
pub(crate) struct TemporaryVar {
    name: String,
    before: Option<ShellValue>,
    exported: bool,
}

/// The names defined in one shell.
#[derive(Debug, Clone, Default)]
struct ShellNames {
    vars: HashMap<String, ShellValue>,
    arrays: HashMap<String, Vec<ShellWord>>,
    /// Names that refer to another variable (`declare -n`).
    references: HashMap<String, String>,
    functions: HashMap<String, Rc<ShellCommand>>,
    /// Functions that may not have been defined, with the previous definition.
    uncertain_functions: HashMap<String, Option<Rc<ShellCommand>>>,
    aliases: HashMap<String, String>,
    /// Variables exported to child processes.
    exported: HashSet<String>,
    /// Variables whose values are evaluated as arithmetic on assignment.
    integers: HashSet<String>,
}

/// The state of one shell.
#[derive(Debug, Clone)]
pub(crate) struct ShellScope {
    /// Shared between copies, since most copies of a shell change no names.
    names: Rc<ShellNames>,
    /// The arguments; None if only known at run time.
    pub(crate) positional: Option<Vec<ShellWord>>,
    /// None if only known at run time.
    pub(crate) cwd: Option<Rc<Path>>,
    /// `$0`.
    pub(crate) name: ShellValue,
    /// Whether every variable is exported (`set -a`).
    pub(crate) exports_all: bool,
    /// Whether globs match hidden files.
    pub(crate) dotglob: bool,
    /// Whether PATH lists the project before the system.
    pub(crate) prefers_project_programs: bool,
}

impl ShellScope {
    pub(crate) fn new(at: &WorkingDir) -> Self {
        ShellScope {
            names: Rc::default(),
            positional: Some(Vec::new()),
            cwd: Some(at.cwd().into()),
            name: ShellValue::unknown(),
            exports_all: false,
            dotglob: false,
            prefers_project_programs: false,
        }
    }

    /// Returns the state that a child shell starts with.
    pub(crate) fn for_child_shell(&self, at: &WorkingDir) -> Self {
        let sees = |name: &String| self.exports_all || self.names.exported.contains(name);
        let vars = self.names.vars.iter().filter(|(name, _)| sees(name));
        let vars = vars.map(|(name, value)| (name.clone(), value.clone())).collect();
        let exported = self.names.exported.clone();
        ShellScope {
            names: Rc::new(ShellNames { vars, exported, ..ShellNames::default() }),
            cwd: self.cwd.clone(),
            prefers_project_programs: self.prefers_project_programs,
            ..ShellScope::new(at)
        }
    }

    /// Records whether an assignment to PATH leads to programs of the project.
    pub(crate) fn note_path_variable(&mut self, name: &str, value: &ShellWord, at: &WorkingDir) {
        if name == "PATH" {
            let near = |part: &str| {
                Path::new(part).starts_with(at.cwd())
                    || part.starts_with("$PWD")
                    || !part.starts_with(['/', '~', '$'])
            };
            let kept =
                self.prefers_project_programs && !value.known && value.text.contains("$PATH");
            self.prefers_project_programs = kept || value.text.split(':').any(near);
        }
    }

    /// Exports a variable to child processes.
    pub(crate) fn export(&mut self, name: &str) {
        self.names_mut().exported.insert(name.to_owned());
    }

    /// Returns the exported variables.
    pub(crate) fn exported_vars(&self) -> impl Iterator<Item = (&str, &ShellValue)> {
        let names = &self.names;
        let exported = names.exported.iter().filter_map(|name| names.vars.get_key_value(name));
        let rest = self.exports_all.then(|| names.vars.iter());
        exported.chain(rest.into_iter().flatten()).map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the names for a change in this copy of the shell only.
    fn names_mut(&mut self) -> &mut ShellNames {
        Rc::make_mut(&mut self.names)
    }

    /// Returns the body of a function.
    pub(crate) fn function(&self, name: &str) -> Option<&Rc<ShellCommand>> {
        self.names.functions.get(name)
    }

    pub(crate) fn define(&mut self, name: &str, body: &Rc<ShellCommand>) {
        let names = self.names_mut();
        names.uncertain_functions.remove(name);
        names.functions.insert(name.to_owned(), Rc::clone(body));
    }

    /// Returns the possible earlier definition of a function that may not have
    /// been redefined; the inner None means that the name was undefined.
    pub(crate) fn uncertain_function(&self, name: &str) -> Option<Option<Rc<ShellCommand>>> {
        self.names.uncertain_functions.get(name).cloned()
    }

    pub(crate) fn set_alias(&mut self, name: String, text: String) {
        self.names_mut().aliases.insert(name, text);
    }

    /// Removes and returns an alias, so its expansion is not expanded again.
    pub(crate) fn take_alias(&mut self, name: &str) -> Option<(String, String)> {
        self.names.aliases.get(name)?;
        self.names_mut().aliases.remove_entry(name)
    }

    /// Sets variables for one command and returns their previous values.
    pub(crate) fn set_temporary(&mut self, assigned: &[(&str, ShellWord)]) -> Vec<TemporaryVar> {
        let lend = |(name, word): &(&str, ShellWord)| {
            let names = self.names_mut();
            let before = names.vars.insert((*name).to_owned(), ShellValue::from_word(word));
            let exported = !names.exported.insert((*name).to_owned());
            TemporaryVar { name: (*name).to_owned(), before, exported }
        };
        assigned.iter().map(lend).collect()
    }

    /// Restores variables set by [`Self::set_temporary`].
    pub(crate) fn restore(&mut self, lent: Vec<TemporaryVar>) {
        for TemporaryVar { name, before, exported } in lent.into_iter().rev() {
            let names = self.names_mut();
            if !exported {
                names.exported.remove(&name);
            }
            match before {
                Some(value) => names.vars.insert(name, value),
                None => names.vars.remove(&name),
            };
        }
    }

    /// Returns the cost of a copy.
    pub(crate) fn copy_cost(&self) -> usize {
        let names = &self.names;
        1 + names.vars.len()
            + names.functions.len()
            + names.aliases.len()
            + names.arrays.values().map(Vec::len).sum::<usize>()
    }

    pub(crate) fn set(&mut self, name: &str, value: ShellValue) {
        let name = self.resolve_reference(name).to_owned();
        if let Some((array, index)) = name.split_once('[') {
            // Only an existing element or the next one can be set with
            // certainty.
            let index = index.strip_suffix(']').and_then(|index| index.parse::<usize>().ok());
            let arrays = &mut self.names_mut().arrays;
            let all = arrays.entry(array.to_owned()).or_default();
            let word = ShellWord {
                known: value.text.is_some(),
                text: value.text.unwrap_or_default(),
                taint: value.taint,
                ..ShellWord::default()
            };
            match index {
                Some(index) if index < all.len() => all[index] = word,
                Some(index) if index == all.len() => all.push(word),
                _ => {
                    arrays.remove(array);
                }
            }
            return;
        }
        let names = self.names_mut();
        names.arrays.remove(&name);
        names.vars.insert(name, value);
    }

    /// Sets an array, or appends to it.
    pub(crate) fn set_array(&mut self, name: &str, words: Vec<ShellWord>, append: bool) {
        let name = self.resolve_reference(name).to_owned();
        let names = self.names_mut();
        let all = names.arrays.entry(name.clone()).or_default();
        if !append {
            all.clear();
        }
        all.extend(words);
        let first = all.first().map_or_else(ShellValue::unknown, ShellValue::from_word);
        names.vars.insert(name, first);
    }

    /// Returns the elements of an array, if known.
    pub(crate) fn array(&self, name: &str) -> Option<&[ShellWord]> {
        self.names.arrays.get(self.resolve_reference(name)).map(Vec::as_slice)
    }

    /// Makes a name refer to another variable.
    pub(crate) fn set_reference(&mut self, name: &str, target: &str) {
        self.names_mut().references.insert(name.to_owned(), target.to_owned());
    }

    /// Marks a variable as integer: its values are evaluated as arithmetic.
    pub(crate) fn make_integer(&mut self, name: &str) {
        self.names_mut().integers.insert(name.to_owned());
    }

    /// Whether a variable is an integer.
    pub(crate) fn is_integer(&self, name: &str) -> bool {
        self.names.integers.contains(name)
    }

    /// Returns the variable that a name refers to.
    pub(crate) fn resolve_reference<'n>(&'n self, name: &'n str) -> &'n str {
        let mut name = name;
        for _ in 0..4 {
            match self.names.references.get(name) {
                Some(target) => name = target,
                None => break,
            }
        }
        name
    }

    pub(crate) fn unset(&mut self, name: &str) {
        let names = self.names_mut();
        names.vars.remove(name);
        names.arrays.remove(name);
        names.references.remove(name);
        names.functions.remove(name);
        names.uncertain_functions.remove(name);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&ShellValue> {
        self.names.vars.get(self.resolve_reference(name))
    }

    /// Returns the value of a parameter. None if the script did not set it and
    /// the shell does not predefine it.
    pub(crate) fn parameter(&self, name: &str, at: &WorkingDir) -> Option<ShellValue> {
        let name = self.resolve_reference(name);
        if let Some(value) = self.names.vars.get(name) {
            return Some(value.clone());
        }
        let known = |text: String| Some(ShellValue { text: Some(text), ..ShellValue::default() });
        let path = |path: Option<&Path>| match path {
            Some(path) => known(path.to_string_lossy().into_owned()),
            None => Some(ShellValue::unknown()),
        };
        match name {
            "HOME" => path(at.home()),
            "$" | "RANDOM" | "SECONDS" | "EPOCHSECONDS" | "UID" | "EUID" | "BASHPID" | "LINENO" => {
                Some(ShellValue {
                    shape: Some(NUMBER_PLACEHOLDER.to_owned()),
                    ..ShellValue::unknown()
                })
            }
            "HOSTNAME" | "HOSTTYPE" | "OSTYPE" | "MACHTYPE" => Some(ShellValue {
                shape: Some(NAME_PLACEHOLDER.to_owned()),
                ..ShellValue::unknown()
            }),
            "OLDPWD" => Some(ShellValue::unknown()),
            "PWD" => path(self.cwd.as_deref()),
            "TMPDIR" => known("/tmp".to_owned()),
            "IFS" => known(" \t\n".to_owned()),
            "@" | "*" => Some(self.arguments()),
            "#" => match &self.positional {
                Some(all) => known(all.len().to_string()),
                None => Some(ShellValue::unknown()),
            },
            _ => {
                // `${00}` is `$0` as well.
                let Some(index) = name.parse::<usize>().ok()?.checked_sub(1) else {
                    return Some(self.name.clone());
                };
                Some(match &self.positional {
                    None => ShellValue::unknown(),
                    Some(all) => match all.get(index) {
                        Some(word) => ShellValue::from_word(word),
                        None => ShellValue { text: Some(String::new()), ..ShellValue::default() },
                    },
                })
            }
        }
    }

    fn arguments(&self) -> ShellValue {
        let Some(all) = &self.positional else { return ShellValue::unknown() };
        let mut joined = ShellWord::literal("");
        for (index, word) in all.iter().enumerate() {
            if index > 0 {
                joined.text.push(' ');
            }
            joined.text.push_str(&word.text);
            joined.known &= word.known;
            joined.taint = joined.taint.with(word.taint);
        }
        ShellValue::from_word(&joined)
    }

    /// Keeps only what is certain after a command that may not have run: what
    /// is the same before and after.
    pub(crate) fn merge_uncertain(&mut self, before: &ShellScope) {
        if self.cwd != before.cwd {
            self.cwd = None;
        }
        if Rc::ptr_eq(&self.names, &before.names) {
            return;
        }
        let (names, before) = (self.names_mut(), &before.names);
        for (name, value) in &mut names.vars {
            if before.vars.get(name) != Some(value) {
                let taint = value.taint;
                // A variable that was unset before has this value or none.
                if before.vars.contains_key(name) {
                    *value = ShellValue { taint, ..ShellValue::unknown() };
                }
            }
        }
        for (name, body) in &names.functions {
            let old = before.functions.get(name);
            if !old.is_some_and(|old| Rc::ptr_eq(old, body)) {
                names.uncertain_functions.entry(name.clone()).or_insert_with(|| old.cloned());
            }
        }
        names.arrays.retain(|name, words| before.arrays.get(name).is_none_or(|old| old == words));
        names
            .references
            .retain(|name, target| before.references.get(name).is_none_or(|old| old == target));
    }

    /// Forgets all values after unknown code ran in this shell, since it may
    /// have set any variable.
    pub(crate) fn forget_values(&mut self) {
        let names = self.names_mut();
        names.arrays.clear();
        for value in names.vars.values_mut() {
            *value = ShellValue { taint: value.taint, ..ShellValue::unknown() };
        }
    }

    /// Changes the working directory, like `cd`.
    pub(crate) fn change_dir(&mut self, dir: Option<&str>, at: &WorkingDir) {
        let next = dir.and_then(|dir| {
            if dir.starts_with('/') {
                return Some(at.normalize(Path::new(dir)));
            }
            self.cwd.as_ref().map(|cwd| at.normalize(&cwd.join(dir)))
        });
        let value = ShellValue {
            text: next.as_ref().map(|path| path.to_string_lossy().into_owned()),
            ..ShellValue::default()
        };
        self.set("PWD", value);
        self.cwd = next.map(Into::into);
    }
}

#[cfg(test)]
#[path = "shell_scope_tests.rs"]
mod tests;
