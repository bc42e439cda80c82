//! The places that the user has set down for messages, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use hermes_core::ToolError;
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;

/// What a reference in the settings stands for, such as `secret://NAME` or
/// `${NAME}`; none if there is no such thing.
pub type SecretLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A place for messages, as the settings describe it.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum MessageTarget {
    /// Any server that takes JSON.
    Webhook {
        /// Where to.
        url: String,
        /// The host, if the address is a secret.
        #[serde(default)]
        host: Option<String>,
        /// More headers.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    /// A channel of Slack, by its incoming webhook.
    Slack {
        /// The address of the webhook.
        webhook: String,
    },
    /// A channel of Discord, by its webhook.
    Discord {
        /// The address of the webhook.
        webhook: String,
    },
    /// A chat of Telegram, by a bot.
    Telegram {
        /// The bot's token.
        token: String,
        /// The chat: a number or an @name.
        chat: Value,
        /// The topic in it.
        #[serde(default)]
        thread: Option<i64>,
        /// Another server than Telegram's own.
        #[serde(default = "telegram_server")]
        server: String,
    },
    /// A topic of ntfy.
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
        /// The server that takes it.
        host: String,
        /// Its port, if not the usual one.
        #[serde(default)]
        port: Option<u16>,
        /// How the way there is kept private.
        #[serde(default)]
        security: SmtpSecurity,
        /// Who logs in.
        #[serde(default)]
        user: Option<String>,
        /// With what.
        #[serde(default)]
        password: Option<String>,
        /// The sender.
        from: String,
        /// The receivers.
        to: OneOrMany,
    },
}

/// How a mail server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SmtpSecurity {
    /// In the open at first, then encrypted or not at all.
    #[default]
    Starttls,
    /// Encrypted from the start.
    Tls,
    /// In the open.
    None,
}

/// A text or several.
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

/// A target in the settings that cannot be used.
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

/// All targets of the user, and who knows their secrets.
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
    /// The targets of a mapping from names to descriptions.
    pub fn from_settings(settings: &Value, lookup: SecretLookup) -> Result<Self, TargetError> {
        let wrong = |name: &str, why: String| TargetError { name: name.to_owned(), reason: why };
        let mut by_name = BTreeMap::new();
        let Some(map) = settings.as_object() else {
            let why = "messaging.targets is a mapping from names to {kind: …}".to_owned();
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

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// A target and its host.
    pub(crate) fn get(&self, name: &str) -> Option<(&MessageTarget, &str)> {
        self.by_name.get(name).map(|(target, host)| (target, host.as_str()))
    }

    /// Name, target and host of each.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &MessageTarget, &str)> {
        self.by_name.iter().map(|(name, (target, host))| (name.as_str(), target, host.as_str()))
    }

    /// What a text of the settings stands for, if it is a reference.
    pub(crate) fn resolve(&self, text: &str) -> Result<String, ToolError> {
        if !is_reference(text) {
            return Ok(text.to_owned());
        }
        self.lookup.as_ref().and_then(|lookup| lookup(text)).ok_or_else(|| {
            ToolError::unavailable(format!("{text}, which the target needs, is not set"))
                .with_hint("Keep it with `hermes secrets set NAME`, or set the variable.")
        })
    }
}

/// Whether a text of the settings stands for another.
pub(crate) fn is_reference(text: &str) -> bool {
    text.starts_with("secret://") || (text.starts_with("${") && text.ends_with('}'))
}

impl MessageTarget {
    /// What kind of place it is.
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

    /// The host that a message goes to.
    fn host(&self) -> Result<String, String> {
        match self {
            Self::Webhook { url, host: Some(host), .. } if is_reference(url) => Ok(host.clone()),
            Self::Webhook { url, .. } if is_reference(url) => {
                Err("its url is a secret, so that its host must be given too".into())
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
                Err("a password would go over the network in the open; use security starttls or tls".into())
            }
            Self::Email { to, .. } if to.as_slice().is_empty() => Err("it has no receiver".into()),
            Self::Email { host, .. } => Ok(host.clone()),
        }
    }
}

/// The host of an address that can be used.
pub(crate) fn checked_host(address: &str) -> Result<String, String> {
    let url = Url::parse(address).map_err(|e| format!("its address is wrong: {e}"))?;
    match (url.scheme(), url.host_str()) {
        ("https", Some(host)) => Ok(host.to_owned()),
        ("http", Some(host)) => Ok(host.to_owned()),
        _ => Err("its address must begin with https:// or http://".into()),
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
#[path = "targets_tests.rs"]
mod tests;
