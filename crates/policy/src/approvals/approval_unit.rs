//! The unit that one approval covers: never a whole category, always one
//! program and subcommand, one tree, one host, or one exact text.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use hermes_core::{CallProposal, Effect, Resource, Scope, ShellScript};
use hermes_shell::LeafCommand;
use serde::{Deserialize, Serialize};

use super::tickets::call_fingerprint;
use crate::pattern::PathVariables;

/// Categories in which the same program can do anything; an approval covers
/// only the exact text.
const EXACT_ONLY_CATEGORIES: &[&str] = &[
    "remote-to-shell",
    "remote-code",
    "tree-read",
    "decoded-to-shell",
    "dynamic-program",
    "dynamic-code",
    "dynamic-host",
    "interpreter-code",
    "unparsable",
    hermes_shell::SYNTAX_ERROR,
    "secret-path",
    "too-long",
    "too-complex",
    "obfuscation",
    "reverse-shell",
    "secret-exfiltration",
    "env-override",
    "hermes-itself",
    "privilege",
    "program-flag",
    "shadowing",
];

/// Categories about the files that a command names; a command without any may
/// affect all of them.
const FILE_CATEGORIES: &[&str] =
    &["recursive-delete", "delete-with-glob", "data-loss", "mass-change"];

/// What an approval covers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalUnit {
    /// Scope of the effect.
    pub scope: String,
    /// Category of danger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Program and subcommand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Trees that the command or tool touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<PathBuf>,
    /// Host, table, secret or other resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Tool, if the approval is about a tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Hash of the whole text, if only the exact text is covered. The text
    /// itself may contain secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact: Option<String>,
    /// Start of that text with secrets redacted, for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl ApprovalUnit {
    /// Creates the unit for an effect of a tool.
    pub fn from_effect(effect: &Effect, real: Option<&Path>) -> Self {
        let mut unit = Self { scope: effect.scope.to_string(), ..Self::default() };
        unit.set_resource(effect, real);
        unit
    }

    /// Creates the unit for an effect of a simple command.
    pub fn from_command_effect(
        effect: &Effect,
        real: Option<&Path>,
        leaf: &LeafCommand,
        command: &str,
    ) -> Self {
        let mut unit = Self::from_effect(effect, real);
        match &effect.resource {
            Resource::Any => unit.exact = Some(hash(command)),
            Resource::Path(_) => {}
            _ => unit.command = Some(leaf.prefix().join(" ")),
        }
        unit
    }

    /// Creates the unit for a dangerous command.
    pub fn from_leaf(
        scope: &Scope,
        category: Option<&str>,
        leaf: Option<&LeafCommand>,
        command: &str,
    ) -> Self {
        let mut unit = Self {
            scope: scope.to_string(),
            category: category.map(str::to_owned),
            ..Self::default()
        };
        // A change to a repository is approved for that repository only.
        let changing = [Scope::FILE_WRITE, Scope::FILE_DELETE, Scope::GIT_WRITE];
        let changes = |e: &&Effect| changing.contains(&e.scope);
        let blind = |leaf: &LeafCommand| {
            leaf.effects.iter().filter(changes).any(|e| e.resource.as_path().is_none())
        };
        let nowhere = |leaf: &LeafCommand| !leaf.effects.iter().any(|effect| changes(&effect));
        let is_of = |list: &[&str]| category.is_some_and(|category| list.contains(&category));
        let only_exact = is_of(EXACT_ONLY_CATEGORIES)
            || leaf.is_some_and(blind)
            || is_of(FILE_CATEGORIES) && leaf.is_some_and(nowhere);
        match leaf {
            Some(leaf) if !only_exact && leaf.words.iter().all(|word| word.known) => {
                unit.command = Some(leaf.prefix().join(" "));
                unit.trees = leaf.effects.iter().filter(changes).filter_map(real_path).collect();
            }
            _ => unit.exact = Some(hash(command)),
        }
        unit
    }

    /// Creates the unit for code that is part of this call; covers no other
    /// code.
    pub fn from_code(effect: &Effect, real: Option<&Path>, proposal: &CallProposal<'_>) -> Self {
        let call = Self::from_call(proposal);
        Self { tool: call.tool, exact: call.exact, ..Self::from_effect(effect, real) }
    }

    /// Creates the unit for exactly this tool call.
    pub fn from_call(proposal: &CallProposal<'_>) -> Self {
        Self {
            scope: "tool:call".to_owned(),
            tool: Some(proposal.tool.to_owned()),
            exact: Some(call_fingerprint("", proposal, &[])),
            ..Self::default()
        }
    }

    fn set_resource(&mut self, effect: &Effect, real: Option<&Path>) {
        match &effect.resource {
            Resource::Path(path) => self.trees = vec![real.unwrap_or(path).to_path_buf()],
            Resource::Command(text) => self.exact = Some(hash(text)),
            Resource::Script(script) => self.exact = Some(hash(&command_identity(script))),
            Resource::Host(text) | Resource::Name(text) => self.resource = Some(text.clone()),
            Resource::Variable(variable) => self.resource = Some(variable.name.clone()),
            Resource::Any => {}
        }
    }

    /// Widens the unit to what a permanent rule should cover: the parent
    /// directory of a file, unless that is near the file system root or
    /// contains the home directory, the workspace or a similar root.
    #[must_use]
    pub fn widened(mut self, places: &PathVariables) -> Self {
        let known = [&places.home, &places.workspace].into_iter().flatten();
        let known: Vec<&PathBuf> = known.chain([&places.hermes]).chain(&places.temp).collect();
        let is_of_everything = |dir: &Path| {
            dir.components().count() <= 3 || known.iter().any(|place| place.starts_with(dir))
        };
        if self.category.is_none() && self.command.is_none() {
            for tree in &mut self.trees {
                if let Some(dir) = tree.parent()
                    && !tree.is_dir()
                    && !is_of_everything(dir)
                {
                    *tree = dir.to_path_buf();
                }
            }
        }
        self
    }

    /// Whether an approval of this unit covers `other`.
    pub fn covers(&self, other: &ApprovalUnit) -> bool {
        self.scope == other.scope
            && self.category == other.category
            && self.command == other.command
            && self.resource == other.resource
            && self.tool == other.tool
            && self.exact == other.exact
            && self.trees.is_empty() == other.trees.is_empty()
            && other.trees.iter().all(|tree| self.trees.iter().any(|mine| tree.starts_with(mine)))
    }
}

