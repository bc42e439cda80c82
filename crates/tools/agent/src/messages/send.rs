//! Delivery of a message to each kind of target.

use hermes_core::{ToolContext, ToolError};
use serde_json::{Value, json};

use super::http::WebhookClient;
use super::mail;
use super::parts::split;
use super::targets::{MessageTarget, MessageTargets};

/// A message to be sent.
#[derive(Debug, Clone)]
pub(crate) struct OutgoingMessage {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
}

impl OutgoingMessage {
    /// Splits the message into parts that fit the target.
    pub(crate) fn parts(&self, target: &MessageTarget) -> Vec<String> {
        let whole = || match &self.title {
            Some(title) => format!("{title}\n{}", self.text),
            None => self.text.clone(),
        };
        let cut = |text: &str, most, units| {
            split(text, most, units).into_iter().map(str::to_owned).collect()
        };
        match target {
            MessageTarget::Discord { .. } => cut(&whole(), 2_000, char::len_utf16),
            MessageTarget::Telegram { .. } => cut(&whole(), 4_096, char::len_utf16),
            MessageTarget::Slack { .. } => cut(&whole(), 12_000, char::len_utf16),
            MessageTarget::Ntfy { .. } => cut(&self.text, 4_000, char::len_utf8),
            MessageTarget::Webhook { .. } | MessageTarget::Email { .. } => vec![self.text.clone()],
        }
    }
}

/// Sends all parts in order. An error reports how many were sent.
pub(crate) async fn send(
    targets: &MessageTargets,
    target: &MessageTarget,
    host: &str,
    letter: &OutgoingMessage,
    cx: &ToolContext,
) -> Result<usize, ToolError> {
    let parts = letter.parts(target);
    let mut hidden = Vec::new();
    let result = deliver(targets, target, host, letter, &parts, &mut hidden, cx).await;
    result.map_err(|(sent, error)| {
        // A server may echo the secrets it received.
        let clean = error.map_text(|text| {
            hidden
                .iter()
                .filter(|s| s.len() > 3)
                .fold(text.to_owned(), |t, s| t.replace(s.as_str(), "***"))
        });
        clean.with("parts_sent", sent).with("parts", parts.len())
    })?;
    Ok(parts.len())
}

async fn deliver(
    targets: &MessageTargets,
    target: &MessageTarget,
    host: &str,
    letter: &OutgoingMessage,
    parts: &[String],
    hidden: &mut Vec<String>,
    cx: &ToolContext,
) -> Result<(), (usize, ToolError)> {
    let mut secret = |text: &str| -> Result<String, (usize, ToolError)> {
        let value = targets.resolve(text).map_err(|e| (0, e))?;
        hidden.push(value.clone());
        Ok(value)
    };
    let early = |error| (0, error);
    let post = match target {
        MessageTarget::Email { port, security, user, password, from, to, .. } => {
            let login = match (user, password) {
                (Some(user), Some(password)) => Some((secret(user)?, secret(password)?)),
                _ => None,
            };
            let post =
                mail::SmtpServer { host: host.to_owned(), port: *port, security: *security, login };
            let title = letter.title.as_deref();
            let sheet = mail::MailDraft { from, to: to.as_slice(), title, text: &letter.text };
            return post.send(sheet, cx).await.map_err(early);
        }
        MessageTarget::Webhook { url, headers, .. } => {
            let mut post = WebhookClient::new(&secret(url)?, host).map_err(early)?;
            for (name, value) in headers {
                post = post.with_header(name, &secret(value)?).map_err(early)?;
            }
            post
        }
        MessageTarget::Slack { webhook } | MessageTarget::Discord { webhook } => {
            WebhookClient::new(&secret(webhook)?, host).map_err(early)?
        }
        MessageTarget::Telegram { token, server, .. } => {
            let address =
                format!("{}/bot{}/sendMessage", server.trim_end_matches('/'), secret(token)?);
            WebhookClient::new(&address, host).map_err(early)?
        }
        MessageTarget::Ntfy { server, token, .. } => {
            let post = WebhookClient::new(server, host).map_err(early)?;
            match token {
                Some(token) => post
                    .with_header("authorization", &format!("Bearer {}", secret(token)?))
                    .map_err(early)?,
                None => post,
            }
        }
    };
    for (sent, part) in parts.iter().enumerate() {
        let answer =
            post.send(&request_body(target, letter, part), cx).await.map_err(|e| (sent, e))?;
        check_response(target, &answer).map_err(|e| (sent, e))?;
    }
    Ok(())
}

/// Builds the request body. Text in it cannot trigger mentions.
fn request_body(target: &MessageTarget, letter: &OutgoingMessage, part: &str) -> Value {
    match target {
        MessageTarget::Slack { .. } => {
            let text = part.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            json!({ "text": text })
        }
        MessageTarget::Discord { .. } => {
            json!({ "content": part, "allowed_mentions": { "parse": [] } })
        }
        MessageTarget::Telegram { chat, thread, .. } => match thread {
            Some(thread) => json!({ "chat_id": chat, "message_thread_id": thread, "text": part }),
            None => json!({ "chat_id": chat, "text": part }),
        },
        MessageTarget::Ntfy { topic, .. } => match &letter.title {
            Some(title) => json!({ "topic": topic, "title": title, "message": part }),
            None => json!({ "topic": topic, "message": part }),
        },
        MessageTarget::Webhook { .. } | MessageTarget::Email { .. } => match &letter.title {
            Some(title) => json!({ "title": title, "text": part }),
            None => json!({ "text": part }),
        },
    }
}

/// Telegram can report a failure in a successful response.
fn check_response(target: &MessageTarget, answer: &str) -> Result<(), ToolError> {
    let MessageTarget::Telegram { .. } = target else { return Ok(()) };
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    match answer.get("ok").and_then(Value::as_bool) {
        Some(false) => {
            let why =
                answer.get("description").and_then(Value::as_str).unwrap_or("no reason given");
            Err(ToolError::new(
                hermes_core::ErrorKind::Network,
                format!("Telegram rejected the message: {why}"),
            ))
        }
        _ => Ok(()),
    }
}
