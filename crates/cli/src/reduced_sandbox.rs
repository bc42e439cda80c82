//! The question whether commands may run in the reduced sandbox, where the system
//! cannot hold the whole one. It is asked once.

use std::sync::Arc;

use hermes::core::{ApprovalDecision, ApprovalRequest, ApprovalScope, Approver, BoxFuture};
use hermes_chat::{QuestionChoice, UserQuestion};
use hermes_config::HermesHome;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::app::{AppContext, AppServices};
use crate::commands::config;
use crate::prompter::TerminalPrompter;
use crate::sandbox_support::{self, NamespaceObstacle, REDUCED_GAPS};

/// The rule by which a call is asked about that the system cannot hold.
const MISSING_RULE: &str = "sandbox: missing";

/// What stands between the rules of a question.
const RULE_SEPARATOR: &str = "; ";

/// The setting that keeps the answer.
const MISSING_SETTING: &str = "sandbox.missing";

/// What the person has said of the reduced sandbox since the program started.
pub(crate) type ReducedSandboxAnswer = Arc<Mutex<Option<bool>>>;

/// Asks about the reduced sandbox before anything else is asked about a call.
pub(crate) struct ReducedSandboxApprover {
    app: AppContext,
    home: HermesHome,
    keyboard: Arc<TerminalPrompter>,
    /// Who answers everything else.
    inner: Arc<dyn Approver>,
}

impl ReducedSandboxApprover {
    pub(crate) fn new(app: &AppContext, ready: &AppServices, person: Arc<dyn Approver>) -> Self {
        let (home, keyboard) = (ready.home.clone(), Arc::clone(&ready.prompter));
        Self { app: app.clone(), home, keyboard, inner: person }
    }

    /// Whether commands may run so. The first answer counts until the program ends.
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
                let told = format!("{MISSING_SETTING} could not be kept: {}", failure.message);
                self.app.terminal.warn(&told);
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
                    "The user does not want commands to run in the reduced sandbox".to_owned(),
                ));
            }
            // The call may have been asked about for more than that.
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
        title: "Run commands with the reduced sandbox?".to_owned(),
        body: vec![
            format!("This system has no user namespaces ({why})."),
            REDUCED_GAPS.to_owned(),
            "`hermes doctor` lists the ways to have the whole sandbox.".to_owned(),
        ],
        choices: vec![
            QuestionChoice::new('n', "no").with_aliases(&["d", "deny"]),
            QuestionChoice::new('y', "yes, until hermes ends").with_aliases(&["yes"]),
            QuestionChoice::new('a', "always").with_aliases(&["always"]),
        ],
        free_text: false,
        secret: false,
    }
}
