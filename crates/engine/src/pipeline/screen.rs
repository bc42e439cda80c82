//! Stage 9: redacts secrets before the result hooks, and labels untrusted text
//! after them.

use std::borrow::Cow;
use std::sync::Arc;

use hermes_core::{Effect, Grants, Resource, ShellScript, Taint, ToolResult};
use hermes_secrets::Redactor;
use hermes_threats::{ScanLevel, label, scan};
use serde_json::{Value, json};

use super::{BatchContext, ResolvedCall};

/// Shorter results are labelled only if something is found in them.
const MIN_LABELLED_BYTES: usize = 32;

/// Fields of an error that may contain untrusted text.
const UNTRUSTED_ERROR_FIELDS: [&str; 3] = ["error", "stderr", "difference"];

impl BatchContext {
    pub(super) fn redactor(&self) -> Arc<Redactor> {
        self.engine.secrets().redactor()
    }

    /// Redacts secrets in a result, whatever their source.
    pub(super) fn redact(&self, result: &mut ToolResult) {
        self.redactor().redact_json(&mut result.content);
    }

    /// Arguments with secrets redacted, for display.
    pub(super) fn redacted_arguments(&self, arguments: &Value) -> Value {
        let mut text = arguments.to_string();
        self.redactor().redact_json(&mut text);
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Redacted effects for display and the record; a granted path is shown as
    /// its real path.
    fn real_path_effects(&self, effects: &[Effect], grants: &Grants) -> Vec<Effect> {
        let grants = grants.list().unwrap_or_default();
        let placed = effects.iter().enumerate().map(|(at, effect)| {
            let own = grants.get(at).filter(|grant| grant.effect == *effect);
            match own.and_then(|grant| grant.real_path.clone()) {
                Some(real) => {
                    Effect { scope: effect.scope.clone(), resource: Resource::Path(real) }
                }
                None => effect.clone(),
            }
        });
        placed.map(|effect| self.redacted_effect(&effect)).collect()
    }

    /// The effects of a call for display and the record: the declared ones, and
    /// those of its commands.
    pub(super) fn shown_effects(
        &self,
        effects: &[Effect],
        grants: &Grants,
        implied: &[Effect],
    ) -> Vec<Effect> {
        let mut shown = self.real_path_effects(effects, grants);
        for effect in implied.iter().map(|effect| self.redacted_effect(effect)) {
            if !shown.contains(&effect) {
                shown.push(effect);
            }
        }
        shown
    }

    pub(super) fn redacted_effect(&self, effect: &Effect) -> Effect {
        let mut effect = effect.clone();
        match &mut effect.resource {
            // Only the name of a variable is shown.
            Resource::Any | Resource::Variable(_) => {}
            Resource::Path(path) => {
                let shown = path.to_string_lossy();
                if let Cow::Owned(masked) = self.redactor().redact(&shown) {
                    *path = masked.into();
                }
            }
            Resource::Command(text) => *text = self.redactor().redact_command(text).into_owned(),
            Resource::Script(script) => {
                let ShellScript { text, stdin: input, .. } = &mut **script;
                *text = self.redactor().redact_command(text).into_owned();
                if let Some(input) = input {
                    *input = self.redactor().redact(input).into_owned();
                }
            }
            Resource::Host(text) | Resource::Name(text) => {
                *text = self.redactor().redact(text).into_owned();
            }
        }
        effect
    }

    /// Labels a result or error that came from outside as untrusted, and taints
    /// the session.
    pub(super) fn mark_untrusted(
        &self,
        call: &ResolvedCall,
        is_answer: bool,
        result: &mut ToolResult,
    ) {
        self.record_hosts(call);
        let spec = call.entry.spec();
        let stays = spec.open_world_by_effects && call.effects.is_empty();
        let outside = spec.annotations.open_world && !stays;
        if !outside {
            return;
        }
        let source = call.entry.name();
        let found = scan(&result.content, ScanLevel::Context);
        if found.is_empty() && result.content.len() < MIN_LABELLED_BYTES {
            return;
        }
        let findings: Vec<String> = found.iter().map(|finding| finding.id.to_owned()).collect();
        // Tools that need the session report that it cannot be written.
        let _ = Taint::record_source(&self.caller.session, source, &findings);
        result.untrusted = true;
        let shown: Value = serde_json::from_str(&result.content).unwrap_or_default();
        let mut labelled = match (is_answer, shown) {
            // An error keeps its shape; only its text is labelled.
            (false, Value::Object(mut error)) => {
                for key in UNTRUSTED_ERROR_FIELDS.iter().filter(|_| self.caller.label_untrusted) {
                    if let Some(Value::String(text)) = error.get_mut(*key) {
                        *text = label(source, text).text;
                    }
                }
                Value::Object(error)
            }
            (_, shown) => {
                let content = match self.caller.label_untrusted {
                    true => label(source, &result.content).text.into(),
                    false => shown,
                };
                json!({ "untrusted": true, "source": source, "content": content })
            }
        };
        labelled["untrusted"] = true.into();
        labelled["source"] = source.into();
        if !found.is_empty() {
            labelled["findings"] = json!(found);
        }
        result.content = labelled.to_string();
    }

    /// Records hosts that the call was allowed to reach; they are no longer
    /// new.
    fn record_hosts(&self, call: &ResolvedCall) {
        for effect in &call.effects {
            if let Resource::Host(host) = &effect.resource {
                let _ = Taint::record_host(&self.caller.session, effect.scope.as_str(), host);
            }
        }
    }
}
