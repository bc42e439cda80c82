use std::sync::Arc;
use std::time::Duration;

use hermes_agent::BudgetLimits;
use hermes_core::{
    ApprovalDecision, ApprovalRequest, ApprovalScope, Approver, BoxFuture, CallProposal, Policy,
    Ruling, Scope, Verdict,
};
use hermes_delegation::{DEFAULT_BLOCKED_TOOLS, DelegationSettings};
use hermes_engine::Engine;
use hermes_testkit::models::{ModelServer, ScriptedReply};
use serde_json::json;

use crate::stage::{Plan, Prop, Stage, calls, endless, json, says};

#[tokio::test]
async fn two_deep_is_the_limit() {
    let stage = Stage::new([says("go on", "Gone on.", 1)]);
    let result = stage.result_of(json!({"goal": "go on"}), &stage.at_depth(1)).await;
    assert!(result.is_success(), "{}", result.content);
    let result = stage.result_of(json!({"goal": "go on"}), &stage.at_depth(2)).await;
    assert_eq!(json(&result)["kind"], "limit", "{}", result.content);
    assert_eq!(stage.server.model_requests().len(), 1);
}

#[tokio::test]
async fn a_sub_agent_never_has_what_is_blocked() {
    let blocked = DEFAULT_BLOCKED_TOOLS.iter().filter(|name| **name != "delegate_task");
    let plan = Plan {
        builder: Engine::builder().tools(blocked.map(|name| Prop::named(name)).collect()),
        ..Plan::default()
    };
    let stage = Stage::with(
        [
            calls("try it", "send_message", &json!({})),
            calls("try it", "delegate_task", &json!({"goal": "more"})),
            says("try it", "It did not work.", 1),
        ],
        plan,
    );
    let answer = stage.delegate(json!({"goal": "try it"})).await;
    let offered = stage.offered("Your task: try it");
    assert!(offered.contains(&"write_file".to_owned()), "{offered:?}");
    assert!(
        !offered.iter().any(|name| DEFAULT_BLOCKED_TOOLS.contains(&name.as_str())),
        "{offered:?}"
    );
    let trace = answer["results"][0]["tool_trace"].as_array().unwrap();
    assert!(trace.iter().all(|step| step["status"] == "error"), "{trace:?}");
    assert_eq!(stage.server.model_requests().len(), 3, "nobody else was asked");
}

#[tokio::test]
async fn a_sub_agent_gets_what_was_asked_of_what_its_parent_has() {
    let plan = Plan {
        builder: Engine::builder().tools(vec![Prop::named("lamp"), Prop::named("siren")]),
        ..Plan::default()
    };
    let script = vec![ScriptedReply::says("Done.").again()];
    let stage = Stage::with(script, plan);
    stage.delegate(json!({"goal": "shine", "toolsets": ["lamp"]})).await;
    assert_eq!(stage.offered("Your task: shine"), ["lamp"]);
    stage.delegate(json!({"goal": "ponder", "toolsets": []})).await;
    assert!(stage.offered("Your task: ponder").is_empty());

    let mut caller = stage.caller.clone();
    let scope = stage.engine.full_scope().restrict(|name| name != "siren");
    caller.scope = Some(Arc::new(scope));
    let result = stage.result_of(json!({"goal": "make noise"}), &caller).await;
    assert!(result.is_success(), "{}", result.content);
    let offered = stage.offered("Your task: make noise");
    assert!(offered.contains(&"lamp".to_owned()) && !offered.contains(&"siren".to_owned()));

    let before = stage.server.model_requests().len();
    let wanted = json!({"goal": "make noise", "toolsets": ["siren"]});
    let result = stage.result_of(wanted, &caller).await;
    assert_eq!(json(&result)["kind"], "invalid_arguments", "{}", result.content);
    let error = stage.refusal(json!({"goal": "x", "toolsets": ["lampp"]})).await;
    assert_eq!(error["kind"], "invalid_arguments");
    assert!(error["error"].as_str().unwrap().contains("lamp"), "{error}");
    for wrong in [json!({}), json!({"goal": " "}), json!({"tasks": []}), json!({"tasks": [{}]})] {
        assert_eq!(stage.refusal(wrong).await["kind"], "invalid_arguments");
    }
    assert_eq!(stage.server.model_requests().len(), before, "nothing has begun");
}

