//! What calls answer is written down as they end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_agent::{
    AgentBudget, BudgetLimits, ConversationJournal, JournalEntry, JournalError, TurnEnd,
};
use hermes_core::{
    Availability, BoundCall, BoxFuture, DynTool, Effect, ToolContext, ToolError, ToolOutput,
    ToolSpec, WorkingDir,
};
use hermes_llm::{ChatMessage, ContentPart};
use serde_json::{Value, json};

use crate::script::{Act, Book, Scene, Scripted, calls, text};

/// A tool that ends when the journal holds a result, or never.
struct Waits {
    spec: ToolSpec,
    book: Arc<Book>,
}

impl DynTool for Waits {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {}})
    }

    fn bind(self: Arc<Self>, _: &Value) -> Result<Box<dyn BoundCall>, ToolError> {
        Ok(Box::new(Waiting(Arc::clone(&self.book))))
    }

    fn check(&self) -> BoxFuture<'_, Availability> {
        Box::pin(async { Availability::Ready })
    }
}

struct Waiting(Arc<Book>);

impl BoundCall for Waiting {
    fn effects(&self, _: &WorkingDir) -> Vec<Effect> {
        Vec::new()
    }

    fn run(self: Box<Self>, _: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let until = Instant::now() + Duration::from_secs(20);
            while self.0.results().is_empty() {
                if Instant::now() > until {
                    return Err(ToolError::internal("nothing was written"));
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            ToolOutput::json(&json!({"seen": self.0.results()}))
        })
    }
}

fn go() -> Vec<ContentPart> {
    vec![ContentPart::Text { text: "go".to_owned() }]
}

#[tokio::test]
async fn a_result_is_written_while_other_calls_still_run() {
    let book = Arc::<Book>::default();
    let spec = ToolSpec::new("waits", "test").read_only();
    let waits: Arc<dyn DynTool> = Arc::new(Waits { spec, book: Arc::clone(&book) });
    let two = calls(&[("1", "waits", "{}"), ("2", "directory_list", r#"{"path":"."}"#)]);
    let model = Scripted::following(vec![Act::Says(two), Act::Says(text("Done."))], None);
    let mut scene = Scene::fitted(model, Vec::new(), Arc::clone(&book), vec![waits]);
    let outcome = scene.agent.run_turn(go(), &AgentBudget::new(BudgetLimits::default())).await;
    assert_eq!((outcome.end, outcome.text.as_str()), (TurnEnd::Done, "Done."));
    let asked = scene.model.asked.lock();
    let first = asked[1].messages.iter().find(|message| matches!(message, ChatMessage::Tool(_)));
    assert!(first.unwrap().text().contains(r#"{"seen":["2"]}"#), "{first:?}");
    assert_eq!(book.results(), ["1", "2"], "in the end they stand in the order of the calls");
    assert_eq!(scene.agent.conversation().messages(), *book.0.lock());
}

#[tokio::test]
async fn what_is_said_meanwhile_is_written_after_the_results() {
    let list = |id: &'static str| (id, "directory_list", r#"{"path":"."}"#);
    let other = ("2", "read_file", r#"{"path":"none"}"#);
    let mut scene =
        Scene::new(vec![Act::Says(calls(&[list("1"), other])), Act::Says(text("Done."))]);
    scene.agent.interrupt().queue_input([ContentPart::Text { text: "hurry up".into() }]);
    scene.agent.run_turn(go(), &AgentBudget::new(BudgetLimits::default())).await;
    assert_eq!(scene.book.results(), ["1", "2"]);
    assert_eq!(scene.agent.conversation().messages(), *scene.book.0.lock());
    assert_eq!(scene.book.0.lock()[4], ChatMessage::user("hurry up"));
}

/// A journal whose disk is full after some entries.
struct Full(Book, usize);

impl ConversationJournal for Full {
    fn write(&self, entry: JournalEntry<'_>) -> Result<(), JournalError> {
        if self.0.0.lock().len() >= self.1 {
            return Err(JournalError("the disk is full".to_owned()));
        }
        self.0.write(entry)
    }
}

#[tokio::test]
async fn nothing_goes_on_that_cannot_be_written() {
    let write = |at: u32| format!(r#"{{"path":"same.txt","content":"{at}"}}"#);
    let (one, two) = (write(1), write(2));
    let both = calls(&[("1", "write_file", &one), ("2", "write_file", &two)]);
    let mut scene = Scene::new(vec![Act::Says(both)]);
    scene.agent.parts_mut().journal = Arc::new(Full(Book::default(), 2));
    let outcome = scene.agent.run_turn(go(), &AgentBudget::new(BudgetLimits::default())).await;
    assert_eq!(outcome.end, TurnEnd::Journal("the disk is full".to_owned()));
    let written = std::fs::read_to_string(scene.dir.path().join("same.txt")).unwrap();
    assert_eq!(written, "1", "the second call is not made");
}
