//! Stage 6: policy, hooks and loop guard judge the call; the strictest verdict
//! wins.

use hermes_core::{CallProposal, Ruling, Verdict, WorkingDir};
use serde_json::Value;

use super::{BatchContext, ResolvedCall};
use crate::entry::ToolEntry;
use crate::hooks::{CallView, HookDecision};
use crate::loop_guard::LoopKey;

impl BatchContext {
    /// Runs the hooks. They come before the policy, because the policy must
    /// judge a rewritten call.
    pub(super) async fn ask_hooks(
        &self,
        call_id: &str,
        entry: &ToolEntry,
        arguments: &Value,
    ) -> (Option<Value>, Verdict) {
        let mut rewritten: Option<Value> = None;
        let mut verdict = Verdict::Allow;
        for hook in &self.engine.hooks().0 {
            let arguments = rewritten.as_ref().unwrap_or(arguments);
            let view = self.call_view(call_id, entry.name(), arguments);
            let rule = || format!("hook:{}", hook.name());
            match hook.pre_tool_call(view).await {
                HookDecision::Continue => {}
                HookDecision::Rewrite(new) => rewritten = Some(new),
                HookDecision::Ask(reason) => {
                    verdict = verdict.and(Verdict::Ask { reason, rule: rule() });
                }
                HookDecision::Block(reason) => {
                    verdict = verdict.and(Verdict::Deny { reason, rule: rule() });
                    break;
                }
            }
        }
        (rewritten, verdict)
    }

    pub(super) fn inspect(&self, call: &ResolvedCall, hooks: Verdict) -> Ruling {
        let mut ruling = self.engine.policy().judge(&self.proposal(call, &self.working_dir.load()));
        ruling.verdict = ruling.verdict.and(hooks);
        if let Some(loop_key) = &call.loop_key {
            let looping = self.engine.guard().judge(self.caller_key(), loop_key);
            ruling.verdict = ruling.verdict.and(looping);
        }
        ruling
    }

    /// The proposal that the policy judges.
    pub(crate) fn proposal<'a>(
        &'a self,
        call: &'a ResolvedCall,
        at: &'a WorkingDir,
    ) -> CallProposal<'a> {
        CallProposal {
            tool: call.entry.name(),
            toolset: call.entry.toolset(),
            arguments: &call.arguments,
            effects: &call.effects,
            code: call.entry.spec().inline_code(&call.arguments),
            annotations: call.entry.spec().annotations,
            working_dir: at,
            call_id: &call.id,
            session: &self.caller.session,
            task_id: &self.caller.task_id,
            depth: self.caller.depth,
        }
    }

    pub(super) fn loop_key(&self, entry: &ToolEntry, arguments: &Value) -> Option<LoopKey> {
        let looks_only = entry.spec().annotations.read_only;
        self.engine.guard().is_enabled().then(|| LoopKey::new(entry.name(), arguments, looks_only))
    }

    /// The session and task that the loop guard tracks.
    pub(super) fn caller_key(&self) -> (&str, &str) {
        (self.caller.session.id(), &self.caller.task_id)
    }

    pub(super) fn call_view<'a>(
        &'a self,
        call_id: &'a str,
        tool: &'a str,
        arguments: &'a Value,
    ) -> CallView<'a> {
        CallView {
            call_id,
            tool,
            arguments,
            session_id: self.caller.session.id(),
            task_id: &self.caller.task_id,
        }
    }
}
