//! A bare server of the SDK that gives back what it is told, with no engine
//! behind it: what benchmarks hold ours against.
//!
//! ```text
//! echo_server          on standard input and output
//! echo_server http     at a free port, whose address it prints
//! ```

use std::convert::Infallible;
use std::io::Write as _;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::transport::io::stdio_pipes;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;

struct Echo;

fn echo() -> Tool {
    let schema = json!({"type": "object", "properties": {"message": {"type": "string"}},
                        "required": ["message"]});
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool::new("echo", "Gives back the message", schema)
}

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![echo()]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = request.arguments.as_ref().and_then(|given| given.get("message"));
        let message = given.and_then(Value::as_str).unwrap_or_default();
        Ok(CallToolResult::success(vec![ContentBlock::text(message)]).into())
    }

    fn get_tool(&self, _: &str) -> Option<Tool> {
        Some(echo())
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).is_none() {
        Echo.serve(stdio_pipes()).await?.waiting().await?;
        return Ok(());
    }
    let config = StreamableHttpServerConfig::default().with_json_response(true);
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Echo), sessions, config);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    writeln!(std::io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service.clone();
        tokio::spawn(async move {
            let answer = |request| {
                let service = service.clone();
                async move { Ok::<_, Infallible>(service.handle(request).await) }
            };
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .await;
        });
    }
}
