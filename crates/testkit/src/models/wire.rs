//! The subset of HTTP/1.1 that tests need.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::encoder::{ReplyEncoder, event};
use super::script::{ReplyStep, ScriptedReply};
use super::{RecordedRequest, ServerState};

/// Whether the connection can be used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionReuse {
    Reusable,
    Closed,
}

/// Accepts connections until the listener fails.
pub(crate) async fn serve(listener: TcpListener, stage: Arc<ServerState>) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let stage = Arc::clone(&stage);
        tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
            while let Ok(Some(request)) = read_request(&mut stream).await {
                stage.record(&request);
                match answer_request(&stage, &request, stream.get_mut()).await {
                    Ok(ConnectionReuse::Reusable) => {}
                    Ok(ConnectionReuse::Closed) | Err(_) => return,
                }
            }
        });
    }
}

/// The next request; `None` at the end of the connection.
async fn read_request(stream: &mut BufReader<TcpStream>) -> io::Result<Option<RecordedRequest>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let path = words.next().unwrap_or_default().to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Some(RecordedRequest { method, path, headers, body }))
}

async fn answer_request(
    stage: &ServerState,
    request: &RecordedRequest,
    stream: &mut TcpStream,
) -> io::Result<ConnectionReuse> {
    if let Some(page) = stage.fixed_response(&request.path) {
        return send_response(stream, 200, &BTreeMap::new(), &page).await;
    }
    let Some(voice) = ReplyEncoder::for_request(&request.path, &request.json()) else {
        let error = json!({"error": {"message": "404 page not found"}});
        return send_response(stream, 404, &BTreeMap::new(), &error).await;
    };
    match stage.take_reply(&request.body) {
        Some(scene) => send_reply(scene, voice, stream).await,
        None => {
            let error = json!({"error": {"message": "the script has nothing to say to this"}});
            send_response(stream, 400, &BTreeMap::new(), &error).await
        }
    }
}

async fn send_reply(
    scene: ScriptedReply,
    mut voice: ReplyEncoder,
    stream: &mut TcpStream,
) -> io::Result<ConnectionReuse> {
    let mut steps = scene.steps.into_iter().peekable();
    // Wait steps at the start delay the status line, too.
    while let Some(ReplyStep::Wait(milliseconds)) = steps.peek() {
        tokio::time::sleep(Duration::from_millis(*milliseconds)).await;
        steps.next();
    }
    match steps.peek() {
        Some(ReplyStep::Status { code, headers, body }) => {
            return send_response(stream, *code, headers, body).await;
        }
        Some(ReplyStep::Cut) => return Ok(ConnectionReuse::Closed),
        _ => {}
    }
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    send(stream, &voice.begin()).await?;
    let mut is_ended = false;
    for step in steps {
        match step {
            ReplyStep::Text(text) => send(stream, &voice.text(&text)).await?,
            ReplyStep::Long(bytes) => send(stream, &voice.text(&"x".repeat(bytes))).await?,
            ReplyStep::Thought(text) => send(stream, &voice.thought(&text)).await?,
            ReplyStep::Call { id, name, arguments, pieces } => {
                let pieces = split_evenly(&arguments, pieces.max(1));
                for sent in voice.call(&id, &name, &pieces) {
                    send(stream, &sent).await?;
                }
            }
            ReplyStep::Usage { input, output, cached, cost } => {
                voice.usage(input, output, cached, cost)
            }
            ReplyStep::Wait(milliseconds) => {
                stream.flush().await?;
                tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            }
            ReplyStep::Finish(reason) => {
                send(stream, &voice.finish(Some(&reason))).await?;
                is_ended = true;
            }
            ReplyStep::Fail(error) => send(stream, &event(&error)).await?,
            ReplyStep::Raw(text) => send(stream, &text).await?,
            ReplyStep::Cut => return Ok(ConnectionReuse::Closed),
            ReplyStep::End => is_ended = true,
            ReplyStep::Hang => std::future::pending().await,
            ReplyStep::Status { .. } => {}
        }
    }
    if !is_ended {
        send(stream, &voice.finish(None)).await?;
    }
    stream.write_all(b"0\r\n\r\n").await?;
    stream.flush().await?;
    Ok(ConnectionReuse::Reusable)
}

/// Splits a text into about this many pieces.
fn split_evenly(text: &str, pieces: usize) -> Vec<&str> {
    let size = text.len().div_ceil(pieces).max(1);
    let mut rest = text;
    let mut cut = Vec::new();
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(rest.ceil_char_boundary(size));
        cut.push(piece);
        rest = more;
    }
    cut
}

async fn send(stream: &mut TcpStream, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let chunk = format!("{:x}\r\n{text}\r\n", text.len());
    stream.write_all(chunk.as_bytes()).await
}

async fn send_response(
    stream: &mut TcpStream,
    code: u16,
    headers: &BTreeMap<String, String>,
    body: &Value,
) -> io::Result<ConnectionReuse> {
    let (kind, body) = match body {
        Value::Null => ("text/plain", String::new()),
        Value::String(text) => ("text/plain", text.clone()),
        json => ("application/json", json.to_string()),
    };
    let mut head = format!("HTTP/1.1 {code} Scripted\r\ncontent-length: {}\r\n", body.len());
    if !headers.contains_key("content-type") {
        head.push_str(&format!("content-type: {kind}\r\n"));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).await?;
    stream.flush().await?;
    Ok(ConnectionReuse::Reusable)
}
