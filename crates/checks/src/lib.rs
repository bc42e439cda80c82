//! The linters, formatters and test runners of a project: which ones it has,
//! how they are called, and what they say.
//!
//! Nothing here starts a program or opens a file. A [`ProjectSurvey`] is what a small
//! script has found around a path; from it the tools are chosen; each gives
//! the words of its command, and reads what the command printed.

mod finding;
#[cfg(test)]
#[path = "fixture_tests.rs"]
mod fixture;
pub mod format;
mod install;
mod lines;
pub mod lint;
mod new_findings;
mod survey;
pub mod test;

pub use finding::{LintFinding, LintSeverity, is_within, sort_findings};
pub use install::{PackageSource, install_command};
pub use new_findings::{ChangedLines, LintBaseline};
pub use survey::{KNOWN_PROGRAMS, ProjectDir, ProjectSurvey, SURVEY_SCRIPT, SurveyError};

/// What a program has printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct CheckOutput<'a> {
    /// On its output.
    pub stdout: &'a str,
    /// On its error output.
    pub stderr: &'a str,
    /// What it wrote into the file that it was given for its report.
    pub report: &'a str,
}
