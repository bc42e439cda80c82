//! Client side of an MCP connection: handles requests and notifications of a
//! server.

// Sampling, roots and logging are deprecated in the protocol, but servers still
// use them.
#![allow(deprecated)]

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hermes_core::ToolContext;
use parking_lot::Mutex;
use rmcp::ClientHandler;
use rmcp::model::{
    CancelledNotificationParam, ClientCapabilities, ClientConfig, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability, Implementation,
    InputRequest, ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam,
    ProgressToken, ProtocolVersion, Root, RootsCapabilities, SamplingCapability,
    TASKS_EXTENSION_ID, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::prompter::{ElicitationAnswer, ElicitationPrompter, FormField, ServerQuestion};
use super::sampling::SamplingHandler;
use super::sanitize::excerpt;
use super::settings::ElicitationSettings;

/// Maximum number of log messages kept per server.
const MAX_LOG_ENTRIES: usize = 100;

/// Maximum length of one log message, in characters.
const MAX_LOG_CHARS: usize = 2_000;

/// Handles requests and notifications of one server, across its connections.
pub(crate) struct McpClientHandler {
    server: Arc<str>,
    pub(crate) sampling: SamplingHandler,
    elicitation: ElicitationSettings,
    default_prompter: Option<Arc<dyn ElicitationPrompter>>,
    roots: Vec<PathBuf>,
    /// Notified when the server reports that its lists changed.
    pub(crate) lists_changed: Arc<Notify>,
    progress: Mutex<HashMap<ProgressToken, ToolContext>>,
    /// Prompters of the running calls, latest last.
    call_prompters: Mutex<Vec<(u64, Arc<dyn ElicitationPrompter>)>>,
    next_id: AtomicU64,
    log: Mutex<VecDeque<String>>,
}

/// Registration of a running call, which receives its progress and questions
/// until dropped.
pub(crate) struct CallRegistration {
    handler: Arc<McpClientHandler>,
    token: Option<ProgressToken>,
    prompter_id: Option<u64>,
}

impl Drop for CallRegistration {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            self.handler.progress.lock().remove(token);
        }
        if let Some(number) = self.prompter_id {
            self.handler.call_prompters.lock().retain(|it| it.0 != number);
        }
    }
}

impl McpClientHandler {
    pub(crate) fn new(
        server: Arc<str>,
        sampling: SamplingHandler,
        elicitation: ElicitationSettings,
        asker: Option<Arc<dyn ElicitationPrompter>>,
        roots: Vec<PathBuf>,
    ) -> Self {
        Self {
            server,
            sampling,
            elicitation,
            default_prompter: asker,
            roots,
            lists_changed: Arc::default(),
            progress: Mutex::default(),
            call_prompters: Mutex::default(),
            next_id: AtomicU64::new(1),
            log: Mutex::default(),
        }
    }

    /// Routes the progress of a request to the call.
    pub(crate) fn register_progress(
        self: &Arc<Self>,
        token: ProgressToken,
        cx: &ToolContext,
    ) -> CallRegistration {
        self.progress.lock().insert(token.clone(), cx.clone());
        CallRegistration { handler: Arc::clone(self), token: Some(token), prompter_id: None }
    }

    /// Routes questions to the prompter of the call.
    pub(crate) fn register_prompter(
        self: &Arc<Self>,
        asker: Arc<dyn ElicitationPrompter>,
    ) -> CallRegistration {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.call_prompters.lock().push((number, asker));
        CallRegistration { handler: Arc::clone(self), token: None, prompter_id: Some(number) }
    }

    fn prompter(&self) -> Option<Arc<dyn ElicitationPrompter>> {
        // Without a default prompter, servers are not offered elicitation.
        let usual = self.default_prompter.clone()?;
        Some(self.call_prompters.lock().last().map_or(usual, |it| Arc::clone(&it.1)))
    }

