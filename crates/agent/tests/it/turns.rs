use std::sync::Arc;
use std::time::Duration;

use hermes_agent::{AgentBudget, BudgetLimits, ProjectGuidance, TurnEnd};
use hermes_engine::{Engine, LoopGuardSettings, SecretSource};
use hermes_llm::{
    ChatMessage, ContentPart, FinishReason, InlineImage, ModelError, ModelErrorKind, ReplyEvent,
    TokenUsage, ToolChoice,
};
use hermes_secrets::{Redactor, Secret};

use crate::script::{Act, Scene, calls, text};

fn said(text: &str) -> Vec<ContentPart> {
    vec![ContentPart::Text { text: text.to_owned() }]
}

fn plenty() -> AgentBudget {
    AgentBudget::new(BudgetLimits::default())
}

/// The roles, abbreviated.
fn shape(messages: &[ChatMessage]) -> String {
    let short = |message: &ChatMessage| match message {
        ChatMessage::System { .. } => 's',
        ChatMessage::User { .. } => 'u',
        ChatMessage::Assistant(_) => 'a',
        ChatMessage::Tool(_) => 't',
    };
    messages.iter().map(short).collect()
}

#[tokio::test]
async fn calls_are_made_and_the_model_goes_on() {
    let write = r#"{"path":"a.txt","content":"hello\n"}"#;
    let mut scene = Scene::new(vec![
        Act::Says(calls(&[("1", "write_file", write), ("2", "Read-File", r#"{"path":"none"}"#)])),
        Act::Says(text("Done.")),
    ]);
    let outcome = scene.agent.run_turn(said("write a file"), &plenty()).await;
    assert_eq!((outcome.end, outcome.text.as_str()), (TurnEnd::Done, "Done."));
    assert_eq!((outcome.requests, outcome.calls, outcome.usage.input), (2, 2, 100));
    assert_eq!(std::fs::read_to_string(scene.dir.path().join("a.txt")).unwrap(), "hello\n");
    assert_eq!(shape(&scene.book.0.lock()), "uatta");
    let asked = scene.model.asked.lock();
    assert_eq!(shape(&asked[1].messages), "suatt");
    assert_eq!(asked[0].messages[..2], asked[1].messages[..2], "the beginning stays");
    let mut seen = scene.eyes.0.lock().clone();
    assert_eq!(seen.pop().as_deref(), Some("text Done."));
    // They run in parallel.
    seen.sort();
    assert_eq!(seen, ["call read_file", "call write_file", "result false", "result true"]);
}

#[tokio::test]
async fn half_a_call_is_never_made() {
    let cut = |finish: Option<FinishReason>| {
        let mut events = calls(&[("1", "write_file", r#"{"path":"b.txt","content":"x"}"#)]);
        events.pop();
        events.pop();
        events.extend(finish.map(ReplyEvent::Finish));
        events
    };
    let mut scene = Scene::new(vec![
        Act::Says(cut(Some(FinishReason::Length))),
        Act::Breaks(cut(None), Some(ModelError::new(ModelErrorKind::Network, "gone"))),
        Act::Says(text("Never mind.")),
    ]);
    let outcome = scene.agent.run_turn(said("go"), &plenty()).await;
    assert_eq!(outcome.end, TurnEnd::Done);
    assert!(!scene.dir.path().join("b.txt").exists());
    let asked = scene.model.asked.lock();
    let room: Vec<_> = asked.iter().map(|request| request.max_tokens).collect();
    assert_eq!(room, [None, Some(8192), Some(16384)]);
    assert_eq!(shape(&scene.book.0.lock()), "ua");
}

#[tokio::test]
async fn a_model_that_is_lost_is_stopped() {
    let nothing = || Act::Says(calls(&[("", "no_such_thing_at_all", "{}")]));
    let mut scene = Scene::new(vec![nothing(), nothing(), nothing()]);
    let outcome = scene.agent.run_turn(said("go"), &plenty()).await;
    assert_eq!((outcome.end, outcome.requests), (TurnEnd::UnknownTools, 3));
    assert_eq!(shape(&scene.book.0.lock()), "uatatat");
}

#[tokio::test]
async fn the_budget_ends_a_turn_with_a_summary() {
    let list = || Act::Says(calls(&[("", "directory_list", r#"{"path":"."}"#)]));
    let mut scene = Scene::new(vec![list(), list(), Act::Says(text("Two looks."))]);
    let budget = AgentBudget::new(BudgetLimits { rounds: Some(2), ..BudgetLimits::default() });
    let outcome = scene.agent.run_turn(said("go"), &budget).await;
    assert_eq!(
        (outcome.end, outcome.text.as_str()),
        (TurnEnd::Budget("2 rounds".into()), "Two looks.")
    );
    assert_eq!(scene.model.asked.lock()[2].choice, ToolChoice::None);
}

#[tokio::test]
async fn a_summary_that_comes_as_a_call_is_asked_for_without_tools() {
    let list = || Act::Says(calls(&[("", "directory_list", r#"{"path":"."}"#)]));
    let budget = || AgentBudget::new(BudgetLimits { rounds: Some(1), ..BudgetLimits::default() });
    let shown: std::sync::Arc<[_]> = [serde_json::json!({"type": "function"})].into();
    let mut scene = Scene::new(vec![list(), list(), Act::Says(text("One look."))]);
    scene.agent.parts_mut().tools = shown.clone();
    let outcome = scene.agent.run_turn(said("go"), &budget()).await;
    assert_eq!(
        (outcome.end, outcome.text.as_str()),
        (TurnEnd::Budget("1 rounds".into()), "One look.")
    );
    let asked = scene.model.asked.lock().clone();
    assert_eq!(asked.iter().map(|it| it.tools.len()).collect::<Vec<_>>(), [1, 1, 0]);
    assert_eq!(shape(&scene.book.0.lock()), "uata", "the call was not made");
    // If that does not help, the error is reported.
    let mut scene = Scene::new(vec![list(), list(), list()]);
    let outcome = scene.agent.run_turn(said("go"), &budget()).await;
    assert!(matches!(outcome.end, TurnEnd::Budget(_)));
    let seen = scene.eyes.0.lock();
    assert!(seen.iter().any(|it| it.contains("no summary")), "{seen:?}");
}

#[tokio::test]
async fn the_model_reads_its_calls_as_they_were_taken() {
    let mut scene = Scene::new(vec![
        Act::Says(calls(&[
            ("a", "WriteFile", "{'path': 'a.txt', 'content': 'x', }"),
            ("b", "functions.write_file", r#""{\"path\":\"b.txt\",\"content\":\"x\"}""#),
            ("c", "write_file", r#"{ "path": "c.txt", "content": "x" }"#),
            ("d", "write_file", "no arguments at all"),
            ("e", "no_such_thing_at_all", "{'path': 'e.txt'}"),
        ])),
        Act::Says(text("Written.")),
    ]);
    scene.agent.run_turn(said("go"), &plenty()).await;
    let asked = scene.model.asked.lock();
    for name in ["a.txt", "b.txt", "c.txt"] {
        let written = scene.dir.path().join(name).exists();
        assert!(written, "{name}: {:#?}", asked[1].messages);
    }
    let ChatMessage::Assistant(reply) = &asked[1].messages[2] else { panic!("not an answer") };
    let read: Vec<_> =
        reply.calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
    assert_eq!(
        read,
        [
            ("write_file", r#"{"path":"a.txt","content":"x"}"#),
            ("write_file", r#"{"path":"b.txt","content":"x"}"#),
            // Valid calls are kept verbatim.
            ("write_file", r#"{ "path": "c.txt", "content": "x" }"#),
            ("write_file", "no arguments at all"),
            ("no_such_thing_at_all", "{'path': 'e.txt'}"),
        ]
    );
}

#[tokio::test]
async fn a_child_spends_what_its_parent_has_left() {
    let parent = AgentBudget::new(BudgetLimits { calls: Some(3), ..BudgetLimits::default() });
    parent.spend_calls(1);
    let child =
        parent.child(BudgetLimits { calls: Some(10), rounds: Some(5), ..BudgetLimits::default() });
    assert_eq!(child.remaining().calls, Some(2));
    child.spend_calls(2);
    assert_eq!(parent.remaining().calls, Some(0));
    assert_eq!(
        (child.exhausted_reason(), parent.exhausted_reason()),
        (Some("2 tool calls".into()), Some("3 tool calls".into()))
    );
}

#[tokio::test]
async fn a_turn_can_be_stopped_and_the_conversation_goes_on() {
    let mut scene = Scene::new(vec![
        Act::Hangs(vec![ReplyEvent::Text("I am thinking".into())]),
        Act::Says(text("Here again.")),
    ]);
    let interrupt = scene.agent.interrupt();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        interrupt.stop();
    };
    let budget = plenty();
    let (outcome, ()) = tokio::join!(scene.agent.run_turn(said("go"), &budget), stop);
    assert_eq!(outcome.end, TurnEnd::Interrupted);
    let outcome = scene.agent.run_turn(said("still there?"), &plenty()).await;
    assert_eq!(outcome.end, TurnEnd::Done);
    let asked = scene.model.asked.lock();
    assert_eq!(shape(&asked[1].messages), "suau", "what was shown was said");
    assert_eq!(asked[1].messages[2].text(), "I am thinking");
}

#[tokio::test]
async fn what_came_too_late_is_heard_in_the_next_turn() {
    let mut scene = Scene::new(vec![
        Act::Hangs(vec![ReplyEvent::Text("I am thinking".into())]),
        Act::Says(text("In French.")),
    ]);
    let interrupt = scene.agent.interrupt();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        interrupt.queue_input(said("in French, please"));
        interrupt.stop();
    };
    let budget = plenty();
    let (outcome, ()) = tokio::join!(scene.agent.run_turn(said("go"), &budget), stop);
    assert_eq!(outcome.end, TurnEnd::Interrupted);
    scene.agent.run_turn(said("go on"), &plenty()).await;
    let asked = scene.model.asked.lock();
    let heard = asked[1].messages.last().unwrap().text();
    assert!(heard.contains("in French, please") && heard.ends_with("go on"), "{heard}");
}

#[tokio::test]
async fn a_call_that_was_not_complete_is_not_kept_when_a_turn_is_stopped() {
    let mut half = calls(&[("1", "write_file", r#"{"path":"b.txt","content":"x"}"#)]);
    half.truncate(2);
    let mut scene = Scene::new(vec![Act::Hangs(half), Act::Says(text("Here again."))]);
    let interrupt = scene.agent.interrupt();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        interrupt.stop();
    };
    let budget = plenty();
    let (outcome, ()) = tokio::join!(scene.agent.run_turn(said("go"), &budget), stop);
    assert_eq!(outcome.end, TurnEnd::Interrupted);
    scene.agent.run_turn(said("still there?"), &plenty()).await;
    let asked = scene.model.asked.lock();
    assert_eq!(shape(&asked[1].messages), "su", "two that follow are one");
}

#[tokio::test]
async fn an_empty_answer_is_asked_for_again() {
    let mut scene = Scene::new(vec![Act::Says(text(" ")), Act::Says(text("Now I speak."))]);
    let outcome = scene.agent.run_turn(said("go"), &plenty()).await;
    assert_eq!((outcome.end, outcome.text.as_str()), (TurnEnd::Done, "Now I speak."));
    assert_eq!(shape(&scene.book.0.lock()), "ua");
    let mut scene = Scene::new((0..3).map(|_| Act::Says(text(""))).collect());
    let outcome = scene.agent.run_turn(said("go"), &plenty()).await;
    assert_eq!((outcome.end, outcome.requests), (TurnEnd::EmptyAnswer, 3), "it ends some time");
}

#[tokio::test]
async fn a_budget_that_cannot_be_kept_is_told_once() {
    let list = || Act::Says([calls(&[("", "directory_list", "{}")]), text("")].concat());
    let mut scene = Scene::new(vec![list(), Act::Says(text("Done."))]);
    let budget = AgentBudget::new(BudgetLimits { cost: Some(0.5), ..BudgetLimits::default() });
    scene.agent.run_turn(said("go"), &budget).await;
    let seen = scene.eyes.0.lock();
    let warned = seen.iter().filter(|line| line.contains("model.prices")).count();
    assert_eq!(warned, 1, "{seen:?}");
}

#[tokio::test]
async fn what_is_said_meanwhile_comes_with_the_next_result() {
    let mut scene = Scene::new(vec![
        Act::Says(calls(&[("1", "directory_list", r#"{"path":"."}"#)])),
        Act::Says(text("Understood.")),
    ]);
    scene.agent.interrupt().queue_input(said("in French, please"));
    scene.agent.run_turn(said("go"), &plenty()).await;
    let asked = scene.model.asked.lock();
    // As user messages: no tool result can imitate that.
    assert_eq!(asked[1].messages.last(), Some(&ChatMessage::user("in French, please")));
}

#[tokio::test]
async fn pictures_that_come_meanwhile_reach_the_model_with_what_is_said() {
    let image = ContentPart::Image(InlineImage {
        media_type: "image/png".into(),
        data: "iVBORw0KGgo=".into(),
    });
    let mut scene = Scene::new(vec![
        Act::Says(calls(&[("1", "directory_list", r#"{"path":"."}"#)])),
        Act::Says(text("I see.")),
        Act::Hangs(Vec::new()),
        Act::Says(text("I see both.")),
    ]);
    let both = [said("like this one"), vec![image.clone()]].concat();
    scene.agent.interrupt().queue_input(both.clone());
    scene.agent.run_turn(said("go"), &plenty()).await;
    let heard = scene.model.asked.lock()[1].messages.last().cloned();
    assert_eq!(heard, Some(ChatMessage::User { content: both.clone() }));
    // In the next turn, if it came too late for this one.
    let interrupt = scene.agent.interrupt();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        interrupt.queue_input(both);
        interrupt.stop();
    };
    let budget = plenty();
    let _ = tokio::join!(scene.agent.run_turn(said("go"), &budget), stop);
    scene.agent.run_turn(said("go on"), &plenty()).await;
    let asked = scene.model.asked.lock();
    let Some(ChatMessage::User { content }) = asked[3].messages.last() else { panic!() };
    assert!(content.contains(&image), "{content:?}");
}

/// A reply that calls a tool, with this cost and input tokens.
fn look(cost: f64, input: u64) -> Act {
    let mut events = calls(&[("", "directory_list", r#"{"path":"."}"#)]);
    events.insert(
        0,
        ReplyEvent::Usage(TokenUsage { input, cost: Some(cost), ..TokenUsage::default() }),
    );
    Act::Says(events)
}

#[tokio::test]
async fn the_closing_request_is_paid_for_by_the_budget() {
    let closing = |cost: f64| {
        let usage = TokenUsage { input: 100_000, cost: Some(cost), ..TokenUsage::default() };
        Act::Says(vec![
            ReplyEvent::Text("Two looks.".into()),
            ReplyEvent::Usage(usage),
            ReplyEvent::Finish(FinishReason::Stop),
        ])
    };
    let mut scene = Scene::new(vec![look(0.3, 100_000), look(0.3, 100_000), closing(0.3)]);
    let dollar = AgentBudget::new(BudgetLimits { cost: Some(1.0), ..BudgetLimits::default() });
    let outcome = scene.agent.run_turn(said("go"), &dollar).await;
    let TurnEnd::Budget(what) = outcome.end else { panic!("{:?}", outcome.end) };
    assert_eq!((what.as_str(), &*outcome.text), ("all but 0.40 of 1.00 dollars", "Two looks."));
    assert!(dollar.spent().usage.cost.unwrap() <= 1.0);

    let mut scene = Scene::new(vec![look(0.0, 30_000), look(0.0, 31_000), closing(0.0)]);
    let tokens =
        AgentBudget::new(BudgetLimits { tokens: Some(100_000), ..BudgetLimits::default() });
    let outcome = scene.agent.run_turn(said("go"), &tokens).await;
    let TurnEnd::Budget(what) = outcome.end else { panic!("{:?}", outcome.end) };
    assert_eq!((what.as_str(), outcome.requests), ("all but 39000 of 100000 tokens", 3));
}

#[tokio::test]
async fn a_budget_that_does_not_do_for_a_closing_request_is_kept_without_one() {
    let mut scene = Scene::new(vec![look(0.6, 100_000)]);
    let budget = AgentBudget::new(BudgetLimits { cost: Some(1.0), ..BudgetLimits::default() });
    let outcome = scene.agent.run_turn(said("go"), &budget).await;
    assert_eq!((outcome.end.name(), outcome.requests), ("budget", 1));
    assert_eq!(shape(&scene.book.0.lock()), "uat", "its call is made");
}

#[tokio::test]
async fn what_was_spent_beside_the_messages_is_written_down() {
    let nothing = || {
        let usage = TokenUsage { input: 7, cost: Some(0.25), ..TokenUsage::default() };
        Act::Says(vec![ReplyEvent::Usage(usage), ReplyEvent::Finish(FinishReason::Stop)])
    };
    let mut scene = Scene::new(vec![nothing(), nothing(), Act::Says(text("Now I speak."))]);
    scene.agent.run_turn(said("go"), &plenty()).await;
    let beside = *scene.book.1.lock();
    assert_eq!((beside.input, beside.cost), (14, Some(0.5)));
}

#[tokio::test]
async fn a_call_that_was_only_spoken_is_told_of() {
    let spoken = "I look.\n<tool_call>\n{\"name\":\"directory_list\"}\n</tool_call>";
    for (said, warns) in [(spoken, 1), ("Calls look like <tool_call>…</tool_call> there.", 0)] {
        let mut scene = Scene::new(vec![Act::Says(text(said))]);
        scene.agent.parts_mut().tools = std::sync::Arc::new([serde_json::json!({})]);
        scene.agent.run_turn(self::said("go"), &plenty()).await;
        let seen = scene.eyes.0.lock();
        let warned = seen.iter().filter(|line| line.contains("model.tool_calls")).count();
        assert_eq!(warned, warns, "{seen:?}");
    }
}

#[tokio::test]
async fn a_fault_ends_the_turn_and_says_why() {
    let fault = ModelError::new(ModelErrorKind::Authentication, "The key is wrong");
    let mut scene = Scene::new(vec![Act::Fails(fault.clone())]);
    let outcome = scene.agent.run_turn(said("go"), &plenty()).await;
    assert_eq!(outcome.end, TurnEnd::ModelError(fault));
}

#[tokio::test]
async fn an_answer_that_is_not_whole_says_why() {
    let half = || ReplyEvent::Text("Half of".into());
    let overloaded = ModelError::new(ModelErrorKind::Overloaded, "too many want something");
    let cases = [
        (
            Act::Breaks(vec![half()], Some(overloaded)),
            TurnEnd::Broken("too many want something".into()),
        ),
        (Act::Says(vec![half(), ReplyEvent::Finish(FinishReason::Length)]), TurnEnd::Truncated),
        (Act::Says(vec![half(), ReplyEvent::Finish(FinishReason::Filtered)]), TurnEnd::Withheld),
        (Act::Says(vec![ReplyEvent::Finish(FinishReason::Filtered)]), TurnEnd::Withheld),
    ];
    for (act, end) in cases {
        let mut scene = Scene::new(vec![act]);
        let outcome = scene.agent.run_turn(said("go"), &plenty()).await;
        assert_eq!(outcome.end, end);
        assert!(!outcome.end.is_done() && outcome.end.reason().is_some());
    }
}

#[tokio::test]
async fn a_model_that_pauses_goes_on() {
    let pause = vec![ReplyEvent::Text("First, ".into()), ReplyEvent::Finish(FinishReason::Paused)];
    let mut scene = Scene::new(vec![Act::Says(pause), Act::Says(text("then."))]);
    let outcome = scene.agent.run_turn(said("go"), &plenty()).await;
    assert_eq!((outcome.end, outcome.text.as_str()), (TurnEnd::Done, "First, then."));
}

#[tokio::test]
async fn a_model_is_not_waited_for_beyond_the_time_there_is() {
    for begun in [Vec::new(), vec![ReplyEvent::Text("I".into())]] {
        let mut scene = Scene::new(vec![Act::Hangs(begun)]);
        let soon = std::time::Instant::now() + Duration::from_millis(20);
        scene.agent.parts_mut().caller.deadline = Some(soon);
        let outcome = scene.agent.run_turn(said("go"), &plenty()).await;
        let TurnEnd::ModelError(fault) = outcome.end else { panic!("{:?}", outcome.end) };
        assert_eq!(fault.kind, ModelErrorKind::Timeout);
    }
}

#[tokio::test]
async fn a_call_that_its_server_cannot_read_is_asked_for_again() {
    let malformed = || Act::Says(vec![ReplyEvent::Finish(FinishReason::Malformed)]);
    let mut scene = Scene::new(vec![malformed(), malformed(), Act::Says(text("Well."))]);
    let outcome = scene.agent.run_turn(said("go"), &plenty()).await;
    assert_eq!((outcome.end, outcome.text.as_str(), outcome.requests), (TurnEnd::Done, "Well.", 3));
    let mut scene = Scene::new(vec![malformed(), malformed(), malformed(), malformed()]);
    let TurnEnd::Broken(why) = scene.agent.run_turn(said("go"), &plenty()).await.end else {
        panic!("it goes on");
    };
    assert!(why.contains("cannot parse"), "{why}");
}

#[tokio::test]
async fn a_model_that_goes_in_circles_is_halted_with_a_last_word() {
    let missing = |at: usize| {
        let arguments = format!(r#"{{"path":"missing{at}.txt"}}"#);
        Act::Says(calls(&[("", "read_file", &arguments)]))
    };
    let mut acts: Vec<Act> = (0..8).map(missing).collect();
    acts.push(Act::Says(text("There is nothing to read.")));
    let mut scene = Scene::new(acts);
    let guard = LoopGuardSettings {
        stop: Some(LoopGuardSettings::STOP_THRESHOLDS),
        ..LoopGuardSettings::default()
    };
    let engine = Engine::builder().tools(hermes_tools_file::tools()).guard(guard).build().unwrap();
    scene.agent.parts_mut().engine = engine;
    let outcome = scene.agent.run_turn(said("go"), &plenty()).await;
    assert!(matches!(outcome.end, TurnEnd::Halted(_)), "{:?}", outcome.end);
    assert_eq!((outcome.text.as_str(), outcome.requests), ("There is nothing to read.", 9));
    assert!(outcome.end.reason().unwrap().contains("Stopped a loop"));
    assert_eq!(scene.model.asked.lock()[8].choice, ToolChoice::None);
}

#[tokio::test]
async fn a_new_turn_is_a_new_beginning() {
    let missing = || Act::Says(calls(&[("", "read_file", r#"{"path":"missing.txt"}"#)]));
    let done = || Act::Says(text("No."));
    let mut scene = Scene::new(vec![missing(), done(), missing(), done()]);
    for _ in 0..2 {
        scene.agent.run_turn(said("go"), &plenty()).await;
    }
    let book = scene.book.0.lock();
    assert!(!book.iter().any(|message| message.text().contains("_warning")), "{book:?}");
}

#[tokio::test]
async fn an_answer_that_begins_anew_counts_for_what_it_took() {
    let mut anew = vec![
        ReplyEvent::Text("Half".into()),
        ReplyEvent::Usage(TokenUsage { input: 50, output: 5, ..TokenUsage::default() }),
        ReplyEvent::Restart,
    ];
    anew.extend(text("Whole."));
    let mut scene = Scene::new(vec![Act::Says(anew)]);
    let budget = plenty();
    let outcome = scene.agent.run_turn(said("go"), &budget).await;
    assert_eq!((outcome.end, outcome.text.as_str()), (TurnEnd::Done, "Whole."));
    assert_eq!((outcome.usage.input, budget.spent().usage.output), (150, 15));
    assert_eq!(scene.book.1.lock().input, 50);
    assert!(scene.eyes.0.lock().contains(&"again".to_owned()));
}

#[tokio::test]
async fn the_room_for_an_answer_grows_from_what_was_used_up() {
    let mut cut = calls(&[("1", "write_file", r#"{"path":"b.txt","content":"x"}"#)]);
    cut.pop();
    cut.push(ReplyEvent::Usage(TokenUsage { input: 9, output: 12_000, ..TokenUsage::default() }));
    cut.push(ReplyEvent::Finish(FinishReason::Length));
    let mut scene = Scene::new(vec![Act::Says(cut), Act::Says(text("Never mind."))]);
    scene.agent.run_turn(said("go"), &plenty()).await;
    assert_eq!(scene.model.asked.lock()[1].max_tokens, Some(24_000));
}

/// Knows one secret.
struct OneSecret;

impl SecretSource for OneSecret {
    fn redactor(&self) -> Arc<Redactor> {
        Arc::new(Redactor::new([("RY", "K-A_9ue9QwErTyZ")]).unwrap())
    }

    fn lookup(&self, _name: &str) -> Result<Option<Secret>, String> {
        Ok(None)
    }
}

#[tokio::test]
async fn known_secrets_do_not_reach_the_model_in_the_prompt() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("app")).unwrap();
    std::fs::write(dir.path().join("app/AGENTS.md"), "Log in with K-A_9ue9QwErTyZ.").unwrap();
    std::fs::write(dir.path().join("app/a.txt"), "hello\n").unwrap();
    let read = format!(r#"{{"path":"{}"}}"#, dir.path().join("app/a.txt").display());
    let scene =
        Scene::new(vec![Act::Says(calls(&[("1", "read_file", &read)])), Act::Says(text("Done."))]);
    let mut scene = scene.with_parts(|parts| {
        parts.engine = Engine::builder()
            .tools(hermes_tools_file::tools())
            .secrets(Arc::new(OneSecret))
            .build()
            .unwrap();
        parts.system = "# Memory\n\nThe password is K-A_9ue9QwErTyZ.".to_owned();
        parts.guidance = ProjectGuidance::for_project(dir.path(), Arc::new(|_| None));
    });
    scene.agent.run_turn(said("read it"), &plenty()).await;
    let asked = scene.model.asked.lock();
    let sent = format!("{:?}", asked.last().unwrap().messages);
    assert!(!sent.contains("K-A_9ue9QwErTyZ"), "{sent}");
    assert_eq!(sent.matches("[secret:RY]").count(), 2, "{sent}");
}
