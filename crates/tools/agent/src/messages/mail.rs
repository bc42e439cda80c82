//! Messages by e-mail.

use std::time::Duration;

use hermes_core::{ErrorKind, ToolContext, ToolError};
use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::Credentials;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};

use super::targets::SmtpSecurity;

/// Timeout of one SMTP command.
const SMTP_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum length of a subject.
const MAX_SUBJECT_CHARS: usize = 100;

/// An SMTP server, with its security mode and login.
pub(crate) struct SmtpServer {
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
    pub(crate) security: SmtpSecurity,
    pub(crate) login: Option<(String, String)>,
}

/// An e-mail to be sent.
pub(crate) struct MailDraft<'a> {
    pub(crate) from: &'a str,
    pub(crate) to: &'a [String],
    pub(crate) title: Option<&'a str>,
    pub(crate) text: &'a str,
}

impl SmtpServer {
    pub(crate) async fn send(
        self,
        sheet: MailDraft<'_>,
        cx: &ToolContext,
    ) -> Result<(), ToolError> {
        let letter = build_message(&sheet)?;
        let _ = rustls::crypto::ring::default_provider().install_default();
        type SmtpTransport = AsyncSmtpTransport<Tokio1Executor>;
        let builder = match self.security {
            SmtpSecurity::Tls => SmtpTransport::relay(&self.host),
            SmtpSecurity::Starttls => SmtpTransport::starttls_relay(&self.host),
            SmtpSecurity::None => Ok(SmtpTransport::builder_dangerous(&self.host)),
        };
        let mut builder = builder.map_err(|e| smtp_error(&e))?.timeout(Some(SMTP_TIMEOUT));
        if let Some(port) = self.port {
            builder = builder.port(port);
        }
        if let Some((user, password)) = self.login {
            builder = builder.credentials(Credentials::new(user, password));
        }
        cx.run_until_cancelled(builder.build().send(letter)).await?.map_err(|e| smtp_error(&e))?;
        Ok(())
    }
}

fn build_message(sheet: &MailDraft<'_>) -> Result<Message, ToolError> {
    let address = |text: &str| -> Result<Mailbox, ToolError> {
        text.parse::<Mailbox>()
            .map_err(|e| ToolError::unavailable(format!("'{text}' is not a mail address: {e}")))
    };
    let first = sheet.text.lines().next().unwrap_or_default();
    let subject: String = sheet
        .title
        .unwrap_or(first)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(MAX_SUBJECT_CHARS)
        .collect();
    let mut builder =
        Message::builder().from(address(sheet.from)?).subject(subject).message_id(None);
    for receiver in sheet.to {
        builder = builder.to(address(receiver)?);
    }
    builder
        .header(lettre::message::header::ContentType::TEXT_PLAIN)
        .body(sheet.text.to_owned())
        .map_err(|e| ToolError::internal(format!("Cannot build the e-mail: {e}")))
}

fn smtp_error(error: &lettre::transport::smtp::Error) -> ToolError {
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
    ToolError::new(kind, format!("SMTP delivery failed: {text}"))
}