#[tokio::test]
async fn a_call_that_names_no_toolsets_gives_the_configured_ones() {
    let settings = DelegationSettings {
        default_toolsets: Some(vec!["lamp".to_owned()]),
        ..DelegationSettings::default()
    };
    let plan = Plan {
        builder: Engine::builder().tools(vec![Prop::named("lamp"), Prop::named("siren")]),
        settings,
        ..Plan::default()
    };
    let stage = Stage::with(vec![ScriptedReply::says("Done.").again()], plan);
    stage.delegate(json!({"goal": "shine"})).await;
    assert_eq!(stage.offered("Your task: shine"), ["lamp"]);
    stage.delegate(json!({"goal": "warn", "toolsets": ["siren"]})).await;
    assert_eq!(stage.offered("Your task: warn"), ["siren"]);
}

#[tokio::test]
async fn a_sub_agent_gets_no_toolset_that_combines_others() {
    let stage = Stage::new(vec![ScriptedReply::says("Done.").again()]);
    for name in ["hermes-cli", "hermes-gateway", "debugging", "coding", "all", "*"] {
        let error = stage.refusal(json!({"goal": "look", "toolsets": ["file", name]})).await;
        assert_eq!(error["kind"], "invalid_arguments", "{name}");
        assert!(error["error"].as_str().unwrap().contains(name), "{error}");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("file") && !hint.contains("delegation"), "{hint}");
        assert!(!hint.contains("browser"), "only what the parent has: {hint}");
    }
    assert!(stage.server.model_requests().is_empty());
    stage.delegate(json!({"goal": "look", "toolsets": ["file"]})).await;
}

#[tokio::test]
async fn a_sub_agent_spends_the_turns_that_its_parent_has_left() {
    let list = || calls("look", "directory_list", &json!({"path": "."}));
    let allowance = BudgetLimits { rounds: Some(4), ..BudgetLimits::default() };
    let script = [list(), list(), list(), says("look", "Three looks.", 1)];
    let stage = Stage::with(script, Plan { allowance, ..Plan::default() });
    let answer = stage.delegate(json!({"goal": "look"})).await;
    let report = &answer["results"][0];
    assert_eq!(report["exit_reason"], "max_iterations", "{report}");
    assert!(report["error"].as_str().unwrap().contains("3 rounds"), "one is kept: {report}");
    let error = stage.refusal(json!({"goal": "look again"})).await;
    assert_eq!(error["kind"], "limit");
    assert!(error["error"].as_str().unwrap().contains("model calls"), "{error}");
    assert_eq!(stage.server.model_requests().len(), 4);
}

#[tokio::test]
async fn what_is_left_of_the_budget_is_all_there_is() {
    let list = |goal: &str| calls(goal, "directory_list", &json!({"path": "."}));
    let heavy = |input: u64| {
        let mut scene = list("look");
        let usage =
            hermes_testkit::models::ReplyStep::Usage { input, output: 0, cached: 0, cost: None };
        scene.steps.push(usage);
        scene
    };
    let plan = |tokens: u64| Plan {
        allowance: BudgetLimits { tokens: Some(tokens), ..BudgetLimits::default() },
        ..Plan::default()
    };
    let script = [heavy(2_500), heavy(2_500), says("look", "So far so good.", 0)];
    let stage = Stage::with(script, plan(10_000));
    let answer = stage.delegate(json!({"goal": "look"})).await;
    let report = &answer["results"][0];
    assert_eq!((&report["status"], &report["exit_reason"]), (&json!("partial"), &json!("budget")));
    assert_eq!(report["summary"], "So far so good.", "it is paid for by the budget");
    assert!(report["error"].as_str().unwrap().contains("all but 4000 of 9000 tokens"), "{report}");
    assert_eq!(stage.budget.spent().usage.input, 5_000);

    let stage = Stage::with([heavy(1_400)], plan(1_000));
    let answer = stage.delegate(json!({"goal": "look"})).await;
    let report = &answer["results"][0];
    assert_eq!((&report["status"], &report["exit_reason"]), (&json!("partial"), &json!("budget")));
    assert!(report["error"].as_str().unwrap().contains("900 tokens"), "{report}");
    let error = stage.refusal(json!({"goal": "look again"})).await;
    assert_eq!(error["kind"], "limit");
    assert_eq!(stage.server.model_requests().len(), 1, "nobody was asked any more");
}

