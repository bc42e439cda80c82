//! Modes: how much the agent does without asking. A mode narrows the chosen
//! permission profile; none of them widens it.

use clap::Args;
use hermes::core::ToolSpec;
use hermes::engine::ToolEntry;
use hermes::policy::ApprovalMode;
use serde_json::{Map, Value, json};

use crate::command_error::CommandError;

/// The toolsets whose tools start programs. What those programs write is held by
/// the sandbox, whose trees must stay open for a command that was approved.
const PROGRAM_TOOLSETS: [&str; 3] = ["terminal", "code", "code_execution"];

/// Scopes that plan mode denies beside writing and deleting files.
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

/// What the model is told in plan mode.
const PLAN_INSTRUCTION: &str = "\n\nPlan mode is on: read, search and run read-only commands, \
    change nothing, and end with a plan that the user can approve.";

/// How much the agent does without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum AgentMode {
    /// What the profile allows is done in the sandbox without a question.
    #[default]
    Auto,
    /// Each file change and each command is asked about.
    Ask,
    /// Nothing is changed.
    Plan,
    /// Every question counts as answered with yes.
    Yolo,
}

/// A mode on the command line.
#[derive(Debug, Clone, Default, Args)]
#[group(id = "mode", multiple = false)]
pub(crate) struct ModeFlags {
    /// Work in the sandbox without asking, as far as the profile allows (the default)
    #[arg(long)]
    auto: bool,
    /// Ask before each file change and each command
    #[arg(long)]
    ask: bool,
    /// Read only: change nothing, and work out a plan
    #[arg(long)]
    plan: bool,
    /// Approve every question automatically; what is denied stays denied
    #[arg(long)]
    yolo: bool,
}

impl ModeFlags {
    /// As if this mode had been named.
    pub(crate) fn for_mode(mode: AgentMode) -> Self {
        Self {
            auto: mode == AgentMode::Auto,
            ask: mode == AgentMode::Ask,
            plan: mode == AgentMode::Plan,
            yolo: mode == AgentMode::Yolo,
        }
    }

    /// The mode that was named, if one was.
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
    /// Those that are switched between without a flag.
    pub(crate) const CYCLED_MODES: [Self; 3] = [Self::Auto, Self::Ask, Self::Plan];

    /// The word for it on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Ask => "ask",
            Self::Plan => "plan",
            Self::Yolo => "yolo",
        }
    }

    /// What it means, in a sentence.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Auto => "works in the sandbox without asking, as far as the profile allows",
            Self::Ask => "asks before each file change and each command",
            Self::Plan => "reads only, changes nothing",
            Self::Yolo => "approves every question automatically; what is denied stays denied",
        }
    }

    /// The mode of that name. Automatic approval is never switched on in passing:
    /// it has a command of its own.
    pub(crate) fn parse(name: &str) -> Result<Self, CommandError> {
        let known = Self::CYCLED_MODES.into_iter().find(|mode| mode.name() == name);
        known.ok_or_else(|| {
            let hint = match name {
                "yolo" => "/yolo switches automatic approval on and off.",
                _ => "The modes are auto, ask and plan.",
            };
            CommandError::usage(format!("There is no mode '{name}'")).hint(hint)
        })
    }

    /// The mode that Shift-Tab leads to.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Auto => Self::Ask,
            Self::Ask => Self::Plan,
            Self::Plan | Self::Yolo => Self::Auto,
        }
    }

    /// The status line's words for it.
    pub(crate) fn label(self) -> String {
        format!("{} mode", self.name())
    }

    /// What becomes of questions, with this mode chosen and that configured.
    pub(crate) fn approvals(self, configured: ApprovalMode) -> ApprovalMode {
        match (self, configured) {
            (Self::Yolo, _) => ApprovalMode::Off,
            // Whoever wants to be asked is not represented by a model.
            (Self::Ask, _) | (_, ApprovalMode::Off) => ApprovalMode::Manual,
            (_, configured) => configured,
        }
    }

    /// Puts what the model is told of the mode at the end of its instructions, in
    /// place of what was said of another one.
    pub(crate) fn instruct(self, system: &mut String) {
        if let Some(without) = system.strip_suffix(PLAN_INSTRUCTION) {
            system.truncate(without.len());
        }
        if self == Self::Plan {
            system.push_str(PLAN_INSTRUCTION);
        }
    }

    /// The rules that it adds to every profile, for these tools.
    pub(crate) fn rules<'a>(self, tools: impl Iterator<Item = &'a ToolEntry>) -> Option<Value> {
        let rules = match self {
            Self::Auto | Self::Yolo => return None,
            Self::Ask => json!({
                "approval_required": [
                    rule("terminal:execute", "Ask mode asks before each command"),
                    rule("code:execute", "Ask mode asks before code is run"),
                ],
                "tools": file_change_rules(tools, "approval_required", "Ask mode asks before each file change"),
            }),
            Self::Plan => {
                // Programs may need somewhere to put a temporary file.
                let writes = json!({ "allowed_paths": ["${tmp}/**"] });
                let in_workspace = ["file:write", "file:delete"].map(|scope| {
                    json!({ "scope": scope, "paths": ["${workspace}/**"], "reason": PLAN_REASON })
                });
                let others = PLAN_DENIES.map(|scope| rule(scope, PLAN_REASON));
                let deny: Vec<Value> = in_workspace.into_iter().chain(others).collect();
                json!({
                    "deny": deny,
                    // Nobody here knows what the tools of a server do.
                    "approval_required": [rule("mcp:*", "Plan mode asks before each call of a server")],
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

/// A rule about changes of files for each tool that makes them itself.
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
