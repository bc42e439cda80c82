//! Analysis of commands for a persistent shell, whose working directory is
//! unknown because it may have changed. Commands are judged as if in the
//! session's directory, but effects that depend on it are approved only once,
//! since the same text may mean another tree the next time.

use hermes_core::{Effect, ShellScript, WorkingDir};
use hermes_shell::{CommandAnalysis, LeafCommand};

/// The command analyzed without a working directory, if that may differ.
#[derive(Debug)]
pub(crate) struct CwdIndependentAnalysis(Option<CommandAnalysis>);

impl CwdIndependentAnalysis {
    /// Analyzes code for a persistent shell that has run `earlier`; other
    /// commands are not analyzed.
    pub(crate) fn analyze(earlier: &str, script: &ShellScript, at: &WorkingDir) -> Self {
        let is_unknown = script.fresh_shell && script.cwd.is_none();
        Self(is_unknown.then(|| hermes_shell::analyze_anywhere(earlier, script, at)))
    }

    /// Whether the effects of a simple command depend on the working directory.
    pub(crate) fn leaf_depends_on_cwd(&self, index: usize, leaf: &LeafCommand) -> bool {
        let Some(analysis) = &self.0 else { return false };
        let same = analysis.leaves.get(index).filter(|other| other.text == leaf.text);
        same.is_none_or(|other| other.effects != leaf.effects)
    }

    /// Whether one effect depends on the working directory. Every effect of git
    /// includes its repository.
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
