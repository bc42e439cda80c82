//! What a shell knows while a script runs: variables, functions, the folder.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use hermes_core::Workplace;

use crate::leaf::{Taint, Word};
use crate::syntax::Command;

/// Longer values are forgotten.
const MAX_VALUE: usize = 16 * 1024;

/// A variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    /// None if it is only known at run time.
    pub(crate) text: Option<String>,
    pub(crate) taint: Taint,
}

impl Value {
    pub(crate) fn unknown() -> Self {
        Value { text: None, taint: Taint::default() }
    }

    pub(crate) fn of(word: &Word) -> Self {
        let text = word.known().filter(|text| text.len() <= MAX_VALUE).map(str::to_owned);
        Value { text, taint: word.taint }
    }
}

/// The state of one shell.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    vars: HashMap<String, Value>,
    pub(crate) functions: HashMap<String, Rc<Command>>,
    pub(crate) aliases: HashMap<String, String>,
    /// The arguments; None if only known at run time.
    pub(crate) positional: Option<Vec<Word>>,
    /// None if only known at run time.
    pub(crate) cwd: Option<PathBuf>,
}

impl Scope {
    pub(crate) fn new(at: &Workplace) -> Self {
        Scope {
            vars: HashMap::new(),
            functions: HashMap::new(),
            aliases: HashMap::new(),
            positional: Some(Vec::new()),
            cwd: Some(at.cwd().to_path_buf()),
        }
    }

    /// How much work a copy of it is.
    pub(crate) fn weight(&self) -> usize {
        1 + self.vars.len() + self.functions.len() + self.aliases.len()
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.vars.insert(name.to_owned(), value);
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.vars.remove(name);
        self.functions.remove(name);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.vars.get(name)
    }

    /// The value of a parameter; None if nothing in the script set it and it
    /// is not one that is always there.
    pub(crate) fn parameter(&self, name: &str, at: &Workplace) -> Option<Value> {
        if let Some(value) = self.vars.get(name) {
            return Some(value.clone());
        }
        let known = |text: String| Some(Value { text: Some(text), taint: Taint::default() });
        let path = |path: Option<&Path>| match path {
            Some(path) => known(path.to_string_lossy().into_owned()),
            None => Some(Value::unknown()),
        };
        match name {
            "HOME" => path(at.home()),
            "PWD" => path(self.cwd.as_deref()),
            "TMPDIR" => known("/tmp".to_owned()),
            "IFS" => known(" \t\n".to_owned()),
            "@" | "*" => Some(self.arguments()),
            "#" => match &self.positional {
                Some(all) => known(all.len().to_string()),
                None => Some(Value::unknown()),
            },
            _ => {
                let number = name.parse::<usize>().ok().filter(|number| *number > 0)?;
                Some(match &self.positional {
                    None => Value::unknown(),
                    Some(all) => match all.get(number - 1) {
                        Some(word) => Value::of(word),
                        None => Value { text: Some(String::new()), taint: Taint::default() },
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
                    *value = Value { text: None, taint };
                }
            }
        }
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
            taint: Taint::default(),
        };
        self.set("PWD", value);
        self.cwd = next;
    }
}