    /// Returns the latest log messages of the server.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().iter().cloned().collect()
    }

    fn capabilities(&self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        if !self.roots.is_empty() {
            capabilities.roots = Some(RootsCapabilities::default());
        }
        if self.sampling.is_offered() {
            let mut sampling = SamplingCapability::default();
            sampling.tools = Some(serde_json::Map::new());
            capabilities.sampling = Some(sampling);
        }
        if self.elicitation.enabled && self.default_prompter.is_some() {
            let mut elicitation = ElicitationCapability::default();
            elicitation.form = Some(FormElicitationCapability::new());
            elicitation.url = Some(UrlElicitationCapability::new());
            capabilities.elicitation = Some(elicitation);
        }
        // With tasks, a server may continue a call after it has responded.
        let extensions = capabilities.extensions.get_or_insert_default();
        extensions.insert(TASKS_EXTENSION_ID.to_owned(), serde_json::Map::new());
        capabilities
    }

    /// Asks the user on behalf of the server.
    pub(crate) async fn elicit(&self, params: &ElicitRequestParams) -> ElicitResult {
        let question = match params {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let schema = serde_json::to_value(requested_schema).unwrap_or_default();
                ServerQuestion::Form {
                    message: excerpt(message, 2_000),
                    fields: FormField::from_schema(&schema),
                }
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                ServerQuestion::OpenUrl {
                    message: excerpt(message, 2_000),
                    url: excerpt(url, 2_000),
                }
            }
            _ => return ElicitResult::new(ElicitationAction::Decline),
        };
        let asker = self.prompter().filter(|_| self.elicitation.enabled);
        let Some(asker) = asker else { return ElicitResult::new(ElicitationAction::Decline) };
        let asked = asker.ask(&self.server, &question);
        match tokio::time::timeout(self.elicitation.timeout, asked).await {
            Ok(ElicitationAnswer::AcceptedForm(filled)) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(filled))
            }
            Ok(ElicitationAnswer::Accepted) => ElicitResult::new(ElicitationAction::Accept),
            Ok(ElicitationAnswer::Declined) => ElicitResult::new(ElicitationAction::Decline),
            Ok(ElicitationAnswer::Cancelled) | Err(_) => {
                ElicitResult::new(ElicitationAction::Cancel)
            }
        }
    }

    async fn sample(&self, params: &Value) -> Result<Value, ErrorData> {
        let answered = self.sampling.handle_request(&self.server, params, self.prompter()).await;
        answered.map_err(|why| ErrorData::new(ErrorCode(-1), why, None))
    }

    fn roots(&self) -> Vec<Root> {
        self.roots.iter().map(|path| Root::new(file_uri(path))).collect()
    }

    /// Answers a server's request for input.
    pub(crate) async fn answer_input(&self, request: &InputRequest) -> Result<Value, ErrorData> {
        let written = |value: serde_json::Result<Value>| {
            value.map_err(|error| ErrorData::internal_error(error.to_string(), None))
        };
        match request {
            InputRequest::CreateMessage(request) => {
                self.sample(&written(serde_json::to_value(&request.params))?).await
            }
            InputRequest::Elicitation(request) => {
                written(serde_json::to_value(self.elicit(&request.params).await))
            }
            InputRequest::ListRoots(_) => {
                written(serde_json::to_value(ListRootsResult::new(self.roots())))
            }
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "unknown request", None)),
        }
    }
}

impl std::fmt::Debug for McpClientHandler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpClientHandler").field("server", &self.server).finish_non_exhaustive()
    }
}

impl ClientHandler for McpClientHandler {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("hermes", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(self.capabilities(), us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let internal =
            |error: serde_json::Error| ErrorData::internal_error(error.to_string(), None);
        let params = serde_json::to_value(&params).map_err(internal)?;
        serde_json::from_value(self.sample(&params).await?).map_err(internal)
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(self.roots()))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let asked = context.ct.run_until_cancelled(self.elicit(&request)).await;
        Ok(asked.unwrap_or_else(|| ElicitResult::new(ElicitationAction::Cancel)))
    }

    async fn on_cancelled(
        &self,
        _params: CancelledNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        // The cancellation token of the named request ends it.
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let Some(cx) = self.progress.lock().get(&params.progress_token).cloned() else { return };
        let fraction =
            params.total.filter(|total| *total > 0.0).map(|total| params.progress / total);
        let fraction = fraction.filter(|it| it.is_finite()).map(|it| it.clamp(0.0, 1.0));
        let message = match &params.message {
            Some(message) => excerpt(message, 300),
            None => format!("{}", params.progress),
        };
        cx.report_progress(fraction, message);
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let text = match &params.data {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let level = serde_json::to_value(params.level).unwrap_or(json!("info"));
        let mut log = self.log.lock();
        if log.len() >= MAX_LOG_ENTRIES {
            log.pop_front();
        }
        log.push_back(format!(
            "{}: {}",
            level.as_str().unwrap_or("info"),
            excerpt(&text, MAX_LOG_CHARS)
        ));
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.lists_changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.lists_changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.lists_changed.notify_one();
    }
}

/// Converts a path to a `file://` URI.
fn file_uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(char::from(*byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
