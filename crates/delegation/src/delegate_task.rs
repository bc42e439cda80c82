//! Tasks for sub-agents.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_agent::{ModelParams, ParentAgent};
use hermes_core::{
    Availability, Effect, ErrorKind, ToolExample, JsonSchema, NoticeSink, SchemaOverride, Scope, Tool,
    ToolContext, ToolError, ToolSpec, WorkingDir,
};
use hermes_engine::Engine;
use hermes_llm::LanguageModel;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::background::{Job, Line, View};
use crate::board::Board;
use crate::child::{GOAL, Parent};
use crate::crew::Crew;
use crate::order::{self, Order, Role, Task, share, used_up};
use crate::outfit::{Outfit, Outfitter};
use crate::report::{Report, Status, Total};
use crate::text::{excerpt, seconds};
use crate::together::see_through;

/// The name of the tool.
pub(crate) const NAME: &str = "delegate_task";

/// The longest that sub-agents work, whatever else is set.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// How long `wait` waits, unless asked.
const WAIT: f64 = 300.0;

const DESCRIPTION: &str = "\
Hand a task to a sub-agent and get its report. For work that would fill this conversation, and for independent \
parts side by side (`tasks`); not for a single call. It sees nothing of this conversation: say all it needs. \
Check what matters in its report.";

