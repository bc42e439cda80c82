//! One connection to a server: handshake, requests and shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hermes_core::{ToolContext, ToolError};
use parking_lot::Mutex;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam,
    ClientRequest, ElicitRequestParams, ElicitationAction, GetPromptRequest,
    GetPromptRequestParams, GetPromptResult, InputRequest, InputRequiredResult, InputResponses,
    JsonObject, ProtocolVersion, ReadResourceRequest, ReadResourceRequestParams,
    ReadResourceResult, RequestId, ServerPeerInfo, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, PeerRequestOptions, RoleClient,
    RunningService, RunningServiceCancellationToken, ServiceError, serve_client_with_lifecycle,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::client_handler::McpClientHandler;
use super::content;
use super::error::{McpRequestError, unexpected_response};
use super::program::ServerProcess;
use super::stderr_tail::StderrTail;

/// How often a server may request input before it responds.
const MAX_INPUT_ROUNDS: usize = 10;

/// How long a connection may take to close.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Generation of the protocol that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolEra {
    /// With an initialize handshake and a session.
    Legacy,
    /// Stateless; each request is independent.
    Modern,
}

/// A connection to one server.
pub(crate) struct McpConnection {
    server: Arc<str>,
    peer: Peer<RoleClient>,
    handler: Arc<McpClientHandler>,
    stop: Mutex<Option<RunningServiceCancellationToken>>,
    /// Cancelled once the connection is closed.
    pub(crate) closed: CancellationToken,
    process: tokio::sync::Mutex<Option<ServerProcess>>,
    stderr_tail: Option<Arc<StderrTail>>,
    /// Whether the server supports the modern era but replied too late.
    late_discover: Arc<AtomicBool>,
    pub(crate) info: Arc<ServerPeerInfo>,
}

/// Timeouts of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestTimeouts {
    /// How long the server may be silent.
    pub(crate) idle: Duration,
    /// How long the request may take in total.
    pub(crate) total: Duration,
}

impl RequestTimeouts {
    /// Distinguishes a total timeout from an idle timeout.
    fn classify(self, fault: McpRequestError) -> McpRequestError {
        match fault {
            McpRequestError::IdleTimeout(after) if after == self.total && after > self.idle => {
                McpRequestError::TotalTimeout(after)
            }
            other => other,
        }
    }
}

impl McpConnection {
    /// Performs the handshake with the server behind `transport`.
    pub(crate) async fn handshake<T>(
        server: Arc<str>,
        host: &Arc<McpClientHandler>,
        transport: T,
        era: Option<ProtocolEra>,
    ) -> Result<Self, ClientInitializeError>
    where
        T: Transport<RoleClient> + 'static,
    {
        let mode = match era {
            Some(ProtocolEra::Legacy) => ClientLifecycleMode::Initialize,
            _ => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
        };
        let service = serve_client_with_lifecycle(Arc::clone(host), transport, mode).await?;
        let it = Self::from_service(server, host, service);
        let spoken = &it.info.protocol_version;
        if ProtocolVersion::KNOWN_VERSIONS.contains(spoken) {
            return Ok(it);
        }
        let error = ClientInitializeError::NoCompatibleProtocolVersion {
            client_supported: ProtocolVersion::KNOWN_VERSIONS.to_vec(),
            server_supported: vec![spoken.clone()],
        };
        it.close().await;
        Err(error)
    }

    fn from_service(
        server: Arc<str>,
        host: &Arc<McpClientHandler>,
        service: RunningService<RoleClient, Arc<McpClientHandler>>,
    ) -> Self {
        let peer = service.peer().clone();
        let stop = Mutex::new(Some(service.cancellation_token()));
        let closed = CancellationToken::new();
        let shown = closed.clone();
        tokio::spawn(async move {
            let _ = service.waiting().await;
            shown.cancel();
        });
        let none = || ServerPeerInfo::new(ProtocolVersion::V_2024_11_05, Default::default());
        let info = peer.peer_info().unwrap_or_else(|| Arc::new(none()));
        let program = tokio::sync::Mutex::new(None);
        let (host, tail, late_yes) = (Arc::clone(host), None, Arc::default());
        Self {
            server,
            peer,
            handler: host,
            stop,
            closed,
            process: program,
            stderr_tail: tail,
            late_discover: late_yes,
            info,
        }
    }

    /// Attaches the server's program, which is terminated with the connection.
    #[must_use]
    pub(crate) fn with_process(
        mut self,
        program: ServerProcess,
        late_yes: Arc<AtomicBool>,
    ) -> Self {
        self.late_discover = late_yes;
        self.stderr_tail = Some(Arc::clone(&program.stderr_tail));
        self.process = tokio::sync::Mutex::new(Some(program));
        self
    }

