//! Questions to the client's user: may this call be made, and what tools want
//! to know. Older clients are asked while the call waits; newer ones get the
//! question as an answer, and make the call again with theirs.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hasher as _;
use std::sync::{Arc, Mutex, PoisonError};

use hermes_core::{ApprovalRequest, Approver, BoxFuture, UserPrompter, ApprovalDecision, ApprovalScope};
use rmcp::model::{
    ConstTitle, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    ElicitationSchemaBuilder, EnumSchema, InputRequest, InputRequests, PrimitiveSchemaDefinition,
    SingleSelectEnumSchema, StringSchema, TitledSingleSelectEnumSchema,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::call::Errand;
use super::task::Handover;

/// As much of a call's arguments as a person would read.
const ARGUMENTS: usize = 2_000;

/// Where questions of one call go.
#[derive(Debug)]
pub(crate) struct Desk {
    call: String,
    way: Way,
    /// The task that the call may become, whose questions go another way.
    handover: Option<Arc<Handover>>,
}

#[derive(Debug)]
enum Way {
    /// The client is asked while the call waits.
    Now(mpsc::Sender<Errand>),
    /// The call ends with the question, and is made again with the answer.
    Later {
        answers: HashMap<String, ElicitResult>,
        asked: Mutex<BTreeMap<String, ElicitRequestParams>>,
        /// Whether the tool may run twice for one call.
        repeatable: bool,
    },
}

impl Desk {
    /// Questions are put while the call waits.
    pub(crate) fn now(call: &str, errands: mpsc::Sender<Errand>) -> Self {
        Self { call: call.to_owned(), way: Way::Now(errands), handover: None }
    }

    /// Questions are collected; these answers to earlier ones are known.
    pub(crate) fn later(
        call: &str,
        answers: HashMap<String, ElicitResult>,
        repeatable: bool,
    ) -> Self {
        let way = Way::Later { answers, asked: Mutex::default(), repeatable };
        Self { call: call.to_owned(), way, handover: None }
    }

    /// The same for a call that may become a task.
    pub(crate) fn with(mut self, handover: Option<Arc<Handover>>) -> Self {
        self.handover = handover;
        self
    }

    /// The questions that still want an answer.
    pub(crate) fn open(&self) -> Option<InputRequests> {
        let Way::Later { asked, .. } = &self.way else { return None };
        let asked = std::mem::take(&mut *asked.lock().unwrap_or_else(PoisonError::into_inner));
        let requests = asked.into_iter();
        let requests = requests.map(|(key, form)| {
            (key, InputRequest::Elicitation(rmcp::model::ElicitRequest::new(form)))
        });
        let requests: InputRequests = requests.collect();
        (!requests.is_empty()).then_some(requests)
    }

    async fn put(&self, key: String, may_wait: bool, form: Form) -> Option<ElicitResult> {
        let form = form.params()?;
        if let Some(handover) = &self.handover {
            if let Some(answered) = handover.ask(&key, &form).await {
                return answered;
            }
            handover.opened();
        }
        match &self.way {
            Way::Now(errands) => {
                let (reply, answered) = oneshot::channel();
                let sent = errands.send(Errand::Ask(Box::new(form), reply)).await;
                let answered = if sent.is_ok() { answered.await.ok().flatten() } else { None };
                if let Some(handover) = &self.handover {
                    handover.closed();
                }
                answered
            }
            Way::Later { answers, asked, .. } => {
                let answer = answers.get(&key).cloned();
                if answer.is_none() && may_wait {
                    // It stays open: the call ends with it.
                    let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
                    asked.insert(key, form);
                } else if let Some(handover) = &self.handover {
                    handover.closed();
                }
                answer
            }
        }
    }
}

impl Approver for Desk {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision> {
        Box::pin(async move {
            // What a call has done before it asks must not be done twice, so
            // only the outermost call, which has not begun, can be put off.
            let may_wait = request.call_id == self.call;
            let form = Form::approval(&request);
            let key = format!("approval-{:016x}", fingerprint(&form.message));
            match self.put(key, may_wait, form).await {
                Some(answer) => decide(answer),
                None => ApprovalDecision::NoApprover,
            }
        })
    }

    fn name(&self) -> &'static str {
        "client"
    }
}

