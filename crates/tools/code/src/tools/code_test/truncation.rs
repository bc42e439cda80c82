//! Truncates failures to fit into a result.

use hermes_checks::test::TestCase;

/// Maximum number of characters of a message, a traceback, and a test's output.
const MAX_MESSAGE_CHARS: usize = 1_500;
const MAX_TRACEBACK_CHARS: usize = 3_000;
const MAX_OUTPUT_CHARS: usize = 1_500;
/// Total size of failures shown in full.
const MAX_FULL_BYTES: usize = 30_000;
/// Total size of all failures.
const MAX_TOTAL_BYTES: usize = 50_000;

/// Truncates failures: the first are kept in full, the others only with their
/// location and the first line of their message. Returns a note about it.
pub(super) fn shorten_failures(failures: &mut Vec<TestCase>) -> Option<String> {
    let mut used = 0;
    let (mut full, mut fitting) = (0, 0);
    for case in failures.iter_mut() {
        case.message = elide_middle(&case.message, MAX_MESSAGE_CHARS);
        case.traceback = elide_middle(&case.traceback, MAX_TRACEBACK_CHARS);
        case.output = elide_middle(&case.output, MAX_OUTPUT_CHARS);
        if used + case_size(case) > MAX_FULL_BYTES && full > 0 {
            let first = case.message.lines().next().unwrap_or_default();
            case.message = elide_middle(first, 200);
            case.traceback = String::new();
            case.output = String::new();
        } else {
            full += 1;
        }
        used += case_size(case);
        if used > MAX_TOTAL_BYTES && fitting > 0 {
            break;
        }
        fitting += 1;
    }
    let all = failures.len();
    failures.truncate(fitting);
    (full < all).then(|| {
        format!("Of the failing tests shown, {full} are in full and {} in short.", fitting - full)
    })
}

fn case_size(case: &TestCase) -> usize {
    case.name.len() + case.message.len() + case.traceback.len() + case.output.len()
}

/// Removes the middle of a text longer than `most` characters.
fn elide_middle(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let begin: String = text.chars().take(half).collect();
    let count = text.chars().count();
    let end: String = text.chars().skip(count - half).collect();
    format!("{begin}\n… {} characters …\n{end}", count - 2 * half)
}

#[cfg(test)]
#[path = "truncation_tests.rs"]
mod tests;
