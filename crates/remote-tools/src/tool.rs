//! A tool of this program that runs on a remote host.

use std::sync::Arc;

use hermes_core::{
    Availability, BoundCall, BoxFuture, DynTool, Effect, SchemaOverride, ToolContext, ToolError,
    ToolOutput, ToolSpec, WorkingDir,
};
use serde_json::Value;

use crate::client::RemoteToolHost;

/// Note added to the first change.
const NO_UNDO_NOTE: &str = "`hermes undo` does not cover changes made on a remote host";

/// Returns the tool, running on the remote host. It is described, checked and
/// judged locally; only the work is done there.
pub fn remote_tool(tool: Arc<dyn DynTool>, tool_host: Arc<RemoteToolHost>) -> Arc<dyn DynTool> {
    // Its changes are remote: no local files are checkpointed for it, least of
    // all those that happen to have the same names.
    let spec = tool.spec().clone().reports_changes();
    Arc::new(RemoteHostTool { tool, host: tool_host, spec })
}

struct RemoteHostTool {
    tool: Arc<dyn DynTool>,
    host: Arc<RemoteToolHost>,
    spec: ToolSpec,
}

impl DynTool for RemoteHostTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parameters(&self) -> Value {
        self.tool.parameters()
    }

    fn bind(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn BoundCall>, ToolError> {
        let bound = Arc::clone(&self.tool).bind(arguments)?;
        Ok(Box::new(RemoteBoundCall {
            bound,
            arguments: arguments.clone(),
            host: Arc::clone(&self.host),
        }))
    }

    fn check(&self) -> BoxFuture<'_, Availability> {
        self.tool.check()
    }

    fn overrides(&self) -> Option<SchemaOverride> {
        self.tool.overrides()
    }
}

struct RemoteBoundCall {
    bound: Box<dyn BoundCall>,
    arguments: Value,
    host: Arc<RemoteToolHost>,
}

impl BoundCall for RemoteBoundCall {
    fn effects(&self, at: &WorkingDir) -> Vec<Effect> {
        self.bound.effects(at)
    }

    fn run(self: Box<Self>, cx: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let Self { bound, arguments, host: tool_host } = *self;
        if tool_host.reads_local_only(&bound.effects(&cx.working_dir)) {
            return bound.run(cx);
        }
        Box::pin(async move {
            let (output, changed) = tool_host.call(bound, &arguments, &cx).await?;
            if changed && tool_host.take_undo_warning() {
                return Ok(with_undo_note(output));
            }
            Ok(output)
        })
    }
}

/// Adds the note to the result, if it is a JSON object.
fn with_undo_note(output: ToolOutput) -> ToolOutput {
    let Some(open) = output.content().strip_suffix('}').filter(|text| text.starts_with('{')) else {
        return output;
    };
    let comma = if open.trim_end().ends_with('{') { "" } else { "," };
    let content = format!("{open}{comma}\"_note\":\"{NO_UNDO_NOTE}\"}}");
    let stopped = output.is_stopped();
    ToolOutput::unchecked(content).with_attachments(output.attachments).with_stopped(stopped)
}
