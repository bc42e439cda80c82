//! Runs one sub-agent from its task to its report.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use hermes_agent::{
    Agent, AgentBudget, AgentParts, ModelParams, ParentAgent, TurnEnd, TurnOutcome,
    policy_read_gate,
};
use hermes_core::{
    ApprovalDecision, ApprovalRequest, Approver, BoxFuture, CancellationToken, MemorySessionStore,
    Ports, Session, Taint, ToolError, WorkingDir,
};
use hermes_engine::{Caller, Engine, ResultSizeLimits};
use hermes_llm::{ContentPart, LanguageModel};
use hermes_threats::{ScanLevel, label, scan};
use serde_json::Value;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep_until;

use crate::output_schema::repair_message;
use crate::pool::{SubagentPool, SubagentSpec};
use crate::progress_board::{ProgressBoard, ProgressWatcher};
use crate::prompt;
use crate::report::{EndCause, SubagentReport, SubagentStatus};
use crate::task::PreparedTask;
use hermes_core::text::{omit_middle, one_line_excerpt};

/// Taint source that marks taint inherited from the parent.
const INHERITED_SOURCE: &str = "parent";
/// Maximum length of a displayed goal.
pub(crate) const MAX_GOAL_CHARS: usize = 120;
/// Maximum length of a goal in an approval request.
const MAX_QUESTION_GOAL_CHARS: usize = 60;
/// Maximum size of all reports of a call, and the minimum granted to each.
const MAX_REPORTS_BYTES: usize = 60_000;
const MIN_REPORT_BYTES: usize = 2_000;

/// Timeout for cleaning up after a sub-agent.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(10);
const CANCELLED_CLEANUP_TIMEOUT: Duration = Duration::from_millis(500);

/// Port with the approver for sub-agents at any depth.
struct ApproverPort(Option<Arc<dyn Approver>>);

/// Adds the sub-agent's goal to approval requests, because the user sees only
/// what the main agent does.
struct SubagentApprover {
    inner: Arc<dyn Approver>,
    goal: String,
}

impl Approver for SubagentApprover {
    fn ask(&self, mut request: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision> {
        request.reason = format!("{} (asked by the sub-agent for “{}”)", request.reason, self.goal);
        self.inner.ask(request)
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }
}

/// What the sub-agents of a call share.
pub(crate) struct ParentContext {
    pub(crate) pool: Arc<SubagentPool>,
    pub(crate) engine: Engine,
    pub(crate) parent_agent: Option<Arc<ParentAgent>>,
    pub(crate) model: Arc<dyn LanguageModel>,
    pub(crate) model_params: ModelParams,
    pub(crate) session: Session,
    /// The turn that the sub-agents' calls belong to, and its session.
    pub(crate) turn: Arc<str>,
    pub(crate) turn_session: Arc<str>,
    pub(crate) workplace: Arc<WorkingDir>,
    pub(crate) ports: Arc<Ports>,
    /// Concurrency slots.
    pub(crate) slots: Arc<Semaphore>,
    /// Number of tasks in the call.
    pub(crate) tasks: usize,
}

/// A sub-agent ready to start.
struct PreparedSubagent {
    agent: Agent,
    session: Session,
    budget: AgentBudget,
}

impl ParentContext {
    /// Nesting depth of the sub-agents.
    fn depth(&self) -> u8 {
        self.parent_agent.as_ref().map_or(0, |standing| standing.depth).saturating_add(1)
    }

    /// Runs one task once a slot is free.
    pub(crate) async fn run_task(
        &self,
        turn: impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>>,
        order: &PreparedTask,
        board: &Arc<ProgressBoard>,
        cancel: &CancellationToken,
    ) -> SubagentReport {
        let Some(Ok(_turn)) = cancel.run_until_cancelled(turn).await else {
            return self.report(order, board, None, EndCause::interrupted());
        };
        let stop = cancel.child_token();
        let mut ready = match self.prepare(order, board, &stop) {
            Ok(ready) => ready,
            Err(error) => return self.report(order, board, None, EndCause::failed(error)),
        };
        let id = ready.session.id().to_owned();
        board.begin(order.index, &id, &ready.budget, ready.agent.interrupt());
        let said = prompt::task(&order.goal, &order.context);
        let mut ended = run_until_deadline(&mut ready, said, &stop).await;
        let mut output = order.parse_output(&ended.0);
        if let Some(Err(why)) = &output {
            let said = repair_message(why);
            ended = run_until_deadline(&mut ready, said, &stop).await;
            output = order.parse_output(&ended.0);
        }
        let (outcome, is_late) = ended;
        let cause = match (outcome.end, &output) {
            (TurnEnd::Interrupted, _) if is_late => EndCause::timed_out(),
            (_, Some(Err(why))) => EndCause::invalid_output(why),
            (end, _) => EndCause::from_end(end),
        };
        let output = output.and_then(Result::ok);
        let said = LastMessage { text: outcome.text, output, session: &ready.session };
        let report = self.report(order, board, Some(said), cause);
        self.clean_up(&report, cancel.is_cancelled()).await;
        report
    }

