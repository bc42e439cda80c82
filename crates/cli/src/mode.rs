//! Modes: how much the agent does without asking. A mode narrows the chosen
//! permission profile and never widens it.

use clap::Args;
use hermes::core::ToolSpec;
use hermes::engine::ToolEntry;
use hermes::policy::ApprovalMode;
use serde_json::{Map, Value, json};

use crate::command_error::CommandError;

/// Toolsets whose tools start programs. The sandbox confines the writes of
/// those programs; its writable paths must stay open for approved commands.
const PROGRAM_TOOLSETS: [&str; 3] = ["terminal", "code", "code_execution"];

/// Scopes that plan mode denies in addition to writing and deleting files.
const PLAN_DENIES: [&str; 12] = [
    "git:write",
    "network:send",
    "docker:run",
    "database:write",
    "cloud:write",
    "email:send",
    "message:send",
    "calendar:write",
    "clipboard:write",
    "memory:write",
    "skill:write",
    "schedule:write",
];

const PLAN_REASON: &str = "Plan mode is read-only: nothing is changed until the user leaves it";

/// Instruction for the model in plan mode.
const PLAN_INSTRUCTION: &str = "\n\nPlan mode is on: read, search and run read-only commands, \
    change nothing, and end with a plan that the user can approve.";

/// How much the agent does without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum AgentMode {
    /// Does what the profile allows in the sandbox, without asking.
    #[default]
    Auto,
    /// Asks before each file change and each command.
    Ask,
    /// Changes nothing.
    Plan,
    /// Approves every question.
    Yolo,
}

/// Mode flags of the command line.
#[derive(Debug, Clone, Default, Args)]
#[group(id = "mode", multiple = false)]
pub(crate) struct ModeFlags {
    /// Work in the sandbox without asking, as far as the profile allows
    /// (default)
    #[arg(long)]
    auto: bool,
    /// Ask before each file change and each command
    #[arg(long)]
    ask: bool,
    /// Change nothing and work out a plan
    #[arg(long)]
    plan: bool,
    /// Approve every question automatically; denied calls stay denied
    #[arg(long)]
    yolo: bool,
}

impl ModeFlags {
    /// Returns the flags that select this mode.
    pub(crate) fn for_mode(mode: AgentMode) -> Self {
        Self {
            auto: mode == AgentMode::Auto,
            ask: mode == AgentMode::Ask,
            plan: mode == AgentMode::Plan,
            yolo: mode == AgentMode::Yolo,
        }
    }

    /// Returns the selected mode, if any.
    pub(crate) fn chosen(&self) -> Option<AgentMode> {
        let flags = [
            (self.auto, AgentMode::Auto),
            (self.ask, AgentMode::Ask),
            (self.plan, AgentMode::Plan),
            (self.yolo, AgentMode::Yolo),
        ];
        flags.into_iter().find(|(is_set, _)| *is_set).map(|(_, mode)| mode)
    }
}

impl AgentMode {
    /// Modes that Shift-Tab cycles through.
    pub(crate) const CYCLED_MODES: [Self; 3] = [Self::Auto, Self::Ask, Self::Plan];

    /// Returns the name of the mode on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Ask => "ask",
            Self::Plan => "plan",
            Self::Yolo => "yolo",
        }
    }

    /// Returns a one-line description.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Auto => "works in the sandbox without asking, as far as the profile allows",
            Self::Ask => "asks before each file change and each command",
            Self::Plan => "read-only, changes nothing",
            Self::Yolo => "approves every question automatically; denied calls stay denied",
        }
    }

    /// Parses the name of a mode. Rejects `yolo`, which has its own command, to
    /// keep it from being switched on by accident.
    pub(crate) fn parse(name: &str) -> Result<Self, CommandError> {
        let known = Self::CYCLED_MODES.into_iter().find(|mode| mode.name() == name);
        known.ok_or_else(|| {
            let hint = match name {
                "yolo" => "/yolo switches automatic approval on and off.",
                _ => "The modes are auto, ask and plan.",
            };
            CommandError::usage(format!("No mode named '{name}'")).hint(hint)
        })
    }

    /// Returns the mode after this one in the Shift-Tab cycle.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Auto => Self::Ask,
            Self::Ask => Self::Plan,
            Self::Plan | Self::Yolo => Self::Auto,
        }
    }

    /// Returns the label for the status line.
    pub(crate) fn label(self) -> String {
        format!("{} mode", self.name())
    }

    /// Combines this mode with the configured approval mode.
    pub(crate) fn approvals(self, configured: ApprovalMode) -> ApprovalMode {
        match (self, configured) {
            (Self::Yolo, _) => ApprovalMode::Off,
            // Ask mode asks the user, never an approval model.
            (Self::Ask, _) | (_, ApprovalMode::Off) => ApprovalMode::Manual,
            (_, configured) => configured,
        }
    }

    /// Sets the instruction of this mode at the end of the system prompt,
    /// replacing that of another mode.
    pub(crate) fn instruct(self, system: &mut String) {
        if let Some(without) = system.strip_suffix(PLAN_INSTRUCTION) {
            system.truncate(without.len());
        }
        if self == Self::Plan {
            system.push_str(PLAN_INSTRUCTION);
        }
    }

    /// Returns the rules that the mode adds to every profile, for these tools.
    pub(crate) fn rules<'a>(self, tools: impl Iterator<Item = &'a ToolEntry>) -> Option<Value> {
        let rules = match self {
            Self::Auto | Self::Yolo => return None,
            Self::Ask => json!({
                "approval_required": [
                    rule("terminal:execute", "Ask mode asks before each command"),
                    rule("code:execute", "Ask mode asks before running code"),
                ],
                "tools": file_change_rules(tools, "approval_required", "Ask mode asks before each file change"),
            }),
            Self::Plan => {
                // Programs may need temporary files.
                let writes = json!({ "allowed_paths": ["${tmp}/**"] });
                let in_workspace = ["file:write", "file:delete"].map(|scope| {
                    json!({ "scope": scope, "paths": ["${workspace}/**"], "reason": PLAN_REASON })
                });
                let others = PLAN_DENIES.map(|scope| rule(scope, PLAN_REASON));
                let deny: Vec<Value> = in_workspace.into_iter().chain(others).collect();
                json!({
                    "deny": deny,
                    // The effects of MCP tools are unknown.
                    "approval_required": [rule("mcp:*", "Plan mode asks before each call to an MCP server")],
                    "restrictions": { "file:write": writes, "file:delete": writes },
                    "tools": file_change_rules(tools, "deny", PLAN_REASON),
                    "sandbox": { "enabled": true },
                })
            }
        };
        Some(json!({ "global": rules }))
    }
}

fn rule(scope: &str, reason: &str) -> Value {
    json!({ "scope": scope, "reason": reason })
}

/// Whether a tool starts programs.
pub(crate) fn runs_programs(spec: &ToolSpec) -> bool {
    PROGRAM_TOOLSETS.contains(&&*spec.toolset)
}

/// Returns a file-change rule for each tool that changes files itself, not
/// through a program.
fn file_change_rules<'a>(
    tools: impl Iterator<Item = &'a ToolEntry>,
    list: &str,
    reason: &str,
) -> Map<String, Value> {
    let changes = [rule("file:write", reason), rule("file:delete", reason)];
    tools
        .filter(|entry| {
            let spec = entry.spec();
            !spec.annotations.read_only && !runs_programs(spec)
        })
        .map(|entry| (entry.name().to_owned(), json!({ list: changes })))
        .collect()
}

#[cfg(test)]
#[path = "mode_tests.rs"]
mod tests;
