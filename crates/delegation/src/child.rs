//! One sub-agent, from its first word to its report.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_agent::{Agent, AgentBudget, AgentParts, ModelParams, TurnOutcome, ParentAgent, policy_read_gate};
use hermes_core::{
    ApprovalRequest, Approver, BoxFuture, CancellationToken, ApprovalDecision, MemorySessionStore, Ports,
    Session, Taint, ToolError, WorkingDir,
};
use hermes_engine::{Caller, Engine, ResultSizeLimits};
use hermes_llm::{LanguageModel, ContentPart};
use hermes_threats::{ScanLevel, label, scan};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep_until;

use crate::board::{Board, Eyes};
use crate::crew::{Child, Crew};
use crate::order::Order;
use crate::prompt;
use crate::report::{Cause, Report, Status};
use crate::text::{excerpt, fit};

/// As what a parent's strangers are known to its sub-agents.
const INHERITED: &str = "parent";
/// How much of a goal is shown.
pub(crate) const GOAL: usize = 120;
/// How much of it is shown in a question.
const SHOWN: usize = 60;
/// What all reports of a call may take together, and what each may in any case.
const ALL: usize = 60_000;
const EACH: usize = 2_000;

/// How long it is waited for that what a sub-agent has left is cleared away.
const AT_EASE: Duration = Duration::from_secs(10);
const IN_HASTE: Duration = Duration::from_millis(500);

/// Who is asked about the calls of an agent's sub-agents, and of theirs: a port
/// of their calls.
struct Asked(Option<Arc<dyn Approver>>);

/// Asks for a sub-agent, and says so: whoever answers sees only what the agent
/// itself does.
struct OnBehalf {
    asked: Arc<dyn Approver>,
    goal: String,
}

impl Approver for OnBehalf {
    fn ask(&self, mut request: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision> {
        request.reason = format!("{} (asked by the sub-agent for “{}”)", request.reason, self.goal);
        self.asked.ask(request)
    }

    fn name(&self) -> &'static str {
        self.asked.name()
    }
}

/// What the sub-agents of a call have in common.
pub(crate) struct Parent {
    pub(crate) crew: Arc<Crew>,
    pub(crate) engine: Engine,
    pub(crate) standing: Option<Arc<ParentAgent>>,
    pub(crate) model: Arc<dyn LanguageModel>,
    pub(crate) manner: ModelParams,
    pub(crate) session: Session,
    pub(crate) workplace: Arc<WorkingDir>,
    pub(crate) ports: Arc<Ports>,
    /// Where they stand in line.
    pub(crate) lane: Arc<Semaphore>,
    /// How many they are.
    pub(crate) tasks: usize,
}

/// A sub-agent that can begin.
struct Ready {
    agent: Agent,
    session: Session,
    budget: AgentBudget,
}

impl Parent {
    /// How many agents are above a sub-agent.
    fn depth(&self) -> u8 {
        self.standing.as_ref().map_or(0, |standing| standing.depth).saturating_add(1)
    }

    /// Sees one task through, once it is its turn.
    pub(crate) async fn work(
        &self,
        turn: impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>>,
        order: &Order,
        board: &Arc<Board>,
        cancel: &CancellationToken,
    ) -> Report {
        let Some(Ok(_turn)) = cancel.run_until_cancelled(turn).await else {
            return self.report(order, board, None, Cause::interrupted());
        };
        let stop = cancel.child_token();
        let mut ready = match self.prepare(order, board, &stop) {
            Ok(ready) => ready,
            Err(error) => return self.report(order, board, None, Cause::failed(error)),
        };
        let id = ready.session.id().to_owned();
        board.begin(order.index, &id, &ready.budget);
        let said = prompt::task(&order.goal, &order.context);
        let (outcome, is_late) = in_time(&mut ready, said, &stop).await;
        let cause = match outcome.end {
            hermes_agent::TurnEnd::Interrupted if is_late => Cause::late(),
            end => Cause::of(end),
        };
        let said = Said { text: outcome.text, session: &ready.session };
        let report = self.report(order, board, Some(said), cause);
        self.say_farewell(&report, cancel.is_cancelled()).await;
        report
    }

    /// A sub-agent is through. What it has left is seen to in any case, but
    /// whoever was stopped does not wait long for it.
    pub(crate) async fn say_farewell(&self, report: &Report, is_stopped: bool) {
        let supply = Arc::clone(&self.crew.supply);
        let (id, status) = (report.session_id.clone(), report.status.name());
        let farewell = tokio::spawn(async move { supply.farewell(&id, status).await });
        let patience = if is_stopped { IN_HASTE } else { AT_EASE };
        let _ = tokio::time::timeout(patience, farewell).await;
    }

