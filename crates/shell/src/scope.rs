//! What a shell knows while a script runs: variables, functions, the folder.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

use hermes_core::Workplace;

use crate::leaf::{Taint, Word};
use crate::syntax::Command;

/// Longer values are forgotten.
const MAX_VALUE: usize = 16 * 1024;

/// A variable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Value {
    /// None if it is only known at run time.
    pub(crate) text: Option<String>,
    pub(crate) taint: Taint,
    /// Globs of the paths that it may hold.
    pub(crate) hints: Vec<String>,
}

impl Value {
    pub(crate) fn unknown() -> Self {
        Value::default()
    }

    pub(crate) fn of(word: &Word) -> Self {
        let text = word.known().filter(|text| text.len() <= MAX_VALUE).map(str::to_owned);
        Value { text, taint: word.taint, hints: word.hints.clone() }
    }
}

/// A variable that one command was given, and what it was before.
#[derive(Debug)]
pub(crate) struct Lent {
    name: String,
    before: Option<Value>,
    exported: bool,
}

/// The state of one shell.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    vars: HashMap<String, Value>,
    arrays: HashMap<String, Vec<Word>>,
    /// Names that stand for another variable.
    references: HashMap<String, String>,
    pub(crate) functions: HashMap<String, Rc<Command>>,
    pub(crate) aliases: HashMap<String, String>,
    /// The arguments; None if only known at run time.
    pub(crate) positional: Option<Vec<Word>>,
    /// None if only known at run time.
    pub(crate) cwd: Option<Rc<Path>>,
    /// `$0`.
    pub(crate) name: Value,
    /// Variables that programs see which the shell starts.
    exported: HashSet<String>,
    /// Every variable is one of those.
    pub(crate) exports_all: bool,
    /// Globs find hidden files as well.
    pub(crate) hidden: bool,
}

impl Scope {
    pub(crate) fn new(at: &Workplace) -> Self {
        Scope {
            vars: HashMap::new(),
            arrays: HashMap::new(),
            references: HashMap::new(),
            functions: HashMap::new(),
            aliases: HashMap::new(),
            positional: Some(Vec::new()),
            cwd: Some(at.cwd().into()),
            name: Value::unknown(),
            exported: HashSet::new(),
            exports_all: false,
            hidden: false,
        }
    }

    /// What another shell knows that is started from this one.
    pub(crate) fn started(&self, at: &Workplace) -> Self {
        let sees = |name: &String| self.exports_all || self.exported.contains(name);
        let vars = self.vars.iter().filter(|(name, _)| sees(name));
        Scope {
            vars: vars.map(|(name, value)| (name.clone(), value.clone())).collect(),
            exported: self.exported.clone(),
            cwd: self.cwd.clone(),
            ..Scope::new(at)
        }
    }

    /// Lets programs see a variable.
    pub(crate) fn export(&mut self, name: &str) {
        self.exported.insert(name.to_owned());
    }

    /// Gives variables to one command; what they were comes back.
    pub(crate) fn lend(&mut self, assigned: &[(&str, Word)]) -> Vec<Lent> {
        let lend = |(name, word): &(&str, Word)| {
            let before = self.vars.insert((*name).to_owned(), Value::of(word));
            let exported = !self.exported.insert((*name).to_owned());
            Lent { name: (*name).to_owned(), before, exported }
        };
        assigned.iter().map(lend).collect()
    }

    /// Takes them back.
    pub(crate) fn take_back(&mut self, lent: Vec<Lent>) {
        for Lent { name, before, exported } in lent.into_iter().rev() {
            if !exported {
                self.exported.remove(&name);
            }
            match before {
                Some(value) => self.vars.insert(name, value),
                None => self.vars.remove(&name),
            };
        }
    }

    /// How much work a copy of it is.
    pub(crate) fn weight(&self) -> usize {
        1 + self.vars.len()
            + self.functions.len()
            + self.aliases.len()
            + self.arrays.values().map(Vec::len).sum::<usize>()
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        let name = self.referred(name).to_owned();
        if let Some((array, index)) = name.split_once('[') {
            // Only the end and what is there already can be set without doubt.
            let index = index.strip_suffix(']').and_then(|index| index.parse::<usize>().ok());
            let all = self.arrays.entry(array.to_owned()).or_default();
            let word = Word {
                known: value.text.is_some(),
                text: value.text.unwrap_or_default(),
                taint: value.taint,
                ..Word::default()
            };
            match index {
                Some(index) if index < all.len() => all[index] = word,
                Some(index) if index == all.len() => all.push(word),
                _ => {
                    self.arrays.remove(array);
                }
            }
            return;
        }
        self.arrays.remove(&name);
        self.vars.insert(name, value);
    }

