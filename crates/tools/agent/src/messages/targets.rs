//! The message targets that the user configured, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use hermes_core::ToolError;
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;

/// Resolves a reference in the settings, such as `secret://NAME` or `${NAME}`;
/// none if it does not exist.
pub type SecretLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A message target, as configured.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum MessageTarget {
    /// Any server that accepts JSON.
    Webhook {
        /// The URL to post to.
        url: String,
        /// The host, required if the URL is a secret.
        #[serde(default)]
        host: Option<String>,
        /// Additional headers.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    /// A Slack channel, by its incoming webhook.
    Slack {
        /// The URL of the webhook.
        webhook: String,
    },
    /// A Discord channel, by its webhook.
    Discord {
        /// The URL of the webhook.
        webhook: String,
    },
    /// A Telegram chat, by a bot.
    Telegram {
        /// The bot's token.
        token: String,
        /// The chat: a number or an @name.
        chat: Value,
        /// The topic in the chat.
        #[serde(default)]
        thread: Option<i64>,
        /// The API server, if not Telegram's own.
        #[serde(default = "telegram_server")]
        server: String,
    },
    /// An ntfy topic.
    Ntfy {
        /// The topic.
        topic: String,
        /// The server.
        #[serde(default = "ntfy_server")]
        server: String,
        /// An access token.
        #[serde(default)]
        token: Option<String>,
    },
    /// E-mail.
    Email {
        /// The SMTP server.
        host: String,
        /// Its port, if not the default.
        #[serde(default)]
        port: Option<u16>,
        /// How the connection is encrypted.
        #[serde(default)]
        security: SmtpSecurity,
        /// The login name.
        #[serde(default)]
        user: Option<String>,
        /// The login password.
        #[serde(default)]
        password: Option<String>,
        /// The sender.
        from: String,
        /// The recipients.
        to: OneOrMany,
    },
}

/// Encryption of the connection to an SMTP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SmtpSecurity {
    /// Starts in plain text and requires the upgrade to TLS.
    #[default]
    Starttls,
    /// TLS from the start.
    Tls,
    /// Plain text.
    None,
}

/// One string or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    More(Vec<String>),
}

impl OneOrMany {
    pub(crate) fn as_slice(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::More(list) => list,
        }
    }
}

fn telegram_server() -> String {
    "https://api.telegram.org".into()
}

fn ntfy_server() -> String {
    "https://ntfy.sh".into()
}

/// A configured target that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetError {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The message target '{}' cannot be used: {}", self.name, self.reason)
    }
}

impl std::error::Error for TargetError {}

/// All configured targets, with the lookup for their secrets.
#[derive(Clone, Default)]
pub struct MessageTargets {
    by_name: BTreeMap<String, (MessageTarget, String)>,
    lookup: Option<SecretLookup>,
}

impl fmt::Debug for MessageTargets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

impl MessageTargets {
    /// Parses a mapping from names to target settings.
    pub fn from_settings(settings: &Value, lookup: SecretLookup) -> Result<Self, TargetError> {
        let wrong = |name: &str, why: String| TargetError { name: name.to_owned(), reason: why };
        let mut by_name = BTreeMap::new();
        let Some(map) = settings.as_object() else {
            let why = "messaging.targets must be a mapping from names to {kind: …}".to_owned();
            return if settings.is_null() { Ok(Self::default()) } else { Err(wrong("", why)) };
        };
        for (name, described) in map {
            let target =
                MessageTarget::deserialize(described).map_err(|e| wrong(name, e.to_string()))?;
            let host = target.host().map_err(|why| wrong(name, why))?;
            by_name.insert(name.clone(), (target, host));
        }
        Ok(Self { by_name, lookup: Some(lookup) })
    }

    /// Whether there are no targets.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Returns a target and its host.
    pub(crate) fn get(&self, name: &str) -> Option<(&MessageTarget, &str)> {
        self.by_name.get(name).map(|(target, host)| (target, host.as_str()))
    }

    /// Iterates over name, target and host.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &MessageTarget, &str)> {
        self.by_name.iter().map(|(name, (target, host))| (name.as_str(), target, host.as_str()))
    }

    /// Resolves a setting if it is a reference.
    pub(crate) fn resolve(&self, text: &str) -> Result<String, ToolError> {
        if !is_reference(text) {
            return Ok(text.to_owned());
        }
        self.lookup.as_ref().and_then(|lookup| lookup(text)).ok_or_else(|| {
            ToolError::unavailable(format!("{text}, which the target needs, is not set")).with_hint(
                "Store it with `hermes secrets set NAME`, or set the environment \
                    variable.",
            )
        })
    }
}

/// Whether a setting is a reference.
pub(crate) fn is_reference(text: &str) -> bool {
    text.starts_with("secret://") || (text.starts_with("${") && text.ends_with('}'))
}

impl MessageTarget {
    /// Returns the name of the target's kind.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Webhook { .. } => "webhook",
            Self::Slack { .. } => "slack",
            Self::Discord { .. } => "discord",
            Self::Telegram { .. } => "telegram",
            Self::Ntfy { .. } => "ntfy",
            Self::Email { .. } => "email",
        }
    }

    /// Returns the host that messages are sent to.
    fn host(&self) -> Result<String, String> {
        match self {
            Self::Webhook { url, host: Some(host), .. } if is_reference(url) => Ok(host.clone()),
            Self::Webhook { url, .. } if is_reference(url) => {
                Err("its url is a secret, so its host must be set too".into())
            }
            Self::Slack { webhook } if is_reference(webhook) => Ok("hooks.slack.com".into()),
            Self::Discord { webhook } if is_reference(webhook) => Ok("discord.com".into()),
            Self::Webhook { url: address, .. }
            | Self::Slack { webhook: address }
            | Self::Discord { webhook: address }
            | Self::Telegram { server: address, .. }
            | Self::Ntfy { server: address, .. } => checked_host(address),
            Self::Email { host, security: SmtpSecurity::None, password: Some(_), .. }
                if !is_loopback(host) =>
            {
                Err("the password would be sent in the open; use security starttls or tls".into())
            }
            Self::Email { to, .. } if to.as_slice().is_empty() => Err("it has no recipient".into()),
            Self::Email { host, .. } => Ok(host.clone()),
        }
    }
}

/// Returns the host of an HTTP or HTTPS URL.
pub(crate) fn checked_host(address: &str) -> Result<String, String> {
    let url = Url::parse(address).map_err(|e| format!("its URL is invalid: {e}"))?;
    match (url.scheme(), url.host_str()) {
        ("https", Some(host)) => Ok(host.to_owned()),
        ("http", Some(host)) => Ok(host.to_owned()),
        _ => Err("its URL must begin with https:// or http://".into()),
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
#[path = "targets_tests.rs"]
mod tests;
