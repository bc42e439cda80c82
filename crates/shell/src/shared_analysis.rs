//! Analyses that are made once and shared by the stages of a call.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{ShellScript, WorkingDir};
use parking_lot::Mutex;

use crate::leaf::CommandAnalysis;

/// Number of analyses that are remembered: those of the calls in progress.
const MAX_REMEMBERED: usize = 16;

/// What an analysis depends on.
struct AnalysisKey {
    earlier: String,
    text: String,
    stdin: Option<String>,
    cwd: PathBuf,
    home: Option<PathBuf>,
}

impl AnalysisKey {
    fn matches(&self, earlier: &str, script: &ShellScript, at: &WorkingDir) -> bool {
        self.text == script.text
            && self.earlier == earlier
            && self.stdin == script.stdin
            && self.cwd == script.cwd.as_deref().unwrap_or_else(|| at.cwd())
            && self.home.as_deref() == at.home()
    }
}

/// Like [`analyze_script`](crate::analyze_script), but remembers the result: the
/// stages of one call need the same analysis several times.
pub fn shared_analysis(
    earlier: &str,
    script: &ShellScript,
    at: &WorkingDir,
) -> Arc<CommandAnalysis> {
    static RECENT: Mutex<VecDeque<(AnalysisKey, Arc<CommandAnalysis>)>> =
        Mutex::new(VecDeque::new());
    let is_same =
        |entry: &&(AnalysisKey, Arc<CommandAnalysis>)| entry.0.matches(earlier, script, at);
    if let Some((_, analysis)) = RECENT.lock().iter().rev().find(is_same) {
        return Arc::clone(analysis);
    }
    let analysis = Arc::new(crate::analyze_script(earlier, script, at));
    let key = AnalysisKey {
        earlier: earlier.to_owned(),
        text: script.text.clone(),
        stdin: script.stdin.clone(),
        cwd: script.cwd.clone().unwrap_or_else(|| at.cwd().to_path_buf()),
        home: at.home().map(Path::to_path_buf),
    };
    let mut recent = RECENT.lock();
    if recent.len() >= MAX_REMEMBERED {
        recent.pop_front();
    }
    recent.push_back((key, Arc::clone(&analysis)));
    analysis
}
