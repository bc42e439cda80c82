//! The trait that tool authors implement, and its erased form.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Serialize};
use serde_json::{Map, Value};

use crate::{
    Attachment, Availability, CallEnding, Effect, ToolContext, ToolError, ToolOutput, ToolSpec,
    WorkingDir,
};

/// A future behind a pointer.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Fields of the definition that replace the static ones, such as a
/// description that lists what is configured.
pub type SchemaOverride = Map<String, Value>;

/// A tool, as its author writes it.
///
/// The schema that models see is made from [`Tool::Args`], so it is never
/// typed twice. `effects` is pure: it says what `run` will do, from the
/// arguments alone.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "needs `impl Tool for {Self}`",
    note = "a tool has `type Args`, `type Output`, `fn spec()`, `fn effects()` and `async fn run()`; see docs/writing-a-tool.md"
)]
pub trait Tool: Send + Sync + Sized + 'static {
    /// The arguments.
    type Args: DeserializeOwned + JsonSchema + Send + 'static;
    /// The answer.
    type Output: Serialize + Send;

    /// What is known of it before it runs.
    fn spec() -> ToolSpec;

    /// What a call with these arguments will do.
    fn effects(&self, args: &Self::Args, at: &WorkingDir) -> Vec<Effect>;

    /// Does it.
    fn run(
        &self,
        args: Self::Args,
        cx: &ToolContext,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;

    /// Arguments that may be long and that [`Tool::effects`] does not look at,
    /// such as the content of a file. A long one is empty when the effects are
    /// asked for, so that it need not be copied.
    fn bulk_arguments() -> &'static [&'static str] {
        &[]
    }

    /// Whether it can work here and now. The answer is cached.
    fn check(&self) -> impl Future<Output = Availability> + Send {
        async { Availability::Ready }
    }

    /// The JSON Schema of its answers, made by [`crate::answer_schema`], for
    /// programs that want to rely on it. Models do not see it.
    fn output_schema() -> Option<Value> {
        None
    }

    /// Fields of the definition that depend on the configuration of the day.
    fn overrides(&self) -> Option<SchemaOverride> {
        None
    }

    /// What comes with the answer beside its text.
    fn attachments(_output: &Self::Output) -> Vec<Attachment> {
        Vec::new()
    }

    /// Whether this is what there was when the call was stopped, and not what was
    /// asked for. The call is then kept as cancelled, with this for its answer.
    fn was_stopped(_output: &Self::Output) -> bool {
        false
    }

    /// How the call has ended, where there is more to tell than whether it was
    /// stopped.
    fn ending(output: &Self::Output) -> CallEnding {
        if Self::was_stopped(output) { CallEnding::Stopped } else { CallEnding::Completed }
    }

    /// Once, before the first call.
    fn setup(&self) -> impl Future<Output = Result<(), ToolError>> + Send {
        async { Ok(()) }
    }

    /// Once, when the tool is removed or the program ends.
    fn teardown(&self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// A tool, as the engine sees it. Tools that are not known at compile time
/// (another server's, a user's script) implement this directly.
pub trait DynTool: Send + Sync {
    /// What is known of it before it runs.
    fn spec(&self) -> &ToolSpec;

    /// The JSON Schema of its arguments.
    fn parameters(&self) -> Value;

    /// Reads the arguments, once.
    fn bind(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn BoundCall>, ToolError>;

    /// [`Self::bind`] for arguments that nobody else needs any more: they are
    /// moved, not copied.
    fn bind_owned(self: Arc<Self>, arguments: Value) -> Result<Box<dyn BoundCall>, ToolError> {
        self.bind(&arguments)
    }

    /// See [`Tool::bulk`].
    fn bulk_arguments(&self) -> &'static [&'static str] {
        &[]
    }

    /// See [`Tool::output_schema`].
    fn output_schema(&self) -> Option<Value> {
        None
    }

    /// See [`Tool::check`].
    fn check(&self) -> BoxFuture<'_, Availability>;

    /// See [`Tool::overrides`].
    fn overrides(&self) -> Option<SchemaOverride> {
        None
    }

    /// See [`Tool::setup`].
    fn setup(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }

    /// See [`Tool::teardown`].
    fn teardown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// A call whose arguments have been read.
pub trait BoundCall: Send {
    /// What it will do.
    fn effects(&self, at: &WorkingDir) -> Vec<Effect>;

    /// Does it.
    fn run(self: Box<Self>, cx: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>>;
}

/// The erased form of a tool.
pub fn erase<T: Tool>(tool: T) -> Arc<dyn DynTool> {
    Arc::new(ErasedTool { tool: Arc::new(tool), spec: T::spec() })
}

struct ErasedTool<T> {
    tool: Arc<T>,
    spec: ToolSpec,
}

impl<T: Tool> ErasedTool<T> {
    fn bind_args(
        &self,
        args: Result<T::Args, serde_json::Error>,
    ) -> Result<Box<dyn BoundCall>, ToolError> {
        let args =
            args.map_err(|e| ToolError::invalid(format!("The arguments cannot be read: {e}")))?;
        Ok(Box::new(TypedCall { tool: Arc::clone(&self.tool), args }))
    }
}

impl<T: Tool> DynTool for ErasedTool<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parameters(&self) -> Value {
        let settings = SchemaSettings::draft07().with(|s| {
            s.inline_subschemas = true;
            s.meta_schema = None;
        });
        settings.into_generator().into_root_schema_for::<T::Args>().to_value()
    }

    fn bind(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn BoundCall>, ToolError> {
        self.bind_args(T::Args::deserialize(arguments))
    }

    fn bind_owned(self: Arc<Self>, arguments: Value) -> Result<Box<dyn BoundCall>, ToolError> {
        self.bind_args(T::Args::deserialize(arguments))
    }

    fn bulk_arguments(&self) -> &'static [&'static str] {
        T::bulk_arguments()
    }

    fn output_schema(&self) -> Option<Value> {
        T::output_schema()
    }

    fn check(&self) -> BoxFuture<'_, Availability> {
        Box::pin(self.tool.check())
    }

    fn overrides(&self) -> Option<SchemaOverride> {
        self.tool.overrides()
    }

    fn setup(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(self.tool.setup())
    }

    fn teardown(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.tool.teardown())
    }
}

struct TypedCall<T: Tool> {
    tool: Arc<T>,
    args: T::Args,
}

impl<T: Tool> BoundCall for TypedCall<T> {
    fn effects(&self, at: &WorkingDir) -> Vec<Effect> {
        self.tool.effects(&self.args, at)
    }

    fn run(self: Box<Self>, cx: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let TypedCall { tool, args } = *self;
        Box::pin(async move {
            let output = tool.run(args, &cx).await?;
            let (attachments, ending) = (T::attachments(&output), T::ending(&output));
            Ok(ToolOutput::json(&output)?.with_attachments(attachments).with_ending(ending))
        })
    }
}
