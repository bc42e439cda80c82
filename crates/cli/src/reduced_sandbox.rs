//! Asks once whether commands may run in the reduced sandbox, where the system
//! does not support the full one.

use std::sync::Arc;

use hermes::core::{ApprovalDecision, ApprovalRequest, ApprovalScope, Approver, BoxFuture};
use hermes_chat::{QuestionChoice, UserQuestion};
use hermes_config::HermesHome;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::app::{AppContext, AppServices};
use crate::commands::config;
use crate::prompter::TerminalPrompter;
use hermes::sandbox_support::{self, NamespaceObstacle, REDUCED_GAPS};

/// The rule of calls whose confinement the system cannot enforce.
const MISSING_RULE: &str = "sandbox: missing";

/// Separates the rules of an approval request.
const RULE_SEPARATOR: &str = "; ";

/// The setting that stores the answer.
const MISSING_SETTING: &str = "sandbox.missing";

/// The user's answer about the reduced sandbox in this run.
pub(crate) type ReducedSandboxAnswer = Arc<Mutex<Option<bool>>>;

/// Asks about the reduced sandbox before any other question about a call.
pub(crate) struct ReducedSandboxApprover {
    app: AppContext,
    home: HermesHome,
    keyboard: Arc<TerminalPrompter>,
    /// Answers all other questions.
    inner: Arc<dyn Approver>,
}

impl ReducedSandboxApprover {
    pub(crate) fn new(app: &AppContext, ready: &AppServices, person: Arc<dyn Approver>) -> Self {
        let (home, keyboard) = (ready.home().clone(), Arc::clone(&ready.prompter));
        Self { app: app.clone(), home, keyboard, inner: person }
    }

    /// Whether the user accepts the reduced sandbox. Asks once per run.
    async fn is_accepted(&self) -> bool {
        let mut known = self.app.reduced.lock().await;
        if let Some(answer) = *known {
            return answer;
        }
        let answer = self.keyboard.choose(reduced_sandbox_question()).await;
        if answer == Some('a') {
            let reduced = Value::from("reduced");
            if let Err(failure) =
                config::save_setting(&self.app, &self.home, MISSING_SETTING, &reduced)
            {
                let shown = format!("{MISSING_SETTING} could not be saved: {}", failure.message);
                self.app.terminal.warn(&shown);
            }
        }
        let is_agreed = matches!(answer, Some('y' | 'a'));
        *known = Some(is_agreed);
        is_agreed
    }
}

impl Approver for ReducedSandboxApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision> {
        Box::pin(async move {
            let mut rules = request.rule.split(RULE_SEPARATOR);
            if !rules.any(|rule| rule == MISSING_RULE) {
                return self.inner.ask(request).await;
            }
            if !self.app.is_interactive() {
                return ApprovalDecision::NoApprover;
            }
            if !self.is_accepted().await {
                return ApprovalDecision::Refused(Some(
                    "The user does not allow commands in the reduced sandbox".to_owned(),
                ));
            }
            // Other rules of the request still need an answer.
            if request.rule.split(RULE_SEPARATOR).any(|rule| rule != MISSING_RULE) {
                return self.inner.ask(request).await;
            }
            ApprovalDecision::Approved(ApprovalScope::Once)
        })
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }
}

fn reduced_sandbox_question() -> UserQuestion {
    let obstacle = NamespaceObstacle::find();
    let why = obstacle.map_or_else(sandbox_support::summary, |obstacle| obstacle.detail);
    UserQuestion {
        title: "Run commands in the reduced sandbox?".to_owned(),
        body: vec![
            format!("This system has no user namespaces ({why})."),
            REDUCED_GAPS.to_owned(),
            "`hermes doctor` shows how to enable the full sandbox.".to_owned(),
        ],
        choices: vec![
            QuestionChoice::new('n', "no").with_aliases(&["d", "deny"]),
            QuestionChoice::new('y', "yes, until hermes exits").with_aliases(&["yes"]),
            QuestionChoice::new('a', "always").with_aliases(&["always"]),
        ],
        free_text: false,
        secret: false,
    }
}