    /// Cleans up after a sub-agent. Cleanup always completes, but a cancelled
    /// call does not wait long for it.
    pub(crate) async fn clean_up(&self, report: &SubagentReport, is_stopped: bool) {
        let supply = Arc::clone(&self.pool.host);
        let (id, status) = (report.session_id.clone(), report.status.name());
        let farewell = tokio::spawn(async move { supply.on_subagent_end(&id, status).await });
        let timeout = if is_stopped { CANCELLED_CLEANUP_TIMEOUT } else { CLEANUP_TIMEOUT };
        let _ = tokio::time::timeout(timeout, farewell).await;
    }

    fn prepare(
        &self,
        order: &PreparedTask,
        board: &Arc<ProgressBoard>,
        stop: &CancellationToken,
    ) -> Result<PreparedSubagent, ToolError> {
        let id = format!("sub-{}", hermes_core::ids::unique_id());
        let budget = match &self.parent_agent {
            Some(standing) => standing.budget.child(order.allowance),
            None => AgentBudget::new(order.allowance),
        };
        let session = Session::new(id.as_str(), Arc::new(MemorySessionStore::default()));
        self.inherit_taint(&session)?;
        let cwd = self.workplace.cwd();
        let may_delegate = order.scope.contains(crate::delegate_task::TOOL_NAME);
        let output = order.output.as_deref();
        let mut system = prompt::system(&order.goal, cwd, &order.allowance, may_delegate, output);
        let gate = policy_read_gate(&self.engine, &session, cwd);
        let mut guidance = self.pool.host.guidance(cwd, gate);
        if let Some(opening) = guidance.initial_text() {
            system.push_str("\n\n");
            system.push_str(&opening);
        }
        let child = SubagentSpec {
            id: &id,
            parent: self.session.id(),
            goal: &order.goal,
            system: &system,
            model: self.model.name(),
            cwd,
        };
        let journal = self.pool.host.journal(&child).map_err(ToolError::unavailable)?;
        let mut caller = Caller::new(cwd);
        caller.session = session.clone();
        caller.task_id = id.as_str().into();
        caller.turn = Some(Arc::clone(&self.turn));
        caller.turn_session = Some(Arc::clone(&self.turn_session));
        caller.home = self.workplace.home().map(Into::into);
        caller.cancel = stop.clone();
        let asked = self
            .ports
            .get::<ApproverPort>()
            .unwrap_or_else(|| Arc::new(ApproverPort(self.pool.host.approver(self.session.id()))));
        caller.approver = asked.0.as_ref().map(|asked| {
            let asked = Arc::clone(asked);
            Arc::new(SubagentApprover {
                inner: asked,
                goal: one_line_excerpt(&order.goal, MAX_QUESTION_GOAL_CHARS),
            }) as Arc<dyn Approver>
        });
        caller.scope = Some(Arc::clone(&order.scope));
        caller.limits =
            self.model.window().map(|window| ResultSizeLimits::for_window(Some(window)));
        caller.ports = Some(Arc::new(Ports::clone(&self.ports).with(asked)));
        caller.who = "subagent".into();
        let eyes = ProgressWatcher {
            board: Arc::clone(board),
            task_index: order.index,
            engine: self.engine.clone(),
            session: session.clone(),
            workplace: Arc::clone(&self.workplace),
            parent: self.parent_agent.as_ref().map(|parent| Arc::clone(&parent.observer)),
        };
        let makeup = AgentParts {
            engine: self.engine.clone(),
            caller,
            model: Arc::clone(&self.model),
            tools: Arc::clone(&order.tools),
            system,
            journal,
            observer: Arc::new(eyes),
            params: self.model_params.clone(),
            reminder: self.pool.host.reminder(),
            news: self.pool.host.event_reminder(),
            guidance,
            depth: self.depth(),
        };
        Ok(PreparedSubagent { agent: Agent::new(makeup, Vec::new()), session, budget })
    }

