//! Linters, formatters and test runners of a project: detection, command lines
//! and output parsing.
//!
//! This crate neither starts programs nor opens files. A [`ProjectSurvey`] is
//! the output of a small script that inspects the surroundings of a path. Tools
//! are chosen from it; each builds its command line and parses the output.

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

/// Output of a program.
#[derive(Debug, Clone, Copy, Default)]
pub struct CheckOutput<'a> {
    /// Standard output.
    pub stdout: &'a str,
    /// Standard error.
    pub stderr: &'a str,
    /// Content of the report file it was asked to write.
    pub report: &'a str,
}
