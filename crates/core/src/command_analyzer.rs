//! What a call's commands do beyond the declared effects, for the stages that
//! order calls and save checkpoints.

use std::path::PathBuf;

use crate::{CallProposal, ShellScript, WorkingDir};

/// Upper bound of a command's side effects. It is used to order commands, never
/// to permit them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SideEffects {
    /// It may do anything.
    #[default]
    Unknown,
    /// It may read anything and changes nothing.
    ReadOnly,
    /// It touches nothing; only time passes.
    None,
}

/// Paths that commands write.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CommandWrites {
    /// Paths written or deleted. Directories are listed only if removed, since
    /// writing in one leaves the rest unchanged.
    pub paths: Vec<PathBuf>,
    /// Directories with writes that cannot be determined.
    pub opaque_dirs: Vec<PathBuf>,
}

/// How a command with secrets compares to the one that was judged, which has
/// placeholders in their place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommandComparison {
    /// Whether the command runs its standard input as code.
    pub runs_stdin: bool,
    /// Whether both run the same programs with the same paths and hosts.
    pub same_effects: bool,
}

/// Static analysis of the commands in a call.
pub trait CommandAnalyzer: Send + Sync {
    /// The side effects of a call that runs one command and does nothing else.
    fn side_effects(&self, proposal: &CallProposal<'_>) -> SideEffects;

    /// The paths that the commands of a call write or delete, as far as they
    /// name them.
    fn writes(&self, proposal: &CallProposal<'_>) -> CommandWrites;

    /// Compares a command with secrets to the one that was judged.
    fn compare(
        &self,
        judged: &ShellScript,
        run: &ShellScript,
        at: &WorkingDir,
    ) -> CommandComparison;
}

/// An analyzer that knows nothing: every command may do anything.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAnalyzer;

impl CommandAnalyzer for NoAnalyzer {
    fn side_effects(&self, _proposal: &CallProposal<'_>) -> SideEffects {
        SideEffects::Unknown
    }

    fn writes(&self, _proposal: &CallProposal<'_>) -> CommandWrites {
        CommandWrites::default()
    }

    fn compare(&self, _: &ShellScript, _: &ShellScript, _: &WorkingDir) -> CommandComparison {
        // Assumes the worst: the input is code, and secrets change the effects.
        CommandComparison { runs_stdin: true, same_effects: false }
    }
}