    /// Copies the parent's taint to the sub-agent: the task may contain
    /// untrusted text that the parent read.
    fn inherit_taint(&self, session: &Session) -> Result<(), ToolError> {
        let taint = Taint::read(&self.session)?;
        if taint.is_tainted() {
            Taint::record_source(session, INHERITED_SOURCE, &taint.findings)?;
        }
        for host in &taint.hosts {
            if let Some((scope, host)) = host.split_once(' ') {
                Taint::record_host(session, scope, host)?;
            }
        }
        Ok(())
    }

    /// Whether the sub-agent read untrusted text. If so, taints the parent too.
    fn propagate_taint(&self, session: &Session) -> bool {
        let taint = Taint::read(session).unwrap_or_default();
        let has_heard = taint.sources.iter().any(|source| source != INHERITED_SOURCE);
        if has_heard {
            // Tools that need the session report write failures.
            let _ = Taint::record_source(
                &self.session,
                crate::delegate_task::TOOL_NAME,
                &taint.findings,
            );
        }
        has_heard
    }

    /// Builds the report of a sub-agent that ended or never started.
    pub(crate) fn report(
        &self,
        order: &PreparedTask,
        board: &ProgressBoard,
        said: Option<LastMessage<'_>>,
        cause: EndCause,
    ) -> SubagentReport {
        board.end(order.index, cause.status);
        let left = board.take_record(order.index);
        let most = self
            .pool
            .settings
            .max_summary_chars
            .min((MAX_REPORTS_BYTES / self.tasks.max(1)).max(MIN_REPORT_BYTES));
        let untrusted = said.as_ref().is_some_and(|said| self.propagate_taint(said.session));
        let (text, output) = said.map(|said| (said.text, said.output)).unwrap_or_default();
        let text = omit_middle(text.trim(), most);
        let summary_truncated = matches!(text, Cow::Owned(_));
        let output = output.filter(|_| !summary_truncated);
        let found = if untrusted { scan(&text, ScanLevel::Context) } else { Vec::new() };
        let mut findings: Vec<_> = found.iter().map(|finding| finding.id).collect();
        findings.dedup();
        let summary = match text {
            text if text.is_empty() || output.is_some() => None,
            text if untrusted => Some(label(crate::delegate_task::TOOL_NAME, &text).text),
            text => Some(text.into_owned()),
        };
        let mut notes = order.notes.clone();
        if left.omitted_artifacts > 0 {
            notes.push(format!("{} more files were changed", left.omitted_artifacts));
        }
        let error = cause.error;
        SubagentReport {
            task_index: order.index,
            goal: one_line_excerpt(&order.goal, MAX_GOAL_CHARS),
            status: cause.status,
            exit_reason: cause.exit_reason,
            summary,
            summary_truncated,
            output,
            untrusted,
            findings,
            error: error.as_ref().map(|error| error.message().to_owned()),
            hint: error
                .as_ref()
                .filter(|_| cause.status == SubagentStatus::Failed)
                .map(|error| error.hint().to_owned()),
            artifacts: left.artifacts,
            api_calls: left.used.api_calls,
            tool_calls: left.used.tool_calls,
            tokens: left.used.tokens,
            cost_usd: left.used.cost_usd,
            duration_seconds: left.seconds,
            model: self.model.name().to_owned(),
            session_id: left.session,
            tool_trace: left.trace,
            tool_trace_omitted: left.omitted_calls,
            notes,
            kind: error.map(|error| error.kind()),
        }
    }
}

/// The last message of a sub-agent, and its session.
pub(crate) struct LastMessage<'a> {
    text: String,
    /// The value of the text, if it matches the required schema.
    output: Option<Value>,
    session: &'a Session,
}

impl PreparedTask {
    /// Parses the answer of a finished turn, if it has to match a schema.
    fn parse_output(&self, outcome: &TurnOutcome) -> Option<Result<Value, String>> {
        let is_done = outcome.end == TurnEnd::Done;
        self.output.as_ref().filter(|_| is_done).map(|schema| schema.parse(&outcome.text))
    }
}

/// Runs the turn of a sub-agent; the flag is whether the deadline ended it,
/// even if the model does not respond.
async fn run_until_deadline(
    ready: &mut PreparedSubagent,
    said: String,
    stop: &CancellationToken,
) -> (TurnOutcome, bool) {
    let deadline = ready.budget.deadline();
    let turn = ready.agent.run_turn(vec![ContentPart::Text { text: said }], &ready.budget);
    let Some(deadline) = deadline else { return (turn.await, false) };
    tokio::pin!(turn);
    tokio::select! {
        biased;
        outcome = &mut turn => (outcome, false),
        () = sleep_until(deadline.into()) => {
            stop.cancel();
            (turn.await, true)
        }
    }
}
