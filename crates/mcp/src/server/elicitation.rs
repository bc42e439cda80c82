//! Questions to the client's user: approvals, and clarifications that tools ask
//! for. Older clients are asked while the call waits; newer ones get the
//! question as the result, and repeat the call with the answer.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hasher as _;
use std::sync::Arc;

use hermes_core::text::excerpt;
use hermes_core::{
    ApprovalDecision, ApprovalRequest, ApprovalScope, Approver, BoxFuture, UserPrompter,
};
use parking_lot::Mutex;
use rmcp::model::{
    ConstTitle, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    ElicitationSchemaBuilder, EnumSchema, InputRequest, InputRequests, PrimitiveSchemaDefinition,
    SingleSelectEnumSchema, StringSchema, TitledSingleSelectEnumSchema,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::call::CallEvent;
use super::task::TaskLink;

/// Maximum length of the arguments shown in an approval question.
const MAX_ARGUMENT_CHARS: usize = 2_000;

/// Asks the questions of one call.
#[derive(Debug)]
pub(crate) struct CallElicitor {
    call: String,
    mode: ElicitationMode,
    /// The task that the call may become; its questions go through the task.
    task_link: Option<Arc<TaskLink>>,
}

#[derive(Debug)]
enum ElicitationMode {
    /// The client is asked while the call waits.
    Inline(mpsc::Sender<CallEvent>),
    /// The call ends with the question, and is repeated with the answer.
    Deferred {
        answers: HashMap<String, ElicitResult>,
        asked: Mutex<BTreeMap<String, ElicitRequestParams>>,
        /// Whether the tool may run twice for one call.
        repeatable: bool,
    },
}

impl CallElicitor {
    /// Asks while the call waits.
    pub(crate) fn inline(call: &str, errands: mpsc::Sender<CallEvent>) -> Self {
        Self { call: call.to_owned(), mode: ElicitationMode::Inline(errands), task_link: None }
    }

    /// Collects questions; `answers` are those to earlier ones.
    pub(crate) fn deferred(
        call: &str,
        answers: HashMap<String, ElicitResult>,
        repeatable: bool,
    ) -> Self {
        let way = ElicitationMode::Deferred { answers, asked: Mutex::default(), repeatable };
        Self { call: call.to_owned(), mode: way, task_link: None }
    }

    /// Links the task that the call may become.
    pub(crate) fn with_task(mut self, handover: Option<Arc<TaskLink>>) -> Self {
        self.task_link = handover;
        self
    }

    /// Takes the questions that are still unanswered.
    pub(crate) fn pending_requests(&self) -> Option<InputRequests> {
        let ElicitationMode::Deferred { asked, .. } = &self.mode else { return None };
        let asked = std::mem::take(&mut *asked.lock());
        let requests = asked.into_iter();
        let requests = requests.map(|(key, form)| {
            (key, InputRequest::Elicitation(rmcp::model::ElicitRequest::new(form)))
        });
        let requests: InputRequests = requests.collect();
        (!requests.is_empty()).then_some(requests)
    }

    async fn elicit(
        &self,
        key: String,
        may_wait: bool,
        form: ElicitationForm,
    ) -> Option<ElicitResult> {
        let form = form.params()?;
        if let Some(handover) = &self.task_link {
            if let Some(answered) = handover.request_input(&key, &form).await {
                return answered;
            }
            handover.question_opened();
        }
        match &self.mode {
            ElicitationMode::Inline(errands) => {
                let (reply, answered) = oneshot::channel();
                let sent = errands.send(CallEvent::Elicit(Box::new(form), reply)).await;
                let answered = if sent.is_ok() { answered.await.ok().flatten() } else { None };
                if let Some(handover) = &self.task_link {
                    handover.question_closed();
                }
                answered
            }
            ElicitationMode::Deferred { answers, asked, .. } => {
                let answer = answers.get(&key).cloned();
                if answer.is_none() && may_wait {
                    // It stays open until the call ends with it.
                    let mut asked = asked.lock();
                    asked.insert(key, form);
                } else if let Some(handover) = &self.task_link {
                    handover.question_closed();
                }
                answer
            }
        }
    }
}

impl Approver for CallElicitor {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision> {
        Box::pin(async move {
            // What a call did before asking must not be repeated, so only the
            // outermost call, which has not started, can be deferred.
            let may_wait = request.call_id == self.call;
            let form = ElicitationForm::approval(&request);
            let key = format!("approval-{:016x}", fingerprint(&form.message));
            match self.elicit(key, may_wait, form).await {
                Some(answer) => parse_decision(answer),
                None => ApprovalDecision::NoApprover,
            }
        })
    }

    fn name(&self) -> &'static str {
        "client"
    }
}

