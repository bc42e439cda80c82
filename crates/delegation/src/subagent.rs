//! One sub-agent, from its first word to its report.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_agent::{
    Agent, AgentBudget, AgentParts, ModelParams, ParentAgent, TurnOutcome, policy_read_gate,
};
use hermes_core::{
    ApprovalDecision, ApprovalRequest, Approver, BoxFuture, CancellationToken, MemorySessionStore,
    Ports, Session, Taint, ToolError, WorkingDir,
};
use hermes_engine::{Caller, Engine, ResultSizeLimits};
use hermes_llm::{ContentPart, LanguageModel};
use hermes_threats::{ScanLevel, label, scan};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep_until;

use crate::pool::{SubagentPool, SubagentSpec};
use crate::progress_board::{ProgressBoard, ProgressWatcher};
use crate::prompt;
use crate::report::{EndCause, SubagentReport, SubagentStatus};
use crate::task::PreparedTask;
use crate::text::{excerpt, shorten};

/// As what a parent's strangers are known to its sub-agents.
const INHERITED_SOURCE: &str = "parent";
/// How much of a goal is shown.
pub(crate) const MAX_GOAL_BYTES: usize = 120;
/// How much of it is shown in a question.
const MAX_QUESTION_GOAL_BYTES: usize = 60;
/// What all reports of a call may take together, and what each may in any case.
const MAX_REPORTS_BYTES: usize = 60_000;
const MIN_REPORT_BYTES: usize = 2_000;

/// How long it is waited for that what a sub-agent has left is cleared away.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(10);
const CANCELLED_CLEANUP_TIMEOUT: Duration = Duration::from_millis(500);

/// Who is asked about the calls of an agent's sub-agents, and of theirs: a port
/// of their calls.
struct ApproverPort(Option<Arc<dyn Approver>>);

/// Asks for a sub-agent, and says so: whoever answers sees only what the agent
/// itself does.
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

/// What the sub-agents of a call have in common.
pub(crate) struct ParentContext {
    pub(crate) pool: Arc<SubagentPool>,
    pub(crate) engine: Engine,
    pub(crate) parent_agent: Option<Arc<ParentAgent>>,
    pub(crate) model: Arc<dyn LanguageModel>,
    pub(crate) model_params: ModelParams,
    pub(crate) session: Session,
    pub(crate) workplace: Arc<WorkingDir>,
    pub(crate) ports: Arc<Ports>,
    /// Where they stand in line.
    pub(crate) slots: Arc<Semaphore>,
    /// How many they are.
    pub(crate) tasks: usize,
}

/// A sub-agent that can begin.
struct PreparedSubagent {
    agent: Agent,
    session: Session,
    budget: AgentBudget,
}

impl ParentContext {
    /// How many agents are above a sub-agent.
    fn depth(&self) -> u8 {
        self.parent_agent.as_ref().map_or(0, |standing| standing.depth).saturating_add(1)
    }

    /// Sees one task through, once it is its turn.
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
        board.begin(order.index, &id, &ready.budget);
        let said = prompt::task(&order.goal, &order.context);
        let (outcome, is_late) = run_until_deadline(&mut ready, said, &stop).await;
        let cause = match outcome.end {
            hermes_agent::TurnEnd::Interrupted if is_late => EndCause::timed_out(),
            end => EndCause::from_end(end),
        };
        let said = LastMessage { text: outcome.text, session: &ready.session };
        let report = self.report(order, board, Some(said), cause);
        self.clean_up(&report, cancel.is_cancelled()).await;
        report
    }

    /// A sub-agent is through. What it has left is seen to in any case, but
    /// whoever was stopped does not wait long for it.
    pub(crate) async fn clean_up(&self, report: &SubagentReport, is_stopped: bool) {
        let supply = Arc::clone(&self.pool.host);
        let (id, status) = (report.session_id.clone(), report.status.name());
        let farewell = tokio::spawn(async move { supply.on_subagent_end(&id, status).await });
        let patience = if is_stopped { CANCELLED_CLEANUP_TIMEOUT } else { CLEANUP_TIMEOUT };
        let _ = tokio::time::timeout(patience, farewell).await;
    }

    fn prepare(
        &self,
        order: &PreparedTask,
        board: &Arc<ProgressBoard>,
        stop: &CancellationToken,
    ) -> Result<PreparedSubagent, ToolError> {
        let id = new_session_id();
        let budget = match &self.parent_agent {
            Some(standing) => standing.budget.child(order.allowance),
            None => AgentBudget::new(order.allowance),
        };
        let session = Session::new(id.as_str(), Arc::new(MemorySessionStore::default()));
        self.inherit_taint(&session)?;
        let cwd = self.workplace.cwd();
        let may_delegate = order.scope.contains(crate::delegate_task::TOOL_NAME);
        let mut system = prompt::system(&order.goal, cwd, &order.allowance, may_delegate);
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
                goal: excerpt(&order.goal, MAX_QUESTION_GOAL_BYTES),
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

    /// What strangers have said to the parent may be in the task, so the same
    /// rules count for the sub-agent.
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

    /// Whether the sub-agent has heard strangers. If so, its parent has now,
    /// too.
    fn propagate_taint(&self, session: &Session) -> bool {
        let taint = Taint::read(session).unwrap_or_default();
        let has_heard = taint.sources.iter().any(|source| source != INHERITED_SOURCE);
        if has_heard {
            // A session that cannot be written is reported by the tools that need it.
            let _ = Taint::record_source(
                &self.session,
                crate::delegate_task::TOOL_NAME,
                &taint.findings,
            );
        }
        has_heard
    }

    /// The report of one that has ended, or that never began.
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
        let text = said.map(|said| said.text).unwrap_or_default();
        let (text, summary_truncated) = shorten(text.trim(), most);
        let found = if untrusted { scan(&text, ScanLevel::Context) } else { Vec::new() };
        let mut findings: Vec<_> = found.iter().map(|finding| finding.id).collect();
        findings.dedup();
        let summary = match text {
            text if text.is_empty() => None,
            text if untrusted => Some(label(crate::delegate_task::TOOL_NAME, &text).text),
            text => Some(text),
        };
        let mut notes = order.notes.clone();
        if left.omitted_artifacts > 0 {
            notes.push(format!("{} more files were changed", left.omitted_artifacts));
        }
        let error = cause.error;
        SubagentReport {
            task_index: order.index,
            goal: excerpt(&order.goal, MAX_GOAL_BYTES),
            status: cause.status,
            exit_reason: cause.exit_reason,
            summary,
            summary_truncated,
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

/// What a sub-agent has said last, and its session.
pub(crate) struct LastMessage<'a> {
    text: String,
    session: &'a Session,
}

/// The turn of a sub-agent, and whether it had to be ended because its time
/// was up. A model that says nothing is not waited for.
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

/// An id that no other sub-agent has.
pub(crate) fn new_session_id() -> String {
    static NEXT_ID: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let next = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    format!("sub-{:x}-{:x}{next:x}", now.as_micros(), std::process::id())
}
