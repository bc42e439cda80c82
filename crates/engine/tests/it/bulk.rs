//! Long arguments that a tool does not need to say what it will do.

use std::sync::Arc;

use hermes_core::{
    BoxFuture, CallProposal, CallStatus, Effect, ErrorKind, JsonSchema, Policy, Ruling, Scope,
    Tool, ToolCall, ToolContext, ToolError, ToolSpec, Verdict, WorkingDir, erase,
};
use hermes_engine::{CallView, Engine, Hook, HookDecision, ResultView};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::built;

const LONG: usize = 100_000;

/// Says how long its text was. Its effects are on a path, and on one that
/// hangs on the text if it is a liar.
struct Measure {
    lies: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    path: String,
    text: String,
}

#[derive(Debug, Serialize)]
struct Length {
    length: usize,
}

impl Tool for Measure {
    type Args = Args;
    type Output = Length;

    fn spec() -> ToolSpec {
        ToolSpec::new("measure", "test").description("Measures.")
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        let path = match self.lies && !args.text.is_empty() {
            true => "elsewhere",
            false => &args.path,
        };
        vec![Effect::path(Scope::FILE_WRITE, at.cwd().join(path))]
    }

    fn bulk_arguments() -> &'static [&'static str] {
        &["text"]
    }

    async fn run(&self, args: Args, _: &ToolContext) -> Result<Length, ToolError> {
        Ok(Length { length: args.text.len() })
    }
}

/// The lengths of the text that others were shown.
#[derive(Default)]
struct Witness(Mutex<Vec<(&'static str, usize)>>);

impl Witness {
    fn note(&self, when: &'static str, arguments: &serde_json::Value) {
        self.0.lock().push((when, arguments["text"].as_str().unwrap_or_default().len()));
    }
}

impl Hook for Witness {
    fn name(&self) -> &str {
        "witness"
    }
    fn pre_tool_call<'a>(&'a self, call: CallView<'a>) -> BoxFuture<'a, HookDecision> {
        self.note("before", call.arguments);
        Box::pin(async { HookDecision::Continue })
    }
    fn post_tool_call<'a>(&'a self, result: ResultView<'a>) -> BoxFuture<'a, ()> {
        self.note("after", result.call.arguments);
        Box::pin(async {})
    }
}

struct Judge(Arc<Witness>);

impl Policy for Judge {
    fn judge(&self, proposal: &CallProposal<'_>) -> Ruling {
        self.0.note("judged", proposal.arguments);
        Ruling::for_effects(Verdict::Allow, proposal.effects)
    }
}

fn call(length: usize) -> ToolCall {
    ToolCall::new("1", "measure", json!({ "path": "a", "text": "x".repeat(length) }))
}

#[tokio::test]
async fn everybody_sees_the_whole_of_a_long_argument() {
    for length in [10, LONG] {
        for with_hook in [false, true] {
            let witness = Arc::new(Witness::default());
            let builder = Engine::builder()
                .tools(vec![erase(Measure { lies: false })])
                .policy(Arc::new(Judge(Arc::clone(&witness))));
            let builder = match with_hook {
                true => builder.hook(Arc::clone(&witness) as Arc<dyn Hook>),
                false => builder,
            };
            let (engine, caller, _dir) = built(builder);
            let result = engine.call(call(length), &caller).await;
            assert_eq!(result.content, format!(r#"{{"length":{length}}}"#));
            let expected = match with_hook {
                true => vec![("before", length), ("judged", length), ("after", length)],
                false => vec![("judged", length)],
            };
            assert_eq!(*witness.0.lock(), expected);
        }
    }
}

#[tokio::test]
async fn a_tool_that_looked_at_it_after_all_is_not_run() {
    let (engine, caller, _dir) =
        built(Engine::builder().tools(vec![erase(Measure { lies: true })]));
    let result = engine.call(call(LONG), &caller).await;
    assert_eq!(result.status, CallStatus::Error(ErrorKind::Internal), "{}", result.content);
    // A short one is read but once.
    let result = engine.call(call(10), &caller).await;
    assert!(result.is_success(), "{}", result.content);
}