/// Hands tasks to sub-agents.
#[derive(Debug)]
pub(crate) struct DelegateTask {
    crew: Arc<Crew>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    #[default]
    Run,
    List,
    Poll,
    Wait,
    Cancel,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The task, complete in itself
    #[serde(default)]
    goal: Option<String>,
    /// What it must know: paths, errors, decisions
    #[serde(default)]
    context: Option<String>,
    /// Several tasks instead
    #[serde(default)]
    tasks: Option<Vec<Task>>,
    /// Some of yours; default all
    #[serde(default)]
    toolsets: Option<Vec<String>>,
    /// orchestrator: may delegate in turn
    #[serde(default)]
    role: Option<Role>,
    /// Most model calls
    #[serde(default)]
    max_iterations: Option<u32>,
    /// Answer at once with a handle
    #[serde(default)]
    background: bool,
    /// For background work
    #[serde(default)]
    action: Action,
    /// What `background` answered
    #[serde(default)]
    handle: Option<String>,
    /// Most seconds to wait
    #[serde(default)]
    timeout: Option<f64>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Answer {
    Done {
        results: Vec<Report>,
        total_duration_seconds: f64,
        total: Total,
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
    Job(View),
    Jobs {
        delegations: Vec<Line>,
    },
}

impl DelegateTask {
    pub(crate) fn new(crew: Arc<Crew>) -> Self {
        Self { crew }
    }
}

impl Args {
    /// What is asked for, one by one.
    fn tasks(&self) -> Vec<Task> {
        let is_batch = self.tasks.as_ref().is_some_and(|tasks| !tasks.is_empty());
        // A goal beside tasks is what they are all for.
        let whole = self.goal.as_deref().filter(|goal| is_batch && !goal.trim().is_empty());
        let all = joined(whole, self.context.as_deref());
        let common = |task: &Task| Task {
            context: joined(all.as_deref(), task.context.as_deref()),
            toolsets: task.toolsets.clone().or_else(|| self.toolsets.clone()),
            role: task.role.or(self.role),
            max_iterations: task.max_iterations.or(self.max_iterations),
            goal: task.goal.clone(),
        };
        match (&self.tasks, &self.goal) {
            (Some(tasks), _) if !tasks.is_empty() => tasks.iter().map(common).collect(),
            (_, Some(goal)) => vec![common(&Task { goal: goal.clone(), ..Task::default() })],
            _ => Vec::new(),
        }
    }
}

/// What all tasks must know, and what one must.
fn joined(all: Option<&str>, one: Option<&str>) -> Option<String> {
    match (all, one) {
        (Some(all), Some(one)) => Some(format!("{}\n\n{}", all.trim(), one.trim())),
        (all, one) => all.or(one).map(str::to_owned),
    }
}

impl Tool for DelegateTask {
    type Args = Args;
    type Output = Answer;

    fn was_stopped(answer: &Answer) -> bool {
        let is_stopped = |report: &Report| report.status == Status::Interrupted;
        matches!(answer, Answer::Done { results, .. } if results.iter().any(is_stopped))
    }

    fn spec() -> ToolSpec {
        ToolSpec::new(NAME, "delegation")
            .emoji("🔀")
            .description(DESCRIPTION)
            .parameter_alias("task", "goal")
            .parameter_alias("prompt", "goal")
            .parameter_alias("delegation_id", "handle")
            .timeout(LONGEST)
            .keyword("subagent")
            .keyword("sub-agent")
            .keyword("parallel")
            .keyword("spawn")
            .example(ToolExample::new(
                "Two tasks side by side",
                r#"{"tasks":[{"goal":"List the public functions of src/a.rs"},{"goal":"List those of src/b.rs"}]}"#,
            ))
    }

    fn overrides(&self) -> Option<SchemaOverride> {
        let settings = &self.crew.settings;
        let description = format!(
            "{DESCRIPTION} At most {} work at a time, others wait; each may ask its model {} times.",
            settings.at_once, settings.rounds
        );
        Some([("description".to_owned(), Value::from(description))].into_iter().collect())
    }

    fn effects(&self, args: &Args, _at: &WorkingDir) -> Vec<Effect> {
        let named = |name: String| Effect::name(Scope::AGENT_DELEGATE, name);
        if args.action != Action::Run {
            return vec![named(args.handle.clone().unwrap_or_else(|| "list".to_owned()))];
        }
        let tasks = args.tasks();
        if tasks.is_empty() {
            return vec![Effect::any(Scope::AGENT_DELEGATE)];
        }
        tasks.iter().map(|task| named(excerpt(&task.goal, GOAL))).collect()
    }

    async fn check(&self) -> Availability {
        self.crew.supply.availability()
    }

    async fn teardown(&self) {
        self.crew.close().await;
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Answer, ToolError> {
        let session = cx.session.id();
        if args.action == Action::List {
            return Ok(Answer::Jobs { delegations: self.crew.background.list(session) });
        }
        if args.action != Action::Run {
            let handle = args.handle.as_deref().unwrap_or_default();
            let job = self.crew.background.find(session, handle)?;
            return attend(args.action, args.timeout, &job, cx).await;
        }
        self.delegate(&args, cx).await
    }
}

/// Asks after what is in the background, waits for it or stops it.
async fn attend(
    action: Action,
    timeout: Option<f64>,
    job: &Job,
    cx: &ToolContext,
) -> Result<Answer, ToolError> {
    let most = timeout.unwrap_or(WAIT).max(0.0);
    let most = Duration::try_from_secs_f64(most).unwrap_or(Duration::MAX);
    if action == Action::Cancel {
        job.cancel.cancel();
    }
    if matches!(action, Action::Wait | Action::Cancel) {
        // Whoever waits in vain is told how it stands.
        let _ = cx.run_until_cancelled(tokio::time::timeout(most.min(LONGEST), job.wait())).await?;
    }
    if !job.is_at_work()
        && let Some(notices) = cx.ports.get::<dyn NoticeSink>()
    {
        notices.withdraw_completion(cx.session.id(), job.handle());
    }
    Ok(Answer::Job(job.view()))
}

impl DelegateTask {
    async fn delegate(&self, args: &Args, cx: &ToolContext) -> Result<Answer, ToolError> {
        let tasks = args.tasks();
        order::check(&tasks)?;
        let (engine, stop) = self.crew.engine()?;
        let standing = cx.ports.get::<ParentAgent>();
        self.permit(standing.as_deref())?;
        let (model, manner) = cx.run_until_cancelled(self.model(standing.as_deref())).await??;
        let orders = self.orders(&tasks, &engine, &*model, standing.as_deref(), cx).await?;
        let goals: Vec<String> = orders.iter().map(|order| excerpt(&order.goal, GOAL)).collect();
        let parent = Arc::new(Parent {
            crew: Arc::clone(&self.crew),
            engine,
            model,
            manner,
            session: cx.session.clone(),
            workplace: Arc::clone(&cx.working_dir),
            ports: Arc::clone(&cx.ports),
            lane: self.crew.lane(cx.session.id(), &cx.task_id),
            tasks: orders.len(),
            standing,
        });
        let (in_background, note) = whether_in_background(args, &parent, cx);
        if in_background {
            return self.dispatch(parent, orders, goals, stop.child_token());
        }
        let began = Instant::now();
        let board = Arc::new(Board::new(goals, Some(cx.clone())));
        let reports = see_through(parent, orders, board, cx.cancel.child_token()).await;
        answer(reports, began.elapsed(), note)
    }

    /// An error if this agent cannot have sub-agents.
    fn permit(&self, standing: Option<&ParentAgent>) -> Result<(), ToolError> {
        let Some(standing) = standing else { return Ok(()) };
        let most = self.crew.settings.depth;
        if standing.depth >= most {
            let message = format!("Sub-agents stand {most} deep already, which is the limit");
            return Err(ToolError::limit(message).with_hint("Do the task yourself."));
        }
        if let Some(what) = used_up(&standing.budget, true) {
            let message = format!("Nothing is left to hand on: the task has used up {what}");
            return Err(ToolError::limit(message).with_hint("Answer with what is known."));
        }
        Ok(())
    }

    async fn model(
        &self,
        standing: Option<&ParentAgent>,
    ) -> Result<(Arc<dyn LanguageModel>, ModelParams), ToolError> {
        match (self.crew.settings.model.as_deref(), standing) {
            (None, Some(standing)) => Ok((Arc::clone(&standing.model), standing.params.clone())),
            (name, _) => self.crew.supply.model(name).await.map_err(ToolError::unavailable),
        }
    }

    /// The tasks, each with its tools and what it may use.
    async fn orders(
        &self,
        tasks: &[Task],
        engine: &Engine,
        model: &dyn LanguageModel,
        standing: Option<&ParentAgent>,
        cx: &ToolContext,
    ) -> Result<Vec<Order>, ToolError> {
        let settings = &self.crew.settings;
        let held: HashSet<String> =
            cx.engine.as_ref().map(|host| host.tool_names()).unwrap_or_default().into_iter().collect();
        let outfitter =
            Outfitter { engine, held, blocked: &settings.blocked, window: model.window() };
        let depth = standing.map_or(0, |standing| standing.depth).saturating_add(1);
        let mut orders = Vec::with_capacity(tasks.len());
        // Tasks that get the same tools share them.
        let mut outfits: HashMap<(Option<&[String]>, bool), Outfit> = HashMap::new();
        for (index, task) in tasks.iter().enumerate() {
            let mut notes = Vec::new();
            let wants = task.role == Some(Role::Orchestrator);
            let may = settings.orchestrators && depth < settings.depth;
            if wants && !may {
                notes.push("It worked without sub-agents, which are not allowed here".to_owned());
            }
            let toolsets = task.toolsets.as_deref();
            let outfit = match outfits.entry((toolsets, wants && may)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(free) => free.insert(outfitter.outfit(toolsets, wants && may).await?),
            };
            let budget = standing.map(|standing| &standing.budget);
            orders.push(Order {
                index,
                goal: task.goal.trim().to_owned(),
                context: task.context.clone().unwrap_or_default(),
                tools: Arc::clone(&outfit.tools),
                scope: Arc::clone(&outfit.scope),
                allowance: share(budget, tasks.len(), task.max_iterations, settings),
                notes,
            });
        }
        Ok(orders)
    }

    fn dispatch(
        &self,
        parent: Arc<Parent>,
        orders: Vec<Order>,
        goals: Vec<String>,
        cancel: hermes_core::CancellationToken,
    ) -> Result<Answer, ToolError> {
        let board = Arc::new(Board::new(goals.clone(), None));
        let session = parent.session.id().to_owned();
        let begun =
            self.crew.background.begin(&session, goals.clone(), Arc::clone(&board), cancel.clone());
        let job = begun?;
        let handle = job.handle().to_owned();
        let notices = parent.ports.get::<dyn NoticeSink>();
        tokio::spawn(async move {
            let reports = see_through(parent, orders, board, cancel).await;
            job.end(reports, notices.as_deref());
        });
        let note = format!(
            "It works in the background. You are told when it has ended; {NAME} with action wait and handle \
             {handle} waits for it. It ends with this session."
        );
        Ok(Answer::Dispatched { status: "dispatched", count: goals.len(), handle, goals, note })
    }
}

/// Whether it goes on in the background, and if not although it should, why.
fn whether_in_background(args: &Args, parent: &Parent, cx: &ToolContext) -> (bool, Option<String>) {
    if !args.background {
        return (false, None);
    }
    let may = match &parent.standing {
        // The session of a sub-agent ends with it.
        Some(standing) => standing.depth == 0,
        // A call by hand is over before anybody could ask.
        None => {
            let notices = cx.ports.get::<dyn NoticeSink>();
            notices.is_some_and(|notices| notices.has_listener(cx.session.id()))
        }
    };
    let why = "Nobody could be told later, so it did not go into the background".to_owned();
    (may, (!may).then_some(why))
}

fn answer(results: Vec<Report>, took: Duration, note: Option<String>) -> Result<Answer, ToolError> {
    let total = Total::of(&results);
    if results.iter().any(|report| report.status != Status::Failed) {
        let total_duration_seconds = seconds(took);
        return Ok(Answer::Done { results, total_duration_seconds, total, note });
    }
    let first = results.first();
    let why = first.and_then(|report| report.error.as_deref()).unwrap_or_default();
    let message = match results.len() {
        1 => format!("The sub-agent failed: {why}"),
        count => format!("All {count} sub-agents failed; the first: {why}"),
    };
    let kind = first.and_then(|report| report.kind).unwrap_or(ErrorKind::Internal);
    let mut error = ToolError::new(kind, message);
    if let Some(hint) = first.and_then(|report| report.hint.clone()) {
        error = error.with_hint(hint);
    }
    let results = serde_json::to_value(&results).unwrap_or_default();
    Err(error.with("results", results))
}