impl fmt::Display for ApprovalUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scope)?;
        if let Some(command) = &self.command {
            write!(f, " `{command}`")?;
        }
        if let Some(category) = &self.category {
            write!(f, " ({category})")?;
        }
        if let Some(tool) = &self.tool {
            write!(f, " {tool}")?;
        }
        if let Some(resource) = &self.resource {
            write!(f, " {resource}")?;
        }
        for (index, tree) in self.trees.iter().enumerate() {
            let lead = match (index, tree.is_file()) {
                (0, true) => " of",
                (0, false) => " below",
                _ => ",",
            };
            write!(f, "{lead} {}", tree.display())?;
        }
        match (&self.exact, &self.text) {
            (Some(_), Some(text)) => write!(f, ", with exactly this text: {text}"),
            (Some(_), None) => f.write_str(", with exactly this text"),
            (None, _) => Ok(()),
        }
    }
}

/// Returns what identifies a command: its text and, if it does not run at the
/// session's prompt, also where it runs and what it reads.
pub(crate) fn command_identity(script: &ShellScript) -> Cow<'_, str> {
    let ShellScript { text, cwd, stdin, fresh_shell, .. } = script;
    if cwd.is_none() && stdin.is_none() && !fresh_shell {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{text:?} in {cwd:?} with {stdin:?}, fresh shell {fresh_shell}"))
}

/// Resolves the path of an effect. Deleting a symlink affects the link, not its
/// target.
fn real_path(effect: &Effect) -> Option<PathBuf> {
    let path = effect.resource.as_path()?;
    let real = if effect.scope == Scope::FILE_DELETE {
        hermes_files::real_entry(path)
    } else {
        hermes_files::real_path(path)
    };
    Some(real.unwrap_or_else(|_| path.to_owned()))
}

fn hash(text: &str) -> String {
    blake3::hash(text.trim().as_bytes()).to_hex().chars().take(32).collect()
}

#[cfg(test)]
#[path = "approval_unit_tests.rs"]
mod tests;