#[tokio::test]
async fn rounds_are_counted_and_no_more_than_is_set() {
    let list = || calls("look", "directory_list", &json!({"path": "."}));
    let settings = DelegationSettings { max_rounds: 2, ..DelegationSettings::default() };
    let stage = Stage::with(
        [list(), list(), says("look", "Two looks.", 1)],
        Plan { settings, ..Plan::default() },
    );
    let answer = stage.delegate(json!({"goal": "look", "max_iterations": 500})).await;
    let report = &answer["results"][0];
    assert_eq!(report["exit_reason"], "max_iterations");
    assert_eq!(report["summary"], "Two looks.");
}

#[tokio::test]
async fn a_model_that_says_nothing_is_not_waited_for_beyond_the_time() {
    let (url, _told) = endless().await;
    let settings = DelegationSettings {
        time_limit: Some(Duration::from_millis(60)),
        ..DelegationSettings::default()
    };
    let plan = Plan { settings, ..Plan::default() };
    let stage = Stage::at(ModelServer::start(Vec::new()), &url, plan);
    let answer = stage.delegate(json!({"goal": "wait"})).await;
    let report = &answer["results"][0];
    assert_eq!((&report["status"], &report["exit_reason"]), (&json!("timeout"), &json!("timeout")));
}

/// Writing is asked about.
struct Careful;

impl Policy for Careful {
    fn judge(&self, proposal: &CallProposal<'_>) -> Ruling {
        let writes = proposal.effects.iter().any(|effect| effect.scope == Scope::FILE_WRITE);
        let verdict = if writes {
            Verdict::Ask { reason: "it writes".to_owned(), rule: "careful".to_owned() }
        } else {
            Verdict::Allow
        };
        Ruling::for_effects(verdict, proposal.effects)
    }
}

/// Says yes to a sub-agent that says that it is one.
struct Yes;

impl Approver for Yes {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision> {
        let is_reported = ["“dig”", "“write”"].iter().any(|goal| request.reason.contains(goal));
        Box::pin(async move {
            match is_reported {
                true => ApprovalDecision::Approved(ApprovalScope::Once),
                false => ApprovalDecision::Refused(None),
            }
        })
    }
}

/// Who may be asked about a sub-agent may be asked about its own, too.
#[tokio::test]
async fn the_same_person_is_asked_all_the_way_down() {
    let mut plan = Plan { builder: Engine::builder().policy(Arc::new(Careful)), ..Plan::default() };
    plan.services.approver = Some(Arc::new(Yes));
    let write = json!({"path": "deep.txt", "content": "x"});
    let script = [
        calls("dig", "write_file", &write),
        says("dig", "Dug.", 1),
        calls("lead", "delegate_task", &json!({"goal": "dig"})),
        says("lead", "Led.", 1),
    ];
    let mut stage = Stage::with(script, plan);
    stage.caller.session = hermes_core::Session::in_memory();
    *stage.services.person_of.lock() = Some(stage.caller.session.id().to_owned());
    stage.delegate(json!({"goal": "lead", "role": "orchestrator"})).await;
    assert!(stage.dir.path().join("deep.txt").exists());
}

#[tokio::test]
async fn without_anybody_to_ask_what_must_be_asked_is_not_done() {
    for (approver, expected) in [(None, "error"), (Some(Arc::new(Yes) as Arc<dyn Approver>), "ok")]
    {
        let mut plan =
            Plan { builder: Engine::builder().policy(Arc::new(Careful)), ..Plan::default() };
        plan.services.approver = approver;
        let write = json!({"path": "a.txt", "content": "x"});
        let script = [calls("write", "write_file", &write), says("write", "Tried.", 1)];
        let stage = Stage::with(script, plan);
        let answer = stage.delegate(json!({"goal": "write"})).await;
        let report = &answer["results"][0];
        assert_eq!(report["tool_trace"][0]["status"], expected);
        assert_eq!(stage.dir.path().join("a.txt").exists(), expected == "ok");
        assert_eq!(report["artifacts"].as_array().unwrap().len(), usize::from(expected == "ok"));
    }
}
