//! Where messages may go, by the settings.

use std::sync::Arc;

use hermes::core::DynTool;
use hermes::engine::SecretSource as _;
use hermes_config::ResolvedConfig;
use hermes_tools_agent::messages::MessageTargets;

use crate::command_error::CommandError;
use crate::security::SecretsProvider;

/// The tools, with the one that sends messages knowing the user's targets.
pub(crate) fn with_message_targets(
    mut tools: Vec<Arc<dyn DynTool>>,
    config: &ResolvedConfig,
    secrets: &Arc<SecretsProvider>,
) -> Result<Vec<Arc<dyn DynTool>>, CommandError> {
    let described = &config.settings.message_targets;
    let keeper = Arc::clone(secrets);
    let lookup = move |reference: &str| {
        let variable = reference.strip_prefix("${").and_then(|name| name.strip_suffix('}'));
        let name = reference.strip_prefix("secret://").or(variable)?;
        Some(keeper.lookup(name).ok()??.expose().to_owned())
    };
    let targets = MessageTargets::from_settings(described, Arc::new(lookup)).map_err(|e| {
        CommandError::usage(e.to_string())
            .hint("Mend messaging.targets in config.yaml; docs/memory.md describes it.")
    })?;
    if !targets.is_empty() {
        let aimed = hermes_tools_agent::send_message(targets);
        if let Some(slot) = tools.iter_mut().find(|tool| tool.spec().name == aimed.spec().name) {
            *slot = aimed;
        }
    }
    Ok(tools)
}