    fn prepare(
        &self,
        order: &Order,
        board: &Arc<Board>,
        stop: &CancellationToken,
    ) -> Result<Ready, ToolError> {
        let id = fresh();
        let budget = match &self.standing {
            Some(standing) => standing.budget.child(order.allowance),
            None => AgentBudget::new(order.allowance),
        };
        let session = Session::new(id.as_str(), Arc::new(MemorySessionStore::default()));
        self.hand_down(&session)?;
        let cwd = self.workplace.cwd();
        let may_delegate = order.scope.contains(crate::delegate_task::NAME);
        let mut system = prompt::system(&order.goal, cwd, &order.allowance, may_delegate);
        let gate = policy_read_gate(&self.engine, &session, cwd);
        let mut guidance = self.crew.supply.guidance(cwd, gate);
        if let Some(opening) = guidance.initial_text() {
            system.push_str("\n\n");
            system.push_str(&opening);
        }
        let child = Child {
            id: &id,
            parent: self.session.id(),
            goal: &order.goal,
            system: &system,
            model: self.model.name(),
            cwd,
        };
        let journal = self.crew.supply.journal(&child).map_err(ToolError::unavailable)?;
        let mut caller = Caller::new(cwd);
        caller.session = session.clone();
        caller.task_id = id.as_str().into();
        caller.home = self.workplace.home().map(Into::into);
        caller.cancel = stop.clone();
        let asked = self
            .ports
            .get::<Asked>()
            .unwrap_or_else(|| Arc::new(Asked(self.crew.supply.approver(self.session.id()))));
        caller.approver = asked.0.as_ref().map(|asked| {
            let asked = Arc::clone(asked);
            Arc::new(OnBehalf { asked, goal: excerpt(&order.goal, SHOWN) }) as Arc<dyn Approver>
        });
        caller.scope = Some(Arc::clone(&order.scope));
        caller.limits = self.model.window().map(|window| ResultSizeLimits::for_window(Some(window)));
        caller.ports = Some(Arc::new(Ports::clone(&self.ports).with(asked)));
        caller.who = "subagent".into();
        let eyes = Eyes {
            board: Arc::clone(board),
            at: order.index,
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
            params: self.manner.clone(),
            reminder: self.crew.supply.reminder(),
            news: self.crew.supply.news(),
            guidance,
            depth: self.depth(),
        };
        Ok(Ready { agent: Agent::new(makeup, Vec::new()), session, budget })
    }

    /// What strangers have said to the parent may be in the task, so the same
    /// rules count for the sub-agent.
    fn hand_down(&self, session: &Session) -> Result<(), ToolError> {
        let taint = Taint::read(&self.session)?;
        if taint.is_tainted() {
            Taint::record_source(session, INHERITED, &taint.findings)?;
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
    fn hand_up(&self, session: &Session) -> bool {
        let taint = Taint::read(session).unwrap_or_default();
        let has_heard = taint.sources.iter().any(|source| source != INHERITED);
        if has_heard {
            // A session that cannot be written is reported by the tools that need it.
            let _ = Taint::record_source(&self.session, crate::delegate_task::NAME, &taint.findings);
        }
        has_heard
    }

    /// The report of one that has ended, or that never began.
    pub(crate) fn report(
        &self,
        order: &Order,
        board: &Board,
        said: Option<Said<'_>>,
        cause: Cause,
    ) -> Report {
        board.end(order.index, cause.status);
        let left = board.left(order.index);
        let most = self.crew.settings.summary.min((ALL / self.tasks.max(1)).max(EACH));
        let untrusted = said.as_ref().is_some_and(|said| self.hand_up(said.session));
        let text = said.map(|said| said.text).unwrap_or_default();
        let (text, summary_truncated) = fit(text.trim(), most);
        let found = if untrusted { scan(&text, ScanLevel::Context) } else { Vec::new() };
        let mut findings: Vec<_> = found.iter().map(|finding| finding.id).collect();
        findings.dedup();
        let summary = match text {
            text if text.is_empty() => None,
            text if untrusted => Some(label(crate::delegate_task::NAME, &text).text),
            text => Some(text),
        };
        let mut notes = order.notes.clone();
        if left.unshown > 0 {
            notes.push(format!("{} more files were changed", left.unshown));
        }
        let error = cause.error;
        Report {
            task_index: order.index,
            goal: excerpt(&order.goal, GOAL),
            status: cause.status,
            exit_reason: cause.exit_reason,
            summary,
            summary_truncated,
            untrusted,
            findings,
            error: error.as_ref().map(|error| error.message().to_owned()),
            hint: error
                .as_ref()
                .filter(|_| cause.status == Status::Failed)
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
            tool_trace_omitted: left.untraced,
            notes,
            kind: error.map(|error| error.kind()),
        }
    }
}

/// What a sub-agent has said last, and its session.
pub(crate) struct Said<'a> {
    text: String,
    session: &'a Session,
}

/// The turn of a sub-agent, and whether it had to be ended because its time
/// was up. A model that says nothing is not waited for.
async fn in_time(ready: &mut Ready, said: String, stop: &CancellationToken) -> (TurnOutcome, bool) {
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
pub(crate) fn fresh() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("sub-{:x}-{:x}{next:x}", now.as_micros(), std::process::id())
}
