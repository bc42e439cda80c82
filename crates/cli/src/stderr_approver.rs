//! Approval questions to the user at the terminal.

use std::io::{self, BufRead as _, Write as _};

use hermes::core::{
    ApprovalDecision, ApprovalRequest, ApprovalScope, Approver, BoxFuture, approval_excerpt,
};
use tokio::sync::{Mutex, oneshot};

use crate::terminal::{OpenQuestion, TerminalOutput, one_line};

/// Maximum number of effects shown in a question.
const MAX_SHOWN_EFFECTS: usize = 8;

/// Asks on standard error and reads the answer from the keyboard.
pub(crate) struct StderrApprover {
    terminal: TerminalOutput,
    /// Whether the session can have more calls.
    has_session: bool,
    /// Serializes questions.
    turn: Mutex<()>,
}

impl StderrApprover {
    pub(crate) fn new(terminal: TerminalOutput, has_session: bool) -> Self {
        Self { terminal, has_session, turn: Mutex::new(()) }
    }
}

impl Approver for StderrApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision> {
        Box::pin(async move {
            let _turn = self.turn.lock().await;
            let _asking = OpenQuestion::begin();
            let question = question_text(&self.terminal, &request);
            let can_keep = !request.offered_rules.is_empty();
            let has_session = self.has_session && can_keep;
            let (send, answer) = oneshot::channel();
            // A separate thread, so an abandoned question does not block exit.
            std::thread::spawn(move || {
                let _ = send.send(ask_until_decided(&question, has_session, can_keep));
            });
            let mut line = OpenLineGuard(true);
            let decision = answer.await.unwrap_or(ApprovalDecision::NoApprover);
            line.0 = false;
            decision
        })
    }
}

/// Ends the line of an abandoned question, to keep later output off it.
struct OpenLineGuard(bool);

impl Drop for OpenLineGuard {
    fn drop(&mut self) {
        if self.0 {
            let _ = writeln!(io::stderr());
        }
    }
}

/// Formats the question for the terminal.
fn question_text(terminal: &TerminalOutput, request: &ApprovalRequest) -> String {
    let mark = terminal.message_prefix("asks");
    let mut text = format!("\n{mark} may {} run?\n", request.tool);
    let mut add = |label: &str, line: &str| {
        text.push_str(&format!("  {label:<8}{}\n", one_line(line)));
    };
    add("why", &request.reason);
    add("rule", &request.rule);
    for (index, effect) in request.effects.iter().take(MAX_SHOWN_EFFECTS).enumerate() {
        add(if index == 0 { "does" } else { "" }, &effect.to_string());
    }
    if request.effects.len() > MAX_SHOWN_EFFECTS {
        add("", &format!("and {} more", request.effects.len() - MAX_SHOWN_EFFECTS));
    }
    if let Some(code) = request.arguments.get("code").and_then(|code| code.as_str()) {
        add("code", &approval_excerpt(code));
    }
    for (index, offer) in request.offered_rules.iter().enumerate() {
        add(if index == 0 { "always" } else { "" }, &format!("would allow {offer}"));
    }
    text
}

fn ask_until_decided(question: &str, has_session: bool, can_keep: bool) -> ApprovalDecision {
    let choices = match (has_session, can_keep) {
        (true, true) => "[o]nce, for this [s]ession, [a]lways, or [d]eny? ",
        (false, true) => "[o]nce, [a]lways, or [d]eny? ",
        (_, false) => "[o]nce or [d]eny? ",
    };
    let mut input = io::stdin().lock();
    let _ = write!(io::stderr(), "{question}");
    for _ in 0..3 {
        let _ = write!(io::stderr(), "{choices}");
        let _ = io::stderr().flush();
        let mut line = String::new();
        match input.read_line(&mut line) {
            Ok(0) | Err(_) => {
                let _ = writeln!(io::stderr());
                return ApprovalDecision::Refused(None);
            }
            Ok(_) => {}
        }
        if let Some(decision) = parse_decision(&line, has_session, can_keep) {
            return decision;
        }
        let _ = writeln!(io::stderr(), "Answer with one of the letters.");
    }
    ApprovalDecision::Refused(None)
}

/// Parses an answer. Approval must be the whole line: “yes, but not there” does
/// not approve.
fn parse_decision(line: &str, has_session: bool, can_keep: bool) -> Option<ApprovalDecision> {
    let line = line.trim();
    match line.to_lowercase().as_str() {
        "o" | "once" | "y" | "yes" => return Some(ApprovalDecision::Approved(ApprovalScope::Once)),
        "s" | "session" if has_session => {
            return Some(ApprovalDecision::Approved(ApprovalScope::Session));
        }
        "a" | "always" if can_keep => {
            return Some(ApprovalDecision::Approved(ApprovalScope::Always));
        }
        "" => return Some(ApprovalDecision::Refused(None)),
        _ => {}
    }
    let (word, rest) = line.split_once(|c: char| !c.is_alphanumeric()).unwrap_or((line, ""));
    // `d use git rm instead`: the reason goes to the model.
    let rest = rest.trim();
    let shown = (!rest.is_empty()).then(|| format!("The user refused: {rest}"));
    let is_no = matches!(word.to_lowercase().as_str(), "d" | "deny" | "n" | "no");
    is_no.then_some(ApprovalDecision::Refused(shown))
}

#[cfg(test)]
#[path = "stderr_approver_tests.rs"]
mod tests;