impl UserPrompter for CallElicitor {
    fn ask<'a>(
        &'a self,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let may_wait = matches!(self.mode, ElicitationMode::Deferred { repeatable: true, .. });
            let form = ElicitationForm::clarification(question, choices);
            let key = format!("question-{:016x}", fingerprint(&(question, choices)));
            answer_text(self.elicit(key, may_wait, form).await?)
        })
    }
}

/// A question with fields to fill in.
struct ElicitationForm {
    message: String,
    fields: ElicitationSchemaBuilder,
}

impl ElicitationForm {
    fn approval(request: &ApprovalRequest) -> Self {
        let arguments = serde_json::to_string_pretty(&request.arguments).unwrap_or_default();
        let shown = excerpt(&arguments, MAX_ARGUMENT_CHARS);
        let effects: Vec<String> =
            request.effects.iter().take(20).map(ToString::to_string).collect();
        let message = format!(
            "Allow the call of {}?\n{}\n{shown}\n{}",
            request.tool,
            request.reason,
            effects.join("\n"),
        );
        let answers = [
            ("once", "Yes, this time"),
            ("session", "Yes, and similar calls until this session ends"),
            ("no", "No"),
        ];
        let answers = answers.map(|(value, title)| ConstTitle::new(value, title));
        let mut choice = TitledSingleSelectEnumSchema::new(answers.into());
        choice.title = Some("Decision".into());
        // No default: a client that submits forms automatically must not
        // approve by it.
        let fields =
            ElicitationSchema::builder().required_property("decision", enum_property(choice));
        Self { message: mask_hidden_chars(&message), fields }
    }

    fn clarification(question: &str, choices: &[String]) -> Self {
        let mut answer = StringSchema::new();
        answer.title = Some("Answer".into());
        let mut fields = ElicitationSchema::builder();
        if choices.is_empty() {
            fields = fields.required_property("answer", PrimitiveSchemaDefinition::String(answer));
        } else {
            answer.title = Some("Or in your own words".into());
            let titled =
                choices.iter().map(|choice| ConstTitle::new(choice, mask_hidden_chars(choice)));
            let mut choice = TitledSingleSelectEnumSchema::new(titled.collect());
            choice.title = Some("Choice".into());
            fields = fields
                .property("choice", enum_property(choice))
                .property("answer", PrimitiveSchemaDefinition::String(answer));
        }
        Self { message: mask_hidden_chars(question), fields }
    }

    fn params(self) -> Option<ElicitRequestParams> {
        let requested_schema = self.fields.build().ok()?;
        let message = self.message;
        Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
    }
}

fn enum_property(choice: TitledSingleSelectEnumSchema) -> PrimitiveSchemaDefinition {
    PrimitiveSchemaDefinition::Enum(EnumSchema::Single(SingleSelectEnumSchema::Titled(choice)))
}

/// Replaces control and invisible characters, which could disguise the text.
fn mask_hidden_chars(text: &str) -> String {
    let hidden = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().map(|c| if hidden(c) { '·' } else { c }).collect()
}

/// Hashes a question; stable while the process runs.
fn fingerprint(question: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    question.hash(&mut hasher);
    hasher.finish()
}

fn parse_decision(answer: ElicitResult) -> ApprovalDecision {
    let content = answer.content.as_ref();
    let said = content.and_then(|c| c.get("decision")).and_then(Value::as_str);
    match (answer.action, said) {
        (ElicitationAction::Accept, Some("once")) => {
            ApprovalDecision::Approved(ApprovalScope::Once)
        }
        (ElicitationAction::Accept, Some("session")) => {
            ApprovalDecision::Approved(ApprovalScope::Session)
        }
        (ElicitationAction::Accept, Some("no")) | (ElicitationAction::Decline, _) => {
            ApprovalDecision::Refused(None)
        }
        (ElicitationAction::Accept, _) => ApprovalDecision::Refused(Some(
            "The client accepted the question without a decision".into(),
        )),
        (_, _) => ApprovalDecision::Refused(Some("The user dismissed the question".into())),
    }
}

fn answer_text(answer: ElicitResult) -> Option<String> {
    if answer.action != ElicitationAction::Accept {
        return None;
    }
    let content = answer.content?;
    let field = |key: &str| {
        let text = content.get(key)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    field("answer").or_else(|| field("choice"))
}

#[cfg(test)]
#[path = "elicitation_tests.rs"]
mod tests;
