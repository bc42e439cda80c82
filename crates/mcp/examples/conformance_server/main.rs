//! The server with what the official conformance suite wants to find there.
//! Tools that need nothing but the pipeline are tools of an engine, as any
//! other; those that speak the protocol themselves, prompts and resources are
//! put around the server's own handler.
//!
//! ```text
//! conformance_server [PORT]     prints the address, serves until it is ended
//! conformance_server --stdio
//! ```

mod around;
mod plain;
mod rounds;
mod shelf;

use std::io::Write as _;
use std::net::Ipv4Addr;
use std::sync::Arc;

use hermes_core::CancellationToken;
use hermes_engine::{Caller, Engine, ToolOwner};
use hermes_mcp::server::{
    HttpAccessPolicy, HttpAuth, McpServer, ServeSettings, TransportKind, serve_http, serve_stdio,
};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use around::{Around, State};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::temp_dir().join(format!("hermes-conformance-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let served = serve(&dir).await;
    std::fs::remove_dir_all(&dir)?;
    served
}

async fn serve(dir: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    let owner = ToolOwner::named("fixtures");
    let engine = Engine::builder().tools_from(owner, plain::tools(dir)?).build()?;
    plain::may_change(&engine);
    let callers = Arc::new(|_: &str| Caller::new(std::env::temp_dir()));
    let settings = ServeSettings::new("hermes-conformance", env!("CARGO_PKG_VERSION"));
    let server = McpServer::new(engine.clone(), settings, callers)?;
    let state = Arc::new(State::new()?);
    let stop = CancellationToken::new();
    let mut ended = signal(SignalKind::terminate())?;
    let stopping = stop.clone();
    tokio::spawn(async move {
        ended.recv().await;
        stopping.cancel();
    });
    let made = server.clone();
    match std::env::args().nth(1).as_deref() {
        Some("--stdio") => {
            let handler = Around::new(made.handler(TransportKind::Stdio), state);
            serve_stdio(&server, handler, stop).await?;
        }
        port => {
            let port = port.map_or(Ok(0), str::parse)?;
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
            let address = listener.local_addr()?;
            writeln!(std::io::stdout(), "http://{address}/mcp")?;
            let door = HttpAccessPolicy::new(HttpAuth::Open);
            let make = move || Around::new(made.handler(TransportKind::Http), Arc::clone(&state));
            serve_http(&server, listener, door, make, stop).await?;
        }
    }
    engine.shutdown().await;
    Ok(())
}
