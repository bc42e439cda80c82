//! What a client may ask of the server, and who answers.

use std::fmt;
use std::sync::{Arc, OnceLock};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, ErrorCode, GetTaskParams,
    GetTaskResult, Implementation, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerCapabilities, ServerConfig, SubscriptionFilter, Tool, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::{Shared, call, message, session_id};

/// Where a client of the newer protocol, which has no sessions, may name one.
const SESSION: &str = "hermes/session";

/// The longest such name.
const LONGEST: usize = 64;

/// How a client reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// One client, for as long as its pipe is open.
    Pipe,
    /// Any number of clients.
    Http,
}

/// Answers one client.
pub struct Handler {
    shared: Arc<Shared>,
    carrier: Carrier,
    session: OnceLock<String>,
}

impl Handler {
    pub(crate) fn new(shared: Arc<Shared>, carrier: Carrier) -> Self {
        Self { shared, carrier, session: OnceLock::new() }
    }

    /// The session that a request belongs to. Over HTTP the newer protocol
    /// knows none, so it is the one that the request names, or one for all.
    fn session(&self, context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
        let version = context.meta.protocol_version();
        let newer = version.is_some_and(|v| v >= ProtocolVersion::V_2026_07_28);
        if newer && self.carrier == Carrier::Http {
            let Some(named) = context.meta.0.get(SESSION) else {
                return Ok(self.shared.common_session().to_owned());
            };
            let fits = |name: &&str| {
                (1..=LONGEST).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic())
            };
            let named = named.as_str().filter(fits).ok_or_else(|| {
                let wanted = format!("{SESSION} must be 1 to {LONGEST} visible ASCII characters");
                ErrorData::invalid_params(wanted, None)
            })?;
            return Ok(format!("{}-{named}", self.shared.common_session()));
        }
        if let Some(id) = self.session.get() {
            return Ok(id.clone());
        }
        let id = session_id().map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        Ok(self.session.get_or_init(|| id).clone())
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let settings = &self.shared.settings;
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .build();
        let own = Implementation::new(settings.name.clone(), settings.version.clone());
        let mut info = ServerConfig::new(capabilities).with_server_info(own);
        info.instructions = settings.instructions.clone();
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let listing = self.shared.listing().await;
        let listing = listing.map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        let cursor = request.and_then(|request| request.cursor);
        listing.page(cursor.as_deref(), self.shared.settings.page)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let session = self.session(&context)?;
        call::make(&self.shared, session, request, context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.shared.tasks.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.tasks.cancel_task(&request.task_id)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.known_tool(name)
    }

    fn accepted_subscription_filter(
        &self,
        _requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    /// The newer protocol: a client that wants to hear of changes says so.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.shared.changes.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.shared.calls.cancelled() => return Ok(()),
                () = self.shared.deserted.cancelled() => return Ok(()),
                changed = changes.changed() => {
                    if changed.is_err() || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// The older protocol: every client hears of changes.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut changes = self.shared.changes.subscribe();
        let stop = self.shared.deserted.clone();
        while let Some(Ok(())) = stop.run_until_cancelled(changes.changed()).await {
            if context.peer.notify_tool_list_changed().await.is_err() {
                return;
            }
        }
    }

    /// What no other method understands. It may be one of them with the wrong
    /// parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        let version = context.protocol_version();
        let is_newer = version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        if message::is_method(&method, is_newer) {
            let why = message::explain(&method, params.as_ref());
            return Err(ErrorData::invalid_params(why, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }

    // There are none of these, and a list that is empty would say otherwise.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler")
            .field("carrier", &self.carrier)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}
