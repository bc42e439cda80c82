//! Sends a message to a target that the user configured.

use std::sync::Arc;

use hermes_core::{
    Availability, DynTool, Effect, JsonSchema, Resource, Scope, Tool, ToolContext, ToolError,
    ToolExample, ToolSpec, WorkingDir, erase,
};
use serde::{Deserialize, Serialize};

use crate::messages::{self, MessageTarget, MessageTargets, OutgoingMessage};

/// Maximum length of a message.
const MAX_MESSAGE_CHARS: usize = 100_000;

/// The tool, with its targets.
#[derive(Debug, Default)]
pub(crate) struct SendMessage {
    targets: MessageTargets,
}

/// Returns the tool for these targets.
pub(crate) fn with_targets(targets: MessageTargets) -> Arc<dyn DynTool> {
    erase(SendMessage { targets })
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SendAction {
    #[default]
    Send,
    List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// send, or list the targets
    #[serde(default)]
    action: SendAction,
    /// Name of the target; optional if there is only one
    #[serde(default)]
    target: Option<String>,
    /// The text
    #[serde(default)]
    message: Option<String>,
    /// A title or subject
    #[serde(default)]
    title: Option<String>,
    /// Show what would be sent; send nothing
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum SendMessageAnswer {
    Sent { success: bool, target: String, kind: &'static str, host: String, parts: usize },
    Planned { dry_run: bool, target: String, kind: &'static str, host: String, parts: Vec<String> },
    Listed { targets: Vec<TargetListing> },
}

#[derive(Debug, Serialize)]
pub(crate) struct TargetListing {
    name: String,
    kind: &'static str,
    host: String,
}

impl SendMessage {
    /// Returns the named target, or the only one.
    fn target_name<'a>(&'a self, args: &'a Args) -> Option<&'a str> {
        let mut all = self.targets.iter();
        match (&args.target, all.next(), all.next()) {
            (Some(name), _, _) => Some(name.trim()),
            (None, Some((only, _, _)), None) => Some(only),
            (None, _, _) => None,
        }
    }

    fn find_target(&self, args: &Args) -> Result<(String, &MessageTarget, &str), ToolError> {
        let names: Vec<&str> = self.targets.iter().map(|(name, _, _)| name).collect();
        if names.is_empty() {
            return Err(ToolError::unavailable("No message targets are configured")
                .with_hint("Configure them under messaging.targets in config.yaml."));
        }
        let Some(name) = self.target_name(args) else {
            return Err(ToolError::invalid("target is missing").with("targets", names));
        };
        match self.targets.get(name) {
            Some((target, host)) => Ok((name.to_owned(), target, host)),
            None => Err(ToolError::not_found(format!("No message target '{name}' exists"))
                .with_hint("action=list shows the targets.")
                .with("targets", names)),
        }
    }
}

impl Tool for SendMessage {
    type Args = Args;
    type Output = SendMessageAnswer;

    fn spec() -> ToolSpec {
        ToolSpec::new("send_message", "messaging")
            .emoji("📨")
            .description(
                "Send a message to a target that the user has configured: chat, phone, e-mail \
                 or webhook. Cannot be undone.",
            )
            .parameter_alias("text", "message")
            .parameter_alias("content", "message")
            .parameter_alias("subject", "title")
            .parameter_alias("to", "target")
            .open_world_by_effects()
            .keyword("notify")
            .keyword("slack")
            .keyword("discord")
            .keyword("telegram")
            .keyword("email")
            .keyword("ntfy")
            .keyword("webhook")
            .example(
                ToolExample::new("List the message targets", r#"{"action":"list"}"#)
                    .expects(r#"{}"#),
            )
    }

    fn effects(&self, args: &Args, _at: &WorkingDir) -> Vec<Effect> {
        if args.action == SendAction::List || args.dry_run {
            return Vec::new();
        }
        let name = self.target_name(args).unwrap_or_default();
        let mut effects = vec![Effect::name(Scope::MESSAGE_SEND, name)];
        if let Some((_, host)) = self.targets.get(name) {
            let resource = Resource::Host(host.to_owned());
            effects.push(Effect { scope: Scope::NETWORK_SEND, resource });
        }
        effects
    }

    async fn check(&self) -> Availability {
        if self.targets.is_empty() {
            return Availability::missing(
                "no message targets are configured",
                "Configure them under messaging.targets in config.yaml.",
            );
        }
        Availability::Ready
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<SendMessageAnswer, ToolError> {
        if args.action == SendAction::List {
            let listed = |(name, target, host): (&str, &MessageTarget, &str)| TargetListing {
                name: name.to_owned(),
                kind: target.kind(),
                host: host.to_owned(),
            };
            return Ok(SendMessageAnswer::Listed {
                targets: self.targets.iter().map(listed).collect(),
            });
        }
        let (name, target, host) = self.find_target(&args)?;
        let text = args.message.unwrap_or_default();
        if text.trim().is_empty() {
            return Err(ToolError::invalid("message is missing or blank"));
        }
        if text.chars().nth(MAX_MESSAGE_CHARS).is_some() {
            return Err(ToolError::limit(format!(
                "The message exceeds {MAX_MESSAGE_CHARS} characters"
            ))
            .with_hint("Send a summary, and say where to find the rest."));
        }
        let title = args.title.filter(|title| !title.trim().is_empty());
        let letter = OutgoingMessage { title, text };
        let (kind, host) = (target.kind(), host.to_owned());
        if args.dry_run {
            let parts = letter.parts(target);
            return Ok(SendMessageAnswer::Planned {
                dry_run: true,
                target: name,
                kind,
                host,
                parts,
            });
        }
        cx.check_grant(&Scope::MESSAGE_SEND, &Resource::Name(name.clone()))?;
        cx.check_grant(&Scope::NETWORK_SEND, &Resource::Host(host.clone()))?;
        let parts = messages::send(&self.targets, target, &host, &letter, cx).await?;
        Ok(SendMessageAnswer::Sent { success: true, target: name, kind, host, parts })
    }
}

#[cfg(test)]
#[path = "send_message_tests.rs"]
mod tests;
