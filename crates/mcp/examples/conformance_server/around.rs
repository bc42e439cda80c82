//! The server's own handler, with what only fixtures need put around it.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use hermes_mcp::server::McpServerHandler;
use parking_lot::Mutex;
use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::watch;

use crate::{rounds, shelf};

/// What all clients of the fixtures have in common.
pub(crate) struct State {
    pub(crate) codec: RequestStateCodec,
    prompts: watch::Sender<u64>,
    subscribed: Mutex<HashSet<String>>,
}

impl State {
    pub(crate) fn new() -> io::Result<Self> {
        use io::Read as _;
        let mut key = [0; 32];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
        Ok(Self {
            codec: RequestStateCodec::try_new(key).map_err(io::Error::other)?,
            prompts: watch::Sender::new(0),
            subscribed: Mutex::default(),
        })
    }

    pub(crate) fn change_prompts(&self) {
        self.prompts.send_modify(|count| *count += 1);
    }
}

pub(crate) struct Around {
    inner: McpServerHandler,
    state: Arc<State>,
}

impl Around {
    pub(crate) fn new(inner: McpServerHandler, state: Arc<State>) -> Self {
        Self { inner, state }
    }

    fn subscribed(&self) -> parking_lot::MutexGuard<'_, HashSet<String>> {
        self.state.subscribed.lock()
    }
}

type Context = RequestContext<RoleServer>;

#[allow(deprecated, reason = "the older protocol has these, and its suite asks for them")]
impl ServerHandler for Around {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.inner.get_info();
        let more = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_logging()
            .enable_tasks()
            .build();
        info.capabilities = more;
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut list = self.inner.list_tools(request, context).await?;
        list.tools.extend(rounds::tools()?);
        list.tools.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        if rounds::knows(&request.name) {
            return rounds::call(&self.state, request, context).await;
        }
        self.inner.call_tool(request, context).await
    }

    async fn get_task(
        &self,
        asked: GetTaskParams,
        context: Context,
    ) -> Result<GetTaskResult, ErrorData> {
        self.inner.get_task(asked, context).await
    }

    async fn update_task(
        &self,
        asked: UpdateTaskParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        self.inner.update_task(asked, context).await
    }

    async fn cancel_task(
        &self,
        asked: CancelTaskParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        self.inner.cancel_task(asked, context).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        self.inner.on_custom_request(request, context).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.inner.get_tool(name)
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let sink = context.sink().clone();
        let mut prompts = self.state.prompts.subscribe();
        let tell = async {
            while prompts.changed().await.is_ok() {
                // Whoever did not ask for it is not told.
                let _ = sink.notify_prompt_list_changed().await;
            }
        };
        tokio::select! {
            ended = self.inner.listen(context) => ended,
            () = tell => Ok(()),
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.inner.on_initialized(context).await;
    }

    async fn set_level(&self, _: SetLevelRequestParams, context: Context) -> Result<(), ErrorData> {
        let version = context.protocol_version();
        if version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        Ok(())
    }

    async fn subscribe(&self, asked: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.subscribed().insert(asked.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        asked: UnsubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        self.subscribed().remove(&asked.uri);
        Ok(())
    }

    async fn complete(
        &self,
        asked: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        shelf::complete(&asked)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        shelf::prompts()
    }

    async fn get_prompt(
        &self,
        asked: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        shelf::prompt(&asked)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        shelf::resources()
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        shelf::templates()
    }

    async fn read_resource(
        &self,
        asked: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        shelf::read(&asked.uri)
    }
}
