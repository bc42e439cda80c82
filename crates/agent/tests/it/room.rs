//! Conversation compaction.

use std::time::Duration;

use hermes_agent::{AgentBudget, BudgetLimits, TurnEnd};
use hermes_llm::{ChatMessage, ContentPart, ModelError, ModelErrorKind, ModelReply};

use crate::script::{Act, Scene, Scripted, calls, text};

fn said(text: &str) -> Vec<ContentPart> {
    vec![ContentPart::Text { text: text.to_owned() }]
}

fn plenty() -> AgentBudget {
    AgentBudget::new(BudgetLimits::default())
}

fn answer(text: &str) -> ChatMessage {
    ChatMessage::Assistant(ModelReply { text: text.to_owned(), ..ModelReply::default() })
}

/// A conversation with `turns` turns, each answered with text of this length.
fn past(turns: usize, length: usize) -> Vec<ChatMessage> {
    let turn =
        |at: usize| [ChatMessage::user(format!("question {at}")), answer(&"w ".repeat(length / 2))];
    (0..turns).flat_map(turn).collect()
}

fn too_long() -> Act {
    Act::Fails(ModelError::new(ModelErrorKind::ContextTooLong, "too long"))
}

fn size(messages: &[ChatMessage]) -> usize {
    messages.iter().map(|message| message.text().len()).sum()
}

