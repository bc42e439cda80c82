//! Dispatches the requests of one client.

use std::fmt;
use std::sync::{Arc, OnceLock};

use hermes_engine::Caller;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, ConstString, CustomRequest, CustomResult, ErrorCode,
    GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse, GetTaskParams,
    GetTaskResult, Implementation, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestMethod, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SubscriptionFilter, Tool, UpdateTaskParams,
};
use rmcp::service::{
    NotificationContext, RequestContext, SubscriptionContext, SubscriptionSendError,
};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::changes::ChangedList;
use super::{ServedSkills, ServerShared, call, message, session_id, skills};

/// Metadata key by which clients of the newer protocol, which has no sessions,
/// may name one.
const SESSION_META_KEY: &str = "hermes/session";

/// Maximum length of such a name.
const MAX_SESSION_CHARS: usize = 64;

/// Transport between a client and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportKind {
    /// One client, until it closes the pipe.
    Stdio,
    /// Any number of clients.
    Http,
}

/// Handles the requests of one client.
pub struct McpServerHandler {
    shared: Arc<ServerShared>,
    transport: TransportKind,
    session: OnceLock<String>,
}

impl McpServerHandler {
    pub(crate) fn new(shared: Arc<ServerShared>, carrier: TransportKind) -> Self {
        Self { shared, transport: carrier, session: OnceLock::new() }
    }

    /// Returns the session of a request. The newer protocol has none over HTTP,
    /// so it is the one that the request names, or a common one.
    fn session_for(&self, context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
        let version = context.meta.protocol_version();
        let newer = version.is_some_and(|v| v >= ProtocolVersion::V_2026_07_28);
        if newer && self.transport == TransportKind::Http {
            let Some(named) = context.meta.0.get(SESSION_META_KEY) else {
                return Ok(self.shared.common_session().to_owned());
            };
            let fits = |name: &&str| {
                (1..=MAX_SESSION_CHARS).contains(&name.len())
                    && name.bytes().all(|b| b.is_ascii_graphic())
            };
            let named = named.as_str().filter(fits).ok_or_else(|| {
                let wanted = format!(
                    "{SESSION_META_KEY} must be 1 to {MAX_SESSION_CHARS} visible ASCII characters"
                );
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

    /// Runs a request on the skills. Without skills the method does not exist;
    /// an empty list would suggest that it does.
    async fn with_skills<M: ConstString, T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        ask: impl FnOnce(&ServedSkills, &Caller) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let Some(skills) = &self.shared.settings.skills else {
            return Err(ErrorData::method_not_found::<M>());
        };
        let (skills, caller) =
            (Arc::clone(skills), self.shared.caller(&self.session_for(context)?));
        let asked = tokio::task::spawn_blocking(move || ask(&skills, &caller)).await;
        asked.unwrap_or_else(|e| Err(ErrorData::internal_error(e.to_string(), None)))
    }
}

impl ServerHandler for McpServerHandler {
    fn get_info(&self) -> ServerConfig {
        let settings = &self.shared.settings;
        let tools =
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().enable_tasks();
        let capabilities = match &settings.skills {
            None => tools.build(),
            Some(_) => tools
                .enable_prompts()
                .enable_prompts_list_changed()
                .enable_resources()
                .enable_resources_list_changed()
                .build(),
        };
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
        listing.page(cursor.as_deref(), self.shared.settings.page_size)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let session = self.session_for(&context)?;
        call::call_tool(&self.shared, session, request, context).await
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
        self.shared.listed_tool(name)
    }

    fn accepted_subscription_filter(
        &self,
        _requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let tools = SubscriptionFilter::builder().tools_list_changed();
        Some(match &self.shared.settings.skills {
            None => tools.build(),
            Some(_) => tools.prompts_list_changed().resources_list_changed().build(),
        })
    }

    /// Newer protocol: clients subscribe to the changes they want.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut news = self.shared.changes.subscribe();
        let sink = context.sink();
        loop {
            let changed = tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.shared.cancel_calls.cancelled() => return Ok(()),
                () = self.shared.clients_gone.cancelled() => return Ok(()),
                changed = news.next() => changed,
            };
            let shown = match changed {
                None => return Ok(()),
                Some(ChangedList::Tools) => sink.notify_tool_list_changed().await,
                Some(ChangedList::Prompts) => sink.notify_prompt_list_changed().await,
                Some(ChangedList::Resources) => sink.notify_resource_list_changed().await,
            };
            match shown {
                Ok(()) | Err(SubscriptionSendError::NotificationNotAccepted(_)) => {}
                Err(_) => return Ok(()),
            }
        }
    }

    /// Older protocol: every client is notified of changes.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut news = self.shared.changes.subscribe();
        let stop = self.shared.clients_gone.clone();
        while let Some(Some(changed)) = stop.run_until_cancelled(news.next()).await {
            let shown = match changed {
                ChangedList::Tools => context.peer.notify_tool_list_changed().await,
                ChangedList::Prompts => context.peer.notify_prompt_list_changed().await,
                ChangedList::Resources => context.peer.notify_resource_list_changed().await,
            };
            if shown.is_err() {
                return;
            }
        }
    }

    /// Handles requests that match no other method. It may be a known method
    /// with invalid parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        let version = context.protocol_version();
        let is_newer = version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let has_skills = self.shared.settings.skills.is_some();
        if message::is_known_method(&method, is_newer, has_skills) {
            let why = message::explain_params(&method, params.as_ref());
            return Err(ErrorData::invalid_params(why, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let size = self.shared.settings.page_size;
        let cursor = request.and_then(|request| request.cursor);
        self.with_skills::<ListPromptsRequestMethod, _>(&context, move |skills, caller| {
            skills.listing_for_client(caller).prompts_page(cursor.as_deref(), size)
        })
        .await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let got = self.with_skills::<GetPromptRequestMethod, _>(&context, move |skills, caller| {
            skills.get_prompt(caller, &request)
        });
        Ok(got.await?.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let size = self.shared.settings.page_size;
        let cursor = request.and_then(|request| request.cursor);
        self.with_skills::<ListResourcesRequestMethod, _>(&context, move |skills, caller| {
            skills.listing_for_client(caller).resources_page(cursor.as_deref(), size)
        })
        .await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.with_skills::<ListResourceTemplatesRequestMethod, _>(&context, |_, _| {
            Ok(skills::resource_templates())
        })
        .await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self
            .with_skills::<ReadResourceRequestMethod, _>(&context, move |skills, caller| {
                skills.read_resource(caller, &request.uri)
            });
        Ok(read.await?.into())
    }

    // No argument supports completion.

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }
}

impl fmt::Debug for McpServerHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServerHandler")
            .field("carrier", &self.transport)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}