impl UserPrompter for Desk {
    fn ask<'a>(
        &'a self,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let may_wait = matches!(self.way, Way::Later { repeatable: true, .. });
            let form = Form::clarification(question, choices);
            let key = format!("question-{:016x}", fingerprint(&(question, choices)));
            words(self.put(key, may_wait, form).await?)
        })
    }
}

/// A question with fields to fill in.
struct Form {
    message: String,
    fields: ElicitationSchemaBuilder,
}

impl Form {
    fn approval(request: &ApprovalRequest) -> Self {
        let arguments = serde_json::to_string_pretty(&request.arguments).unwrap_or_default();
        let mut shown: String = arguments.chars().take(ARGUMENTS).collect();
        if shown.len() < arguments.len() {
            shown.push_str(" …");
        }
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
            ("session", "Yes, and calls like it until this session ends"),
            ("no", "No"),
        ];
        let answers = answers.map(|(value, title)| ConstTitle::new(value, title));
        let mut choice = TitledSingleSelectEnumSchema::new(answers.into());
        choice.title = Some("Decision".into());
        // No default: a client that fills forms in by itself must not agree by it.
        let fields = ElicitationSchema::builder().required_property("decision", one_of(choice));
        Self { message: visible(&message), fields }
    }

    fn clarification(question: &str, choices: &[String]) -> Self {
        let mut answer = StringSchema::new();
        answer.title = Some("Answer".into());
        let mut fields = ElicitationSchema::builder();
        if choices.is_empty() {
            fields = fields.required_property("answer", PrimitiveSchemaDefinition::String(answer));
        } else {
            answer.title = Some("Or in your own words".into());
            let titled = choices.iter().map(|choice| ConstTitle::new(choice, visible(choice)));
            let mut choice = TitledSingleSelectEnumSchema::new(titled.collect());
            choice.title = Some("Choice".into());
            fields = fields
                .property("choice", one_of(choice))
                .property("answer", PrimitiveSchemaDefinition::String(answer));
        }
        Self { message: visible(question), fields }
    }

    fn params(self) -> Option<ElicitRequestParams> {
        let requested_schema = self.fields.build().ok()?;
        let message = self.message;
        Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
    }
}

fn one_of(choice: TitledSingleSelectEnumSchema) -> PrimitiveSchemaDefinition {
    PrimitiveSchemaDefinition::Enum(EnumSchema::Single(SingleSelectEnumSchema::Titled(choice)))
}

/// The text without characters that would show something else than is there.
fn visible(text: &str) -> String {
    let hidden = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().map(|c| if hidden(c) { '·' } else { c }).collect()
}

/// The same for the same question, for as long as the program runs.
fn fingerprint(question: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    question.hash(&mut hasher);
    hasher.finish()
}

fn decide(answer: ElicitResult) -> ApprovalDecision {
    let content = answer.content.as_ref();
    let said = content.and_then(|c| c.get("decision")).and_then(Value::as_str);
    match (answer.action, said) {
        (ElicitationAction::Accept, Some("once")) => ApprovalDecision::Approved(ApprovalScope::Once),
        (ElicitationAction::Accept, Some("session")) => ApprovalDecision::Approved(ApprovalScope::Session),
        (ElicitationAction::Accept, Some("no")) | (ElicitationAction::Decline, _) => {
            ApprovalDecision::Refused(None)
        }
        (ElicitationAction::Accept, _) => {
            ApprovalDecision::Refused(Some("The client accepted the question without a decision".into()))
        }
        (_, _) => ApprovalDecision::Refused(Some("The user has put the question away".into())),
    }
}

fn words(answer: ElicitResult) -> Option<String> {
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
#[path = "question_tests.rs"]
mod tests;