#[tokio::test]
async fn a_long_conversation_is_shortened_and_keeps_its_pairs_and_its_task() {
    let big = format!(r#"{{"path":"big.txt","content":"{}"}}"#, "word ".repeat(4000));
    let acts = vec![
        Act::Says(calls(&[("1", "write_file", &big)])),
        Act::Says(text("Greetings were exchanged.")),
        Act::Says(text("All done.")),
    ];
    let mut scene = Scene::with(Scripted::following(acts, Some(4_000)), past(1, 100));
    let outcome = scene.agent.run_turn(said("write a big file, in Latin"), &plenty()).await;
    assert_eq!(outcome.end, TurnEnd::Done);
    assert!(scene.eyes.0.lock().contains(&"compressed".to_owned()));
    let asked = scene.model.asked.lock();
    let [_, opening, ChatMessage::Assistant(reply), ChatMessage::Tool(result)] =
        &asked[2].messages[..]
    else {
        panic!("{:?}", asked[2].messages)
    };
    let opening = opening.text();
    assert!(opening.contains("Greetings were exchanged"), "{opening}");
    assert!(opening.ends_with("write a big file, in Latin"), "{opening}");
    assert_eq!(reply.calls[0].id, result.call_id);
    let arguments: serde_json::Value = serde_json::from_str(&reply.calls[0].arguments).unwrap();
    assert_eq!(arguments["path"], "big.txt");
    assert!(reply.calls[0].arguments.len() < 5_000);
}

#[tokio::test]
async fn the_task_outlives_being_shortened_again() {
    let list = |id| Act::Says(calls(&[(id, "directory_list", r#"{"path":"."}"#)]));
    let acts = vec![
        list("1"),
        too_long(),
        Act::Says(text("Summary one.")),
        list("2"),
        too_long(),
        Act::Says(text("Summary two.")),
        Act::Says(text("Done.")),
    ];
    let mut scene = Scene::with(Scripted::following(acts, None), past(4, 8_000));
    let outcome = scene.agent.run_turn(said("count the stars"), &plenty()).await;
    assert_eq!(outcome.end, TurnEnd::Done);
    let asked = scene.model.asked.lock();
    let last = asked.last().unwrap();
    let all: String = last.messages.iter().map(|message| message.text() + "\n").collect();
    assert_eq!(all.matches("count the stars").count(), 1, "{all}");
}

#[tokio::test]
async fn what_does_not_make_it_shorter_is_left_alone() {
    let mut scene = Scene::with(Scripted::following(Vec::new(), Some(4_000)), past(2, 100));
    assert_eq!(scene.agent.compact(&plenty()).await, Ok(false));
    assert!(scene.model.asked.lock().is_empty());
    assert_eq!(scene.agent.conversation().messages(), past(2, 100));
}

#[tokio::test]
async fn neither_the_summary_nor_the_question_for_it_outgrows_the_window() {
    let endless = "summary ".repeat(100_000);
    let acts = vec![Act::Says(text(&endless))];
    let mut scene = Scene::with(Scripted::following(acts, Some(4_000)), past(2, 400_000));
    assert_eq!(scene.agent.compact(&plenty()).await, Ok(true));
    let asked = scene.model.asked.lock();
    assert!(size(&asked[0].messages) < 4_000 * 4, "{}", size(&asked[0].messages));
    assert!(scene.agent.conversation().tokens() < 4_000);
}

#[tokio::test]
async fn an_answer_that_fills_the_window_alone_is_shortened_too() {
    let mut scene = Scene::with(Scripted::following(Vec::new(), Some(4_000)), past(1, 400_000));
    assert_eq!(scene.agent.compact(&plenty()).await, Ok(true));
    assert!(scene.agent.conversation().tokens() < 4_000);
    assert_eq!(scene.agent.conversation().messages()[0].text(), "question 0");
}

#[tokio::test]
async fn a_server_that_finds_it_too_long_is_asked_again_with_less() {
    let acts = vec![too_long(), Act::Says(text("Summed up.")), Act::Says(text("Here."))];
    // Far below the configured context window of the model.
    let mut scene = Scene::with(Scripted::following(acts, Some(200_000)), past(6, 8_000));
    let outcome = scene.agent.run_turn(said("go on"), &plenty()).await;
    assert_eq!((outcome.end, outcome.text.as_str()), (TurnEnd::Done, "Here."));
    let asked = scene.model.asked.lock();
    let sizes: Vec<usize> = asked.iter().map(|request| size(&request.messages)).collect();
    assert!(sizes[1] < sizes[0] && sizes[2] < sizes[0] / 2, "{sizes:?}");
    assert!(asked[2].messages.last().unwrap().text().ends_with("go on"));
}

#[tokio::test]
async fn what_cannot_be_shortened_is_not_asked_again() {
    let mut scene = Scene::with(Scripted::following(vec![too_long()], None), Vec::new());
    let outcome = scene.agent.run_turn(said("x"), &plenty()).await;
    assert!(matches!(outcome.end, TurnEnd::ModelError(_)), "{:?}", outcome.end);
}

#[tokio::test]
async fn what_cannot_be_shortened_is_for_another_model() {
    let acts = vec![too_long(), Act::Says(text("Here."))];
    let mut model = Scripted::following(acts, None);
    model.others = true;
    let mut scene = Scene::with(model, Vec::new());
    let outcome = scene.agent.run_turn(said("x"), &plenty()).await;
    assert_eq!((outcome.end, outcome.text.as_str()), (TurnEnd::Done, "Here."));
    let asked = scene.model.asked.lock();
    let shortest: Vec<bool> = asked.iter().map(|request| request.cannot_shorten).collect();
    assert_eq!(shortest, [false, true]);
}

#[tokio::test]
async fn a_summary_that_is_too_long_to_ask_for_is_done_without() {
    let acts = vec![too_long(), too_long(), Act::Says(text("Here."))];
    let mut scene = Scene::with(Scripted::following(acts, Some(200_000)), past(6, 8_000));
    let outcome = scene.agent.run_turn(said("go on"), &plenty()).await;
    assert_eq!((outcome.end, outcome.text.as_str()), (TurnEnd::Done, "Here."));
}

#[tokio::test]
async fn a_summary_that_says_nothing_loses_nothing() {
    let acts = vec![Act::Says(text(" "))];
    let mut scene = Scene::with(Scripted::following(acts, Some(4_000)), past(3, 10_000));
    assert_eq!(scene.agent.compact(&plenty()).await, Ok(true));
    let kept = scene.agent.conversation().messages()[0].text();
    assert!(kept.contains("question 0"), "{kept}");
    let seen = scene.eyes.0.lock();
    assert!(seen.iter().any(|line| line.contains("did not summarize")), "{seen:?}");
}

#[tokio::test]
async fn a_summary_can_be_stopped() {
    let acts = vec![Act::Hangs(Vec::new())];
    let mut scene = Scene::with(Scripted::following(acts, Some(4_000)), past(3, 10_000));
    let interrupt = scene.agent.interrupt();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        interrupt.stop_turn();
    };
    let budget = plenty();
    let (done, ()) = tokio::join!(scene.agent.compact(&budget), stop);
    assert_eq!(done, Err(TurnEnd::Interrupted));
    assert_eq!(scene.agent.conversation().messages(), past(3, 10_000));
}

/// Distinguishable lines.
fn report(lines: usize) -> String {
    (0..lines).map(|at| format!("line {at:06} of the report\n")).collect()
}

#[tokio::test]
async fn what_fits_is_sent_whole_however_long() {
    // 4/5 of the window, more than a conversation may fill before it is compacted.
    let long = report(5_000);
    let window = long.len() as u64 / 4 / 4 * 5;
    let list = Act::Says(calls(&[("1", "directory_list", r#"{"path":"."}"#)]));
    let acts = vec![list, Act::Says(text("Read."))];
    let mut scene = Scene::with(Scripted::following(acts, Some(window)), Vec::new());
    let outcome = scene.agent.run_turn(said(&long), &plenty()).await;
    assert_eq!((outcome.end, outcome.requests), (TurnEnd::Done, 2));
    for asked in scene.model.asked.lock().iter() {
        assert_eq!(asked.messages[1].text(), long);
    }
}

#[tokio::test]
async fn what_does_not_fit_is_in_a_file_that_the_model_is_told_of() {
    let long = report(20_000);
    let acts = vec![Act::Says(text("I read it there."))];
    let mut scene = Scene::with(Scripted::following(acts, Some(16_000)), Vec::new());
    let outcome = scene.agent.run_turn(said(&long), &plenty()).await;
    assert_eq!(outcome.end, TurnEnd::Done);
    let asked = scene.model.asked.lock();
    let shown = asked[0].messages[1].text();
    assert!(shown.starts_with("line 000000") && shown.ends_with("line 019999 of the report\n"));
    assert!(
        shown.len() < 16_000 * 4 && shown.contains("20000 lines") && shown.contains("read_file")
    );
    let path = shown.split("is in the file ").nth(1).and_then(|rest| rest.split(". Read").next());
    assert_eq!(std::fs::read_to_string(path.unwrap()).unwrap(), long);
    let seen = scene.eyes.0.lock();
    assert!(seen.iter().any(|line| line.contains("does not fit")), "{seen:?}");
}

#[tokio::test]
async fn what_the_server_finds_too_long_is_not_cut_in_silence_either() {
    let long = report(4_000);
    let acts = vec![too_long(), Act::Says(text("I read it there."))];
    let mut scene = Scene::with(Scripted::following(acts, Some(200_000)), Vec::new());
    let outcome = scene.agent.run_turn(said(&long), &plenty()).await;
    assert_eq!(outcome.end, TurnEnd::Done);
    let asked = scene.model.asked.lock();
    assert_eq!(asked[0].messages[1].text(), long);
    let shown = asked[1].messages[1].text();
    assert!(
        shown.contains("The whole does not fit here") && shown.contains("read_file"),
        "{shown}"
    );
}

#[tokio::test]
async fn who_cannot_read_files_is_not_asked_for_what_does_not_fit() {
    let mut scene = Scene::with(Scripted::following(Vec::new(), Some(16_000)), past(1, 100));
    let engine = hermes_engine::Engine::builder().build().unwrap();
    scene.agent.parts_mut().engine = engine;
    let outcome = scene.agent.run_turn(said(&report(20_000)), &plenty()).await;
    let TurnEnd::ModelError(fault) = outcome.end else { panic!("{:?}", outcome.end) };
    assert_eq!(fault.kind, ModelErrorKind::ContextTooLong);
    assert!(fault.hint.is_some());
    assert_eq!(scene.agent.conversation().messages(), past(1, 100), "the session can go on");
}

#[tokio::test]
async fn a_summary_that_fails_does_not_end_the_task() {
    let down = Act::Fails(ModelError::new(ModelErrorKind::Server, "boom"));
    let acts = vec![down, Act::Says(text("Here."))];
    let mut scene = Scene::with(Scripted::following(acts, Some(4_000)), past(6, 8_000));
    let outcome = scene.agent.run_turn(said("go on"), &plenty()).await;
    assert_eq!((outcome.end, outcome.text.as_str()), (TurnEnd::Done, "Here."));
    // An explicit compaction can wait until the model can summarize.
    let down = Act::Fails(ModelError::new(ModelErrorKind::Server, "boom"));
    let mut scene = Scene::with(Scripted::following(vec![down], Some(4_000)), past(6, 8_000));
    assert!(matches!(scene.agent.compact(&plenty()).await, Err(TurnEnd::ModelError(_))));
    assert_eq!(scene.agent.conversation().messages(), past(6, 8_000));
}
