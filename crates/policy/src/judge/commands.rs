//! Judges the commands and code in a call.

use super::*;

impl PermissionPolicy {
    /// Judges every part of a command; returns whether any of them runs
    /// something.
    pub(super) fn examine_command(
        &self,
        proposal: &CallProposal<'_>,
        script: &ShellScript,
        taint: Option<&Taint>,
        exam: &mut CallExamination,
    ) -> bool {
        let command = &*script.text;
        let identity = &*command_identity(script);
        let fresh_shell = script.fresh_shell;
        let earlier = earlier_source(proposal, script);
        let known = earlier.as_deref().unwrap_or_default();
        let at = proposal.working_dir;
        let mut analysis = (*shared_analysis(known, script, at)).clone();
        let cwd_independent = CwdIndependentAnalysis::analyze(known, script, at);
        let is_given = script.stdin.is_some();
        exam.accepts_typed_commands |= fresh_shell || (analysis.runs_stdin && !is_given);
        if earlier.is_none() {
            let reason = "The state that earlier commands left in the session's shell cannot \
                be read";
            analysis.findings.push(hermes_shell::CommandFinding::ask("unknown-shell", reason));
        }
        let whole = execute_effect(command);
        let mut runs = false;
        let danger = |found, effect: &Effect, leaf: Option<&LeafCommand>| {
            let subject = RuleSubject {
                effect,
                real: None,
                folded: None,
                leaf,
                command: Some(command),
                own_loopback: false,
            };
            let mut answer = self.dangerous_answer(proposal.tool, taint.is_some());
            if answer == PolicyAnswer::Ask && self.profile().level.approves_danger(&subject) {
                answer = PolicyAnswer::Allow;
            }
            danger_finding(found, answer, effect, leaf, identity)
        };
        let mut glob_targets = GlobTargets::default();
        analysis.leaves.iter_mut().for_each(|leaf| glob_targets.add_targets(leaf));
        let count = analysis.leaves.iter().map(|leaf| leaf.effects.len()).sum();
        exam.findings.reserve(count + analysis.all_findings().count());
        // A syntax error needs no approval, but in a persistent shell it may be
        // the start of a longer command.
        let is_asked =
            |found: &&hermes_shell::CommandFinding| found.category != SYNTAX_ERROR || fresh_shell;
        let asked = analysis.findings.iter().filter(is_asked);
        exam.findings.extend(asked.map(|found| danger(found, &whole, None)));
        let by_command = self.layers().any(PermissionProfile::judges_files_by_command);
        let mut allowed: Vec<(&Scope, &OsStr)> = Vec::new();
        let mut path_cache = PathCache::default();
        let mut was_examined = Vec::with_capacity(count);
        let has_own_network = self.has_own_network();
        for (index, leaf) in analysis.leaves.iter().enumerate() {
            let text: Arc<str> = leaf.text.as_str().into();
            let before = analysis.leaves.get(..index).unwrap_or_default();
            let is_reported = |found: &&hermes_shell::CommandFinding| match found.category {
                LISTEN_CATEGORY => !has_own_network,
                UNKNOWN_PROGRAM => {
                    !self.is_missing_program(proposal, [known, command], leaf, before)
                }
                _ => true,
            };
            for found in leaf.findings.iter().filter(is_reported) {
                let mut found = danger(found, &execute_effect(&leaf.text), Some(leaf));
                found.unit =
                    found.unit.filter(|_| !cwd_independent.leaf_depends_on_cwd(index, leaf));
                exam.findings.push(found);
            }
            for effect in &leaf.effects {
                if has_own_network && is_left_to_proxy(effect, leaf) {
                    was_examined.push(false);
                    continue;
                }
                // An allowed effect needs no second look, unless rules depend
                // on the command.
                let place = effect.resource.as_path().map(|path| (&effect.scope, path.as_os_str()));
                let again = !by_command && place.is_some_and(|place| allowed.contains(&place));
                was_examined.push(!again);
                if again {
                    continue;
                }
                let real = path_cache.resolve(effect);
                let depends_on_cwd = cwd_independent.effect_depends_on_cwd(index, leaf, effect);
                let part = CommandPart { leaf, text: &text, command, identity, depends_on_cwd };
                self.examine_effect(proposal, effect, real, Some(part), taint, exam);
                // For a repository, the command matters.
                let found = exam.findings.last();
                if found.is_some_and(|it| {
                    it.answer == PolicyAnswer::Allow && !git_history::concerns_git_history(it)
                }) {
                    allowed.extend(place);
                }
                runs |= effect.scope == Scope::TERMINAL_EXECUTE;
            }
        }
        // A persistent shell keeps the confinement that it was started with.
        if !fresh_shell {
            exam.clients.add_command(&analysis);
        }
        for leaf in &mut analysis.leaves {
            exam.transfers.append(&mut leaf.transfers);
        }
        let effects = analysis.leaves.into_iter().flat_map(|leaf| leaf.effects).zip(was_examined);
        let effects = effects
            .filter(|(_, was_examined)| *was_examined && !fresh_shell)
            .map(|(effect, _)| effect);
        exam.command_effects.reserve(if fresh_shell { 0 } else { count });
        exam.command_effects.extend(effects);
        runs
    }

    /// Judges code in the call, which can be as destructive as a command.
    pub(super) fn examine_code(
        &self,
        proposal: &CallProposal<'_>,
        effect: &Effect,
        taint: Option<&Taint>,
        exam: &mut CallExamination,
    ) {
        let Some(InlineCode { language, text: code }) = proposal.code else { return };
        // An in-memory database has nothing to lose.
        let has_file = || proposal.effects.iter().any(|other| other.scope.family() == "database");
        if language == "sql" && !has_file() {
            return;
        }
        let answer = self.dangerous_answer(proposal.tool, taint.is_some());
        for found in inline_code::dangerous_code(language, code, proposal.working_dir) {
            let mut finding = danger_finding(&found, answer, effect, None, code);
            finding.unit = finding.unit.map(|_| ApprovalUnit::from_code(effect, None, proposal));
            exam.findings.push(finding);
        }
    }

    /// Judges a variable for all later commands as if it preceded one of them.
    pub(super) fn examine_variable(
        &self,
        proposal: &CallProposal<'_>,
        effect: &Effect,
        taint: Option<&Taint>,
        exam: &mut CallExamination,
    ) {
        let Resource::Variable(variable) = &effect.resource else { return };
        let EnvAssignment { name, value } = &**variable;
        let (found, reached) = hermes_shell::variable_effects(name, value);
        if let Some(found) = found {
            let answer = self.dangerous_answer(proposal.tool, taint.is_some());
            let command = format!("export {name}={value}");
            exam.findings.push(danger_finding(&found, answer, effect, None, &command));
        }
        if let Some(reached) = reached {
            self.examine_effect(proposal, &reached, None, None, taint, exam);
        }
    }
}
