//! Fixture tools that are tools like any other.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hermes_core::{
    Attachment, Availability, BoundCall, BoxFuture, DynTool, Effect, ToolContext, ToolError,
    ToolOutput, ToolSpec, UserPrompter, WorkingDir,
};
use hermes_engine::{Engine, ToolOwner};
use serde_json::{Value, json};

type Answer = BoxFuture<'static, Result<ToolOutput, ToolError>>;
type Run = Arc<dyn Fn(Value, ToolContext) -> Answer + Send + Sync>;

/// A tool whose schema is given.
struct Plain {
    spec: ToolSpec,
    parameters: Value,
    run: Run,
}

struct Bound(Run, Value);

impl DynTool for Plain {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn bind(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn BoundCall>, ToolError> {
        Ok(Box::new(Bound(Arc::clone(&self.run), arguments.clone())))
    }

    fn check(&self) -> BoxFuture<'_, Availability> {
        Box::pin(async { Availability::Ready })
    }
}

impl BoundCall for Bound {
    fn effects(&self, _at: &WorkingDir) -> Vec<Effect> {
        Vec::new()
    }

    fn run(self: Box<Self>, cx: ToolContext) -> Answer {
        (self.0)(self.1, cx)
    }
}

/// The smallest picture: one red dot.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// The header of a sound that is over before it begins.
const WAV: &[u8] =
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0";

pub(crate) fn tools(dir: &Path) -> Result<Vec<Arc<dyn DynTool>>, Box<dyn std::error::Error>> {
    use base64::Engine as _;
    let png = dir.join("dot.png");
    std::fs::write(&png, base64::engine::general_purpose::STANDARD.decode(PNG)?)?;
    let wav = dir.join("silence.wav");
    std::fs::write(&wav, WAV)?;
    let picture = Attachment { media_type: "image/png".into(), path: png };
    let sound = Attachment { media_type: "audio/wav".into(), path: wav };
    Ok(vec![
        says("test_simple_text", "This is a simple text response for testing."),
        says("test_reconnection", "Still here."),
        says("test_logging_tool", "There was nothing to log."),
        shows("test_image_content", picture),
        shows("test_audio_content", sound),
        plain("test_error_handling", nothing(), |_| {
            Box::pin(async {
                let words = "This tool intentionally returns an error for testing";
                Err(ToolError::conflict(words))
            })
        }),
        plain("test_tool_with_progress", nothing(), |cx| Box::pin(progress(cx))),
        plain("test_trigger_tool_change", nothing(), |_| Box::pin(change())),
        plain("test_custom_headers", with_header(), |_| Box::pin(async { text("Seen.") })),
        plain("json_schema_2020_12_tool", rich(), |_| Box::pin(async { text("Seen.") })),
        with_arguments("greet", open(), |given, _| {
            let name = given["name"].as_str().unwrap_or("World").to_owned();
            Box::pin(async move { text(&format!("Hello, {name}!")) })
        }),
        with_arguments("slow_compute", open(), |given, cx| Box::pin(compute(given, cx))),
        plain("failing_job", nothing(), |cx| {
            Box::pin(async move {
                cx.run_until_cancelled(tokio::time::sleep(Duration::from_millis(1_500))).await?;
                Err(ToolError::conflict("The job has failed, as it should"))
            })
        }),
        with_arguments("confirm_delete", open(), |given, cx| Box::pin(confirm(given, cx))),
        plain("multi_input", nothing(), |cx| Box::pin(ask_twice(cx))),
    ])
}

/// Takes as many seconds as it is told.
async fn compute(given: Value, cx: ToolContext) -> Result<ToolOutput, ToolError> {
    let seconds = given["seconds"].as_f64().unwrap_or(2.0).clamp(0.0, 600.0);
    cx.run_until_cancelled(tokio::time::sleep(Duration::from_secs_f64(seconds))).await?;
    text(&format!("Computed for {seconds} s."))
}

