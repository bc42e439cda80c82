//! Which tests a caller means: by a path, by the name behind it, by a filter
//! that is a part of a name or of a path.

use std::path::Path;

use super::ChosenRunner;
use crate::lint::relative_arg;
use crate::survey::{ProjectSurvey, matches_pattern};

/// Which tests are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestSelection {
    /// Files and folders, from the folder that the runner runs in; none for all.
    pub targets: Vec<String>,
    /// A test in them, by the names around it and its own.
    pub name: Vec<String>,
    /// Part of a name.
    pub filter: Option<String>,
}

impl ChosenRunner {
    /// Which tests are meant by a name behind the path, and by a filter.
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
            // A test in just this file.
            aim.name = split_test_id(filter);
        } else {
            aim.filter = Some(filter.to_owned());
        }
        aim
    }

    /// Whether `::` is between the names that it knows a test by.
    fn has_nested_names(&self) -> bool {
        self.runner.file_patterns == ["py"]
    }

    /// The files and folders below the path that a text names: one with the
    /// ending of a file of tests, or several steps of a path.
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
        // One that lies just there is meant before others of that name.
        let near = self.dir.join(named);
        if found.iter().any(|place| *place == near) {
            found.retain(|place| *place == near);
        }
        found.into_iter().map(|place| relative_arg(place, &self.dir)).collect()
    }
}

/// `A::b[x::y]`: what is in brackets belongs to a name.
fn split_test_id(name: &str) -> Vec<String> {
    let (plain, given) = name.split_at(name.find('[').unwrap_or(name.len()));
    let mut parts: Vec<String> = plain.split("::").map(str::to_owned).collect();
    if let Some(last) = parts.last_mut() {
        last.push_str(given);
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Those of the tests that are in one of these places, of a runner whose names
/// for tests begin with their file.
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
