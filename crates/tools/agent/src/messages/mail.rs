//! A message by e-mail.

use std::time::Duration;

use hermes_core::{ErrorKind, ToolContext, ToolError};
use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::Credentials;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};

use super::targets::Security;

/// How long a server may take for one step.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest subject that is made of a text.
const SUBJECT: usize = 100;

/// A server and how to speak to it.
pub(crate) struct Post {
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
    pub(crate) security: Security,
    pub(crate) login: Option<(String, String)>,
}

/// A letter.
pub(crate) struct Sheet<'a> {
    pub(crate) from: &'a str,
    pub(crate) to: &'a [String],
    pub(crate) title: Option<&'a str>,
    pub(crate) text: &'a str,
}

impl Post {
    pub(crate) async fn send(self, sheet: Sheet<'_>, cx: &ToolContext) -> Result<(), ToolError> {
        let letter = write(&sheet)?;
        let _ = rustls::crypto::ring::default_provider().install_default();
        type Transport = AsyncSmtpTransport<Tokio1Executor>;
        let builder = match self.security {
            Security::Tls => Transport::relay(&self.host),
            Security::Starttls => Transport::starttls_relay(&self.host),
            Security::None => Ok(Transport::builder_dangerous(&self.host)),
        };
        let mut builder = builder.map_err(|e| refused(&e))?.timeout(Some(PATIENCE));
        if let Some(port) = self.port {
            builder = builder.port(port);
        }
        if let Some((user, password)) = self.login {
            builder = builder.credentials(Credentials::new(user, password));
        }
        cx.run_until_cancelled(builder.build().send(letter)).await?.map_err(|e| refused(&e))?;
        Ok(())
    }
}

fn write(sheet: &Sheet<'_>) -> Result<Message, ToolError> {
    let address = |text: &str| -> Result<Mailbox, ToolError> {
        text.parse::<Mailbox>()
            .map_err(|e| ToolError::unavailable(format!("'{text}' is no mail address: {e}")))
    };
    let first = sheet.text.lines().next().unwrap_or_default();
    let subject: String = sheet
        .title
        .unwrap_or(first)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(SUBJECT)
        .collect();
    let mut builder =
        Message::builder().from(address(sheet.from)?).subject(subject).message_id(None);
    for receiver in sheet.to {
        builder = builder.to(address(receiver)?);
    }
    builder
        .header(lettre::message::header::ContentType::TEXT_PLAIN)
        .body(sheet.text.to_owned())
        .map_err(|e| ToolError::internal(format!("The letter cannot be written: {e}")))
}

fn refused(error: &lettre::transport::smtp::Error) -> ToolError {
    let kind = if error.is_timeout() { ErrorKind::Timeout } else { ErrorKind::Network };
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = cause.source();
    }
    ToolError::new(kind, format!("The mail server: {text}"))
}
