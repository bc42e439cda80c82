//! Asks the user in the chat to approve calls.

use hermes::core::{ApprovalDecision, ApprovalRequest, ApprovalScope, Approver, BoxFuture};
use hermes_chat::{ChatScreen, QuestionAnswer, QuestionChoice, UserQuestion};
use serde_json::Value;

/// Maximum number of effects, and of content lines, that are shown.
const MAX_SHOWN_EFFECTS: usize = 8;
const MAX_SHOWN_LINES: usize = 12;

/// Approver that asks on the chat screen.
pub(crate) struct TerminalApprover {
    screen: ChatScreen,
}

impl TerminalApprover {
    pub(crate) fn new(screen: ChatScreen) -> Self {
        Self { screen }
    }
}

impl TerminalApprover {
    /// Asks for the reason that the model receives instead of the result.
    async fn ask_reason(&self) -> Option<String> {
        let title = "What should be done instead?".to_owned();
        let question = UserQuestion { title, free_text: true, ..UserQuestion::default() };
        match self.screen.ask(question).await? {
            QuestionAnswer::Text(why) if !why.trim().is_empty() => {
                Some(format!("The user refused: {}", why.trim()))
            }
            _ => None,
        }
    }
}

impl Approver for TerminalApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision> {
        Box::pin(async move {
            match self.screen.ask(approval_question(&request)).await {
                Some(QuestionAnswer::Key('o')) => ApprovalDecision::Approved(ApprovalScope::Once),
                Some(QuestionAnswer::Key('s')) => {
                    ApprovalDecision::Approved(ApprovalScope::Session)
                }
                Some(QuestionAnswer::Key('a')) => ApprovalDecision::Approved(ApprovalScope::Always),
                Some(QuestionAnswer::Key('w')) => {
                    ApprovalDecision::Refused(self.ask_reason().await)
                }
                _ => ApprovalDecision::Refused(None),
            }
        })
    }
}

fn approval_question(request: &ApprovalRequest) -> UserQuestion {
    let mut body = content_lines(&request.arguments);
    body.push(format!("why     {}", request.reason));
    body.push(format!("rule    {}", request.rule));
    for (at, effect) in request.effects.iter().take(MAX_SHOWN_EFFECTS).enumerate() {
        body.push(format!("{:<8}{effect}", if at == 0 { "does" } else { "" }));
    }
    if request.effects.len() > MAX_SHOWN_EFFECTS {
        body.push(format!("{:<8}and {} more", "", request.effects.len() - MAX_SHOWN_EFFECTS));
    }
    for (at, offer) in request.offered_rules.iter().enumerate() {
        body.push(format!("{:<8}would allow {offer}", if at == 0 { "always" } else { "" }));
    }
    let mut choices = vec![QuestionChoice::new('o', "once").with_aliases(&["y", "yes"])];
    if !request.offered_rules.is_empty() {
        choices.push(QuestionChoice::new('s', "for this session").with_aliases(&["session"]));
        choices.push(QuestionChoice::new('a', "always"));
    }
    choices.push(QuestionChoice::new('d', "deny").with_aliases(&["n", "no"]));
    choices.push(QuestionChoice::new('w', "deny with a reason"));
    UserQuestion {
        title: format!("May {} run?", request.tool),
        body,
        choices,
        // A word that starts with the key of a choice must not select it.
        free_text: false,
        secret: false,
    }
}

/// Returns the lines that would be run or written.
fn content_lines(arguments: &Value) -> Vec<String> {
    let named = ["command", "code", "patch", "new_string", "content"];
    let text = named.iter().find_map(|name| arguments.get(name)?.as_str());
    let Some(text) = text else { return Vec::new() };
    let mut lines: Vec<String> =
        text.lines().take(MAX_SHOWN_LINES).map(|line| format!("  {line}")).collect();
    let rest = text.lines().count().saturating_sub(MAX_SHOWN_LINES);
    if rest > 0 {
        lines.push(format!("  … {rest} more lines"));
    }
    lines
}
