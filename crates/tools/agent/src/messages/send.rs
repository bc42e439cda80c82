//! From a message to what each kind of place takes.

use hermes_core::{ToolContext, ToolError};
use serde_json::{Value, json};

use super::http::Post;
use super::mail;
use super::parts::split;
use super::targets::{Target, Targets};

/// What is to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Letter {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
}

impl Letter {
    /// The parts in which a kind of place takes it.
    pub(crate) fn parts(&self, target: &Target) -> Vec<String> {
        let whole = || match &self.title {
            Some(title) => format!("{title}\n{}", self.text),
            None => self.text.clone(),
        };
        let cut = |text: &str, most, units| {
            split(text, most, units).into_iter().map(str::to_owned).collect()
        };
        match target {
            Target::Discord { .. } => cut(&whole(), 2_000, char::len_utf16),
            Target::Telegram { .. } => cut(&whole(), 4_096, char::len_utf16),
            Target::Slack { .. } => cut(&whole(), 12_000, char::len_utf16),
            Target::Ntfy { .. } => cut(&self.text, 4_000, char::len_utf8),
            Target::Webhook { .. } | Target::Email { .. } => vec![self.text.clone()],
        }
    }
}

/// Sends all parts, in order. An error says how many have gone.
pub(crate) async fn send(
    targets: &Targets,
    target: &Target,
    host: &str,
    letter: &Letter,
    cx: &ToolContext,
) -> Result<usize, ToolError> {
    let parts = letter.parts(target);
    let mut hidden = Vec::new();
    let result = deliver(targets, target, host, letter, &parts, &mut hidden, cx).await;
    result.map_err(|(sent, error)| {
        // A server may repeat what it was told.
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
    targets: &Targets,
    target: &Target,
    host: &str,
    letter: &Letter,
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
        Target::Email { port, security, user, password, from, to, .. } => {
            let login = match (user, password) {
                (Some(user), Some(password)) => Some((secret(user)?, secret(password)?)),
                _ => None,
            };
            let post =
                mail::Post { host: host.to_owned(), port: *port, security: *security, login };
            let title = letter.title.as_deref();
            let sheet = mail::Sheet { from, to: to.list(), title, text: &letter.text };
            return post.send(sheet, cx).await.map_err(early);
        }
        Target::Webhook { url, headers, .. } => {
            let mut post = Post::new(&secret(url)?, host).map_err(early)?;
            for (name, value) in headers {
                post = post.header(name, &secret(value)?).map_err(early)?;
            }
            post
        }
        Target::Slack { webhook } | Target::Discord { webhook } => {
            Post::new(&secret(webhook)?, host).map_err(early)?
        }
        Target::Telegram { token, server, .. } => {
            let address =
                format!("{}/bot{}/sendMessage", server.trim_end_matches('/'), secret(token)?);
            Post::new(&address, host).map_err(early)?
        }
        Target::Ntfy { server, token, .. } => {
            let post = Post::new(server, host).map_err(early)?;
            match token {
                Some(token) => post
                    .header("authorization", &format!("Bearer {}", secret(token)?))
                    .map_err(early)?,
                None => post,
            }
        }
    };
    for (sent, part) in parts.iter().enumerate() {
        let answer = post.send(&body(target, letter, part), cx).await.map_err(|e| (sent, e))?;
        check(target, &answer).map_err(|e| (sent, e))?;
    }
    Ok(())
}

/// What a server is given. Nothing in a text calls people who were not meant.
fn body(target: &Target, letter: &Letter, part: &str) -> Value {
    match target {
        Target::Slack { .. } => {
            let text = part.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            json!({ "text": text })
        }
        Target::Discord { .. } => json!({ "content": part, "allowed_mentions": { "parse": [] } }),
        Target::Telegram { chat, thread, .. } => match thread {
            Some(thread) => json!({ "chat_id": chat, "message_thread_id": thread, "text": part }),
            None => json!({ "chat_id": chat, "text": part }),
        },
        Target::Ntfy { topic, .. } => match &letter.title {
            Some(title) => json!({ "topic": topic, "title": title, "message": part }),
            None => json!({ "topic": topic, "message": part }),
        },
        Target::Webhook { .. } | Target::Email { .. } => match &letter.title {
            Some(title) => json!({ "title": title, "text": part }),
            None => json!({ "text": part }),
        },
    }
}

/// Telegram may say no in a friendly tone.
fn check(target: &Target, answer: &str) -> Result<(), ToolError> {
    let Target::Telegram { .. } = target else { return Ok(()) };
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    match answer.get("ok").and_then(Value::as_bool) {
        Some(false) => {
            let why =
                answer.get("description").and_then(Value::as_str).unwrap_or("no reason given");
            Err(ToolError::new(hermes_core::ErrorKind::Network, format!("Telegram refused: {why}")))
        }
        _ => Ok(()),
    }
}
