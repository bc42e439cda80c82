//! The result hooks, which run within stage 9; and stage 10: records the call.

use hermes_core::{Effect, ToolResult, Verdict};
use serde_json::Value;

use super::{Authorization, BatchContext};
use crate::hooks::ResultView;
use crate::observer::CallEvent;
use crate::record::{CallRecord, status_name};

impl BatchContext {
    /// Passes every result, success or error, to the hooks; they may replace
    /// it.
    pub(super) async fn run_result_hooks(&self, arguments: &Value, result: &mut ToolResult) {
        let hooks = &self.engine.hooks().0;
        for hook in hooks {
            hook.post_tool_call(self.result_view(arguments, result)).await;
        }
        for hook in hooks {
            let replaced = hook.transform_tool_result(self.result_view(arguments, result)).await;
            // Consumers parse results as JSON, so other text is ignored.
            let json =
                replaced.filter(|t| serde_json::from_str::<serde::de::IgnoredAny>(t).is_ok());
            if let Some(content) = json {
                result.content = content;
                self.redact(result);
                break;
            }
        }
    }

    fn result_view<'a>(&'a self, arguments: &'a Value, result: &'a ToolResult) -> ResultView<'a> {
        ResultView {
            call: self.call_view(&result.tool_call_id, &result.name, arguments),
            content: &result.content,
            status: result.status,
            duration: result.duration,
        }
    }

    pub(super) fn record(
        &self,
        result: &ToolResult,
        effects: &[Effect],
        authorization: &Authorization,
    ) {
        self.notify(&CallEvent::Ended { result, parent: self.caller.parent.as_deref() });
        if self.engine.observers().is_empty() {
            return;
        }
        let effects = self.shown_effects(effects, &authorization.grants, &authorization.implied);
        let name = self.redactor().redact(&result.name).into_owned();
        let (would, would_rule) = match &authorization.unenforced_verdict {
            Some(Verdict::Ask { rule, .. }) => (Some("ask"), Some(rule.as_str())),
            Some(Verdict::Deny { rule, .. }) => (Some("deny"), Some(rule.as_str())),
            Some(Verdict::Allow) | None => (None, None),
        };
        let record = CallRecord {
            time_ms: hermes_core::clock::unix_millis(),
            who: &self.caller.who,
            session: self.caller.session.id(),
            task: &self.caller.task_id,
            call: &result.tool_call_id,
            parent: self.caller.parent.as_deref(),
            tool: &name,
            called_as: result.called_as.as_deref(),
            effects: &effects,
            profile: authorization.profile.as_deref(),
            verdict: authorization.verdict,
            rule: authorization.rule.as_deref(),
            approval: authorization.approval.as_deref(),
            would,
            would_rule,
            dry_run: self.caller.dry_run,
            untrusted: result.untrusted,
            status: status_name(result.status),
            duration_us: u64::try_from(result.duration.as_micros()).unwrap_or(u64::MAX),
            chars: result.content.len(),
            coerced: result.coercions.len(),
            connection: None,
        };
        let observers = self.engine.observers().iter();
        observers.for_each(|observer| observer.on_event(&CallEvent::Recorded(&record)));
    }
}