    pub(crate) fn era(&self) -> ProtocolEra {
        if self.info.protocol_version.has_initialize() {
            ProtocolEra::Legacy
        } else {
            ProtocolEra::Modern
        }
    }

    /// Returns the era to try on the next connection. A server that was only
    /// slow to start is probed again.
    pub(crate) fn next_era(&self) -> ProtocolEra {
        if self.late_discover.load(Ordering::Relaxed) { ProtocolEra::Modern } else { self.era() }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.server
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_cancelled() || self.peer.is_transport_closed()
    }

    /// Returns the last stderr output of the server's program.
    pub(crate) fn stderr_tail(&self) -> String {
        self.stderr_tail.as_ref().map(|tail| tail.text()).unwrap_or_default()
    }

    /// Returns the exit status of the server's program, if it has exited.
    pub(crate) async fn exit_status(&self) -> Option<String> {
        self.process.lock().await.as_mut().and_then(ServerProcess::exit_status)
    }

    /// Closes the connection and terminates its program.
    pub(crate) async fn close(&self) {
        let stop = self.stop.lock().take();
        if let Some(stop) = stop {
            stop.cancel();
        }
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.closed.cancelled()).await;
        let program = self.process.lock().await.take();
        if let Some(program) = program {
            program.terminate().await;
        }
        self.closed.cancel();
    }

    /// Sends a request and waits for the response. Dropping the future cancels
    /// the request on the server.
    pub(crate) async fn request(
        &self,
        request: ClientRequest,
        timeout: RequestTimeouts,
        cx: Option<&ToolContext>,
    ) -> Result<ServerResult, McpRequestError> {
        let fault =
            |error| timeout.classify(McpRequestError::from_service_error(&self.server, error));
        let options = PeerRequestOptions::with_timeout(timeout.idle)
            .reset_timeout_on_progress()
            .with_max_total_timeout(timeout.total);
        let handle = self.peer.send_request_with_option(request, options).await;
        let handle = match handle {
            Err(ServiceError::TransportClosed) => {
                return Err(McpRequestError::NotSent("the connection is closed".to_owned()));
            }
            other => other.map_err(fault)?,
        };
        let mut abandoned = CancelRequestOnDrop { peer: &self.peer, id: Some(handle.id.clone()) };
        let _attending =
            cx.map(|cx| self.handler.register_progress(handle.progress_token.clone(), cx));
        let answered = match cx {
            None => handle.await_response().await.map_err(fault),
            Some(cx) => match cx.cancel.run_until_cancelled(handle.await_response()).await {
                Some(answered) => answered.map_err(fault),
                None => return Err(McpRequestError::Cancelled),
            },
        };
        abandoned.id = None;
        answered
    }

    /// Calls a tool and answers the server's requests for input.
    pub(crate) async fn call_tool(
        &self,
        tool: &str,
        arguments: JsonObject,
        timeout: RequestTimeouts,
        cx: &ToolContext,
    ) -> Result<CallToolResult, McpRequestError> {
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        for _ in 0..MAX_INPUT_ROUNDS {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
            let answered = self.request(request, timeout, Some(cx)).await;
            if self.requires_task(&answered) {
                let arguments = params.arguments.unwrap_or_default();
                return self.call_as_task(tool, &arguments, timeout, cx).await;
            }
            let answered = match answered {
                Err(McpRequestError::UrlElicitation(places)) => {
                    self.elicit_urls(&places, cx).await?;
                    continue;
                }
                Err(McpRequestError::Unreadable(error)) => {
                    return Err(mark_effect_unknown(McpRequestError::Refused(error)));
                }
                answered => answered?,
            };
            match answered {
                ServerResult::CallToolResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(wanted) => {
                    (params.input_responses, params.request_state) =
                        self.answer_inputs(wanted, cx).await?;
                }
                ServerResult::CreateTaskResult(made) => {
                    return self.poll_task(made.task, timeout, cx).await;
                }
                ServerResult::EmptyResult(_) => return Ok(CallToolResult::success(Vec::new())),
                other => {
                    return content::recover_known_blocks(&other)
                        .ok_or_else(|| mark_effect_unknown(self.unexpected_result(&other)));
                }
            }
        }
        Err(self.too_many_rounds())
    }

    pub(crate) async fn read_resource(
        &self,
        uri: &str,
        timeout: RequestTimeouts,
        cx: &ToolContext,
    ) -> Result<ReadResourceResult, McpRequestError> {
        let mut params = ReadResourceRequestParams::new(uri);
        for _ in 0..MAX_INPUT_ROUNDS {
            let request =
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params.clone()));
            match self.request(request, timeout, Some(cx)).await? {
                ServerResult::ReadResourceResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(wanted) => {
                    (params.input_responses, params.request_state) =
                        self.answer_inputs(wanted, cx).await?;
                }
                other => return Err(self.unexpected_result(&other)),
            }
        }
        Err(self.too_many_rounds())
    }

    pub(crate) async fn get_prompt(
        &self,
        name: &str,
        arguments: JsonObject,
        timeout: RequestTimeouts,
        cx: &ToolContext,
    ) -> Result<GetPromptResult, McpRequestError> {
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = Some(arguments);
        for _ in 0..MAX_INPUT_ROUNDS {
            let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params.clone()));
            match self.request(request, timeout, Some(cx)).await? {
                ServerResult::GetPromptResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(wanted) => {
                    (params.input_responses, params.request_state) =
                        self.answer_inputs(wanted, cx).await?;
                }
                other => return Err(self.unexpected_result(&other)),
            }
        }
        Err(self.too_many_rounds())
    }

    /// Answers the inputs that a server requires before it responds.
    async fn answer_inputs(
        &self,
        wanted: InputRequiredResult,
        cx: &ToolContext,
    ) -> Result<(Option<InputResponses>, Option<String>), McpRequestError> {
        let requests = wanted.input_requests.unwrap_or_default();
        if requests.is_empty() && wanted.request_state.is_none() {
            return Err(McpRequestError::Refused(unexpected_response(
                &self.server,
                "it requires input but does not say which",
            )));
        }
        if requests.is_empty() {
            // The server only wants the request repeated.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let mut responses = InputResponses::new();
        for (key, request) in requests {
            responses.insert(key, self.answer_input(&request, cx).await?);
        }
        Ok(((!responses.is_empty()).then_some(responses), wanted.request_state))
    }

    /// Answers one input request of a server.
    pub(super) async fn answer_input(
        &self,
        request: &InputRequest,
        cx: &ToolContext,
    ) -> Result<Value, McpRequestError> {
        let answered = cx.cancel.run_until_cancelled(self.handler.answer_input(request)).await;
        answered.ok_or(McpRequestError::Cancelled)?.map_err(|error| {
            McpRequestError::Refused(
                ToolError::denied(format!(
                    "The MCP server '{}' requests input that was refused: {}",
                    self.server, error.message
                ))
                .with_hint("Continue without this tool, or ask the user."),
            )
        })
    }

    /// Asks the user to open the URLs that the server requires.
    async fn elicit_urls(&self, places: &[Value], cx: &ToolContext) -> Result<(), McpRequestError> {
        let unmade = |text: &str| {
            McpRequestError::Refused(
                ToolError::denied(format!("The MCP server '{}' {text}", self.server))
                    .with_hint("Continue without this tool, or ask the user."),
            )
        };
        if places.is_empty() {
            return Err(unmade("requires the user to open a URL but does not name one"));
        }
        for place in places.iter().take(MAX_INPUT_ROUNDS) {
            let mut place = place.clone();
            if let Value::Object(fields) = &mut place {
                fields.entry("mode").or_insert_with(|| "url".into());
            }
            let Ok(params) = serde_json::from_value::<ElicitRequestParams>(place) else {
                return Err(unmade("requires the user to open a URL but does not name one"));
            };
            let visited = cx.cancel.run_until_cancelled(self.handler.elicit(&params)).await;
            if visited.ok_or(McpRequestError::Cancelled)?.action != ElicitationAction::Accept {
                return Err(unmade("requires the user to open a URL first, which did not happen"));
            }
        }
        Ok(())
    }

    pub(super) fn unexpected_result(&self, result: &ServerResult) -> McpRequestError {
        let text = serde_json::to_string(result).unwrap_or_default();
        McpRequestError::Refused(unexpected_response(
            &self.server,
            &super::sanitize::excerpt(&text, 300),
        ))
    }

    fn too_many_rounds(&self) -> McpRequestError {
        McpRequestError::Refused(unexpected_response(&self.server, "it keeps requesting input"))
    }
}

impl std::fmt::Debug for McpConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpConnection").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Marks the error as an unusable response to a call that was made.
fn mark_effect_unknown(fault: McpRequestError) -> McpRequestError {
    match fault {
        McpRequestError::Refused(error) => McpRequestError::Refused(
            error
                .with("effect_disposition", "unknown")
                .with_hint("The call was made. Check its effects before calling again."),
        ),
        other => other,
    }
}

/// Cancels a pending request when dropped.
struct CancelRequestOnDrop<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for CancelRequestOnDrop<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let reason = Some("no longer wanted".to_owned());
            let _ = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason)).await;
        });
    }
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