    /// Sets a whole array, or adds to it.
    pub(crate) fn set_array(&mut self, name: &str, words: Vec<Word>, append: bool) {
        let name = self.referred(name).to_owned();
        let all = self.arrays.entry(name.clone()).or_default();
        if !append {
            all.clear();
        }
        all.extend(words);
        let first = all.first().map_or_else(Value::unknown, Value::of);
        self.vars.insert(name, first);
    }

    /// The elements of an array, if they are known to be these.
    pub(crate) fn array(&self, name: &str) -> Option<&[Word]> {
        self.arrays.get(self.referred(name)).map(Vec::as_slice)
    }

    /// Makes a name stand for another.
    pub(crate) fn refer(&mut self, name: &str, target: &str) {
        self.references.insert(name.to_owned(), target.to_owned());
    }

    fn referred<'n>(&'n self, name: &'n str) -> &'n str {
        let mut name = name;
        for _ in 0..4 {
            match self.references.get(name) {
                Some(target) => name = target,
                None => break,
            }
        }
        name
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.vars.remove(name);
        self.arrays.remove(name);
        self.references.remove(name);
        self.functions.remove(name);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.vars.get(self.referred(name))
    }

    /// The value of a parameter; None if nothing in the script set it and it
    /// is not one that is always there.
    pub(crate) fn parameter(&self, name: &str, at: &Workplace) -> Option<Value> {
        let name = self.referred(name);
        if let Some(value) = self.vars.get(name) {
            return Some(value.clone());
        }
        let known = |text: String| Some(Value { text: Some(text), ..Value::default() });
        let path = |path: Option<&Path>| match path {
            Some(path) => known(path.to_string_lossy().into_owned()),
            None => Some(Value::unknown()),
        };
        match name {
            "HOME" => path(at.home()),
            "OLDPWD" => Some(Value::unknown()),
            "PWD" => path(self.cwd.as_deref()),
            "TMPDIR" => known("/tmp".to_owned()),
            "IFS" => known(" \t\n".to_owned()),
            "@" | "*" => Some(self.arguments()),
            "#" => match &self.positional {
                Some(all) => known(all.len().to_string()),
                None => Some(Value::unknown()),
            },
            _ => {
                if name == "0" {
                    return Some(self.name.clone());
                }
                let number = name.parse::<usize>().ok()?;
                Some(match &self.positional {
                    None => Value::unknown(),
                    Some(all) => match all.get(number - 1) {
                        Some(word) => Value::of(word),
                        None => Value { text: Some(String::new()), ..Value::default() },
                    },
                })
            }
        }
    }

    fn arguments(&self) -> Value {
        let Some(all) = &self.positional else { return Value::unknown() };
        let mut joined = Word::literal("");
        for (index, word) in all.iter().enumerate() {
            if index > 0 {
                joined.text.push(' ');
            }
            joined.text.push_str(&word.text);
            joined.known &= word.known;
            joined.taint = joined.taint.with(word.taint);
        }
        Value::of(&joined)
    }

    /// What is certain after something ran that may not have run: only what is
    /// the same before and after.
    pub(crate) fn blur(&mut self, before: &Scope) {
        if self.cwd != before.cwd {
            self.cwd = None;
        }
        for (name, value) in &mut self.vars {
            if before.vars.get(name) != Some(value) {
                let taint = value.taint;
                // A variable that had no value before has this one or none.
                if before.vars.contains_key(name) {
                    *value = Value { text: None, taint, hints: Vec::new() };
                }
            }
        }
        self.arrays.retain(|name, words| before.arrays.get(name).is_none_or(|old| old == words));
        self.references
            .retain(|name, target| before.references.get(name).is_none_or(|old| old == target));
    }

    /// Goes to a folder, as `cd` does.
    pub(crate) fn enter(&mut self, folder: Option<&str>, at: &Workplace) {
        let next = folder.and_then(|folder| {
            if folder.starts_with('/') {
                return Some(at.fold(Path::new(folder)));
            }
            self.cwd.as_ref().map(|cwd| at.fold(&cwd.join(folder)))
        });
        let value = Value {
            text: next.as_ref().map(|path| path.to_string_lossy().into_owned()),
            ..Value::default()
        };
        self.set("PWD", value);
        self.cwd = next.map(Into::into);
    }
}
