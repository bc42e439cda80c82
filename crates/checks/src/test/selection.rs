//! Selects tests by path, by the name after the path, and by a filter on names
//! or paths.

use std::path::Path;

use super::ChosenRunner;
use crate::lint::relative_arg;
use crate::survey::{ProjectSurvey, matches_pattern};

/// Selected tests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestSelection {
    /// Files and directories, relative to the directory the runner runs in;
    /// empty for all.
    pub targets: Vec<String>,
    /// A test in them: the names of its groups and its own.
    pub name: Vec<String>,
    /// Part of a test name.
    pub filter: Option<String>,
}

impl ChosenRunner {
    /// Selects tests by the name after the path and by a filter.
    pub fn select_tests(
        &self,
        survey: &ProjectSurvey,
        name: Option<&str>,
        filter: Option<&str>,
    ) -> TestSelection {
        let target = Some(self.target.clone()).filter(|target| target != ".");
        let mut aim =
            TestSelection { targets: target.into_iter().collect(), ..TestSelection::default() };
        aim.name = name.map(split_test_id).unwrap_or_default();
        let Some(filter) = filter else { return aim };
        let (head, rest) = filter.split_once("::").unwrap_or((filter, ""));
        let found = self.matching_paths(survey, head);
        if !found.is_empty() {
            aim.targets = found;
            aim.name.extend(split_test_id(rest));
        } else if aim.name.is_empty() && survey.is_file && self.has_nested_names() && head != filter
        {
            // A test in this file.
            aim.name = split_test_id(filter);
        } else {
            aim.filter = Some(filter.to_owned());
        }
        aim
    }

    /// Whether the runner separates nested names with `::`.
    fn has_nested_names(&self) -> bool {
        self.runner.file_patterns == ["py"]
    }

    /// Returns the files and directories below the path that match a text: a
    /// name with the extension of a test file, or several path components.
    fn matching_paths(&self, survey: &ProjectSurvey, text: &str) -> Vec<String> {
        let text = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
        let named = Path::new(text);
        let is_file = matches_pattern(named, self.runner.file_patterns);
        if text.is_empty() || !(is_file || text.contains('/')) {
            return Vec::new();
        }
        let mut found: Vec<&Path> = Vec::new();
        for file in &survey.files {
            let steps = file.ancestors().take_while(|step| step.starts_with(survey.base_dir()));
            let place = steps.filter(|step| step.ends_with(named)).last();
            found.extend(place.filter(|place| !found.contains(place)));
        }
        // An exact path takes precedence over others with that suffix.
        let near = self.dir.join(named);
        if found.iter().any(|place| *place == near) {
            found.retain(|place| *place == near);
        }
        found.into_iter().map(|place| relative_arg(place, &self.dir)).collect()
    }
}

/// Splits `A::b[x::y]`; parameters in brackets belong to the last name.
fn split_test_id(name: &str) -> Vec<String> {
    let (plain, given) = name.split_at(name.find('[').unwrap_or(name.len()));
    let mut parts: Vec<String> = plain.split("::").map(str::to_owned).collect();
    if let Some(last) = parts.last_mut() {
        last.push_str(given);
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns the tests in one of these paths, for a runner whose ids start with
/// the file.
pub(super) fn filter_ids(ids: Vec<String>, targets: &[String]) -> Vec<String> {
    let targets: Vec<&Path> = targets
        .iter()
        .map(|target| Path::new(target.strip_prefix("./").unwrap_or(target)))
        .collect();
    let is_meant = |id: &String| {
        let file = Path::new(id.split("::").next().unwrap_or(id));
        targets.is_empty() || targets.iter().any(|target| file.starts_with(target))
    };
    ids.into_iter().filter(is_meant).collect()
}

#[cfg(test)]
#[path = "selection_tests.rs"]
mod tests;