/// Asks two things at once when it has become a task.
async fn ask_twice(cx: ToolContext) -> Result<ToolOutput, ToolError> {
    cx.run_until_cancelled(tokio::time::sleep(Duration::from_millis(1_500))).await?;
    let Some(clarify) = cx.ports.get::<dyn UserPrompter>() else {
        return Err(ToolError::unavailable("Nobody can be asked"));
    };
    let both = async {
        tokio::join!(clarify.ask("What is your name?", &[]), clarify.ask("And where from?", &[]))
    };
    let (name, place) = cx.run_until_cancelled(both).await?;
    text(&format!("{} of {}", name.unwrap_or_default(), place.unwrap_or_default()))
}

/// Asks when it has become a task.
async fn confirm(given: Value, cx: ToolContext) -> Result<ToolOutput, ToolError> {
    cx.run_until_cancelled(tokio::time::sleep(Duration::from_millis(1_500))).await?;
    let what = given["filename"].as_str().unwrap_or("it").to_owned();
    let Some(clarify) = cx.ports.get::<dyn UserPrompter>() else {
        return Err(ToolError::unavailable("Nobody can be asked"));
    };
    let choices = ["yes".to_owned(), "no".to_owned()];
    let said = cx.run_until_cancelled(clarify.ask(&format!("Delete {what}?"), &choices)).await?;
    text(&format!("The answer about {what} is {}.", said.as_deref().unwrap_or("not a choice")))
}

fn plain(
    name: &'static str,
    parameters: Value,
    run: impl Fn(ToolContext) -> Answer + Send + Sync + 'static,
) -> Arc<dyn DynTool> {
    with_arguments(name, parameters, move |_, cx| run(cx))
}

fn with_arguments(
    name: &'static str,
    parameters: Value,
    run: impl Fn(Value, ToolContext) -> Answer + Send + Sync + 'static,
) -> Arc<dyn DynTool> {
    let spec = ToolSpec::new(name, "fixtures").description("A fixture of the conformance suite");
    Arc::new(Plain { spec: spec.read_only(), parameters, run: Arc::new(run) })
}

fn open() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": true})
}

fn nothing() -> Value {
    json!({"type": "object", "properties": {}})
}

fn text(words: &str) -> Result<ToolOutput, ToolError> {
    ToolOutput::json(&words)
}

fn says(name: &'static str, words: &'static str) -> Arc<dyn DynTool> {
    plain(name, nothing(), move |_| Box::pin(async move { text(words) }))
}

fn shows(name: &'static str, attachment: Attachment) -> Arc<dyn DynTool> {
    plain(name, nothing(), move |_| {
        let attachments = vec![attachment.clone()];
        Box::pin(async move { Ok(text("Attached.")?.with_attachments(attachments)) })
    })
}

async fn progress(cx: ToolContext) -> Result<ToolOutput, ToolError> {
    for step in [0.0, 0.5, 1.0] {
        cx.report_progress(Some(step), "Working");
        cx.run_until_cancelled(tokio::time::sleep(Duration::from_millis(50))).await?;
    }
    text("Done.")
}

static ENGINE: OnceLock<Engine> = OnceLock::new();

/// The engine whose tools `test_trigger_tool_change` changes.
pub(crate) fn may_change(engine: &Engine) {
    ENGINE.get_or_init(|| engine.clone());
}

/// A tool that comes and goes.
async fn change() -> Result<ToolOutput, ToolError> {
    const NAME: &str = "test_now_and_then";
    let defect = |e: &dyn std::fmt::Display| ToolError::internal(e.to_string());
    let engine = ENGINE.get().ok_or_else(|| defect(&"no engine"))?;
    let owner = ToolOwner::named("fixtures");
    if !engine.remove(NAME, &owner).await.map_err(|e| defect(&e))? {
        let tool = says(NAME, "I come and go.");
        engine.registry().register(tool, &owner).map_err(|e| defect(&e))?;
    }
    text("The tools have changed.")
}

fn with_header() -> Value {
    json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "query": {"type": "string"},
        },
        "required": ["region"],
    })
}

fn rich() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}
