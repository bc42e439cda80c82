//! What is typed into a shell that lasts runs in a folder that nobody knows: the
//! shell may have gone elsewhere. It is judged as if it were in the session's
//! folder; but what depends on that is agreed to for this time only, as the
//! same text may mean another tree the next time.

use hermes_core::{Effect, Resource, WorkingDir};
use hermes_shell::{CommandAnalysis, LeafCommand};

/// The same command read without a folder, if it may be in another.
#[derive(Debug)]
pub(crate) struct CwdIndependentAnalysis(Option<CommandAnalysis>);

impl CwdIndependentAnalysis {
    /// Reads code that is for a shell which lasts and has run this, and nothing
    /// else.
    pub(crate) fn analyze(earlier: &str, command: &Resource, at: &WorkingDir) -> Self {
        let script = match command {
            Resource::Script(script) if script.fresh_shell && script.cwd.is_none() => script,
            _ => return Self(None),
        };
        Self(Some(hermes_shell::analyze_anywhere(earlier, script, at)))
    }

    /// Whether what a simple command does depends on the folder.
    pub(crate) fn leaf_depends_on_cwd(&self, index: usize, leaf: &LeafCommand) -> bool {
        let Some(analysis) = &self.0 else { return false };
        let same = analysis.leaves.get(index).filter(|other| other.text == leaf.text);
        same.is_none_or(|other| other.effects != leaf.effects)
    }

    /// Whether one of its effects does. A repository is part of every effect
    /// that git has.
    pub(crate) fn effect_depends_on_cwd(
        &self,
        index: usize,
        leaf: &LeafCommand,
        effect: &Effect,
    ) -> bool {
        let Some(analysis) = &self.0 else { return false };
        let same = analysis.leaves.get(index).filter(|other| other.text == leaf.text);
        let is_there = same.is_some_and(|other| other.effects.contains(effect));
        let in_place = leaf.effects.iter().any(|effect| effect.scope.family() == "git");
        !is_there || in_place && self.leaf_depends_on_cwd(index, leaf)
    }
}
