//! Which of the tests that were asked for a run has met. Some runners run more
//! than that, or name what they left out.

use super::case::{TestCase, TestResults};
use super::{ChosenRunner, TestRequest, node};

impl ChosenRunner {
    /// Those of the tests that were asked for by their ids which a run has not
    /// met, as people know them.
    pub fn missing_tests(&self, only: &[String], results: &TestResults) -> Vec<String> {
        let is_met = |id: &&String| results.cases.iter().any(|case| self.id_matches(&case.id, id));
        let unmet = only.iter().filter(|id| !is_met(id));
        unmet.map(|id| id.replace(node::ID_SEPARATOR, " > ")).collect()
    }

    /// Whether a test has just the name that was asked for, or is in a group
    /// that has.
    pub fn found_named(&self, wish: &TestRequest, results: &TestResults) -> bool {
        // Others are asked in a way that only such a test answers to.
        match self.runner.name {
            "node" => results.cases.iter().any(|case| matches_name(case, wish)),
            _ => wish.attempt == 0,
        }
    }

    /// Whether it may take another try until just this test is met.
    pub fn may_retry(&self, wish: &TestRequest) -> bool {
        self.runner.name == "node" && wish.names().len() > 1
    }

    /// Results without the tests that nobody has asked for.
    #[must_use]
    pub fn retain_requested(&self, wish: &TestRequest, results: TestResults) -> TestResults {
        let is_asked = |case: &TestCase| match self.runner.name {
            // They tell of those that they left out as of those that are skipped.
            "jest" | "vitest" if !case.has_run() => resembles_request(case, wish),
            // Before 22 it knows a test by its own name alone, and runs one
            // within another only with all that is there.
            "node" if !wish.only.is_empty() => {
                wish.only.iter().any(|id| self.id_matches(&case.id, id))
            }
            "node" if !wish.name.is_empty() && self.found_named(wish, &results) => {
                matches_name(case, wish)
            }
            _ => true,
        };
        // What belongs to no test, such as a file that cannot be read, is told.
        let (told, aside): (Vec<TestCase>, Vec<TestCase>) =
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
            ..TestResults::from_cases(told)
        }
    }

    /// Whether a test is the one that was asked for by this id, or in it.
    fn id_matches(&self, id: &str, asked: &str) -> bool {
        match self.runner.name {
            // Modules are named from the folder that was searched.
            "unittest" => format!(".{id}.").contains(&format!(".{asked}.")),
            // Lines of examples change with what is above them.
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

/// Whether a test has in its name what was asked for.
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
