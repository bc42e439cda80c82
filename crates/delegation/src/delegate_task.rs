//! The `delegate_task` tool.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_agent::{ModelParams, ParentAgent};
use hermes_core::{
    Availability, Effect, ErrorKind, JsonSchema, NoticeSink, SchemaOverride, Scope, Tool,
    ToolContext, ToolError, ToolExample, ToolSpec, WorkingDir,
};
use hermes_engine::Engine;
use hermes_llm::LanguageModel;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::background::{DelegationJob, DelegationSummary, DelegationView};
use crate::output_schema::OutputSchema;
use crate::pool::SubagentPool;
use crate::progress_board::ProgressBoard;
use crate::report::{SubagentReport, SubagentStatus, UsageTotal};
use crate::rounding::rounded_seconds;
use crate::run_tasks::run_all;
use crate::subagent::{MAX_GOAL_CHARS, ParentContext};
use crate::task::{
    self, PreparedTask, SubagentRole, TaskRequest, allowance_per_task, exhausted_resource,
};
use crate::toolset::{SubagentTools, ToolSelector};
use hermes_core::text::one_line_excerpt;

/// Name of the tool.
pub(crate) const TOOL_NAME: &str = "delegate_task";

/// Upper bound on the run time of sub-agents, whatever the settings.
const MAX_RUN_TIME: Duration = Duration::from_secs(24 * 60 * 60);
/// Default timeout of `wait`.
const DEFAULT_WAIT_SECONDS: f64 = 300.0;

const TOOL_DESCRIPTION: &str = "Hand a task to a sub-agent and get its report. For work that \
would fill this conversation, or independent parts in parallel (`tasks`); not for one call. It \
does not see this conversation: give it all it needs. Verify its report.";

