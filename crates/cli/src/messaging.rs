//! Configured targets of `send_message`.

use std::sync::Arc;

use hermes::SecretsProvider;
use hermes::core::DynTool;
use hermes::engine::SecretSource as _;
use hermes_config::ResolvedConfig;
use hermes_tools_agent::messages::MessageTargets;

use crate::command_error::CommandError;

/// Replaces `send_message` with one that has the user's targets.
pub(crate) fn set_message_targets(
    tools: &mut [Arc<dyn DynTool>],
    config: &ResolvedConfig,
    secrets: &Arc<SecretsProvider>,
) -> Result<(), CommandError> {
    let secrets = Arc::clone(secrets);
    let lookup = move |reference: &str| {
        let variable = reference.strip_prefix("${").and_then(|name| name.strip_suffix('}'));
        let name = reference.strip_prefix("secret://").or(variable)?;
        Some(secrets.lookup(name).ok()??.expose().to_owned())
    };
    let described = &config.settings.message_targets;
    let targets = MessageTargets::from_settings(described, Arc::new(lookup)).map_err(|e| {
        CommandError::usage(e.to_string())
            .hint("Fix messaging.targets in config.yaml; see docs/memory.md.")
    })?;
    if !targets.is_empty() {
        let tool = hermes_tools_agent::send_message(targets);
        if let Some(slot) = tools.iter_mut().find(|it| it.spec().name == tool.spec().name) {
            *slot = tool;
        }
    }
    Ok(())
}
