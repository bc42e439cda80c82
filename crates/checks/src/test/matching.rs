//! Matches the results of a run with the requested tests. Some runners run more
//! than requested, or report the tests they left out.

use super::case::{TestCase, TestResults};
use super::{ChosenRunner, TestRequest, node};

impl ChosenRunner {
    /// Returns the display names of the tests that were requested by id and did
    /// not run.
    pub fn missing_tests(&self, only: &[String], results: &TestResults) -> Vec<String> {
        let is_met = |id: &&String| results.cases.iter().any(|case| self.id_matches(&case.id, id));
        let unmet = only.iter().filter(|id| !is_met(id));
        unmet.map(|id| id.replace(node::ID_SEPARATOR, " > ")).collect()
    }

    /// Whether a test, or a group around one, has exactly the requested name.
    pub fn found_named(&self, wish: &TestRequest, results: &TestResults) -> bool {
        // Other runners are called with an exact pattern.
        match self.runner.name {
            "node" => results.cases.iter().any(|case| matches_name(case, wish)),
            _ => wish.attempt == 0,
        }
    }

    /// Whether another attempt may find exactly this test.
    pub fn may_retry(&self, wish: &TestRequest) -> bool {
        self.runner.name == "node" && wish.names().len() > 1
    }

    /// Removes tests that were not requested from the results.
    #[must_use]
    pub fn retain_requested(&self, wish: &TestRequest, results: TestResults) -> TestResults {
        let is_asked = |case: &TestCase| match self.runner.name {
            // These report tests that were filtered out as skipped.
            "jest" | "vitest" if !case.has_run() => resembles_request(case, wish),
            // Before version 22, Node matches a test only by its own name, and
            // runs a nested test only together with its siblings.
            "node" if !wish.only.is_empty() => {
                wish.only.iter().any(|id| self.id_matches(&case.id, id))
            }
            "node" if !wish.name.is_empty() && self.found_named(wish, &results) => {
                matches_name(case, wish)
            }
            _ => true,
        };
        // Errors outside of tests, such as a file that fails to load, are kept.
        let (shown, aside): (Vec<TestCase>, Vec<TestCase>) =
            results.cases.iter().cloned().partition(|case| case.id.is_empty() || is_asked(case));
        if aside.is_empty() {
            return results;
        }
        let ran = aside.iter().filter(|case| case.has_run()).count();
        TestResults {
            unrequested: ran as u64,
            unrequested_failed: aside.iter().any(TestCase::has_failed),
            seconds: results.seconds,
            printed: results.printed,
            root: results.root,
            is_guess: results.is_guess,
            ..TestResults::from_cases(shown)
        }
    }

    /// Whether a test has the requested id, or is nested in it.
    fn id_matches(&self, id: &str, asked: &str) -> bool {
        match self.runner.name {
            // Module names are relative to the searched directory.
            "unittest" => format!(".{id}.").contains(&format!(".{asked}.")),
            // The line number of a doctest changes with the code above it.
            "cargo" | "nextest" => {
                let place = |id: &str| id.split(" (line ").next().map(str::to_owned);
                place(id) == place(asked)
            }
            _ => {
                let rest = id.strip_prefix(asked);
                rest.is_some_and(|rest| {
                    rest.is_empty() || rest.starts_with([node::ID_SEPARATOR, '/', ':', '['])
                })
            }
        }
    }
}

fn matches_name(case: &TestCase, wish: &TestRequest) -> bool {
    let wanted = wish.names().join(" > ");
    let rest = case.name.strip_prefix(&wanted);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" > "))
}

/// Whether the name of a test contains the requested name.
fn resembles_request(case: &TestCase, wish: &TestRequest) -> bool {
    let flat = |name: &str| name.replace(" > ", " ").replace("::", " ").to_lowercase();
    if !wish.only.is_empty() {
        return wish.only.contains(&case.id);
    }
    let wanted = match (wish.names().join(" "), &wish.filter) {
        (name, _) if !name.is_empty() => name,
        (_, Some(filter)) => filter.clone(),
        _ => return true,
    };
    flat(&case.id).contains(&flat(&wanted))
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
