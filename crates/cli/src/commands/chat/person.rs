//! The person in front of the chat, asked about calls.

use hermes::core::{ApprovalRequest, Approver, BoxFuture, ApprovalDecision, ApprovalScope};
use hermes_chat::{Answer, Choice, Question, Screen};
use serde_json::Value;

/// How many effects, and how many lines of what would be written, are shown.
const EFFECTS: usize = 8;
const LINES: usize = 12;

/// Asks on the screen.
pub(crate) struct Person {
    screen: Screen,
}

impl Person {
    pub(crate) fn new(screen: Screen) -> Self {
        Self { screen }
    }
}

impl Person {
    /// What the model is told instead of the result.
    async fn why(&self) -> Option<String> {
        let title = "What should be done instead?".to_owned();
        let question = Question { title, free_text: true, ..Question::default() };
        match self.screen.ask(question).await? {
            Answer::Text(why) if !why.trim().is_empty() => {
                Some(format!("The user refused: {}", why.trim()))
            }
            _ => None,
        }
    }
}

impl Approver for Person {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision> {
        Box::pin(async move {
            match self.screen.ask(question(&request)).await {
                Some(Answer::Key('o')) => ApprovalDecision::Approved(ApprovalScope::Once),
                Some(Answer::Key('s')) => ApprovalDecision::Approved(ApprovalScope::Session),
                Some(Answer::Key('a')) => ApprovalDecision::Approved(ApprovalScope::Always),
                Some(Answer::Key('w')) => ApprovalDecision::Refused(self.why().await),
                _ => ApprovalDecision::Refused(None),
            }
        })
    }
}

fn question(request: &ApprovalRequest) -> Question {
    let mut body = content(&request.arguments);
    body.push(format!("why     {}", request.reason));
    body.push(format!("rule    {}", request.rule));
    for (at, effect) in request.effects.iter().take(EFFECTS).enumerate() {
        body.push(format!("{:<8}{effect}", if at == 0 { "does" } else { "" }));
    }
    if request.effects.len() > EFFECTS {
        body.push(format!("{:<8}and {} more", "", request.effects.len() - EFFECTS));
    }
    for (at, offer) in request.offered_rules.iter().enumerate() {
        body.push(format!("{:<8}would allow {offer}", if at == 0 { "always" } else { "" }));
    }
    let mut choices = vec![Choice::new('o', "once").or(&["y", "yes"])];
    if !request.offered_rules.is_empty() {
        choices.push(Choice::new('s', "for this session").or(&["session"]));
        choices.push(Choice::new('a', "always"));
    }
    choices.push(Choice::new('d', "deny").or(&["n", "no"]));
    choices.push(Choice::new('w', "deny, and say why"));
    Question {
        title: format!("May {} run?", request.tool),
        body,
        choices,
        // A word that begins with the letter of a choice must not choose it.
        free_text: false,
        secret: false,
    }
}

/// What would be run or written, line by line.
fn content(arguments: &Value) -> Vec<String> {
    let named = ["command", "code", "patch", "new_string", "content"];
    let text = named.iter().find_map(|name| arguments.get(name)?.as_str());
    let Some(text) = text else { return Vec::new() };
    let mut lines: Vec<String> = text.lines().take(LINES).map(|line| format!("  {line}")).collect();
    let rest = text.lines().count().saturating_sub(LINES);
    if rest > 0 {
        lines.push(format!("  … {rest} more lines"));
    }
    lines
}
