//! The analysis of commands, as the engine uses it to order calls and to save
//! checkpoints.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use hermes_core::{
    CallProposal, CommandAnalyzer, CommandComparison, CommandWrites, Effect, Resource, Scope,
    ShellScript, SideEffects, WorkingDir,
};
use hermes_shell::{CommandAnalysis, LeafCommand, shared_analysis};
use serde::Deserialize;

use crate::command_writes::writes_of_leaves;

/// The static analysis of shell commands.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShellAnalyzer;

impl CommandAnalyzer for ShellAnalyzer {
    fn side_effects(&self, proposal: &CallProposal<'_>) -> SideEffects {
        let runs = |effect: &&Effect| {
            effect.scope == Scope::TERMINAL_EXECUTE || effect.scope == Scope::CODE_EXECUTE
        };
        let mut far = proposal.effects.iter().filter(runs);
        let (Some(effect), None) = (far.next(), far.next()) else { return SideEffects::Unknown };
        let script = effect_script(effect).filter(|script| {
            effect.scope == Scope::TERMINAL_EXECUTE
                && script.stdin.is_none()
                && !script.fresh_shell
                && !script.open_ended
        });
        let Some(script) = script else { return SideEffects::Unknown };
        match earlier_source(proposal, &script) {
            Some(earlier) => hermes_shell::side_effects(&script.text, || {
                shared_analysis(&earlier, &script, proposal.working_dir)
            }),
            None => SideEffects::Unknown,
        }
    }

    fn writes(&self, proposal: &CallProposal<'_>) -> CommandWrites {
        let commands = proposal.effects.iter().filter(|it| it.scope == Scope::TERMINAL_EXECUTE);
        let analyses: Vec<Arc<CommandAnalysis>> = commands
            .filter_map(effect_script)
            .map(|script| {
                let earlier = earlier_source(proposal, &script).unwrap_or_default();
                shared_analysis(&earlier, &script, proposal.working_dir)
            })
            .collect();
        writes_of_leaves(analyses.iter().flat_map(|analysis| &analysis.leaves))
    }

    fn compare(
        &self,
        judged: &ShellScript,
        run: &ShellScript,
        at: &WorkingDir,
    ) -> CommandComparison {
        let analyze = |script: &ShellScript| hermes_shell::analyze_script("", script, at);
        let alone = ShellScript { stdin: None, ..judged.clone() };
        CommandComparison {
            runs_stdin: judged.stdin.is_some() && analyze(&alone).runs_stdin,
            same_effects: have_same_effects(&analyze(judged), &analyze(run)),
        }
    }
}

/// Returns the shell code of an effect that runs some.
pub(crate) fn effect_script(effect: &Effect) -> Option<Cow<'_, ShellScript>> {
    match &effect.resource {
        Resource::Command(text) => {
            Some(Cow::Owned(ShellScript { text: text.clone(), ..ShellScript::default() }))
        }
        Resource::Script(script) => Some(Cow::Borrowed(script)),
        _ => None,
    }
}

/// Returns what the shell of a script retains of earlier commands, as source
/// text; `None` if it cannot be read.
pub(crate) fn earlier_source(proposal: &CallProposal<'_>, script: &ShellScript) -> Option<String> {
    match script.fresh_shell {
        true => persistent_shell_history(proposal),
        false => session_shell_history(proposal),
    }
}

/// Returns the earlier input of the persistent shell that the call addresses,
/// as recorded by its tool.
fn persistent_shell_history(proposal: &CallProposal<'_>) -> Option<String> {
    #[derive(Default, Deserialize)]
    struct ReplShellRecord {
        process: u32,
        told: Vec<String>,
    }
    let mut known: BTreeMap<String, ReplShellRecord> = proposal.session.read("repl").ok()?;
    let found = proposal.effects.iter().find_map(|effect| match &effect.resource {
        Resource::Name(name) if effect.scope == Scope::PROCESS_MANAGE => known.remove(name),
        _ => None,
    });
    // A shell does not outlive the process that started it.
    let own = found.filter(|shell| shell.process == std::process::id());
    Some(own.map(|shell| shell.told.join("\n")).unwrap_or_default())
}

/// Returns what the session's shell retains of earlier commands.
fn session_shell_history(proposal: &CallProposal<'_>) -> Option<String> {
    #[derive(Default, Deserialize)]
    struct SessionShellRecord {
        #[serde(default)]
        text: String,
    }
    Some(proposal.session.read::<SessionShellRecord>("shell").ok()?.text)
}

/// Whether two commands run the same programs with the same paths and hosts.
fn have_same_effects(judged: &CommandAnalysis, run: &CommandAnalysis) -> bool {
    let located = |leaf: &LeafCommand| -> Vec<Effect> {
        let is_located =
            |effect: &&Effect| matches!(effect.resource, Resource::Path(_) | Resource::Host(_));
        leaf.effects.iter().filter(is_located).cloned().collect()
    };
    let same = |(judged, run): (&LeafCommand, &LeafCommand)| {
        judged.program == run.program
            && judged.wrappers == run.wrappers
            && judged.findings.len() == run.findings.len()
            && located(judged) == located(run)
    };
    judged.findings.len() == run.findings.len()
        && judged.leaves.len() == run.leaves.len()
        && judged.leaves.iter().zip(&run.leaves).all(same)
}

#[cfg(test)]
#[path = "analyzer_tests.rs"]
mod tests;
