//! `/agents`: lists, stops and steers sub-agents that run in the background.

use hermes_chat::ChatScreen;

use crate::app::AppServices;
use crate::command_error::CommandError;

/// What the user wants of the sub-agents.
#[derive(Debug, PartialEq, Eq)]
enum AgentsOrder<'a> {
    List,
    Stop(&'a str),
    Steer(&'a str, &'a str),
}

/// Returns the arguments of a line that is an `/agents` command.
pub(super) fn arguments(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("/agents")?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
}

/// Carries out the command.
pub(super) fn run(
    ready: &AppServices,
    screen: &ChatScreen,
    session: &str,
    rest: &str,
) -> Result<(), CommandError> {
    let subagents = &ready.subagents;
    match AgentsOrder::parse(rest)? {
        AgentsOrder::List => {
            let running = subagents.describe_running(session);
            match running.is_empty() {
                true => screen.note("No sub-agents are running in the background."),
                false => screen.note(&running.join("\n")),
            }
        }
        AgentsOrder::Stop(handle) => {
            subagents.stop_task(session, handle)?;
            screen.note(&format!("Stopping {handle}."));
        }
        AgentsOrder::Steer(handle, message) => {
            subagents.steer_task(session, handle, message)?;
            screen.note(&format!("{handle} receives this with its next tool result."));
        }
    }
    Ok(())
}

impl<'a> AgentsOrder<'a> {
    fn parse(rest: &'a str) -> Result<Self, CommandError> {
        let (first, message) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let message = message.trim();
        match (first, message) {
            ("", _) => Ok(Self::List),
            ("stop", handle) if !handle.is_empty() => Ok(Self::Stop(handle)),
            (handle, message) if handle != "stop" && !message.is_empty() => {
                Ok(Self::Steer(handle, message))
            }
            _ => Err(CommandError::usage(format!("/agents {rest} is incomplete"))
                .hint("Write /agents, /agents stop ID, or /agents ID MESSAGE.")),
        }
    }
}

#[cfg(test)]
#[path = "agents_tests.rs"]
mod tests;
