//! What the proxy adds to an HTTP request on loopback: a `GET` on a new
//! connection each, direct and through the proxy by turns, with a judge that
//! allows everything. Prints one line of JSON.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{
    BoxFuture, ClientProcess, ConnectionJudge, ConnectionRecord, ConnectionRequest,
    ConnectionVerdict,
};
use hermes_net::{ClientLookup, CurrentJudge, NameTable, ProxyContext, ProxyServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ROUNDS: usize = 2000;
const WARM_UP_ROUNDS: usize = 200;
const BODY_BYTES: usize = 1024;

struct AllowAll;

impl ConnectionJudge for AllowAll {
    fn judge<'a>(&'a self, _: &'a ConnectionRequest) -> BoxFuture<'a, ConnectionVerdict> {
        Box::pin(async { ConnectionVerdict::Allow })
    }

    fn record(&self, _: ConnectionRecord) {}
}

struct NoLookup;

impl ClientLookup for NoLookup {
    fn client(&self, _: SocketAddr, _: SocketAddr) -> Option<ClientProcess> {
        None
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = start_server().await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let proxy = listener.local_addr()?;
    let judge = CurrentJudge::new();
    judge.set(Arc::new(AllowAll));
    let context = ProxyContext::new(judge, Arc::new(NoLookup), Arc::new(NameTable::new()));
    tokio::spawn(async move { ProxyServer::new(context).serve(listener).await });

    let direct = format!("GET / HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n");
    let plain = format!("GET http://{server}/ HTTP/1.1\r\nHost: {server}\r\n\r\n");
    let tunnel = format!("CONNECT {server} HTTP/1.1\r\n\r\n");
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..WARM_UP_ROUNDS + ROUNDS {
        let taken = [
            get(server, None, &direct).await?,
            get(proxy, None, &plain).await?,
            get(proxy, Some(&tunnel), &direct).await?,
        ];
        if round >= WARM_UP_ROUNDS {
            times.iter_mut().zip(taken).for_each(|(times, taken)| times.push(taken));
        }
    }
    let [direct, plain, tunnel] = times.map(median_us);
    let report = serde_json::json!({
        "rounds": ROUNDS,
        "direct_us": direct,
        "http_us": plain,
        "tunnel_us": tunnel,
        "http_added_us": rounded(plain - direct),
        "tunnel_added_us": rounded(tunnel - direct),
    });
    println!("{report}");
    Ok(())
}

/// A server that answers every request alike.
async fn start_server() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {BODY_BYTES}\r\nConnection: close\r\n\r\n{}",
        "x".repeat(BODY_BYTES)
    );
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut request = [0; 1024];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    Ok(address)
}

/// The time from the start of a connection to the last byte of the answer.
async fn get(
    address: SocketAddr,
    tunnel: Option<&str>,
    request: &str,
) -> Result<Duration, Box<dyn Error>> {
    let started = Instant::now();
    let mut stream = TcpStream::connect(address).await?;
    let mut answer = Vec::new();
    if let Some(tunnel) = tunnel {
        stream.write_all(tunnel.as_bytes()).await?;
        while !answer.ends_with(b"\r\n\r\n") {
            stream.read_buf(&mut answer).await?;
        }
        answer.clear();
    }
    stream.write_all(request.as_bytes()).await?;
    stream.read_to_end(&mut answer).await?;
    let taken = started.elapsed();
    if !answer.starts_with(b"HTTP/1.1 200") || !answer.ends_with(b"x") {
        return Err(format!("unexpected answer: {}", String::from_utf8_lossy(&answer)).into());
    }
    Ok(taken)
}

fn median_us(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    rounded(times[times.len() / 2].as_secs_f64() * 1e6)
}

fn rounded(microseconds: f64) -> f64 {
    (microseconds * 10.0).round() / 10.0
}
