use std::sync::Arc;
use std::sync::atomic::Ordering;

use hermes_agent::{Agent, AgentBudget, AgentParts, ModelParams, NullJournal, NullObserver};
use hermes_delegation::DelegationSettings;
use hermes_engine::{DeferralSettings, toolsets::ToolSelection};
use hermes_llm::{ChatMessage, ContentPart};
use hermes_testkit::models::{ReplyStep, ScriptedReply};
use serde_json::{Value, json};

use crate::stage::{Plan, Stage, calls, model_at, says};

#[tokio::test]
async fn a_task_is_done_and_told() {
    let stage = Stage::new([
        calls("make a note", "write_file", &json!({"path": "note.txt", "content": "hello\n"})),
        calls("make a note", "read_file", &json!({"path": "absent.txt"})),
        says("make a note", "The note is in note.txt.", 300),
    ]);
    let answer = stage.delegate(json!({"goal": "make a note", "context": "It says hello."})).await;
    let path = stage.dir.path().join("note.txt");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello\n");
    let report = &answer["results"][0];
    assert_eq!(report["status"], "completed");
    assert_eq!(report["exit_reason"], "completed");
    assert_eq!(report["summary"], "The note is in note.txt.");
    assert_eq!(report["artifacts"], json!([{"path": path.to_str().unwrap(), "change": "written"}]));
    assert_eq!((&report["api_calls"], &report["tool_calls"]), (&json!(3), &json!(2)));
    // The server counts 100 and 10 for each of the calls.
    assert_eq!(report["tokens"], json!({"input": 500, "output": 30}));
    let trace: Vec<_> =
        report["tool_trace"].as_array().unwrap().iter().map(|step| &step["status"]).collect();
    assert_eq!(trace, ["ok", "error"]);
    assert!(report.get("untrusted").is_none());

    // What it took is on the parent's account.
    let spent = stage.budget.spent();
    assert_eq!((spent.calls, spent.usage.input, spent.usage.output), (2, 500, 30));
    assert!((spent.usage.cost.unwrap() - 0.53).abs() < 1e-9);
    assert_eq!(spent.rounds, 3, "and so are its model requests");

    // It knew its task, and nothing else.
    let asked = stage.server.model_requests();
    let messages = asked[0]["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2);
    let system = messages[0]["content"].to_string();
    assert!(system.contains("sub-agent") && system.contains("50 answers"), "{system}");
    assert!(messages[1].to_string().contains("It says hello."));

    // Its conversation is a session of its own.
    let books = stage.services.books.0.lock();
    let (parent, said) = &books[report["session_id"].as_str().unwrap()];
    assert_eq!((parent.as_str(), said.len()), (stage.caller.session.id(), 6));
    assert_eq!(*stage.services.farewells.lock(), ["completed"]);
}

#[tokio::test]
async fn tasks_are_done_side_by_side_and_one_that_fails_harms_none() {
    let slow = |goal: &str, wait: u64| {
        ScriptedReply::from_steps([
            ReplyStep::Wait(wait),
            ReplyStep::Text(format!("{goal} is done")),
        ])
        .when(format!("Your task: {goal}"))
    };
    // Nothing is said to "dud".
    let stage = Stage::new([slow("one", 90), slow("two", 30), slow("four", 30), slow("six", 1)]);
    let goals = ["one", "two", "dud", "four", "panic", "six"];
    let tasks: Vec<Value> = goals.iter().map(|goal| json!({"goal": goal})).collect();
    let answer = stage.delegate(json!({"tasks": tasks, "context": "All know this."})).await;
    let shown: Vec<_> = answer["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|report| (report["goal"].as_str().unwrap(), report["status"].as_str().unwrap()))
        .collect();
    let expected = [
        ("one", "completed"),
        ("two", "completed"),
        ("dud", "failed"),
        ("four", "completed"),
        ("panic", "failed"),
        ("six", "completed"),
    ];
    assert_eq!(shown, expected, "in the order of the tasks");
    assert_eq!(answer["results"][3]["summary"], "four is done");
    let error = answer["results"][2]["error"].as_str().unwrap();
    assert!(error.contains("nothing to say"), "{error}");
    assert_eq!(answer["results"][4]["error"], "The sub-agent crashed");
    // The one that crashed never said farewell.
    assert!(stage.services.peak.load(Ordering::SeqCst) <= 3 + 1);
    assert!(
        stage
            .server
            .model_requests()
            .iter()
            .all(|body| body.to_string().contains("All know this."))
    );
}

/// Remembers what progress was shown.
#[derive(Default)]
struct Lines(parking_lot::Mutex<Vec<String>>);

impl hermes_engine::CallObserver for Lines {
    fn on_event(&self, event: &hermes_engine::CallEvent<'_>) {
        let hermes_engine::CallEvent::Progress { tool, progress, .. } = event else { return };
        let fraction = progress.fraction.unwrap_or_default();
        self.0.lock().push(format!("{tool} {fraction} {}", progress.message));
    }
}

#[tokio::test]
async fn what_they_do_is_shown_while_they_do_it() {
    let mut stage = Stage::new([
        calls("look", "directory_list", &json!({"path": "."})),
        says("look", "Looked.", 1),
        says("think", "Thought.", 1),
    ]);
    let lines = Arc::new(Lines::default());
    stage.caller.observer = Some(Arc::clone(&lines) as Arc<dyn hermes_engine::CallObserver>);
    // Models write lists as text now and then.
    let tasks = r#"[{"goal": "look"}, {"goal": "think"}]"#;
    stage.delegate(json!({"goal": "Know it all", "tasks": tasks})).await;
    let shown = lines.0.lock();
    let has = |part: &str| shown.iter().any(|line| line.contains(part));
    assert!(has("delegate_task 0 0 of 2 done"), "{shown:?}");
    assert!(has("1: directory_list ."), "{shown:?}");
    assert_eq!(shown.last().unwrap(), "delegate_task 1 2 of 2 done");
    assert!(
        stage.server.model_requests().iter().all(|body| body.to_string().contains("Know it all"))
    );
}

#[tokio::test]
async fn no_more_work_at_a_time_than_may() {
    let scenes: Vec<ScriptedReply> = vec![
        ScriptedReply::from_steps([ReplyStep::Wait(20), ReplyStep::Text("Done.".to_owned())])
            .again(),
    ];
    let settings = DelegationSettings { max_parallel: 2, ..DelegationSettings::default() };
    let stage = Stage::with(scenes, Plan { settings, ..Plan::default() });
    // Two calls of one agent share the line.
    let batch = |names: [&str; 3]| json!({"tasks": names.map(|goal| json!({"goal": goal}))});
    let (a, b) = tokio::join!(
        stage.delegate(batch(["a", "b", "c"])),
        stage.delegate(batch(["d", "e", "f"]))
    );
    for answer in [a, b] {
        let results = answer["results"].as_array().unwrap();
        assert!(results.iter().all(|report| report["status"] == "completed"), "{answer}");
    }
    assert_eq!(stage.services.peak.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn when_all_fail_the_call_fails_and_says_why() {
    let wrong = json!({"error": {"message": "Incorrect API key provided"}});
    let stage = Stage::new([ScriptedReply::fails(401, wrong)]);
    let error = stage.refusal(json!({"goal": "anything"})).await;
    assert_eq!(error["kind"], "unavailable", "{error}");
    assert!(error["error"].as_str().unwrap().starts_with("The sub-agent failed: "));
    assert_eq!(error["results"][0]["status"], "failed");
    assert_eq!(stage.budget.spent().usage.input, 0);
}

#[tokio::test]
async fn a_refusal_of_the_model_is_not_blamed_on_the_arguments() {
    let refused = json!({"error": {"message": "refused child", "type": "invalid_request_error"}});
    let stage = Stage::new([ScriptedReply::fails(400, refused)]);
    let error = stage.refusal(json!({"goal": "anything"})).await;
    assert_eq!(error["kind"], "unavailable", "{error}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("model") && !hint.contains("arguments"), "{error}");
}

#[tokio::test]
async fn a_configured_model_takes_the_place_of_the_parents() {
    let mut plan = Plan::default();
    let other = hermes_testkit::models::ModelServer::start([says("think", "Thought.", 5)]);
    plan.settings.model = Some("cheap".to_owned());
    plan.services.models.insert("cheap".to_owned(), model_at(&other.url(), "small-1"));
    let stage = Stage::with(Vec::new(), plan);
    let answer = stage.delegate(json!({"goal": "think"})).await;
    assert_eq!(answer["results"][0]["model"], "small-1");
    assert!(stage.server.model_requests().is_empty());

    let mut plan = Plan::default();
    plan.settings.model = Some("unheard-of".to_owned());
    let stage = Stage::with(Vec::new(), plan);
    let error = stage.refusal(json!({"goal": "think"})).await;
    assert_eq!(error["kind"], "unavailable");
}

/// An agent, its sub-agent that leads others, and theirs.
#[tokio::test]
async fn an_orchestrator_has_sub_agents_of_its_own_and_they_have_none() {
    let delegate = |goal: &str| json!({"goal": goal, "role": "orchestrator"});
    let write = json!({"path": "deep.txt", "content": "x"});
    let stage = Stage::new([
        calls("dig", "write_file", &write),
        says("dig", "Dug.", 100),
        calls("lead", "delegate_task", &delegate("dig")),
        says("lead", "They have dug.", 100),
        ScriptedReply::calls("delegate_task", &delegate("lead").to_string())
            .when("You are the first."),
        ScriptedReply::says("All is done.").when("You are the first."),
    ]);
    let all = stage
        .engine
        .definitions(&ToolSelection::default(), DeferralSettings::default())
        .await
        .unwrap();
    let mut caller = stage.caller.clone();
    caller.ports = None;
    let makeup = AgentParts {
        engine: stage.engine.clone(),
        caller,
        model: model_at(&stage.server.url(), "first"),
        tools: serde_json::from_str::<Vec<Value>>(&all.json).unwrap().into(),
        system: "You are the first.".to_owned(),
        journal: Arc::new(NullJournal),
        observer: Arc::new(NullObserver),
        params: ModelParams::default(),
        reminder: None,
        news: None,
        guidance: Default::default(),
        depth: 0,
    };
    let mut agent = Agent::new(makeup, Vec::new());
    let budget = AgentBudget::new(Default::default());
    let outcome = agent.run_turn(vec![ContentPart::Text { text: "go".to_owned() }], &budget).await;
    assert_eq!(outcome.text, "All is done.");
    let ChatMessage::Tool(shown) = &agent.conversation().messages()[2] else { panic!("no answer") };
    let shown: Value = serde_json::from_str(&shown.content).unwrap();
    let report = &shown["results"][0];
    assert_eq!(report["summary"], "They have dug.");
    let deep = stage.dir.path().join("deep.txt");
    assert_eq!(report["artifacts"][0]["path"], deep.to_str().unwrap(), "what is below counts");
    assert_eq!(report["tokens"]["input"], 400, "and so does what it took");
    assert_eq!(report["api_calls"], 4, "and how often was asked");
    assert_eq!(budget.spent().usage.input, 600, "and the first's own");

    let has = |part: &str| stage.offered(part).contains(&"delegate_task".to_owned());
    assert_eq!((has("Your task: lead"), has("Your task: dig")), (true, false));
    let books = stage.services.books.0.lock();
    let leader = report["session_id"].as_str().unwrap();
    let dug = books.values().find(|(parent, _)| parent == leader).unwrap();
    let ChatMessage::Tool(answer) = &books[leader].1[2] else { panic!("no answer") };
    assert!(answer.content.contains("not allowed here"), "it is said that it worked alone");
    assert_eq!(dug.1.len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tasks_begin_in_the_order_of_the_list() {
    let settings = DelegationSettings { max_parallel: 1, ..DelegationSettings::default() };
    let plan = Plan { settings, ..Plan::default() };
    let stage = Stage::with(vec![ScriptedReply::says("Done.").again()], plan);
    let goals: Vec<String> = (0..8).map(|at| format!("goal {at}")).collect();
    let tasks: Vec<_> = goals.iter().map(|goal| json!({"goal": goal})).collect();
    stage.delegate(json!({"tasks": tasks})).await;
    let asked = stage.server.model_requests();
    let place = |goal: &String| asked.iter().position(|asked| asked.to_string().contains(goal));
    let order: Vec<_> = goals.iter().map(place).collect();
    assert_eq!(order, (0..8).map(Some).collect::<Vec<_>>());
}

/// The answer must have the number of files.
fn number_of_files() -> serde_json::Value {
    json!({"type": "object", "properties": {"files": {"type": "integer"}}, "required": ["files"]})
}

#[tokio::test]
async fn an_answer_matches_the_schema_and_is_asked_for_once_more() {
    let stage = Stage::new([
        says("count", "There are three files.", 1),
        says("count", "```json\n{\"files\": 3}\n```", 1),
    ]);
    let wanted = json!({"goal": "count", "output_schema": number_of_files()});
    let answer = stage.delegate(wanted).await;
    let report = &answer["results"][0];
    assert_eq!((&report["status"], &report["output"]), (&json!("completed"), &json!({"files": 3})));
    assert!(report.get("summary").is_none(), "{report}");
    let asked = stage.server.model_requests();
    assert!(asked[0]["messages"][0].to_string().contains("JSON Schema"), "it knows the schema");
    let last = asked[1]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(last.contains("not JSON"), "it is told what is wrong: {last}");
}

#[tokio::test]
async fn an_answer_that_never_matches_the_schema_is_an_error_with_its_text() {
    let stage = Stage::new([
        says("count", "{\"files\": \"three\"}", 1),
        says("count", "{\"files\": \"four\"}", 1),
    ]);
    let wanted = json!({"goal": "count", "output_schema": number_of_files()});
    let error = stage.refusal(wanted).await;
    let report = &error["results"][0];
    assert_eq!(report["exit_reason"], "invalid_output", "{error}");
    assert!(report["error"].as_str().unwrap().contains("files"), "{report}");
    assert_eq!(report["summary"], "{\"files\": \"four\"}");
    assert!(report.get("output").is_none());
    assert_eq!(stage.server.model_requests().len(), 2, "it is asked once more");

    let unusable = json!({"goal": "count", "output_schema": {"type": "nonsense"}});
    assert_eq!(stage.refusal(unusable).await["kind"], "invalid_arguments");
    assert_eq!(stage.server.model_requests().len(), 2, "nobody has begun");
}
