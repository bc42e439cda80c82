//! Runs a test runner and reads its report file.

use std::io::Read;
use std::path::Path;

use hermes_checks::test::ChosenRunner;
use hermes_core::ToolError;
use hermes_core::ids::unique_id;
use hermes_exec::StdinSource;

use crate::checks::CheckContext;
use crate::program::ProgramRun;

/// Maximum number of report bytes read.
const MAX_REPORT_BYTES: u64 = 16 * 1024 * 1024;

/// Runs a command, then prints the report file after a marker and removes it.
/// This works on remote machines too, and leaves no file there.
const REPORT_SCRIPT: &str = r#"marker=$1; file=$2; shift 2
"$@"
code=$?
if [ -f "$file" ]; then printf '\n%s\n' "$marker"; cat "$file"; rm -f "$file"; fi
exit $code"#;

/// A test runner about to start.
#[derive(Debug)]
pub(super) struct ReportingCommand<'a> {
    pub(super) program: &'a Path,
    pub(super) words: &'a [String],
    pub(super) report_file: &'a Path,
}

impl ReportingCommand<'_> {
    /// Runs it; returns its output and its report.
    pub(super) async fn run(
        &self,
        desk: &CheckContext<'_>,
        choice: &ChosenRunner,
    ) -> Result<(ProgramRun, String), ToolError> {
        if !choice.runner.writes_report {
            let ran = desk.run(self.program, self.words, &choice.dir, StdinSource::Empty).await?;
            return Ok((ran, String::new()));
        }
        let marker = unique_id();
        let file = self.report_file.display().to_string();
        let program = self.program.display().to_string();
        let fixed = ["-c", REPORT_SCRIPT, "sh", &marker, &file, &program];
        let words: Vec<String> =
            fixed.iter().map(|word| (*word).to_owned()).chain(self.words.iter().cloned()).collect();
        let ran = desk.run(Path::new("sh"), &words, &choice.dir, StdinSource::Empty).await;
        // A killed script has neither printed nor removed the report.
        let mut rest = String::new();
        if desk.runner.is_local() {
            if let Ok(file) = std::fs::File::open(self.report_file) {
                let mut bytes = Vec::new();
                let _ = file.take(MAX_REPORT_BYTES).read_to_end(&mut bytes);
                rest = String::from_utf8_lossy(&bytes).into_owned();
            }
            let _ = std::fs::remove_file(self.report_file);
        }
        let mut ran = ran?;
        let cut = ran.stdout.rfind(&format!("\n{marker}\n"));
        let shown = cut.map(|at| ran.stdout.split_off(at)).unwrap_or_default();
        let shown = shown.trim_start().strip_prefix(&marker).unwrap_or_default().to_owned();
        Ok((ran, if cut.is_some() { shown } else { rest }))
    }
}
