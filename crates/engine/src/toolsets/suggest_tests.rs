use super::nearest;
use crate::toolsets::BUILTIN_TOOLSETS;

fn first(name: &str) -> Option<String> {
    nearest(name, BUILTIN_TOOLSETS.iter().map(|t| t.name)).into_iter().next()
}

#[test]
fn common_slips_find_the_name_that_was_meant() {
    for (typed, meant) in [
        ("wbe", "web"),
        ("Web", "web"),
        ("browsr", "browser"),
        ("hermes_cli", "hermes-cli"),
        ("code-execution", "code_execution"),
        ("telegram", "hermes-telegram"),
        ("debuging", "debugging"),
        ("imagegen", "image_gen"),
        ("terminals", "terminal"),
    ] {
        assert_eq!(first(typed).as_deref(), Some(meant), "{typed}");
    }
}

#[test]
fn a_swap_of_neighbours_is_one_slip() {
    assert_eq!(nearest("fiel", ["file"]), ["file"]);
}

#[test]
fn what_resembles_nothing_gets_no_suggestion() {
    for typed in ["", "q", "xylophone", "日本語"] {
        assert_eq!(first(typed), None, "{typed}");
    }
    assert_eq!(first(&"web".repeat(1_000_000)), None);
}

#[test]
fn at_most_three_nearest_first_each_once() {
    let found = nearest("tool1", ["tool9", "tool2", "tool1x", "tool2", "tool3", "tool1"]);
    assert_eq!(found, ["tool1", "tool1x", "tool2"]);
}