/// Hands tasks to sub-agents.
#[derive(Debug)]
pub(crate) struct DelegateTask {
    pool: Arc<SubagentPool>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DelegationAction {
    #[default]
    Run,
    List,
    Poll,
    Wait,
    Cancel,
    Steer,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The task, self-contained
    #[serde(default)]
    goal: Option<String>,
    /// Paths, errors, decisions it needs
    #[serde(default)]
    context: Option<String>,
    /// Parallel tasks instead
    #[serde(default)]
    tasks: Option<Vec<TaskRequest>>,
    /// Leaf toolsets
    #[serde(default)]
    toolsets: Option<Vec<String>>,
    /// orchestrator: may delegate too
    #[serde(default)]
    role: Option<SubagentRole>,
    /// Max model calls
    #[serde(default)]
    max_iterations: Option<u32>,
    /// JSON schema of the answer
    #[serde(default)]
    output_schema: Option<Map<String, Value>>,
    /// Return a handle at once
    #[serde(default)]
    background: bool,
    /// For background work
    #[serde(default)]
    action: DelegationAction,
    /// From `background`; HANDLE/N: its task N
    #[serde(default)]
    handle: Option<String>,
    /// For steer
    #[serde(default)]
    message: Option<String>,
    /// Max seconds to wait
    #[serde(default)]
    timeout: Option<f64>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum DelegationAnswer {
    Done {
        results: Vec<SubagentReport>,
        total_duration_seconds: f64,
        total: UsageTotal,
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    Dispatched {
        status: &'static str,
        handle: String,
        count: usize,
        goals: Vec<String>,
        note: String,
    },
    Job(DelegationView),
    Jobs {
        delegations: Vec<DelegationSummary>,
    },
}

impl DelegateTask {
    pub(crate) fn new(crew: Arc<SubagentPool>) -> Self {
        Self { pool: crew }
    }
}

impl Args {
    /// Returns the requested tasks, with shared options applied.
    fn tasks(&self) -> Vec<TaskRequest> {
        let is_batch = self.tasks.as_ref().is_some_and(|tasks| !tasks.is_empty());
        // With `tasks`, the goal is context for all of them.
        let whole = self.goal.as_deref().filter(|goal| is_batch && !goal.trim().is_empty());
        let all = join_context(whole, self.context.as_deref());
        let common = |task: &TaskRequest| TaskRequest {
            context: join_context(all.as_deref(), task.context.as_deref()),
            toolsets: task.toolsets.clone().or_else(|| self.toolsets.clone()),
            role: task.role.or(self.role),
            max_iterations: task.max_iterations.or(self.max_iterations),
            goal: task.goal.clone(),
        };
        match (&self.tasks, &self.goal) {
            (Some(tasks), _) if !tasks.is_empty() => tasks.iter().map(common).collect(),
            (_, Some(goal)) => {
                vec![common(&TaskRequest { goal: goal.clone(), ..TaskRequest::default() })]
            }
            _ => Vec::new(),
        }
    }
}

/// Joins the shared context and that of one task.
fn join_context(all: Option<&str>, one: Option<&str>) -> Option<String> {
    match (all, one) {
        (Some(all), Some(one)) => Some(format!("{}\n\n{}", all.trim(), one.trim())),
        (all, one) => all.or(one).map(str::to_owned),
    }
}

impl Tool for DelegateTask {
    type Args = Args;
    type Output = DelegationAnswer;

    fn was_stopped(answer: &DelegationAnswer) -> bool {
        let is_stopped = |report: &SubagentReport| report.status == SubagentStatus::Interrupted;
        matches!(answer, DelegationAnswer::Done { results, .. } if results.iter().any(is_stopped))
    }

    fn spec() -> ToolSpec {
        ToolSpec::new(TOOL_NAME, "delegation")
            .emoji("🔀")
            .description(TOOL_DESCRIPTION)
            .parameter_alias("task", "goal")
            .parameter_alias("prompt", "goal")
            .parameter_alias("delegation_id", "handle")
            .timeout(MAX_RUN_TIME)
            .keyword("subagent")
            .keyword("sub-agent")
            .keyword("parallel")
            .keyword("spawn")
            .example(ToolExample::new(
                "Two tasks in parallel",
                r#"{"tasks":[{"goal":"List the public functions of src/a.rs"},{"goal":"List those of src/b.rs"}]}"#,
            ))
    }

    fn overrides(&self) -> Option<SchemaOverride> {
        let settings = &self.pool.settings;
        let description = format!(
            "{TOOL_DESCRIPTION} At most {} run at a time, the rest queue; each may make {} \
             model calls.",
            settings.max_parallel, settings.max_rounds
        );
        Some([("description".to_owned(), Value::from(description))].into_iter().collect())
    }

    fn effects(&self, args: &Args, _at: &WorkingDir) -> Vec<Effect> {
        let named = |name: String| Effect::name(Scope::AGENT_DELEGATE, name);
        if args.action != DelegationAction::Run {
            return vec![named(args.handle.clone().unwrap_or_else(|| "list".to_owned()))];
        }
        let tasks = args.tasks();
        if tasks.is_empty() {
            return vec![Effect::any(Scope::AGENT_DELEGATE)];
        }
        tasks.iter().map(|task| named(one_line_excerpt(&task.goal, MAX_GOAL_CHARS))).collect()
    }

    async fn check(&self) -> Availability {
        self.pool.host.availability()
    }

    async fn teardown(&self) {
        self.pool.close().await;
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<DelegationAnswer, ToolError> {
        let session = cx.session.id();
        if args.action == DelegationAction::List {
            return Ok(DelegationAnswer::Jobs { delegations: self.pool.background.list(session) });
        }
        if args.action != DelegationAction::Run {
            let handle = args.handle.as_deref().unwrap_or_default();
            let (job, task) = self.pool.background.find_task(session, handle)?;
            if args.action == DelegationAction::Steer {
                job.steer(task, args.message.as_deref().unwrap_or_default())?;
            }
            return control_job(args.action, args.timeout, &job, task, cx).await;
        }
        self.delegate(&args, cx).await
    }
}

/// Polls, waits for or cancels a background delegation. A single task is
/// cancelled without waiting for the others.
async fn control_job(
    action: DelegationAction,
    timeout: Option<f64>,
    job: &DelegationJob,
    task: Option<usize>,
    cx: &ToolContext,
) -> Result<DelegationAnswer, ToolError> {
    let most = timeout.unwrap_or(DEFAULT_WAIT_SECONDS).max(0.0);
    let most = Duration::try_from_secs_f64(most).unwrap_or(Duration::MAX);
    if action == DelegationAction::Cancel {
        job.stop(task);
    }
    let is_whole_cancelled = action == DelegationAction::Cancel && task.is_none();
    if action == DelegationAction::Wait || is_whole_cancelled {
        // On timeout, the current state is returned.
        let _ = cx
            .run_until_cancelled(tokio::time::timeout(most.min(MAX_RUN_TIME), job.wait()))
            .await?;
    }
    if !job.is_running()
        && let Some(notices) = cx.ports.get::<dyn NoticeSink>()
    {
        notices.withdraw_completion(cx.session.id(), job.handle());
    }
    Ok(DelegationAnswer::Job(job.view()))
}

impl DelegateTask {
    async fn delegate(&self, args: &Args, cx: &ToolContext) -> Result<DelegationAnswer, ToolError> {
        let tasks = args.tasks();
        task::check_tasks(&tasks)?;
        let (engine, stop) = self.pool.engine()?;
        let standing = cx.ports.get::<ParentAgent>();
        self.check_parent(standing.as_deref())?;
        let (model, manner) =
            cx.run_until_cancelled(self.resolve_model(standing.as_deref())).await??;
        let output = args.output_schema.as_ref().map(OutputSchema::new).transpose()?.map(Arc::new);
        let mut orders =
            self.prepare_tasks(&tasks, &engine, &*model, standing.as_deref(), cx).await?;
        orders.iter_mut().for_each(|order| order.output.clone_from(&output));
        let goals: Vec<String> =
            orders.iter().map(|order| one_line_excerpt(&order.goal, MAX_GOAL_CHARS)).collect();
        let (turn, turn_session) = match &standing {
            Some(agent) => (Arc::clone(&agent.turn), Arc::clone(&agent.turn_session)),
            // Without an agent, the call is a turn.
            None => (hermes_core::ids::unique_id().into(), cx.session.id().into()),
        };
        let parent = Arc::new(ParentContext {
            pool: Arc::clone(&self.pool),
            engine,
            model,
            model_params: manner,
            session: cx.session.clone(),
            turn,
            turn_session,
            workplace: Arc::clone(&cx.working_dir),
            ports: Arc::clone(&cx.ports),
            slots: self.pool.slots_for(cx.session.id(), &cx.task_id),
            tasks: orders.len(),
            parent_agent: standing,
        });
        let (in_background, note) = background_decision(args, &parent, cx);
        if in_background {
            return self.dispatch(parent, orders, goals, stop.child_token());
        }
        let began = Instant::now();
        let board = Arc::new(ProgressBoard::new(goals, Some(cx.clone())));
        let reports = run_all(parent, orders, board, cx.cancel.child_token()).await;
        build_answer(reports, began.elapsed(), note)
    }

    /// Fails if this agent may not start sub-agents.
    fn check_parent(&self, standing: Option<&ParentAgent>) -> Result<(), ToolError> {
        let Some(standing) = standing else { return Ok(()) };
        let most = self.pool.settings.max_depth;
        if standing.depth >= most {
            let message = format!("Sub-agents are already nested {most} deep, which is the limit");
            return Err(ToolError::limit(message).with_hint("Do the task yourself."));
        }
        if let Some(what) = exhausted_resource(&standing.budget, true) {
            let message = format!("No budget left to delegate: the task has used up {what}");
            return Err(ToolError::limit(message).with_hint("Answer with what you have."));
        }
        Ok(())
    }

    async fn resolve_model(
        &self,
        standing: Option<&ParentAgent>,
    ) -> Result<(Arc<dyn LanguageModel>, ModelParams), ToolError> {
        match (self.pool.settings.model.as_deref(), standing) {
            (None, Some(standing)) => Ok((Arc::clone(&standing.model), standing.params.clone())),
            (name, _) => self.pool.host.model(name).await.map_err(ToolError::unavailable),
        }
    }

    /// Resolves the tools and budget of each task.
    async fn prepare_tasks(
        &self,
        tasks: &[TaskRequest],
        engine: &Engine,
        model: &dyn LanguageModel,
        standing: Option<&ParentAgent>,
        cx: &ToolContext,
    ) -> Result<Vec<PreparedTask>, ToolError> {
        let settings = &self.pool.settings;
        let held: HashSet<String> = cx
            .engine
            .as_ref()
            .map(|host| host.tool_names())
            .unwrap_or_default()
            .into_iter()
            .collect();
        let outfitter = ToolSelector {
            engine,
            parent_tools: held,
            blocked: &settings.blocked,
            window: model.window(),
        };
        let depth = standing.map_or(0, |standing| standing.depth).saturating_add(1);
        let mut orders = Vec::with_capacity(tasks.len());
        // Tasks with the same tools share one selection.
        let mut outfits: HashMap<(Option<&[String]>, bool), SubagentTools> = HashMap::new();
        for (index, task) in tasks.iter().enumerate() {
            let mut notes = Vec::new();
            let wants = task.role == Some(SubagentRole::Orchestrator);
            let may = settings.allow_orchestrators && depth < settings.max_depth;
            if wants && !may {
                notes.push(
                    "It ran without sub-agents: nested delegation is not allowed here".to_owned(),
                );
            }
            let toolsets = task.toolsets.as_deref().or(settings.default_toolsets.as_deref());
            let outfit = match outfits.entry((toolsets, wants && may)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(free) => free.insert(outfitter.select(toolsets, wants && may).await?),
            };
            let budget = standing.map(|standing| &standing.budget);
            orders.push(PreparedTask {
                index,
                goal: task.goal.trim().to_owned(),
                context: task.context.clone().unwrap_or_default(),
                tools: Arc::clone(&outfit.tools),
                scope: Arc::clone(&outfit.scope),
                allowance: allowance_per_task(budget, tasks.len(), task.max_iterations, settings),
                output: None,
                notes,
            });
        }
        Ok(orders)
    }

    fn dispatch(
        &self,
        parent: Arc<ParentContext>,
        orders: Vec<PreparedTask>,
        goals: Vec<String>,
        cancel: hermes_core::CancellationToken,
    ) -> Result<DelegationAnswer, ToolError> {
        let board = Arc::new(ProgressBoard::new(goals.clone(), None));
        let session = parent.session.id().to_owned();
        let begun =
            self.pool.background.begin(&session, goals.clone(), Arc::clone(&board), cancel.clone());
        let job = begun?;
        let handle = job.handle().to_owned();
        let notices = parent.ports.get::<dyn NoticeSink>();
        tokio::spawn(async move {
            let reports = run_all(parent, orders, board, cancel).await;
            job.finish(reports, notices.as_deref());
        });
        let note = format!(
            "Running in the background. You get a notice when it ends; to wait for it, call \
             {TOOL_NAME} with action wait and handle {handle}. It ends with this session."
        );
        Ok(DelegationAnswer::Dispatched {
            status: "dispatched",
            count: goals.len(),
            handle,
            goals,
            note,
        })
    }
}

/// Whether to run in the background; if that was requested but is not possible,
/// why.
fn background_decision(
    args: &Args,
    parent: &ParentContext,
    cx: &ToolContext,
) -> (bool, Option<String>) {
    if !args.background {
        return (false, None);
    }
    let may = match &parent.parent_agent {
        // A sub-agent's session ends with it.
        Some(standing) => standing.depth == 0,
        // A single call ends before it could be polled.
        None => {
            let notices = cx.ports.get::<dyn NoticeSink>();
            notices.is_some_and(|notices| notices.has_listener(cx.session.id()))
        }
    };
    let why = "Ran in the foreground: no later turn could receive the result".to_owned();
    (may, (!may).then_some(why))
}

fn build_answer(
    results: Vec<SubagentReport>,
    took: Duration,
    note: Option<String>,
) -> Result<DelegationAnswer, ToolError> {
    let total = UsageTotal::sum(&results);
    if results.iter().any(|report| report.status != SubagentStatus::Failed) {
        let total_duration_seconds = rounded_seconds(took);
        return Ok(DelegationAnswer::Done { results, total_duration_seconds, total, note });
    }
    let first = results.first();
    let why = first.and_then(|report| report.error.as_deref()).unwrap_or_default();
    let message = match results.len() {
        1 => format!("The sub-agent failed: {why}"),
        count => format!("All {count} sub-agents failed; the first error: {why}"),
    };
    let kind = first.and_then(|report| report.kind).unwrap_or(ErrorKind::Internal);
    let mut error = ToolError::new(kind, message);
    if let Some(hint) = first.and_then(|report| report.hint.clone()) {
        error = error.with_hint(hint);
    }
    let results = serde_json::to_value(&results).unwrap_or_default();
    Err(error.with("results", results))
}
